# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes in packages, libraries and versions."""

from __future__ import annotations

from .words import CAUSE, Cause, cann, driver, runtime

CAUSES = (
    Cause(
        "LOG-NO-DISTRIBUTION",
        r"No matching distribution found for|Could not find a version that satisfies the requirement"
        r"|No solution found when resolving|was not found in the package registry",
        "a package index does not have a required package",
        "The index is unreachable or incomplete (torch-npu is only on Huawei's index), or has no wheel for this Python version and architecture.",
        "Set the index of the role that installs the package, for torch-npu torch_npu_extra_index_urls or a bundle of the site, and compare the "
        "host's Python with the plan's.",
    ),
    Cause(
        "LOG-PACKAGES-CONFLICT",
        r"Cannot install .* because these package versions have conflicting|ResolutionImpossible|have conflicting dependencies",
        "packages have conflicting requirements",
        "Each torch-npu belongs to one torch, and each vLLM-Ascend to one pair of them.",
        "Use the versions of one release: remove own versions from the inventory, or remove the environment and run site.",
    ),
    Cause(
        "LOG-GLIBC",
        r"version `?GLIBC(?:XX)?_[\d.]+'? not found",
        "the operating system's C library is too old for a package",
        "The wheels of Mooncake for NPUs need glibc 2.35, which openEuler 22.03 does not have.",
        "Use the release's container image, or a newer operating system.",
    ),
    Cause(
        "LOG-VERSION",
        r"InvalidVersion\b",
        "vLLM has a version that cannot be parsed",
        "A build from a source folder without tags has no version number.",
        "Set VLLM_VERSION to vLLM's release in inference_env.",
    ),
    Cause(
        "LOG-DRIVER-LIBRARY",
        r"lib(?:ascend_hal|drvdsmi_host|dcmi|c_sec|mmpa)\.so[.\d]*: cannot open shared object file",
        "the NPU driver's libraries were not found",
        "The driver is not installed, or not visible in the container.",
        "Install the driver, or mount /usr/local/Ascend/driver into the container; run check.",
    ),
    Cause(
        "LOG-TRANSPORT-LIBRARY",
        r"ascend_transport\.so: cannot open shared object file",
        "Mooncake's transport for NPUs was not found",
        "Its folder is not in LD_LIBRARY_PATH; some images set that only in the login shell's file.",
        "Run site, which sets the path, and remove own settings of LD_LIBRARY_PATH from inference_env.",
    ),
    Cause(
        "LOG-CANN-LIBRARY",
        r"lib(?:hccl|atb|ascendcl|acl_op_compiler|opapi|ge_runner|runtime|nnopbase|register)\w*\.so[.\d]*: cannot open shared object file"
        r"|Failed to load the backend extension: torch_npu",
        "CANN's libraries were not found",
        "CANN or NNAL is not installed in the planned folder, or its set_env.sh was not sourced.",
        "Compare inference_cann_path with the installation, and run site, which starts engines with CANN's environment.",
    ),
    Cause(
        "LOG-DEVICE-TYPE",
        r"Failed to infer device type|device type .* is not supported",
        "vLLM found no supported device",
        "The vLLM-Ascend plugin could not be loaded: torch-npu is missing or another version, or CANN's environment was not sourced.",
        "Read the warning about the plugin further up in the log, and run site to repair the environment.",
    ),
    Cause(
        "LOG-CHIP",
        r"the socversion \S+ of bin package does not match|\bCurrent device type: \S+ does not match the installed version's device type"
        r"|\bCan not support soc_version\b|\bUnsupported soc_version\b",
        "the package is built for another chip",
        "An image or wheel for A2 runs on A3, or the reverse.",
        "Set inference_hardware to the hosts' generation; remove an own inference_image.",
    ),
    Cause(
        "LOG-JEMALLOC",
        r"corrupted size vs\. prev_size|\bfree\(\): invalid (?:pointer|size)|\bdouble free or corruption",
        "the memory allocator reports a damaged heap",
        "Mooncake's store needs jemalloc with these releases; without it the process aborts at the import.",
        "Install jemalloc and set LD_PRELOAD to it in inference_env.",
    ),
    Cause(
        "LOG-TRITON",
        r"\bmodule 'triton(?:\.language)?' has no attribute '\w+'|\bNo module named 'triton\.backends\.\w+'"
        r"|\b0 active drivers \(\[\]\)\. There should only be one",
        "the packages triton and triton-ascend overwrite each other",
        "Both install the module triton, and only triton-ascend works on NPUs.",
        "Remove both from the environment, then run site, which installs the release's triton-ascend.",
    ),
    Cause(
        "LOG-OPERATORS-ABSENT",
        r"'_OpNamespace' '_C_ascend' object has no attribute '\w+'|\bcamem allocator is not available\b|\bNo module named 'vllm_ascend\.vllm_ascend_C'"
        r"|\blibvllm_ascend\w*\.so: cannot open shared object file|\bRebuild vllm_ascend_C\b",
        "the compiled operators of vLLM-Ascend were not loaded",
        "They were built for another chip or Python, or not at all, or their library was not found; a warning 'Failed to import vllm_ascend_C' says which.",
        "Run site, which installs the release's build for the hosts' chip; remove own settings of LD_LIBRARY_PATH and an own inference_image.",
    ),
    Cause(
        "LOG-KERNEL-COMPILER",
        r"\bMLIRCompilationError\b|\bub overflow, requires \d+ bits\b|\bbishengir-compile: |\bFailed to run BiSheng\w+ (?:HIVM )?pipeline\b"
        r"|\bCommand '\['[^']*/bishengir-compile'",
        "a kernel in Triton could not be compiled for this NPU",
        "triton-ascend and CANN's compiler do not support this kernel with the chip or with these sizes of the model.",
        "Compare triton-ascend and CANN with the versions of the release (check prints them); use a release whose guide has this model on this chip.",
        CAUSE,
    ),
    Cause(
        "LOG-MIXED-BUILDS",
        r"\bundefined symbol: \S+|\bOnly a single TORCH_LIBRARY can be used to register the namespace\b|\bmodule 'torch_npu' has no attribute '\w+'"
        r"|\bAttributeError: '_OpNamespace' '(?:npu|_C|atb|vllm)' object has no attribute '\w+'",
        "libraries of different releases are mixed",
        "Compiled parts of torch, torch-npu, CANN and vLLM-Ascend fit each other only within one release, and only one build of them may be loaded.",
        "Remove own versions and own settings of LD_LIBRARY_PATH and PYTHONPATH from the inventory, and run site; compare the versions that check "
        "prints with the release's.",
    ),
    Cause(
        "LOG-CANN-ENVIRONMENT",
        runtime("148049|100039|500001|561101|561102")
        + "|"
        + cann("E40020|E40024")
        + r"|\bFailed to import Python module\b|\bGEInitialize failed\b|\binit env failed\b|\bInit compiler failed\b"
        r"|\bPlease source .{0,80}set_env\.sh",
        "CANN's environment is incomplete",
        "ASCEND_OPP_PATH or CANN's Python parts were not found, or LD_LIBRARY_PATH leads to the stubs of CANN instead of the driver.",
        "Compare inference_cann_path with the installation, remove own settings of LD_LIBRARY_PATH and PYTHONPATH, and run site, which starts engines "
        "with CANN's environment.",
    ),
    Cause(
        "LOG-CANN-PACKAGE",
        cann("E30006|E39011|EE1014")
        + r"|\bFailed to verify the OPP\b|\bFailed to parse the binary file of the operator\b",
        "the NPU refuses a package of CANN's operators",
        "The package is damaged, incomplete, or was made for another chip.",
        "Install CANN's toolkit and its operators (kernels) of the same version and for this chip again, or use the release's image.",
    ),
    Cause(
        "LOG-DRIVER-OLD",
        r"hrtRaAiQpCreate|\bThe driver version cap(?:acity|ability) is insufficient\b|\basync transfer is not available, please upgrade cann package\b"
        r"|\bFabric mem mode is not supported\b|\bFeature is not supported and the possible cause is that driver and firmware packages do not match\b|"
        + runtime("207000|103905", r"This feature is not supported\.")
        + "|"
        + cann("EL0014|EE1005|EE1015|EH0011|EH0006")
        + "|"
        + driver("65534"),
        "the driver, the firmware or CANN lacks a function that the release needs",
        "The driver (HDK) is older than the release requires, or does not belong to the firmware.",
        "Upgrade driver and firmware to the version that the findings of check name.",
    ),
    Cause(
        "LOG-CANN-VERSIONS",
        cann("EI0008")
        + r"|\bversions are inconsistent\b.{0,80}(?:HCCL|CANN)|\bThe (?:HCCL|CANN) versions? .{0,80}inconsistent",
        "the ranks of one engine run different versions of CANN",
        "HCCL refuses to connect them.",
        "Run site on all hosts of the deployment, and compare the versions that check prints.",
    ),
    Cause(
        "LOG-NO-MOONCAKE",
        r"\bmooncake is not available\b|\bPlease install (?:mooncake|memcache|memfabric_hybrid|openyuanrong)\b|\bFailed to import mooncake\b",
        "the library that transfers KV is not installed",
        "The connector or the store of this deployment needs it.",
        "Run site, which installs it, or use the release's image.",
    ),
)
