# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the inventory that name something on the controller: never what a host has answered.

Where Ansible makes variables of facts (``inject_facts_as_vars``, on by default), a fact replaces a variable of the inventory and a default of a
role, and any module's answer may have facts.
"""

from __future__ import annotations

import os
import typing as t

from .module_answer import facts_of_ours


def of_inventory(value: t.Any, facts: t.Any, name: str, folder: str | None = None) -> t.Any:
    """The value of the variable ``name`` of a host with these facts. Raises ``ValueError`` if the host has answered a fact of this name.

    So it does for a fact with the name of any variable of this collection: the value may be made of that one.

    Whatever its value: of two facts ``name`` and ``ansible_name`` one becomes the variable and the other one is seen here. With ``folder``,
    the host's variable ``inventory_dir``, relative paths begin there: Ansible would look for them in the role and beside the collection's
    playbooks. It is a variable of a host too, so facts can replace it.
    """
    _refuse_answered(value, facts, name)
    if not folder:
        return value
    _refuse_answered(folder, facts, "inventory_dir")
    return beside(value, folder)


def beside(value: t.Any, folder: str) -> t.Any:
    """A path, a list of paths or a record with paths as values; relative ones in the folder. Empty ones, ~ and URLs stay as they are."""
    if isinstance(value, t.Mapping):
        return {key: beside(item, folder) for key, item in value.items()}
    if isinstance(value, list):
        return [beside(item, folder) for item in value]
    return value if not value or str(value).startswith("~") or "://" in str(value) else os.path.join(folder, value)


def _refuse_answered(value: t.Any, facts: t.Any, name: str) -> None:
    planted = [name] if name in (facts or {}) else facts_of_ours(facts)
    if value and planted:
        raise ValueError(
            f"{name} names something on the controller, and this value is no value of the inventory: the host answered the fact {planted[0]}. Root "
            "of a host could read or write files of the controller with it. Fix: look at what runs as Python on the host and for facts of its own; "
            "with inject_facts_as_vars = false in ansible.cfg, facts replace no variables"
        )


def of_controller(variables: t.Mapping[str, t.Any], name: str, template: t.Callable[[t.Any], t.Any]) -> str:
    """Text of a variable that names something on the controller: that of localhost, or else of the host. Empty if neither is set."""
    of_localhost = (variables.get("hostvars") or {}).get("localhost", {}).get(name)
    if of_localhost:
        return str(of_localhost)
    written = variables.get(name)
    return str(of_inventory(template(written), variables.get("ansible_facts"), name)) if written else ""
