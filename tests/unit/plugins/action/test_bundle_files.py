# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action bundle_files: what it asks of a host, in which order, and what it refuses before anything is copied."""

from __future__ import annotations

import dataclasses
import os
import tarfile
import types

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.action import bundle_files as action
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.checkouts import Checkout
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import (
    item,
    manifest,
    read_with_digest,
    write,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform

ARM = Platform("aarch64", "3.11", "2.34")
URL = "http://192.0.2.9:8000"
EULER = {"name": "openEuler", "version": "22.03", "machine": "aarch64", "names": ["RedHat-nginx"]}
RPMS = [
    item(kind, name, "", sha * 64, 5, f"blobs/{sha * 64}/{name}", platforms=["aarch64-openEuler-22.03"])
    for kind, name, sha in (("rpm", "n.rpm", "1"), ("key", "RPM-GPG-KEY-1", "2"), ("repository", "repomd.xml", "3"))
]


def members_of(archive):
    with tarfile.open(archive) as opened:
        return {each.name: (opened.extractfile(each).read(), each.uid, each.uname) for each in opened}


@pytest.fixture
def answers():
    """What the module adds to its answer about files."""
    return {}


def sends(acting, asked, tmp_path, monkeypatch):
    """Let the action send files, which are recorded."""
    shell = types.SimpleNamespace(tmpdir="/remote/tmp", join_path=os.path.join)
    acting._connection = types.SimpleNamespace(_shell=shell)
    monkeypatch.setattr(action.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))

    def transfer(archive, remote):
        assert archive.startswith(f"{tmp_path}/"), "Ansible removes it even if this run is killed"
        asked.append((remote, members_of(archive)))

    acting._transfer_file = transfer
    acting._fixup_perms2 = asked.append


@pytest.fixture
def act(tmp_path, monkeypatch, answers):
    """``act(distribution, ...)`` -> (result, options of each run of the module); nothing is on the host."""
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {"of_ansible": 1})
    monkeypatch.setattr(action, "names_of_packages", lambda plan, host, family, known: [f"{family}-nginx"])
    monkeypatch.setattr(action, "lacking_of_cann", lambda plan, *others: plan.get("cann", []))
    monkeypatch.setattr(action, "checkouts", lambda plan, host, known: plan.get("checkouts", []))
    wheel = item("wheel", "a.whl", "", "0" * 64, 5, f"blobs/{'0' * 64}/a.whl", platforms=[ARM.name])
    write(str(tmp_path), manifest({}, [wheel], [ARM]))
    digest = read_with_digest(str(tmp_path))[1]

    def run(distribution, lacking=(), packages=None, items=(), sending=False, check=False, **more):
        asked = []
        if items:
            write(str(tmp_path), manifest({}, [wheel, *items], [ARM]))
            more["manifest_sha256"] = read_with_digest(str(tmp_path))[1]
        if packages:
            write(str(tmp_path), manifest({"distributions": [packages]}, [wheel, *RPMS], [ARM]))
            more["manifest_sha256"] = read_with_digest(str(tmp_path))[1]

        def execute(self, module_name, module_args, task_vars):
            asked.append(module_args)
            if "archive" in module_args:
                return {"changed": True, **answers}
            if "files" in module_args and "url" not in module_args:
                return {"missing": sorted(module_args["files"]), "free": 10**12, **answers}
            host = {"machine": "aarch64", "python": "3.11", "glibc": "2.34", "distribution": distribution}
            missing = [] if "url" in module_args and module_args["state"] == "present" else ["a.whl"]
            answer = {"host": host, "missing": missing, "free": 10**12, "packages": []}
            return {**answer, "packages_of_dnf": list(lacking)}

        monkeypatch.setattr(ActionBase, "_execute_module", execute)
        acting = action.ActionModule.__new__(action.ActionModule)
        args = {
            "path": str(tmp_path),
            "manifest_sha256": digest,
            "directory": "/cache",
            "plan": {"runtime": "docker"},
            **more,
        }
        acting._task = types.SimpleNamespace(args=args, check_mode=check)
        if sending:
            sends(acting, asked, tmp_path, monkeypatch)
        else:
            acting._send = lambda *given: pytest.fail("the controller sends files")
        return acting.run(task_vars={"inventory_hostname": "h"}), asked

    return run


def test_a_host_with_dnf_that_cannot_have_its_packages_is_refused_first(act):
    found, asked = act("openEuler 22.03", ["RedHat-nginx"], state="compared")
    assert found["failed"] and "h has openEuler 22.03 on aarch64 and lacks" in found["msg"] and len(asked) == 2
    assert asked[0]["packages"] == ["Debian-nginx"] and asked[1]["packages_of_dnf"] == ["RedHat-nginx"]
    assert asked[1]["programs"] == {"docker": "docker", "python3-requests": "docker"}


def test_a_host_with_dnf_gets_its_packages_from_the_bundle_whatever_its_sources_offer(act):
    found, asked = act("openEuler 22.03", ["RedHat-nginx"], EULER, state="compared")
    assert not found.get("failed") and asked[1]["offered"] is False
    assert {"n.rpm", "RPM-GPG-KEY-1", "repomd.xml"} < {*asked[2]["files"]}
    expected = {"packages": ["RedHat-nginx"], "repository": True, "repository_type": "rpm"}
    assert {key: found[key] for key in expected} == expected and found["repository_keys"] == ["RPM-GPG-KEY-1"]
    found, asked = act("openEuler 22.03", [], EULER, state="compared")
    assert {*asked[2]["files"]} == {"a.whl"} and (found["repository"], found["repository_type"]) == (False, "")
    found, _asked = act("openEuler 22.03", ["RedHat-etcd"], EULER, state="compared")
    assert "[bundle_stale]" in found["msg"]
    found, asked = act("openEuler 24.03", ["RedHat-nginx"], EULER, state="compared")
    assert "[bundle_distribution]" in found["msg"] and "/etc/yum.repos.d" in found["msg"] and asked[1]["offered"]


@pytest.mark.parametrize("distribution", ["openEuler 22.03", "debian 12", ""])
def test_other_hosts_are_not(act, distribution):
    found, asked = act(distribution, ["RedHat-nginx"] if distribution == "debian 12" else [], state="compared")
    assert not found.get("failed") and found["missing"] == ["a.whl"]
    assert any("packages_of_dnf" in each for each in asked) is distribution.startswith("openEuler")


SOURCE = Checkout("Mooncake", "https://me:secret@git.example/Mooncake.git", "v0.3.9")


def test_sources_that_a_host_builds_are_in_the_bundle_or_named(act):
    found, asked = act("debian 12", state="compared", plan={"checkouts": [SOURCE]})
    assert "[bundle_stale]" in found["msg"] and "https://git.example/Mooncake.git at v0.3.9" in found["msg"]
    assert "secret" not in found["msg"] and len(asked) == 1, "nothing was compared, so nothing is copied"
    held = item("source", SOURCE.archive, SOURCE.origin, "4" * 64, 5, f"blobs/{'4' * 64}/{SOURCE.archive}")
    found, asked = act("debian 12", state="compared", plan={"checkouts": [SOURCE]}, items=[held])
    assert found["sources"] == {"Mooncake-v0.3.9": f"/cache/{SOURCE.archive}"}
    assert SOURCE.archive in asked[-1]["files"] and not found["warnings"]
    fetching = {**held, "downloads": ["https://git.example/umdk.git"]}
    found, _asked = act("debian 12", state="compared", plan={"checkouts": [SOURCE]}, items=[fetching])
    assert ["umdk.git, which is not in the bundle" in text for text in found["warnings"]] == [True]
    found, _asked = act("debian 12", url=URL, state="present", plan={"checkouts": [SOURCE]}, items=[fetching])
    assert not found.get("warnings"), "it was said before"
    fork = {"checkouts": [dataclasses.replace(SOURCE, repository="https://git.example/fork.git")]}
    assert "fork.git at v0.3.9" in act("debian 12", state="compared", plan=fork, items=[held])[0]["msg"]


def test_packages_of_cann_for_another_chip_are_named_before_anything_is_copied(act):
    given = {"state": "compared", "plan": {"cann": ["ops-A3.run"]}, "installed": {"cann": {}}}
    assert not act("debian 12", **given)[0].get("failed"), "it is from elsewhere"
    held = item("cann", "ops-910b.run", "", "5" * 64, 5, f"blobs/{'5' * 64}/ops-910b.run", platforms=[ARM.name])
    found, asked = act("debian 12", items=[held], **given)
    assert "ops-A3.run; it has ops-910b.run. [bundle_stale]" in found["msg"] and len(asked) == 1
    assert not act("debian 12", items=[held], **{**given, "plan": {"cann": ["ops-910b.run"]}})[0].get("failed")
    assert not act("debian 12", items=[held], **{**given, "installed": {}})[0].get("failed"), "nothing was gathered"


@pytest.mark.parametrize("state", ["compared", "present"])
def test_a_host_fetches_from_its_rack_what_it_lacks(act, state):
    found, asked = act("debian 12", url=URL, state=state)
    assert found["missing"] == ["a.whl"] and found["changed"] is (state == "present")
    assert asked[-1]["url"] == URL and asked[-1]["state"] == state and set(asked[-1]["files"]) == {"a.whl"}
    assert asked[-1]["files"]["a.whl"]["path"].endswith("/a.whl") and asked[-1]["manifest_sha256"]


def put(folder):
    """The wheel's file of the bundle, a link as a store of files may have it."""
    (folder / f"blobs/{'0' * 64}").mkdir(parents=True)
    (folder / "wheel").write_bytes(b"12345")
    (folder / f"blobs/{'0' * 64}/a.whl").symlink_to(folder / "wheel")


def test_the_missing_files_are_sent_in_an_archive_and_unpacked(act, answers, tmp_path):
    put(tmp_path)
    found, asked = act("debian 12", sending=True)
    remote = "/remote/tmp/bundle.tar"
    assert asked[2:4] == [(remote, {"a.whl": (b"12345", 0, "")}), ("/remote/tmp", remote)]
    assert asked[4]["archive"] == remote and set(asked[4]["files"]) == {"a.whl"} and asked[4]["directory"] == "/cache"
    assert asked[1]["directory"] == "/cache" and asked[0]["directory"] == "/cache"
    assert found["changed"] and found["missing"] == ["a.whl"] and found["of_ansible"]
    assert found["diff"] == {"before": "", "after": "a.whl\n", "after_header": "/cache"}
    answers.update(failed=True, msg="disk full")
    found, asked = act("debian 12", sending=True)
    assert (found["failed"], found["msg"]) == (True, "disk full") and len(asked) == 2, "comparing has failed"


def test_an_archive_that_cannot_be_unpacked_fails_the_task(act, tmp_path, monkeypatch):
    put(tmp_path)
    monkeypatch.setattr(action.ActionModule, "_send", lambda self, *given: {"failed": True, "msg": "full"})
    monkeypatch.setattr(action, "archives", lambda files, names: [names, ["never sent"]])
    found, _asked = act("debian 12", sending=True)
    assert found["failed"] and found["msg"] == "full" and found["platform"] == ARM.name and found["diff"]["after"]


@pytest.mark.parametrize("options", [{"check": True}, {"state": "compared"}])
def test_nothing_is_sent_unless_asked(act, options):
    found, asked = act("debian 12", **options)
    assert found["missing"] == ["a.whl"] and len(asked) == 2
    assert found["changed"] is ("check" in options) and bool(found["diff"]) is found["changed"]


def test_a_host_without_space_gets_nothing(act, answers):
    answers["free"] = 256 * 2**20 + 9
    found, asked = act("debian 12")
    assert "[bundle_space]" in found["msg"] and len(asked) == 2
    answers["free"] += 1
    assert act("debian 12", state="compared")[0].get("failed") is None


def test_a_host_that_has_all_asks_its_rack_for_nothing(act, answers):
    answers["missing"] = []
    found, asked = act("debian 12", url=URL)
    assert found["changed"] is False and found["diff"] == {} and not any("url" in each for each in asked)


@pytest.mark.parametrize("first", [{"failed": True, "msg": "no python", "host": {}}, {"skipped": True}])
def test_a_module_that_does_not_answer_ends_it(act, monkeypatch, first):
    monkeypatch.setattr(action.ActionModule, "_module", lambda self, task_vars, **options: first)
    found, _asked = act("debian 12")
    assert found == {"of_ansible": 1, **first}


def test_where_images_run_nothing_else_is_installed(act, monkeypatch):
    image = {"name": "i:1", "digest": "sha256:1", "config": "sha256:2", "parts": {}, "machine": "aarch64"}
    monkeypatch.setattr(action, "images_of_host", lambda data, names, machine, host: [image] if names else [])
    monkeypatch.setattr(action, "prove_digests", lambda bundle, images: None)
    parts = {name: {"path": f"p/{name}", "sha256": "1", "size": 1} for name in ("part-2", "part-1", "part-3", "part-0")}
    monkeypatch.setattr(action, "parts_of_images", lambda data, images: parts if images else {})
    given = {"state": "compared", "plan": {"checkouts": [SOURCE], "cann": ["x.run"]}, "installed": {"cann": {}}}
    found, asked = act("debian 12", images=["i:1"], engine="podman", **given)
    named = [{"name": "i:1", "digest": "sha256:1", "config": "sha256:2"}]
    assert asked[1] == {
        "directory": "/cache",
        "files": parts,
        "images": named,
        "parts": {"i:1": sorted(parts)},
        "engine": "podman",
    }
    expected = {
        "platform": "aarch64",
        "cann_checksums": {},
        "directory": "/cache",
        "images": named,
        "packages": [],
        "repository": False,
        "repository_keys": [],
        "repository_type": "",
        "sources": {},
    }
    assert {key: found[key] for key in expected} == expected
    found, asked = act("debian 12", state="compared", plan={})
    assert asked[1] == {"directory": "/cache", "files": asked[1]["files"]} and asked[0]["packages"] == []
    assert found["platform"] == ARM.name and found["images"] == []


def test_a_host_without_a_plan_builds_no_sources(act, monkeypatch):
    monkeypatch.setattr(action, "checkouts", lambda *asked: pytest.fail("there is no plan to read sources from"))
    assert not act("debian 12", state="compared", plan={})[0].get("failed")
