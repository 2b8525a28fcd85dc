# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins with which vLLM-Ascend makes its configuration on a machine without NPUs.

Python imports this file at the start of each process whose PYTHONPATH begins with this folder: also of those in which
vLLM looks at a model's class. JUDGE_HARDWARE is A2 or A3, JUDGE_DEVICES the number of NPUs that a process sees.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import types
from unittest import mock

ABSENT = (  # what has a compiled part for NPUs, or is no package of an index
    "acl",
    "arctic_inference",
    "fla_npu",
    "llm_datadist",
    "lmcache",
    "lmcache_ascend",
    "memcache_hybrid",
    "memfabric_hybrid",
    "mooncake",
    "tbe",
    "te",
    "torch_npu",
    "torchair",
    "ucm",
    "vllm_ascend.vllm_ascend_C",
)
CHIPS = {"A2": "ascend910b1", "A3": "ascend910_9391"}
HOST_MEMORY, DEVICE_MEMORY = 1 << 40, 64 << 30


class Anything(types.ModuleType):
    """A module that has every attribute."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        found = mock.MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the absent packages and everything below them."""

    def find_spec(self, name, path=None, target=None):
        if any(f"{name}.".startswith(f"{item}.") for item in ABSENT):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        pass


def host() -> None:
    """The memory of a server, whatever this machine has."""
    import psutil

    memory = psutil.virtual_memory()._replace(total=HOST_MEMORY, available=HOST_MEMORY)
    psutil.virtual_memory = lambda: memory


def devices() -> None:
    """NPUs of torch."""
    import torch
    import torch.distributed

    torch.utils.rename_privateuse1_backend("npu")
    npu = Anything("torch.npu")
    npu.device_count = lambda: int(os.environ.get("JUDGE_DEVICES", "16"))
    npu.is_available = lambda: True
    npu.is_initialized = lambda: True
    npu.current_device = lambda: 0
    npu.get_device_name = lambda *dummy: "Ascend910"
    npu.get_device_properties = lambda *dummy: types.SimpleNamespace(total_memory=DEVICE_MEMORY, name="Ascend910")
    npu.mem_get_info = lambda *dummy: (DEVICE_MEMORY * 15 // 16, DEVICE_MEMORY)
    sys.modules["torch.npu"] = torch.npu = npu
    torch.distributed.is_hccl_available = lambda: True

    import torch_npu

    torch_npu.npu = npu
    torch_npu.__version__ = "2.10.0"


def build() -> None:
    """What the build of vLLM-Ascend writes down about its hardware."""
    info = types.ModuleType("vllm_ascend._build_info")
    info.__device_type__ = os.environ["JUDGE_HARDWARE"]
    info.__soc_version__ = CHIPS[info.__device_type__]
    info.__sleep_mode_enabled__ = True
    sys.modules[info.__name__] = info


if "JUDGE_HARDWARE" in os.environ:
    sys.meta_path.insert(0, Absent())
    host()
    devices()
    build()
