# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock keeps only the known source distribution of a package that is built."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.package_lock import fully_hashed, narrowed

KNOWN, OTHER, THIRD = "a" * 64, "b" * 64, "c" * 64
LOCK = (
    "# ascend.inference lock 1234\n"
    f"torch==2.10.0 \\\n    --hash=sha256:{THIRD}\n"
    f"vllm==0.23.0 ; python_version >= '3.10' \\\n    --hash=sha256:{OTHER} \\\n    --hash=sha256:{KNOWN}\n    # via vllm-ascend\n"
    f"vllm-ascend==0.23.0 \\\n    --hash=sha256:{OTHER}\n"
)


def test_of_several_files_of_a_version_only_the_known_one_stays():
    text, problems = narrowed(LOCK, {"vllm"}, {"vllm==0.23.0": KNOWN})
    assert not problems
    assert text == LOCK.replace(
        f"    --hash=sha256:{OTHER} \\\n    --hash=sha256:{KNOWN}\n    # via", f"    --hash=sha256:{KNOWN}\n    # via"
    )
    assert fully_hashed(text)
    assert narrowed(text, {"vllm"}, {"vllm==0.23.0": KNOWN}) == (text, [])


def test_another_file_is_named():
    _text, problems = narrowed(LOCK, {"vllm"}, {"vllm==0.23.0": "d" * 64})
    assert problems == [f"vllm 0.23.0 has SHA-256 {OTHER} or {KNOWN}, and the release has {'d' * 64}"]


@pytest.mark.parametrize(
    ("names", "sdists"),
    [
        (set(), {"vllm==0.23.0": THIRD}),
        ({"vllm"}, {}),
        ({"vllm"}, {"vllm==0.23": THIRD, "vllm==0.23.0.post1": THIRD}),
        ({"vllm-ascend"}, {"vllm==0.23.0": THIRD}),
    ],
)
def test_packages_that_are_not_built_or_not_known_stay(names, sdists):
    assert narrowed(LOCK, names, sdists) == (LOCK, [])


@pytest.mark.parametrize("line", ["vllm==0.23.0", "Vllm[audio]==0.23.0", f"vllm==0.23.0 --hash=sha256:{KNOWN}"])
def test_a_package_in_one_line_gets_the_known_hash(line):
    text, problems = narrowed(f"{line}\ntorch==2.10.0\n", {"vllm"}, {"vllm==0.23.0": KNOWN})
    assert not problems
    assert text == f"{line.split(' --')[0]} \\\n    --hash=sha256:{KNOWN}\ntorch==2.10.0\n"
