# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam of runtimes: nothing outside of their own folders knows their names, and a new one needs no other file."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.collector.positions import READERS
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import MARGIN, stop_time
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import Runtime as TargetRuntime
from ansible_collections.ascend.inference.plugins.module_utils.runtime.registry import LOGS, RUNTIMES
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.base import FACTS
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.registry import MODULES, NAMES, runtimes

from .seams import ROOT, compared_in, copy_with, run

OWN = (
    "plugins/plugin_utils/runtimes/",
    "plugins/module_utils/runtime/",
    "plugins/module_utils/kubernetes/",
    "roles/kthena/",
    "roles/container_runtime/",
)
# In YAML, a comparison with a name: runtime == 'docker', 'systemd' != ..., runtime in ['systemd', 'docker'], is match('docker').
COMPARED = re.compile(
    r"(==|!=|\bin [\[(][^])]*|\beq'?,|\b(?:eq|equalto|match|search|contains)\() *['\"]({0})\b|['\"]({0})['\"] *(==|!=|in )".format(
        "|".join(NAMES)
    )
)


# In YAML, a runtime's name as a key: {supervisor: ...}[plan.runtime].
KEYED = re.compile(r"^ +({0}):(?! *\S*: )|[{{,] *({0}): ".format("|".join(NAMES)))


MADE_UP = Path(__file__).parent / "runtime_made_up"


def test_nothing_outside_compares_with_a_runtime_s_name():
    found = []
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(OWN):
            found += [f"{name}:{line}" for line in compared_in(path.read_text(encoding="utf-8"), NAMES)]
    for path in sorted(
        [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").rglob("*.yml"), *(ROOT / "roles").rglob("*.j2")]
    ):
        name = str(path.relative_to(ROOT))
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not name.startswith(OWN) and "/".join(name.split("/")[3:4]) not in NAMES:
            # what manages a host's services is a fact of the host, whatever the runtime
            found += [
                f"{name}:{number}" for number, line in lines if COMPARED.search(line) and "service_mgr" not in line
            ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "a = plan['runtime'] == 'docker'",
        "a = x not in ('systemd', 'supervisor')",
        "a = {'systemd': 1, 'docker': 2}",
        "match x:\n    case 'kubernetes':\n        pass",
    ],
)
def test_the_search_sees_each_form_in_python(text):
    assert list(compared_in(text, NAMES))


@pytest.mark.parametrize(
    "text",
    [
        "when: plan.runtime == 'docker'",
        "when: plan.runtime in [\"systemd\", 'supervisor']",
        "when: 'supervisor' != plan.runtime",
        "x | selectattr('runtime', 'eq', 'kubernetes')",
        "when: plan.runtime in ('systemd', 'supervisor')",
        "when: plan.runtime is match('docker')",
        "when: \"'docker' in plan.runtime\"",
    ],
)
def test_the_search_sees_each_form_in_yaml(text):
    assert COMPARED.search(text)


def test_roles_and_playbooks_have_no_table_by_runtime():
    found = []
    for path in sorted(path for part in ("playbooks", "roles") for path in (ROOT / part).rglob("*.yml")):
        name = str(path.relative_to(ROOT))
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not name.startswith(OWN) and "/".join(name.split("/")[3:4]) not in NAMES:
            found += [f"{name}:{number}" for number, line in lines if KEYED.search(line)]
    assert found == []


@pytest.mark.parametrize("text", ["  supervisor: [x]", "  docker:", "x: {systemd: 1}", "x: {a: 1, docker: 2}"])
def test_the_search_sees_a_table_by_runtime(text):
    assert KEYED.search(text)


def test_the_search_lets_sections_of_the_plan_pass():
    assert not list(compared_in("a = plan['kubernetes']['name'] == name", NAMES))


def on_hosts():
    return [runtime for runtime in runtimes() if not runtime.in_cluster]


def test_each_runtime_has_its_record_its_target_and_its_tasks():
    assert {runtime.name for runtime in runtimes()} == set(NAMES)
    assert {host.name for host in on_hosts()} == set(RUNTIMES)
    for host in on_hosts():
        tasks = ROOT / "roles" / "service" / "tasks" / host.name
        wanted = {"preflight.yml", "apply.yml", "templates.yml"} | ({"prepare.yml"} if host.contained else set())
        assert {path.name for path in tasks.iterdir()} == wanted, host.name
        assert all(yaml.safe_load(path.read_text(encoding="utf-8")) for path in tasks.iterdir())
        assert host.log_of("u", "/p")["kind"] in LOGS
        assert sorted(host.facts()) == sorted(FACTS)


@pytest.mark.parametrize("verb", ["states", "pids", "log", "apply", "start", "stop", "remove"])
@pytest.mark.parametrize("name", sorted(RUNTIMES))
def test_each_runtime_of_hosts_has_all_verbs(name, verb):
    assert getattr(RUNTIMES[name], verb) is not getattr(TargetRuntime, verb), f"{RUNTIMES[name].__name__} lacks {verb}"


@pytest.mark.parametrize(
    "verb", [name for name in vars(TargetRuntime) if not name.startswith("_") and name != "log_kind"]
)
@pytest.mark.parametrize("name", sorted(RUNTIMES))
def test_each_verb_takes_the_arguments_of_the_base_class(name, verb):
    """Callers leave out arguments that have defaults; a runtime that lacks one works until somebody passes it."""
    expected = list(inspect.signature(getattr(TargetRuntime, verb)).parameters)
    assert list(inspect.signature(getattr(RUNTIMES[name], verb)).parameters) == expected


@pytest.mark.parametrize("name", sorted(RUNTIMES))
def test_each_kind_of_log_that_is_no_file_has_its_commands(name):
    """The verification and the support archive read logs of the plan with them."""
    kind = RUNTIMES[name].log_kind
    assert kind == "file" or RUNTIMES[name].log_commands is not TargetRuntime.log_commands


@pytest.mark.parametrize("name", sorted(RUNTIMES))
def test_each_kind_of_log_has_a_reader_for_metrics(name):
    """Without one the collector of log messages skips all services of the runtime."""
    kind = RUNTIMES[name].log_kind
    assert kind in READERS, f"add a reader of {kind} to READERS in module_utils/collector/positions.py"


@pytest.mark.parametrize("runtime", on_hosts(), ids=lambda runtime: runtime.name)
def test_a_runtime_with_containers_can_run_a_command_in_them(runtime):
    """The benchmark runs the engine's own program, which is in the image."""
    target = RUNTIMES[runtime.name]
    assert runtime.contained == (target.inside is not TargetRuntime.inside)
    assert runtime.contained == ("unit-1" in target.inside("unit-1", ["KEY"]))


def commands_of_engines(text):
    """Lines of Python with the arguments of a container engine, such as ["docker", "exec", ...]."""
    verbs = {"cp", "create", "exec", "inspect", "kill", "logs", "ps", "pull", "restart", "rm", "run", "start", "stop"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.List, ast.Tuple)):
            first, second = [*(getattr(item, "value", None) for item in node.elts), None, None][:2]
            if first in ("docker", "podman", "nerdctl") and second in verbs:
                yield node.lineno


def test_the_search_sees_commands_of_container_engines():
    assert list(commands_of_engines("a = ['docker', 'exec', *b]")) == [1]
    assert not list(commands_of_engines("a = ['docker']; b = ['docker', 'python3-requests']"))


def test_only_its_runtime_runs_the_commands_of_a_container_engine():
    paths = [path for path in sorted((ROOT / "plugins").rglob("*.py")) if "docker" in path.read_text(encoding="utf-8")]
    # The reader of the kind of log; and a throw-away container of the image, which is no service and has no name of one.
    own = (*OWN, "plugins/module_utils/collector/positions.py", "plugins/module_utils/rehearsal/launch.py")
    found = [
        f"{name}:{line}"
        for path in paths
        if not (name := str(path.relative_to(ROOT))).startswith(own)
        for line in commands_of_engines(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "use the verb of module_utils/runtime, such as inside"


def test_only_its_record_names_the_packages_of_a_runtime():
    names = {name for one in runtimes() for family in one.packages.values() for name in family} - set(NAMES)
    assert names
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "plugins").rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(OWN)
        and any(name in path.read_text(encoding="utf-8") for name in names)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == [], "read packages of the runtime's record"


def test_the_made_up_runtime_follows_the_rules_of_the_house():
    text = (MADE_UP / "target.py").read_text(encoding="utf-8")
    assert "subprocess" not in text and ".run_command(" not in text


def test_only_the_registry_imports_the_module_of_a_runtime():
    contracts = (ROOT / ".config" / "importlinter.toml").read_text(encoding="utf-8")
    modules = [name.partition(".")[0] for name in MODULES.values()]
    assert [name for name in modules if f'.plugin_utils.runtimes.{name}"' not in contracts] == [], (
        "add it to forbidden_modules of .config/importlinter.toml"
    )


FILES = {
    "plugins/plugin_utils/runtimes/processes.py": "controller.py",
    "plugins/module_utils/runtime/processes.py": "target.py",
    "roles/service/tasks/processes/preflight.yml": "preflight.yml",
    "roles/service/tasks/processes/apply.yml": "apply.yml",
    "roles/service/tasks/processes/templates.yml": "templates.yml",
}
REGISTRATIONS = {
    "plugins/plugin_utils/runtimes/registry.py": ('    "docker": "docker",\n', '    "processes": "processes",\n'),
    "plugins/module_utils/runtime/registry.py": ('    "docker": Docker,\n', '    "processes": Processes,\n'),
}


def test_the_made_up_runtime_is_a_complete_example():
    (target,) = [
        node
        for node in ast.parse((MADE_UP / "target.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    verbs = {node.name for node in target.body if isinstance(node, ast.FunctionDef)}
    assert {"states", "pids", "log", "log_commands", "apply", "start", "stop", "remove"} <= verbs


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    files = {name: (MADE_UP / source).read_text(encoding="utf-8") for name, source in FILES.items()}
    made = copy_with(tmp_path_factory.mktemp("made_up"), files, REGISTRATIONS)
    registry = made / "plugins" / "module_utils" / "runtime" / "registry.py"
    text = registry.read_text(encoding="utf-8")
    registry.write_text(text.replace("from .supervisor ", "from .processes import Processes\nfrom .supervisor ", 1))
    return made


def test_a_made_up_runtime_plans(collection):
    assert run(collection, MADE_UP / "plan.py").splitlines() == [
        "runtime processes",
        "unit pid.x.decode-0",
        "log {'kind': 'processes', 'unit': 'pid.x.decode-0'}",
        "facts lifts_limits=False needs_root=False",
        "section {'processes': {'count': 3}}",
        "packages ['procps-ng'] ['own']",
        "rule PROCESSES-NAME inference_deployment",
    ]


def test_a_made_up_runtime_keeps_services_running(collection, tmp_path):
    assert run(collection, MADE_UP / "deploy.py", str(tmp_path)).splitlines() == [
        "present True",
        "check ['pid.x.a']",
        "started ['pid.x.a']",
        "again False",
        "log hello",
        "pids [True]",
        "changed ['pid.x.a']",
        "status running",
        "absent ['pid.x.a']",
        "again False",
    ]


@pytest.mark.parametrize(("limits", "seconds"), [([], 60), ([59], 60), ([None, 61], 61), ([300, 90], 300)])
def test_a_runtime_waits_longer_than_the_service_that_stops_last(limits, seconds):
    """The runtime kills a service after its limit, and answers after that."""
    assert stop_time([{"stop_timeout": limit} for limit in limits]) == seconds + MARGIN
    assert MARGIN >= 10


@pytest.mark.parametrize(
    ("name", "true"),
    [
        ("systemd", "needs_root reserves_ports lifts_limits own_user"),
        ("docker", "contained reserves_ports lifts_limits own_user"),
        ("supervisor", ""),  # the connected user starts it, with that user's rights and limits
        ("kubernetes", "contained reserves_ports lifts_limits in_cluster"),
    ],
)
def test_what_each_runtime_may_do(name, true):
    """Host checks and rules depend on it: a wrong value hides a finding, or refuses what works."""
    (facts,) = [runtime.facts() for runtime in runtimes() if runtime.name == name]
    assert " ".join(fact for fact in FACTS if facts[fact]).split() == sorted(true.split(), key=FACTS.index)
