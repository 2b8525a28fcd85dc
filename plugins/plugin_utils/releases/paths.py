# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options, keys and variables of engines whose values are paths, as data: vLLM's ``EngineArgs`` and ``FrontendArgs``, vLLM-Ascend's ``AscendConfig``.

A use says what the engine does with the path: ``read``; ``hub``, read unless it is the name of a model on a hub; ``folder``, a folder that it writes
to; ``file``, a file that it writes; ``template``, a file or the text of a template itself; ``adapters``, LoRA modules, each ``name=path`` or JSON.
"""

from __future__ import annotations

OPTIONS = {
    "allowed-local-media-path": "read",
    "chat-template": "template",
    "config": "read",
    "download-dir": "folder",
    "generation-config": "hub",
    "hf-config-path": "hub",
    "log-config-file": "read",
    "lora-modules": "adapters",
    "qlora-adapter-name-or-path": "hub",
    "reasoning-parser-plugin": "read",
    "tokenizer": "hub",
    "tool-parser-plugin": "read",
}
# Keys inside options that are JSON.
KEYS = {
    ("additional-config", "eplb_config.expert_map_path"): "read",
    ("additional-config", "eplb_config.expert_map_record_path"): "file",
    ("additional-config", "expert_map_path"): "read",  # up to 0.13.0rc3
    ("additional-config", "expert_map_record_path"): "file",
    ("profiler-config", "torch_profiler_dir"): "folder",
    ("speculative-config", "model"): "hub",
}
# Keys of kv_connector_extra_config, also of the connectors in a MultiConnector.
CONNECTOR_KEYS = {"UCM_CONFIG_FILE": "read"}
VARIABLES = {
    "HF_HOME": "folder",
    "HF_HUB_CACHE": "folder",
    "LMCACHE_CONFIG_FILE": "read",
    "UCM_CONFIG_FILE": "read",
    "VLLM_CACHE_ROOT": "folder",
    "VLLM_LOGGING_CONFIG_PATH": "read",
    "VLLM_LORA_RESOLVER_CACHE_DIR": "read",
    "VLLM_TORCH_PROFILER_DIR": "folder",
}
NO_PATHS = ("auto", "vllm")  # of generation-config, which are no folders
