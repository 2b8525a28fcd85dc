# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A build backend that builds nothing.

pip asks a source distribution's backend for its metadata even if it only downloads it, and vLLM-Ascend's own backend
wants torch and a compiler for that. This one answers from the distribution's PKG-INFO.
"""

from __future__ import annotations

import os
from email.parser import HeaderParser


def get_requires_for_build_wheel(config_settings=None):
    """Nothing is built, so nothing is needed."""
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Hand over PKG-INFO as the wheel's metadata."""
    with open("PKG-INFO", encoding="utf-8") as file:
        text = file.read()
    found = HeaderParser().parsestr(text)
    name = f"{found['Name'].replace('-', '_')}-{found['Version']}.dist-info"
    os.makedirs(os.path.join(metadata_directory, name))
    with open(os.path.join(metadata_directory, name, "METADATA"), "w", encoding="utf-8") as file:
        file.write(text)
    return name
