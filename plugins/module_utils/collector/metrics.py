# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of NPUs from the outputs of npu-smi and hccn_tool, of proxies, and of logs. What a tool did not report is -1 or absent, never good."""

from __future__ import annotations

import re

from ..tools.foreign_json import number
from ..tools.text import visible

MIB = 2**20
HELP = {
    "inference_npu_health": "1: the driver reports OK, 0: a warning or fault, -1: not known.",
    "inference_npu_link": "1: the link is up, 0: down, -1: not known.",
    "inference_npu_link_changes_total": "How often the link came up since the driver started.",
    "inference_npu_temperature_celsius": "Temperature of the chip.",
    "inference_npu_hbm_used_bytes": "Used HBM.",
    "inference_npu_hbm_total_bytes": "HBM.",
    "inference_npu_ecc_double_bit_errors_total": "Memory errors that could not be corrected, since the driver started.",
    "inference_npu_query_failed": "1: a query of this device failed.",
    "inference_npu_last_run_timestamp_seconds": "When these metrics were collected.",
}
PROXY_HELP = {
    "inference_router_up": "Whether the proxy answers its health check.",
    "inference_router_engines": "Engines that the proxy distributes requests to, by pool.",
    "inference_router_requests": "Requests under way at the proxy; only from vLLM-Ascend 0.21.0rc1 on.",
    "inference_router_last_run_timestamp_seconds": "When these metrics were collected.",
}
LOG_HELP = {
    "inference_log_red_flags_total": "Lines of the log about lost, late or wrong KV cache, by kind.",
    "inference_log_transfers_total": "Transfers of KV cache whose time the log has.",
    "inference_log_transfer_seconds_total": "The time of these transfers.",
    "inference_log_gaps_total": "How often lines were lost before they were read.",
    "inference_log_read": "Whether the log could be read.",
    "inference_log_last_run_timestamp_seconds": "When the logs were read.",
}
# Keys of the proxies' health checks (examples of vLLM-Ascend): the last two are of those for colocated engines.
_POOLS = {
    "prefill_instances": "prefill",
    "decode_instances": "decode",
    "dp_instances": "colocated",
    "server_instances": "colocated",
}
_DOUBLE = re.compile(r"double_bit_error_count$")
_HEALTH = {"OK": 1, "Warning": 0, "Alarm": 0, "Critical": 0}
_LINK = {"up": 1, "down": 0}


def samples(npus, links, devices, now):
    """``[(name, {labels}, value)]`` for all ``devices`` (physical ids) that the host should have.

    ``npus`` as in npu_smi.gather (with ``ecc``), {} of a table that could not be read; ``links`` as in hccn.gather.read_devices.
    A device without links (310P, and hosts without hccn_tool) has {} there. Without any device the host itself is not known.
    """
    found = [("inference_npu_last_run_timestamp_seconds", {}, now)]
    if not devices:
        found.append(("inference_npu_query_failed", {"device": "all"}, 1))
    known = {_id(npu): npu for npu in npus}
    for device in sorted(set(devices) | {device for device in known if device is not None}):
        labels = {"device": str(device)}
        values = _of_device(known.get(device, {}), links.get(device, {}))
        found += [(name, labels, value) for name, value in values.items() if value is not None]
    return found


def _id(npu):
    return npu["npu_id"] if npu.get("device_id") is None else npu["device_id"]


def _of_device(npu, answer):
    values = answer.get("values") or {}
    ecc = npu.get("ecc")
    health, link = _HEALTH.get(npu.get("health"), -1), _LINK.get(values.get("link"), -1)
    failed = health == -1 or bool(answer.get("errors")) or ("link" in values and link == -1) or (npu and ecc is None)
    return {
        "inference_npu_health": health,
        "inference_npu_link": link if answer else None,
        "inference_npu_link_changes_total": (values.get("link_stat") or {}).get("link_up_count"),
        "inference_npu_temperature_celsius": npu.get("temperature_celsius"),
        "inference_npu_hbm_used_bytes": _bytes(npu.get("hbm_used_mib")),
        "inference_npu_hbm_total_bytes": _bytes(npu.get("hbm_total_mib")),
        "inference_npu_ecc_double_bit_errors_total": _errors(ecc),
        "inference_npu_query_failed": int(bool(failed)),
    }


def _bytes(mib):
    return None if mib is None else mib * MIB


def _errors(ecc):
    counts = [count for name, count in (ecc or {}).items() if _DOUBLE.search(name) and isinstance(count, int)]
    return sum(counts) if counts else None


def proxy_samples(deployment, answers, now):
    """As :func:`samples`, for ``answers``: {service: (status, body as JSON or None)}."""
    found = []
    for service, (status, body) in sorted(answers.items()):
        labels = {"deployment": deployment, "service": service}
        found.append(("inference_router_last_run_timestamp_seconds", labels, now))
        good = status == 200 and isinstance(body, dict)
        found.append(("inference_router_up", labels, int(good)))
        for key, pool in _POOLS.items() if good else ():
            if number(body.get(key)) is not None:
                found.append(("inference_router_engines", dict(labels, pool=pool), body[key]))
        if good and number(body.get("request_num")) is not None:
            found.append(("inference_router_requests", labels, body["request_num"]))
    return found


def log_samples(settings, state, problems, now):
    """As :func:`samples`, for the counters of collector/logs.py; ``problems``: service to why its log was not read, or empty."""
    found = []
    for item in settings["services"]:
        own, labels = state[item["service"]], {"deployment": settings["deployment"]}
        labels.update(service=item["service"], role=item["role"])
        for flag in sorted(own["flags"]):
            found.append(("inference_log_red_flags_total", dict(labels, flag=flag), own["flags"][flag]))
        found.append(("inference_log_transfers_total", labels, own["transfers"]))
        found.append(("inference_log_transfer_seconds_total", labels, own["milliseconds"] / 1000))
        found.append(("inference_log_gaps_total", labels, own["gaps"]))
        found.append(("inference_log_read", labels, int(not problems[item["service"]])))
        found.append(("inference_log_last_run_timestamp_seconds", labels, now))
    return found


def text_of(found, about_names=None):
    """The samples in Prometheus' text format, those of one name together."""
    lines = []
    for name, about in (about_names or HELP).items():
        own = [(labels, value) for other, labels, value in found if other == name]
        if own:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        for labels, value in own:
            pairs = ",".join(f'{key}="{_escaped(labels[key])}"' for key in sorted(labels))
            lines.append("{}{} {:.15g}".format(name, "{" + pairs + "}" if pairs else "", value))
    return "\n".join(lines) + "\n"


def _escaped(text):
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
