# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's modules lie beside its program, not in a package."""

from __future__ import annotations

import os
import sys

SIMULATOR = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "simulator"))
if SIMULATOR not in sys.path:
    sys.path.insert(0, SIMULATOR)
