# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module service_files: what is written, removed and saved, and what a service's user cannot make root do."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import grp
import json
import os
import pathlib
import pwd
import stat
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import (
    begun,
    changes,
    deployment_lock,
    journal,
    tree,
)
from ansible_collections.ascend.inference.plugins.module_utils.tools.file_lock import Busy
from ansible_collections.ascend.inference.plugins.modules import service_files

NOBODY = "nobody"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(name="base")
def folder(tmp_path):
    return tmp_path / "deployments" / "sample"


def call(base, check=False, name="services", **options):
    """One call of the module, with every option that is not given at its default."""
    params = {key: option.get("default") for key, option in service_files.ARGUMENTS.items()}
    params.update(directory=str(base), name=name, **options)
    for kind, described in (("folders", service_files.FOLDER), ("files", service_files.FILE)):
        defaults = {key: option["default"] for key, option in described.items() if "default" in option}
        params[kind] = [{**defaults, **param, "path": str(param["path"])} for param in params[kind]]
    params["links"] = [{"path": str(link["path"]), "target": str(link["target"])} for link in params["links"]]
    return service_files.work(params, check)


def sample(base, text="one\n", service="engine-0"):
    place = base / "services" / service
    return {
        "folders": [
            {"path": base},
            {"path": base / "services"},
            {"path": base / "logs", "service_owned": True},
            {"path": place},
            {"path": place / "work", "service_owned": True},
        ],
        "files": [{"path": place / "run.sh", "content": text, "mode": "0750", "service": service}],
    }


def tree_of(base):
    """Every path below the folder with its mode and content."""
    return {
        str(path.relative_to(base)): (oct(path.lstat().st_mode), path.read_text() if path.is_file() else "")
        for path in sorted(base.rglob("*"))
    }


def test_files_are_written_with_their_modes_and_a_second_call_changes_nothing(base):
    first = call(base, **sample(base))
    script = base / "services/engine-0/run.sh"
    assert first["changed"] and first["services"] == ["engine-0"]
    assert script.read_text() == "one\n" and stat.S_IMODE(script.stat().st_mode) == 0o750
    before = {path: path.stat().st_mtime_ns for path in base.rglob("*")}
    second = call(base, **sample(base))
    assert second == {"changed": False, "services": [], "files": [], "diff": [], "written": [], "settled": True}
    assert {path: path.stat().st_mtime_ns for path in base.rglob("*")} == before


def test_check_mode_says_the_same_and_writes_nothing(base):
    call(base, **sample(base))
    before = tree_of(base)
    planned = call(base, check=True, **sample(base, "two\n"))
    assert tree_of(base) == before
    done = call(base, **sample(base, "two\n"))
    assert planned == done and done["services"] == ["engine-0"]
    assert done["diff"][0]["before"] == "one\n" and done["diff"][0]["after"] == "two\n"


def test_a_comparison_names_what_would_be_written_and_sections_of_it(base):
    text = "; by us\n[a]\nsize=1\n\n[b]\nsize=1\n"
    file = {"path": base / "x.conf", "content": text, "sections": True}
    first = call(base, folders=[{"path": base}], files=[file])
    assert first["written"] == [f"{base}/x.conf", f"{base}/x.conf [a]", f"{base}/x.conf [b]"] and not first["settled"]
    changed = {**file, "content": text.replace("; by us", "; by you").replace("[b]\nsize=1", "[b]\nsize=2")}
    found = call(base, check=True, folders=[{"path": base}], files=[changed])
    assert found["written"] == [f"{base}/x.conf", f"{base}/x.conf [b]"]
    (base / "x.conf").chmod(0o600)
    assert call(base, check=True, folders=[{"path": base}], files=[file])["written"] == [f"{base}/x.conf"], (
        "only its mode"
    )


def test_a_file_that_is_no_longer_wanted_is_to_be_noted_although_nothing_is_to_be_written(base):
    """What removes it reads that."""
    more = sample(base, service="engine-1")
    call(base, **{key: sample(base)[key] + more[key] for key in more})
    found = call(base, check=True, **sample(base))
    assert (found["changed"], found["settled"]) == (False, False)
    call(base, **sample(base))
    assert call(base, check=True, **sample(base))["settled"]


def test_files_of_a_user_that_is_to_be_made_are_never_as_they_should_be(base):
    """One that was removed gets another id when it is made again, and the files still have the former one."""
    call(base, **sample(base))
    found = call(base, check=True, service_owner="no-such-user", **sample(base))
    assert (found["changed"], found["settled"]) == (False, False)
    assert call(base, check=True, **sample(base))["settled"]


def test_check_mode_on_a_host_without_anything_makes_nothing(base):
    assert call(base, check=True, sets=["services"], **sample(base))["changed"]
    assert not base.parent.exists()


def test_what_others_changed_is_saved_and_what_we_wrote_is_not(base):
    call(base, **sample(base))
    script = base / "services/engine-0/run.sh"
    assert call(base, **sample(base, "two\n"))["files"][0]["backup"] == ""
    script.write_text("by hand\n")
    done = call(base, **sample(base, "two\n"))
    saved = done["files"][0]["backup"]
    assert script.read_text() == "two\n" and pathlib.Path(saved).read_text() == "by hand\n"
    assert stat.S_IMODE(os.stat(saved).st_mode) == 0o600


def test_what_others_set_back_to_an_earlier_text_is_saved_too(base):
    """Only an interrupted call leaves the text of before; after a whole one it is somebody's decision."""
    for text in ("one\n", "two\n"):
        call(base, **sample(base, text))
    (base / "services/engine-0/run.sh").write_text("one\n")
    saved = call(base, **sample(base, "two\n"))["files"][0]["backup"]
    assert saved and pathlib.Path(saved).read_text() == "one\n"


def test_a_wrong_mode_is_repaired_without_a_backup(base):
    call(base, **sample(base))
    script = base / "services/engine-0/run.sh"
    script.chmod(0o777)
    done = call(base, **sample(base))
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert [(file["action"], file["backup"]) for file in done["files"]] == [("owner or mode", "")]


def test_private_content_is_in_no_difference_and_no_backup(base):
    private = {**sample(base), "files": [{**sample(base)["files"][0], "content": "PLANTED", "private": True}]}
    call(base, **private)
    (base / "services/engine-0/run.sh").write_text("OLD-PLANTED")
    done = call(base, **private)
    assert "PLANTED" not in json.dumps(done)
    assert [path.name for path in (base / "services/engine-0").iterdir() if path.is_file()] == ["run.sh"]
    assert all("PLANTED" not in path.read_text() for path in base.iterdir() if path.is_file())


def test_what_is_no_longer_planned_is_removed_and_nothing_else(base):
    call(base, **sample(base))
    call(base, **sample(base, service="engine-1"))
    gone = base / "services/engine-0"
    (gone / "work" / "cache").write_text("of the service")
    foreign = base / "services" / "foreign"
    foreign.mkdir()
    (foreign / "file").write_text("not ours")
    assert (gone / "run.sh").exists()  # nothing is removed before the last call of a deployment
    planned = call(base, check=True, name="plan", sets=["services", "plan"])
    done = call(base, name="plan", sets=["services", "plan"])
    assert planned["files"] == done["files"]
    assert [file["path"] for file in done["files"]] == [str(gone / "run.sh"), str(gone / "work"), str(gone)]
    assert not gone.exists() and (foreign / "file").exists() and (base / "services/engine-1/run.sh").exists()
    assert not call(base, name="plan", sets=["services", "plan"])["changed"]


def test_a_folder_in_which_others_put_something_stays(base):
    call(base, **sample(base))
    (base / "services/engine-0/note.txt").write_text("keep me")
    call(base, folders=[{"path": base}, {"path": base / "services"}])
    done = call(base, name="plan", sets=["services"])
    assert str(base / "services/engine-0") not in [file["path"] for file in done["files"]]
    assert [path.name for path in (base / "services/engine-0").iterdir()] == ["note.txt"]


def test_a_file_that_others_changed_is_renamed_and_not_removed(base):
    call(base, **sample(base))
    (base / "services/engine-0/run.sh").write_text("by hand\n")
    call(base, folders=[{"path": base}])
    done = call(base, name="plan", sets=["services"])
    saved = [file["backup"] for file in done["files"] if file["backup"]]
    assert len(saved) == 1 and pathlib.Path(saved[0]).read_text() == "by hand\n"


def test_a_set_that_is_no_longer_used_is_removed(base):
    call(base, **sample(base))
    secret = {"path": base / "services/engine-0/secrets.sh", "content": "x\n", "mode": "0600", "private": True}
    call(base, name="secrets", files=[secret])
    call(base, name="plan", sets=["services", "secrets"])
    assert secret["path"].exists()
    call(base, name="plan", sets=["services"])
    assert not secret["path"].exists() and not (base / ".secrets.manifest.json").exists()
    assert (base / "services/engine-0/run.sh").exists()


def test_files_elsewhere_are_written_and_never_removed(base, tmp_path):
    units = tmp_path / "units"
    units.mkdir()
    unit = {"path": units / "sample.service", "content": "[Unit]\n", "mode": "0644", "service": "engine-0"}
    call(base, **{**sample(base), "files": [unit]})
    call(base, folders=[{"path": base}])
    call(base, name="plan", sets=["services"])
    assert unit["path"].read_text() == "[Unit]\n"


def test_a_link_is_turned_in_one_step(base, tmp_path):
    links = [{"path": tmp_path / "current", "target": tmp_path / "venv-1"}]
    call(base, folders=[{"path": base}], links=links)
    assert os.readlink(tmp_path / "current") == str(tmp_path / "venv-1")
    assert not call(base, folders=[{"path": base}], links=links)["changed"]
    links[0]["target"] = tmp_path / "venv-2"
    assert call(base, folders=[{"path": base}], links=links)["changed"]
    assert os.readlink(tmp_path / "current") == str(tmp_path / "venv-2")


def test_all_errors_come_together_and_before_any_change(base):
    call(base, **sample(base))
    script = base / "services/engine-0/run.sh"
    script.unlink()
    script.mkdir()
    (base / "logs").rmdir()
    (base / "logs").symlink_to("/")
    before = tree_of(base)
    with pytest.raises(tree.TreeError) as error:
        call(base, **sample(base, service="engine-1"), links=[{"path": script, "target": "x"}])
    assert f"{base}/logs is a symbolic link" in str(error.value) and f"{script} is not a symbolic link" in str(
        error.value
    )
    assert tree_of(base) == before


@pytest.mark.parametrize("stage", range(6))
def test_an_interrupted_call_is_completed_by_the_next_one_without_backups(base, monkeypatch, stage):
    """Killed before or after any file is put in its place, the next call knows each file as ours."""
    call(base, **sample(base))
    wanted = sample(base, "two\n")
    wanted["files"].append({"path": base / "services/engine-0/more", "content": "more\n"})
    counted, real = [], tree.os.rename

    def rename(*names, **places):
        counted.append(names)
        if len(counted) > stage:
            raise KeyboardInterrupt
        real(*names, **places)

    monkeypatch.setattr(tree.os, "rename", rename)
    with contextlib.suppress(KeyboardInterrupt):
        call(base, **wanted)
    monkeypatch.undo()
    call(base, **wanted)
    assert (base / "services/engine-0/run.sh").read_text() == "two\n"
    names = sorted(path.name for path in base.rglob("*") if path.is_file())
    assert names == [".services.manifest.json", "more", "run.sh"]


# What a service's user can do to become root: each of these made root change or write a file elsewhere.


def test_shared_folders_are_made_for_all_and_left_alone_where_they_are(base, tmp_path):
    shared = tmp_path / "root"
    old = os.umask(0o077)
    try:
        call(
            shared / "deployments/sample",
            folders=[{"path": shared, "mode": "0755"}, *sample(shared / "deployments/sample")["folders"]],
        )
    finally:
        os.umask(old)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (shared, shared / "deployments")] == [0o755, 0o755]
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    call(base, folders=[{"path": tmp_path / "link", "mode": "0755"}, *sample(base)["folders"]])
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o700


@needs_root
def test_scripts_are_roots_and_logs_are_the_services(base, monkeypatch):
    monkeypatch.setattr(service_files, "unsafe", lambda base, owners: [])
    call(base, owner="root", service_owner=NOBODY, **sample(base))
    owners = {str(path.relative_to(base)): pwd.getpwuid(path.stat().st_uid).pw_name for path in base.rglob("*")}
    assert {path for path, owner in owners.items() if owner == NOBODY} == {"logs", "services/engine-0/work"}
    assert not [path for path in base.rglob("*") if path.stat().st_uid == 0 and path.stat().st_mode & 0o022]


@needs_root
def test_a_link_in_place_of_logs_changes_no_other_folder(base, tmp_path):
    victim = tmp_path / "cron.d"
    victim.mkdir(mode=0o755)
    call(base, owner="root", service_owner=NOBODY, **sample(base))
    (base / "logs").rmdir()
    (base / "logs").symlink_to(victim)
    with pytest.raises(tree.TreeError, match="symbolic link"):
        call(base, owner="root", service_owner=NOBODY, **sample(base))
    assert victim.stat().st_uid == 0 and stat.S_IMODE(victim.stat().st_mode) == 0o755


@pytest.mark.parametrize("place", ["services", "services/engine-0"])
def test_a_link_above_a_file_ends_the_call(base, tmp_path, place):
    call(base, **sample(base))
    victim = tmp_path / "victim"
    (victim / "engine-0").mkdir(parents=True)
    os.rename(base / place, tmp_path / "moved")
    (base / place).symlink_to(victim)
    with pytest.raises(tree.TreeError, match="symbolic link"):
        call(base, **sample(base, "two\n"))
    assert [path for path in victim.rglob("*") if path.is_file()] == []


def test_a_link_that_appears_after_the_comparison_is_not_followed(base, tmp_path, monkeypatch):
    call(base, **sample(base))
    victim = tmp_path / "victim"
    victim.mkdir()
    real = changes.Update.compare

    def compare(update):
        found = real(update)
        os.rename(base / "services/engine-0", tmp_path / "moved")
        (base / "services/engine-0").symlink_to(victim)
        return found

    monkeypatch.setattr(changes.Update, "compare", compare)
    with pytest.raises(tree.TreeError, match="symbolic link"):
        call(base, **sample(base, "two\n"))
    assert list(victim.iterdir()) == []


def test_a_link_or_pipe_in_place_of_a_file_is_replaced(base, tmp_path):
    call(base, **sample(base))
    script, victim = base / "services/engine-0/run.sh", tmp_path / "shadow"
    victim.write_text("root:*:\n")
    script.unlink()
    script.symlink_to(victim)
    assert call(base, **sample(base))["services"] == ["engine-0"]
    assert not script.is_symlink() and script.read_text() == "one\n" and victim.read_text() == "root:*:\n"
    script.unlink()
    os.mkfifo(script)
    assert call(base, **sample(base))["changed"] and script.read_text() == "one\n"


def test_a_second_name_of_a_file_is_given_up(base, tmp_path):
    call(base, **sample(base))
    script = base / "services/engine-0/run.sh"
    os.link(script, tmp_path / "second")
    call(base, **sample(base))
    assert script.stat().st_nlink == 1 and (tmp_path / "second").stat().st_ino != script.stat().st_ino


@needs_root
def test_a_file_of_another_user_that_no_memory_holds_is_replaced(base, monkeypatch):
    """The user owns the secrets, and may write a file of any size in their place, even one without data."""
    secrets = {"path": base / "services/engine-0/secrets.sh", "content": "k=1\n", "mode": "0600", "private": True}
    options = sample(base)
    options["files"].append({**secrets, "service_owned": True})
    monkeypatch.setattr(tree, "MOST", 100)
    call(base, service_owner=NOBODY, **options)
    os.truncate(secrets["path"], 1000)
    folder = tree.open_folder(str(base), str(secrets["path"].parent))
    assert len(tree.look(folder, "secrets.sh").content) == 100
    os.close(folder)
    call(base, service_owner=NOBODY, **options)
    assert secrets["path"].read_text() == "k=1\n" and (base / "services/engine-0/run.sh").read_text() == "one\n"


def test_removal_follows_no_link(base, tmp_path):
    call(base, **sample(base))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("x")
    (base / "services/engine-0/work").rmdir()
    (base / "services/engine-0/work").symlink_to(victim)
    call(base, folders=[{"path": base}])
    with pytest.raises(tree.TreeError, match="symbolic link"):
        call(base, name="plan", sets=["services"])
    assert (victim / "precious").exists()


@needs_root
def test_a_root_below_a_folder_of_the_services_user_is_refused(base, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, pwd.getpwnam(NOBODY).pw_uid, -1)
    below = home / "root" / "sample"
    with pytest.raises(tree.TreeError, match="belongs to the service's user"):
        call(below, owner="root", service_owner=NOBODY, **sample(below))
    assert list(home.iterdir()) == []


def test_a_user_who_is_missing_is_an_error_except_in_check_mode(base):
    with pytest.raises(tree.TreeError, match="user or group nobody-at-all does not exist"):
        call(base, service_owner="nobody-at-all", **sample(base))
    assert call(base, check=True, service_owner="nobody-at-all", **sample(base))["changed"]


@pytest.mark.parametrize("place", ["mkdtemp", "open", "chmod", "rename"])
def test_a_shared_folder_is_made_whole_after_a_run_that_was_killed(tmp_path, monkeypatch, place):
    """The folder that it had begun does not stay; one with a file of somebody does."""
    wanted, foreign = tmp_path / "cache" / "vllm", tmp_path / "cache" / f".vllm.abc{tree.FRESH}"
    foreign.mkdir(parents=True)
    (foreign / "note.txt").write_text("of somebody")
    (tmp_path / "cache" / f".vllm.other.abc{tree.FRESH}").mkdir()  # of a folder "vllm.other"
    where = tree.tempfile if place == "mkdtemp" else tree.os
    real = getattr(where, place)

    def killed(*args, **options):
        if place == "open" and not str(args[0]).endswith(tree.MADE):
            return real(*args, **options)
        raise KeyboardInterrupt  # as SIGKILL, nothing is put right

    with monkeypatch.context() as patched:
        patched.setattr(where, place, killed)
        with pytest.raises(KeyboardInterrupt):
            tree.make_shared(str(wanted), 0o750, -1, -1, mark=True)
    assert not wanted.exists()
    tree.make_shared(str(wanted), 0o750, -1, -1, mark=True)
    assert [path.name for path in wanted.iterdir()] == [tree.MADE] and wanted.stat().st_mode & 0o777 == 0o750
    assert sorted(path.name for path in wanted.parent.iterdir()) == [
        f".vllm.abc{tree.FRESH}",
        f".vllm.other.abc{tree.FRESH}",
        "vllm",
    ]


def test_a_lock_that_somebody_holds_on_a_folder_stops_no_run(tmp_path, monkeypatch):
    """Everybody who can read a folder can lock it; a folder that a run had begun to make stays then."""
    monkeypatch.setattr(tree, "LOCK_TIMEOUT", 0.1)
    begun = tmp_path / f".vllm.abc{tree.FRESH}"
    begun.mkdir()
    holder = os.open(str(tmp_path), os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_SH)
        tree.make_shared(str(tmp_path / "vllm"), 0o750, -1, -1, mark=True)
    finally:
        os.close(holder)
    assert (tmp_path / "vllm" / tree.MADE).exists() and begun.exists()


def test_a_shared_folder_is_made_in_one_that_cannot_be_read(tmp_path, monkeypatch):
    real = os.open

    def refused(path, flags, *args, **options):
        if path == str(tmp_path):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *args, **options)

    monkeypatch.setattr(tree.os, "open", refused)
    tree.make_shared(str(tmp_path / "vllm"), 0o750, -1, -1, mark=True)
    assert (tmp_path / "vllm" / tree.MADE).exists()


def test_folders_nested_deeper_than_python_can_go_are_removed(base, tmp_path, request):
    """The service's user can make them in its own folders; links among them are not followed."""
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", str(tmp_path)], check=True))  # pytest could not
    outside = tmp_path / "outside" / "kept"
    outside.mkdir(parents=True)
    call(base, **sample(base))
    here = os.open(str(base / "logs"), os.O_RDONLY)
    for _level in range(sys.getrecursionlimit() + 100):
        os.mkdir("a", dir_fd=here)
        os.symlink(str(outside.parent), "b", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    result = call(base, state="absent")
    assert not base.exists() and outside.exists() and result["kept"] == []


def test_a_pipe_in_place_of_a_folder_holds_nobody(tmp_path):
    """Its owner may put it there between two looks. Whoever opens a pipe to read it waits for a writer, who never comes."""
    code = f"from {tree.__name__} import remove_all; remove_all({str(tmp_path / 'pipe')!r}, quiet=True)"
    os.mkfifo(str(tmp_path / "pipe"))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)
    assert (tmp_path / "pipe").exists(), "it is no folder"


def test_what_cannot_be_removed_keeps_nothing_else(tmp_path, monkeypatch):
    unlink = os.unlink

    def kept(name, **options):
        if name == "kept":
            raise PermissionError(errno.EACCES, "no")
        unlink(name, **options)

    for name in ("kept", "a", "z/kept", "z/a"):
        (tmp_path / "x" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "x" / name).write_text("")
    monkeypatch.setattr(tree.os, "unlink", kept)
    with pytest.raises(PermissionError):
        tree.remove_all(str(tmp_path / "x"))
    left = sorted(path.name for path in (tmp_path / "x").rglob("*") if path.is_file())
    assert left == ["kept", "kept"]
    monkeypatch.undo()
    tree.remove_all(str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("owner", "group", "service", "expected"),
    [
        ("", "", "", (-1, -1, -1)),
        ("root", "", "", (0, -1, -1)),
        ("root", "", "user", (0, 77, 7)),  # the service reads its files as their group
        ("root", "team", "user", (0, 88, 7)),
        ("", "team", "", (-1, 88, -1)),
    ],
)
def test_whose_files_are(monkeypatch, owner, group, service, expected):
    users, groups = {"root": (0, 0), "user": (7, 77)}, {"team": 88}
    monkeypatch.setattr(
        service_files.pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", *users[name], "", "/", "/bin/sh"))
    )
    monkeypatch.setattr(service_files.grp, "getgrnam", lambda name: grp.struct_group((name, "x", groups[name], [])))
    found = service_files.owners_of({"owner": owner, "group": group, "service_owner": service}, False)
    assert (found.uid, found.gid, found.service) == expected


def test_modes_owners_and_results_are_those_that_are_documented(run_module, base):
    given = {
        "directory": f"{base}/",
        "name": "services",
        "folders": [{"path": str(base)}],
        "files": [{"path": f"{base}/run.sh", "content": "x\n"}],
        "links": [{"path": f"{base}/current", "target": "elsewhere"}],
    }
    found = run_module("service_files", **given)
    assert (found["changed"], found["services"], found["failed"]) == (True, [], False)
    assert found["files"] == [
        {"path": f"{base}{name}", "action": "created", "backup": ""} for name in ("", "/run.sh", "/current")
    ]
    assert [stat.S_IMODE((base / name).stat().st_mode) for name in ("", "run.sh")] == [0o750, 0o640]
    assert [(base / name).stat().st_uid for name in ("", "run.sh")] == [os.geteuid()] * 2
    assert found["diff"][1]["after"] == "x\n" and f"{base}/run.sh" in found["diff"][1]["after_header"]
    assert journal.read(str(base)) == {}, "without a phase none is noted"
    assert run_module("service_files", **given)["files"] == []


@pytest.mark.parametrize(
    "error", [OSError(5, "disk\x1b error"), Busy("disk\x1b error"), tree.TreeError("disk\x1b error")]
)
def test_what_stops_a_call_is_said_with_the_folder(run_module, base, monkeypatch, error):
    def refused(_update):
        raise error

    monkeypatch.setattr(changes.Update, "compare", refused)
    found = run_module("service_files", directory=str(base), name="services")
    assert (
        found["failed"] and found["msg"].startswith(f"Files of {base}: ") and found["msg"].endswith("disk\\x1b error")
    )


@pytest.mark.parametrize(
    ("phase", "check", "differs", "noted"),
    [
        ("", False, True, ""),
        ("changing", False, True, "changing"),
        ("changing", True, True, ""),
        ("changing", False, False, ""),
        ("deployed", False, True, "deployed"),
        ("deployed", False, False, ""),
        ("deployed", True, True, ""),
    ],
)
def test_the_phase_of_a_change_is_noted(run_module, base, phase, check, differs, noted):
    given = {"directory": str(base), "name": "services", "folders": [{"path": str(base)}]}
    run_module("service_files", **given)
    begun.note(str(base), ["n1"])
    files = [{"path": f"{base}/run.sh", "content": "x\n"}] if differs else []
    about = {"digest": "d-1", "revision": "r"}
    found = run_module(
        "service_files", check=check, files=files, phase=phase, plan=about, run={"id": "7", "owner": "anna"}, **given
    )
    assert found["changed"] is differs
    known = journal.read(str(base))
    assert known.get("phase", "") == noted
    assert not noted or (known["plan"]["digest"], known["run"]["id"]) == ("d-1", "7")
    assert begun.read(str(base)) == ([] if phase == "deployed" and not check else ["n1"])


def test_a_service_s_groups_are_all_of_its_user(monkeypatch):
    user = pwd.getpwnam(NOBODY)
    monkeypatch.setattr(service_files.os, "getgrouplist", lambda name, gid: [gid, 77] if name == NOBODY else [])
    assert service_files.groups_of(user.pw_uid) == [user.pw_gid, 77]
    assert service_files.groups_of(54321) == [], "a user without a name"


@pytest.mark.parametrize("where", ["deployments/x", "x"])
def test_a_folder_of_the_system_is_no_place_for_files(run_module, where):
    for given in ({}, {"state": "absent"}):
        found = run_module("service_files", check=True, directory=f"/usr/{where}", name="services", **given)
        assert found["failed"] and "is a folder of the system" in found["msg"]


@pytest.mark.parametrize(
    ("unlock", "check", "run", "gone"),
    [(True, False, "7", True), (True, True, "7", False), (False, False, "7", False), (True, False, "8", False)],
)
def test_the_lock_is_released_on_request_by_its_run(run_module, base, unlock, check, run, gone):
    deployment_lock.take(str(base), {"id": "7"})
    given = {"directory": str(base), "name": "plan", "folders": [{"path": str(base)}], "run": {"id": run}}
    run_module("service_files", check=check, unlock=unlock, **given)
    assert (deployment_lock.holder_of(str(base)) == {}) is gone
