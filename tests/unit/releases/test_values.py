# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collectors of keys and values, on made-up sources, and the words that they wrote."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.releases import values
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.releases import ascend_values, vllm_values

VLLM = {
    "vllm/config/compilation.py": "class Mode(enum.Enum):\n    NONE = 0\n    FULL = 2\n\n"
    "class CompilationConfig:\n    mode: Mode = None\n    sizes: list[int] | None = None\n    level: int | None = None\n"
    "    pass_config: PassConfig = None\n    _private: int = 1\n    derived: int = field(init=False)\n"
    "class PassConfig:\n    fuse: bool = False\n",
    "vllm/config/speculative.py": 'MtpTypes = Literal["mtp", "old_mtp"]\nMethod = Literal["ngram", MtpTypes]\n'
    "class SpeculativeConfig:\n    method: Method | None = None\n",
    "vllm/reasoning/__init__.py": '_REASONING_PARSERS_TO_REGISTER = {"qwen3": ("file", "Class")}\n',
    "vllm/reasoning/own.py": '@ReasoningParserManager.register_module(["own", "other"])\nclass Own:\n    pass\n',
    "vllm/model_executor/model_loader/__init__.py": '_LOAD_FORMAT_TO_MODEL_LOADER: dict[str, type] = {"auto": Default}\n',
    "vllm/model_executor/models/registry.py": '_TEXT_GENERATION_MODELS = {"Qwen3ForCausalLM": 1}\n_SPECULATIVE_DECODING_MODELS = {"Draft": 1}\n'
    '_TRANSFORMERS_SUPPORTED_MODELS = {"Smol": 1}\n_VLLM_MODELS = {**_TEXT_GENERATION_MODELS}\n_PREVIOUSLY_SUPPORTED_MODELS = {"Old": "0.9"}\n',
    "vllm/tokenizers/registry.py": '_VLLM_TOKENIZERS = {"kimi_audio": ("kimi_audio", "Tokenizer")}\n',
    "vllm/model_executor/layers/quantization/__init__.py": 'QuantizationMethods = Literal[\n    "awq",\n]\n',
}
OLD = """
class AscendConfig:
    def __init__(self, vllm_config):
        additional_config = vllm_config.additional_config or {}
        eplb_config = additional_config.get("eplb_config", {})
        self.eplb = EplbConfig(eplb_config)
        self.nz = additional_config.get("enable_nz", False)
        self.flash = self._value(additional_config, "enable_flash", "VLLM_FLASH")

class EplbConfig:
    _defaults = {"dynamic_eplb": False}
    def __init__(self, config):
        raise ValueError("Config has no attribute")
"""
NEW = """
class AscendConfig:
    model_config = ConfigDict(extra="forbid")
    algorithm: Literal["", "mesh"] = ""
    inner: InnerConfig = None

class InnerConfig:
    enabled: bool = False

_NON_USER_INPUT_KEYS = {"refresh"}  # not passed on from additional_config
"""


def written(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def test_classes_and_registries_of_vllm_become_words(tmp_path):
    found = vllm_values.read(written(tmp_path, VLLM), ["compilation-config", "speculative-config"])
    assert found == sorted(
        [
            *("architecture=Qwen3ForCausalLM", "architecture=Smol"),
            *("compilation-config.level:int", "compilation-config.mode:", "compilation-config.mode=FULL"),
            *("compilation-config.mode=NONE", "compilation-config.pass_config.fuse:bool"),
            *(
                "compilation-config.pass_config:",
                "compilation-config.sizes:ints",
                "load-format=auto",
                "quantization=awq",
            ),
            *("reasoning-parser=other", "reasoning-parser=own", "reasoning-parser=qwen3", "speculative-config.method:"),
            *("speculative-config.method=mtp", "speculative-config.method=ngram", "speculative-config.method=old_mtp"),
            "tokenizer-mode=kimi_audio",
        ]
    )


def test_keys_that_a_release_reads_become_words(tmp_path):
    folder = written(tmp_path, {"vllm_ascend/ascend_config.py": OLD})
    assert ascend_values.read(folder) == [
        *("!eplb_config", "enable_flash:", "enable_nz:bool", "eplb_config.dynamic_eplb:bool", "eplb_config:"),
    ]


def test_a_release_that_refuses_other_keys_says_so(tmp_path):
    folder = written(
        tmp_path, {"vllm_ascend/ascend_config.py": NEW, "vllm_ascend/x.py": "additional_config.get('a', 1)"}
    )
    assert ascend_values.read(folder) == [
        *("!", "!inner", "a:int", "algorithm:", "algorithm=mesh", "inner.enabled:bool", "inner:", "refresh:"),
    ]


def test_spans_hold_from_the_first_to_the_last_version():
    assert "FULL" not in values.of_vllm("0.10.0").choices.get("compilation-config.cudagraph_mode", ())
    assert "FULL" in values.of_vllm("0.10.1.1").choices["compilation-config.cudagraph_mode"]
    assert {"gguf"} & values.of_vllm("0.23.0").choices["load-format"]
    assert not {"gguf"} & values.of_vllm("0.24.0").choices["load-format"]
    assert values.of_vllm("0.7.3") == values.Known()


def test_keys_of_releases_differ():
    assert "" not in values.known(RELEASES["0.26.0rc1"].additional_values).strict
    assert "" in values.known(RELEASES["0.27.1rc1"].additional_values).strict
    assert "enable_flashcomm1" in RELEASES["0.23.0"].additional_config
    assert "layer_sharding" not in RELEASES["0.24.0rc1"].additional_config
