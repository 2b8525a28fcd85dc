# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Indexes of packages that PyPI does not have in the required version, and requirements of packages that hosts build.

torch-npu's wheels for x86_64 require torch X+cpu, which only PyTorch's own index has; triton-ascend from 3.2.1 on and development
builds of torch-npu are on the mirror of Ascend (vLLM-Ascend's installation guide and Dockerfiles name both).
"""

from __future__ import annotations

from .requirements_data import REQUIREMENTS

INDEXES = {
    "https://download.pytorch.org/whl/cpu": ["torch", "torchvision", "torchaudio"],
    "https://mirrors.huaweicloud.com/ascend/repos/pypi": [
        "torch-npu",
        "triton-ascend",
        "memfabric-hybrid",
        "memcache-hybrid",
    ],
}


def metadata(vllm: str, release: str, built: bool) -> dict[str, list[str]]:
    """{'vllm==0.23.0': [requirement, ...]} of the packages that a host builds: vLLM, and with ``built`` vLLM-Ascend.

    A version that was not collected has no requirements here: then only its own presence is checked.
    """
    names = [f"vllm=={vllm}", *([f"vllm-ascend=={release}"] if built else [])]
    return {name: REQUIREMENTS.get(name, "").split("\n")[1:-1] for name in names}
