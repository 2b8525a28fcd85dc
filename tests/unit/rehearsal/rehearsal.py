# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of the rehearsals, and their runs. ``cases/NAME.yml`` holds the cases of one role or of some playbooks.

A case of a role runs the role on the host ``h1``; a case of a playbook has an inventory of ``inventories/``. ``rehearse.py`` documents answers.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import typing as t

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
Record = dict[str, t.Any]


def cases(files: t.Sequence[pathlib.Path] = ()) -> dict[str, Record]:
    """All cases, by ``FILE/NAME``. Those with ``long`` run in the long tests only."""
    common = yaml.safe_load((HERE / "answers.yml").read_text(encoding="utf-8"))
    found: dict[str, Record] = {}
    for path in files or sorted((HERE / "cases").glob("*.yml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for name, case in content["cases"].items():
            merged = {**content.get("all", {}), **case}
            merged["variables"] = {**content.get("all", {}).get("variables", {}), **case.get("variables", {})}
            merged["answers"] = [*common, *content.get("all", {}).get("answers", []), *case.get("answers", [])]
            found[f"{path.stem}/{name}"] = merged
    return found


def run(wanted: t.Mapping[str, Record], folder: pathlib.Path, tree: pathlib.Path | None = None) -> dict[str, t.Any]:
    """The calls of each case; ``tree`` is the parent folder of ansible_collections, if it is not that of this test."""
    (folder / "certificate.pem").write_text("certificate", encoding="utf-8")
    (folder / "team.keys").write_text(f"sha256:{'ab' * 32}", encoding="utf-8")
    (folder / "drill.keys").write_text("drill-key-0123456789\n", encoding="utf-8")
    (folder / "report.json").write_text('{"findings": []}', encoding="utf-8")
    (folder / "other.yml").write_text("inference_pools: {}\n", encoding="utf-8")
    runs = [*_runs_of_roles(wanted, folder), *_runs_of_playbooks(wanted, folder)]
    text = json.dumps([item for item, _names in runs]).replace("FOLDER", str(folder))
    (folder / "cases.json").write_text(text, encoding="utf-8")
    _rehearse(folder, tree or pathlib.Path(__file__).absolute().parents[6])
    records = json.loads((folder / "records.json").read_text(encoding="utf-8"))
    found: dict[str, t.Any] = {}
    for calls, (_item, names) in zip(records, runs, strict=True):
        for host, name in names.items():
            found[name] = [call for call in calls if host in ("", call["host"])]
    return {name: found[name] for name in wanted}


def _rehearse(folder: pathlib.Path, tree: pathlib.Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_COLLECTIONS_PATH": f"{tree}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_INJECT_FACT_VARS": "False",  # as in ansible.cfg; other tests run with Ansible's default
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "HOME": str(folder),
        "PYTHONHASHSEED": "0",  # the filter difference has the order of a set
        "PYTHONPATH": f"{tree}:{os.environ.get('PYTHONPATH', '')}",
    }
    program = [sys.executable, str(HERE / "rehearse.py"), str(folder / "cases.json"), str(folder / "records.json")]
    done = subprocess.run(program, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-9000:] + done.stderr[-9000:]
    (folder / "times.txt").write_text(done.stdout, encoding="utf-8")


def _runs_of_roles(wanted: t.Mapping[str, Record], folder: pathlib.Path) -> t.Iterator[tuple[Record, dict[str, str]]]:
    """All cases of an entry point of a role in one run, each on a host of its own; with the names of the cases, by host."""
    together: dict[t.Any, dict[str, str]] = {}
    for name, case in wanted.items():
        if "role" in case:
            key = (case["role"], case.get("tasks_from", "main"), bool(case.get("check")))
            together.setdefault(key, {})[name.split("/")[1]] = name
    for (role, entry, check), names in together.items():
        own = folder / f"{role}-{entry}-{check}"
        own.mkdir()
        hosts = {host: dict(wanted[name]["variables"]) for host, name in names.items()}
        facts = {host: variables.pop("ansible_facts", {}) for host, variables in hosts.items()}
        task = {
            "name": "Role",
            "ansible.builtin.include_role": {"name": f"ascend.inference.{role}", "tasks_from": entry},
        }
        play = {"name": "Rehearse", "hosts": "all", "gather_facts": False, "tasks": [task]}
        (own / "playbook.yml").write_text(json.dumps([play]), encoding="utf-8")
        inventory = json.dumps({"all": {"hosts": hosts}}).replace("FOLDER", str(folder))
        (own / "hosts.yml").write_text(inventory, encoding="utf-8")
        yield (
            {
                "playbook": str(own / "playbook.yml"),
                "inventory": str(own / "hosts.yml"),
                "variables": {},
                "answers": {host: wanted[name]["answers"] for host, name in names.items()},
                "facts": facts,
                "folder": str(own),
                "check": check,
            },
            names,
        )


def _runs_of_playbooks(
    wanted: t.Mapping[str, Record], folder: pathlib.Path
) -> t.Iterator[tuple[Record, dict[str, str]]]:
    for name, case in wanted.items():
        if "playbook" in case:
            own = folder / name.replace("/", "-")
            own.mkdir()
            given = {
                "playbook": f"ascend.inference.{case['playbook']}",
                "inventory": str(HERE / "inventories" / f"{case['inventory']}.yml"),
                "answers": {"": case["answers"]},
                "folder": str(own),
            }
            yield {**case, **given}, {"": name}
