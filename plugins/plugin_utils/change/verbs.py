# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step calls: a module of this collection, with what the step says and what its host knows.

The context of a host is ``{runtime, settings, services, secrets}``: the options of service_state, ``services`` with all of the host.
"""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import visible
from .script import Arguments
from .waits import WITHIN


class Call(t.NamedTuple):
    """A call of ``module``, of this collection if its name has no dot.

    ``dry``: in check mode, because it only asks; ``judge``: takes the answer and says what is wrong with it; ``most``: seconds that a module waits
    which answers meanwhile, see `waits.waited`; 0 for all others.
    """

    module: str
    arguments: Arguments
    dry: bool = False
    judge: t.Callable[[Arguments], str] = lambda _answer: ""
    most: int = 0


RELISTED = (
    "The router at {found} started with other engines than asked for. No engine was stopped for this step. "
    "Fix: look into the log of the start and into run/NAME.listed, which has its engines, then run the playbook again."
)

UNPLANNED = (
    "This host wants to restart {engine}, which is no engine of the plan, so nothing is restarted. "
    "Fix: look at what runs as Python on this host, and who changed it"
)


def state(arguments: Arguments, context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Set services to a state, and wait until they have it. Arguments: state, names."""
    services = [service for service in context["services"] if service["name"] in arguments["names"]]
    return Call("service_state", {**context, "services": services, "state": arguments["state"], "wait": True})


def present(arguments: Arguments, context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Remove services of the host that are not planned there. Arguments: keep (units that stay)."""
    return Call("service_state", {**context, "state": "present", "remove": True, "keep": arguments["keep"]})


def orphaned(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Set services to a state on a host that is not in the play. Arguments: those of service_state."""
    return Call("service_state", arguments)


def run(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Lock the deployment on the host, or release it. Arguments: those of deployment_run."""
    return Call("deployment_run", arguments)


def watch(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Choose an engine without progress, or count its restart. Arguments: those of engine_watchdog."""

    def judge(answer: Arguments) -> str:
        # What belongs to the engine's instance, and how often one restarts, are no decisions of one host.
        engine = str(answer.get("engine") or "")
        if engine and engine not in arguments["engines"]:
            return UNPLANNED.format(engine=visible(engine))
        return "" if engine else visible(" ".join(map(str, answer.get("findings") or ())))

    return Call("engine_watchdog", arguments, judge=judge)


def _with_key(arguments: Arguments, key: t.Callable[[], str]) -> Arguments:
    token = key()
    return {**arguments, **({"token": token} if token else {})}


def forget(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Remove a file in which a router keeps which engines are out of it. Arguments: path."""
    return Call("ansible.builtin.file", {**arguments, "state": "absent"})


def members(arguments: Arguments, _context: Arguments, key: t.Callable[[], str]) -> Call:
    """Change the engines of this host's routers. Arguments: those of router_members."""
    return Call("router_members", _with_key(arguments, key))


def ask(arguments: Arguments, _context: Arguments, key: t.Callable[[], str]) -> Call:
    """Ask the routers what `members` would change."""
    return Call("router_members", _with_key(arguments, key), dry=True)


def read(arguments: Arguments, _context: Arguments, key: t.Callable[[], str]) -> Call:
    """Require that routers which restarted have the engines."""

    def judge(answer: Arguments) -> str:
        return RELISTED.format(found=", ".join(answer["restart"])) if answer.get("restart") else ""

    return Call("router_members", _with_key(arguments, key), dry=True, judge=judge)


def drain(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Wait until engines have finished their requests. Arguments: those of service_drain."""
    return Call("service_drain", {**arguments, "within": WITHIN}, most=arguments["timeout"])


def prove(arguments: Arguments, _context: Arguments, key: t.Callable[[], str]) -> Call:
    """Prove engines directly with each of their peers. Arguments: those of service_verify."""
    token = key()
    return Call("service_verify", {**arguments, **({"engine_api_key": token} if token else {})})


def balance(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Change what the balancer sends to routers. Arguments: those of balancer_servers."""
    return Call("balancer_servers", arguments)


def hold(arguments: Arguments, _context: Arguments, _key: t.Callable[[], str]) -> Call:
    """Ask whether the host has the virtual address. Arguments: those of virtual_address_info."""
    return Call("virtual_address_info", arguments, dry=True)


def shift(arguments: Arguments, _context: Arguments, key: t.Callable[[], str]) -> Call:
    """Move the requests from routers to others, and compare them meanwhile. Arguments: those of balancer_shift."""
    return Call("balancer_shift", _with_key(arguments, key))


VERBS: dict[str, t.Callable[[Arguments, Arguments, t.Callable[[], str]], Call]] = {
    "state": state,
    "present": present,
    "orphaned": orphaned,
    "forget": forget,
    "run": run,
    "watch": watch,
    "members": members,
    "ask": ask,
    "read": read,
    "drain": drain,
    "prove": prove,
    "balance": balance,
    "hold": hold,
    "shift": shift,
}
