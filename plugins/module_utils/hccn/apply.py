# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply the steps of ``hccn_config``: read, apply, read back, and report the state of each device."""

from __future__ import annotations

import ipaddress

from ..tools.errors import ToolError, answer
from .changes import CONF_KEYS, SETTINGS, plan, wanted_state
from .conf import read_hccn_conf
from .gather import read_devices
from .settings import expect_success


def needed_queries(entries):
    """The required queries: the given settings, and all that an address change affects."""
    named = {what for entry in entries for what in wanted_state(entry)}
    if "ip" in named or "gateway" in named:
        named |= {"ip", "gateway"}
    return [what for what in SETTINGS if what in named] + (["route"] if "ip" in named else [])


def read_state(retrying_tool, devices, queries, workers):
    """-> {device: dict(ip='address/netmask', gateway, netdetect, mtu, tls, routes)}; a device that can't be read is a ToolError."""
    answers = read_devices(retrying_tool, devices, queries, workers)
    errors = [f"device {device}: {message}" for device in devices for message in answers[device]["errors"].values()]
    if errors:
        raise ToolError("The current state cannot be read, so nothing was changed. " + "; ".join(errors))
    return {device: _state(answers[device]["values"]) for device in devices}


def _state(values):
    pair = (values.get("ip") or [None])[0]
    state = dict.fromkeys(SETTINGS)
    state.update((what, values[what]) for what in ("gateway", "netdetect", "mtu") if what in values)
    state["ip"] = "{address}/{netmask}".format(**pair) if pair and pair["address"] else None
    state["tls"] = values["tls"]["enabled"] if values.get("tls") else None
    if "netdetect" in values:
        state["netdetect"] = values["netdetect"] or "0.0.0.0"  # "none" for the tool and its file
    state["routes"] = values.get("route") or []
    return state


def view(entries, state, conf_path):
    """The managed settings of device and file in the form of the diff: {device: {setting: value, setting_in_file: value}}."""
    conf, _errors = read_hccn_conf(conf_path)
    return {
        str(entry["device"]): _view(wanted_state(entry), state[entry["device"]], conf.get(entry["device"], {}))
        for entry in entries
    }


def _view(wanted, state, filed):
    shown = {}
    for what in (what for what in SETTINGS if what in wanted or (what == "gateway" and "ip" in wanted)):
        shown[what] = state[what]
        if what == "ip":
            address, mask = filed.get("address"), filed.get("netmask")
            shown["ip_in_file"] = f"{address}/{mask}" if address or mask else None
        elif what in wanted:
            shown[what + "_in_file"] = filed.get(CONF_KEYS[what])
    return shown


def lost_gateways(steps, state):
    """Devices whose gateway is dropped by an address change and not set again by a later step."""
    lost = set()
    for step in steps:
        gateway = state[step.device]["gateway"]
        if (
            step.what == "ip"
            and gateway
            and ipaddress.IPv4Address(gateway) not in ipaddress.IPv4Network(step.value, strict=False)
        ):
            lost.add(step.device)
    return lost


def forecast(before, steps, lost):
    """The expected result of :func:`view` after ``steps``, for check mode and for the real run."""
    after = {device: dict(shown) for device, shown in before.items()}
    for device in lost:
        after[str(device)]["gateway"] = None
    for step in steps:
        shown = after[str(step.device)]
        shown[step.what] = step.value
        shown[step.what + "_in_file"] = str(int(step.value)) if step.what in ("mtu", "tls") else step.value
    return after


def read_back_message(after, found):
    """The settings that the device or the file does not have although the tool reported success."""
    differences = [
        f"device {device}: {key} is {found[device].get(key)!r} instead of {value!r}"
        for device, shown in sorted(after.items())
        for key, value in sorted(shown.items())
        if found[device].get(key) != value
    ]
    return "The tool reported success, but read back: " + ", ".join(differences)


def apply(retrying_tool, steps):
    """Carry out the steps until one fails -> (done steps, failed step or None, its message, further output of the tool).

    Prompts are answered with yes.
    """
    done, notes = [], []
    for step in steps:
        try:
            _value, notices = answer(retrying_tool, ["-i", str(step.device)] + step.args, expect_success, stdin="y\n")
        except ToolError as error:
            return done, step, str(error), notes
        done.append(step)
        notes += [f"device {step.device}: {line}" for line in notices]
    return done, None, "", notes


def outcome(entries, steps, done, failed):
    """{device: 'unchanged'|'changed'|'half set'|'untouched'} and the pending steps of each half set device."""
    states, missing = {}, {}
    for device in sorted(entry["device"] for entry in entries):
        mine = [step for step in steps if step.device == device]
        ready = [step for step in done if step.device == device]
        if len(ready) == len(mine):
            states[device] = "changed" if mine else "unchanged"
        else:
            tried = bool(ready) or (failed is not None and failed.device == device)
            states[device] = "half set" if tried else "untouched"
            missing[device] = [step.what for step in mine[len(ready) :]]
    return states, missing


def failure_message(states, missing, message):
    """One message: the failure, the state of each device, and the fix."""
    parts = [message]
    for state in ("changed", "half set", "untouched", "unchanged"):
        devices = [device for device in sorted(states) if states[device] == state]
        if devices:
            devices = [
                f"{device} (not set: {', '.join(missing[device])})" if device in missing else str(device)
                for device in devices
            ]
            parts.append(f"{state}: device {', '.join(devices)}")
    return "; ".join(parts) + ". Fix the cause and run again: settings that are already correct are not changed."


def make_plan(entries, state, conf_path, accept_loss):
    """-> (steps, notes); all problems together as a ToolError."""
    conf, notes = read_hccn_conf(conf_path)
    steps, found, lost = plan(entries, state, conf, accept_loss)
    if steps and not conf and any("cannot be read" in note for note in notes):
        found.append(
            f"{notes[0]}. The tool needs the file and does not create it: install the driver, or create it as root with mode 0640"
        )
    if found:
        raise ToolError("Nothing was changed. " + "; ".join(found))
    return steps, notes + lost
