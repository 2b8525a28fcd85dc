# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a version says something: one that is not known is not old. Runs on Python 3.7."""

from __future__ import annotations

import re

# What a build writes that found no tag: setuptools-scm 0.1.dev3+g12ab, setuptools 0.0.0, versioneer 0+unknown; vLLM itself then says "dev".
PLACEHOLDER = re.compile(r"0(\.0)*([._-]?dev\d*)?(\+.*)?\Z|0\.1\.dev\d*(\+.*)?\Z", re.DOTALL)


def told(version):
    # type: (str) -> str
    """The version; empty if it does not begin with a number, or stands for none.

    >>> [told(text) for text in ("0.11.0rc3", "0.0.0", "0.1.dev3+g12ab", "dev", "0.1.0")]
    ['0.11.0rc3', '', '', '', '0.1.0']
    """
    return version if re.match("[0-9]", version) and not PLACEHOLDER.match(version) else ""
