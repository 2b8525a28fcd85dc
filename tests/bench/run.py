# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
---
"""Every measurement of this folder, printed; nothing is judged. Usage: PYTHONPATH=... python tests/bench/run.py"""

from __future__ import annotations

from ansible_collections.ascend.inference.tests.bench import plan

if __name__ == "__main__":
    for balancing in ("internal", "external"):
        print(f"planning, {balancing} load balancing:")
        plan.main([balancing])
