# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the variable `inference_entry` and the texts of its files to what the role writes."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ..description.findings import SettingsError
from . import haproxy
from .deployed import SECRET
from .keys import engine_keys, team_keys
from .pair import kept_address, pair_of
from .plan import EntryPlan, entry_plan
from .reading import read_entry
from .settings import Entry
from .told import told

FOLDER = "/etc/ascend-inference-entry"
RUN = "/run/ascend-inference-entry"
STATE = "/var/lib/ascend-inference-entry"
UNIT = "ascend-inference-entry.service"


def entry_hosts(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], names: t.Sequence[str]) -> dict[str, str]:
    """The addresses of the hosts by their names, as other hosts reach them: inference_address, else ansible_host, else the name."""
    return {
        name: str(hostvars[name].get("inference_address") or hostvars[name].get("ansible_host") or name)
        for name in names
    }


def _sources(entry: Entry) -> list[str]:
    """Paths of the files on the controller whose texts ``entry_files`` needs."""
    paths = [team.keys_file for team in entry.teams.values()]
    paths += [deployment.api_key_file for deployment in entry.deployments.values()]
    paths = [path for path in paths if not path.startswith(SECRET)]
    return list(dict.fromkeys(filter(None, [*paths, entry.certificate, entry.certificate_key])))


def entry_files(
    settings: t.Any,
    hosts: t.Mapping[str, str],
    texts: t.Mapping[str, str],
    host: str,
    folder: str = FOLDER,
    run: str = RUN,
    state: str = STATE,
) -> list[dict[str, str]]:
    """``[{path, content}]`` of one host: contents may be secret. ``texts``: contents by the paths that ``entry_service`` names as sources.

    Raises PlanError with all errors of the settings, or of the keys.
    """
    entry = read_entry(settings, hosts)
    digests, wrong = team_keys(entry, texts)
    keys, wrong_keys = engine_keys(entry, texts)
    if wrong or wrong_keys:
        raise SettingsError([*wrong, *wrong_keys])
    contents = haproxy.files(entry_plan(entry, pair_of(hosts, host)), folder, run, state, digests, keys)
    contents["metrics.txt"] = told(entry, hosts, texts)
    if not entry.plain_http:
        contents["entry.pem"] = texts[entry.certificate]
        contents["entry.pem.key"] = texts[entry.certificate_key]
    return [{"path": posixpath.join(folder, name), "content": text} for name, text in sorted(contents.items())]


def entry_service(settings: t.Any, hosts: t.Mapping[str, str], host: str) -> dict[str, t.Any]:
    """How the entry runs on one host, without secrets: state, program, commands, user, unit, folders, what keeps its address, and sources on the
    controller. Raises PlanError."""
    entry = read_entry(settings, hosts)
    configuration = posixpath.join(FOLDER, haproxy.CONFIGURED)
    return {
        "state": entry.state,
        "verify": entry.verify,
        "program": haproxy.PROGRAM,
        "package": haproxy.PACKAGE,
        "user": haproxy.USER,
        "start": haproxy.start(configuration),
        "check": haproxy.check(configuration),
        "reload": haproxy.RELOAD,
        "folder": FOLDER,
        "run_name": posixpath.basename(RUN),
        "state_name": posixpath.basename(STATE),
        "usage": STATE,
        "unit": UNIT,
        "unit_path": posixpath.join("/etc/systemd/system", UNIT),
        "sources": _sources(entry),
        "kept": kept_address(entry, pair_of(hosts, host), host),
        "health": f"http://127.0.0.1:{entry.status_port}/health",
        "configuration": configuration,
        "listens": _listens(entry_plan(entry, pair_of(hosts, host))) if entry.state == "present" else [],
    }


def _listens(plan: EntryPlan) -> list[str]:
    """``ADDRESS:PORT`` of each socket on which the program listens, as its configuration has them."""
    text = haproxy.files(plan, FOLDER, RUN, STATE, {}, {})[haproxy.CONFIGURED]
    return re.findall(rf"^    (?:bind|peer {plan.pair.own.number}) (\S+:\d+)", text, re.MULTILINE)
