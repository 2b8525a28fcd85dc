# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes that say little, after those that say more."""

from __future__ import annotations

from .words import CODE, LITTLE, Cause, runtime

CAUSES = (
    Cause(
        "LOG-LIBRARY",
        r"\S+\.so[.\d]*: cannot open shared object file",
        "a shared library was not found",
        "A package or a folder of LD_LIBRARY_PATH is missing.",
        "Install the package with this library, or run site to repair the environment.",
    ),
    Cause(
        "LOG-MODULE-HIDDEN",
        r"\bcannot import name '\w+' from '[\w.]+' \(unknown location\)|\bmodule 'vllm(?:_ascend)?' has no attribute '\w+'",
        "Python took a folder for a package",
        "A folder of the package's name, without its files, comes first: in the folder where the engine starts, in PYTHONPATH, or as the rest of a removed "
        "package.",
        "Remove or rename the folder, and own settings of PYTHONPATH; start a container elsewhere than beside sources of vLLM; run site to repair the "
        "environment.",
    ),
    Cause(
        "LOG-MODULE",
        r"(?:ModuleNotFoundError: No module named|ImportError: cannot import name)",
        "a Python module is missing or has another version",
        "The environment is incomplete, or a program of one release runs with packages of another one.",
        "Run site to repair the environment; remove own versions from the inventory.",
    ),
    Cause(
        "LOG-PERMISSION",
        r"(?:PermissionError: \[Errno 13\]|[Pp]ermission denied)",
        "the service's user has no access",
        "The model, a folder or a device belongs to another user.",
        "Give the service's user read access to the model and the NPU devices (group HwHiAiUser).",
    ),
    Cause(
        "LOG-CONFIGURATION",
        r"\bvalidation errors? for \w+",
        "vLLM refuses a part of its configuration",
        "The lines after it name the option and the reason.",
        "Correct or remove the option that the next lines name; the rules of plan list the options of the release.",
        LITTLE,
    ),
    Cause(
        "LOG-JSON",
        r"\bJSONDecodeError: ",
        "a file or an option that should be JSON cannot be read",
        "The lines before it say whose: a file of the model whose copy was cut or edited, or the text of an option.",
        "Compare the model's .json files with the publisher's (check does), or write the option as a YAML mapping.",
        LITTLE,
    ),
    Cause(
        "LOG-UNSUPPORTED",
        r"\bNotImplementedError: \S|\b(?:ValueError|AssertionError|RuntimeError|TypeError|Value error)[:,] .{0,200}"
        r"(?:\b(?:is|are) not (?:yet |currently )?supported\b|\bdoes not (?:yet |currently )?support\b|\bonly supports?\b|\bUnsupported\b)",
        "the release does not support something that the options or the model ask for",
        "The line names it.",
        "Remove the option that the line names from inference_args or inference_env, or use a release that supports it.",
        LITTLE,
    ),
    Cause(
        "LOG-TRANSFER-START",
        r"\bFailed to initialize AdxlEngine\b|\bInitAdxlEngine failed\b|\bTransferExecutor init failed\b|\bTransferEngine initialization failed\b"
        r"|\bMooncake initialization failed with ret_value\b|\b(?:Failed to install (?:base|Ascend|TCP|RDMA) transport|unsupported_protocol)\b",
        "the transfer engine did not start",
        "The lines before it, or CANN's plog, say why: an address, a port, the driver or a missing library.",
        "Read CANN's plog of this process, and run check.",
        LITTLE,
    ),
    Cause(
        "LOG-AICPU-KERNEL",
        runtime("507018", r"aicpu exception|The aicpu execution is abnormal\.")
        + r"|\b(?:AICPU Kernel task happen error|exception occurred during AICPU execution)\b|\[aicpu exception\]",
        "a kernel of the NPU's AI CPU failed",
        "Collectives run there: mostly another rank of the engine hangs or ended earlier. Else the operator itself failed.",
        "Look for the first error in the logs of the other ranks and in CANN's plog; if there is none, note the kernel's name and look for it in the "
        "issues of vllm-ascend.",
        LITTLE,
    ),
    Cause(
        "LOG-OPERATOR-CALL",
        runtime("561002")
        + r"|\bcall aclnn\w+ failed\b|\bcurrent working operator name is \w+|\bAicore kernel execute failed\b"
        r"|\bAicpu kernel execute failed\b|\bMemory async copy failed\b"
        r"|\bThe error from device\((?:chipId:\d+, dieId:\d+|\d+)\)",
        "an operator failed on the NPU",
        "The line names the operator or the device; the lines beside it and CANN's plog say why.",
        "Look for the operator's name in the issues of vllm-ascend; compare CANN (toolkit and kernels) with the versions of the release.",
        LITTLE,
    ),
    Cause(
        "LOG-STORE-CLIENT",
        r"Failed to create client after \d+ retries|\bInitialize mooncake failed\b|\bStore initialization failed\b"
        r"|\b(?:memcache|mooncake|yuanrong)_backend\.py\", line \d+, in (?:__init__|_?(?:init|setup)\w*)",
        "the store's client did not start",
        "The lines before it say why: the master is not reachable, memory could not be registered, or no port from 12300 to 14300 is free.",
        "Check mooncake_master with status, run check (memlock, device network), and read the lines of the client before this one.",
        LITTLE,
    ),
    Cause(
        "LOG-DEVICE-OPEN",
        runtime("507033", r"device (?:pointer null|retain error)|Failed to start the device\.")
        + r"|\bopen device \d+ failed, runtime result",
        "an NPU could not be opened",
        "The process was not given this device, another process holds it, or the device does not start.",
        "Compare ASCEND_RT_VISIBLE_DEVICES and the container's device nodes with npu-smi info; run check.",
        LITTLE,
    ),
    Cause(
        "LOG-GRAPH-FAILED",
        runtime("507011", r"model execute failed|Model execution failed\."),
        "a captured graph failed",
        "One of its kernels failed; CANN's lines after it, or its plog, name it.",
        "Read the lines after it and CANN's plog; try enforce-eager, or another mode of graphs in compilation-config.",
        LITTLE,
    ),
    Cause(
        "LOG-NPU",
        runtime(r"(?:10[078]|14[58]|20[03578]|50[037])\d{3}") + r"|\[Error\]: ?[A-Z][a-z]+ ",
        "the NPU or CANN's runtime reports an error",
        "The number is that of CANN's runtime; the lines beside it and CANN's plog say what happened before it.",
        "Read CANN's plog of the same time (the playbook logs gathers it), and run check.",
        LITTLE,
    ),
    Cause(
        "LOG-IMAGE",
        r"\b(?:manifest (?:for \S+ not found|unknown)|pull access denied for|repository \S+ not found|ImagePullBackOff|ErrImagePull|invalid tar header)\b",
        "the image cannot be had",
        "Its name or tag does not exist, the registry needs a login, or the download was cut.",
        "Set inference_image to an image that the hosts can pull, or load it from a bundle.",
    ),
    Cause(
        "LOG-CODE",
        r"^(?:\w+\.)*(?:(?:Attribute|Type|Name|UnboundLocal|Index|Key|ZeroDivision|Recursion|Assertion)Error\b)",
        "the engine's program fails at a place where it expects no failure",
        "It is a fault of the release with this model and these options, or its packages are of different releases; hosts, NPUs and network are seldom "
        "the reason.",
        "Compare the versions that check prints with the release's; try without the options that the release's guide of this model does not have (graphs, "
        "speculation, context parallelism, flashcomm1); look for the line in the issues of vllm-ascend.",
        CODE,
    ),
)
