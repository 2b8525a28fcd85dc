# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints an example report of the playbook check with two findings; README shows a screenshot of it.

python docs/check_picture.py > report.html
chromium --headless --window-size=1000,600 --hide-scrollbars --screenshot=docs/pictures/check_report.png report.html
"""

from __future__ import annotations

import argparse
import sys

from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_page import check_report
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import facts, npu, plan

RUN = {"date": "2026-01-01 12:00 UTC", "command": "ascend.inference.check"}


def main() -> None:
    """Three hosts; a device with bad health, and a driver that differs."""
    argparse.ArgumentParser(description=str(__doc__).partition("\n")[0]).parse_args()
    data = facts()
    npu("n1", 2, health="Critical")(data)
    data["n3"]["npu"]["driver_version"] = "25.5.2"
    sys.stdout.write(check_report(plan(), data, check_plan(plan(), data), None, RUN))


if __name__ == "__main__":
    main()
