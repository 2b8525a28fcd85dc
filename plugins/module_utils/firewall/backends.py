# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two programs that filter: nftables with a table of ours, firewalld with a policy and address sets of ours.

A backend compares what a policy needs with files and with the running filter, and then writes the differences. A policy of None means
that nothing of ours may be left.
"""

from __future__ import annotations

import os
import tempfile

from ..host.boot_unit import RESTRICTIONS
from ..host.kernel_settings import read
from ..host.own_files import MARK, Files, shown
from . import firewalld, nftables

UNIT = """# Written by ascend.inference. Do not edit.
[Unit]
Description=Firewall of the deployment {deployment} of ascend.inference
Documentation=man:nft(8)
DefaultDependencies=no
After=local-fs.target nftables.service
Before=network-pre.target shutdown.target
Wants=network-pre.target
Conflicts=shutdown.target
# A start or reload of nftables.service empties the whole ruleset.
PartOf=nftables.service
ReloadPropagatedFrom=nftables.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={nft} -f {script}
ExecReload={nft} -f {script}
ExecStop=-{nft} delete table inet {table}
# nft asks the kernel over netlink and reads the script; the network must be the host's own.
CapabilityBoundingSet=CAP_NET_ADMIN
NoNewPrivileges=true
PrivateDevices=true
ProtectSystem=strict
ProtectHome=true
ProtectHostname=true
ProtectClock=true
ProtectProc=invisible
ProtectKernelTunables=true
ProtectKernelLogs=true
ProtectKernelModules=true
ProtectControlGroups=true
RestrictAddressFamilies=AF_NETLINK AF_UNIX
{restrictions}
[Install]
WantedBy=multi-user.target nftables.service
""".replace("{restrictions}", RESTRICTIONS)


class FirewallError(Exception):
    """The filter cannot be read or changed; the text contains the fix."""


class Host:
    """The host's programs and folders. ``run(argv) -> (rc, stdout, stderr)``; ``find(name)`` gives a program's path or an empty string."""

    def __init__(self, run, find, directory, units, firewalld_directory, systemd):
        self.run, self.find, self.directory, self.units = run, find, directory, units
        self.firewalld_directory, self.systemd = firewalld_directory, systemd

    def must(self, argv, advice=""):
        """Output of a command that has to succeed."""
        code, out, err = self.run(argv)
        if code:
            end = f" Fix: {advice}" if advice else ""
            raise FirewallError(f"{' '.join(argv)} ended with {code}: {(err or out).strip()}.{end}")
        return out


class Nftables:
    """A table of our own, loaded at boot by a unit of our own.

    ``noted``: whether there is a record of the deployment. Without it and without files of ours a table of this name is somebody else's.
    """

    def __init__(self, host, deployment, policy, noted=True):
        self.host, self.table = host, nftables.table_name(deployment)
        self.nft = host.find("nft")
        self.unit = f"ascend-inference-firewall-{deployment}.service"
        script = os.path.join(host.directory, deployment + ".nft")
        self.text = nftables.script(deployment, policy) if policy else ""
        unit = UNIT.format(deployment=deployment, nft=self.nft, script=script, table=self.table) if policy else ""
        self.files = Files({script: self.text, os.path.join(host.units, self.unit): unit})
        self.wanted = nftables.wanted(policy) if policy else []
        self.ours = bool(policy or noted or self.files.proven)
        self.live = self._live(bool(policy)) if self.ours else []
        self.enabled = self.ours and os.path.lexists(os.path.join(host.units, "multi-user.target.wants", self.unit))

    def _live(self, needed):
        if not self.nft:
            return []
        code, out, err = self.host.run([self.nft, "--json", "list", "table", "inet", self.table])
        if not code:
            return nftables.present(out)
        if "No such file" in err or not (needed or any(self.files.before.values())):
            return []
        raise FirewallError(
            f"{self.nft} cannot read the filter: {err.strip()}. Fix: run as root (become: true), in a container with CAP_NET_ADMIN"
        )

    @property
    def changed(self):
        """Whether files, the kernel's table or the unit differ."""
        return (
            bool(self.files.differing)
            or self.live != self.wanted
            or (self.host.systemd and self.enabled != bool(self.wanted))
        )

    def diff(self):
        """The differences for Ansible."""
        lines = (
            []
            if self.live == self.wanted
            else [shown(f"table inet {self.table}", joined(self.live), joined(self.wanted))]
        )
        return self.files.diff() + lines

    def check(self):
        """Let nft parse the script; nothing changes."""
        if self.wanted and self.nft:
            self._with_script(["--check"])

    def _with_script(self, options):
        handle, path = tempfile.mkstemp(prefix="ascend-inference-", suffix=".nft")
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(self.text)
            self.host.must(
                [self.nft] + options + ["--file", path],
                "update nftables to 0.9.3 or later, or set inference_firewall.backend",
            )
        finally:
            os.unlink(path)

    def apply(self):
        """Load or delete the table, then write the files and enable or disable the unit."""
        if self.wanted:
            self._with_script([])
            self.files.apply()
            if self.host.systemd:
                self.host.must(["systemctl", "daemon-reload"])
                self.host.must(["systemctl", "enable", "--now", self.unit])
            return
        if not self.ours:
            return
        if self.host.systemd and (self.enabled or self.files.proven):
            self.host.run(["systemctl", "disable", "--now", self.unit])
        if self.nft and self.host.run([self.nft, "list", "table", "inet", self.table])[0] == 0:
            self.host.must([self.nft, "delete", "table", "inet", self.table])
        self.files.apply()
        if self.host.systemd:
            self.host.must(["systemctl", "daemon-reload"])


class Firewalld:
    """A policy and address sets of our own; no zone and no rule of the site changes."""

    def __init__(self, host, deployment, policy):
        self.host, self.program = host, host.find("firewall-cmd")
        self.name = firewalld.policy_name(deployment)
        self.wanted = firewalld.files(deployment, policy) if policy else {}
        paths = {
            place: "" for place in reversed(firewalld.places(deployment))
        }  # the policy last: it says that the sets are ours
        paths.update(self.wanted)
        place = os.path.join(host.firewalld_directory, "policies", self.name + ".xml")
        proof = MARK in read(place)
        self.files = Files(
            {os.path.join(host.firewalld_directory, path): text for path, text in paths.items()},
            lambda _path, _text: proof,
        )
        self.running = bool(self.program) and not host.run([self.program, "--state"])[0]
        self.live = self._state([]) if self.running else []

    def _state(self, options):
        """Policy and address sets of the running firewalld, or with --permanent of its files, as lines."""
        code, out, _err = self.host.run([self.program, *options, "--get-policies"])
        if code or self.name not in out.split():
            return []
        lines = firewalld.normal(self.host.must([self.program, *options, "--info-policy", self.name]))
        for path in sorted(self.wanted):
            if path.startswith("ipsets/"):
                name = os.path.basename(path)[: -len(".xml")]
                _code, out, _err = self.host.run([self.program, *options, f"--ipset={name}", "--get-entries"])
                lines.append(f"{name}: {', '.join(sorted(out.split()))}")
        return lines

    @property
    def loaded(self):
        """Whether the running policy is the one of the files."""
        return not self.running or self.live == (self._state(["--permanent"]) if self.wanted else [])

    @property
    def changed(self):
        """Whether files or the running policy differ."""
        return bool(self.files.differing) or not self.loaded

    def diff(self):
        """The differences for Ansible."""
        return self.files.diff() or (
            [shown(f"policy {self.name}", joined(self.live), "as in its files\n")] if self.changed else []
        )

    def check(self):
        """Refuse a firewalld without policies, before anything changes."""
        if self.wanted and self.running:
            self.host.must(
                [self.program, "--get-policies"],
                "update firewalld to 0.9 or later, which has policies, or set inference_firewall.backend to nftables",
            )

    def apply(self):
        """Write or remove the files and let firewalld read them. After an error the files are as before."""
        self.files.apply()
        if not self.running:
            return
        try:
            self.host.must([self.program, "--check-config"])
            self.host.must([self.program, "--reload"], "see journalctl -u firewalld")
        except FirewallError:
            self.files.before, self.files.after = self.files.after, self.files.before
            self.files.apply()
            self.host.run([self.program, "--reload"])
            raise


def joined(lines):
    """Lines as a text."""
    return "".join(line + "\n" for line in lines)
