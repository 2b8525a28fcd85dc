# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Access of the services' user, tried as that user: files, folders, parents, links; and models that cannot be read."""

from __future__ import annotations

import grp
import json
import os
import pathlib
import pwd
import shutil
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import access as access_module
from ansible_collections.ascend.inference.plugins.module_utils.host.access import access
from ansible_collections.ascend.inference.plugins.module_utils.host.model_facts import model_facts

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def model():
    """A readable model in a folder that every user can enter."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "models" / "ds").mkdir(parents=True, mode=0o755)
    for name in ("config.json", "a.safetensors", "b.safetensors"):
        (folder / "models" / "ds" / name).write_text("{}")
    yield folder / "models" / "ds"
    shutil.rmtree(str(folder))


def problems(user, model):
    return access(user, [str(model)], [str(model.parent.parent / "root")])


@as_root
@pytest.mark.parametrize("user", ["nobody", "nosuchuser"])
def test_a_model_for_everybody_is_no_problem(model, user):
    found = problems(user, model)
    assert found["models"] == {str(model): []} and list(found["roots"].values()) == [[]]
    assert found["exists"] is (user == "nobody")


@as_root
def test_unreadable_files_are_named_with_owner_and_mode(model):
    (model / "b.safetensors").chmod(0o600)
    (found,) = problems("nobody", model)["models"][str(model)]
    assert found == f"{model / 'b.safetensors'} (owner root, group root, mode 0600)"
    for number in range(9):
        (model / f"c{number}.bin").write_text("")
        (model / f"c{number}.bin").chmod(0o600)
    assert problems("nobody", model)["models"][str(model)][-1] == "5 more files"


@as_root
@pytest.mark.parametrize(
    ("name", "target", "named"),
    [("open.bin", "", True), (".cache.lock", "", False), ("dangling.bin", "nowhere/at-all", False)],
)
def test_what_the_services_do_not_read_is_no_problem(model, name, target, named):
    """Files that begin with a dot, and links to what does not exist: loading the model says the latter."""
    if target:
        (model / name).symlink_to(model / target)
    else:
        (model / name).write_text("")
        (model / name).chmod(0o600)
    assert bool(problems("nobody", model)["models"][str(model)]) is named


@as_root
@pytest.mark.parametrize(("files", "more"), [(5, []), (6, ["1 more files"])])
def test_only_files_that_are_not_named_are_counted(model, files, more):
    for number in range(files):
        (model / f"c{number}.bin").write_text("")
        (model / f"c{number}.bin").chmod(0o600)
    found = problems("nobody", model)["models"][str(model)]
    assert len(found[:5]) == 5 and found[5:] == more


@as_root
def test_the_user_itself_needs_no_other_identity(model, monkeypatch):
    """The connected user, who is not root, is the services' user: a process that is not root cannot set its groups."""
    monkeypatch.setattr(access_module, "_identity", lambda user, group: (4242, 4242, []))
    monkeypatch.setattr(access_module.os, "geteuid", lambda: 4242)
    (model / "b.safetensors").chmod(0o600)
    assert problems("me", model)["models"] == {str(model): []}, "this process can read it"


@as_root
def test_a_closed_parent_is_named_once(model):
    model.parent.chmod(0o700)
    found = problems("nobody", model)
    assert [entry.split(" ")[0] for entry in found["models"][str(model)]] == [str(model.parent)]


@as_root
def test_a_closed_folder_and_a_link_into_one_are_named(model):
    hidden = model.parent / "blobs"
    hidden.mkdir()
    (hidden / "d").write_text("{}")
    (model / "d.safetensors").symlink_to(hidden / "d")
    assert problems("nobody", model)["models"][str(model)] == []
    hidden.chmod(0o700)
    (found,) = problems("nobody", model)["models"][str(model)]
    assert found.startswith(str(model / "d.safetensors"))
    hidden.chmod(0o755)
    model.chmod(0o711)
    assert [entry.split(" ")[0] for entry in problems("nobody", model)["models"][str(model)]] == [str(model)]


@as_root
def test_the_user_has_the_group_of_the_driver(model, monkeypatch):
    name = next(entry.gr_name for entry in grp.getgrall() if entry.gr_gid and "nobody" not in entry.gr_mem)
    other = next(entry.gr_name for entry in grp.getgrall() if entry.gr_gid and entry.gr_name not in (name, "nogroup"))
    (model / "b.safetensors").chmod(0o640)
    os.chown(str(model / "b.safetensors"), 0, grp.getgrnam(name).gr_gid)
    assert access("nobody", [str(model)], [], name)["models"][str(model)] == []
    assert access("nobody", [str(model)], [], other)["models"][str(model)] != []
    monkeypatch.setattr(access_module, "driver_group", lambda given: given or name)
    found = access("nobody", [str(model)], [])
    assert (found["group"], found["models"][str(model)]) == (name, [])


@as_root
def test_the_root_below_a_closed_folder_cannot_be_used(model):
    model.parent.parent.chmod(0o700)
    (found,) = problems("nobody", model)["roots"].values()
    assert found[0].startswith(str(model.parent.parent))


def test_the_connected_user_has_to_write_into_the_root(model, monkeypatch):
    found = problems("", model)
    assert list(found["roots"].values()) == [[]] and (found["exists"], found["user"]) == (True, "")
    monkeypatch.setattr(access_module.os, "access", lambda path, mode: mode == os.X_OK or mode == os.R_OK)
    (found,) = problems("", model)["roots"].values()
    assert found[0].startswith(str(model.parent.parent))


def test_another_user_is_unknown_to_one_who_is_not_root(model, monkeypatch):
    monkeypatch.setattr(access_module.os, "geteuid", lambda: 4242)
    found = problems("nobody", model)
    assert (found["models"], found["roots"]) == (None, None)


@as_root
def test_facts_of_a_model_that_cannot_be_read_are_no_traceback(model):
    (model / "a.safetensors").chmod(0o600)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            first = model_facts(str(model))
            os.write(writing, json.dumps([first["exists"], first["damaged"]]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        exists, damaged = json.loads(pipe.read().decode())
    assert exists and "a.safetensors cannot be read: Permission denied" in damaged


@pytest.mark.parametrize(
    ("name", "text", "has"),
    [
        ("chat_template.jinja", "x", True),
        ("chat_template.json", "{}", True),
        ("tekken.json", "{}", True),
        ("tokenizer_config.json", '{"chat_template": "x"}', True),
        ("tokenizer_config.json", '{"chat_template": null}', False),
        ("tokenizer_config.json", "no json", False),
        ("tokenizer.json", "{}", False),
    ],
)
def test_a_chat_template_is_found_at_each_of_its_places(model, name, text, has):
    (model / name).write_text(text)
    assert model_facts(str(model))["chat_template"] is has


@as_root
def test_a_file_system_that_hangs_ends_the_look(model, monkeypatch):
    monkeypatch.setattr(access_module, "TIMEOUT", 0.3)
    monkeypatch.setattr(access_module, "unreadable", lambda path: time.sleep(60))
    begin = time.monotonic()
    found = problems("nobody", model)
    assert (found["models"], found["roots"], found["exists"]) == (None, None, True) and time.monotonic() - begin < 20


def test_a_minute_is_waited_for_a_file_system():
    assert access_module.TIMEOUT == 60


@as_root
def test_a_user_who_cannot_become_another_is_told_nothing(model, monkeypatch):
    def refused(_groups):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(access_module.os, "setgroups", refused)
    found = problems("nobody", model)
    assert (found["models"], found["roots"]) == (None, None)


@as_root
def test_the_process_has_the_user_s_id_group_and_groups(model, monkeypatch):
    """A file that another group may read is none of a user who is not in it, although root asks."""
    seen = model.parent / "seen"
    seen.mkdir()
    seen.chmod(0o777)

    def look(path):
        (seen / "ids").write_text(json.dumps([os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()]))
        return []

    monkeypatch.setattr(access_module, "unreadable", look)
    monkeypatch.setattr(access_module, "driver_group", lambda given: "")
    problems("nobody", model)
    entry = pwd.getpwnam("nobody")
    ids = [entry.pw_uid] * 2 + [entry.pw_gid] * 2 + [sorted(os.getgrouplist("nobody", entry.pw_gid))]
    assert json.loads((seen / "ids").read_text()) == ids
    (seen / "ids").unlink()
    assert problems("nosuchuser", model)["user"] == "nosuchuser"
    assert json.loads((seen / "ids").read_text()) == [65534] * 4 + [[]], "nobody without groups"


@as_root
@pytest.mark.parametrize(
    ("user", "mode", "closed"),
    [("nobody", 0o755, False), ("nobody", 0o700, True), ("nobody", 0o711, False), ("nobody", 0o744, True)],
)
def test_a_root_has_to_be_entered_by_the_services_user(model, user, mode, closed):
    root = model.parent.parent / "root"
    root.mkdir()
    root.chmod(mode)
    (found,) = access(user, [], [str(root)])["roots"].values()
    assert found == ([f"{root} (owner root, group root, mode {mode:04o})"] if closed else [])


def test_a_root_that_is_there_has_to_be_written_by_the_connected_user(model, monkeypatch):
    root = model.parent.parent / "root"
    root.mkdir()
    monkeypatch.setattr(access_module.os, "access", lambda path, mode: path != str(root) or mode == os.X_OK)
    assert [found[0].split(" ")[0] for found in access("", [], [str(root)])["roots"].values()] == [str(root)]


@as_root
def test_files_below_hidden_folders_are_not_read_and_below_linked_ones_are(model):
    for name in (".cache", "part"):
        (model.parent / name).mkdir()
        (model.parent / name / "x.bin").write_text("")
        (model.parent / name / "x.bin").chmod(0o600)
    (model / ".cache").symlink_to(model.parent / ".cache")
    assert problems("nobody", model)["models"][str(model)] == []
    (model / "part").symlink_to(model.parent / "part")
    (found,) = problems("nobody", model)["models"][str(model)]
    assert found.startswith(f"{model}/part/x.bin (owner root")


@as_root
def test_an_owner_without_a_name_is_a_number(model):
    os.chown(str(model / "b.safetensors"), 54321, 54322)
    (model / "b.safetensors").chmod(0o4600)
    (found,) = problems("nobody", model)["models"][str(model)]
    assert found == f"{model}/b.safetensors (owner 54321, group 54322, mode 4600)"


@as_root
def test_a_model_that_is_not_there_is_no_problem_of_access(model):
    assert access("nobody", [str(model / "none")], [])["models"] == {str(model / "none"): []}


@pytest.mark.parametrize("missing", ["a", "a/b/c"])
def test_a_root_that_is_not_there_is_made_in_its_first_parent_that_is(model, missing):
    assert access("", [], [f"{model}/{missing}"])["roots"] == {f"{model}/{missing}": []}
