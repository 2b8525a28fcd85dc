# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action python_venv: a known stamp answers in place of the module, and only where it is the same."""

from __future__ import annotations

import hashlib
import types

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.action.python_packages_info import in_bundle
from ansible_collections.ascend.inference.plugins.action.python_venv import ActionModule
from ansible_collections.ascend.inference.plugins.module_utils.install.package_lock import alone, of_host, signed
from ansible_collections.ascend.inference.plugins.module_utils.install.venv_options import ARGUMENTS, lock_name, wanted
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import MANIFEST, item, manifest, write
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform

ARGS = {"path": "/venvs/a", "layer": "router", "requirements": ["b==2", "a==1"], "imports": ["a"], "check": "true"}
STAMP = {"requirements": ["a==1", "b==2"], "exclude": [], "imports": ["a"], "check": True}


def known(stamp, path="/venvs/a", layer="router"):
    """What installed_info returns with one layer."""
    return {"environments": {path: {layer: stamp}}}


@pytest.fixture
def act(monkeypatch):
    """``act(installed, delegate_to=None)`` -> (result, options of the module if it was started)."""
    started = []

    def execute(self, name, module_args, task_vars):
        started.append(module_args)
        return {"changed": True, "by": name}

    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    monkeypatch.setattr(ActionBase, "_execute_module", execute)

    def run(installed, delegate_to=None, **more):
        action = ActionModule.__new__(ActionModule)
        action._task = types.SimpleNamespace(args={**ARGS, **more, "installed": installed}, delegate_to=delegate_to)
        return action.run(task_vars={}), started

    return run


def test_the_same_stamp_starts_nothing(act):
    result, started = act(known(STAMP))
    assert started == [] and result["changed"] is False
    assert result["python"] == "/venvs/a/bin/python" and result["diff"]["before"] == result["diff"]["after"] == STAMP


@pytest.mark.parametrize(
    "installed",
    [
        {},
        known({**STAMP, "requirements": ["a==1"]}),
        known({**STAMP, "check": False}),
        known(STAMP, path="/venvs/b"),
        known(STAMP, layer="other"),
        {"environments": {"/venvs/a": {}}},
    ],
)
def test_anything_else_is_left_to_the_module(act, installed):
    result, started = act(installed)
    assert result["by"] == "ascend.inference.python_venv" and len(started) == 1
    assert "installed" not in started[0]


def test_another_host_is_not_judged_by_what_is_known_of_this_one(act):
    assert len(act(known(STAMP), delegate_to="other")[1]) == 1


@pytest.fixture
def act_with_lock(monkeypatch, act, tmp_path):
    """``act_with_lock(text)`` -> options of the module, whose host has the lock ``text``; locks are in a folder of the controller."""

    def execute(self, name, module_args, task_vars):
        started.append(module_args)
        given = module_args["hashes"]
        return {"changed": True, "hashes": text_of["host"] if alone(given) or not given else given}

    started, text_of = [], {}
    monkeypatch.setattr(ActionBase, "_execute_module", execute)

    def run(text, host="a", warned="", **more):
        text_of["host"] = text
        action = ActionModule.__new__(ActionModule)
        action._templar = types.SimpleNamespace(template=lambda written: written)
        action._task = types.SimpleNamespace(args={**ARGS, **more}, delegate_to=None)
        variables = {
            "inference_lock_directory": str(tmp_path / "locks"),
            "inference_index_strategy": "unsafe-first-match",
            "inventory_hostname": host,
        }
        done, before = action.run(task_vars=variables), len(started)
        assert (
            "hashes" not in done
            and warned in "".join(done.get("warnings", ()))
            and bool(warned) == ("warnings" in done)
        )
        return done if done.get("failed") else started[before - 1]

    return run


def lock_of(version, *hashes, **more):
    """A lock of ARGS."""
    options = ArgumentSpecValidator(ARGUMENTS).validate({**ARGS, **more}).validated_parameters
    files = "".join(f" \\\n    --hash=sha256:{each * 64}" for each in hashes or "0")
    return signed(f"a=={version}{files}\n", wanted(options))


def test_a_module_that_resolved_nothing_leaves_no_lock(act_with_lock, tmp_path):
    assert act_with_lock("")["return_hashes"] and not (tmp_path / "locks").exists()


def test_a_lock_that_two_hosts_resolved_is_kept_and_the_others_have_to_confirm_it(act_with_lock, tmp_path):
    first, second = lock_of(1, "0", "1", "2"), lock_of(1, "2", "0", "9")
    assert act_with_lock(first)["hashes"] == ""
    (file,) = (tmp_path / "locks").iterdir()
    assert (
        file.name.startswith("a-router-") and file.read_text() == of_host(first, "a") and alone(file.read_text()) == "a"
    )
    assert act_with_lock(second)["hashes"] == first, "its own one holds for a host"
    assert act_with_lock(second, host="b")["hashes"] == of_host(first, "a"), "and is a proposal for another one"
    assert file.read_text() == lock_of(1, "0", "2"), "the files that both have"
    given = act_with_lock(lock_of(2), host="c")
    assert given["hashes"] == file.read_text() == lock_of(1, "0", "2") and given["confirm_hashes"] is True
    other = {"requirements": ["a==2"]}
    assert act_with_lock(lock_of(2, **other), **other)["hashes"] == "", "a lock of other requirements"


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        (lock_of(1, "e"), "other SHA-256 of a==1"),
        (lock_of(2), "only a has a==2, and only b has a==1"),
        (lock_of(1).replace("a==1 ", "a==1 ; python_version < '3' "), "only a has a==1 ; python_version < '3'"),
    ],
)
def test_a_lock_of_one_host_stops_no_other_one(act_with_lock, tmp_path, forged, said):
    """Right versions with wrong hashes, versions that nobody has, packages that are left out: root of one host wrote any text."""
    act_with_lock(forged)
    (file,) = (tmp_path / "locks").iterdir()
    act_with_lock(lock_of(1), host="b", warned=said)
    assert file.read_text() == of_host(lock_of(1), "b")
    act_with_lock(forged, warned="was dropped")
    act_with_lock(lock_of(1), host="b", warned="was dropped")
    act_with_lock(lock_of(1), host="c")
    assert file.read_text() == lock_of(1)
    act_with_lock(forged)
    assert file.read_text() == lock_of(1), "two hosts have confirmed it"


@pytest.mark.parametrize(
    "forged", [lock_of(1) + "evil @ http://127.0.0.1/evil.whl\n", "a==1\n", ["a"], lock_of(1, layer="x", check=False)]
)
def test_an_answer_that_is_no_lock_is_not_stored(act_with_lock, tmp_path, forged):
    done = act_with_lock(forged)
    assert done["failed"] and "not stored" in done["msg"] and not (tmp_path / "locks").exists()


def test_a_folder_of_locks_gives_out_nothing_else(act_with_lock, tmp_path):
    act_with_lock(lock_of(1))
    (file,) = (tmp_path / "locks").iterdir()
    file.write_text(lock_of(1) + "evil @ http://127.0.0.1/evil.whl\n")
    done = act_with_lock(lock_of(1))
    assert done["failed"] and str(file) in done["msg"] and "evil @" in done["msg"]


def test_strategy_of_the_deployment_is_the_default(act_with_lock):
    assert act_with_lock("")["index_strategy"] == "unsafe-first-match"
    assert act_with_lock("", index_strategy="first-index")["index_strategy"] == "first-index"


PLATFORM = Platform("aarch64", "3.11", "2.34")
HOST = {"platform": PLATFORM.name, "directory": "/cache"}


def bundle_with_locks(folder, *environments):
    """A bundle with a lock of each environment -> the facts of a host."""
    folder.mkdir(exist_ok=True)
    items = []
    for given in environments:
        name = lock_name(ArgumentSpecValidator(ARGUMENTS).validate(given).validated_parameters)
        path = folder / "locks" / PLATFORM.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("lock")
        sha256 = hashlib.sha256(b"lock").hexdigest()
        items.append(item("lock", name, "", sha256, 4, str(path.relative_to(folder)), platforms=[PLATFORM.name]))
    write(str(folder), manifest({}, items, [PLATFORM]))
    return {**HOST, "manifest_sha256": hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()}


@pytest.fixture
def act_with_bundle(monkeypatch, act, tmp_path):
    """``act_with_bundle(host)`` -> (result, options of the module or None) with a bundle that has the lock of ARGS."""
    known = bundle_with_locks(tmp_path / "bundle", ARGS)

    def run(host, **more):
        host, started = {**known, **host} if host else host, []
        monkeypatch.setattr(
            ActionBase, "_execute_module", lambda self, name, module_args, task_vars: started.append(module_args) or {}
        )
        action = ActionModule.__new__(ActionModule)
        action._templar = types.SimpleNamespace(template=lambda written: written)
        action._task = types.SimpleNamespace(
            args={**ARGS, "index_url": "https://index.example", **more}, delegate_to=None
        )
        variables = {
            "inference_bundle": str(tmp_path / "bundle"),
            "inference_lock_directory": str(tmp_path / "locks"),
            "inference_index_strategy": "unsafe-first-match",
        }
        result = action.run(task_vars={**variables, **({"__inference_bundle_host": host} if host else {})})
        return result, started[0] if started else None

    return run


def test_with_a_bundle_nothing_else_is_asked(act_with_bundle, tmp_path):
    result, options = act_with_bundle(HOST)
    assert not result.get("failed") and options["hashes"] == "lock"
    assert (options["no_index"], options["find_links"], options["index_url"]) == (True, ["/cache"], "")
    assert "return_hashes" not in options and "index_strategy" not in options and not (tmp_path / "locks").exists()


def test_a_bundle_of_another_plan_or_platform_installs_nothing(act_with_bundle):
    result, options = act_with_bundle(HOST, requirements=["a==2"])
    assert options is None and result["failed"] and "[bundle_stale]" in result["msg"] and "a==2" in result["msg"]
    result, options = act_with_bundle({**HOST, "platform": "x86_64-python3.11-glibc2.34"})
    assert options is None and "[bundle_stale]" in result["msg"]


def test_a_bundle_that_was_not_copied_installs_nothing(act_with_bundle):
    result, options = act_with_bundle(None)
    assert options is None and result["failed"] and "run the playbook prepare" in result["msg"]
    assert result["changed"] is False


def test_stale_environments_are_named_together_before_the_first_one(tmp_path):
    environments = [{"path": f"/venvs/{name}", "requirements": [f"{name}==1"]} for name in ("a", "b")]
    result = in_bundle(str(tmp_path), bundle_with_locks(tmp_path), environments)
    assert result["failed"] and "a==1" in result["msg"] and "b==1" in result["msg"]
    assert in_bundle(str(tmp_path), bundle_with_locks(tmp_path, *environments), environments) == {
        "changed": False,
        "resolved": [],
        "problems": [],
        "skipped_reason": "",
    }
    assert in_bundle(str(tmp_path), None, environments)["skipped_reason"]
