# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the planner's runtimes. Subclasses override only what differs; ``registry`` lists them."""

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
    """A runtime of services.

    The class attributes are facts. They become ``runtime_facts`` of the plan. Playbooks, roles and rules test these facts,
    never the runtime's name.
    """

    name = ""
    contained = False  # processes run in containers: software is in an image, only the model is on the host
    needs_root = False  # the connected user must be root
    reserves_ports = True  # sets kernel parameters, including ip_local_reserved_ports, which reserves planned ports
    lifts_limits = True  # starts processes with a higher limit of open files than the connected user's
    own_user = False  # runs the processes as a dedicated user
    in_cluster = False  # a cluster schedules the services; the inventory has no hosts for them
    # Packages of the distribution that its ``prepare.yml`` installs, by family ("Debian", "RedHat"), and the variable of a role, of the same
    # form, that names others. Bundles carry them for hosts without internet.
    packages: t.Mapping[str, t.Sequence[str]] = {}
    packages_variable = ""

    def facts(self) -> dict[str, bool]:
        """The facts, as in the plan."""
        return {name: getattr(self, name) for name in FACTS}

    def unit(self, deployment: str, service: str) -> str:
        """The name of a service in the runtime."""
        return f"{deployment}-{service}"

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        """The log reference of a service: ``kind``, as in ``module_utils/runtime``, and its ``unit`` or ``path``.

        ``path`` is the service's log file, for runtimes that write files.
        """
        raise NotImplementedError

    def settings(self, context: Context) -> dict[str, t.Any]:
        """Settings of the runtime on hosts, ``runtime_settings`` of the plan: option ``settings`` of service_state, and paths for the role.

        Two keys are read by all: ``environments``, the Python environments that the role installs for the runtime, as options of
        python_venv; ``drop_ins``, a folder in which files in ``UNIT.d`` extend the unit of a service.
        """
        return {}

    def rules(self) -> t.Iterable[Rule]:
        """Planner rules of this runtime."""
        return ()

    def hosts(self, description: Description, hosts: dict[str, Host]) -> tuple[Description, dict[str, Host]]:
        """The description and the hosts for planning."""
        return description, hosts

    def finish(self, context: Context, services: t.Sequence[Service]) -> list[Service]:
        """The rendered services for this runtime, each with its unit and log."""
        return [self.named(context, service) for service in services]

    def named(self, context: Context, service: Service) -> Service:
        """The service with its unit and log, and with its directory in its environment, which identifies its processes."""
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
        """Keys of the plan for this runtime; they replace keys of the same name."""
        return {}
