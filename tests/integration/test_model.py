# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role model: from a folder, an archive or another host; complete or not at all; repaired if requested."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import manifest, models
from ansible_collections.ascend.inference.tests.integration._hub import Hub, tiny_model
from ansible_collections.ascend.inference.tests.integration._playbook import play

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "torch_dtype": "float16",
}


@pytest.fixture
def origin(tmp_path):
    """A model's folder, with an index of its weights and a description of its quantisation."""
    folder = tmp_path / "origin" / "qwen"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "quant_model_description.json").write_text("{}")
    (folder / "one.safetensors").write_bytes(b"12345678")
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "one.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def packed(tmp_path):
    """The model as an archive with its folder."""
    archive = tmp_path / "qwen.tar.gz"
    subprocess.run(["tar", "-C", str(tmp_path / "origin"), "-czf", str(archive), "qwen"], check=True)
    return archive


def test_archive_repaired_once_and_kept(tmp_path, origin):
    archive, place = packed(tmp_path), tmp_path / "models" / "qwen"
    variables = {
        "model_path": str(place),
        "model_source": "archive",
        "model_origin": str(archive),
        "model_repair": True,
    }
    done = play(tmp_path, "model", "--diff", facts=False, **variables)
    assert done.code == 0, done.output
    config = json.loads((place / "config.json").read_text())
    assert config == {**CONFIG, "head_dim": 16, "torch_dtype": "bfloat16"}
    assert json.loads((place / ".config.json.before-repair").read_text()) == CONFIG
    assert "head_dim was missing; set to 16" in done.text
    assert '+  "head_dim": 16' in done.output
    assert not (tmp_path / "models/qwen.unpacking").exists()
    archive.unlink()
    done = play(tmp_path, "model", facts=False, **variables)
    assert (done.code, done.changed) == (0, 0), done.output


def test_an_archive_brings_no_rights_and_replaces_no_file_of_root(tmp_path, origin):
    """Its author decides about owners, modes and links; root unpacks it."""
    victim, archive, place = tmp_path / "victim", tmp_path / "qwen.tar", tmp_path / "models" / "qwen"
    (origin / ".config.json.before-repair").symlink_to(victim)
    (origin / "shell").write_text("#!/bin/sh\n")
    (origin / "shell").chmod(0o6755)
    (origin / "one.safetensors").chmod(0o666)
    (origin / "open").mkdir()
    (origin / "open").chmod(0o2777)
    owner = ["--owner=1234", "--group=1234"]
    subprocess.run(["tar", *owner, "-C", str(tmp_path / "origin"), "-cf", str(archive), "qwen"], check=True)
    more = {"model_source": "archive", "model_origin": str(archive), "model_repair": True}
    done = play(tmp_path, "model", facts=False, model_path=str(place), **more)
    assert done.code == 0, done.output
    assert not victim.exists() and json.loads((place / ".config.json.before-repair-1").read_text()) == CONFIG
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.iterdir()) if not path.is_symlink()
    }
    assert (modes["qwen"], modes["shell"], modes["one.safetensors"], modes["open"]) == (0o755, 0o755, 0o644, 0o755)
    assert {path.lstat().st_uid for path in (place, *place.iterdir())} == {os.geteuid()}


def test_an_archive_brings_no_devices_and_pipes(tmp_path, origin):
    """With the number of the host's disk, and rights to read for all, every user of the host could read all of its files."""
    archive, place = tmp_path / "qwen.tar", tmp_path / "models" / "qwen"
    kinds = {".disk": tarfile.BLKTYPE, ".terminal": tarfile.CHRTYPE, ".pipe": tarfile.FIFOTYPE}
    with tarfile.open(str(archive), "w") as opened:
        opened.add(str(origin), "qwen")
        for name, kind in kinds.items():
            member = tarfile.TarInfo(f"qwen/{name}")
            member.type, member.mode, member.devmajor, member.devminor = kind, 0o666, 7, 250
            opened.addfile(member)
    more = {"model_source": "archive", "model_origin": str(archive)}
    done = play(tmp_path, "model", facts=False, model_path=str(place), **more)
    assert done.code != 0 and "which no model needs: ./." in done.text, done.output
    assert [name for name in kinds if f"./{name}" not in done.text] == [], done.output
    assert not place.exists() and (tmp_path / "models/qwen.unpacking").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("swapped", ["qwen.unpacking", "qwen.unpacking/content", "qwen.unpacking/content/a"])
def test_who_owns_a_folder_above_leads_root_nowhere(tmp_path, swapped):
    """The rights of root's own files stay, and they are not moved."""
    script = pathlib.Path(__file__).resolve().parents[2] / "roles/model/files/place.sh"
    (tmp_path / "models").mkdir()
    (tmp_path / "disk").symlink_to("models")  # the administrator's, which is followed
    content = tmp_path / "disk/qwen.unpacking/content"
    (content / "a/qwen").mkdir(parents=True)
    (content / "a/qwen/config.json").write_text("{}")
    argv = ["sh", "-c", script.read_text(), "place", str(content / "a/qwen"), str(content), str(tmp_path / "disk/qwen")]
    victim = tmp_path / "victim" / (str(content / "a/qwen").split(swapped + "/")[1])
    victim.mkdir(parents=True)
    (victim / "secret").write_text("of root")
    (victim / "secret").chmod(0o600)
    link, away = tmp_path / "disk" / swapped, tmp_path / "away"
    link.rename(away)
    link.symlink_to(tmp_path / "victim")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "is behind a link by now" in done.stderr, done
    assert stat.S_IMODE((victim / "secret").stat().st_mode) == 0o600
    link.unlink()
    away.rename(link)
    subprocess.run(argv, check=True)
    assert (tmp_path / "models/qwen/config.json").exists() and (victim / "secret").exists()


def test_archive_without_all_weights_never_becomes_the_model(tmp_path, origin):
    (origin / "one.safetensors").write_bytes(b"1234")
    archive, place = packed(tmp_path), tmp_path / "models" / "qwen"
    variables = {"model_path": str(place), "model_source": "archive", "model_origin": str(archive)}
    done = play(tmp_path, "model", facts=False, model_origin_on_host=True, **variables)
    assert done.code != 0
    assert "4 bytes, but model.safetensors.index.json states 8" in done.text
    assert not place.exists()


def test_copy_and_its_repair_stay(tmp_path, origin):
    place = tmp_path / "models" / "qwen"
    variables = {"model_path": str(place), "model_source": "copy", "model_origin": str(origin), "model_repair": True}
    assert play(tmp_path, "model", "--check", facts=False, **variables).code == 0
    assert not place.exists()
    done = play(tmp_path, "model", facts=False, **variables)
    assert done.code == 0, done.output
    done = play(tmp_path, "model", facts=False, **variables)
    assert (done.code, done.changed) == (0, 0), done.output
    assert json.loads((place / "config.json").read_text())["head_dim"] == 16


@pytest.mark.skipif(not shutil.which("rsync"), reason="needs rsync")
def test_rsync_goes_on_and_does_not_undo_a_repair(tmp_path, origin):
    place = tmp_path / "models" / "qwen"
    variables = {"model_path": str(place), "model_source": "rsync", "model_origin": str(origin), "model_repair": True}
    done = play(tmp_path, "model", facts=False, **variables)
    assert done.code == 0, done.output
    (place / "one.safetensors").unlink()
    done = play(tmp_path, "model", facts=False, **variables)
    assert (done.code, done.changed) == (0, 1), done.output
    assert json.loads((place / "config.json").read_text())["head_dim"] == 16


def test_a_model_that_is_nowhere(tmp_path):
    done = play(tmp_path, "model", facts=False, model_path=str(tmp_path / "none"))
    assert done.code != 0 and "model_source, model_origin" in done.text


@pytest.mark.long
def test_a_name_on_a_hub_becomes_a_model_by_the_hubs_own_client(tmp_path):
    place, files = tmp_path / "models/m", tiny_model()
    variables = {
        "model_path": str(place),
        "model_source": "modelscope:o/m@v1",
        "model_client_venv": str(tmp_path / "hubs"),
    }
    with Hub(files, token="s3cret") as hub:
        variables.update(model_endpoint=hub.address, model_token="s3cret")
        index = ["env", "-u", "PIP_CONFIG_FILE"]  # of this machine
        hosts = tmp_path / "hosts.json"
        hosts.write_text(json.dumps({"all": {"hosts": {"localhost": {"ansible_python_interpreter": sys.executable}}}}))
        done = play(tmp_path, "model", "-vvv", facts=False, within=index, inventory=hosts, **variables)
        assert done.code == 0 and "s3cret" not in done.output.replace(json.dumps(variables), ""), done.output
        assert {name: (place / name).read_bytes() for name in files} == files
        done = play(tmp_path, "model", facts=False, within=index, inventory=hosts, **variables)
        assert (done.code, done.changed) == (0, 0), done.output


def test_the_playbook_bundle_fetches_a_model_into_its_folder(tmp_path):
    """As ``playbooks/bundle.yml`` calls the role; the manifest then has each file, and a second run fetches nothing."""
    files, bundle = tiny_model(), tmp_path / "bundle"
    with Hub(files) as hub:
        given = {
            "model_path": "/models/m",
            "model_source": f"{hub.address}/web",
            "model_origin": str(bundle / "models/m"),
        }
        for fetched in (1, 1):
            done = play(tmp_path, "model", facts=False, tasks_from="bundle", **given)
            assert done.code == 0, done.output
            assert hub.fetched("model-00001-of-00002.safetensors") == fetched
        manifest.write(str(bundle), manifest.manifest({}, models.items(str(bundle), ["m"]), []))
        data = manifest.read(str(bundle))
        assert manifest.verify(str(bundle), data) == []
        assert models.held(str(bundle), data)["m"]["source"] == f"{hub.address}/web"
        subprocess.run(["sha256sum", "--quiet", "--check", "SHA256SUMS"], cwd=bundle, check=True)
    refused = play(tmp_path, "model", facts=False, tasks_from="bundle", **{**given, "model_source": "copy"})
    assert refused.code != 0 and "nothing says where to fetch it" in refused.text
