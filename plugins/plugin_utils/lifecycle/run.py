# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This run of ansible-playbook, as it signs locks: who, where, since when, and by what its process is recognised."""

from __future__ import annotations

import contextlib
import getpass
import os
import pathlib
import re
import socket
import time
import typing as t

from ...module_utils.tools.text import one_line
from ..hosts.module_answer import shown
from ..plan.begun import lock_holder, step_of

Run = dict[str, t.Any]
MOST = 64  # characters of a field
# What people are told to type. Ansible evaluates -e as a template, and a record is text of a host: quotes for a shell would not be enough.
ID = re.compile(r"[\w.-]{1,100}", re.ASCII)
PREFIX = "ansible-local-"  # of the run's temporary folder; the process id follows (ansible/config/manager.py)


def this_run(temporary: str) -> Run:
    """The record of this run; ``temporary`` is its temporary folder, whose name is the run's id.

    ``process`` and ``start`` are those of ansible-playbook, which is this process or, for a task, its parent. ``space`` is where a
    process id means the same process: one boot of one machine, one container. Without Linux' /proc it is empty.
    """
    name = os.path.basename(temporary.rstrip("/"))
    process = next((pid for pid in (os.getppid(), os.getpid()) if name.startswith(f"{PREFIX}{pid}")), 0)
    return {
        "id": name,
        "owner": _user(),
        "controller": socket.gethostname(),
        "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "process": process,
        "start": start_of(process),
        "space": space(),
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return str(os.getuid())


def space() -> str:
    """The machine's boot and the namespace of process ids; empty if they cannot be read."""
    with contextlib.suppress(OSError):
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return ""


def start_of(process: int) -> str:
    """When a process started, in the kernel's ticks (field 22 of proc(5) stat); empty if there is no such process."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    return ""


def ended(holder: t.Mapping[str, t.Any], here: Run) -> bool:
    """Whether the run that holds a lock has ended for certain: it ran where this run does, and its process is gone."""
    known = holder.get("process") and holder.get("start") and holder.get("space")
    # A record that a disk or somebody damaged proves nothing.
    sound = known and isinstance(holder["process"], int) and isinstance(holder["start"], str)
    return bool(sound and holder["space"] == here["space"] and start_of(holder["process"]) != holder["start"])


def another(holder: t.Mapping[str, t.Any], here: Run) -> bool:
    """Whether a lock is held, by another run than this one, that has not ended for certain."""
    return bool(holder) and holder.get("id") != here["id"] and not ended(holder, here)


def left(host: str, holder: t.Mapping[str, t.Any]) -> str:
    """What a run says whose lock is taken over from one that was killed within a change."""
    return one_line(
        f"{host}: the run {_cut(holder['id'])} of {_cut(holder.get('owner'))} on {_cut(holder.get('controller'))} did not end its "
        f"change{step_of(holder)}. This run looks at what runs, and goes on from there."
    )


def _cut(value: t.Any) -> str:
    """A field of a record, which is text of a host: it fits a sentence, and is none."""
    return str(value)[:MOST]


def refusal(host: str, directory: str, holder: t.Mapping[str, t.Any]) -> str:
    """The error for a deployment that another run is changing."""
    above, name = os.path.split(directory.rstrip("/"))
    run = str(holder["id"])
    if not ID.fullmatch(run):
        return one_line(
            f"{host}: deployment {name} is locked, and the record of the lock is not one that this collection writes. Nothing was changed here. Fix: find out "
            f"who wrote {os.path.join(above, f'.{name}.lock')} on this host; if no run changes the deployment, remove the file."
        )
    return one_line(
        f"{host}: deployment {name} is being changed by {_cut(holder.get('owner'))} on {_cut(holder.get('controller'))} since {_cut(holder.get('since'))} "
        f"(run {run}{step_of(holder)}). Two runs at once would leave services of both; nothing was changed here. Fix: wait until that run has ended. "
        f"If it has ended for certain, run again with -e inference_break_lock={run}"
    )


def called(
    arguments: t.Mapping[str, t.Any],
    here: Run,
    host: str,
    call: t.Callable[[dict[str, t.Any]], dict[str, t.Any]],
    warn: t.Callable[[str], t.Any],
    check: bool,
) -> dict[str, t.Any]:
    """The answer of the module deployment_run, or a refusal with who holds the lock, which is taken over from a run that has ended.

    ``arguments``: its options, which ``call`` gets with those that only the controller knows, twice if a lock is taken over; ``here``: this run;
    ``warn`` is told what a killed run has left; ``check``: whether in check mode, where nothing is locked, so that the holder stays.
    """
    given, broken = {**arguments, "run": here}, str(arguments.get("break_lock") or "")
    answer = call(given)
    holder = answer.get("holder") or {}
    if given.get("state") != "begin" or holder.get("id", here["id"]) == here["id"]:
        return answer
    takes = holder["id"] == broken or ended(holder, here)
    if takes and holder.get("step"):
        warn(left(host, holder))
    if takes:
        answer = call({**given, "replace": holder["id"]})
        holder = answer.get("holder") or {}
    if holder.get("id", here["id"]) != here["id"] and not (takes and check):
        return shown({"failed": True, "msg": refusal(host, str(given["directory"]), holder), "holder": holder})
    return answer


def refusals(printed: t.Mapping[str, str], directory: str, here: Run, broken: str = "") -> list[str]:
    """The refusal of a deployment that another run changes, by what hosts printed in playbooks/shared/places.yml; empty if none does.

    Before anything is compared: the lock itself is taken later. ``broken`` is the id of a run whose lock is taken over.
    """
    for host, text in sorted(printed.items()):
        holder = lock_holder(text)
        if another(holder, here) and holder["id"] != broken:
            return [refusal(host, directory, holder)]
    return []
