# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module service_files with state absent, and shared_removal: all that was made is removed, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing, mounts, system_folders, tree
from ansible_collections.ascend.inference.plugins.module_utils.install import venv
from ansible_collections.ascend.inference.plugins.modules import shared_removal

PLACE = ("deployments", "sample")


def options(base, text="one\n", **more):
    folders = [
        {"path": str(base.parent.parent / "cache" / "vllm"), "mode": "0755", "service_owned": True},
        {"path": str(base)},
        {"path": str(base / "logs"), "service_owned": True},
        {"path": str(base / "services")},
    ]
    files = [{"path": str(base / "services" / "run.sh"), "content": text, "service": "engine-0"}]
    return {"directory": str(base), "name": "services", "folders": folders, "files": files, **more}


@pytest.fixture
def base(tmp_path, run_module):
    """A deployment's folder, as two calls leave it."""
    folder = tmp_path / "root" / "deployments" / "sample"
    assert not run_module("service_files", **options(folder))["failed"]
    plan = {"path": str(folder / "plan.json"), "content": "{}\n"}
    link = {"path": str(tmp_path / "current"), "target": "somewhere"}
    assert not run_module("service_files", directory=str(folder), name="plan", files=[plan], links=[link])["failed"]
    (folder / "logs" / "engine-0.log").write_text("of the service")
    return folder


def absent(run_module, base, **more):
    return run_module("service_files", directory=str(base), name="plan", state="absent", **more)


def paths(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_all_that_was_made_is_removed(run_module, base, tmp_path):
    planned, before = absent(run_module, base, check=True), paths(tmp_path)
    assert paths(tmp_path) == before
    done = absent(run_module, base)
    assert done["changed"] and done["kept"] == [] and not base.exists() and not (tmp_path / "current").is_symlink()
    assert sorted(file["path"] for file in planned["files"]) == sorted(file["path"] for file in done["files"])
    again = absent(run_module, base)
    assert not again["changed"] and again["kept"] == []


@pytest.mark.parametrize("place", ["note.txt", "services/note.txt", "mine/deep/note.txt", "services/.hidden"])
def test_what_others_put_there_stays_and_is_reported(run_module, base, place):
    (base / place).parent.mkdir(parents=True, exist_ok=True)
    (base / place).write_text("precious")
    planned = absent(run_module, base, check=True)
    done = absent(run_module, base)
    assert sorted(file["path"] for file in planned["files"]) == sorted(file["path"] for file in done["files"])
    topmost = base / "mine" if place.startswith("mine") else base / place
    assert done["kept"] == [str(topmost)] and (base / place).read_text() == "precious"
    left = [path for path in base.rglob("*") if path.is_file()]
    assert left == [base / place]
    assert not absent(run_module, base)["changed"]


def test_a_file_that_somebody_changed_is_kept_beside(run_module, base):
    (base / "services/run.sh").write_text("by hand")
    (kept,) = absent(run_module, base)["kept"]
    assert kept.startswith(str(base / "services/run.sh.")) and pathlib.Path(kept).read_text() == "by hand"


def test_our_own_backups_are_removed(run_module, base):
    (base / "services/run.sh").write_text("by hand")
    assert run_module("service_files", **options(base, "two\n"))["files"][0]["backup"]
    assert absent(run_module, base)["kept"] == [] and not base.exists()


def test_a_secret_that_somebody_changed_is_not_kept(run_module, base):
    secret = {"path": str(base / "secrets.sh"), "content": "x\n", "private": True}
    run_module("service_files", directory=str(base), name="secrets", files=[secret])
    (base / "secrets.sh").write_text("PLANTED")
    assert absent(run_module, base)["kept"] == [] and not base.exists()


def test_a_link_that_leads_elsewhere_by_now_stays(run_module, base, tmp_path):
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("mine")
    absent(run_module, base)
    assert os.readlink(tmp_path / "current") == "mine"


def test_a_folder_without_manifests_is_somebody_s(run_module, tmp_path):
    folder = tmp_path / "root" / "deployments" / "sample"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("mine")
    done = absent(run_module, folder)
    assert (done["changed"], done["kept"]) == (False, [str(folder)]) and (folder / "run.sh").exists()


def test_removal_leads_through_no_link(run_module, base, tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/precious").write_text("x")
    os.rename(base / "services", tmp_path / "moved")
    (base / "services").symlink_to(tmp_path / "victim")
    (base / "logs/link").symlink_to(tmp_path / "victim")
    absent(run_module, base)
    assert (tmp_path / "victim/precious").exists()


@pytest.mark.parametrize("way", ["removal", "deployment without the service"])
def test_a_folder_into_which_a_process_still_writes_is_removed_by_the_next_run(run_module, base, monkeypatch, way):
    """A process of the service's user that outlived its service: the folder is never empty, and the record of it is kept."""

    def again():
        if way == "removal":
            return absent(run_module, base)
        return run_module(
            "service_files", **dict(options(base), folders=options(base)["folders"][:1], files=[], sets=["services"])
        )

    real = tree.remove_folder
    monkeypatch.setattr(tree, "remove_folder", lambda *words: not words[2] and real(*words))
    again()
    assert (base / "logs").exists()
    monkeypatch.setattr(tree, "remove_folder", real)
    done = again()
    assert done["changed"] and not (base / "logs").exists(), done
    assert absent(run_module, base)["kept"] == [] and not base.exists()


@pytest.mark.parametrize(
    "directory", ["/usr/deployments/x", "/deployments/x", "/home/deployments/x", "/usr", "/etc/a/b"]
)
def test_system_folders_are_refused(run_module, directory):
    done = absent(run_module, pathlib.Path(directory))
    assert done["failed"] and "is a folder of the system" in done["msg"]


def test_a_link_to_a_system_folder_is_refused(run_module, tmp_path):
    (tmp_path / "root").symlink_to("/usr")
    for module, given in (
        ("service_files", {"directory": str(tmp_path / "root/deployments/x"), "name": "plan", "state": "absent"}),
        ("shared_removal", {"root": str(tmp_path / "root"), "caches": True}),
    ):
        done = run_module(module, **given)
        assert done["failed"] and "(a link to /usr)" in done["msg"]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/usr",
        "/usr/",
        "//usr/../home",
        "/home",
        "/var/lib",
        "/etc/x",
        "/etc/prometheus",
        "/usr/local",
        "/root",
        "/var/run/x",
        "/var/lock",
    ],
)
def test_folders_of_the_system(path):
    assert system_folders.is_system_folder(path)


@pytest.mark.parametrize(
    "path", ["/opt/ascend-inference", "/home/user/inference", "/data", "/usr/local/inference", "/var/lib/x"]
)
def test_folders_of_their_own(path):
    assert not system_folders.is_system_folder(path)


@pytest.mark.parametrize("path", ["/", "//etc/", "/usr/../boot", "/var/run", "/root", "/var/lib", "/dev", "/usr/local"])
def test_whole_folders_of_the_system(path):
    assert system_folders.holds_the_system(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/etc/shadow",
            "/etc/sudoers",
            "/etc/sudoers.d",
            "/etc/crontab",
            "/lib/systemd/system",
            "/run/systemd/private",
        ),
        *("/home/anna/.ssh", "/srv/x/.kube/config", "/root/.docker", "/var/lib/docker/volumes"),
        *("/etc/ascend-inference/entry", "/var/lib/ascend-inference"),
    ],
)
def test_secrets_and_what_root_runs_go_into_no_container(path):
    assert system_folders.holds_the_system(path) and system_folders.is_no_data(path)


@pytest.mark.parametrize("path", ["/etc/pki", "/dev/shm", "/home", "/opt", "/var/log", "/usr/local/sbin", "/run/dcmi"])
def test_data_and_parts_of_the_system(path):
    assert not system_folders.holds_the_system(path)


# What deployments share.


@pytest.fixture
def root(base):
    """A root with what deployments share, and with what is somebody's."""
    folder = base.parent.parent
    stamps = folder / "venvs" / "engine" / venv.STAMPS
    stamps.mkdir(parents=True)
    (folder / "venvs" / "current-sample").symlink_to(folder / "venvs" / "engine")
    (folder / "venvs" / "engine-source" / "vllm").mkdir(parents=True)
    for path in ("venvs/mine/x", "cache/other_team/precious", "mine/y"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("precious")
    (folder / "cache/vllm/compiled").write_text("of the service")
    return folder


def test_caches_go_by_their_marks(run_module, base, root):
    assert (root / "cache/vllm" / tree.MADE).exists()
    absent(run_module, base)
    planned, before = run_module("shared_removal", root=str(root), caches=True, check=True), paths(root)
    assert paths(root) == before
    done = run_module("shared_removal", root=str(root), caches=True)
    assert planned["removed"] == done["removed"]
    assert paths(root) == [
        "cache",
        "cache/other_team",
        "cache/other_team/precious",
        "mine",
        "mine/y",
        "venvs",
        "venvs/mine",
        "venvs/mine/x",
    ]
    assert [item["path"] for item in done["kept"]] == [
        str(root / name) for name in ("venvs/mine", "cache/other_team", "mine")
    ]
    assert not run_module("shared_removal", root=str(root), caches=True)["changed"]


def test_caches_stay_as_long_as_there_is_a_deployment(run_module, root):
    before = paths(root)
    done = run_module("shared_removal", root=str(root), caches=True)
    assert paths(root) == before and not done["changed"]
    assert "is shared with sample" in [item["reason"] for item in done["kept"]]


def test_caches_stay_without_a_demand(run_module, base, root):
    absent(run_module, base)
    assert not run_module("shared_removal", root=str(root))["changed"]
    assert (root / "venvs/engine").exists() and (root / "cache/vllm").exists()


def test_a_cache_that_was_there_before_is_somebody_s(run_module, tmp_path):
    base = tmp_path / "root" / "deployments" / "sample"
    (tmp_path / "root/cache/vllm").mkdir(parents=True)
    run_module("service_files", **options(base))
    absent(run_module, base)
    done = run_module("shared_removal", root=str(tmp_path / "root"), caches=True)
    assert not done["changed"] and (tmp_path / "root/cache/vllm").exists()


@pytest.mark.parametrize(("mark", "gone"), [(".ascend-inference-tiny-1", True), ("config.json", False)])
def test_a_model_goes_only_if_it_was_made_here(run_module, tmp_path, mark, gone):
    model = tmp_path / "root/models/tiny"
    model.mkdir(parents=True)
    (model / mark).touch()
    done = run_module("shared_removal", root=str(tmp_path / "root"), model=str(model))
    assert (done["changed"], model.exists()) == (gone, not gone)
    assert (tmp_path / "root").exists() is not gone  # empty folders go
    assert bool(done["kept"]) is not gone


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (None, ""),
        ({"model": {"path": "/models/x"}, "services": []}, ""),
        ({"model": {"path": "MODEL/"}, "services": []}, "is served by other"),
        ({"model": {"path": "/x"}, "services": [{"argv": ["vllm", "serve", "MODEL"]}]}, "is served by other"),
        (
            {"model": {"path": "/x"}, "services": [{"argv": ["--speculative-config", '{"model": "MODEL/"}']}]},
            "is served by other",
        ),
        ({"model": {"path": "/x"}, "services": [{"argv": ['{"model": "MODEL-2"}']}]}, ""),
        ("no plan", "is served by other"),
    ],
)
def test_a_model_that_another_deployment_serves_stays(run_module, tmp_path, plan, reason):
    root, model = tmp_path / "root", tmp_path / "root/models/tiny"
    model.mkdir(parents=True)
    (model / ".ascend-inference-tiny-1").touch()
    (root / "deployments/other").mkdir(parents=True)
    if plan is not None:
        (root / "deployments/other/plan.json").write_text(json.dumps(plan).replace("MODEL", str(model)))
    done = run_module("shared_removal", root=str(root), model=str(model))
    assert [each["reason"] for each in done["kept"] if each["path"] == str(model)] == ([reason] if reason else [])
    assert model.exists() == bool(reason)


def test_a_model_into_which_somebody_put_files_stays(run_module, tmp_path):
    model = tmp_path / "root/models/m"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    rows = [{"name": "config.json", "size": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}]
    (model / listing.RECORD).write_text(listing.text("modelscope:o/m", "", rows))
    (model / listing.RECORD).chmod(0o644)
    (model / listing.BACKUP).write_text("{}")
    (model / "adapter").mkdir()
    (model / "adapter/lora.safetensors").write_text("of somebody")
    done = run_module("shared_removal", root=str(tmp_path / "root"), model=str(model))
    assert done["kept"] == [
        {"path": str(model), "reason": "has files that this collection did not bring (adapter/lora.safetensors)"}
    ]
    (model / "adapter/lora.safetensors").unlink()
    assert run_module("shared_removal", root=str(tmp_path / "root"), model=str(model))["removed"] == [str(model)]
    assert not model.exists()


def test_a_model_with_a_damaged_record_stays(run_module, tmp_path):
    """Without it nobody knows which of its files somebody put there."""
    model = tmp_path / "root/models/m"
    model.mkdir(parents=True)
    (model / "lora.safetensors").write_text("of somebody")
    (model / ".ascend-inference-tiny-1").touch()
    (model / listing.RECORD).write_text("{")
    done = run_module("shared_removal", root=str(tmp_path / "root"), model=str(model))
    assert not done["removed"] and "has a record that is damaged" in done["kept"][0]["reason"]
    assert (model / "lora.safetensors").exists()


@pytest.mark.parametrize("model", ["/home", "/etc/x", "/var/run/x", "/dev/shm"])
def test_a_folder_of_the_system_is_no_model(run_module, tmp_path, model):
    done = run_module("shared_removal", check=True, root=str(tmp_path / "root"), model=model)
    assert done["failed"] and "is a folder of the system" in done["msg"]


def test_a_model_in_memory_goes_as_well(run_module, tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        model = pathlib.Path(folder) / "tiny"
        model.mkdir()
        (model / ".ascend-inference-tiny-1").touch()
        done = run_module("shared_removal", root=str(tmp_path / "root"), model=str(model))
        assert done["changed"] and not model.exists(), done


def test_a_root_and_a_model_may_end_with_a_slash(run_module, tmp_path):
    """`dirname` of such a path is the path itself, and a mark is looked for beside its name."""
    model = tmp_path / "root/models/tiny"
    model.mkdir(parents=True)
    (model / ".ascend-inference-tiny-1").touch()
    for check in (True, False):
        done = run_module("shared_removal", check=check, root=f"{tmp_path}/root/", model=f"{model}//")
        assert (done["removed"], done["kept"], done["changed"]) == ([str(model)], [], True)
        assert done["diff"] == {"before": f"{model}\n", "after": "", "before_header": f"{tmp_path}/root"}
    assert not (tmp_path / "root").exists()
    done = run_module("shared_removal", root="/")
    assert done["failed"] and "is a folder of the system" in done["msg"]


def test_what_cannot_be_removed_is_named(run_module, tmp_path, monkeypatch):
    def refused(_root, _caches, _model):
        raise OSError(5, "disk\x1b error")

    monkeypatch.setattr(shared_removal, "decide", refused)
    done = run_module("shared_removal", root=str(tmp_path / "root"))
    assert done["failed"] and done["msg"] == f"Shared files below {tmp_path}/root: [Errno 5] disk\\x1b error"


def test_a_folder_that_a_killed_run_began_is_no_hindrance(run_module, tmp_path):
    begun = tmp_path / "root" / f".cache.x{tree.FRESH}"
    begun.mkdir(parents=True)
    assert run_module("shared_removal", root=str(tmp_path / "root"))["kept"] == []
    assert not (tmp_path / "root").exists()


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """Let the kernel's table have a bind mount at a path: (a line of a real table, with the same device as the disk around it)."""

    def mount(path):
        table, text = tmp_path / "mountinfo", str(path).replace(" ", "\\040")
        rest = "rw,relatime - ext4 /dev/vda rw"
        table.write_text(
            f"26 1 254:0 / / {rest}\n27 26 254:0 /data/models {text} {rest}\n28 26 0:5 / {text}-beside {rest}\n"
        )
        monkeypatch.setattr(mounts, "TABLE", str(table))

    return mount


@pytest.mark.parametrize("place", ["logs", "logs/archive of others"])
def test_nothing_is_removed_through_a_mount(run_module, base, mounted, place):
    """rmtree goes into what is mounted: it would empty another disk."""
    (base / place).mkdir(exist_ok=True)
    mounted(base / place)
    before = paths(base)
    for check in (True, False):
        done = absent(run_module, base, check=check)
        assert done["failed"] and f'umount {base / place}"' in done["msg"] and paths(base) == before
    changed = {**options(base), "folders": options(base)["folders"][:2]}  # the folder of logs is no longer planned
    done = run_module("service_files", **changed, sets=["services", "plan"])
    assert done["failed"] and "umount" in done["msg"] and (base / "logs/engine-0.log").exists()
    mounted(f"{base}-elsewhere/{place}")
    assert not absent(run_module, base)["failed"]


@pytest.mark.parametrize("place", ["cache/vllm", "cache/vllm/hub"])
def test_a_cache_with_a_mount_stays(run_module, base, tmp_path, mounted, place):
    cache = tmp_path / "root" / place
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "precious").touch()
    assert not absent(run_module, base)["failed"]
    mounted(cache)
    done = run_module("shared_removal", root=str(tmp_path / "root"), caches=True)
    assert (cache / "precious").exists() and [item["path"] for item in done["kept"]] == [
        str(tmp_path / "root/cache/vllm")
    ]
    assert str(cache) in done["kept"][0]["reason"]


def test_the_table_of_this_machine_is_understood():
    assert "/proc" in mounts.mounts_in("/") and mounts.mounts_in("/nowhere") == []


@pytest.fixture
def beside(tmp_path, run_module):
    """A set with files elsewhere: (its folder, the folder elsewhere)."""
    folder, other = tmp_path / "manifests" / "sample", tmp_path / "elsewhere"
    files = [{"path": str(other / name), "content": name + "\n", "mode": "0644"} for name in ("a.yml", "b.yml")]
    folders = [{"path": str(folder), "mode": "0755"}, {"path": str(other), "mode": "0755"}]
    assert not run_module("service_files", directory=str(folder), name="sample", folders=folders, files=files)["failed"]
    return folder, other


def test_files_elsewhere_go_only_as_they_were_written(run_module, beside, tmp_path):
    folder, other = beside
    (other / "b.yml").write_text("of the site")
    (other / "c.yml").write_text("of the site")
    planned = absent(run_module, folder, elsewhere=True, check=True)
    assert (other / "a.yml").exists() and folder.exists()
    done = absent(run_module, folder, elsewhere=True)
    assert [file["path"] for file in planned["files"]] == [file["path"] for file in done["files"]]
    assert done["kept"] == planned["kept"] == [str(other / "b.yml")]
    assert paths(other) == ["b.yml", "c.yml"] and not folder.exists()
    assert not absent(run_module, folder, elsewhere=True)["changed"]


def test_a_file_elsewhere_that_is_gone_is_neither_kept_nor_removed(run_module, beside):
    folder, other = beside
    (other / "a.yml").unlink()
    done = absent(run_module, folder, elsewhere=True)
    assert done["kept"] == [] and str(other / "a.yml") not in [file["path"] for file in done["files"]]


def test_a_link_in_place_of_a_file_elsewhere_stays_and_so_does_its_target(run_module, beside, tmp_path):
    folder, other = beside
    (tmp_path / "victim").write_text("a.yml\n")
    (other / "a.yml").unlink()
    (other / "a.yml").symlink_to(tmp_path / "victim")
    assert absent(run_module, folder, elsewhere=True)["kept"] == [str(other / "a.yml")]
    assert (other / "a.yml").is_symlink() and (tmp_path / "victim").exists()


def test_without_a_manifest_nothing_goes(run_module, tmp_path):
    """Files of the names that a deployment would have, of somebody else."""
    folder, metrics, state = tmp_path / "sample", tmp_path / "x.prom", tmp_path / "state"
    for made in (folder, state):
        made.mkdir()
    for file in (folder / "a.yml", metrics, state / "state.json"):
        file.write_text("of the site")
    before = paths(tmp_path)
    outputs = [str(metrics), str(state / "state.json"), str(state)]
    done = absent(run_module, folder, elsewhere=True, outputs=outputs)
    assert not done["changed"] and done["kept"] == [str(folder)] and paths(tmp_path) == before


def test_what_its_programs_write_goes_with_it(run_module, beside, tmp_path):
    folder, _other = beside
    state, pipe, link = tmp_path / "state", tmp_path / "pipe", tmp_path / "link"
    state.mkdir()
    (state / "state.json").write_text("{}")
    os.mkfifo(str(pipe))
    link.symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_text("precious")
    outputs = [str(path) for path in (state / "state.json", state, pipe, link, tmp_path / "none")]
    planned = absent(run_module, folder, outputs=outputs, check=True)
    done = absent(run_module, folder, outputs=outputs)
    assert planned["files"] == done["files"] and not state.exists()
    assert pipe.exists() and link.is_symlink() and (tmp_path / "victim").exists()


def test_a_state_folder_with_files_of_others_stays(run_module, beside, tmp_path):
    folder, _other = beside
    (tmp_path / "state").mkdir()
    for name in ("state.json", "note"):
        (tmp_path / "state" / name).write_text("")
    absent(run_module, folder, outputs=[str(tmp_path / "state/state.json"), str(tmp_path / "state")])
    assert paths(tmp_path / "state") == ["note"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links away")
@pytest.mark.parametrize(("owner", "goes"), [(0, True), (1234, False)])
@pytest.mark.parametrize("nested", [False, True])
def test_a_model_behind_a_link_of_another_user_stays(run_module, tmp_path, owner, goes, nested):
    """Its owner chose which folder of root would be removed; a link of root to another disk is followed."""
    victim, link = tmp_path / "victim/qwen", tmp_path / "share/models"
    victim.mkdir(parents=True)
    (victim / ".ascend-inference-tiny-1").write_text("")
    link.parent.mkdir()
    link.symlink_to("../victim")
    os.chown(str(link), owner, -1, follow_symlinks=False)
    if nested:
        (tmp_path / "disk").symlink_to("share/./models")
    model = str((tmp_path / "disk" if nested else link) / "qwen")
    found = run_module("shared_removal", root=str(tmp_path / "root"), model=model)
    assert victim.exists() != goes and found["removed"] == ([model] if goes else [])
    assert goes or f"behind a link of another user ({link})" in found["kept"][0]["reason"].replace("/./", "/")
