# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two topologies on the same hosts: the runs of ansible-playbook that measure one, then the other, and deploy the first one again.

Each stage is a run of its own, because a run has one plan, and because a run that fails ends: the next one can still restore.
"""

from __future__ import annotations

import json
import os
import typing as t

import yaml

from ..description.findings import Finding, SettingsError
from .curves import pygal_missing

Record = t.Mapping[str, t.Any]
WITH, FOLDER = "inference_compare_with", "inference_compare_folder"
# They name the deployment, or how it runs: with others it would be another one beside the first.
SAME = tuple(f"inference_{name}" for name in ("deployment", "group", "root", "runtime", "secrets", "compare_with"))
WHY = "The service would pause for two deployments, and nothing could be compared."
# Ansible runs nothing more of an interrupted play, so the way back is printed before.
WAY_BACK = "if this run is interrupted, it stays: run the playbook site with the inventory as it is"
# Options of ansible-playbook that every stage gets, by their name in Ansible's options.
FLAGS = {"become": "--become", "diff": "--diff"}
VALUES = {
    "become_method": "--become-method",
    "become_user": "--become-user",
    "become_password_file": "--become-password-file",
    "connection": "--connection",
    "connection_password_file": "--connection-password-file",
    "forks": "--forks",
    "private_key_file": "--private-key",
    "remote_user": "--user",
    "scp_extra_args": "--scp-extra-args",
    "sftp_extra_args": "--sftp-extra-args",
    "ssh_common_args": "--ssh-common-args",
    "ssh_extra_args": "--ssh-extra-args",
    "timeout": "--timeout",
}
LISTS = {"inventory": "--inventory", "extra_vars": "--extra-vars", "vault_ids": "--vault-id"}
FILES = {"vault_password_files": "--vault-password-file"}
PATHS = {"module_path": "--module-path"}  # each is put before the others, so they are one value
# Nobody could answer a question of a stage, and a part of a deployment cannot be compared.
REFUSED = {
    "ask_pass": "--ask-pass",
    "ask_vault_pass": "--ask-vault-pass",
    "become_ask_pass": "--ask-become-pass",
    "skip_tags": "--skip-tags",
    "start_at_task": "--start-at-task",
    "step": "--step",
    "subset": "--limit",
}
# Of the second measurement: what the comparison is for. The page shows figures of few measurements, and that they are not judged.
RESULT = ("BENCH-REGRESSION", "BENCH-UNJUDGED")


def compare_stages(given: Record, options: Record) -> dict[str, t.Any]:
    """``{directory, folder, stages: [{name, title, argv, log}], restore: {...}, report, pages}``. Raises PlanError with all errors.

    ``given``: ``{with, folder, moment, pause, program}``; ``moment``: names the folder of this comparison; ``pause``: whether the service may pause;
    ``program``: the words that start ansible-playbook. ``options``: those of this run (``context.CLIARGS``).
    """
    overlay, base = _path(given["with"]), _path(given["folder"] or ".")
    findings = [*input_findings(given["with"], given["folder"]), *_refused(options)]
    if not given["pause"]:
        problem = "the service pauses twice, and inference_allow_pause is not true"
        fix = "Run it when no client needs the service, with inference_allow_pause: true."
        findings.append(Finding("inference_allow_pause", "COMPARE-PAUSE", problem, fix, why="Requests would fail."))
    if findings:
        raise SettingsError(findings)
    folder = os.path.join(base, f"compare-{given['moment']}")
    before, after = (os.path.join(folder, f"{name}.json") for name in ("before", "after"))
    pages = {"inference_bench_markdown": os.path.join(folder, "compare.md")}
    if not pygal_missing():
        pages["inference_bench_html"] = os.path.join(folder, "compare.html")
    second = [f"@{overlay}"]
    measured = {"inference_bench_json": after, "inference_bench_compare": before, "__inference_judged_later": True}
    rows = [
        ("check", "check the other topology", "check", second),
        ("before", "measure the present topology", "bench", [_variables({"inference_bench_json": before})]),
        ("deploy", f"deploy and verify the other topology ({WAY_BACK})", "site", second),
        ("after", f"measure the other topology ({WAY_BACK})", "bench", [*second, _variables({**measured, **pages})]),
        ("restore", "deploy and verify the first topology again", "site", []),
    ]
    words = [*given["program"], *forwarded(options)]
    stages = [
        {
            "name": name,
            "title": f"stage {number} of {len(rows)}: {title}",
            "argv": [
                *words,
                *(word for each in more for word in ("--extra-vars", each)),
                f"ascend.inference.{playbook}",
            ],
            "log": os.path.join(folder, f"{number}-{name}.log"),
        }
        for number, (name, title, playbook, more) in enumerate(rows, 1)
    ]
    found = {"directory": os.getcwd(), "folder": folder, "report": after, "pages": list(pages.values())}
    return {**found, "stages": stages[:-1], "restore": stages[-1]}


def input_findings(overlay: str, folder: str) -> list[Finding]:
    """What is wrong with the file of the other topology, and with the folder for the reports, as the user wrote them."""
    findings, base = list(_overlay(overlay, _path(overlay))), _path(folder or ".")
    if not os.path.isdir(base) or not os.access(base, os.W_OK | os.X_OK):
        problem = f"{base} is no folder on the controller in which its user may write"
        findings.append(Finding(FOLDER, "COMPARE-FOLDER", problem, "Create the folder.", why=WHY))
    return findings


def forwarded(options: Record) -> list[str]:
    """The options of this run as words, for another one in the same folder."""
    found = [flag for name, flag in FLAGS.items() if options.get(name)]
    for name, flag in VALUES.items():
        if options.get(name) not in (None, ""):
            found += [flag, str(options[name])]
    for name, flag in {**LISTS, **FILES}.items():
        found += [word for value in options.get(name) or () for word in (flag, str(value))]
    for name, flag in PATHS.items():
        found += [flag, os.pathsep.join(map(str, options[name]))] if options.get(name) else []
    return [*found, *(["-" + "v" * int(options["verbosity"])] if options.get("verbosity") else [])]


def compare_outcome(plan: Record, done: Record) -> dict[str, t.Any]:
    """``{passed, lines}`` of a comparison. ``done``: ``{failed, begun, restored, report, folder, pages}``.

    ``failed``: the stage that failed, or empty; ``begun``: the stages that began; ``restored``: whether the last stage passed; ``report``: that of the
    second measurement, or None.
    """
    lines, name = [], done["failed"]
    if name:
        lines.append(f"The comparison failed in the stage '{name}'; its output is in {done['folder']}.")
    report = done["report"] if isinstance(done["report"], dict) and not name else None
    if not name and not report:
        lines.append(f"The other topology was measured, and there is no report of it in {done['folder']}.")
    wrong = [
        item for item in (report or {}).get("findings", ()) if item["severity"] == "error" and item["id"] not in RESULT
    ]
    lines += [f"{item['path']}: {item['problem']} [{item['id']}]" for item in wrong]
    if report and not wrong:
        lines.append(f"Both topologies were measured: {', '.join(done['pages'])}")
    lines.append(_serving(plan["deployment"], done))
    return {"passed": bool(report) and not wrong and done["restored"], "lines": lines}


def _serving(deployment: str, done: Record) -> str:
    """What serves now."""
    if "deploy" not in done["begun"]:
        return f"{deployment} serves as before: nothing was deployed."
    if done["restored"]:
        return f"{deployment} serves with its first topology again, and is verified."
    return (
        f"{deployment} was NOT restored, and its services may be those of the other topology, or be stopped. Fix: read the last output in "
        f"{done['folder']}, correct the reason, and run the playbook site with the inventory as it is."
    )


def _overlay(value: t.Any, path: str) -> t.Iterator[Finding]:
    """What is wrong with the file of the other topology's variables."""
    problem, fix = "", "Write the variables that differ, such as inference_pools, into a file of YAML."
    variables: t.Any = None
    if not value:
        problem = "no other topology is named"
    else:
        try:
            with open(path, encoding="utf-8") as stream:
                variables = yaml.safe_load(stream)
        except OSError as error:
            problem = f"{path} cannot be read: {error.strerror}"
        except (yaml.YAMLError, UnicodeDecodeError):
            problem = f"{path} is no YAML"
    if not problem and (not isinstance(variables, dict) or not variables):
        problem = f"{path} has no variables"
    elif not problem:
        strange = [str(name) for name in variables if not str(name).startswith("inference_") or name in SAME]
        problem = f"it sets {', '.join(strange)}" if strange else ""
        fix = "Leave in it only variables of the deployment, and not those that name it or say how it runs."
    if problem:
        yield Finding(WITH, "COMPARE-WITH", problem, fix, why=WHY)


def _refused(options: Record) -> t.Iterator[Finding]:
    for name, flag in REFUSED.items():
        if options.get(name):
            fix = "Leave it out; passwords can be given by files, such as --become-password-file."
            yield Finding(flag, "COMPARE-OPTION", f"{flag} cannot be handed on to the stages", fix, why=WHY)
    if tuple(options.get("tags") or ("all",)) != ("all",):
        yield Finding("--tags", "COMPARE-OPTION", "a part of a playbook compares nothing", "Leave it out.", why=WHY)


def _path(value: t.Any) -> str:
    # Ansible runs modules on the controller in the folder of the playbook, so the paths are made absolute here.
    return os.path.abspath(os.path.expanduser(str(value)))


def _variables(values: Record) -> str:
    return json.dumps(values, sort_keys=True)
