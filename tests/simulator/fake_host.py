# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build a host for an engine of the simulator: driver and toolkit libraries, a small model, and the state of ascend_cluster."""

from __future__ import annotations

import json
import os
import pathlib
import struct

from . import ascend_cluster

LIBRARIES = {  # folder below the host's root -> files in it
    "driver/lib64/driver": ["libascend_hal.so"],
    "driver/lib64/common": ["libc_sec.so"],
    "ascend-toolkit/latest/lib64": ["libhccl.so", "libascendcl.so"],
    "nnal/atb/latest/atb/cxx_abi_0/lib": ["libatb.so"],
    "usr/local/lib": ["ascend_transport.so"],
}
MODEL = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 32768,
}


def write_model(folder, weights="the weights", **changes):
    """A model directory; keys with the value None are removed from its config.json."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {key: value for key, value in {**MODEL, **changes}.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    header = json.dumps({"__metadata__": {"text": weights}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return folder


class FakeHost:
    """One host below ``root``: an address on interface eth0, ``devices`` NPUs, a release; ``facts`` are written to the engine's key."""

    def __init__(self, root, address="127.0.0.1", devices=8, release="0.23.0", generation="a2", **facts):
        self.root, self.address = pathlib.Path(root), address
        for folder, names in LIBRARIES.items():
            (self.root / folder).mkdir(parents=True, exist_ok=True)
            for name in names:
                (self.root / folder / name).write_text("simulated\n", encoding="utf-8")
        self.file = self.root / "host.json"
        self.hccn_conf = self.root / "hccn.conf"
        self.state = ascend_cluster.host_state(
            generation,
            int(address.split(".")[-1]),
            devices,
            hccn_conf=str(self.hccn_conf),
            engine={"release": release, "interfaces": {"eth0": [address]}, **facts},
        )
        self.state["host"] = f"host-{address}"
        self.hccn_conf.write_text(ascend_cluster.hccn_conf(self.state), encoding="utf-8")
        self.write()

    def write(self):
        self.file.write_text(json.dumps(self.state, indent=1), encoding="utf-8")

    def read(self):
        """The current state, including changes by tools and engines."""
        return json.loads(self.file.read_text(encoding="utf-8"))

    def set_device(self, number, **record):
        """Change one NPU, after reading the state again, because engines write to it."""
        self.state = self.read()
        self.state["devices"][number].update(record)
        self.write()

    def environment(self, *devices, **more):
        """The environment of an engine as in a correct plan; the value None removes a variable."""
        folders = ":".join(str(self.root / folder) for folder in LIBRARIES)
        wanted = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.root),
            "ASCEND_SIMULATOR_STATE": str(self.file),
            "ASCEND_HOME_PATH": str(self.root / "ascend-toolkit/latest"),
            "ASCEND_TOOLKIT_HOME": str(self.root / "ascend-toolkit/latest"),
            "LD_LIBRARY_PATH": folders,
            "ASCEND_RT_VISIBLE_DEVICES": ",".join(map(str, devices)),
            "VLLM_HOST_IP": self.address,
            "HCCL_IF_IP": self.address,
            "GLOO_SOCKET_IFNAME": "eth0",
            "TP_SOCKET_IFNAME": "eth0",
            "HCCL_SOCKET_IFNAME": "eth0",
            "PYTHONHASHSEED": "0",
            "VLLM_RPC_BASE_PATH": str(self.root),
            **more,
        }
        return {name: str(value) for name, value in wanted.items() if value is not None}
