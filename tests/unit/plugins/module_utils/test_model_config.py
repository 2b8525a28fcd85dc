# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of config.json, and weights that are not all there."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import model_config as model
from ansible_collections.ascend.inference.plugins.module_utils.tools import foreign_json

PLAIN = {"hidden_size": 3584, "num_attention_heads": 28, "torch_dtype": "float16"}


def test_head_dim_is_computed_and_what_was_given_is_left_alone():
    after, notices = model.repaired(PLAIN, quantized=False)
    assert after["head_dim"] == 128 and after["torch_dtype"] == "float16"
    assert len(notices) == 1 and "128" in notices[0]
    assert "head_dim" not in PLAIN
    assert model.repaired(after, quantized=False) == (after, [])


@pytest.mark.parametrize(
    "config",
    [
        {"hidden_size": 7168, "num_attention_heads": 128, "kv_lora_rank": 512},  # latent attention
        {"hidden_size": 100, "num_attention_heads": 3},
        {"hidden_size": "100", "num_attention_heads": 0},
        {"hidden_size": 4096, "num_attention_heads": 64, "head_dim": 128},
        {},
    ],
)
def test_head_dim_is_not_guessed(config):
    assert model.repaired(config, False) == (config, [])


def test_text_config_is_where_the_text_models_words_are():
    config = {"text_config": {"hidden_size": 64, "num_attention_heads": 4, "dtype": "float32"}}
    after, notices = model.repaired(config, True)
    assert after["text_config"] == {"hidden_size": 64, "num_attention_heads": 4, "dtype": "bfloat16", "head_dim": 16}
    assert after["torch_dtype"] == "bfloat16"
    assert len(notices) == 3


def test_quantised_weights_get_bfloat16_and_others_never():
    for more, quantized in (({}, True), ({"quantization_config": {"quant_method": "ascend"}}, False)):
        after, _notices = model.repaired({**PLAIN, **more}, quantized, ["torch_dtype"])
        assert after["torch_dtype"] == "bfloat16" and "head_dim" not in after
    assert model.repaired({"dtype": "float16"}, True, ["torch_dtype"])[0] == {"dtype": "bfloat16"}
    assert model.repaired(PLAIN, True, []) == (PLAIN, [])


def test_weights(tmp_path):
    folder = str(tmp_path)
    assert model.missing_weights(folder) == []
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (tmp_path / model.INDEX).write_text(json.dumps(index))
    (tmp_path / "one.safetensors").write_bytes(b"12345")
    assert model.missing_weights(folder) == ["two.safetensors is missing"]
    (tmp_path / "two.safetensors").write_bytes(b"12")
    assert "7 bytes, but model.safetensors.index.json states 8" in model.missing_weights(folder)[0]
    (tmp_path / "two.safetensors").write_bytes(b"123")
    assert model.missing_weights(folder) == []


def test_backups_never_replace_each_other(tmp_path):
    place = tmp_path / "config.json"
    names = []
    for _number in range(3):
        names.append(model.backup_path(str(place)))
        open(names[-1], "w").close()
    assert len(set(names)) == 3
    assert all(name.startswith(str(tmp_path / ".config.json.before-repair")) for name in names)


MODEL = {**PLAIN, "architectures": ["Qwen2ForCausalLM"]}


def repair(run_module, folder):
    return run_module("model_config", path=str(folder), repairs=["head_dim"])


@pytest.mark.parametrize("there", [True, False])
def test_a_backup_is_written_through_no_link(tmp_path, run_module, there):
    """Who made the model may have put one there, to a file that exists or that root would make."""
    model_folder, victim = tmp_path / "model", tmp_path / "victim"
    model_folder.mkdir()
    (model_folder / "config.json").write_text(json.dumps(MODEL))
    (model_folder / ".config.json.before-repair").symlink_to(victim)
    if there:
        victim.write_text("mine")
    found = repair(run_module, model_folder)
    assert found["changed"] and found["backup"].endswith("config.json.before-repair-1"), found
    assert json.loads((model_folder / ".config.json.before-repair-1").read_text()) == MODEL
    assert victim.exists() == there and (not there or victim.read_text() == "mine")


def test_a_backup_has_the_mode_and_the_bytes_of_the_original(tmp_path, run_module):
    (tmp_path / "config.json").write_bytes(json.dumps(MODEL, indent=1).replace("\n", "\r\n").encode())
    (tmp_path / "config.json").chmod(0o640)
    before = (tmp_path / "config.json").read_bytes()
    backup = tmp_path / ".config.json.before-repair"
    assert repair(run_module, tmp_path)["backup"] == str(backup)
    assert backup.read_bytes() == before and backup.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "config.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("kind", ["pipe", "sparse"])
def test_no_file_of_the_model_holds_root_up(tmp_path, run_module, monkeypatch, kind):
    place = tmp_path / "config.json"
    if kind == "pipe":
        os.mkfifo(str(place))
    else:
        monkeypatch.setattr(foreign_json, "MOST", 2**20)
        with open(str(place), "wb") as stream:
            stream.truncate(2**43)
    found = repair(run_module, tmp_path)
    assert found["failed"] and "cannot be read or written" in found["msg"]


@pytest.mark.parametrize(
    ("config", "head_dim"),
    [
        ({"hidden_size": 64, "num_attention_heads": 1}, 64),
        ({"hidden_size": 64, "num_attention_heads": 0}, None),
        ({"hidden_size": 64, "num_attention_heads": 4, "head_dim": None}, 16),
        ({"hidden_size": 64, "num_attention_heads": 4, "kv_lora_rank": None}, 16),
        ({"hidden_size": 64.0, "num_attention_heads": 4}, None),
        ({"hidden_size": 64, "num_attention_heads": 4, "text_config": {"num_attention_heads": 2}}, 16),
        ({"hidden_size": 64, "num_attention_heads": 4, "text_config": []}, 16),
    ],
)
def test_which_models_get_a_head_dim(config, head_dim):
    assert model.repaired(config, False)[0].get("head_dim") == head_dim


def test_names_of_weights_come_in_order_and_a_size_is_a_lower_bound(tmp_path):
    (tmp_path / model.INDEX).write_text(json.dumps({"weight_map": {"a": "2.bin", "b": "1.bin", "c": "3.bin"}}))
    (tmp_path / "3.bin").mkdir()
    assert model.missing_weights(str(tmp_path)) == ["1.bin is missing", "2.bin is missing", "3.bin is missing"]
    (tmp_path / "1.bin").write_bytes(b"more than stated")
    for text, words in (
        ('{"weight_map": {"a": "1.bin"}, "metadata": {"total_size": 3}}', []),
        ("{}", []),
        ("[]", ["is not an index"]),
        ("{", ["is not JSON"]),
    ):
        (tmp_path / model.INDEX).write_text(text)
        found = model.missing_weights(str(tmp_path))
        assert len(found) == len(words) and all(word in message for word, message in zip(words, found))


def test_the_description_of_quantised_weights_is_known_by_its_name(tmp_path):
    (tmp_path / "no_quant_model_description.json").write_text("")
    assert not model.is_quantized(str(tmp_path))
    (tmp_path / "quant_model_description.json").write_text("")
    assert model.is_quantized(str(tmp_path))
