# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The phrases of which scripts are made: engines leave the routers, finish, restart, are proven and return; a router does so behind the balancer.

Each phrase adds steps to the script. Hosts with nothing to do in a phrase are not in its steps, and a phrase without hosts adds none.
"""

from __future__ import annotations

import typing as t

from ..plan.render.router import members_of
from ..plan.routers.base import RESTART
from .script import Step, some

Plan = t.Mapping[str, t.Any]
Engines = t.Sequence[t.Mapping[str, t.Any]]


class Writer:
    """Collects ``steps``.

    ``plan``: the whole plan; ``down``: names of the services that do not run; ``drain_timeout``, ``join_timeout``: seconds.
    """

    def __init__(self, plan: Plan, down: t.Iterable[str], drain_timeout: int, join_timeout: int) -> None:
        self.plan, self.before, self.down = plan, frozenset(down), set(down)
        self.drain_timeout, self.join_timeout = drain_timeout, join_timeout
        self.steps: list[Step] = []
        section = plan.get("balancer") or {}
        self.balancers = [section, *section.get("more", ())] if section else []
        self.members = plan.get("members") or {}
        self.routers = [self.members, *self.members.get("more", ())] if self.members else []

    def restart(self, names: t.Collection[str]) -> None:
        """Restart services at once, and wait until they answer."""
        services = [service for service in self.plan["services"] if service["name"] in names]
        at: dict[str, dict[str, t.Any]] = {}
        for service in services:
            at.setdefault(service["host"], {"state": "restarted", "names": []})["names"].append(service["name"])
        most = max([service["health"]["timeout"] for service in services if service["health"]] or [0])
        listed = some([service["name"] for service in services])
        title = f"Restart {listed} and wait until ready, at most {most} s" if most else f"Restart {listed}"
        self._add(title, "state", at, check=True)
        self.down -= set(names)

    def leave(self, engines: Engines, upstream: t.Sequence[str]) -> None:
        """Take engines out of the routers, and wait until they have finished. ``upstream``: URLs of the prefill engines that stay."""
        listed = some([engine["name"] for engine in engines])
        self._change(f"Take {listed} out of the routers", engines, "absent")
        arguments = {"engines": [*engines], "upstream": [*upstream], "timeout": self.drain_timeout}
        title = f"Wait for the last requests of {listed}, at most {self.drain_timeout} s"
        self._add(title, "drain", {router["host"]: arguments for router in self.routers})

    def join(self, engines: Engines) -> None:
        """Prove those of these engines that a router lacks, and give them to the routers."""
        self._add("Ask the routers which engines they lack", "ask", self._asked(engines))
        asked = len(self.steps) - 1
        self._prove(asked)
        self._change("Give the routers the engines that they lack", engines, "present", asked)

    def drain_router(self, name: str) -> None:
        """Send no new requests to a router, and wait until it has none."""
        self._balance(self._draining(name), [name], "drain")

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

    def _change(
        self,
        title: str,
        engines: Engines,
        state: str,
        asked: int = -1,
        routers: t.Collection[str] | None = None,
    ) -> None:
        """Change the engines of the routers. Those that read their engines at their start only restart one after the other."""
        at = self._asked(engines, state, routers)
        restarts = self.members.get("api") == RESTART
        if asked >= 0:
            for host, arguments in at.items():
                up = set(members_of(self.plan, host)["routers"]) - self.before
                arguments["use_timeout"] = self.join_timeout if up else 0
        fill = {"fill": "lacking", "asked": asked} if asked >= 0 and not restarts else {}
        self._add(title, "members", at, **fill)
        if restarts and at:
            self._restart_routers(len(self.steps) - 1, at)

    def _restart_routers(self, changed: int, at: t.Mapping[str, t.Any]) -> None:
        """The routers that the step ``changed`` has found to need it restart one after the other, and are read."""
        self.return_routers(fill="restarting", asked=changed)  # a run that was interrupted may have drained one
        for router in self.routers:
            name, fill = router["router"], {"fill": "restarting", "asked": changed, "given": router["url"]}
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

    def _balance(self, title: str, names: t.Sequence[str], state: str, **fill: t.Any) -> None:
        at = {}
        for balancer in self.balancers:
            if balancer["service"] in self.down and len(self.balancers) > 1:
                continue  # another one serves
            known = {key: balancer[key] for key in ("socket", "state_file", "backend") if key in balancer}
            timeout = {"timeout": self.drain_timeout if state == "drain" else self.join_timeout}
            weight = {"weight": 100} if state == "ready" else {}
            servers = [*names] or [*balancer["servers"]]
            at[balancer["host"]] = {**known, "servers": servers, "state": state, **weight, **timeout}
        self._add(title, "balance", at, **fill)

    def _add(self, title: str, verb: str, at: dict[str, dict[str, t.Any]], **more: t.Any) -> None:
        if at:
            self.steps.append(Step(title, verb, at, **more))
