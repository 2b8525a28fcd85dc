# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the sections of alerts in docs/docsite/rst/guide_monitoring.rst from the alerts themselves.

python docs/alerts_page.py           # prints them
python docs/alerts_page.py --write   # writes them into the guide, after its mark
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = map(str, HERE.parents[3:4])  # the folder that contains ansible_collections, in an installed tree

from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS, Alert
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.entry_alerts import ENTRY_ALERTS

GUIDE = HERE / "docsite" / "rst" / "guide_monitoring.rst"
BEGIN = ".. the alerts begin\n"
NEEDS = {
    "disaggregated": "disaggregated deployments",
    "hold": "connectors that hold KV cache for a limited time",
    "max_num_seqs": "decode engines with max-num-seqs",
    "router_metrics": "routers with metrics (vllm_router)",
    "proxies": "inference_monitoring.proxies",
    "logs": "inference_monitoring.logs",
    "store": "deployments with the Mooncake store",
    "ha": "several masters of the store",
    "npu": "inference_monitoring.npu",
    "probe": "inference_monitoring.probe",
}


def section(alert: Alert) -> str:
    """One alert: what it says, the failures behind it, what to do, its limits."""
    limits = [f"after {alert.after} s"]
    limits += [f"threshold {alert.threshold} {alert.unit}"] if alert.unit else []
    limits += [f"window {alert.window} s"] if alert.window else []
    needs = ", ".join(NEEDS[need] for need in alert.needs)
    text = f"{alert.summary[0].upper()}{alert.summary[1:]}. {alert.failures}"
    parts = [text, f"*Fix*: {alert.action}", f"*Severity*: {alert.severity}. *Limits*: {', '.join(limits)}."]
    parts += [f"*Only with*: {needs}."] if needs else []
    body = "\n\n".join(textwrap.fill(part, 120, break_long_words=False, break_on_hyphens=False) for part in parts)
    return f"{alert.name}\n{'~' * len(alert.name)}\n\n{body}\n"


def sections() -> str:
    """All alerts in their order, those of an entry last."""
    return "\n".join(section(alert) for alert in (*ALERTS, *ENTRY_ALERTS))


def page() -> str:
    """The whole guide: its own text up to the mark, then the alerts."""
    return f"{GUIDE.read_text(encoding='utf-8').split(BEGIN)[0]}{BEGIN}\n{sections()}"


def main() -> None:
    """Print the sections, or write them into the guide."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the sections instead of printing them")
    if parser.parse_args().write:
        GUIDE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(sections())


if __name__ == "__main__":
    main()
