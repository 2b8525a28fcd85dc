# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between the release data and its sources that are meant, each with its reason."""

from __future__ import annotations

# (release, fact): what a row says otherwise than the sources or the newest documents
FACTS = {
    **{
        ("0.21.0rc1", fact): "the matrix of its documents says 0.21.0; its Dockerfiles, changed after it, take 0.22.1"
        for fact in ("vllm", *(f"vllm of the image for {hardware}" for hardware in ("a2", "a3", "310p")))
    },
    **{
        (name, "cann of the image for 310p"): "a beta of 9.1.0 for 310P only, says the note of 0.21.0rc1"
        for name in ("0.20.2rc1", "0.21.0rc1", "0.22.1rc1", "0.23.0rc1", "0.24.0rc1", "0.25.1rc1")
    },
    **{
        ("0.30.0rc1", f"cann{where}"): "its images were built with 9.1.0 by mistake; the notes of 0.30.0rc2 say so"
        for where in ("", *(f" of the image for {hardware}" for hardware in ("a2", "a3", "310p", "950")))
    },
    ("0.18.0", "triton in the matrix"): "its requirements and the index have 3.2.0; the dated build is for its images",
    **{
        (name, f"image_builds for {hardware}"): "its requirements pin 2.9.0 and 3.2.0, which the index has"
        for name in ("0.18.0rc1", "0.18.0")
        for hardware in ("a2", "a3", "310p")
    },
}

OF_VLLM = "vLLM requires it"
OPTIONAL = "imported by a module that only its own option loads"

# Packages that images install by name beside vLLM and vLLM-Ascend
PACKAGES = {
    "concurrent-log-handler": "only for log files that rotate; no module imports it when it starts",
    "modelscope": "downloads models; the role model has its own client",
    "mooncake-transfer-engine-npu": "the row has it",
    "protobuf": "a bound for ray and modelscope",
    "ray": "not used: engines of several hosts are started by the plan",
    "setuptools-rust": "builds vLLM's optional frontend in Rust",
    "torch-npu": "the row has it",
    "triton-ascend": "the row has it",
}

# Modules that vllm_ascend imports and its requirements do not name
IMPORTS = {
    "PIL": OF_VLLM,
    "acl": "CANN has it",
    "flash_attn_npu_v3": OPTIONAL,
    "httpx": OF_VLLM,
    "huggingface_hub": "transformers requires it",
    "llm_datadist": "CANN has it",
    "lmcache_ascend": OPTIONAL,
    "mooncake": "the row has it",
    "ms_service_metric": OPTIONAL,
    "msgspec": OF_VLLM,
    "networkx": "torch requires it",
    "openai": OF_VLLM,
    "psutil": OF_VLLM,
    "pybase64": OF_VLLM,
    "pydantic": OF_VLLM,
    "pydantic_core": "pydantic requires it",
    "regex": OF_VLLM,
    "requests": OF_VLLM,
    "safetensors": "transformers requires it",
    "torchair": "torch-npu has it",
    "tqdm": OF_VLLM,
    "transformers": OF_VLLM,
    "triton": "triton-ascend has it, which requirements or the image's base have",
    "typing_extensions": OF_VLLM,
    "ucm": OPTIONAL,
    "uvicorn": "fastapi's server, which vLLM requires",
    "xlite": OPTIONAL,
    "zmq": OF_VLLM,
}

# Module -> package of image_builds that brings it
BUILDS = {"fla_npu": "flash_linear_attention_npu"}

# Releases of vLLM whose options are not collected
ENGINES = {"0.33.0": "no vLLM-Ascend is built on it yet, and the CPU package ends at 0.32.0"}
