# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A number with a unit is told in the unit that the variable has."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.units import in_unit


@pytest.mark.parametrize(
    ("raw", "doc", "meant"),
    [
        ("30m", "Timeout in seconds.", "1800"),
        ("1.5 h", "Seconds for which.", "5400"),
        ("90s", "Most seconds.", "90"),
        ("2s", "Most milliseconds until.", "2000"),
        ("500ms", "Seconds between.", ""),
        ("2h", "How many minutes.", "120"),
        ("1d", "Seconds.", "86400"),
        ("30", "Seconds.", ""),
        ("30x", "Seconds.", ""),
        ("30m", "Port.", ""),
        (0.95, "Least percentage.", "95"),
        (0.955, "Least percentage.", ""),
        (1.5, "Least percentage.", ""),
        (0.95, "Seconds.", ""),
        (None, "Seconds.", ""),
    ],
)
def test_a_number_with_a_unit(raw, doc, meant):
    assert in_unit(raw, doc) == meant
