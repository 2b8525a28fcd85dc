# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published advisories that affect a release of vLLM, and the next release without them."""

from __future__ import annotations

import re
import typing as t

from ...module_utils.tools.versions import told
from ..engines.registry import prefix_of
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


EARLY = re.compile(
    r"\d[._-]?(?:a|b|c|rc|alpha|beta|pre|preview|dev)[._-]?\d*(?:$|[._-])", re.IGNORECASE
)  # of PEP 440, the end of a pre-release


def _padded(version: str) -> tuple[int, ...]:
    """The numbers of a version, with zeros at the end: 0.14 is 0.14.0."""
    found = numbers(version)
    return found + (0,) * (4 - len(found))


class Advisory(t.NamedTuple):
    """One advisory: its id, the versions of vLLM from ``introduced`` up to and without ``fixed``, CVSS 3 score or nothing, condition and effect."""

    id: str
    introduced: str
    fixed: str
    score: str
    when: str
    effect: str

    def affects(self, vllm: str) -> bool:
        """Whether a version of vLLM is affected; a version that is not known (a branch, 0.0.0) is not.

        A pre-release of the fixed version comes before the fix (PEP 440), and one of the first affected version may have the defect.
        """
        version, first, fixed = (_padded(text) for text in (vllm, self.introduced, self.fixed))
        before = EARLY.search(vllm.split("+")[0]) is not None
        return bool(told(vllm)) and first <= version and (version < fixed or (before and version == fixed))


ADVISORIES = tuple(Advisory(*row) for row in data.ROWS)


def fixed_releases(advisory: Advisory, release: Release) -> list[str]:
    """The known releases after ``release`` whose vLLM has the fix, oldest first, final releases before candidates."""
    later = [item for item in RELEASES.values() if item.vllm_version >= numbers(advisory.fixed) and item.name != "main"]
    later = [item for item in later if prefix_of(item.name) == prefix_of(release.name)]
    later.sort(key=lambda item: ("rc" in item.name, item.vllm_version))
    return [item.name for item in later]
