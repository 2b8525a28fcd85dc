# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollback file of ``hccn_config``: what each changed setting was, and the text of hccn.conf, before the first change.

Form: ``{"version": 1, "devices": {"0": {"ip": "10.20.0.10/255.255.255.0", "tls": true}}, "text": "..."}``; null is a setting that
the device did not have. The oldest value stays: a run that is repeated after a failure does not replace it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time

from ..files import tree
from ..tools.errors import ToolError
from .apply import lost_gateways
from .changes import CONF_KEYS, SETTINGS, plan
from .conf import read_hccn_conf

VERSION = 1
LOCK_TIMEOUT = 60  # seconds to wait for the lock; hccn_tool holds it while it writes one setting
MANAGED = {"ip": ("address", "netmask"), **{what: (key,) for what, key in CONF_KEYS.items()}}
UNSET = "hccn_tool cannot remove it; it stays until the next boot, which applies the restored file"


def remember(path, steps, state, conf_path):
    """Write the values that ``steps`` replace, in one step and readable by root only; values that are already there stay.

    ``state`` is what ``apply.read_state`` returned. Raises ToolError if the file cannot be written or trusted.
    """
    record = load(path) or {"version": VERSION, "devices": {}, "text": _text(conf_path)}
    before = json.dumps(record, sort_keys=True)
    for step in steps:
        remembered = record["devices"].setdefault(str(step.device), {})
        for what in ("ip", "gateway") if step.what == "ip" else (step.what,):
            remembered.setdefault(what, state[step.device][what])
    if json.dumps(record, sort_keys=True) == before:
        return
    folder, name = os.path.split(path)
    content = json.dumps(record, indent=1, sort_keys=True).encode("ascii") + b"\n"
    try:
        tree.make_shared(folder, 0o755, -1, -1)
        descriptor = os.open(folder, tree.FLAGS)
        try:
            tree.write(descriptor, name, content, 0o600, -1, -1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ToolError(f"Nothing was changed. The rollback file {path} cannot be written: {error.strerror}") from error


def load(path):
    """The record in the file, or None if there is none. Raises ToolError for one that others can write, or that is damaged."""
    try:
        descriptor = os.open(os.path.dirname(path), tree.FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolError(f"The rollback file {path} cannot be read: {error.strerror}") from error
    try:
        folder, entry = os.fstat(descriptor), tree.look(descriptor, os.path.basename(path))
    except OSError as error:
        raise ToolError(f"The rollback file {path} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if entry is None:
        return None
    if not tree.trusted(entry) or folder.st_uid not in (0, os.geteuid()) or folder.st_mode & 0o022:
        raise ToolError(
            f"The rollback file {path} or its folder can be written by others than root, so its content is not trusted. "
            "Fix: compare it with the devices, then remove it or correct its owner and mode"
        )
    return _checked(entry.content, path)


def _checked(content, path):
    try:
        record = json.loads(content.decode("ascii"))
        if record["version"] != VERSION or not isinstance(record["text"], str):
            raise ValueError("unknown version")
        for device, values in record["devices"].items():
            if not 0 <= int(device) <= 15 or not set(values) <= set(MANAGED):
                raise ValueError(f"unknown device or setting: {device}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(
            f"The rollback file {path} is damaged: {error}. Fix: restore the settings by hand, then remove it"
        ) from error
    return record


def forget(path):
    """Remove the file after its values were applied."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def queries(record):
    """What has to be read before the values are set again."""
    named = {what for values in record["devices"].values() for what in values}
    moves = "ip" in named or "gateway" in named
    return [what for what in SETTINGS if what in named or (moves and what in ("ip", "gateway"))] + ["route"] * moves


def wanted(record):
    """The old values as entries of the option ``devices``; settings that a device did not have are left out."""
    entries = []
    for device in sorted(record["devices"], key=int):
        entry = {"device": int(device)}
        for what, value in record["devices"][device].items():
            if what == "ip" and value:
                entry["ip"], entry["netmask"] = value.split("/")
            elif what != "ip" and value is not None:
                entry[what] = value
        entries.append(entry)
    return entries


def steps_back(record, state, conf_path):
    """-> (steps, notes, text): the changes back, what stays as it is, and the text that hccn.conf gets, or None if it keeps its own.

    The file gets its old text only if no one else changed it: all lines but those of the remembered settings are equal.
    """
    text, now = record["text"], _text(conf_path)
    same = _others(text, record) == _others(now, record)
    conf = _agreeing(state) if same else read_hccn_conf(conf_path)[0]
    entries = [entry for entry in wanted(record) if len(entry) > 1]
    steps, problems, notes = plan(entries, state, conf, accept_loss=True)
    if problems:
        raise ToolError("Nothing was changed. " + "; ".join(problems))
    lost = lost_gateways(steps, state)
    for device, values in sorted(record["devices"].items(), key=lambda item: int(item[0])):
        for what, value in sorted(values.items()):
            current = state[int(device)][what]
            if value is None and current is not None and not (what == "gateway" and int(device) in lost):
                notes.append(f"device {device}: it had no {what} before, now it has {current}; {UNSET}")
    if not same:
        notes.append(
            f"{conf_path} has lines that were changed by others since, so its old text is not restored; "
            "the remembered settings are set with hccn_tool"
        )
    return steps, notes, text if same and text != now else None


def _agreeing(state):
    """The file as it would be if it agreed with the devices, so that only differences of devices are steps."""
    found = {}
    for device, now in state.items():
        address, mask = (now["ip"] or "/").split("/")
        found[device] = {"address": address, "netmask": mask}
        found[device].update((CONF_KEYS[what], now[what]) for what in ("gateway", "netdetect"))
        found[device].update((CONF_KEYS[what], str(int(now[what] or 0))) for what in ("mtu", "tls"))
    return found


def _others(text, record):
    """The lines of hccn.conf that are not of the remembered settings, sorted: the tool appends a line that it changes."""
    managed = set()
    for device, values in record["devices"].items():
        managed |= {f"{key}_{device}" for what in values for key in MANAGED[what]}
    routes = [device for device, values in record["devices"].items() if "ip" in values]
    dropped = re.compile(r"route_address_.*_({})=".format("|".join(routes))) if routes else None
    return sorted(
        line
        for line in text.splitlines()
        if line.split("=", 1)[0] not in managed and not (dropped and dropped.match(line))
    )


def values_of(record, state):
    """The remembered settings as they are now, in the form of the diff: {device: {setting: value}}."""
    return {
        device: {what: state[int(device)][what] for what in sorted(values)}
        for device, values in sorted(record["devices"].items(), key=lambda item: int(item[0]))
    }


def forecast(before, steps, lost):
    """The expected result of :func:`values_of` after ``steps``."""
    after = {device: dict(values) for device, values in before.items()}
    for device in lost:
        after[str(device)]["gateway"] = None
    for step in steps:
        if step.what in after[str(step.device)]:
            after[str(step.device)][step.what] = step.value
    return after


def write_text(conf_path, text):
    """Give hccn.conf its old text, in place and under the lock that hccn_tool takes.

    A rename would leave containers, into which the single file is mounted, with the file of before. Raises ToolError if another process
    keeps the lock for ``LOCK_TIMEOUT`` seconds.
    """
    with open(conf_path, "r+b") as stream:
        _lock(stream, conf_path)
        stream.write(_bytes(text))
        stream.truncate()
        stream.flush()
        os.fsync(stream.fileno())


def _lock(stream, path):
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise ToolError(
                    f"{path} is locked by another process since more than {LOCK_TIMEOUT} s, so it did not get its old text again; the devices "
                    f"have their old values. Fix: end the hccn_tool that hangs ('fuser -v {path}' names it), then run again."
                ) from error
        time.sleep(0.2)


def _text(path):
    """The file's text; bytes that are not UTF-8 are kept as surrogates."""
    try:
        with open(path, "rb") as stream:
            return stream.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ToolError(f"Nothing was changed. {path} cannot be read: {error.strerror}") from error


def _bytes(text):
    return text.encode("utf-8", "surrogateescape")
