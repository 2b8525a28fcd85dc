# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of the real engine at its start, with its error messages."""

from __future__ import annotations

import os
import pathlib
import pwd
import runpy
import sys

from .errors import Died

INTERFACES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
NO_LIBRARY = "cannot open shared object file: No such file or directory"


def _on_library_path(name):
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return any(folder and (pathlib.Path(folder) / name).exists() for folder in folders)


def libraries(release, connectors):
    """The driver, the toolkit, NNAL, and Mooncake's transport, as the dynamic loader searches them."""
    if not _on_library_path("libascend_hal.so"):
        raise Died(
            f"ImportError: libascend_hal.so: {NO_LIBRARY}\n"
            "RuntimeError: Failed to load the backend extension: torch_npu. "
            "You can disable extension auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0."
        )
    if not _on_library_path("libhccl.so"):
        raise Died(
            f"ImportError: libhccl.so: {NO_LIBRARY}. Please check that the cann package is installed. "
            "Please run 'source set_env.sh' in the CANN installation path."
        )
    home = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME")
    if not home or not os.path.isdir(home):
        raise Died(
            "RuntimeError: Failed to infer device type, please set the environment variable "
            "`VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging to help debug the issue."
        )
    if not _on_library_path("libatb.so"):
        raise Died(f"OSError: libatb.so: {NO_LIBRARY}")
    mooncake = any("Mooncake" in name or "AscendStore" in name for name in connectors)
    if mooncake and release.mooncake_install == "source" and not _on_library_path("ascend_transport.so"):
        raise Died(f"ImportError: ascend_transport.so: {NO_LIBRARY}")


def chip(release, host):
    """The worker's comparison of the chip that the package was built for with the one it runs on (utils.py, from 0.12.0rc1 on)."""
    if not release.since("0.12.0rc1"):
        return
    # The simulator's own folder may be first in the path; it is not an installed package and has no such file.
    files = [pathlib.Path(folder, "vllm_ascend", "_build_info.py") for folder in sys.path]
    path = next((file for file in files if file.exists()), None)
    if path is None:
        return
    built = runpy.run_path(str(path))["__device_type__"]
    current = {"a2": "A2", "a3": "A3", "310p": "_310P", "950": "A5"}.get(host.generation, "A2")
    if built != current:
        raise Died(
            f"AssertionError: Current device type: {current} does not match the installed version's device type: {built}, "
            "please check your installation package."
        )


def account(shape):
    """HCCL's look at the process's user, for an engine on several NPUs (vLLM-Ascend's page on containers without root, #9490)."""
    if shape.world == 1:
        return
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise Died(
            f"[ERROR] HCCL({os.getpid()},): [network_manager.cc:300]ra init failed, return[19] devicePhyId_[0], nicPosition[0]\n"
            "RuntimeError: createHCCLComm:compiler_depend.ts:1479 HCCL function error: HcclGetRootInfo(&hcclID), error code is 19"
        ) from None


def addresses(host):
    """The address that is announced to peers; HCCL's address and the interfaces must match it."""
    mine = os.environ.get("VLLM_HOST_IP") or host.address()
    if not host.owns(mine):
        raise Died(f"zmq.error.ZMQError: Cannot assign requested address (addr='tcp://{mine}:0')")
    hccl = os.environ.get("HCCL_IF_IP") or mine
    known = host.interfaces()
    if not host.owns(hccl):
        raise Died(
            f"[ERROR] HCCL: HCCL_IF_IP {hccl} is not an address of this host\n"
            "RuntimeError: HCCL function error: HcclGetRootInfo, error code is 6"
        )
    for variable in INTERFACES:
        name = os.environ.get(variable, "")
        if not name:
            continue
        if name not in known:
            if variable == "HCCL_SOCKET_IFNAME":
                raise Died(
                    f"[ERROR] HCCL: get host ip fail, {variable} {name} does not exist\n"
                    "RuntimeError: HCCL function error: HcclGetRootInfo, error code is 6"
                )
            raise Died(
                f"RuntimeError: [enforce fail at device.cc:84] ifa != nullptr. Unable to find address for: {name}"
            )
        if hccl not in known[name]:
            raise Died(
                f"RuntimeError: Gloo connectFullMesh failed: {variable}={name} has {known[name]}, not {hccl} (HCCL_IF_IP)"
            )
    return mine


def devices(host, shape):
    """Physical ids of the NPUs of this process, in the order of its ranks; they are locked from now on."""
    visible = os.environ.get("ASCEND_RT_VISIBLE_DEVICES")
    existing = host.devices()
    chosen = [int(number) for number in visible.split(",") if number.strip()] if visible else existing
    needed = shape.local * shape.world
    missing = [number for number in chosen if number not in existing]
    if missing or needed > len(chosen):
        bad = missing[0] if missing else len(chosen)
        raise Died(
            f"[ERROR] RUNTIME: Set device failed, invalid device, set drv device={bad}, {len(existing)} devices exist\n"
            "RuntimeError: SetDevice: NPU function error: c10_npu::SetDevice, error code is 107001\n"
            "[Error]: Invalid device ID. invalid device ordinal"
        )
    if len(set(chosen)) != len(chosen):
        raise Died("RuntimeError: ASCEND_RT_VISIBLE_DEVICES names a device twice, error code is 107001")
    for number in chosen[:needed]:
        if not host.take_device(number, "vllm"):
            raise Died(
                f"[ERROR] HCCL: EJ0003 Failed to bind the IP port. Reason: device {number} port 16666 has been bound\n"
                "ValueError: Free memory on device (9.31/60.96 GiB) on startup is less than desired GPU memory "
                "utilization (0.9, 54.86 GiB). Decrease GPU memory utilization or reduce GPU memory used by other "
                "processes."
            )
    return chosen[:needed]


def model(found, args, release, connectors):
    """Rules between the model's files, the flags and the release."""
    if args.quantization == "ascend" and not found.quantized:
        raise Died("ValueError: Cannot find the config file for ascend")
    if found.quantized and args.quantization != "ascend":
        raise Died("RuntimeError: NPU out of memory. Tried to allocate 3.50 GiB (NPU 0; 60.96 GiB total capacity)")
    declared = found.effective.get("torch_dtype") or found.effective.get("dtype")
    dtype = declared if args.dtype == "auto" else args.dtype
    if found.quantized and dtype in ("float16", "half"):
        raise Died(
            "RuntimeError: call aclnnQuantMatmulV4 failed, detail: Tensor scale not implemented for DT_FLOAT16, "
            "should be in dtype support list [DT_UINT64,DT_INT64,DT_BFLOAT16,]."
        )
    pulls = any(name.startswith("Mooncake") and "Store" not in name for name in connectors)
    if pulls and release.reads_head_dim and not found.latent_attention and "head_dim" not in found.effective:
        raise Died(f"AttributeError: '{found.config_class}' object has no attribute 'head_dim'")


def parallel(args, shape, found, release):
    """Rules between the sizes on the command line and those in the connector's configuration."""
    config = args.kv_transfer_config or {}
    extra = config.get("kv_connector_extra_config") or {}
    role = config.get("kv_role")
    sizes = {side: extra.get(side) or {} for side in ("prefill", "decode")}
    data = 1 if release.since("0.14.0rc1") and not found.experts and not shape.external else shape.data
    if release.since("0.12.0rc1"):
        for side, roles in (("prefill", ("kv_producer", "kv_both")), ("decode", ("kv_consumer", "kv_both"))):
            for key, mine, kind in (("tp_size", shape.tensor, "tensor"), ("dp_size", data, "data")):
                configured = sizes[side].get(key)
                if role in roles and configured is not None and configured != mine:
                    raise Died(
                        f"ValueError: KV transfer '{side}' config has a conflicting {kind} parallel size. "
                        f"Expected {mine}, but got {configured}."
                    )
    ours, theirs = sizes["prefill"].get("tp_size", shape.tensor), sizes["decode"].get("tp_size", shape.tensor)
    if ours < theirs:
        raise Died(f"ValueError: prefill_tp_size: {ours} must be greater than or equal to the decode_tp_size: {theirs}")
    if ours % theirs:
        raise Died("AssertionError: prefill_tp_size % decode_tp_size == 0")
    if sizes["decode"].get("pp_size", 1) != 1:
        raise Died("AssertionError: decode pp must be 1")
    recompute = args.additional_config.get("recompute_scheduler_enable") and release.since("0.18.0rc1")
    if recompute and role not in ("kv_producer", "kv_consumer"):
        raise Died(
            "ValueError: recompute_scheduler_enable can only be enabled in PD-disaggregated mode, and is not "
            f"supported in PD-mixed mode (kv_role={role!r})."
        )
