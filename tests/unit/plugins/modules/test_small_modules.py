# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that do one thing with code of module_utils: what they refuse, change and return."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tarfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import sdist
from ansible_collections.ascend.inference.plugins.module_utils.install.sdist import (
    SdistError,
    origin_path,
)
from ansible_collections.ascend.inference.plugins.modules import (
    firewall,
    host_info,
    outside_ports,
    python_venv,
    sdist_file,
    service_metrics_info,
)

CONFIG = {"hidden_size": 64, "num_attention_heads": 4, "torch_dtype": "float16", "name": "模型"}


@pytest.fixture
def model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (tmp_path / "config.json").chmod(0o640)
    (tmp_path / "quant_model_description.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("repairs", "changed"),
    [
        ([], {}),
        (["head_dim"], {"head_dim": 16}),
        (["torch_dtype"], {"torch_dtype": "bfloat16"}),
        (["head_dim", "torch_dtype"], {"head_dim": 16, "torch_dtype": "bfloat16"}),
    ],
)
def test_a_configuration_is_repaired_once_with_a_backup(run_module, model, repairs, changed):
    place = model / "config.json"
    before = place.read_text(encoding="utf-8")
    check = run_module("model_config", path=str(model), repairs=repairs, check=True)
    assert (check["changed"], check["backup"], len(check["notices"])) == (bool(changed), "", len(changed))
    assert place.read_text(encoding="utf-8") == before
    found = run_module("model_config", path=str(model), repairs=repairs)
    assert found["changed"] is bool(changed) and json.loads(place.read_text(encoding="utf-8")) == {**CONFIG, **changed}
    assert found["diff"]["before"] == before and found["diff"]["after"] == place.read_text(encoding="utf-8")
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    backup = model / ".config.json.before-repair"
    assert found["backup"] == (str(backup) if changed else "") and backup.exists() is bool(changed)
    if changed:
        assert backup.read_text(encoding="utf-8") == before and "模型" in found["diff"]["after"]
    again = run_module("model_config", path=str(model), repairs=repairs)
    assert (again["changed"], again["notices"]) == (False, [])


@pytest.mark.parametrize(
    ("text", "word"), [("{", "cannot be read or written"), ("[]", "cannot be read or written"), (None, "No such file")]
)
def test_a_configuration_that_is_none_is_named(run_module, model, text, word):
    (model / "config.json").unlink()
    if text is not None:
        (model / "config.json").write_text(text)
    found = run_module("model_config", path=str(model), repairs=["head_dim"])
    assert found["failed"] and word in found["msg"] and str(model) in found["msg"]


@pytest.mark.parametrize("weights", [True, False])
def test_weights_are_looked_for_on_demand(run_module, model, weights):
    (model / "model.safetensors.index.json").write_text('{"weight_map": {"a": "1.bin", "b": "0.bin"}}')
    found = run_module("model_config", path=str(model), repairs=["head_dim"], weights=weights)
    assert found["failed"] is weights and (model / ".config.json.before-repair").exists() is not weights
    assert not weights or "incomplete: 0.bin is missing; 1.bin is missing." in found["msg"]


SDIST = {"package": "p", "version": "1", "member": "a/b.py", "python": "/usr/bin/python3"}


@pytest.mark.parametrize(
    ("origin", "sha256", "changed"),
    [
        ("p 1 a/b.py", "", False),
        ("p 1 a/b.py", "own", False),
        ("p 1 a/b.py", "0" * 64, True),
        ("p 2 a/b.py", "", True),
        (None, "", True),
    ],
)
def test_a_file_of_a_source_distribution_is_fetched_if_it_differs(
    run_module, tmp_path, monkeypatch, origin, sha256, changed
):
    dest = tmp_path / "b.py"
    dest.write_text("x")
    own = hashlib.sha256(b"x").hexdigest()
    if origin:
        with open(origin_path(str(dest)), "w") as stream:
            stream.write(origin + "\n")
    asked = []
    monkeypatch.setattr(sdist_file, "fetch", lambda params, given: asked.append(given) or "new")
    options = dict(SDIST, dest=str(dest), sha256=own if sha256 == "own" else sha256)
    check = run_module("sdist_file", check=True, **options)
    assert check["changed"] is changed and asked == []
    found = run_module("sdist_file", **options)
    assert (found["changed"], found["sha256"]) == (changed, "new" if changed else own)
    assert asked == (["p 1 a/b.py"] if changed else [])
    assert not changed or found["diff"]["after"] == "p 1 a/b.py\n"


def test_a_distribution_that_cannot_be_fetched_is_a_failure(run_module, tmp_path, monkeypatch):
    def fetch(_params, _origin):
        raise SdistError("no\x1b such version")

    monkeypatch.setattr(sdist_file, "fetch", fetch)
    found = run_module("sdist_file", dest=str(tmp_path / "b.py"), **SDIST)
    assert found["failed"] and found["msg"] == "no\\x1b such version"


def test_ports_that_answer_from_outside(run_module, monkeypatch):
    rules = [
        {"ports": str(port), "from": source, "for": f"f{port}"}
        for port, source in ((1, "cluster"), (2, "client"), (3, "cluster"), (4, "monitoring"))
    ]
    asked = []

    def probe(given, timeout):
        asked.append(timeout)
        return [target for target in given if target.port in (1, 2)], [
            (target, "no route") for target in given if target.port == 4
        ]

    monkeypatch.setattr(outside_ports, "probe", probe)
    hosts = [{"name": "n1", "address": "10.0.0.1", "firewall": rules}]
    found = run_module("outside_ports", hosts=hosts, timeout=7)
    ports = {key: [item["port"] for item in found[key]] for key in ("open", "exposed", "untried")}
    assert ports == {"open": [1, 2], "exposed": [1], "untried": [4]} and asked == [7] and not found["changed"]
    assert found["open"][0] == {"host": "n1", "address": "10.0.0.1", "port": 1, "sources": ["cluster"], "what": "f1"}
    assert found["text"].startswith("3 planned ports were tried from here, each for 7 s.")
    assert run_module("outside_ports", hosts=[{"name": "n1"}])["msg"] == "hosts are not those of a plan: 'firewall'"


@pytest.mark.parametrize(("seconds", "good"), [(0, False), (1, True), (60, True)])
def test_a_window_of_counters_has_at_least_a_second(run_module, monkeypatch, seconds, good):
    asked = []
    monkeypatch.setattr(service_metrics_info, "watch", lambda *given: asked.append(given) or {"a": None})
    listed = [{"name": "a", "kind": "engine", "url": "http://n1"}]
    found = run_module("service_metrics_info", services=listed, seconds=seconds, engine_api_key="k")
    assert found["failed"] is not good
    if good:
        assert (
            asked == [(listed, "k", float(seconds))] and found["services"] == {"a": None} and found["changed"] is False
        )
    else:
        assert asked == [] and "Fix: set it to 60" in found["msg"]


@pytest.mark.parametrize(
    ("code", "member", "sha256", "word"),
    [
        (0, "a/b.py", "", ""),
        (0, "a/b.py", hashlib.sha256(b"text").hexdigest(), ""),
        (0, "a/b.py", "0" * 64, "expected 0000"),
        (0, "b.py", "", "p-1.tar.gz has no file b.py"),
        (1, "a/b.py", "", "fetching p 1 failed:\nno network"),
        (None, "a/b.py", "", "fetching p 1 failed"),
    ],
)
def test_one_file_of_the_distribution_is_taken(tmp_path, code, member, sha256, word):
    folders = []

    def run(argv, env):
        folder = argv[argv.index("--dest") + 1]
        folders.append(folder)
        assert (
            argv[:5] == ["python3", "-m", "pip", "download", "--quiet"] and argv[-1] == "p==1" and "--no-deps" in argv
        )
        assert argv[argv.index("--no-binary") + 1] == "p", "a wheel would run no build, and has other files"
        assert os.path.exists(os.path.join(env["PYTHONPATH"], "setuptools", "build_meta.py"))
        if code is not None:
            with tarfile.open(os.path.join(folder, "p-1.tar.gz"), "w:gz") as opened:
                entry = tarfile.TarInfo("p-1/a/b.py")
                entry.size = 4
                opened.addfile(entry, io.BytesIO(b"text"))
        return code or 0, "no network"

    dest = tmp_path / "b.py"
    wish = dict(SDIST, python="python3", member=member, dest=str(dest), sha256=sha256)
    if word:
        with pytest.raises(SdistError, match=word.replace("(", r"\(")):
            sdist.fetch(wish, "p 1 a/b.py", run)
        assert list(tmp_path.iterdir()) == []
    else:
        assert sdist.fetch(wish, "p 1 a/b.py", run) == hashlib.sha256(b"text").hexdigest()
        assert dest.read_text() == "text" and sdist.present(str(dest), "") == (
            "p 1 a/b.py",
            hashlib.sha256(b"text").hexdigest(),
        )
    assert not any(os.path.exists(folder) for folder in folders)


def test_each_option_of_host_info_reaches_its_fact(run_module, monkeypatch):
    asked = {}

    def gather_host(models, every_byte, disks, reference, user, group):
        given = {"models": models, "every_byte": every_byte, "disks": disks, "reference": reference}
        asked.update(given, user=user, group=group)
        return {"warnings": ["slow\x1b disk"], "processors": 1}

    monkeypatch.setattr(host_info, "gather_host", gather_host)
    options = {"models": ["/m"], "every_byte": True, "reference": 7.5, "user": "u", "disks": ["/d"]}
    found = run_module("host_info", driver_group="g", **options)
    assert asked == dict(options, group="g")
    run_module("host_info")
    assert asked == {"models": [], "every_byte": False, "disks": [], "reference": None, "user": "", "group": ""}
    assert (found["processors"], found["changed"], len(found["warnings"])) == (1, False, 1) and "\x1b" not in found[
        "warnings"
    ][0]


@pytest.mark.parametrize("backend", ["nftables", "firewalld"])
def test_a_host_without_the_program_of_its_firewall_is_told_which(run_module, monkeypatch, tmp_path, backend):
    monkeypatch.setattr(firewall.AnsibleModule, "get_bin_path", lambda *_arguments: None)
    monkeypatch.setattr(firewall, "sshd_ports", lambda: [22])
    folders = {name: str(tmp_path / name) for name in ("directory", "units", "firewalld")}
    found = run_module("firewall", deployment="a", backend=backend, check=True, **folders)
    assert (found["missing"], found["backend"]) == ({"nftables": "nft", "firewalld": "firewall-cmd"}[backend], backend)
    assert found["changed"] and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wanted", [True, False])
def test_hashes_of_a_lock_are_returned_on_request(tmp_path, wanted):
    params = {"path": str(tmp_path), "layer": "base", "return_hashes": wanted}
    lock = python_venv.Builder(str(tmp_path), "").lock_path("base")
    os.makedirs(os.path.dirname(lock))
    with open(lock, "w") as stream:
        stream.write("a==1\n")
    assert python_venv.lock_of(params) == ({"hashes": "a==1\n"} if wanted else {})


@pytest.mark.parametrize("check", [True, False])
def test_an_archive_of_logs_is_written_unless_it_is_only_checked(run_module, tmp_path, check):
    (tmp_path / "source").mkdir()
    options = {
        "source": str(tmp_path / "source"),
        "path": str(tmp_path / "a.tar.gz"),
        "deployment": "a",
        "hosts": ["n1"],
    }
    found = run_module("support_archive", check=check, **options)
    assert found["changed"] and found["missing"] == ["n1"]
    written = (tmp_path / "a.tar.gz").stat().st_size if (tmp_path / "a.tar.gz").exists() else 0
    assert found["bytes"] == written and (written == 0) is check
