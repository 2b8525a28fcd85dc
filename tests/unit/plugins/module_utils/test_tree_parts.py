# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a deployment's tree alone: folders of the system, owners and modes, what a step shows, and what a removal leaves."""

from __future__ import annotations

import errno
import os
import signal
import stat

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import (
    changes,
    journal,
    manifest,
    mounts,
    own_folder,
    removal,
    system_folders,
    tree,
    whole_removal,
)

SYSTEM = ["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr"]


@pytest.mark.parametrize("name", SYSTEM)
def test_nothing_is_made_in_or_below_a_folder_of_the_system(name):
    for path in (f"/{name}", f"/{name}/", f"/{name}/x/y", f"//{name}/./x", f"/opt/../{name}"):
        assert system_folders.is_system_folder(path) and path in system_folders.refusal(path)
    assert not system_folders.is_system_folder(f"/{name}x/y") and not system_folders.is_system_folder(f"/x/{name}")
    assert system_folders.holds_the_system(f"/{name}")
    assert system_folders.holds_the_system(f"/{name}/x") == (name == "proc")  # /proc/1/root is the whole host


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/", False),
        ("/home", True),
        ("/lost+found", False),
        ("/media", True),
        ("/mnt", True),
        ("/opt", True),
        ("/root", False),
        ("/srv", True),
        ("/tmp", True),
        ("/var", False),
        ("/var/backups", False),
        ("/var/cache", True),
        ("/var/lib", False),
        ("/var/local", True),
        ("/var/log", True),
        ("/var/mail", False),
        ("/var/opt", True),
        ("/var/spool", False),
        ("/var/tmp", True),
        *(
            (f"/usr/local/{name}", True)
            for name in ("bin", "etc", "games", "include", "lib", "man", "sbin", "share", "src", "Ascend")
        ),
        ("/usr/local", False),
    ],
)
def test_folders_that_others_use_are_no_root_and_those_below_may_be(path, data):
    assert system_folders.is_system_folder(path) and not system_folders.is_system_folder(
        f"{path}/inference".replace("//", "/x")
    )
    assert system_folders.holds_the_system(path) is not data


@pytest.mark.parametrize(
    ("path", "root", "model"),
    [
        ("/etc/prometheus/ascend-inference", False, False),
        ("/etc/prometheus", True, True),
        ("/usr/local/models", False, False),
        ("/dev/shm/models", True, False),
        ("/run/media/disk", True, False),
        ("/usr/share/models", True, False),
        ("/usr/lib/models", True, True),
        ("/var/run/media/disk", True, False),
        ("/var/lock/x", True, True),
        ("/var/runs", False, False),
        ("/home", True, True),
        ("/data/models", False, False),
    ],
)
def test_a_model_may_be_where_services_only_read(path, root, model):
    assert (system_folders.is_system_folder(path), system_folders.is_no_data(path)) == (root, model)
    assert bool(system_folders.refusal(path, system_folders.is_no_data)) is model


def test_a_link_to_a_folder_of_the_system_is_refused_as_that(tmp_path):
    (tmp_path / "a").symlink_to("/etc")
    (tmp_path / "b").symlink_to(tmp_path)
    text = system_folders.refusal(str(tmp_path / "a"))
    assert (
        text.startswith(f"{tmp_path}/a (a link to /etc) is a folder of the system")
        and "Fix: set inference_root" in text
    )
    assert (
        system_folders.refusal("/etc").startswith("/etc is a folder")
        and system_folders.refusal(str(tmp_path / "b")) == ""
    )


@pytest.mark.parametrize(
    ("path", "owned", "expected"),
    [
        ("/base", False, (1, 2)),
        ("/base/x", False, (1, 2)),
        ("/base/x", True, (3, 2)),
        ("/base-other/x", False, (1, -1)),
        ("/units/x.service", True, (3, -1)),
    ],
)
def test_a_group_is_given_inside_of_the_tree_only(path, owned, expected):
    assert changes.Owners(1, 2, 3).of({"path": path, "service_owned": owned}, "/base") == expected
    assert changes.Owners().of({"path": path}, "/base") == (-1, -1)


STEP = {"wanted": {"path": "/p", "content": "new\n", "mode": "0640"}, "path": "/p", "kind": "file", "action": "changed"}


@pytest.mark.parametrize(
    ("more", "wanted", "before", "after"),
    [
        ({"before": "old\n"}, {}, "old\n", "new\n"),
        ({"action": "created"}, {}, "", "new\n"),
        ({"same": True, "action": "owner or mode"}, {}, "", "file owner or mode: mode 0640\n"),
        ({"kind": "folder", "action": "created"}, {}, "", "folder created: mode 0640\n"),
        ({"before": "old\n"}, {"private": True}, "", "(content not shown)\n"),
        ({"kind": "link"}, {"content": None, "target": "venv-2"}, "", "venv-2"),
    ],
)
def test_what_a_step_shows(more, wanted, before, after):
    step = {**STEP, **more, "wanted": {**STEP["wanted"], **wanted}}
    if step["wanted"]["content"] is None:
        del step["wanted"]["content"]
    shown = changes.difference(step)
    assert shown == {"before": before, "after": after, "before_header": "/p", "after_header": "/p"}


@pytest.fixture
def base(tmp_path):
    (tmp_path / "d" / "one").mkdir(parents=True)
    return tmp_path / "d" / "one"


def compared(base, owners=None, **wanted):
    update = changes.Update(str(base), "set", owners or changes.Owners(), **wanted).compare()
    return [(step["path"], step["action"]) for step in update.steps], update.errors


@pytest.mark.parametrize("what", ["mode", "uid", "gid", "service"])
def test_a_wrong_owner_group_or_mode_is_a_step(base, what):
    base.chmod(0o750)
    uid, gid = os.stat(str(base)).st_uid, os.stat(str(base)).st_gid
    folder = {"path": str(base), "mode": "0750", "service_owned": what == "service"}
    assert compared(base, changes.Owners(uid, gid, uid), folders=[folder]) == ([], [])
    owners = {"uid": (uid + 1, gid, uid), "gid": (uid, gid + 1, uid), "service": (uid, gid, uid + 1)}
    if what == "mode":
        folder["mode"] = "0755"
    found, _errors = compared(base, changes.Owners(*owners.get(what, (uid, gid, uid))), folders=[folder])
    assert found == [(str(base), "owner or mode")]


def test_what_is_in_the_place_of_something_else_is_named(base):
    (base / "folder").mkdir()
    (base / "file").write_text("x")
    (base / "link").symlink_to("/nowhere")
    _steps, errors = compared(
        base,
        folders=[{"path": f"{base}/file", "mode": "0750"}, {"path": f"{base}/link", "mode": "0750"}],
        files=[{"path": f"{base}/folder", "content": "", "mode": "0640"}],
        links=[{"path": f"{base}/file", "target": "x"}, {"path": f"{base}/folder", "target": "x"}],
    )
    assert [text.partition(" is ")[0] for text in errors] == [
        f"{base}/{name}" for name in ("file", "link", "folder", "file", "folder")
    ]
    assert "is a folder, but a file is planned" in errors[2] and "is not a symbolic link" in errors[3]


def test_a_link_in_the_place_of_a_file_is_shown_with_its_target(base):
    (base / "file").symlink_to("/etc/shadow")
    wanted = {"path": f"{base}/file", "content": "x", "mode": "0640"}
    (step,) = changes.Update(str(base), "set", changes.Owners(), files=[wanted]).compare().steps
    assert (step["before"], step.get("backup"), step["service"]) == ("(link /etc/shadow)\n", None, "")


def test_folders_outside_of_the_tree_are_made_where_they_are_missing_and_marked_if_a_service_owns_them(base, tmp_path):
    wanted = [
        {"path": f"{tmp_path}/{name}", "mode": "0755", "service_owned": name == "cache"} for name in ("cache", "root")
    ]
    wanted.append({"path": str(base), "mode": "0750"})
    update = changes.Update(str(base), "set", changes.Owners(), folders=wanted).compare()
    update.apply()
    assert (tmp_path / "cache" / tree.MADE).exists() and not (tmp_path / "root" / tree.MADE).exists()
    assert stat.S_IMODE(base.stat().st_mode) == 0o750
    (tmp_path / "root").chmod(0o700)
    assert compared(base, folders=wanted) == ([], []), "one that is there is never changed"


def test_a_file_without_its_folder_is_an_error(base):
    update = changes.Update(
        str(base), "set", changes.Owners(), files=[{"path": f"{base}/x/y", "content": "", "mode": "0640"}]
    )
    with pytest.raises(tree.TreeError, match=f"{base}/x does not exist, so {base}/x/y cannot be written"):
        update.compare().apply()
    gone = changes.Update(
        f"{base}/none", "set", changes.Owners(), files=[{"path": f"{base}/z", "content": "", "mode": "0640"}]
    )
    with pytest.raises(tree.TreeError, match="none does not exist. Fix: add it to folders"):
        gone.compare().apply()


def test_the_first_change_is_announced_with_the_folders_in_place(base):
    said = []
    folders = [{"path": str(base), "mode": "0750"}, {"path": f"{base}/x", "mode": "0750"}]
    files = [{"path": f"{base}/x/y", "content": "1", "mode": "0640"}]
    for expected in ([(True, False)], [(True, False)]):
        changes.Update(str(base), "set", changes.Owners(), folders, files).compare().apply(
            lambda: said.append(((base / "x").is_dir(), (base / "x/y").exists()))
        )
        assert said == expected, "and not without a change"


@pytest.mark.parametrize("private", [True, False])
def test_a_secret_that_somebody_changed_is_not_kept_at_removal(base, private):
    files = [{"path": f"{base}/key", "content": "1", "mode": "0600", "private": private}]
    changes.Update(str(base), "set", changes.Owners(), files=files).compare().apply()
    changes.Update(str(base), "set", changes.Owners(), folders=[{"path": str(base), "mode": "0750"}]).compare().apply()
    (base / "key").write_text("other")
    for check in (True, False):
        (step,) = removal.remove(str(base), ["set"], check)
        assert step["path"] == f"{base}/key" and bool(step["saved"]) is not private
        assert (base / "key").exists() is check
    assert len(list(base.glob("key.*~"))) == (0 if private else 1)
    assert removal.remove(str(base), ["set"], False) == []


def test_what_is_mounted_is_named_at_most_four_times(monkeypatch):
    monkeypatch.setattr(removal, "mounts_in", lambda folder: [f"{folder}/{number}" for number in range(6)])
    with pytest.raises(tree.TreeError, match=r'^/f/0, /f/1, /f/2, /f/3 is mounted below /f, .*"umount /f/0"'):
        removal.refuse_mounts("/f")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("/data", ["/data", "/data/a b", "/data/x"]),
        ("/data/x", ["/data/x"]),
        ("/dat", []),
        ("/", ["/", "/data", "/data/a b", "/data/x", "/database"]),
    ],
)
def test_mounts_are_read_from_the_kernel_s_table(tmp_path, monkeypatch, where, expected):
    points = ("/", "/data", "/data/x", "/data/a\\040b", "/database")
    table = tmp_path / "table"
    table.write_text("".join(f"26 1 254:0 / {point} rw - ext4 /dev/vda rw\n" for point in points) + "short line\n")
    monkeypatch.setattr(mounts, "TABLE", str(table))
    assert mounts.mounts_in(where) == expected
    monkeypatch.setattr(mounts, "TABLE", str(tmp_path / "none"))
    assert mounts.mounts_in(where) == []


def test_a_file_gets_its_mode_before_its_name_and_nothing_is_left_of_a_full_disk(base, monkeypatch):
    folder = os.open(str(base), os.O_RDONLY)
    (base / f".x{tree.FRESH}").write_text("of a killed run")
    seen, rename = [], os.rename

    def watched(old, new, **options):
        seen.append((oct((base / old).stat().st_mode & 0o777), new))
        rename(old, new, **options)

    monkeypatch.setattr(tree.os, "rename", watched)
    tree.write(folder, "x", b"1", 0o640, -1, -1)
    assert seen == [("0o640", "x")] and os.listdir(str(base)) == ["x"]

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tree.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        tree.write(folder, "x", b"2", 0o640, -1, -1)
    assert os.listdir(str(base)) == ["x"] and (base / "x").read_text() == "1"
    os.close(folder)


@pytest.mark.parametrize(
    ("uid", "mode", "kind", "good"),
    [
        (0, 0o600, "file", True),
        (None, 0o644, "file", True),
        (0, 0o620, "file", False),
        (0, 0o602, "file", False),
        (4242, 0o600, "file", False),
        (0, 0o600, "link", False),
        (0, 0o600, "folder", False),
    ],
)
def test_whose_files_are_believed(uid, mode, kind, good):
    status = os.stat_result((mode, 0, 0, 1, os.geteuid() if uid is None else uid, 0, 0, 0, 0, 0))
    assert tree.trusted(tree.Entry(kind, status)) is good and tree.trusted(None) is False


def test_what_is_at_a_name(base):
    (base / "file").write_text("x")
    os.link(str(base / "file"), str(base / "second"))
    (base / "link").symlink_to("a/b")
    os.mkfifo(str(base / "pipe"))
    folder = os.open(str(base.parent), os.O_RDONLY)
    inner = os.open(str(base), os.O_RDONLY)
    assert tree.look(folder, "one").kind == "folder" and tree.look(folder, "none") is None
    found = {name: tree.look(inner, name) for name in ("file", "link", "pipe")}
    assert [one.kind for one in found.values()] == ["file", "link", "other"]
    assert (found["file"].content, found["file"].names, found["link"].target) == (b"x", 2, "a/b")
    for descriptor in (folder, inner):
        os.close(descriptor)


def test_a_folder_is_made_and_put_right_once(base):
    path = str(base / "x")
    assert tree.make_folder(str(base), path, 0o750, -1, -1) is True
    assert tree.make_folder(str(base), path, 0o750, -1, -1) is False
    assert tree.make_folder(str(base), path, 0o700, -1, -1) is True and stat.S_IMODE(os.stat(path).st_mode) == 0o700
    with pytest.raises(
        tree.TreeError, match="y does not exist, so .*y/z cannot be created. Fix: add the parent folders"
    ):
        tree.make_folder(str(base), f"{base}/y/z", 0o750, -1, -1)


@pytest.mark.parametrize(
    ("everything", "content", "gone"), [(True, True, True), (False, True, False), (False, False, True)]
)
def test_a_folder_is_removed_with_its_content_on_request_only(base, everything, content, gone):
    (base / "x").mkdir()
    if content:
        (base / "x" / "y").mkdir()
    assert tree.remove_folder(str(base), f"{base}/x", everything) is gone and (base / "x").exists() is not gone
    assert tree.remove_folder(str(base), f"{base}/none", everything) is True
    assert tree.remove_folder(str(base), f"{base}/none/x", everything) is True


def test_a_removal_of_the_whole_names_what_stays_and_what_came_from_elsewhere(base, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    files = [{"path": f"{base}/run.sh", "content": "1", "mode": "0640"}]
    files += [{"path": f"{other}/{name}", "content": name, "mode": "0644"} for name in ("ours", "theirs")]
    links = [{"path": f"{other}/{name}", "target": "venv"} for name in ("turned", "current")]
    folders = [{"path": str(base), "mode": "0750"}, {"path": f"{base}/logs", "mode": "0750", "service_owned": True}]
    changes.Update(str(base), "set", changes.Owners(), folders, files, links).compare().apply()
    journal.note(str(base), "deployed", {"digest": "d"}, {"id": "7"})
    (other / "theirs").write_text("changed")
    (other / "turned").unlink()
    (other / "turned").symlink_to("another")
    (base / "logs" / "x.log").write_text("of the service")
    (base / f".y{tree.FRESH}").write_text("of a killed run")
    (base / "note.txt").write_text("mine")
    gone = [f"{other}/ours", f"{base}/journal.json", f"{other}/current", f"{base}/run.sh", f"{base}/logs"]
    for check in (True, False):
        steps, kept = whole_removal.remove_deployment(str(base), check, elsewhere=True)
        assert [step["path"] for step in steps] == gone and kept == [f"{base}/note.txt", f"{other}/theirs"]
        assert (base / "run.sh").exists() is check
    assert sorted(path.name for path in other.iterdir()) == ["theirs", "turned"]
    assert whole_removal.remove_deployment(str(tmp_path / "none"), False) == ([], [])
    assert whole_removal.remove_deployment(str(other), False) == ([], [str(other)]), "no manifest, so nothing is ours"


@pytest.mark.parametrize(
    ("make", "gone"),
    [
        (lambda path: path.write_text("x"), True),
        (lambda path: path.mkdir(), True),
        (lambda path: (path.mkdir(), (path / "x").write_text("")), False),
        (lambda path: path.symlink_to("/etc"), False),
        (lambda path: None, False),
    ],
)
def test_outputs_of_programs_go_and_folders_only_if_they_are_empty(base, tmp_path, make, gone):
    changes.Update(
        str(base),
        "set",
        changes.Owners(),
        folders=[{"path": str(base), "mode": "0750"}],
        files=[{"path": f"{base}/x", "content": "", "mode": "0640"}],
    ).compare().apply()
    output = tmp_path / "output"
    make(output)
    made = os.path.lexists(str(output))
    steps, _kept = whole_removal.remove_deployment(str(base), False, outputs=[str(output), str(tmp_path / "none")])
    assert (str(output) in [step["path"] for step in steps]) is gone
    assert os.path.lexists(str(output)) is (made and not gone)


def test_a_folder_of_outputs_goes_with_the_files_that_are_named_before(base, tmp_path):
    changes.Update(
        str(base), "set", changes.Owners(), files=[{"path": f"{base}/x", "content": "", "mode": "0640"}]
    ).compare().apply()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").write_text("")
    paths = [str(tmp_path / "out/a"), str(tmp_path / "out")]
    for check in (True, False):
        steps, _kept = whole_removal.remove_deployment(str(base), check, outputs=paths)
        assert [step["path"] for step in steps][:2] == paths and (tmp_path / "out").exists() is check


def test_a_temporary_folder_has_its_mode_whatever_the_mask_is(tmp_path):
    before = os.umask(0o077)
    try:
        made = [own_folder.begin(str(tmp_path / str(mode)), mode) for mode in (0o755, 0o700)]
        usual = own_folder.begin(str(tmp_path / "usual"))
    finally:
        os.umask(before)
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (*made, usual)] == [0o755, 0o700, 0o755]
    assert os.path.basename(usual) == "content" and own_folder.begin(str(tmp_path / "usual")) == usual
    assert own_folder.end(str(tmp_path / "usual")) is True and own_folder.end(str(tmp_path / "usual")) is False


def test_a_manifest_is_written_if_it_differs(base):
    folder = os.open(str(base), os.O_RDONLY)
    content = manifest.following(manifest.empty(), {"/a": b"1"}, {"/f": True}, {"/l": "t"}, ["/b"])
    manifest.write(folder, "set", content)
    place = base / ".set.manifest.json"
    status = place.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600 and manifest.read(folder, "set") == content
    manifest.write(folder, "set", content)
    assert place.stat().st_ino == status.st_ino
    place.chmod(0o644)
    manifest.write(folder, "set", content)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert manifest.read(None, "set") == manifest.empty() == manifest.read(folder, "none")
    os.close(folder)


@pytest.mark.parametrize("below", ["", "/x"])
def test_the_folder_of_a_deployment_is_no_link_and_its_parent_may_be_one(tmp_path, below):
    (tmp_path / "real" / "one" / "x").mkdir(parents=True)
    (tmp_path / "parent").symlink_to(tmp_path / "real")
    os.close(tree.open_folder(f"{tmp_path}/parent/one", f"{tmp_path}/parent/one{below}"))
    (tmp_path / "real" / "two").symlink_to(tmp_path / "real" / "one")
    with pytest.raises(tree.TreeError, match="is a symbolic link"):
        tree.open_folder(f"{tmp_path}/real/two", f"{tmp_path}/real/two{below}")
    assert tree.open_folder(f"{tmp_path}/real/one", f"{tmp_path}/real/one/none") is None
    assert tree.open_folder(f"{tmp_path}/none/one", f"{tmp_path}/none/one") is None


def test_a_folder_beside_the_deployment_is_not_in_it(tmp_path):
    """Shared folders may be links to a larger disk, also if their names begin as the deployment's."""
    (tmp_path / "disk" / "x").mkdir(parents=True)
    (tmp_path / "one-shared").symlink_to(tmp_path / "disk")
    os.close(tree.open_folder(f"{tmp_path}/one", f"{tmp_path}/one-shared/x"))


def test_a_pipe_that_has_replaced_a_file_meanwhile_holds_nobody(base, monkeypatch):
    os.mkfifo(str(base / "x"))
    (base / "y").write_text("")
    folder, regular = os.open(str(base), os.O_RDONLY), os.stat(str(base / "y"))

    def late(_number, _frame):
        raise AssertionError("it waits for a writer")

    monkeypatch.setattr(tree.os, "stat", lambda *_given, **_more: regular)
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        assert tree.look(folder, "x").content == b""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.close(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
@pytest.mark.parametrize("owner", [(4242, -1), (-1, 4243), (4242, 4243)])
def test_an_owner_or_a_group_is_set_once(base, owner):
    path = str(base / "x")
    tree.make_folder(str(base), path, 0o750, -1, -1)
    assert [tree.make_folder(str(base), path, 0o750, *owner) for _time in range(2)] == [True, False]
    status = os.stat(path)
    assert (status.st_uid, status.st_gid) == tuple(max(number, 0) for number in owner)
    assert stat.S_IMODE(status.st_mode) == 0o750


def test_a_new_folder_is_nobody_else_s_until_it_has_its_owner(base, monkeypatch):
    seen, own = [], tree.own
    monkeypatch.setattr(
        tree,
        "own",
        lambda descriptor, *given: seen.append(os.fstat(descriptor).st_mode & 0o777) or own(descriptor, *given),
    )
    before = os.umask(0)
    try:
        tree.make_folder(str(base), str(base / "x"), 0o755, -1, -1)
    finally:
        os.umask(before)
    assert seen == [0o700] and stat.S_IMODE((base / "x").stat().st_mode) == 0o755


def test_shared_folders_have_their_modes_whatever_the_mask_is(tmp_path):
    before = os.umask(0o077)
    try:
        tree.make_shared(str(tmp_path / "a/b/c"), 0o775, -1, -1)
    finally:
        left = os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/c")]
    assert modes == [0o755, 0o755, 0o775] and left == 0o077
    assert tree.make_folder(str(tmp_path), str(tmp_path / "x"), 0o700, -1, -1) is True


@pytest.mark.parametrize(("number", "quicker"), [(errno.ENOTEMPTY, True), (errno.EEXIST, True), (errno.EACCES, False)])
def test_of_two_processes_that_make_a_shared_folder_the_second_one_leaves_nothing(
    tmp_path, monkeypatch, number, quicker
):
    def refused(*_given):
        raise OSError(number, "no")

    monkeypatch.setattr(tree.os, "rename", refused)
    if quicker:
        tree.make_shared(str(tmp_path / "cache"), 0o755, -1, -1, mark=True)
    else:
        with pytest.raises(OSError, match="no"):
            tree.make_shared(str(tmp_path / "cache"), 0o755, -1, -1, mark=True)
    assert os.listdir(str(tmp_path)) == []


def test_a_secret_is_nobody_else_s_while_it_is_written(base, monkeypatch):
    seen, own = [], tree.own
    monkeypatch.setattr(
        tree, "own", lambda number, *given: seen.append(os.fstat(number).st_mode & 0o777) or own(number, *given)
    )
    folder, before = os.open(str(base), os.O_RDONLY), os.umask(0)
    try:
        tree.write(folder, "x", b"secret", 0o644, -1, -1)
    finally:
        os.umask(before)
        os.close(folder)
    assert seen == [0o600] and stat.S_IMODE((base / "x").stat().st_mode) == 0o644


def test_a_link_that_a_killed_run_began_is_no_hindrance(base):
    (base / f".x{tree.FRESH}").symlink_to("old")
    folder = os.open(str(base), os.O_RDONLY)
    for target in ("one", "two"):
        tree.link(folder, "x", target)
        assert os.readlink(str(base / "x")) == target and os.listdir(str(base)) == ["x"]
    os.close(folder)


def test_a_path_that_the_disk_refuses_is_an_error_among_the_others(base):
    wanted = [
        {"path": f"{base}/{'x' * 300}", "content": "", "mode": "0640"},
        {"path": f"{base}/y", "content": "", "mode": "0640"},
    ]
    steps, errors = compared(base, files=wanted)
    assert steps == [(f"{base}/y", "created")] and len(errors) == 1 and "too long" in errors[0]


def test_a_copy_of_what_somebody_changed_goes_with_the_deployment(base):
    options = {"folders": [{"path": str(base), "mode": "0750"}]}
    for text in ("1", "2"):
        files = [{"path": f"{base}/run.sh", "content": text, "mode": "0640"}]
        changes.Update(str(base), "set", changes.Owners(), files=files, **options).compare().apply()
        (base / "run.sh").write_text("by hand") if text == "1" else None
    (saved,) = [str(path) for path in base.glob("run.sh.*~")]
    steps, kept = whole_removal.remove_deployment(str(base), False)
    assert saved in [step["path"] for step in steps] and kept == [] and not base.exists()


def test_a_file_beside_the_deployment_stays_although_its_name_begins_alike(base):
    beside = base.parent / "one-units" / "x.service"
    beside.parent.mkdir()
    files = [{"path": str(beside), "content": "1", "mode": "0644"}]
    changes.Update(str(base), "set", changes.Owners(), files=files).compare().apply()
    changes.Update(str(base), "set", changes.Owners(), folders=[{"path": str(base), "mode": "0750"}]).compare().apply()
    assert removal.remove(str(base), ["set"], False) == [] and beside.exists()
    assert removal.inside("/a", "/a/b") and not removal.inside("/a", "/ab") and not removal.inside("/a", "/a")
