# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plan: create the plan from the inventory, show it, and store it for the other plays of this run."""

from __future__ import annotations

import json
import typing as t

from ansible import constants
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import visible

from ..plugin_utils.acceptance.asked import AskedError, judge_asked
from ..plugin_utils.description.findings import PlanError
from ..plugin_utils.description.inventory import GROUP, common_value, members
from ..plugin_utils.description.loader import plain
from ..plugin_utils.description.misspelt import without_prefix
from ..plugin_utils.description.outputs import pages, refusals, unwritten
from ..plugin_utils.description.run_values import wrong_values
from ..plugin_utils.description.values import natural
from ..plugin_utils.description.variables import PREFIX
from ..plugin_utils.hosts.asked import restrict
from ..plugin_utils.hosts.plan_memory import plan_memory
from ..plugin_utils.plan.begun import begun_placement, known_hosts, placement_text, with_begun
from ..plugin_utils.plan.handover import folder_of, hand_over, names_of, planned, refusal_with, take
from ..plugin_utils.plan.placement_agreed import common_record, strange_files
from ..plugin_utils.plan.planner import garbage_collection_suspended
from ..plugin_utils.plan.unplanned import unplanned
from ..plugin_utils.releases.artefacts import newer_stable
from ..plugin_utils.views.plan_table import plan_table

restrict()  # each playbook has this action, so before a host answers
BUNDLE = {
    "path": "inference_bundle",
    "keyring": "inference_bundle_keyring",
    "minisign_public_key": "inference_bundle_minisign_public_key",
}
NAMELESS = (
    " The hosts' own plans are not used either, because it is not clear which deployment is meant: inference_deployment or inference_root is invalid or "
    "differs between hosts, or inference_group has no hosts. Fix: correct them; for one of several deployments set inference_group."
)
MOST_ASKED = 64  # hosts whose placement is read; each has that of the whole deployment
SHOWN = ["table", "advice", "commands", "diff", "json", "memory", "none", "rules"]
ARGUMENTS = {
    "show": {"type": "str", "default": "table", "choices": SHOWN},
    "only": {"type": "bool", "default": False},
    "model_facts": {"type": "str", "default": ""},
    "ignore": {"type": "list", "elements": "str", "default": []},
    "quiet": {"type": "bool", "default": False},
    "optional": {"type": "bool", "default": False},
    "playbook": {"type": "str", "default": ""},
    "deployed": {"type": "dict"},
}


FIX_OF_OTHERS = (
    "define what it refers to, or correct the name; for a vault give --ask-vault-pass or --vault-password-file"
)
# Ansible evaluates a variable of one host for another one without hostvars.
FIX_OF_HOSTVARS = "write the value itself, or put it into a variable of a group that both hosts have: a value that is read for another host knows no hostvars"


class Remembered(dict[str, t.Any]):
    """The variables of each host, which Ansible computes again whenever they are read: with a thousand hosts that takes seconds."""

    def __init__(self, hostvars: t.Any) -> None:
        super().__init__()
        self.hostvars = hostvars

    def __missing__(self, name: str) -> t.Any:
        self[name] = self.hostvars[name]
        return self[name]


class ActionModule(ActionBase):
    """Adapter: Ansible's variables in, the selection of hosts for the following plays out."""

    _requires_connection = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """Plan; never changes anything on a host."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        show = self._task.args.get("show", "table")
        if show not in SHOWN:
            raise AnsibleError(f"inference_plan_show is '{show}'. Nothing was planned. Fix: one of {', '.join(SHOWN)}")
        _unused, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        hostvars = Remembered(task_vars["hostvars"])
        with garbage_collection_suspended():
            try:
                own = hostvars[task_vars["inventory_hostname"]]
                lost = refusals(options["playbook"], own)
                if options["deployed"] is None:
                    hosts = members(task_vars["groups"], str(own[GROUP]) if GROUP in own else "")
                    each = [own, *(hostvars[name] for name in hosts)]
                    lost += dict.fromkeys(text for variables in each for text in wrong_values(variables))
                if lost:
                    raise ValueError("\n".join(lost))
                answers = {host: str(text) for host, text in (options["deployed"] or {}).items()}
                files = {host: placement_text(text) for host, text in answers.items()}
                record = common_record(files)
                begun = common_record({host: begun_placement(text) for host, text in answers.items()})
                for text in strange_files(files):
                    Display().warning(visible(text))
                plan, new = self._plan(task_vars, hostvars, options["deployed"], with_begun(record, begun))
                if options["deployed"] is None:
                    judge_asked(options["playbook"], own, plan)
                bundle = bundle_of(plan, hostvars) if options["deployed"] is None else {}
                for text in without_prefix(names_of({}, hostvars)) if options["deployed"] is None else ():
                    Display().warning(visible(text))
                for text in unwritten(options["playbook"], own) if plan["runtime_facts"]["in_cluster"] else ():
                    Display().warning(visible(text))
                if not options["quiet"]:
                    self._show(
                        plan, options["show"], memory(plan, options), self._refusal_of_newer(plan, task_vars, hostvars)
                    )
            except PlanError as error:
                # once as text; the message is its first line, because Ansible prints that one twice
                Display().display(visible(str(error)))
                helped = options["optional"] and not isinstance(error, AskedError)
                known = known_of(task_vars, hostvars) if helped else None
                return {**result, **self._refused(f"{str(error).splitlines()[0]} They are listed above.", known)}
            except AnsibleError as error:  # a variable that is undefined, such as that of a vault
                known = known_of(task_vars, hostvars) if options["optional"] else None
                return {**result, **self._refused(culprit(hostvars) or str(error), known)}
            except ValueError as error:
                return {**result, **self._refused(str(error))}
            if new:
                hand_over(plan, folder_of(constants.DEFAULT_LOCAL_TMP))
        found = selection(plan, options["only"])
        asked = (
            hosts_to_ask(plan, hostvars[task_vars["inventory_hostname"]], task_vars["groups"]) if found["hosts"] else []
        )
        known = known_hosts(answers.values()) if found["hosts"] else set()
        left = {**abandoned(plan, known, task_vars["groups"]["all"]), "ours": sorted({*found["hosts"], *asked})}
        return {
            **result,
            "changed": False,
            "selection": {
                **found,
                **left,
                "asked": asked,
                "bundle": bundle,
                "show": options["show"],
                "pages": pages(options["playbook"], own, plan["deployment"]),
            },
        }

    def _plan(
        self, task_vars: t.Any, hostvars: t.Any, deployed: dict[str, t.Any] | None, record: dict[str, t.Any] | None
    ) -> tuple[dict[str, t.Any], bool]:
        """The plan, and whether it is another one than this run has already.

        ``deployed`` holds the hosts' placement files (None: not read yet), ``record`` what they say. The run's plan stays unless
        it has other places.
        """
        if deployed is not None:
            plan = take(folder_of(constants.DEFAULT_LOCAL_TMP))
            if record is None or record == plan["placement"]:
                return plan, False
        return planned(hostvars[task_vars["inventory_hostname"]], hostvars, task_vars["groups"], record), True

    def _refused(self, message: str, known: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """The result of a refusal. ``known``: what the inventory names, where the run goes on without a plan; None: it does not."""
        if known:
            return {"changed": False, "unplanned": message, "selection": known}
        self._task._ds = None  # ansible-core 2.19 and later would print the task's own lines after the message
        return {"failed": True, "msg": message if known is None else message + NAMELESS}

    def _refusal_of_newer(self, plan: dict[str, t.Any], task_vars: t.Any, hostvars: t.Any) -> str:
        """What the newest stable release refuses of the description; empty if it is planned already, or takes it."""
        release = newer_stable(plan["release"])
        own = hostvars[task_vars["inventory_hostname"]]
        return refusal_with(release.name, own, hostvars, task_vars["groups"], plan) if release else ""

    def _show(self, plan: dict[str, t.Any], show: str, more: list[str], refusal: str) -> None:
        if show == "json":
            Display().display(json.dumps(plan, indent=4, sort_keys=True))
        elif show != "none":
            Display().display(visible("\n".join(plan_table(plan, show, refusal) + more)))


def culprit(hostvars: t.Mapping[str, t.Any]) -> str:
    """Which variable refers to what Ansible cannot read, such as a value of a vault, and on which host; empty if none does."""
    for host in sorted(hostvars, key=natural):
        for name in sorted(str(name) for name in hostvars[host]):
            try:
                if name.startswith(PREFIX):
                    plain(hostvars[host][name])
            except AnsibleError as error:
                fix = FIX_OF_HOSTVARS if "'hostvars' is undefined" in str(error) else FIX_OF_OTHERS
                return f"{name} of {host} has a value that Ansible cannot read. Nothing was changed. Fix: {fix}. Ansible's reason: {error}"
    return ""


def known_of(task_vars: t.Any, hostvars: t.Any) -> dict[str, t.Any]:
    """``{deployment, root, directory, hosts}`` of an inventory that cannot be planned; empty if it does not name one deployment."""
    return unplanned(hostvars[task_vars["inventory_hostname"]], hostvars, task_vars["groups"])


def memory(plan: dict[str, t.Any], options: t.Mapping[str, t.Any]) -> list[str]:
    """The memory table, if the facts of a check are given. Raises ``PlanError`` if an engine cannot start."""
    if options["model_facts"]:
        return plan_memory(plan, options["model_facts"], options["ignore"])
    if options["show"] == "memory":
        raise ValueError(
            "inference_plan_show is 'memory', and inference_model_facts is not set. Fix: set it to the file that the playbook check "
            "writes with inference_check_json."
        )
    return []


def hosts_to_ask(plan: dict[str, t.Any], variables: t.Any, groups: t.Any) -> list[str]:
    """Hosts of the deployment's groups, planned or not, whose placement is read: at most MOST_ASKED, spread evenly.

    Spread, because new hosts, which have none, may sort first. None for a cluster.
    """
    if plan["runtime_facts"]["in_cluster"]:
        return []
    own = members(groups, str(variables[GROUP]) if GROUP in variables else "")
    names = sorted((name for name in own if set(own[name]) & set(plan["groups"])), key=natural)
    if len(names) <= MOST_ASKED:
        return names
    return [names[index * (len(names) - 1) // (MOST_ASKED - 1)] for index in range(MOST_ASKED)]


def bundle_of(plan: dict[str, t.Any], hostvars: t.Any) -> dict[str, str]:
    """The bundle that all hosts of the plan install from, and its keys; empty without one. Raises ``PlanError`` if they differ.

    Read before any host has answered, because it names files of the controller.
    """
    if plan["runtime_facts"]["in_cluster"]:
        return {}
    names = [host["name"] for host in plan["hosts"]]
    found = {key: common_value(variable, hostvars, names) for key, variable in BUNDLE.items()}
    conflicts = [conflict for _value, each in found.values() for conflict in each]
    if conflicts:
        raise PlanError(conflicts)
    return {key: str(value) for key, (value, _each) in found.items() if value} if found["path"][0] else {}


def abandoned(plan: dict[str, t.Any], known: set[str], inventory: t.Container[str]) -> dict[str, list[str]]:
    """Hosts that may have services of the deployment (``known``) and have none in the plan: ``left`` are in the inventory, ``lost`` are not.

    A host said what is known, so these are names of the inventory's list: Ansible also takes localhost, the controller, for a host.
    """
    planned_hosts = {host["name"] for host in plan["hosts"]}
    gone = sorted(known - planned_hosts, key=natural)
    return {
        "left": [name for name in gone if name in inventory],
        "lost": [name for name in gone if name not in inventory],
    }


def selection(plan: dict[str, t.Any], only: bool) -> dict[str, t.Any]:
    """The selection of hosts and roles for the playbooks; empty with ``only``.

    Not ``ansible_facts``, which a fact cache would keep beyond the run.
    """
    router = ((plan.get("kubernetes") or {}).get("router") or {}).get("hosts", [])
    cluster = ["localhost"] if plan["runtime_facts"]["in_cluster"] else []
    return {
        "hosts": [] if only else [host["name"] for host in plan["hosts"]],
        "deployment": plan["deployment"],
        "root": plan["root"],
        "directory": plan["directory"],
        "router_hosts": [] if only else [host["name"] for host in router],
        "cluster": [] if only else cluster,
        "npus": plan["engine_facts"]["npus"],
        "runtime_facts": plan["runtime_facts"],
    }
