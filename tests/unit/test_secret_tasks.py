# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No task shows a secret: a task that passes one has ``no_log``, or passes it to an option of a module that has.

Secrets are the values of a few variables, and of all variables whose value is made of them, which are looked for in all roles and playbooks.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re

import pytest
import yaml
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_secrets import NAMES, options, spec_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRITTEN = {"inference_secrets", "inference_grafana_token"}  # by users
ROLE_OPTIONS = re.compile(r"(^|_)(key|keys|token|secrets?|passwords?|credentials?)$")
NO_SECRETS = {
    "model_keys": "keys of config.json",
    "system_packages_repository_keys": "names of files with the public keys of packages",
}
BLOCKS = ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers")
INCLUDES = re.compile(r"(^|\.)(include|import)_(role|tasks|playbook|vars)$")
OWN = "ascend.inference."
KEYWORDS = (
    *("name", "when", "vars", "register", "tags", "check_mode", "diff", "no_log", "become", "environment", "notify"),
    *("changed_when", "failed_when", "run_once", "delegate_to", "ignore_unreachable", "ignore_errors", "until"),
    *("retries", "delay", "async", "poll", "loop_control", "any_errors_fatal", "delegate_facts", "become_user"),
)


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
EXPRESSION = re.compile(r"{[{%].*?[%}]}", re.DOTALL)
# Parts of a variable that are none, and digests by PBKDF2.
NONE_OF_IT = re.compile(r"__entry_checks\.(routers|address|port|certificate)\b|_secret_digests\(.*")


@functools.cache
def read(path):
    return yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER) or []  # noqa: S506 # a safe one


FILES = [*sorted((ROOT / "roles").glob("*/tasks/**/*.yml")), *sorted((ROOT / "playbooks").rglob("*.yml"))]
TEMPLATES = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "roles").glob("*/templates/**/*.j2")}


def tasks_of(items, hidden=False):
    """Each play, block and task of a list, and whether it or a block around it has no_log."""
    for item in items:
        quiet = hidden or item.get("no_log") is True
        yield item, quiet
        for part in BLOCKS:
            yield from tasks_of(item.get(part) or [], quiet)


def names_in(value):
    """The names in the expressions of a value, and in those of the templates that it names."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    more = [content for name, content in TEMPLATES.items() if name in text]
    return set(
        re.findall(r"\w+", " ".join(NONE_OF_IT.sub("", each) for each in EXPRESSION.findall(" ".join([text, *more]))))
    )


def definitions():
    """Each variable that a role, a play or a task sets: its name and its value."""
    for path in (ROOT / "roles").glob("*/vars/main.yml"):
        yield from (read(path) or {}).items()
    for path in FILES:
        for item, _hidden in tasks_of(read(path)):
            yield from (item.get("vars") or {}).items()
            yield from (item.get("ansible.builtin.set_fact") or {}).items()


@pytest.fixture(scope="module")
def secrets():
    """The names of all variables whose values have a secret in them."""
    found = set(WRITTEN)
    for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for entry in read(path)["argument_specs"].values():
            found |= {name for name in entry.get("options") or {} if ROLE_OPTIONS.search(name)}
    found -= set(NO_SECRETS)
    everything = [(name, names_in(value)) for name, value in definitions()]
    while True:
        more = {name for name, names in everything if names & found} - found
        if not more:
            return found
        found |= more


def shown(task, secrets, hiding):
    """The arguments of a task that have a secret in them, and that its module does not hide."""
    for module, arguments in task.items():
        if module in KEYWORDS or module in BLOCKS or INCLUDES.search(module):
            continue
        if isinstance(arguments, dict):
            hidden = hiding.get(module, set())
            yield from (
                f"{module}.{name}" for name in arguments if names_in(arguments[name]) & secrets and name not in hidden
            )
        elif names_in(arguments) & secrets:
            yield module


@pytest.fixture
def hiding(monkeypatch):
    """The options of each module of the collection that have no_log."""
    specifications = {name: dict(options(spec_of(name, monkeypatch))) for name in NAMES}
    return {
        OWN + module: {name for name, option in specification.items() if option.get("no_log")}
        for module, specification in specifications.items()
    }


def test_a_task_that_passes_a_secret_hides_it(secrets, hiding):
    passed, found = 0, []
    for path in FILES:
        for task, quiet in tasks_of(read(path)):
            if "hosts" in task or "import_playbook" in str(list(task)):
                continue
            offences = list(shown(task, secrets, hiding))
            passed += bool(offences) or bool(list(shown(task, secrets, {})))
            if offences and not quiet:
                found.append(f"{path.relative_to(ROOT)}: {task.get('name')}: {', '.join(offences)}")
    assert found == [], "add no_log to these tasks, or to the options of the module"
    assert passed > 10


def test_derived_variables_are_found(secrets):
    assert {"service_secrets", "verify_secrets", "kthena_secrets", "__service_engine_key"} <= secrets
    assert {"__inference_client_key", "monitoring_grafana_token", "__inference_load"} <= secrets
