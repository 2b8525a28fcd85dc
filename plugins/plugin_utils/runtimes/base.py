# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the planner asks of a runtime. A subclass states only in what it differs; ``registry`` lists all of them."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from ..description.variables import Description, Host
    from ..plan.deployment import Context
    from ..plan.rules.base import Rule
    from ..plan.service import Service

FACTS = ("contained", "needs_root", "reserves_ports", "lifts_limits", "own_user", "in_cluster")


class Runtime:
    """What keeps services running.

    The class attributes are facts. They become ``runtime_facts`` of the plan, and playbooks, roles and rules decide by
    them and never by the runtime's name.
    """

    name = ""
    contained = False  # processes run in containers: software comes with an image, only the model lies on the host
    needs_root = False  # the connecting user has to be root
    reserves_ports = (
        True  # may set kernel parameters, among them ip_local_reserved_ports, which keeps planned ports free
    )
    lifts_limits = True  # starts processes with more open files than the connecting user is allowed
    own_user = False  # runs the processes as a user of their own
    in_cluster = False  # a cluster places the services; the inventory has no hosts for them
    engines: tuple[str, ...] = ("vllm_ascend", "vllm_cpu")  # the values of inference_engine that it can run

    def facts(self) -> dict[str, bool]:
        """The facts that the plan carries."""
        return {name: getattr(self, name) for name in FACTS}

    def unit(self, deployment: str, service: str) -> str:
        """The name under which the runtime knows a service."""
        return f"{deployment}-{service}"

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        """Where a service's log is: ``kind``, which ``module_utils/runtime`` reads, and its ``unit`` or ``path``.

        ``path`` is the log file of the service, for a runtime that writes files.
        """
        raise NotImplementedError

    def settings(self, deployment: str, directory: str) -> dict[str, t.Any]:
        """What the target side of the runtime has to know besides the services; option ``settings`` of service_state."""
        return {}

    def rules(self) -> t.Iterable[Rule]:
        """Planner rules that only this runtime has."""
        return ()

    def hosts(self, description: Description, hosts: dict[str, Host]) -> tuple[Description, dict[str, Host]]:
        """The description and the hosts to plan with."""
        return description, hosts

    def finish(self, context: Context, services: t.Sequence[Service]) -> list[Service]:
        """The rendered services as this runtime runs them, each with its unit and its log."""
        return [self.named(context, service) for service in services]

    def named(self, context: Context, service: Service) -> Service:
        """The service with its unit and log, and with its directory in its environment: by that its processes are
        told from others."""
        unit = self.unit(context.description.deployment, service.name)
        return dataclasses.replace(
            service,
            unit=unit,
            log=self.log_of(unit, context.log(service.name)),
            digest_file=context.digest_file(service.name),
            env={"ASCEND_INFERENCE_SERVICE": service.work_directory, **service.env},
        )

    def section(
        self, context: Context, services: t.Sequence[Service], hosts: t.Sequence[dict[str, t.Any]]
    ) -> dict[str, t.Any]:
        """Keys of the plan that only this runtime has; they replace others of the same name."""
        return {}
