# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sections of alerts in the guide of monitoring are those of the alerts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def generator():
    spec = importlib.util.spec_from_file_location("alerts_page", ROOT / "docs" / "alerts_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_has_the_sections_of_the_alerts():
    found = generator()
    assert found.GUIDE.read_text(encoding="utf-8") == found.page(), "run: python docs/alerts_page.py --write"


def test_every_need_of_an_alert_is_explained():
    found = generator()
    assert {need for alert in found.ALERTS for need in alert.needs} == set(found.NEEDS)
