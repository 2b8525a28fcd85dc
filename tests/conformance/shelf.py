# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shelf: masked archives of the playbook acceptance from real racks, in docs/evidence/, and what each of them proves.

An archive is replayed: what npu-smi and hccn_tool printed goes through the parsers and the rules of this checkout again, and has to give what the
report in the archive says. An archive that is not masked, of simulated tools, or whose parts contradict each other has no row.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import tarfile
import tempfile
import threading
import typing as t

from ansible_collections.ascend.inference.plugins.module_utils.hccn.gather import BASIC, RetryingTool
from ansible_collections.ascend.inference.plugins.module_utils.hccn.ping import pairs, ping_all
from ansible_collections.ascend.inference.plugins.module_utils.hccn.report import report as hccn_report
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.gather import gather, read_ecc_growth
from ansible_collections.ascend.inference.plugins.module_utils.tools.errors import ToolError
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import PLACES, Output, Tool, ToolMissing
from ansible_collections.ascend.inference.plugins.modules.check_info import COUNTERS, DETAILS, read_growth
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.report import NOT
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import fabric, npu, reach
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan, observed
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import fabric_peers, fabric_plane
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.versions import versions

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "evidence"
sys.path.append(str(ROOT / "tests" / "simulator"))

import replay  # noqa: E402 - its folder is no package

Record = t.Mapping[str, t.Any]
# Rules that judge nothing but what the two tools printed.
OF_TOOLS = {rule.id for rules in (fabric.RULES, npu.RULES, reach.RULES) for rule in rules}
OF_TOOLS -= {"HCCN-CONF-ACCESS", "NPU-BUSY", "TLS-CERTIFICATE"}  # which need the host's groups, processes and clock
COLUMNS = ("driver", "firmware")  # of the versions that npu-smi prints
TIMEOUT = 30  # what a replayed call could take; it takes none


class Recorded:
    """A runner, as of ``tools/runner.py``, that answers with what a host's tools printed, in the recorded order and then the last one again."""

    def __init__(self, answers: t.Mapping[str, list[dict[str, t.Any]]]) -> None:
        self._answers = {name: list(found) for name, found in answers.items()}
        self._lock = threading.Lock()

    def __call__(self, argv: t.Sequence[str], timeout: float, stdin: str | None = None) -> Output:
        """Raises ToolMissing for a call that was not recorded, or that could not be started then."""
        name = " ".join([os.path.basename(argv[0]), *argv[1:]])
        with self._lock:
            found = self._answers.get(name) or []
            answer = (found.pop(0) if len(found) > 1 else found[0]) if found else None
        if answer is None:
            raise ToolMissing(f"the archive has no answer of: {name}")
        return Output(list(argv), answer["rc"], answer["out"], answer["err"], answer["timed_out"])


def archives(folder: pathlib.Path = FOLDER) -> list[pathlib.Path]:
    """The archives of the shelf, in the order of their names."""
    return sorted(folder.glob("*.tar.gz"))


def judged(path: pathlib.Path) -> tuple[dict[str, str], list[str]]:
    """(row of the table, why it has none): ``{release, hardware, connector, runtime, date, run, devices, verdict, file}``."""
    try:
        files = replay.contents(path)
        documents = {name: json.loads(files[f"{name}.json"]) for name in ("archive", "plan", "report", "inventory")}
        problems = [*_unfit(files, documents), *_contradictions(files, documents)]
        return _row(documents["plan"], documents["report"], path.name), problems
    except KeyError as error:
        problem = f"it has no {error}: acceptance of this collection with inference_acceptance.mask writes it"
    except (AttributeError, OSError, TypeError, ValueError, tarfile.TarError) as error:
        problem = f"it cannot be read: {error} ({type(error).__name__})"
    return {}, [problem]


def _unfit(files: t.Mapping[str, str], documents: Record) -> t.Iterator[str]:
    """What an archive must not be, whatever its parts say."""
    if not documents["archive"]["masked"]:
        yield "it is not masked. Run acceptance with inference_acceptance: {mask: true}"
    if documents["report"]["verdict"] == NOT:
        yield f"the verdict of its report is: {NOT}"
    hosts = {host["name"] for host in documents["plan"]["hosts"]}
    for host in sorted(name for name in hosts if f"{name}/tools.json" not in files):
        yield f"{host}: nothing was recorded"
    tools = {
        call["argv"][0]
        for name in files
        if name.endswith("/tools.json")
        for call in json.loads(files[name])["commands"]
    }
    if not tools or not documents["plan"]["engine_facts"]["npus"]:
        yield "it has no NPUs, and proves nothing about them"
    for tool in sorted(tool for tool in tools if os.path.dirname(tool) not in PLACES):
        yield f"{tool} is not in a folder of the driver: outputs of simulated tools are no proof"


def _contradictions(files: t.Mapping[str, str], documents: Record) -> t.Iterator[str]:
    """What the report says otherwise than the replayed outputs and the plan."""
    plan, report = documents["plan"], documents["report"]
    for name in ("deployment", "digest", "release"):
        if plan[name] != report[name]:
            yield f"{name} is {plan[name]} in the plan and {report[name]} in the report"
    facts = replayed(files, plan)
    options = {**documents["inventory"]["variables"], "ping": "full"}
    case = observed(plan, facts, {"ping": "full"})
    for host, row in versions(case).items():
        for column in COLUMNS:
            if row[column] != report["versions"].get(host, {}).get(column):
                yield f"{host}: the tools print {column} {row[column]!r}, the report says {report['versions'].get(host, {}).get(column)!r}"
    found = {_key(item) for item in _judge(plan, facts, options) if item["id"] in OF_TOOLS}
    said = {_key(item) for item in report["deviations"] if item["stage"] == "check" and item["id"] in OF_TOOLS}
    yield from (f"a finding of the replay is not in the report: {text}" for text in sorted(found - said))
    yield from (f"a finding of the report is not in the replay: {text}" for text in sorted(said - found))


def _judge(plan: Record, facts: Record, options: Record) -> list[dict[str, str]]:
    ignored = options.get("inference_check_ignore") or []
    limits = options.get("host_check_thresholds") or {}
    return check_plan(plan, facts, ignored, {"ping": "full", "tcp": "none", "thresholds": limits})


def _key(finding: Record) -> str:
    return f"{finding['severity']} {finding['id']} {finding['path']}"


def replayed(files: t.Mapping[str, str], plan: Record) -> dict[str, dict[str, t.Any]]:
    """Facts by host, of what the tools printed alone: as check_info and hccn_ping return them."""
    runners = {host["name"]: Recorded(replay.answers_of(files, host["name"])) for host in plan["hosts"]}
    facts = {name: _facts(files, plan, name, runner) for name, runner in runners.items()}
    for name, peers in fabric_peers(plan, facts, "full").items():
        if peers:
            tool = RetryingTool(Tool("hccn_tool", TIMEOUT, runners[name]), sleep=_no_pause)
            devices = sorted({device for peer in peers for device in peer["devices"]})
            found = ping_all(tool, pairs(devices, peers), fabric_plane(plan, name), _count(files, name), 1, 0, None)
            facts[name]["ping"] = {"unreachable_pairs": found.pop("unreachable"), **found}
    return facts


def _facts(files: t.Mapping[str, str], plan: Record, host: str, runner: Recorded) -> dict[str, t.Any]:
    devices = sorted({device for item in plan["services"] if item["host"] == host for device in item["devices"]})
    details = fabric_plane(plan, host) == "roce"
    found: dict[str, t.Any] = {"host": {}}
    try:
        tool = Tool("npu-smi", TIMEOUT, runner)
        found["npu"] = gather(tool, None, extra=("board", "ecc"), devices=devices)
        read_ecc_growth(tool, found["npu"], 0, 0, sleep=_no_pause)
    except (ToolError, ToolMissing) as error:
        found["npu"] = {"error": str(error)}
    try:
        tool = Tool("hccn_tool", TIMEOUT, runner)
        queries = COUNTERS + BASIC + DETAILS if details else BASIC
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as conf:
            conf.write(_hccn_conf(files, host))
            conf.flush()
            found["hccn"] = hccn_report(tool, devices, queries, 1, conf.name)
        if details:
            read_growth(tool, found["hccn"]["devices"], 0, 1, 0)
    except (ToolError, ToolMissing, ValueError) as error:
        found["hccn"] = {"error": str(error)}
    return found


def _count(files: t.Mapping[str, str], host: str) -> int:
    """The packets of a ping over HCCS, which are part of the recorded command line; the default of the role else."""
    for call in json.loads(files[f"{host}/tools.json"])["commands"]:
        found = re.search(r" -hccs_ping .* cnt (\d+)", " ".join(call["argv"]))
        if found:
            return int(found.group(1))
    return 3


def _hccn_conf(files: t.Mapping[str, str], host: str) -> str:
    kept = json.loads(files[f"{host}/tools.json"])["files"].values()
    return "".join(files[f"{host}/{name}"] for name in kept if name)


def _no_pause(_seconds: float) -> None:
    """Recorded answers need no waiting."""


def _row(plan: Record, report: Record, name: str) -> dict[str, str]:
    stages = [row["name"] for row in report["stages"] if row["state"] == "passed"]
    return {
        "release": plan["release"],
        "hardware": ", ".join(sorted({host["hardware"].upper() for host in plan["hosts"]})),
        "connector": connector(plan),
        "runtime": plan["runtime"],
        "date": report["date"][:10],
        "run": ", ".join(stages),
        "devices": f"{report['hosts']} hosts, {report['devices']} NPUs",
        "verdict": report["verdict"],
        "file": name,
    }


def connector(plan: Record) -> str:
    """The class of vLLM's connector that the engines of the plan load."""
    found = set()
    for service in plan["services"]:
        argv = service["argv"]
        if "--kv-transfer-config" in argv:
            found.add(json.loads(argv[argv.index("--kv-transfer-config") + 1])["kv_connector"])
    return ", ".join(sorted(found)) or "none"
