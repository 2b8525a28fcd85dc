# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's part of a virtual address: files and unit of keepalived, and whether the host has the address now."""

from __future__ import annotations

import glob
import ipaddress
import os
import re
import stat
import time

from .kernel_settings import read
from .own_files import Files, shown

INTERFACE = "@INTERFACE@"  # in the planned configuration, for the interface with the host's address
ROUTER_ID = re.compile(r"^\s*virtual_router_id\s+(\d+)\s*$", re.MULTILINE)
# Linux allows all characters but / : and spaces (dev_valid_name), some of which units and keepalived read as more than a name.
PLAIN_NAME = re.compile(r"\w[\w.@+-]*", re.ASCII)
IPV4, IPV6 = "/proc/net/fib_trie", "/proc/net/if_inet6"
STARTS = 1  # second in which keepalived ends if it does not understand its configuration

# keepalived changes addresses, sends VRRP and ARP, and runs the script of the health check as another user, which it may have to end.
UNIT = """\
# Written by ascend.inference. Do not edit.
[Unit]
Description=Virtual address of the deployment {deployment} of ascend.inference
Documentation=man:keepalived(8)
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={program} --dont-fork --log-console --no-syslog --vrrp --use-file={configuration} --pid=/run/{name}/keepalived.pid --vrrp_pid=/run/{name}/vrrp.pid
ExecReload=/bin/kill -HUP $MAINPID
# keepalived removes the address when it ends. One that was killed does not.
ExecStopPost=-{ip} address delete {address} dev {interface}
Restart=always
RestartSec=1
TimeoutStopSec=10
RuntimeDirectory={name}
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BROADCAST CAP_NET_RAW CAP_SETUID CAP_SETGID CAP_KILL
NoNewPrivileges=true
PrivateDevices=true
PrivateTmp=true
ProtectSystem=strict
ProtectHome=true
ProtectHostname=true
ProtectClock=true
ProtectProc=invisible
ProtectKernelTunables=true
ProtectKernelLogs=true
ProtectKernelModules=true
ProtectControlGroups=true
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_UNIX
RestrictNamespaces=true
RestrictRealtime=true
RestrictSUIDSGID=true
LockPersonality=true
MemoryDenyWriteExecute=true
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
UMask=0077

[Install]
WantedBy=multi-user.target
"""


class AddressProblem(Exception):
    """The address cannot be kept here; the text says what is wrong, why it matters and how to fix it."""


def unit_name(deployment):
    """The unit that keeps the address of a deployment, without .service; its folder below /run has the same name."""
    return f"ascend-inference-address-{deployment}"


def holds(address, ipv4=IPV4, ipv6=IPV6):
    """Whether this host has an address on one of its interfaces; None if the kernel does not say. Needs no rights and no program."""
    wanted = ipaddress.ip_address(address)
    try:
        if wanted.version == 6:
            with open(ipv6, encoding="ascii") as stream:
                return any(line.split(" ", 1)[0] == wanted.exploded.replace(":", "") for line in stream)
        with open(ipv4, encoding="ascii") as stream:
            last = ""
            for line in stream:
                words = line.split()
                if words[:1] == ["|--"]:
                    last = words[1]
                elif words[:3] == ["/32", "host", "LOCAL"] and last == str(wanted):
                    return True
            return False
    except OSError:
        return None


def interface_of(address, interfaces, variable):
    """The interface with an address. ``interfaces``: {name: {addresses}}; ``variable`` names one instead. Raises AddressProblem."""
    wanted = ipaddress.ip_address(address)
    for name in sorted(interfaces or {}):
        if any(_same(each, wanted) for each in interfaces[name]["addresses"]):
            if not PLAIN_NAME.fullmatch(name):
                raise AddressProblem(
                    f"the interface {name} with this host's address {address} has characters in its name that units or keepalived read as more than a "
                    "name. Fix: rename it to letters, digits and . _ -"
                )
            return name
    raise AddressProblem(
        f"no interface of this host has its address {address}, so the virtual address cannot be put beside it. Fix: set inference_address of this host "
        f"to an address of one of its interfaces, or {variable}"
    )


def chosen_interface(address, interfaces, variable, named):
    """The interface that is ``named``, else as ``interface_of``. Raises AddressProblem if the host has none of this name."""
    if named and interfaces is not None and named not in interfaces:
        raise AddressProblem(
            f"this host has no interface {named}, so it could never have the virtual address. Fix: set {variable} to an "
            "interface that both hosts have, or remove it"
        )
    return named or interface_of(address, interfaces, variable)


def _same(text, wanted):
    try:
        return ipaddress.ip_address(text.partition("%")[0]) == wanted
    except ValueError:
        return False


class Kept:
    """Files and unit of a deployment's virtual address, compared with what the host has. ``wanted``: None if nothing may be left, else

    {configuration, script, interface, address with the length of its prefix, variable with it, program, ip}. ``run(argv) -> (rc, stdout, stderr)``.
    """

    def __init__(self, run, deployment, wanted, directory, units):
        self.run, self.wanted, self.deployment, self.directory = run, wanted, deployment, directory
        name = unit_name(deployment)
        self.unit = f"{name}.service"
        self.configuration = os.path.join(directory, f"{deployment}.conf")
        self.script = os.path.join(directory, f"{deployment}.sh")
        self.unit_file = os.path.join(units, self.unit)
        texts = {self.unit_file: "", self.configuration: "", self.script: ""}
        if wanted:
            texts[self.unit_file] = UNIT.format(
                deployment=deployment, name=name, configuration=self.configuration, **_unit_words(wanted)
            )
            texts[self.configuration] = wanted["configuration"].replace(INTERFACE, wanted["interface"])
            texts[self.script] = wanted["script"]
        self.files = Files(texts)
        self.enabled = os.path.lexists(os.path.join(units, "multi-user.target.wants", self.unit))
        # Without files of ours a unit of this name is somebody else's.
        self.ours = bool(wanted or self.files.proven)
        self.active = self.ours and self._is_active()
        self.folders = (os.path.dirname(directory), directory)
        self.executable = all(_mode(path) & stat.S_IXOTH for path in (*self.folders, self.script))

    @property
    def changed(self):
        """Whether files or the unit differ."""
        if not self.wanted:
            return bool(self.files.differing) or (self.ours and (self.enabled or self.active))
        return bool(self.files.differing) or not (self.enabled and self.active and self.executable)

    def diff(self):
        """The differences for Ansible."""
        states = [
            "{}\n".format(", ".join(words))
            for words in (
                [word for word, is_so in (("enabled", self.enabled), ("active", self.active)) if is_so],
                ["enabled", "active"] if self.wanted else [],
            )
        ]
        return self.files.diff() + ([shown(self.unit, *states)] if self.ours and states[0] != states[1] else [])

    def conflict(self):
        """Why keepalived would disturb the host or another deployment of it, or the other way round; empty if it does not."""
        if not self.wanted:
            return ""
        plain = self.wanted["address"].partition("/")[0]
        if not any(f" {plain}/" in text for text in self.files.before.values()) and holds(plain):
            return (
                f"this host already has {plain}, not from this deployment. keepalived would remove it when it starts or ends, and with it connections to the "
                f"host. Fix: set {self.wanted['variable']} to an unused address; if a keepalived of your own keeps it, stop that one first"
            )
        own = ROUTER_ID.findall(self.wanted["configuration"])
        for path in sorted(glob.glob(os.path.join(self.directory, "*.conf"))):
            if path != self.configuration and ROUTER_ID.findall(read(path)) == own:
                other = os.path.basename(path)[: -len(".conf")]
                return (
                    f"deployment {other} has the same virtual_router_id {', '.join(own)} on this host, so each would take the messages of the other for its "
                    f"own. Fix: set another {self.wanted['variable'].rpartition('.')[0]}.virtual_router_id"
                )
        return ""

    def apply(self):
        """Write the files and start keepalived, let it read a changed configuration, or stop it and remove the files."""
        if not self.wanted:
            self._remove()
            return
        changed = set(self.files.differing)
        self.files.apply()
        for path in (
            *self.folders,
            self.script,
        ):  # another user runs the script, also where root's umask keeps others out
            os.chmod(path, stat.S_IMODE(_mode(path)) | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        if self.unit_file in changed:
            self._must(["systemctl", "daemon-reload"])
        if not self.enabled:
            self._must(["systemctl", "enable", self.unit])
        if not self.active or self.unit_file in changed:
            self._must(["systemctl", "restart", self.unit])
            self._runs()
        elif self.configuration in changed:
            self._must(["systemctl", "reload", self.unit])
            self._runs()

    def _remove(self):
        if not self.ours:
            return
        if self.enabled or self.active or self.files.before[self.unit_file]:
            self.run(["systemctl", "disable", "--now", self.unit])
        if self._is_active():  # a unit without its file is not disabled, and so not stopped
            self.run(["systemctl", "stop", self.unit])
            if self._is_active():
                raise AddressProblem(
                    f"keepalived still runs ({self.unit}), so this host may keep the virtual address. Nothing was removed. Fix: run as root (become: "
                    f"true), or end it: systemctl kill {self.unit}"
                )
        self.files.apply()
        self._must(["systemctl", "daemon-reload"])

    def _runs(self):
        """Raise AddressProblem if keepalived ends at once, as with a configuration that it does not understand."""
        time.sleep(STARTS)
        if not self._is_active():
            log = self.run(["journalctl", "--unit", self.unit, "--lines", "5", "--output", "cat"])[1]
            raise AddressProblem(
                f"keepalived does not run ({self.unit}), so this host cannot have the virtual address. Its log ends with: "
                f"{' | '.join(log.splitlines())}. Fix: correct what it says, then run the playbook again"
            )

    def _is_active(self):
        return self.run(["systemctl", "is-active", "--quiet", self.unit])[0] == 0

    def _must(self, argv):
        code, out, err = self.run(argv)
        if code:
            raise AddressProblem(
                f"{' '.join(argv)} ended with {code}: {(err or out).strip()}. Fix: run as root (become: true)"
            )


def _unit_words(wanted):
    return {key: wanted[key] for key in ("program", "ip", "address", "interface")}


def _mode(path):
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0
