# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what hosts of an entry answered before anything of it is there: what would not work."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..description.findings import Finding
from ..hosts.thresholds import Thresholds
from ..plan.rules.base import Rules
from ..releases.version import numbers

Record = t.Mapping[str, t.Any]
RULES = Rules()
OLDEST, COUNTING = "2.4", "2.5"  # HAProxy: of the configuration, and of the filter that counts tokens
RIGHTS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13}  # capabilities(7); the unit of keepalived has them
OPEN_FILES = 65536  # LimitNOFILE of the unit
TOGETHER = 4.0  # seconds in which both hosts have to try at the same time before silence says something
REASONS = {
    "refused": "refuses connections, so nothing listens there, or a firewall refuses this host",
    "silent": "does not answer within 5 s: a firewall drops what this host sends, or the router hangs",
    "unreachable": "cannot be reached",
    "tls": "wants TLS, and the entry asks routers without",
    "broken": "does not answer in HTTP",
    "status": "answers, and says that it cannot serve",
    "key": "refuses the key of its engines, or asks for one and none is named",
}
FIXES = {
    "tls": "List the routers' own ports, without the frontend's TLS.",
    "key": "Name the engines' key in api_key_file of the deployment.",
}


@dataclass(frozen=True)
class Answers:
    """``questions`` as ``entry_questions`` returns them, and the answers of these hosts: results of the module entry_check_info."""

    questions: t.Mapping[str, Record]
    facts: t.Mapping[str, Record]

    def known(self) -> t.Iterator[tuple[str, Record, Record]]:
        """Each host that answered, with what it was asked and what it said."""
        for host, found in self.facts.items():
            if not lost(found):
                yield host, self.questions[host], found


def lost(found: Record) -> str:
    """Why a host says nothing; empty if it does."""
    if found.get("unreachable") or found.get("failed") or "program" not in found:
        return str(found.get("msg") or "the connection was lost")
    return ""


@RULES.rule("ENTRY-HOST", "Correct the connection, and become: true for what only root may see.", "the run itself")
def silent(case: Answers) -> t.Iterator[Finding]:
    """A host of the entry did not answer.

    Nothing is known of it, and the playbook entry would stop there.
    """
    for host, found in case.facts.items():
        if lost(found):
            yield Finding.at(host, "", lost(found))


@RULES.rule(
    "ENTRY-PORT", "Stop that program, or choose another port, status_port or peer_port in inference_entry.", "bind(2)"
)
def ports(case: Answers) -> t.Iterator[Finding]:
    """Another program listens where the entry has to.

    HAProxy cannot start, or shares the connections with that program.
    """
    for host, _question, found in case.known():
        for text in found["taken"]:
            yield Finding.at(host, text, "another program of this host listens where the entry has to")


@RULES.rule(
    "ENTRY-PROGRAM",
    "Use a distribution or a package source with a later HAProxy that has Lua.",
    "haproxy -vv, haproxy -c",
)
def programs(case: Answers) -> t.Iterator[Finding]:
    """HAProxy of this host cannot do what the settings need.

    The playbook entry would install it, and then the program would refuse its configuration.
    """
    for host, question, found in case.known():
        program = found["program"]
        version, needed = program["version"] or program["offered"], COUNTING if question["usage"] else OLDEST
        fix = "Or set usage: false." if numbers(OLDEST) <= numbers(version or "0") < numbers(needed) else ""
        if version and numbers(version)[:2] < numbers(needed):
            yield Finding.at(host, version, f"HAProxy {needed} or later is needed", fix)
        elif program["version"]:
            for name in ("Lua", *(["OpenSSL"] if question["tls"] else [])):
                if name not in program["features"]:
                    yield Finding.at(host, version, f"this HAProxy was built without {name}")
            if program["refused"]:
                yield Finding.at(host, version, f"HAProxy does not read the configuration: {program['refused']}")


@RULES.rule("ENTRY-SYSTEMD", "Use a host that systemd has started.", "sd_booted(3)")
def systemd(case: Answers) -> t.Iterator[Finding]:
    """systemd does not run on this host.

    Nothing would start the entry, nor start it again.
    """
    for host, _question, found in case.known():
        if not found["systemd"]:
            yield Finding.at(host, "", "systemd does not run")


@RULES.rule(
    "ENTRY-ROUTER",
    "Start the deployment, open its port for the hosts of the entry, or correct routers.",
    "the router",
    "warning",
)
def routers(case: Answers) -> t.Iterator[Finding]:
    """A router does not answer a host of the entry.

    Requests go to the other routers of the model. Without any, clients get status 503.
    """
    for host, question, found in case.known():
        for way in found["routers"]:
            if way["kind"]:
                kind = str(way["kind"])
                models = ", ".join(question["models"].get(way["address"], ["no model"]))
                problem = f"the router of {models} {REASONS.get(kind, kind)} ({way['detail']})"
                severity = "error" if kind in FIXES else ""  # waiting does not mend these
                yield Finding.at(f"{host} router {way['address']}", "", problem, FIXES.get(kind, ""), severity)


@RULES.rule(
    "ENTRY-ADDRESS", "Correct address of inference_entry, or what is named here.", "ip-address(8), ip-neighbour(8)"
)
def address(case: Answers) -> t.Iterator[Finding]:
    """The clients' address cannot be used on this host.

    Clients would reach another machine, or nobody.
    """
    ours = {link for found in case.facts.values() if not lost(found) for link in found["links"]}
    for host, question, found in case.known():
        wanted = question["options"]["address"]
        owner = found["owner"]
        if owner and owner not in ours:
            yield Finding.at(host, wanted, f"another machine of the network has the address (link address {owner})")
        elif not question["two"] and found["held"] is False:
            yield Finding.at(host, wanted, "no interface of this host has the address, and a single host gets none")
        if found["kept"]:
            problem, _fix, fix = str(found["kept"]).partition(" Fix: ")
            yield Finding.at(host, wanted, problem, f"{fix}." if fix else "")


@RULES.rule("ENTRY-RIGHTS", "Give the host, or its container, these capabilities.", "capabilities(7)")
def rights(case: Answers) -> t.Iterator[Finding]:
    """keepalived has no right to move the address on this host.

    It would end at its start, and clients would reach nobody.
    """
    for host, question, found in case.known():
        missing = [name for name, bit in RIGHTS.items() if not int(found["capabilities"]) >> bit & 1]
        if question["two"] and missing:
            yield Finding.at(host, "", f"no process of this host can have {' and '.join(missing)}")


@RULES.rule("ENTRY-PAIR", "Let the network and firewalls of both hosts pass it.", "RFC 5798")
def pair(case: Answers) -> t.Iterator[Finding]:
    """The two hosts of the entry do not reach each other.

    Without VRRP both take the address at once. Without the port each allows a team its whole limit.
    """
    met = {host: (question, found) for host, question, found in case.known() if question["options"]["pair"]}
    if len(met) < 2:  # noqa: PLR2004 - a pair
        return
    together = _together([found for _question, found in met.values()])
    for host, (question, found) in met.items():
        meeting, other = found["meeting"], question["options"]["pair"]["other"]
        if not together:
            yield Finding.at(
                host,
                "",
                "whether it reaches the other host is not known: they were not asked at the same time",
                "",
                "remark",
            )
            continue
        keeping = [
            name for name, (_question, each) in met.items() if each["meeting"]["keeps"]
        ]  # status tells who has the address
        if not meeting["vrrp"] and keeping and host not in keeping:
            problem = (
                f"whether VRRP of {other} arrives is not known: it says that its keepalived runs, so nothing was sent"
            )
            yield Finding.at(host, "", problem, "", "remark")
        if not meeting["vrrp"] and not keeping:
            reason = f", and it was not tried: {meeting['problem']}" if meeting["problem"] else ""
            yield Finding.at(host, "", f"VRRP (IP protocol 112) of {other} does not arrive{reason}")
        if meeting["peers"]:
            port = question["options"]["pair"]["port"]
            yield Finding.at(host, "", f"TCP port {port} of {other} is not reached ({meeting['peers']})", "", "warning")


def _together(facts: t.Sequence[Record]) -> bool:
    """Whether both tried for long enough at the same time, or heard each other."""
    # Both are read also if they decide nothing: an answer in a wrong form is then noticed with any other one.
    begun = max(found["meeting"]["began"] - (found["offset"] or 0) for found in facts)
    ended = min(found["meeting"]["ended"] - (found["offset"] or 0) for found in facts)
    heard = all(found["meeting"]["vrrp"] and not found["meeting"]["peers"] for found in facts)
    return heard or bool(ended - begun >= TOGETHER)


@RULES.rule("ENTRY-FILES", "Raise fs.nr_open and fs.file-max (sysctl.d).", "LimitNOFILE of the unit, systemd.exec(5)")
def open_files(case: Answers) -> t.Iterator[Finding]:
    """The kernel of this host allows fewer open files than the entry may have.

    Each request has two connections: systemd would refuse to start the unit, or the entry would refuse clients.
    """
    for host, _question, found in case.known():
        for name, most in zip(("fs.nr_open", "fs.file-max"), found["open_files"], strict=True):
            if 0 < most < OPEN_FILES:
                yield Finding.at(host, str(most), f"{name} is {most} (needed: {OPEN_FILES})")


@RULES.rule("ENTRY-MEMORY", "Reduce arriving_mib of inference_entry.", "measured with HAProxy 2.6.12", "warning")
def memory(case: Answers) -> t.Iterator[Finding]:
    """Requests that arrive at the same time may take more than a quarter of the host's memory.

    While a body is read there is a second copy of it, and above half of the memory the system ends the entry.
    """
    for host, question, found in case.known():
        quarter = int(found["memory_mib"]) // 4
        if 0 < quarter < question["arriving_mib"]:
            problem = f"arriving_mib is {question['arriving_mib']}, and a quarter of the memory is {quarter} MiB"
            yield Finding.at(host, "", problem)


@RULES.rule(
    "ENTRY-CLOCK", "Set up chrony or systemd-timesyncd.", "time.time() of the hosts and of the controller", "warning"
)
def clocks(case: Answers) -> t.Iterator[Finding]:
    """The clock of a host of the entry is wrong.

    Days and months of limits begin at another time on this host, and usage is counted on another day.
    """
    for host, question, found in case.known():
        offset, limit = found["offset"], Thresholds.clock_seconds
        if offset is not None and abs(offset) > limit and (question["periods"] or question["usage"]):
            problem = f"the clock differs by about {abs(offset):.0f} seconds from the controller's (allowed: {limit:g})"
            yield Finding.at(host, "", problem)
