# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action bundle: what it lists, fetches, writes and signs, in which order, what it refuses, and what it verifies."""

from __future__ import annotations

import hashlib
import os
import pathlib
import sys
import types

import pytest
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.action import bundle as action
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import VenvError
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import Contents, Environment
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.images import Image
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.make import Listing
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import (
    BundleError,
    item,
    manifest,
    read,
    read_with_digest,
    write,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding

ARM, HERE = Platform("aarch64", "3.11", "2.34"), Platform("x86_64", "3.12", "2.39")
IMAGE = Image("q/cann:1", "aarch64", "docker://q/cann@x", '{"layers": []}', "{}")
DEBIAN = {"name": "debian", "version": "12", "machine": "aarch64", "names": ["nginx"]}
KINDS = ("source", "wheel", "deb", "collection", "lock", "layout")


def finding(name):
    return Finding(name, "bundle_fetch", f"no {name}", "mend it")


def entry(kind, size=2**20):
    sha = f"{KINDS.index(kind)}" * 64
    return item(kind, f"a.{kind}", "https://x", sha, size, f"blobs/{sha}/a.{kind}")


class Act:
    """Runs the action with steps that only record; ``problems``: {step: finding}."""

    def __init__(self, monkeypatch, tmp_path):
        self.steps, self.shown, self.signed, self.problems, self.uv = [], [], [], {}, 0
        self.path, self.missing_later, self.fetching, self.unpacked = str(tmp_path / "new" / "bundle"), [], True, []
        self.wanted = Contents(environments=[Environment("uv", ARM, {})], missing=["the model m"])
        self.made, self.given, self.rows, self.folder, self.known = {}, None, [{"name": "row"}], "", None
        self.signature = types.SimpleNamespace(
            exists=self.exists,
            sign=lambda *all_: self.signed.append(("gpg", *all_)),
            sign_minisign=lambda *all_: self.signed.append(("minisign", *all_)),
            MINISIGN="minisign",
        )
        self.signatures = []
        for name in ("Apt", "Dnf"):
            monkeypatch.setattr(action, name, lambda folder, name=name: (name, folder))
        for name, new in {
            "Display": lambda: types.SimpleNamespace(display=self.shown.append),
            "contents": self.contents,
            "installed_uv": self.installed_uv,
            "Resolution": lambda *all_: ("resolution", *all_),
            "Registry": lambda: "registry",
            "Given": lambda *all_: ("given", *all_),
            "Git": lambda folder, given: ("git", folder, given),
            "table": lambda rows, missing: f"table of {rows} without {missing}\x1b",
            "listed": self.listed,
            "fetched_sources": self.fetched_sources,
            "fetched": self.fetched,
            "fetched_images": self.fetched_images,
            "fetched_packages": self.fetched_packages,
            "for_controller": self.for_controller,
            "locks": lambda listing, path: [self.step("locks", path) and entry("lock")],
            "items_of_images": lambda images, path: [self.step("index", images, path) and entry("layout")],
            "distributions": lambda listing: [DEBIAN],
            "signature": self.signature,
            "this_machine": HERE.as_dict,
        }.items():
            monkeypatch.setattr(action, name, new)
        monkeypatch.setattr(action.controller, "collections", self.collections)
        monkeypatch.setattr(Listing, "rows", lambda listing: self.rows)
        monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {"of_ansible": 1})

    def step(self, name, *more):
        self.steps.append(name)
        self.made[name] = more
        return True

    def found(self, name):
        return [self.problems[name]] if name in self.problems else []

    def exists(self, path, kind="gpg"):
        assert path == self.path
        return kind in self.signatures

    def contents(self, plan, hosts, models):
        self.given, self.models = (plan, hosts), models
        return self.wanted

    def installed_uv(self):
        self.uv += 1
        return "/uv", "pip's options"

    def collections(self, names, folder):
        assert names == ["ascend.inference"] and os.path.isdir(folder)
        return ["/archive"], self.unpacked

    def listed(self, wanted, resolution, registry, fetchers, git):
        assert wanted is self.wanted and registry == "registry"
        self.folder = resolution[3]
        assert os.path.isdir(self.folder)
        assert fetchers == {"Debian": ("Apt", self.folder), "RedHat": ("Dnf", self.folder)}
        self.step("listed", resolution, git)
        layers = [(each, []) for each in wanted.environments]
        return Listing(wanted, layers, [IMAGE], findings=self.found("listed"))

    def fetched_sources(self, listing, resolution, git, store, known):
        assert (resolution, git) == self.made["listed"] and os.path.isdir(self.path)
        self.step("sources", store.folder, store.base)
        self.known = known
        self.wanted.missing += self.missing_later
        return [entry("source")], self.found("sources")

    def fetched(self, listing, resolution, store):
        self.step("files")
        if self.fetching:
            store.fetched += ["b", "a"]
            store.fetched_bytes += 3 * 2**20
        os.makedirs(os.path.join(store.folder, "incomplete"), exist_ok=True)
        return [entry("wheel")], self.found("files")

    def fetched_images(self, listing, registry, store):
        self.step("images")
        return self.found("images")

    def fetched_packages(self, listing, fetchers, store):
        self.step("packages")
        return [entry("deb")], self.found("packages")

    def for_controller(self, platform, archives, store):
        self.step("controller", platform, archives)
        return [entry("collection")]

    def __call__(self, check=False, **options):
        acting = action.ActionModule.__new__(action.ActionModule)
        acting._load_name = "ascend.inference.bundle"  # ansible-core 2.17 names it in errors
        given = {"path": self.path, "plan": {"p": 1}, "hosts": {}, **options}
        given = {name: value for name, value in given.items() if value is not None}
        acting._task = types.SimpleNamespace(args=given, check_mode=check)
        return acting.run()


@pytest.fixture
def act(monkeypatch, tmp_path):
    return Act(monkeypatch, tmp_path)


ALL = ["listed", "sources", "files", "images", "packages", "controller", "locks", "index"]


def test_a_bundle_is_made(act):
    act.missing_later = ["what CMake\x1b may fetch"]
    found = act(head={"plan": "llm"})
    assert act.steps == ALL and act.given == ({"p": 1}, {})
    items = [entry(kind) for kind in KINDS]
    assert found == {
        "of_ansible": 1,
        "changed": True,
        "files": items,
        "missing": ["the model m", "what CMake\x1b may fetch"],
        "fetched": ["a", "b"],
        "fetched_bytes": 3 * 2**20,
        "sums": f"{act.path}/SHA256SUMS",
    }
    head = {"plan": "llm", "missing": found["missing"], "images": [IMAGE.as_dict()], "distributions": [DEBIAN]}
    assert read(act.path) == manifest(head, items, [ARM]), "the controller's platform is none of hosts"
    assert act.shown == [
        "table of [{'name': 'row'}] without ['the model m']\\x1b",
        "Not in the bundle, perhaps needed on the hosts: what CMake\\x1b may fetch",
        f"{act.path}: 6 files, 6.0 MiB; fetched now: 2 files, 3.0 MiB",
    ]
    assert act.made["sources"] == (act.path, "") and act.made["locks"] == (act.path,)
    assert act.made["index"] == ([IMAGE], act.path) and act.signed == []
    assert sorted(os.listdir(act.path)) == ["SHA256SUMS", "manifest.json"], "no empty folder is left"
    assert not os.path.exists(act.folder)


def test_a_begun_download_is_kept(act):
    os.makedirs(f"{act.path}/incomplete/part")
    assert act()["changed"] and os.listdir(f"{act.path}/incomplete") == ["part"]


def test_the_same_bundle_again_is_no_change(act):
    act()
    act.fetching, act.wanted.environments[1:] = False, []
    assert act()["changed"] is False
    act.wanted.environments[1:] = []
    act.fetching = True
    assert act()["changed"] is True, "a file that was lost is fetched"
    act.fetching, act.wanted.environments[1:] = False, []
    assert act(head={"plan": "other"})["changed"] is True


@pytest.mark.parametrize("how", [{"check": True}, {"state": "listed"}])
def test_only_a_list(act, how):
    found = act(**how)
    assert found == {"of_ansible": 1, "changed": False, "files": act.rows, "missing": ["the model m"]}
    assert act.steps == ["listed"] and not os.path.exists(act.path) and len(act.shown) == 1


def test_contents_that_cannot_be_listed(act):
    act.wanted.findings = [finding("h2"), finding("h1")]
    found = act()
    lines = found["msg"].splitlines()
    assert lines[0] == "The list of the bundle cannot be made. Nothing was fetched."
    assert found["msg"].index("no h1") < found["msg"].index("no h2")
    assert (found["failed"], found["changed"], act.steps, act.uv) == (True, False, [], 0)


def test_an_incomplete_list_is_shown_and_refused(act):
    act.problems["listed"] = finding("x")
    found = act(state="listed")
    assert found["failed"] and "The list of the bundle is not complete. Nothing was fetched." in found["msg"]
    assert act.steps == ["listed"] and len(act.shown) == 1 and not os.path.exists(act.path)


@pytest.mark.parametrize("step", ["sources", "files", "images", "packages"])
def test_all_that_can_be_fetched_is_fetched_and_nothing_written(act, step):
    act.problems[step] = finding(step)
    found = act(sign="key")
    assert found["failed"] and not found["changed"] and f"no {step}" in found["msg"]
    assert "What was fetched is kept; the next run goes on." in found["msg"]
    assert act.steps == ALL[:5] and not os.path.exists(f"{act.path}/manifest.json") and act.signed == []


def test_problems_of_all_steps_are_told_at_once(act):
    act.problems = {name: finding(name) for name in ("sources", "files", "images", "packages")}
    message = act()["msg"]
    assert all(f"no {name}" in message for name in act.problems)


def test_signed_if_new_or_without_this_signature(act):
    keys = {"sign": "A1", "minisign_key": "/key"}
    both = [("gpg", act.path, "A1"), ("minisign", act.path, "/key")]

    def again(*signatures, **options):
        act.signed.clear()
        act.signatures, act.wanted.environments[1:] = signatures, []
        act(**options)
        return act.signed

    assert again("gpg", "minisign", **keys) == both, "its manifest is new"
    assert again("gpg", "minisign", **keys) == []
    assert again("minisign", **keys) == both[:1]
    assert again("gpg", **keys) == both[1:]
    assert again() == []


def test_an_older_bundle_is_the_base(act, tmp_path):
    base = str(tmp_path / "base")
    os.makedirs(base)
    write(base, manifest({}, [entry("wheel")], [ARM]))
    os.makedirs(act.path)
    write(act.path, manifest({}, [entry("source")], [ARM]))
    act(base=base)
    assert read(act.path)["base"] == read_with_digest(base)[1]
    assert act.made["sources"] == (act.path, base) and act.known == [entry("source"), entry("wheel")]


def test_a_base_that_is_no_bundle_is_refused(act, tmp_path):
    found = act(base=str(tmp_path))
    assert found["failed"] and f"{tmp_path} is no bundle" in found["msg"] and act.steps == []


def test_without_a_base_the_manifest_names_none(act):
    act()
    assert "base" not in read(act.path) and act.known == []


def test_what_resolves_and_given_archives(act):
    act(archives="/given", archive_checksums={"a.tar.gz": "1"})
    resolution, git = act.made["listed"]
    assert resolution == ("resolution", "/uv", action.run_command, act.folder, "pip's options")
    assert git == ("git", act.folder, ("given", "/given", {"a.tar.gz": "1"}))


def test_the_controller_gets_this_ansible(act):
    act.unpacked = ["x.y"]
    missing = act()["missing"]
    assert act.made["controller"] == (HERE, ["/archive"])
    own = act.wanted.environments[-1]
    assert own.platform == HERE and own.options["requirements"] == [f"ansible-core=={action.ansible_version}"]
    assert missing[1:] == ["collection x.y: it is not installed on this machine, or only as a clone"]


def test_another_controller(act):
    act(controller=ARM.as_dict())
    assert act.made["controller"] == (ARM, ["/archive"])


def test_a_controller_that_no_bundle_serves(act):
    found = act(controller={"machine": "riscv64", "python": "3.11", "glibc": "2.35"})
    assert found["changed"] and "controller" not in act.steps and len(act.wanted.environments) == 1
    assert found["missing"][1].startswith("Ansible for the controller: ") and "riscv64" in found["missing"][1]


def test_without_ansible_and_environments_uv_is_not_needed(act):
    act.wanted.environments = []
    assert act(ansible=False)["missing"] == ["the model m"]
    assert act.uv == 0 and "controller" not in act.steps
    assert act.made["listed"][0][1::3] == ("", "")


def test_environments_of_hosts_get_the_defaults_of_python_venv(act):
    act(hosts={"h1": {"environments": [{"path": "/e", "requirements": "a,b"}], "x": 1}, "h2": {"environments": None}})
    hosts = act.given[1]
    [environment] = hosts["h1"]["environments"]
    assert environment["requirements"] == ["a", "b"] and environment["layer"] == "base"
    assert hosts["h1"]["x"] == 1 and hosts["h2"] == {"environments": []}


def test_an_environment_with_other_options_names_its_host(act):
    found = act(hosts={"h1": {"environments": [{"path": "/e", "no": 1, "layer": "base"}]}})
    assert found["failed"] and found["msg"].startswith("h1: ") and "requirements" in found["msg"]
    assert "; " in found["msg"] and act.given is None


@pytest.mark.parametrize("error", [BundleError, FetchError, VenvError, OSError])
def test_an_error_is_a_message_and_no_traceback(act, monkeypatch, error):
    def fail(*_all):
        raise error("no\x1b[1m way")

    monkeypatch.setattr(action, "listed", fail)
    assert act() == {"of_ansible": 1, "failed": True, "changed": False, "msg": "no\\x1b[1m way"}


@pytest.mark.parametrize("options", [{"path": None}, {"state": "absent"}, {"other": 1}])
def test_options_that_are_refused(act, options):
    with pytest.raises(AnsibleError):
        act(**options)


class Verified:
    """A bundle with one file; the texts that its signatures are of."""

    def __init__(self, act):
        os.makedirs(act.path)
        self.act, self.asked = act, []
        sha = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        place = f"{act.path}/blobs/{sha}"
        os.makedirs(place)
        self.file = f"{place}/a.whl"
        with open(self.file, "w", encoding="utf-8") as stream:
            stream.write("hello")
        write(act.path, manifest({}, [item("wheel", "a.whl", "", sha, 5, f"blobs/{sha}/a.whl")], [ARM]))
        with open(f"{act.path}/SHA256SUMS", encoding="utf-8") as stream:
            self.gpg = self.minisign = stream.read()
        act.signature.verify = lambda *all_: self.asked.append(("gpg", *all_)) or self.gpg
        act.signature.verify_minisign = lambda *all_: self.asked.append(("minisign", *all_)) or self.minisign
        self.digest = read_with_digest(act.path)[1]

    def __call__(self, **options):
        return self.act(state="verified", **options)


@pytest.fixture
def verified(act):
    return Verified(act)


GPG, MINISIGN = {"keyring": "/ring"}, {"minisign_public_key": "RW"}


@pytest.mark.parametrize("keys", [{}, GPG, MINISIGN, {**GPG, **MINISIGN}])
def test_a_bundle_is_verified(verified, keys):
    found = {"files": 1, "platforms": [ARM.as_dict()], "signed": bool(keys), "manifest_sha256": verified.digest}
    found.update(path=verified.act.path, models={})
    assert verified(**keys) == {"of_ansible": 1, "changed": False, **found}
    path, asked = verified.act.path, []
    asked += [("gpg", path, "/ring")] if "keyring" in keys else []
    asked += [("minisign", path, "RW")] if "minisign_public_key" in keys else []
    assert verified.asked == asked and verified.act.steps == []


def test_models_that_were_fetched_into_the_bundle_become_a_part_of_it(act):
    folder = pathlib.Path(act.path) / "models/m"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    rows = [{"name": "config.json", "size": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}]
    (folder / listing.RECORD).write_text(listing.text("modelscope:o/m", "c", rows))
    (folder / listing.RECORD).chmod(0o644)
    act(models=["m"])
    assert act.models == ["m"]
    named = {each["path"] for each in read(act.path)["items"] if each["kind"] == "model"}
    assert named == {"models/m/config.json", f"models/m/{listing.RECORD}"}


@pytest.mark.parametrize(("keys", "kind"), [(GPG, "gpg"), (MINISIGN, "minisign")])
def test_a_signature_of_other_sums_is_refused(verified, keys, kind):
    setattr(verified, kind, "0  other\n")
    found = verified(**keys)
    assert found["failed"] and "SHA256SUMS" in found["msg"] and "differ" in found["msg"]


def test_sums_that_change_between_two_signatures_are_refused(verified):
    verified.gpg = ""
    found = verified(**GPG, **MINISIGN)
    assert found["failed"] and "changed while its signatures were verified" in found["msg"]


def test_a_damaged_bundle_is_refused(verified):
    os.unlink(verified.file)
    found = verified()
    first = f"The bundle {verified.act.path} is damaged. Nothing was copied to a host."
    assert found["failed"] and not found["changed"] and found["msg"].splitlines()[0] == first
    assert "a.whl is missing" in found["msg"] and "signed" not in found


@pytest.fixture
def tools(monkeypatch):
    """What is asked of the environment of uv."""
    asked = []

    class Builder:
        def __init__(self, *all_):
            asked.append(all_)

        def uv(self):
            return "/t/bin/uv" if len(asked) == 1 else ""

    config = types.SimpleNamespace(get_config_value=lambda name: {"ANSIBLE_HOME": "~/a"}[name])
    monkeypatch.setattr(action, "constants", types.SimpleNamespace(config=config))
    monkeypatch.setattr(action, "Builder", Builder)
    monkeypatch.setattr(action, "run_command", lambda *all_: asked.append(all_) or (0, "index", "warning"))
    monkeypatch.setenv("HOME", "/home/u")
    return asked


def test_uv_is_kept_in_the_home_of_ansible(tools):
    folder = "/home/u/a/ascend-inference-tools"
    assert action.installed_uv() == ("/t/bin/uv", "index")
    assert tools == [
        ("", sys.executable, folder),
        ([f"{folder}/bin/python", "-m", "pip", "config", "list"], {}),
    ]


def test_without_uv_nothing_is_asked(tools):
    tools.append("no uv")
    with pytest.raises(VenvError, match="uv is unavailable on the controller"):
        action.installed_uv()
    assert len(tools) == 2
