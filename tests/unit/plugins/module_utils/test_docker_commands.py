# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the runtime of containers asks docker for, word by word, and how long it waits."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime import docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker import SPEC, Docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker_create import creation, fingerprint
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils import test_docker as played
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_docker import SETTINGS, service


class Engine(played.Engine):
    """Keeps each command that changes something, with its timeout."""

    def __init__(self):
        super().__init__()
        self.orders = []

    def __call__(self, argv, timeout=60):
        if argv[1] not in ("ps", "inspect", "image"):
            self.orders.append((argv[1:], timeout))
        return super().__call__(argv, timeout)


@pytest.fixture
def engine():
    return Engine()


def runtime(engine, **settings):
    return Docker({**SETTINGS, **settings}, engine)


@pytest.mark.parametrize(("pull", "word"), [("missing", "missing"), ("always", "missing"), ("never", "never")])
def test_a_container_is_created_with_its_digest_and_started_in_a_second_step(engine, pull, word):
    planned = service("a")
    runtime(engine, pull=pull).start([planned])
    words = creation(planned, {**SETTINGS, "pull": pull})
    create = ["create", f"--pull={word}", f"--label={SPEC}={fingerprint(words)}", *words]
    assert engine.orders == [(create, 3600), (["start", "x-a"], 60)], "an image of 20 GiB may be pulled"


def test_containers_start_and_stop_together_so_that_slow_ones_overlap(engine):
    both = [service("a"), dict(service("b"), stop_timeout=100)]
    runtime(engine).start(both)
    assert engine.orders[-1] == (["start", "x-a", "x-b"], 60)
    engine.orders.clear()
    runtime(engine).stop(both)
    assert engine.orders == [(["stop", "x-a", "x-b"], 220)]
    engine.orders.clear()
    assert runtime(engine).remove(both, True) == ["x-a", "x-b"] and engine.orders == []
    assert runtime(engine).remove(both, False) == ["x-a", "x-b"]
    assert engine.orders == [(["stop", "x-a", "x-b"], 220), (["rm", "--force", "x-a", "x-b"], 60)]
    runtime(engine).stop([])
    runtime(engine).start([])
    assert runtime(engine).remove([], False) == [] and len(engine.orders) == 2


def test_what_is_no_longer_planned_is_stopped_in_its_time(engine):
    runtime(engine).start([service("a"), service("b")])
    engine.orders.clear()
    assert runtime(engine).apply([service("b")], False, remove=False) == (False, [], ["x-a"]) and engine.orders == []
    assert runtime(engine).apply([service("b")], False, keep=["x-a"]) == (False, [], ["x-a"]) and engine.orders == []
    assert runtime(engine).apply([service("b")], True) == (True, [], ["x-a"]) and engine.orders == []
    assert runtime(engine).apply([service("b")], False) == (True, [], ["x-a"])
    assert engine.orders == [(["stop", "x-a"], 210), (["rm", "--force", "x-a"], 60)]
    assert runtime(engine).apply([service("b")], False) == (False, [], [])


def test_a_replaced_container_is_removed_before_the_new_one_is_created(engine):
    runtime(engine).start([service("a")])
    engine.orders.clear()
    runtime(engine).start([service("a", mounts=["/n:/n"])])
    assert [(order[0], timeout) for order, timeout in engine.orders] == [
        ("stop", 210),
        ("rm", 60),
        ("create", 3600),
        ("start", 60),
    ]


def test_each_image_is_pulled_once_if_tags_may_move(engine):
    planned = [service("a", image="image:2"), service("b", image="image:1"), service("c", image="image:2")]
    runtime(engine, pull="always").apply(planned, True)
    assert engine.orders == []
    runtime(engine, pull="always").apply(planned, False)
    assert engine.orders == [(["pull", "--quiet", name], 3600) for name in ("image:1", "image:2")]
    runtime(engine).apply(planned, False)
    assert len(engine.orders) == 2


def test_an_image_that_was_recorded_and_is_gone_is_pulled_to_compare_it(engine, tmp_path):
    (tmp_path / "x").mkdir()
    used = runtime(engine, records=str(tmp_path / "x"))
    used.start([service("a")])
    engine.containers.clear()
    engine.orders.clear()
    used.start([service("a")])
    assert [order[0] for order, _timeout in engine.orders] == ["create", "start"], "it is there"
    engine.containers.clear()
    engine.orders.clear()
    engine.image_id = ""
    engine.pull = lambda options, words: (0, setattr(engine, "image_id", "sha256:1") or "")
    used.start([service("a", image="image:7"), service("b")])
    pulls = [(order, timeout) for order, timeout in engine.orders if order[0] == "pull"]
    assert pulls == [(["pull", "--quiet", "image:1"], 3600)], "of a name that was never used nothing is known"


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({"ipc": ""}, ["--ipc=host"]),
        ({"shm_size": ""}, ["--shm-size=16g"]),
        ({"pids_limit": 0}, ["--pids-limit=4096"]),
        ({"pids_limit": None}, ["--pids-limit=4096"]),
        ({"devices": []}, ["--device=/dev/davinci0:/dev/davinci0:rwm"]),
        ({"mounts": []}, ["--volume=/m:/m:ro"]),
        ({"ulimits": {}}, ["--ulimit=memlock=-1", "--ulimit=nofile=10"]),
        ({"user": "root"}, ["--user=svc"]),
    ],
)
def test_what_is_not_planned_is_no_option(changes, gone):
    usual = creation(service("a"), SETTINGS)
    assert creation(service("a", **changes), SETTINGS) == [word for word in usual if word not in gone]


def test_a_plan_of_an_older_version_has_no_limit_of_processes():
    planned = service("a")
    del planned["container"]["pids_limit"]
    assert "--pids-limit=4096" not in creation(planned, SETTINGS)


def test_a_read_only_container_may_run_what_it_compiles():
    argv = creation(service("a", read_only=True), SETTINGS)
    assert argv[argv.index("--read-only") + 1] == "--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777"
    assert argv[argv.index("--read-only") - 1] == "--user=svc"


def asked(*answers):
    """(a runtime, its questions); the answers come in turn."""
    calls, left = [], list(answers)

    def run(argv, timeout=60):
        calls.append(argv)
        return left.pop(0)

    return Docker(SETTINGS, run), calls


def test_processes_of_services_that_run():
    used, calls = asked((0, "71\n"), (0, "0\n"), (0, "<no value>\n"))
    assert used.pids([{"unit": name} for name in ("x-a", "x-b", "x-c")]) == {"x-a": 71}
    assert calls[0] == ["docker", "inspect", "--type=container", "--format={{.State.Pid}}", "x-a"]


def test_the_last_lines_of_a_container_are_its_log():
    used, calls = asked((1, "no such container"))
    assert used.log({"unit": "x-a"}, 7) == "no such container" and calls == [["docker", "logs", "--tail=7", "x-a"]]


def test_a_command_inside_a_container_gets_its_input_and_the_named_variables():
    assert Docker.inside("x-a", ["A", "B"]) == ["docker", "exec", "--interactive", "--env", "A", "--env", "B", "x-a"]
    assert Docker.inside("x-a", []) == ["docker", "exec", "--interactive", "x-a"]


def test_containers_are_asked_for_by_the_deployment_and_by_planned_names():
    used, calls = asked((0, "x-b\n"), (0, "x-b\nx-a\nother\n"), (0, "WARNING: x\n"))
    assert used.states([service("a"), service("b"), service("c")]) == {}
    assert calls == [
        ["docker", "ps", "--all", "--format={{.Names}}", "--filter=label=ascend.inference.deployment=x"],
        ["docker", "ps", "--all", "--format={{.Names}}"],
        ["docker", "inspect", "--type=container", f"--format={docker.TEMPLATE}", "x-b", "x-a"],
    ]
    used, calls = asked((0, ""), (0, "other\n"))
    assert used.states([service("a")]) == {} and len(calls) == 2
    used, calls = asked((0, "x-a\n"), (0, ""))
    assert used.states([service("a")]) == {} and len(calls) == 2, "nothing else is planned"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (
            {"Status": "running", "StartedAt": "2026-01-01T00:00:00.123456789Z"},
            {"state": "running", "up": True, "pending": False, "since": 1767225600.0, "detail": ""},
        ),
        (
            {"Status": "running", "StartedAt": "soon"},
            {"state": "running", "up": True, "pending": False, "since": None, "detail": ""},
        ),
        (
            {"Status": "restarting", "StartedAt": "2026-01-01T00:00:00Z", "ExitCode": 1, "Error": ""},
            {"state": "restarting", "up": False, "pending": True, "since": None, "detail": "exit code 1"},
        ),
        (
            {"Status": "created", "ExitCode": 127, "Error": "no such file"},
            {"state": "created", "up": False, "pending": False, "since": None, "detail": "exit code 127 no such file"},
        ),
        ({}, {"state": "unknown", "up": False, "pending": False, "since": None, "detail": "exit code None"}),
    ],
)
def test_the_state_of_a_container(now, expected):
    labels = {"ascend.inference.digest": "5a2e", "ascend.inference.deployment": "x"}
    used, _calls = asked((0, "x-a\n"), (0, json.dumps(["/x-a", now, 3, labels, "sha256:1", "image:1"])))
    found = used.states([])["x-a"]
    assert found == {**expected, "start_id": 3, "restarts": 3, "digest": "5a2e"}
    used, _calls = asked((0, "x-a\n"), (0, json.dumps(["/x-a", now, 3, None, "sha256:1", "image:1"])))
    assert used.states([])["x-a"]["digest"] == ""


@pytest.mark.parametrize("verb", ["ps", "inspect"])
def test_a_docker_that_refuses_is_a_problem_with_its_words(verb):
    answers = [(0, "x-a\n")] if verb == "inspect" else []
    used, _calls = asked(*answers, (1, "Cannot connect to the Docker daemon\n"))
    with pytest.raises(RuntimeProblem, match=f"^docker {verb} exited with 1: Cannot connect to the Docker daemon$"):
        used.states([])


def test_a_container_of_others_is_left_when_a_service_restarts(engine):
    engine.containers["x-a"] = {"status": "running", "labels": {}, "restarts": 0, "image": "i", "named": "db"}
    with pytest.raises(RuntimeProblem, match="docker rename.*inference_deployment"):
        runtime(engine).restart([service("a")])
    assert engine.orders == []
    found = runtime(engine)._containers([service("a")])
    assert found["x-a"]["ours"] is False and (found["x-a"]["image"], found["x-a"]["named"]) == ("i", "db")
