# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action service_files: render the templates of each service on the controller, and write all files on the host in one call."""

from __future__ import annotations

import posixpath
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.loader import lookup_loader

from ..plugin_utils.hosts.asked import Asked
from ..plugin_utils.lifecycle.run import this_run

Record = dict[str, t.Any]


def place_of(template: t.Mapping[str, t.Any], service: t.Mapping[str, t.Any]) -> str:
    """Path of a service's file: that of its planned script ``script``, or in ``folder`` with the name in its key ``key``."""
    if "folder" in template:
        return posixpath.join(str(template["folder"]), str(service[template.get("key", "name")]))
    return str(service["scripts"][template["script"]])


class Uncopied(dict):  # type: ignore[type-arg]
    """Variables of which the lookup of templates takes no deep copy: that of a plan takes longer than the template, for each file of each service."""

    def __deepcopy__(self, _copied: t.Any) -> Record:
        return dict(self)


class ActionModule(Asked):
    """Adapter: templates become the module's option ``files``."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Record:
        """Render, then run the module once."""
        result: Record = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        templates, services = arguments.pop("templates", None) or [], arguments.pop("services", None) or []
        files = list(arguments.pop("files", None) or [])
        variables = Uncopied(task_vars or {})
        lookup = lookup_loader.get("ansible.builtin.template", loader=self._loader, templar=self._templar)
        for template in templates:
            for service in services if template.get("each", True) else [{}]:
                files.append(self._file(lookup, template, service, variables))
        arguments.update(files=files, run=this_run(constants.DEFAULT_LOCAL_TMP))
        result.update(
            self._execute_module("ascend.inference.service_files", module_args=arguments, task_vars=task_vars)
        )
        return result

    def _file(self, lookup: t.Any, template: Record, service: Record, variables: Uncopied) -> Record:
        """One entry of ``files``."""
        name = str(template["src"])
        texts = lookup.run([name], variables=variables, template_vars={"item": service})
        path = place_of(template, service) if service else str(template["dest"])
        known = {key: template[key] for key in ("mode", "service_owned", "private", "sections") if key in template}
        if not texts:
            raise AnsibleActionFail(f"the template {name} does not exist")
        return {"path": path, "content": str(texts[0]), "service": str(service.get("name", "")), **known}
