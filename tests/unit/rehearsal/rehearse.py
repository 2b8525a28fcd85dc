# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run playbooks with the real ansible-core, in which no module runs: each call is recorded, and answered from data.

``python rehearse.py CASES.json RECORDS.json``: a list of cases in, a list of lists of calls out. Real are inventory, plan, templates,
conditions, loops, includes, blocks, check mode and failures of hosts. All tasks of all cases run in one process, because a fork for each takes
longer than everything else.

A case is a record: ``playbook`` (name or path), ``inventory`` (path), ``variables``, ``answers`` (by host, those of all others with an empty
name), ``folder`` (for temporary files), and optionally ``check``, ``limit`` and ``facts`` (by host).

An answer is ``{task, host, with, give}``: the result ``give`` for tasks with this name (a regular expression that has to match all of it, or the
name of the module), on this host, if the JSON text of the arguments contains ``with``. The last one that applies counts. ``{raises: TEXT}`` is
a failure that failed_when does not cover. What runs in memory is real unless an answer has exactly its name and its host: a host that is lost
there. The texts ``THE PLAN`` and ``THE TEXT OF THE PLAN`` in it stand for the plan that was made in the run, ``THE TEXT OF THE PLAN WITH
prefill-7 FOR prefill-0`` for one in which that engine has this name and the unit ``inference-old.service``.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import sys
import time
import typing as t

import jinja2
from ansible import constants, context
from ansible.cli import CLI
from ansible.errors import AnsibleError
from ansible.executor import task_executor
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.executor.process import worker
from ansible.inventory.manager import InventoryManager
from ansible.module_utils.common.collections import ImmutableDict
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play import Play
from ansible.playbook.role import Role
from ansible.playbook.task import Task
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import Jinja2Loader, init_plugin_loader
from ansible.template import Templar
from ansible.utils.display import Display
from ansible.utils.vars import load_options_vars
from ansible.vars.manager import VariableManager

try:
    from ansible._internal import _task as task_context
    from ansible.executor.task_result import _RawTaskResult
    from ansible.template import trust_as_template
except ImportError:  # before 2.19, which records the parts of conditions and is what the texts are made with
    task_context = None  # type: ignore[assignment]

Record = dict[str, t.Any]
loader = DataLoader()  # one for all cases: it keeps the files that it has read
BUILTIN = "ansible.builtin."
OWN = "ascend.inference."
# What happens on the controller, and only in memory, is real; so is what prepares the call of a module there.
REAL = {
    BUILTIN + name
    for name in (
        "assert",
        "debug",
        "fail",
        "set_fact",
        "include_tasks",
        "include_role",
        "meta",
        "validate_argument_spec",
    )
}
REAL |= {OWN + name for name in ("plan", "print_text", "service_files", "python_venv", "deployment_run", "change")}
KEYWORDS = ("check_mode", "diff", "no_log", "become", "environment", "ignore_unreachable", "async_val", "retries")
# Keywords whose effect the record shows in another way.
SHOWN = {
    "action",
    "args",
    "collections",
    "delegate_to",
    "loop",
    "loop_control",
    "loop_with",
    "name",
    "register",
    "vars",
    "when",
}
# What decides only in runs that no case has, as the task has it: these first, then every other one.
FIRST = ("changed_when", "check_mode", "diff", "failed_when", "run_once", "until", "delay", "poll", "delegate_facts")
WRITTEN = (*FIRST, *sorted(set(Task.fattributes) - SHOWN - {*FIRST, *KEYWORDS, "async"}))
# What a play says of all its tasks, as it is written; without gather_facts it gathers.
OF_PLAYS = sorted(set(Play.fattributes) - {"collections", "environment", "hosts", "name", "tasks", "vars"})

calls: list[Record] = []  # of the running case
made: list[tuple[str, t.Any]] = []  # module and arguments, of the running task
judged: list[dict[str, t.Any]] = []  # of the running task: the parts of its condition, each time they were judged
case: Record = {}


def answer(name: str, module: str, host: str, arguments: t.Any) -> Record:
    """The result of a call; without a matching answer, the module has changed something."""
    found: Record = {"changed": True}
    text = json.dumps(arguments, default=str)
    for item in case["answers"].get(host) or case["answers"][""]:
        wanted = item["task"]
        if wanted != module and not re.fullmatch(wanted, name):
            continue
        if item.get("host", host) == host and item.get("with", "") in text:
            found = item["give"]
    if "raises" in found:
        raise AnsibleError(found["raises"])
    return filled(found)


RENAMED = "THE TEXT OF THE PLAN WITH "
ASKED = "ascend.inference.host_info"  # the action of modules that ask a host


def filled(value: t.Any) -> t.Any:
    """A copy of an answer, with the plan of this run, or its text, where it says so."""
    if isinstance(value, dict):
        return {key: filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item) for item in value]
    if value in ("THE PLAN", "THE TEXT OF THE PLAN"):
        with open(f"{case['folder']}/ascend-inference-plan/plan.json", encoding="utf-8") as source:
            return json.load(source) if value == "THE PLAN" else source.read()
    if isinstance(value, str) and value.startswith(RENAMED):
        return json.dumps(renamed(filled("THE PLAN"), *value[len(RENAMED) :].split(" FOR ")))
    return value


def renamed(plan: t.Any, new: str, old: str) -> t.Any:
    """A plan with another name and number for an engine."""
    # Not before Ansible has its loader of collections
    from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import digest_of

    for service in plan["services"]:
        if service["name"] == old:
            service.update(name=new, instance=int(new.rpartition("-")[2]), unit="inference-old.service")
    for engine in plan["members"]["engines"]:
        engine["name"] = new if engine["name"] == old else engine["name"]
    return {**plan, "digest": digest_of(plan)}


def module_of(task: t.Any) -> str:
    """The full name of a task's module. Before ansible-core 2.19 the resolved one is the action to which meta/runtime.yml sends ours."""
    found = task.resolved_action or task.action
    return task.action if found == ASKED else found


class Rehearsed:
    """In the place of an action plugin: its module is recorded, and answered."""

    _supports_async = True
    bypass_host_loop = False

    def __init__(self, task: t.Any, host: str) -> None:
        self.task, self.host = task, host

    def run(self, task_vars: t.Any = None) -> Record:
        """The answer."""
        module = module_of(self.task)
        made.append((module, dict(self.task.args)))
        return answer(self.task.name, module, self.host, self.task.args)

    def cleanup(self, *_arguments: t.Any, **_more: t.Any) -> None:
        """Nothing was made."""


def handler(self: t.Any, templar: t.Any) -> t.Any:
    """As the method of the task executor that it stands for: the action, and what the loader found."""
    action = module_of(self._task)
    named = any(
        item["task"] == self._task.name and item.get("host") == self._host.name for item in case["answers"].get("", ())
    )
    if action in REAL and not named:
        return original_handler(self, templar)
    return Rehearsed(self._task, self._host.name), None


def execute_module(self: t.Any, module_name: str = "", module_args: t.Any = None, **more: t.Any) -> Record:
    """As the method of action plugins that it stands for."""
    module = module_name or self._task.action
    arguments = self._task.args if module_args is None else module_args
    made.append((module, dict(arguments)))
    host = more["task_vars"]["inventory_hostname"]
    return answer(self._task.name, module, host, arguments)


def start(self: t.Any) -> None:
    """As the method of the worker that it stands for: run the task here, and record it."""
    task = self._task.copy(exclude_parent=True, exclude_tasks=True)
    task._parent = self._task._parent
    made.clear()
    judged.clear()
    executor = task_executor.TaskExecutor(
        self._host,
        task,
        self._task_vars,
        self._play_context,
        *([] if task_context else [None]),  # standard input
        self._loader,
        self._shared_loader_obj,
        self._final_q,
        self._variable_manager,
    )
    # Those after 2.19 have other arguments.
    with task_context.TaskContext(task) if task_context else contextlib.nullcontext():  # pylint: disable=missing-kwoa
        result = executor.run()
    note(task, self._host.name, result)
    if task_context:
        sent = _RawTaskResult(host=self._host, task=self._task, return_data=result, task_fields=task.dump_attrs())
        self._final_q.send_task_result(sent)
    else:
        self._final_q.send_task_result(self._host.name, self._task._uuid, result, task_fields=task.dump_attrs())


def note(task: t.Any, host: str, result: Record) -> None:
    """Add a call to the record."""
    status = "skipped" if result.get("skipped") else "failed" if result.get("failed") else ""
    status = status or ("changed" if result.get("changed") else "ok")
    if task.action.endswith("validate_argument_spec") and status == "ok":
        return None
    if task.action in (BUILTIN + "include_tasks", BUILTIN + "include_role", "include_role", "include_tasks"):
        return note_include(task, host, status, result)
    facts = result.get("ansible_facts") if task.action.endswith("set_fact") else None
    if facts is None and result.get("results"):
        facts = [item["ansible_facts"] for item in result["results"] if "ansible_facts" in item] or None
    calls.append(
        {
            "task": task.get_name(),
            "path": task.get_path(),
            "host": host,
            "status": status,
            "calls": [(name, plain(arguments)) for name, arguments in made],
            "items": [outcome(item) for item in result.get("results", ()) if isinstance(item, dict)],
            "facts": plain(facts) if facts else None,
            "message": str(result.get("msg", "")) if status == "failed" else "",
            "text": str(task.args.get("text", task.args.get("msg", ""))) if status == "ok" else "",
            "delegate": str(task.delegate_to or ""),
            "keywords": keywords(task),
            "judged": list(judged),
        }
    )
    return None


def keywords(task: t.Any) -> Record:
    """What a task says besides its module: those that apply, and those that are written in it without applying here."""
    found = {name: plain(getattr(task, name)) for name in KEYWORDS}
    found = {name: value for name, value in found.items() if value not in (None, False, 0, [{}], [])}
    return {**keywords_written(task), **found}


def keywords_written(task: t.Any) -> Record:
    """Those of the task's own, also if they do not apply here."""
    written = getattr(task, "_ds", None) or {}
    return {name: plain(written[name]) for name in WRITTEN if name in written}


def operands(text: str) -> list[str]:
    """``a and (b or c)`` -> ``a``, ``(b or c)``; one operand if something else joins them, or if it is not known where one ends."""
    parts = text.split(" and ")
    whole = all(part.count(sign[0]) == part.count(sign[1]) for part in parts for sign in ("()", "[]", "{}"))
    plain_ = not re.search(r" or | if | else ", text) and all(part.count("'") % 2 == 0 for part in parts)
    return [part.strip() for part in parts] if whole and plain_ else [text]


def resolve(self: t.Any, conditional: t.Any, variables: t.Any, **more: t.Any) -> bool:
    """As the method of tasks that it stands for; each part of the condition is judged as well, also behind one that is false."""
    parts = [part for item in conditional for part in operands(str(item))]
    if conditional == self.when and len(parts) > 1:
        templar = Templar(loader=self._loader, variables=variables)
        found = {}
        for part in parts:
            try:
                found[part] = bool(templar.evaluate_conditional(trust_as_template(part)))
            except AnsibleError:
                found[part] = None
        judged.append(found)
    held = bool(original_resolve(self, conditional, variables, **more))
    if conditional == self.when and len(parts) == 1:
        judged.append({parts[0]: held})
    return held


def batches(self: t.Any, play: t.Any) -> t.Any:
    """As the method of the executor that it stands for; records the play with its hosts, also if there are none."""
    found = original_batches(self, play)
    written = play.get_ds() or {}
    calls.append(
        {
            "play": play.get_name(),
            "task": "",
            "path": str(play.get_path()),
            "host": "",
            "status": "ok",
            "items": [],
            "hosts": [[host.name for host in batch] for batch in found],
            "keywords": {name: plain(written[name]) for name in OF_PLAYS if name in written},
        }
    )
    return found


def note_include(task: t.Any, host: str, status: str, result: Record) -> None:
    """Of an include only whether it was skipped, and how often it is done, as its tasks follow."""
    items = [outcome(item) for item in result.get("results", ())]
    calls.append(
        {
            "task": task.get_name(),
            "path": task.get_path(),
            "host": host,
            "status": status,
            "items": items,
            "include": True,
            "keywords": keywords_written(task),
            "judged": list(judged),
        }
    )


def outcome(item: Record) -> str:
    """Of one item of a loop."""
    return (
        "skipped"
        if item.get("skipped")
        else "failed"
        if item.get("failed")
        else "changed"
        if item.get("changed")
        else "ok"
    )


def plain(value: t.Any) -> t.Any:
    """What JSON can express."""
    return json.loads(json.dumps(value, default=str))


def rehearse(wanted: Record) -> list[Record]:
    """Run one case in this process."""
    case.clear()
    case.update(wanted)
    calls.clear()
    constants.DEFAULT_LOCAL_TMP = case["folder"]
    context.CLIARGS = ImmutableDict(
        connection="local", forks=1, become=None, become_method="sudo", become_user=None, check=bool(case.get("check")), diff=False,
        verbosity=0, extra_vars=[json.dumps(case["variables"])], subset=case.get("limit"), tags=["all"], skip_tags=[], timeout=10,
        remote_user=None, private_key_file=None, ssh_common_args="", sftp_extra_args="", scp_extra_args="", ssh_extra_args="",
        start_at_task=None, syntax=False, listtags=False, listtasks=False, listhosts=False, step=False, flush_cache=False, force_handlers=False,
    )  # fmt: skip
    load_options_vars.__dict__.clear()  # where it keeps those of the first run
    loader.set_basedir(case["folder"])
    inventory = InventoryManager(loader=loader, sources=[case["inventory"]])
    if case.get("limit"):
        inventory.subset(case["limit"])
    variables = VariableManager(loader=loader, inventory=inventory, version_info=CLI.version_info(gitinfo=False))
    variables._extra_vars = loader.load(json.dumps(case["variables"]))
    for host, facts in case.get("facts", {}).items():
        variables.set_host_facts(host, facts)
    PlaybookExecutor([case["playbook"]], inventory, variables, loader, {}).run()
    return list(calls)


def compiled(
    self: t.Any, source: t.Any, name: t.Any = None, filename: t.Any = None, raw: bool = False, defer_init: bool = False
) -> t.Any:
    """As the method of Jinja's environment that it stands for, but each expression is compiled once and not for each task."""
    key = (type(self), str(source), name, filename, raw, defer_init)
    if not isinstance(source, str):
        return original_compile(self, source, name, filename, raw, defer_init)
    if key not in expressions:
        expressions[key] = original_compile(self, source, name, filename, raw, defer_init)
    return expressions[key]


def jinja_plugin(self: t.Any, name: str, *arguments: t.Any, **more: t.Any) -> t.Any:
    """As the method of the loader of filters and tests that it stands for, but each is looked for once and not for each task."""
    key = (self.type, name)
    if key not in jinja_plugins:
        jinja_plugins[key] = original_jinja_plugin(self, name, *arguments, **more)
    return jinja_plugins[key]


jinja_plugins: dict[t.Any, t.Any] = {}
original_jinja_plugin = Jinja2Loader.get_with_context
Jinja2Loader.get_with_context = jinja_plugin
expressions: dict[t.Any, t.Any] = {}
original_compile = jinja2.Environment.compile
jinja2.Environment.compile = compiled
original_handler = task_executor.TaskExecutor._get_action_handler_with_module_context
task_executor.TaskExecutor._get_action_handler_with_module_context = handler
if task_context:
    original_resolve = Task._resolve_conditional
    Task._resolve_conditional = resolve
ActionBase._execute_module = execute_module
original_batches = PlaybookExecutor._get_serialized_batches
PlaybookExecutor._get_serialized_batches = batches
worker.WorkerProcess.start = start
worker.WorkerQueue = lambda **_options: None
# Arguments of roles are validated before their tasks, which takes as long as they; other tests compare what is declared.
Role._get_role_argspecs = lambda self: {}
worker.WorkerProcess.is_alive = lambda self: False


def main() -> None:
    """Run all cases."""
    with open(sys.argv[1], encoding="utf-8") as source:
        wanted = json.load(source)
    if not os.environ.get("REHEARSAL_SHOWS"):
        Display.display = lambda self, *_arguments, **_more: None
    gc.disable()  # the process is short
    init_plugin_loader([])
    found = []
    for item in wanted:
        begin = time.process_time()
        found.append(rehearse(item))
        print(f"{time.process_time() - begin:.2f} s of processor time: {item['folder']}")
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        json.dump(found, target)


if __name__ == "__main__":
    main()
