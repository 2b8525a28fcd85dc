# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins with which vLLM-Ascend makes its configuration without touching an NPU. They are written down as ``sitecustomize.py``.

Python imports that file at the start of each process whose PYTHONPATH begins with its folder: also of those in which
vLLM looks at a model's class. ``ASCEND_INFERENCE_STAND_INS`` is a JSON object with

* ``hardware``: A2 or A3, as the build of vLLM-Ascend writes it down, if it has not,
* ``devices``: NPUs that a process sees without ASCEND_RT_VISIBLE_DEVICES, ``device_mib``: memory of each,
* ``host_mib``: memory of the host, 0 for that of this machine,
* ``pretend``: true where packages are stood in for that are not installed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from unittest import mock

VARIABLE = "ASCEND_INFERENCE_STAND_INS"
OF_NPUS = ("acl", "llm_datadist", "tbe", "te", "torch_npu", "torchair", "vllm_ascend.vllm_ascend_C")
COMPILED = ("fla_npu", "memcache_hybrid", "memfabric_hybrid", "mooncake")  # stood in for where they are installed
PLAIN = ("arctic_inference", "lmcache", "lmcache_ascend", "ucm")  # as they are, unless one pretends to have them
CHIPS = {"A2": "ascend910b1", "A3": "ascend910_9391"}


class Anything(types.ModuleType):
    """A module that has every attribute."""

    __path__ = []  # type: list[str]

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        found = mock.MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages that are stood in for, and everything below them."""

    def __init__(self, names):
        self._names = names

    def find_spec(self, name, path=None, target=None):
        """The specification of such a module."""
        if any(f"{name}.".startswith(f"{item}.") for item in self._names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """A module that has everything."""
        return Anything(spec.name)

    def exec_module(self, module):
        """It has no code."""


class Build(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """What the build of vLLM-Ascend writes down about its hardware, for a package that was not built. Asked after all others."""

    def __init__(self, hardware):
        self._hardware = hardware

    def find_spec(self, name, path=None, target=None):
        """The specification of that one module."""
        return importlib.machinery.ModuleSpec(name, self) if name == "vllm_ascend._build_info" else None

    def create_module(self, spec):
        """Python's own."""

    def exec_module(self, module):
        """Fill the module."""
        module.__device_type__ = self._hardware
        module.__soc_version__ = CHIPS.get(self._hardware, "")
        module.__sleep_mode_enabled__ = True


def replaced(pretend):
    """The names that are stood in for on this machine."""
    there = [name for name in COMPILED if importlib.machinery.PathFinder.find_spec(name)]
    return (*OF_NPUS, *COMPILED, *PLAIN) if pretend else (*OF_NPUS, *there)


def host(mib):
    """The memory of a server, whatever this machine has."""
    import psutil

    memory = psutil.virtual_memory()._replace(total=mib << 20, available=mib << 20)
    psutil.virtual_memory = lambda: memory


def version(package, usual):
    """The version of an installed package."""
    import importlib.metadata  # not in Python 3.7, which a target may have: only the engine's Python is ever asked

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return usual


def devices(count, mib):
    """NPUs of torch."""
    import torch
    import torch.distributed

    def visible():
        given = os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "")
        return len(given.split(",")) if given else count

    torch.utils.rename_privateuse1_backend("npu")
    npu, memory = Anything("torch.npu"), mib << 20
    npu.device_count = visible
    npu.is_available = lambda: True
    npu.is_initialized = lambda: True
    npu.current_device = lambda: 0
    npu.get_device_name = lambda *dummy: "Ascend910"
    npu.get_device_properties = lambda *dummy: types.SimpleNamespace(total_memory=memory, name="Ascend910")
    npu.mem_get_info = lambda *dummy: (memory * 15 // 16, memory)
    sys.modules["torch.npu"] = torch.npu = npu
    torch.distributed.is_hccl_available = lambda: True

    import torch_npu

    torch_npu.npu = npu
    torch_npu.__version__ = version("torch-npu", "2.10.0")


def stand_in(facts):
    """Put the stand-ins into this process."""
    sys.meta_path.insert(0, Absent(replaced(facts["pretend"])))
    sys.meta_path.append(Build(facts["hardware"]))
    if facts["host_mib"]:
        host(facts["host_mib"])
    devices(facts["devices"], facts["device_mib"])


if __name__ == "sitecustomize" and VARIABLE in os.environ:
    stand_in(json.loads(os.environ[VARIABLE]))
