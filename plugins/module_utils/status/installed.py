# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of vLLM in an environment, as its metadata has it: an engine that does not run tells none."""

from __future__ import annotations

import glob
import os
import re

from ..tools.text import one_line

MOST = 64  # characters


def installed(environment):
    """The version, from the name of the folder of metadata; empty if there is none, or more than one."""
    if not environment:
        return ""
    pattern = os.path.join(glob.escape(environment), "lib*/python3*/site-packages/vllm-*.dist-info")
    found = {re.match(r"vllm-(.+)\.dist-info\Z", os.path.basename(path), re.DOTALL) for path in glob.glob(pattern)}
    versions = {match.group(1) for match in found if match}
    return one_line(versions.pop())[:MOST] if len(versions) == 1 else ""
