# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The passwd and group files of containers, against a docker command that keeps its containers in a dict."""

from __future__ import annotations

import os
import pathlib
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import removal, whole_removal
from ansible_collections.ascend.inference.plugins.module_utils.runtime import accounts, docker_create
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker import Docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker_create import creation
from ansible_collections.ascend.inference.plugins.modules import service_state as module
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils import test_docker as played
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_docker import SETTINGS, call

IMAGE = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/usr/sbin/nologin\n",
    "/etc/group": "root:x:0:\ndaemon:x:1:",
}


class Engine(played.Engine):
    """With an image whose files can be copied, as ``docker cp`` does."""

    def __init__(self):
        super().__init__()
        self.files, self.temporary = dict(IMAGE), 0

    def create(self, options, words):
        if not any(option.startswith("--name=") for option in options):
            if not self.image_id:
                return 1, "No such image: image:1"
            self.temporary += 1
            name = f"temporary{self.temporary}"
            code, text = super().create([f"--name={name}", *options], words)
            return code, text or f"WARNING: a kernel without swap limits\n{name}\n"
        return super().create(options, words)

    def cp(self, options, words):
        name, _colon, path = words[0].partition(":")
        assert name in self.containers
        if path not in self.files:
            return 1, f"Error response from daemon: Could not find the file {path} in container {name}"
        pathlib.Path(words[1]).write_text(self.files[path], encoding="utf-8")
        return 0, ""


@pytest.fixture
def engine(monkeypatch):
    user = types.SimpleNamespace(pw_name="svc", pw_uid=998, pw_gid=997)
    monkeypatch.setattr(docker_create.pwd, "getpwnam", {"svc": user}.__getitem__)
    monkeypatch.setattr(docker_create.grp, "getgrnam", {"npu": types.SimpleNamespace(gr_gid=1000)}.__getitem__)
    monkeypatch.setattr(docker_create, "driver_group", lambda given: given)
    return Engine()


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "deployments" / "x"
    for name in ("a", "b"):
        (folder / "services" / name).mkdir(parents=True)
    return folder


def service(base, name, **more):
    folder = base / "services" / name
    files = {"passwd": str(folder / "passwd"), "group": str(folder / "group"), "home": str(folder / "work")}
    return played.service(name, accounts=files, **more)


def present(engine, base, *services, check=False, **settings):
    return call(engine, "present", *services, check=check, records=str(base), **settings)


def test_the_files_have_the_lines_of_the_image_and_the_user_of_the_container(engine, base):
    present(engine, base, service(base, "a"), service(base, "b"))
    folder = base / "services" / "a"
    mine = f"svc:x:998:997:Runs the service:{folder}/work:/usr/sbin/nologin\n"
    assert (folder / "passwd").read_text() == IMAGE["/etc/passwd"] + mine
    assert (folder / "group").read_text() == "root:x:0:\ndaemon:x:1:\nsvc:x:997:\n"
    assert (folder / "passwd").stat().st_mode & 0o777 == 0o644, "the container's user reads it"
    assert engine.temporary == 1, "the image is read once"
    assert engine.containers == {}, "nothing of the reading is left"


def test_the_container_has_them_in_place_of_its_own(engine, base):
    planned = service(base, "a")
    words = creation(planned, SETTINGS)
    folder = base / "services" / "a"
    # A mount of this kind fails if the file is missing; --volume would make a folder of that name.
    assert f"--mount=type=bind,source={folder}/passwd,target=/etc/passwd,readonly" in words
    assert f"--mount=type=bind,source={folder}/group,target=/etc/group,readonly" in words
    assert not [word for word in creation(played.service("a"), SETTINGS) if word.startswith("--mount")]


def test_nothing_is_written_for_containers_without_them_or_in_check_mode(engine, base):
    present(engine, base, played.service("a"))
    present(engine, base, service(base, "a"), check=True)
    assert engine.temporary == 0 and not list(base.rglob("passwd"))


def test_a_comparison_before_the_first_deploy_pulls_and_needs_no_user_yet(engine, base, monkeypatch):
    """It decides before anything is written, and before the user of the containers is made."""
    monkeypatch.setattr(docker_create.pwd, "getpwnam", {}.__getitem__)
    planned = [service(base, "a"), service(base, "b")]
    runtime = Docker({**SETTINGS, "pull": "always", "records": str(base)}, engine)
    found = module.registered(
        runtime, {"state": "present", "services": planned, "remove": False, "compare": True}, False
    )
    assert (found["changed"], found["down"]) == (False, ["a", "b"])
    assert engine.calls == ["pull image:1"] and not list(base.rglob("passwd"))


@pytest.mark.parametrize("missing", [["/etc/group"], ["/etc/passwd", "/etc/group"]])
def test_an_image_without_the_files_gets_them(engine, base, missing):
    for path in missing:
        del engine.files[path]
    present(engine, base, service(base, "a"))
    assert (base / "services" / "a" / "group").read_text() == "svc:x:997:\n"


def test_another_error_of_the_engine_is_reported_and_nothing_is_left(engine, base):
    engine.cp = lambda options, words: (1, "Error response from daemon: no space left on device")
    with pytest.raises(RuntimeProblem, match="docker cp exited with 1: .*no space left"):
        present(engine, base, service(base, "a"))
    assert engine.containers == {}


def test_a_missing_image_is_pulled_for_them_unless_that_is_forbidden(engine, base):
    engine.image_id, calls = "", engine.calls

    def pull(options, words):
        engine.image_id = "sha256:1"
        return 0, ""

    engine.pull = pull
    present(engine, base, service(base, "a"), pull="never")
    assert not [call for call in calls if call.startswith(("pull", "create"))], "the start says what is missing"
    present(engine, base, service(base, "a"))
    assert "pull image:1" in calls and (base / "services" / "a" / "passwd").exists()


def test_a_file_that_the_user_mounts_himself_is_not_written(engine, base):
    planned = service(base, "a")
    del planned["container"]["accounts"]["passwd"]
    present(engine, base, planned)
    assert os.listdir(base / "services" / "a") == ["group"]
    assert [word for word in creation(planned, SETTINGS) if "/etc/passwd" in word] == []


def test_without_the_user_the_fix_is_named(engine, base):
    with pytest.raises(RuntimeProblem, match="no user other on this host.* run site or deploy"):
        present(engine, base, service(base, "a"), user="other")


def test_a_plan_without_them_wants_none(engine, base):
    present(engine, base, played.service("a"))
    assert os.listdir(base) == ["services"], "nothing is recorded about nothing"
    present(engine, base, service(base, "a"))
    present(engine, base, played.service("a"), user="other")
    removal.remove(str(base), [accounts.SET], False)
    assert not list(base.rglob("passwd"))


def test_another_image_writes_them_anew(engine, base):
    present(engine, base, service(base, "a"))
    engine.files["/etc/passwd"] = "root:x:0:0:root:/root:/bin/sh\n"
    present(engine, base, service(base, "a"))
    text = (base / "services" / "a" / "passwd").read_text()
    assert text.startswith("root:x:0:0:root:/root:/bin/sh\nsvc:x:998:997:")
    assert sorted(os.listdir(base / "services" / "a")) == ["group", "passwd"], "no copy of our own file is kept"


def test_they_go_with_the_service_and_with_the_deployment(engine, base):
    present(engine, base, service(base, "a"), service(base, "b"))
    present(engine, base, service(base, "a"))
    removal.remove(str(base), [accounts.SET], False)
    assert (base / "services" / "a" / "passwd").exists() and not (base / "services" / "b" / "passwd").exists()
    whole_removal.remove_deployment(str(base), False)
    assert not list(base.rglob("passwd")) and not list(base.rglob("group"))


@pytest.mark.parametrize(
    ("image", "added"),
    [
        ("", "svc:x:998:997:Runs the service:/h:/usr/sbin/nologin\n"),
        ("root:x:0:0::/:/bin/sh", "svc:x:998:997:Runs the service:/h:/usr/sbin/nologin\n"),
        ("svc:x:5:5::/:/bin/sh\n", "svc-998:x:998:997:Runs the service:/h:/usr/sbin/nologin\n"),
        ("npu:x:998:997::/home/npu:/bin/bash\n", ""),
        ("npu:x:9980:998::/home/npu:/bin/bash\n", "svc:x:998:997:Runs the service:/h:/usr/sbin/nologin\n"),
        ("damaged line\n:::\n", "svc:x:998:997:Runs the service:/h:/usr/sbin/nologin\n"),
    ],
)
def test_one_line_is_added_for_an_id_that_the_image_does_not_know(image, added):
    whole = image if not image or image.endswith("\n") else image + "\n"
    assert accounts.passwd(image, "svc", 998, 997, "/h") == whole + added


def test_the_group_is_added_in_the_same_way():
    assert accounts.group("npu:x:997:\n", "svc", 997) == "npu:x:997:\n"
    assert accounts.group("svc:x:5:\n", "svc", 997) == "svc:x:5:\nsvc-997:x:997:\n"


def test_a_file_of_the_host_is_mounted_where_the_host_has_it(tmp_path):
    there, absent = tmp_path / "hccn_weak_dict.conf", tmp_path / "absent.conf"
    there.write_text("")
    wanted = [f"{path}:/etc/{path.name}:ro" for path in (there, absent)]
    words = creation(played.service("a", mounts_if_present=wanted), SETTINGS)
    assert [word for word in words if "/etc/" in word] == [f"--volume={wanted[0]}"]


def test_a_path_of_an_option_is_mounted_so_that_a_missing_file_is_an_error():
    words = creation(played.service("a", mounts_of_paths=["/srv/t.jinja:/srv/t.jinja:ro", "/srv/d:/srv/d"]), SETTINGS)
    assert [word for word in words if word.startswith("--mount")] == [
        "--mount=type=bind,source=/srv/t.jinja,target=/srv/t.jinja,readonly",
        "--mount=type=bind,source=/srv/d,target=/srv/d",
    ]
