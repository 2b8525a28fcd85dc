# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The phrases of which scripts are made: engines leave the routers, finish, restart, are proven and return; a router does so behind the balancer.

Each phrase adds steps to the script. Hosts with nothing to do in a phrase are not in its steps, and a phrase without hosts adds none.
"""

from __future__ import annotations

import typing as t

from ..description.values import natural
from ..plan.render.router import members_of
from ..plan.routers.base import RESTART
from .script import Step, some, timed

Plan = t.Mapping[str, t.Any]
Engines = t.Sequence[t.Mapping[str, t.Any]]
Urls = t.Sequence[str]


class Writer:
    """Collects ``steps``.

    ``plan``: the whole plan; ``down``: names of the services that do not run; ``drain_timeout``, ``join_timeout``: seconds; ``dry``: whether check
    mode asks routers and balancers, if all of them run.
    """

    def __init__(
        self, plan: Plan, down: t.Iterable[str], drain_timeout: int, join_timeout: int, dry: bool = False
    ) -> None:
        self.plan, self.before, self.down = plan, frozenset(down), set(down)
        self.drain_timeout, self.join_timeout = drain_timeout, join_timeout
        self.changed = -1  # number of the step that changed engines of the routers last
        self.steps: list[Step] = []
        section = plan.get("balancer") or {}
        self.balancers = [section, *section.get("more", ())] if section else []
        self.members = plan.get("members") or {}
        self.routers = [self.members, *self.members.get("more", ())] if self.members else []
        self.restarts = self.members.get("api") == RESTART
        names = {router["router"] for router in self.routers}
        self.asks = dry and not self.restarts and not names & self.before
        self.balances = dry and not {balancer["service"] for balancer in self.balancers} & self.before

    def running_routers(self) -> list[str]:
        """Names of the routers that ran before."""
        return [router["router"] for router in self.routers if router["router"] not in self.before]

    def restart(self, names: t.Collection[str], state: str = "restarted") -> None:
        """Restart services at once, and wait until they answer. ``state``: ``started`` for those that run with other settings."""
        listed, most = self._listed(names), self._most(names)
        self._state(timed(f"Restart {listed} and wait until ready, at most {most} s", most), names, state)

    def start(self, names: t.Collection[str], due: t.Collection[str]) -> None:
        """Start services of one stage that do not run, and restart those with other settings. ``due``: those of them that are known to need it."""
        listed, most = self._listed(due or names), self._most(names)
        needed = f"Start {listed} if needed and wait until ready, at most {most} s"
        title = f"Start or restart {listed} and wait until ready, at most {most} s" if due else needed
        self._state(timed(title, most), names, "started")

    def start_anew(self, names: t.Collection[str]) -> None:
        """Start services of one stage that were stopped."""
        listed, most = self._listed(names), self._most(names)
        self._state(timed(f"Start {listed} and wait until ready, at most {most} s", most), names, "started")

    def stop(self, names: t.Collection[str]) -> None:
        """Stop services at once."""
        self._state(f"Stop {self._listed(names)}", names, "stopped")

    def vacate(self, names: t.Mapping[str, t.Sequence[str]], keep: t.Mapping[str, t.Sequence[str]]) -> None:
        """Stop services before others start. ``names``: {host: [name]}; ``keep``: {host: units that are not removed though they are not planned}."""
        listed = some(sorted({name for found in names.values() for name in found}, key=natural))
        title = f"Remove those of {listed} that are no longer planned, because they stop before others start"
        self._add(title, "present", {host: {"keep": [*keep[host]]} for host in names}, check=True)
        planned = {(each["host"], each["name"]) for each in self.plan["services"]}
        stay = {host: [name for name in found if (host, name) in planned] for host, found in names.items()}
        at = {host: {"state": "stopped", "names": found} for host, found in stay.items() if found}
        again = some(sorted({name for found in stay.values() for name in found}, key=natural))
        self._add(f"Stop {again} before others start", "state", at, check=True)

    def remove(self, units: t.Mapping[str, t.Sequence[str]]) -> None:
        """Stop and remove services that are no longer planned. ``units``: {host: [unit]}."""
        listed = some(sorted({name for found in units.values() for name in found}, key=natural))
        self._add(f"Stop and remove {listed}", "present", {host: {"keep": []} for host in units}, check=True)

    def stop_orphaned(self, host: str, names: t.Sequence[str], arguments: dict[str, t.Any], through: str) -> None:
        """Stop services of a host that the plan does not have. A host that cannot be reached may be why it was replaced."""
        title = f"Stop {some(names)}, whose instance starts anew without its host"
        self._add(title, "orphaned", {through: arguments}, check=True, orphaned=host)

    def roll_engines(self, step: t.Mapping[str, t.Any], state: str = "restarted") -> None:
        """Engines leave, finish, restart, are proven and return. ``step``: of `lifecycle.rolls.engine_steps`."""
        self.leave(step["leaving"], step["upstream"], step["downstream"])
        self.restart(step["services"], state)
        self.join(step["engines"])

    def roll_router(self, name: str, state: str = "restarted") -> None:
        """A router gets no requests, finishes, restarts, gets its engines and returns."""
        self.drain_router(name)
        self.restart([name], state)
        self.wait_for_engines(name)
        self.return_routers([name])

    def deregister(self, engines: Engines, upstream: Urls, downstream: Urls, pause: bool) -> None:
        """Engines leave the routers that stop before others start; with ``pause`` at once, also the last ones of their pools."""
        if pause:
            listed = some([engine["name"] for engine in engines])
            self._change(f"Take {listed} out of the routers at once", engines, "absent", allow_last=True)
        else:
            self.leave(engines, upstream, downstream)

    def leave(self, engines: Engines, upstream: Urls, downstream: Urls) -> None:
        """Take engines out of the routers, and wait until they have finished. ``upstream``, ``downstream``: as `finish`."""
        listed = some([engine["name"] for engine in engines])
        self._change(f"Take {listed} out of the routers", engines, "absent")
        self.finish(engines, upstream, downstream)

    def keep(self, title: str, routers: t.Collection[str], engines: Engines) -> None:
        """Give routers these engines, and take all others out of them."""
        self._change(title, engines, "present", routers=routers, purge=True)

    def finish(self, engines: Engines, upstream: Urls, downstream: Urls) -> None:
        """Wait until engines have finished. ``upstream``: URLs of the prefill engines that serve; ``downstream``: of the other decode engines."""
        arguments = {"engines": [*engines], "upstream": [*upstream], "timeout": self.drain_timeout}
        arguments["downstream"] = [*downstream, *_urls(engines, "decode")]
        listed = some([engine["name"] for engine in engines])
        title = f"Wait for the last requests of {listed}, at most {self.drain_timeout} s"
        self._add(title, "drain", {router["host"]: arguments for router in self.routers})

    def purge(self, engines: Engines, leaving: Engines, asked: int, hosts: t.Sequence[str]) -> None:
        """Take engines out of the routers that are no longer planned, and wait until they have finished.

        ``engines``: all that are planned; ``leaving``: those that are deployed and not planned; ``asked``: number of the step in which the routers
        said whether they have others, -1 if it is known; ``hosts``: where services are removed.
        """
        fill = {"fill": "strangers", "asked": asked} if asked >= 0 else {}
        self._change("Take engines out of the routers that are not planned", engines, "present", purge=True, **fill)
        changed = self.changed
        arguments = {"upstream": _urls(engines, "prefill"), "timeout": self.drain_timeout}
        at = {host: arguments for host in ({router["host"]: None for router in self.routers} or hosts[:1])}
        given = {"planned": [*engines], "leaving": [*leaving], "host": next(iter(at), "")}
        title = f"Wait for the last requests of engines that left, at most {self.drain_timeout} s"
        self._add(title, "drain", at, fill="leaving", asked=changed, given=given)

    def join(self, engines: Engines) -> int:
        """Prove those of these engines that a router lacks, and give them to the routers; the number of the step in which these are asked."""
        self._add("Ask the routers which engines they lack", "ask", self._asked(engines), check=self.asks)
        asked = len(self.steps) - 1
        self._prove(asked)
        self._change("Give the routers the engines that they lack", engines, "present", asked)
        return asked

    def drain_router(self, name: str) -> None:
        """Send no new requests to a router, and wait until it has none."""
        self._balance(self._draining(name), [name], "drain")

    def drain_routers(self, names: t.Sequence[str]) -> None:
        """Send no new requests to routers, whose share is 0 until they return, and wait until they have none."""
        title = f"Send no new requests to {some(names)} and wait for their last ones, at most {self.drain_timeout} s"
        self._balance(title, names, "drain", weight=0)

    def shift(self, origin: t.Sequence[str], to: t.Sequence[str], routers: Engines, seconds: float) -> None:
        """Move the requests from routers to others at the balancer that has them, and only then at the other one.

        ``routers``: name and url of all; ``seconds``: how long each share is watched.
        """
        address = self.plan.get("virtual_address") or {}
        hosts = {row["host"]: {"address": address["address"]} for row in address.get("hosts", ())}
        self._add("Ask which balancer has the virtual address", "hold", hosts, check=True)
        several = {"asked": len(self.steps) - 1 if hosts else -1, "given": [each["host"] for each in self.balancers]}
        shared = {"origin": [*origin], "to": [*to], "routers": [*routers], "seconds": seconds}
        model = self.plan["verify"]["model"]
        at = {each["host"]: {**_reached(each), **shared, "model": model} for each in self.balancers}
        title = f"Move the requests from {some(origin)} to {some(to)} in steps of {seconds} s"
        one = len(self.balancers) == 1
        self._add(title, "shift", at, check=self.balances, **({} if one else {"fill": "holding", **several}))
        if one:
            return
        # Until now it sends all requests to the routers that have served, and would answer them if the address moved.
        more = {"fill": "beside", **several}
        self._balance(f"Let the other balancer send requests to {some(to)}", to, "ready", **more)
        self._balance(f"Let the other balancer send none to {some(origin)}", origin, "drain", weight=0, **more)

    def return_routers(self, names: t.Sequence[str] = (), **fill: t.Any) -> None:
        """Send requests to routers; without names to all, also to those that a run has drained that was interrupted."""
        self._balance(f"Send requests to {some(names) if names else 'all routers'}", names, "ready", **fill)

    def wait_for_engines(self, name: str) -> None:
        """Wait until a router that restarted has its engines."""
        self._change(f"Wait until {name} has its engines", self.members.get("engines", ()), "present", routers=[name])

    def _draining(self, name: str) -> str:
        return f"Send no new requests to {name} and wait for its last ones, at most {self.drain_timeout} s"

    def _prove(self, asked: int) -> None:
        """Once, on one host, because two proofs at the same time would count each other's requests."""
        names = {service["name"] for service in self.plan["services"] if service["kind"] == "router"}
        # Before a router runs nobody uses the service; it is given its engines by its own program.
        if names <= self.before or not self.routers:
            return
        arguments = {"verify": self.plan["verify"], "request_timeout": self.join_timeout}
        engines = [{"name": engine["name"], "url": engine["url"]} for engine in self.members["engines"]]
        at = {self.routers[0]["host"]: arguments}
        self._add(
            "Prove these engines with each of their peers", "prove", at, fill="proving", asked=asked, given=engines
        )

    def _listed(self, names: t.Collection[str]) -> str:
        return some([service["name"] for service in self.plan["services"] if service["name"] in names])

    def _most(self, names: t.Collection[str]) -> int:
        """Most seconds until these services answer."""
        services = [service for service in self.plan["services"] if service["name"] in names and service["health"]]
        return max((service["health"]["timeout"] for service in services), default=0)

    def _state(self, title: str, names: t.Collection[str], state: str) -> None:
        """Set services to a state at once, and wait until they answer."""
        at: dict[str, dict[str, t.Any]] = {}
        for service in self.plan["services"]:
            if service["name"] in names:
                at.setdefault(service["host"], {"state": state, "names": []})["names"].append(service["name"])
        self._add(title, "state", at, check=True)
        self.down -= set(names)

    def _change(
        self,
        title: str,
        engines: Engines,
        state: str,
        asked: int = -1,
        routers: t.Collection[str] | None = None,
        fill: str = "lacking",
        **more: bool,
    ) -> None:
        """Change the engines of the routers. Those that read their engines at their start only restart one after the other.

        ``more``: further arguments of router_members.
        """
        at = self._asked(engines, state, routers)
        for host, arguments in at.items():
            arguments.update(more)
            if asked >= 0 and fill == "lacking":
                up = set(members_of(self.plan, host)["routers"]) - self.before
                arguments["use_timeout"] = self.join_timeout if up else 0
        filled = {"fill": fill, "asked": asked} if asked >= 0 and not self.restarts else {}
        self._add(title, "members", at, check=self.asks, **filled)
        self.changed = len(self.steps) - 1 if at else -1
        if self.restarts and at:
            self._restart_routers(self.changed, at)

    def _restart_routers(self, changed: int, at: t.Mapping[str, t.Any]) -> None:
        """The routers that the step ``changed`` has found to need it restart one after the other, and are read."""
        self.return_routers(fill="restarting", asked=changed)  # a run that was interrupted may have drained one
        for router in self.routers:
            name, fill = router["router"], {"fill": "restarting", "asked": changed, "given": router}
            self._balance(self._draining(name), [name], "drain", **fill)
            restart = {router["host"]: {"state": "restarted", "names": [name]}}
            self._add(f"Restart {name}, which reads its engines when it starts", "state", restart, **fill)
            self.return_routers([name], **fill)
        self._add("Require that these routers have the engines", "read", dict(at), fill="restarting", asked=changed)

    def _asked(
        self, engines: Engines, state: str = "present", routers: t.Collection[str] | None = None
    ) -> dict[str, dict[str, t.Any]]:
        """The arguments of router_members on each host with routers."""
        found = {}
        for host in {router["host"]: None for router in self.routers}:
            here = members_of(self.plan, host, routers)
            if here:
                known = {key: here[key] for key in ("api", "url", "model", "record", "started", "away", "more")}
                found[host] = {**known, "members": [*engines], "state": state}
        return found

    def _balance(
        self, title: str, names: t.Sequence[str], state: str, weight: int | None = None, **fill: t.Any
    ) -> None:
        share = 100 if state == "ready" else weight
        at = {}
        for balancer in self.balancers:
            if balancer["service"] in self.down and len(self.balancers) > 1:
                continue  # another one serves
            timeout = {"timeout": self.drain_timeout if state == "drain" else self.join_timeout}
            more = timeout if share is None else {"weight": share, **timeout}
            servers = [*names] or [*balancer["servers"]]
            at[balancer["host"]] = {**_reached(balancer), "servers": servers, "state": state, **more}
        self._add(title, "balance", at, check=self.balances, **fill)

    def _add(self, title: str, verb: str, at: dict[str, dict[str, t.Any]], **more: t.Any) -> None:
        if at:
            self.steps.append(Step(title, verb, at, **more))


def _urls(engines: Engines, kind: str) -> list[str]:
    return [engine["url"] for engine in engines if engine["kind"] == kind]


def _reached(balancer: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Where a balancer is asked."""
    return {key: balancer[key] for key in ("socket", "state_file", "backend") if key in balancer}
