# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal of the engines' configuration: what a host is asked, and what its answers mean for people."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.mentioned import mentioned
from ..description.written_at import written_at
from ..hosts.observed import npus_by_device
from ..releases.artefacts import CHIPS
from .service_states import software_files

Record = t.Mapping[str, t.Any]
DEVICE_MIB = 64 << 10  # of A2 and A3, where npu-smi was not asked
SERVE = ("serve",)  # the word before the model
MOST_PLACES = 4
ODD = "its answer is not that of the module, so it is not used"


def question(plan: Record, host: str, npus: Record) -> dict[str, t.Any]:
    """Options of the module engine_rehearsal for a host: engines, python, newer, stand_ins ({} for a CPU), own_user, directory.

    ``npus``: the check's facts of the NPUs there, or {}.
    """
    engines = [service for service in plan["services"] if service["kind"] in ENGINE_KINDS and service["host"] == host]
    return {
        "engines": [
            {
                "name": service["name"],
                "argv": service["argv"][service["argv"].index(SERVE[0]) + 1 :],
                "env": {name: str(value) for name, value in service["env"].items()},
                **({"container": dict(service["container"])} if service["container"] else {}),
            }
            for service in engines
            if SERVE[0] in service["argv"][:3]
        ],
        "python": plan["software"]["engine"]["interpreter"],
        "newer": software_files(plan, engines[0]) if engines else [],
        "stand_ins": _stand_ins(plan, host, npus) if plan["engine_facts"]["npus"] else {},
        "own_user": plan["runtime_facts"]["own_user"],
        "directory": plan["directory"],
    }


def _stand_ins(plan: Record, host: str, npus: Record) -> dict[str, t.Any]:
    planned = next(item for item in plan["hosts"] if item["name"] == host)
    chip = CHIPS.get(planned["hardware"])
    dies = npus_by_device(npus)
    sizes = [die["hbm_total_mib"] for die in dies.values() if isinstance(die.get("hbm_total_mib"), int)]
    return {
        "hardware": chip.device_type if chip else planned["hardware"].upper(),
        "devices": len(dies) or len(planned["devices"]) or 1,
        "device_mib": min((size for size in sizes if size > 0), default=DEVICE_MIB),
    }


def outcome(plan: Record, results: t.Mapping[str, Record], hostvars: t.Mapping[str, Record]) -> dict[str, str]:
    """``{refusals, remarks}``: why the run ends, and what else there is to say; empty texts if there is nothing.

    ``results``: the module's result of each host. ``hostvars``: the variables of the hosts, and of the controller as ``localhost``.
    """
    results = {host: result if _sound(result) else {"msg": ODD} for host, result in results.items()}
    refused, unknown, remarks = _gathered(results, "refused"), _gathered(results, "unknown"), []
    tried = sum(result.get("tried") or 0 for result in results.values())
    if tried:
        slowest = max(result.get("seconds") or 0 for result in results.values())
        remarks.append(
            f"Release {plan['release']} judged {tried} different command{'' if tried == 1 else 's'} of engines, on "
            f"{len(results)} host{'' if len(results) == 1 else 's'}, in {slowest} s."
        )
    for (kind, text), engines in unknown.items():
        remarks.append(
            f"Remark: {_listed(engines)}: could not be rehearsed, so nothing is known of these settings: {kind}: {text}"
        )
    for host, result in results.items():
        reason = result.get("reason") or ("" if "refused" in result else result.get("msg") or "it gave no answer")
        if reason:
            remarks.append(f"Remark: {host}: no engine was rehearsed: {reason}")
    texts = [_refusal(plan, text, engines, hostvars) for (_kind, text), engines in refused.items()]
    return {"refusals": "\n".join(texts), "remarks": "\n".join(remarks)}


def _sound(result: Record) -> bool:
    """Whether the rows of an answer have their form: one odd answer says nothing of other hosts."""
    return all(
        isinstance(row, t.Mapping)
        and all(isinstance(row.get(key), str) for key in ("kind", "text"))
        and isinstance(row.get("engines"), list)
        and row["engines"]
        and all(isinstance(name, str) for name in row["engines"])
        for part in ("refused", "unknown")
        for row in result.get(part) or []
    )


def _gathered(results: t.Mapping[str, Record], part: str) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The answers of all hosts: (kind, text) -> [(engine, host)]."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for host, result in results.items():
        for row in result.get(part) or []:
            found.setdefault((row["kind"], row["text"]), []).extend((name, host) for name in row["engines"])
    return found


def _listed(engines: t.Sequence[tuple[str, str]]) -> str:
    names = [f"{name} on {host}" for name, host in engines]
    return ", ".join(names[:MOST_PLACES]) + (
        f" and {len(names) - MOST_PLACES} more" if len(names) > MOST_PLACES else ""
    )


def _refusal(plan: Record, text: str, engines: list[tuple[str, str]], hostvars: t.Mapping[str, Record]) -> str:
    kinds = {service["name"]: service["kind"] for service in plan["services"]}
    pools = sorted({kinds[name] for name, _host in engines if name in kinds})
    variables = hostvars.get(engines[0][1]) or {}
    paths = mentioned(text, pools, variables)[:MOST_PLACES]
    lines = written_at(paths, hostvars.get("localhost") or {}, {engines[0][1]: variables})
    about = ", ".join(f"{path} ({lines[path]})" if path in lines else path for path in paths)
    options = [f"inference_pools.{pool}.args" for pool in pools] + ["inference_args"]
    where = f"It is about {about}" if about else f"It names no option of the inventory; see {', '.join(options)}"
    return (
        f"{_listed(engines)}: release {plan['release']} refuses these settings: {text.rstrip('.')}. "
        f"The engine would end at each start. {where}. No service was changed, and what serves goes on. "
        "Fix: change the option as the text says and run the playbook again; if the release is wrong about it, set inference_rehearse: false"
    )
