# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtime of containers, against a docker command that keeps its containers in a dict."""

from __future__ import annotations

import contextlib
import json
import pathlib
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime import docker_create
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker import Docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker_create import LABEL, creation
from ansible_collections.ascend.inference.plugins.modules import service_state as module

SETTINGS = {"deployment": "x", "pull": "missing", "log_size": "50m", "log_copies": 3, "user": "svc", "group": "npu"}


class Engine:
    """Docker's command line as far as the runtime uses it."""

    def __init__(self):
        self.containers, self.calls, self.image_id = {}, [], "sha256:1"

    def __call__(self, argv, timeout=60):
        assert argv[0] == "docker"
        verb, words = argv[1], [word for word in argv[2:] if not word.startswith("--")]
        if verb not in ("ps", "inspect", "image"):
            self.calls.append(" ".join([verb, *words]))
        return getattr(self, verb)(argv[2:], words)

    def ps(self, options, words):
        ours = [word for word in options if word.startswith("--filter=label=")]
        label, dummy, value = ours[0][len("--filter=label=") :].partition("=") if ours else ("", "", "")
        names = [
            name for name, container in self.containers.items() if not ours or container["labels"].get(label) == value
        ]
        return 0, "\n".join(names)

    def inspect(self, options, words):
        rows = []
        for name in words:
            container = self.containers[name]
            now = {"Status": container["status"], "StartedAt": "2026-01-01T00:00:00.1Z", "ExitCode": 137, "Error": ""}
            assert options[1].count("{{json") == 6  # as many as below
            rows.append(
                json.dumps(
                    [
                        "/" + name,
                        now,
                        container["restarts"],
                        container["labels"],
                        container["image"],
                        container["named"],
                    ]
                )
            )
        return 0, "\n".join(rows)

    def image(self, options, words):
        return (0, self.image_id + "\n") if self.image_id else (1, "No such image")

    def create(self, options, words):
        name = next(option for option in options if option.startswith("--name="))[len("--name=") :]
        if name in self.containers:
            return 1, f"Conflict. The container name {name} is already in use"
        labels = dict(option[len("--label=") :].split("=", 1) for option in options if option.startswith("--label="))
        ran = {"status": "created", "labels": labels, "restarts": 0}
        self.containers[name] = {**ran, "image": self.image_id, "named": words[0]}
        return 0, ""

    def pull(self, options, words):
        return 0, self.image_id

    def start(self, options, words):
        for name in words:
            self.containers[name]["status"] = "running"
        return 0, ""

    def stop(self, options, words):
        for name in words:
            self.containers[name]["status"] = "exited"
        return 0, ""

    def rm(self, options, words):
        for name in words:
            del self.containers[name]
        return 0, ""


@pytest.fixture
def engine():
    return Engine()


def service(name, **container):
    planned = {"name": "x-" + name, "image": "image:1", "network": "host", "ipc": "host", "shm_size": "16g"}
    planned.update(ulimits={"nofile": 10, "memlock": -1}, devices=["/dev/davinci0"], mounts=["/m:/m:ro"])
    planned.update(user="service", capabilities=[], read_only=False, pids_limit=4096)
    planned.update(work_directory="/d/" + name, **container)
    found = {"name": name, "unit": "x-" + name, "digest": "d", "digest_file": None, "newer": [], "stop_timeout": 90}
    return dict(found, digest="", container=planned, stop_signal="TERM", script=f"/d/{name}/run.sh")


def call(engine, state, *services, check=False, **settings):
    done = module.registered if state in ("present", "absent") else module.running
    return done(Docker({**SETTINGS, **settings}, engine), {"state": state, "services": list(services)}, check)


def test_a_container_is_created_once(engine):
    planned = service("a")
    assert call(engine, "started", planned, check=True)["started"] == ["x-a"] and engine.calls == []
    assert call(engine, "started", planned)["started"] == ["x-a"]
    assert engine.calls == ["create image:1 /d/a/run.sh", "start x-a"]
    assert not call(engine, "started", planned)["changed"]


def test_the_command_has_all_that_is_planned_and_no_more():
    assert creation(service("a"), SETTINGS) == [
        "--name=x-a",
        "--network=host",
        "--workdir=/d/a",
        "--ipc=host",
        "--shm-size=16g",
        "--security-opt=no-new-privileges",
        "--cap-drop=ALL",
        "--user=svc",
        "--ulimit=memlock=-1",
        "--ulimit=nofile=10",
        "--pids-limit=4096",
        "--device=/dev/davinci0:/dev/davinci0:rwm",
        "--volume=/m:/m:ro",
        "--restart=unless-stopped",
        "--stop-signal=SIGTERM",
        "--stop-timeout=90",
        "--log-driver=json-file",
        "--log-opt=max-size=50m",
        "--log-opt=max-file=3",
        "--label=ascend.inference.deployment=x",
        "--label=ascend.inference.service=a",
        "--label=ascend.inference.digest=",
        "--entrypoint=/bin/sh",
        "image:1",
        "/d/a/run.sh",
    ]


def test_processes_are_those_of_the_services_user_by_number(monkeypatch):
    user = types.SimpleNamespace(pw_uid=990, pw_gid=991)
    monkeypatch.setattr(docker_create.pwd, "getpwnam", {"svc": user}.__getitem__)
    monkeypatch.setattr(docker_create.grp, "getgrnam", {}.__getitem__)
    assert docker_create.identity(SETTINGS) == ["--user=990:991"]
    monkeypatch.setattr(docker_create.grp, "getgrnam", {"npu": types.SimpleNamespace(gr_gid=1000)}.__getitem__)
    assert docker_create.identity(SETTINGS) == ["--user=990:991", "--group-add=1000"]


def test_an_image_that_insists_on_root_gets_the_one_capability_that_reading_needs():
    argv = creation(service("a", user="root", capabilities=["DAC_OVERRIDE"]), SETTINGS)
    assert [word for word in argv if word.startswith(("--user", "--cap"))] == [
        "--cap-drop=ALL",
        "--cap-add=DAC_OVERRIDE",
    ]


def test_a_read_only_container_has_a_folder_for_the_moment():
    argv = creation(service("a", read_only=True), SETTINGS)
    assert "--read-only" in argv and any(word.startswith("--tmpfs=/tmp:") for word in argv)


@pytest.mark.parametrize("why", ["mounts", "image", "pull"])
def test_a_container_that_is_not_as_planned_is_replaced(engine, why):
    call(engine, "started", service("a"))
    engine.calls.clear()
    changes = {"mounts": {"mounts": ["/m:/m:ro", "/n:/n"]}, "image": {"image": "image:2"}}
    planned, settings = service("a", **changes.get(why, {})), {"pull": "always"} if why == "pull" else {}
    if why != "mounts":
        engine.image_id = "sha256:2"
    image = planned["container"]["image"]
    assert call(engine, "started", planned, **settings)["restarted"] == ["x-a"]
    assert engine.calls == ["stop x-a", "stop x-a", "rm x-a", f"create {image} /d/a/run.sh", "start x-a"]
    assert not call(engine, "started", planned, **settings)["changed"]


@pytest.mark.parametrize("change", [{}, {"mounts": ["/other:/other"]}])
@pytest.mark.parametrize("check", [True, False])
def test_a_tag_that_names_another_image_by_now_changes_nothing_unless_tags_may_move(engine, check, change):
    call(engine, "started", service("a"))
    engine.image_id = "sha256:2"
    engine.calls.clear()
    with pytest.raises(RuntimeProblem, match="image:1 is another image now .sha256:2.*docker tag sha256:1 image:1"):
        call(engine, "present", service("a", **change), check=check)
    assert engine.calls == []
    assert not call(engine, "present", service("a"), pull="always", check=check)["changed"]
    assert not call(engine, "present", service("a", image="image@sha256:2"), check=check)["changed"]


def test_a_restart_runs_the_image_that_ran_before(engine):
    """The watchdog restarts an engine at night: a tag that was moved meanwhile is no reason to change its software, nor to leave it."""
    call(engine, "started", service("a"))
    engine.image_id = "sha256:2"
    engine.calls.clear()
    assert not call(engine, "started", service("a"))["changed"]
    assert call(engine, "restarted", service("a"))["restarted"] == ["x-a"]
    assert engine.calls == ["stop x-a", "start x-a"] and engine.containers["x-a"]["image"] == "sha256:1"


@pytest.fixture
def records(tmp_path):
    """The setting that names the deployment's folder."""
    (tmp_path / "x").mkdir()
    return {"records": str(tmp_path / "x")}


@pytest.mark.parametrize("state", ["present", "started", "restarted"])
def test_a_moved_tag_is_noticed_after_the_containers_are_gone(engine, records, state):
    call(engine, "started", service("a"), **records)
    engine.containers.clear()  # pruned, or the host lost its data
    engine.calls.clear()
    engine.image_id = "sha256:2"
    match = (
        "image:1 is another image now .sha256:2.*last created containers from .sha256:1.*docker tag sha256:1 image:1"
    )
    for check in (True, False) if state == "present" else (False,):
        with pytest.raises(RuntimeProblem, match=match):
            call(engine, state, service("a"), check=check, **records)
    assert engine.calls == [] and not engine.containers
    engine.image_id = "sha256:1"
    call(engine, "present", service("a"), **records)
    assert call(engine, "started", service("a"), **records)["started"] == ["x-a"]


def test_a_moved_tag_is_noticed_after_the_image_is_gone_too(engine, records):
    call(engine, "started", service("a"), **records)
    engine.containers.clear()
    engine.calls.clear()
    engine.image_id = ""
    engine.pull = lambda options, words: (0, setattr(engine, "image_id", "sha256:2") or "")
    with pytest.raises(RuntimeProblem, match="image:1 is another image now .sha256:2"):
        call(engine, "started", service("a"), **records)
    assert engine.calls == ["pull image:1"] and not engine.containers


@pytest.mark.parametrize(("pull", "asked"), [("never", []), ("missing", ["pull image:1"])])
def test_an_image_that_is_gone_is_pulled_unless_no_registry_may_be_asked(engine, records, pull, asked):
    """Hosts of a rack without a route would wait for the registry."""
    call(engine, "started", service("a"), **records)
    engine.containers.clear()
    engine.calls.clear()
    engine.image_id = ""
    engine.pull = lambda options, words: (1, "no route")
    with contextlib.suppress(RuntimeProblem):
        call(engine, "started", service("a"), **records, pull=pull)
    assert [text for text in engine.calls if text.startswith("pull")] == asked


def test_a_new_name_and_tags_that_may_move_are_accepted_and_recorded(engine, records):
    call(engine, "started", service("a"), **records)
    for name, found, settings in (("image:2", "sha256:2", {}), ("image:1", "sha256:3", {"pull": "always"})):
        engine.containers.clear()
        engine.image_id = found
        call(engine, "present", service("a", image=name), **records, **settings)
        assert call(engine, "started", service("a", image=name), **records, **settings)["started"] == ["x-a"]
    engine.containers.clear()
    assert call(engine, "started", service("a"), **records)["started"] == ["x-a"], "the last one counts"
    engine.containers.clear()
    with pytest.raises(RuntimeProblem, match="image:2 is another image now .sha256:3"):
        call(engine, "present", service("a", image="image:2"), **records)


def test_containers_from_before_there_was_a_record_are_recorded(engine, records):
    call(engine, "started", service("a"))
    call(engine, "present", service("a"), check=True, **records)
    assert not list(pathlib.Path(records["records"]).iterdir())
    call(engine, "present", service("a"), **records)
    engine.containers.clear()
    engine.image_id = "sha256:2"
    with pytest.raises(RuntimeProblem, match="another image"):
        call(engine, "present", service("a"), **records)


def test_a_run_killed_before_the_record_leaves_no_old_record(engine, records):
    call(engine, "started", service("a"), **records)
    engine.image_id = "sha256:2"
    call(engine, "started", service("a"), pull="always")  # as far as it came: created, and not recorded
    call(engine, "present", service("a"), **records)
    engine.containers.clear()
    assert call(engine, "started", service("a"), **records)["started"] == ["x-a"]


@pytest.mark.parametrize("content", ["", "[]", '{"image:1": 1}', '{"image:1": ["sha256:1"]}', "link"])
def test_a_damaged_record_is_none_and_a_link_is_not_followed(engine, records, content, tmp_path):
    path = pathlib.Path(records["records"], "container_images.json")
    if content == "link":
        (tmp_path / "elsewhere").write_text('{"image:1": "sha256:0"}')
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_text(content)
    call(engine, "present", service("a"), **records)
    assert call(engine, "started", service("a"), **records)["started"] == ["x-a"]
    assert not path.is_symlink() and json.loads(path.read_text()) == {"image:1": "sha256:1"}


@pytest.mark.parametrize("labels", [{}, {LABEL + "deployment": "other"}])
@pytest.mark.parametrize("state", ["present", "started", "restarted"])
@pytest.mark.parametrize("status", ["running", "exited"])
def test_a_container_of_others_with_a_planned_name_is_neither_changed_nor_removed(engine, status, state, labels):
    engine.containers["x-a"] = {"status": status, "labels": labels, "restarts": 0, "image": "sha256:9", "named": "db"}
    with pytest.raises(RuntimeProblem, match="x-a that this deployment did not create"):
        call(engine, state, service("a"))
    assert engine.calls == [] and "x-a" in engine.containers


def test_an_image_by_digest_is_taken_under_the_tag_of_a_bundle_if_docker_did_not_pull_it(engine):
    planned = service("a", image="quay.io/x@sha256:" + 64 * "a")
    local, pulled = "quay.io/x:sha256-" + 64 * "a", []
    engine.image = lambda options, words: (0, "sha256:1\n") if words[-1] in (local, *pulled) else (1, "No such image")
    assert call(engine, "started", planned)["started"] == ["x-a"]
    assert engine.calls[-2:] == [f"create {local} /d/a/run.sh", "start x-a"]
    assert not call(engine, "started", planned)["changed"]
    pulled.append(planned["container"]["image"])
    assert not call(engine, "started", planned)["changed"], (
        "the same image under the planned name is no reason for a restart"
    )


@pytest.mark.parametrize("change", [{}, {"mounts": ["/other:/other"]}])
def test_an_image_that_docker_does_not_tell_is_not_missing(engine, change):
    """Else a moved tag would not be noticed. What is there can be started all the same."""
    call(engine, "started", service("a"))
    engine.calls.clear()
    engine.image = lambda options, words: (1, "Error response from daemon: context deadline exceeded")
    with pytest.raises(RuntimeProblem, match="does not tell which image image:1 is(.|\n)*context deadline exceeded"):
        call(engine, "present", service("a", **change))
    assert engine.calls == []
    assert call(engine, "restarted", service("a"))["restarted"] == ["x-a"]


@pytest.mark.parametrize(
    "text",
    [
        "Error: No such image: image:1",
        "[]\nError response from daemon: No such image: image:1",
        "Error: image:1: image not known",
    ],
)
def test_a_container_is_created_from_an_image_that_is_missing(engine, text):
    call(engine, "started", service("a"))
    engine.image = lambda options, words: (1, text)
    assert call(engine, "started", service("a", mounts=["/other:/other"]))["restarted"] == ["x-a"]


def test_a_warning_before_the_id_of_an_image_is_no_other_image(engine):
    call(engine, "started", service("a"))
    engine.image = lambda options, words: (0, "WARNING: Error loading config file\nsha256:1\n")
    assert call(engine, "started", service("a", mounts=["/other:/other"]))["restarted"] == ["x-a"]


def test_one_that_ended_is_started_as_it_is(engine):
    call(engine, "started", service("a"))
    engine.containers["x-a"]["status"] = "exited"
    engine.calls.clear()
    assert call(engine, "started", service("a"))["started"] == ["x-a"] and engine.calls == ["start x-a"]


def test_one_that_waits_for_its_next_attempt_is_started_at_once(engine):
    call(engine, "started", service("a"))
    engine.containers["x-a"]["status"] = "restarting"
    engine.calls.clear()
    assert call(engine, "started", service("a"))["started"] == ["x-a"]
    assert engine.calls == ["stop x-a", "start x-a"]


def test_restart_stop_and_what_is_no_longer_planned(engine):
    first, second = service("a"), service("b")
    call(engine, "started", first, second)
    engine.containers["other"] = {"status": "running", "labels": {}, "restarts": 0, "image": "", "named": "db"}
    engine.calls.clear()
    assert call(engine, "restarted", first)["restarted"] == ["x-a"] and engine.calls == ["stop x-a", "start x-a"]
    assert call(engine, "present", second, check=True)["stopped"] == ["x-a"] and "x-a" in engine.containers
    assert call(engine, "present", second)["stopped"] == ["x-a"] and sorted(engine.containers) == ["other", "x-b"]
    assert call(engine, "stopped", second)["stopped"] == ["x-b"] and not call(engine, "stopped", second)["changed"]
    assert call(engine, "absent")["stopped"] == ["x-b"] and sorted(engine.containers) == ["other"]
    assert not call(engine, "absent")["changed"]


def test_state_for_the_status(engine):
    call(engine, "started", service("a"), service("b"))
    engine.containers["x-b"].update(status="exited", restarts=2)
    found = Docker(SETTINGS, engine).states([])
    assert found["x-a"]["since"] == 1767225600.0 and found["x-a"]["up"]
    assert (found["x-b"]["state"], found["x-b"]["detail"]) == ("exited", "exit code 137")
    assert found["x-b"]["restarts"] == 2 and engine.containers["x-a"]["labels"][LABEL + "service"] == "a"


def test_a_refusal_has_docker_s_message(engine):
    engine.create = lambda options, words: (125, "no such device")
    with pytest.raises(RuntimeProblem, match="docker create exited with 125: no such device"):
        call(engine, "started", service("a"))
