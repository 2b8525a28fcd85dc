# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published advisories that affect a release of vLLM, and the next release without them."""

from __future__ import annotations

import typing as t

from . import advisories_data as data
from .release import RELEASES, Release
from .version import numbers

# Texts of the conditions for findings. rules/security.py decides from the settings whether they are met.
CONDITIONS = {
    "always": "every deployment is exposed",
    "embeds": "enable-prompt-embeds is on",
    "downloaded": "code of a model runs that is not a directory of the hosts",
    "images": "clients may send images, if the model supports them",
    "keyed": "engines have an API key",
    "mooncake": "KV is transferred by Mooncake",
    "optimized": "PYTHONOPTIMIZE is set",
    "untrusted": "trust-remote-code is off",
}


class Advisory(t.NamedTuple):
    """One advisory: its id, the versions of vLLM from ``introduced`` up to and without ``fixed``, CVSS 3 score or nothing, condition and effect."""

    id: str
    introduced: str
    fixed: str
    score: str
    when: str
    effect: str

    def affects(self, vllm: str) -> bool:
        """Whether a version of vLLM is affected; a version that is not a number (a branch) is not."""
        version = numbers(vllm)
        return bool(version) and numbers(self.introduced) <= version < numbers(self.fixed)


ADVISORIES = tuple(Advisory(*row) for row in data.ROWS)


def fixed_release(advisory: Advisory, release: Release) -> str:
    """The oldest known release after ``release`` whose vLLM has the fix, final releases before candidates; empty if there is none."""
    later = [item for item in RELEASES.values() if item.vllm_version >= numbers(advisory.fixed) and item.name != "main"]
    later = [item for item in later if item.name.startswith("cpu-") == release.name.startswith("cpu-")]
    later.sort(key=lambda item: ("rc" in item.name, item.vllm_version))
    return later[0].name if later else ""
