# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release matrix of vLLM-Ascend as data: one row for each release, and facts that change with a release.

Order matters: a step such as ``("0.18.0", "X")`` holds from that row until the next step. Releases of one line are
together, so 0.13.0rc3 follows 0.13.0 (it was published later) and 0.9.2rc1 follows 0.9.1 (it was published earlier and
does not have the additions of 0.9.1). ``main`` is the development branch; its facts are those of the newest row.

Sources, per release tag: docs/source/community/versioning_policy.md, Dockerfile*, vllm_ascend/envs.py, the connectors'
register calls in vllm_ascend/distributed/**/__init__.py, the argparse calls in examples/**; Mooncake's own tags.
"""

from __future__ import annotations

# release, vLLM, Python of the image, CANN, torch, torch-npu, triton-ascend, Mooncake of the image, pin of fastapi
ROWS: tuple[tuple[str, ...], ...] = (
    ("0.7.3", "0.7.3", "3.10", "8.1.RC1", "2.5.1", "2.5.1", "", "", ""),
    ("0.7.3.post1", "0.7.3", "3.10", "8.1.RC1", "2.5.1", "2.5.1", "", "", ""),
    ("0.8.4rc1", "0.8.4", "3.10", "8.0.0", "2.5.1", "", "", "", ""),
    ("0.8.4rc2", "0.8.4", "3.10", "8.0.0", "2.5.1", "2.5.1", "", "", ""),
    ("0.8.5rc1", "0.8.5.post1", "3.10", "8.1.RC1", "2.5.1", "2.5.1", "", "", ""),
    ("0.9.0rc1", "0.9.0", "3.10", "8.1.RC1", "2.5.1", "2.5.1", "", "", ""),
    ("0.9.0rc2", "0.9.0", "3.10", "8.1.RC1", "2.5.1", "2.5.1", "", "", ""),
    ("0.9.1rc1", "0.9.1", "3.10", "8.1.RC1", "2.5.1", "2.5.1.post1.dev20250528", "", "", ""),
    ("0.9.1rc2", "0.9.1", "3.11", "8.2.RC1", "2.5.1", "2.5.1.post1", "", "", ""),
    ("0.9.1rc3", "0.9.1", "3.11", "8.2.RC1", "2.5.1", "2.5.1.post1", "", "", ""),
    ("0.9.1", "0.9.1", "3.11", "8.2.RC1", "2.5.1", "2.5.1.post1", "", "", ""),
    ("0.9.2rc1", "0.9.2", "3.10", "8.1.RC1", "2.5.1", "2.5.1.post1.dev20250619", "", "", ""),
    ("0.10.0rc1", "0.10.0", "3.11", "8.2.RC1", "2.7.1", "2.7.1.dev20250724", "", "", ""),
    ("0.10.1rc1", "0.10.1.1", "3.11", "8.2.RC1", "2.7.1", "2.7.1.dev20250724", "", "", ""),
    ("0.10.2rc1", "0.10.2", "3.11", "8.2.RC1", "2.7.1", "2.7.1.dev20250724", "", "", ""),
    ("0.11.0rc0", "0.11.0rc3", "3.11", "8.2.RC1", "2.7.1", "2.7.1.dev20250724", "", "", ""),
    ("0.11.0rc1", "0.11.0", "3.11", "8.3.RC1", "2.7.1", "2.7.1", "", "", ""),
    ("0.11.0rc2", "0.11.0", "3.11", "8.3.RC2", "2.7.1", "2.7.1", "", "", ""),
    ("0.11.0rc3", "0.11.0", "3.11", "8.3.RC2", "2.7.1", "2.7.1.post1", "", "0.3.7.post2", ""),
    ("0.11.0", "0.11.0", "3.11", "8.3.RC2", "2.7.1", "2.7.1.post1", "", "0.3.7.post2", "<0.124.0"),
    ("0.12.0rc1", "0.12.0", "3.11", "8.3.RC2", "2.8.0", "2.8.0", "", "0.3.7.post2", ""),
    ("0.13.0rc1", "0.13.0", "3.11", "8.3.RC2", "2.8.0", "2.8.0", "", "0.3.7.post2", "<0.124.0"),
    ("0.13.0rc2", "0.13.0", "3.11", "8.5.0", "2.8.0", "2.8.0.post1", "3.2.0", "0.3.7.post2", "<0.124.0"),
    ("0.13.0", "0.13.0", "3.11", "8.5.0", "2.8.0", "2.8.0.post2", "3.2.0", "0.3.7.post2", "<0.124.0"),
    ("0.13.0rc3", "0.13.0", "3.11", "8.5.1", "2.8.0", "2.8.0.post2", "3.2.0", "0.3.7.post2", "<0.124.0"),
    ("0.14.0rc1", "0.14.1", "3.11", "8.5.0", "2.9.0", "2.9.0", "3.2.0", "0.3.7.post2", "<0.124.0"),
    ("0.15.0rc1", "0.15.0", "3.11", "8.5.0", "2.9.0", "2.9.0", "3.2.0", "0.3.8.post1", "<0.124.0"),
    ("0.16.0rc1", "0.16.0", "3.11", "8.5.1", "2.9.0", "2.9.0", "3.2.0", "0.3.8.post1", "<0.124.0"),
    ("0.17.0rc1", "0.17.0", "3.11", "8.5.1", "2.9.0", "2.9.0", "3.2.0", "0.3.8.post1", "<0.124.0"),
    ("0.18.0rc1", "0.18.0", "3.11", "8.5.1", "2.9.0", "2.9.0", "3.2.0", "0.3.8.post1", "<0.124.0"),
    ("0.18.0", "0.18.0", "3.11", "8.5.1", "2.9.0", "2.9.0.post1+git4c901a4", "3.2.0", "0.3.9", "<0.124.0"),
    ("0.19.1rc1", "0.19.1", "3.11", "8.5.1", "2.9.0", "2.9.0", "3.2.0", "0.3.8.post1", "<0.124.0"),
    ("0.20.2rc1", "0.20.2", "3.11", "9.0.0", "2.10.0", "2.10.0", "3.2.1", "0.3.8.post1", "<0.124.0"),
    ("0.21.0rc1", "0.21.0", "3.12", "9.0.0", "2.10.0", "2.10.0", "3.2.1", "0.3.9", "<0.124.0"),
    ("0.22.1rc1", "0.22.1", "3.12", "9.0.0", "2.10.0", "2.10.0", "3.2.1", "0.3.9", "<0.124.0"),
    ("0.23.0rc1", "0.23.0", "3.12", "9.0.1", "2.10.0", "2.10.0.post2", "3.2.1", "0.3.11.post1", "<0.124.0"),
    ("0.23.0", "0.23.0", "3.12", "9.1.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.23.0.post1", "0.23.0", "3.12", "9.1.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.24.0rc1", "0.24.0", "3.12", "9.0.1", "2.10.0", "2.10.0.post2", "3.2.1", "0.3.11.post1", "<0.124.0"),
    ("0.25.1rc1", "0.25.1", "3.12", "9.0.1", "2.10.0", "2.10.0.post2", "3.2.1", "0.3.11.post1", "<0.124.0"),
    ("0.26.0rc1", "0.26.0", "3.12", "9.1.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.27.1rc1", "0.27.1", "3.12", "9.1.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.28.0rc1", "0.28.0", "3.12", "9.1.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.29.0rc1", "0.29.0", "3.12", "9.1.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.30.0rc1", "0.30.0", "3.12", "9.2.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
    ("0.30.0rc2", "0.30.0", "3.12", "9.2.0", "2.10.0", "2.10.0.post4", "3.2.2", "0.3.11.post1", "<0.124.0"),
)
# The development branch
ROWS += (("main", *ROWS[-1][1:]),)

# name -> spans of releases that register it: (first, first without it)
CONNECTORS: dict[str, tuple[tuple[str, str], ...]] = {
    "AscendHcclConnector": (("0.7.3", "0.10.0rc1"),),
    "AscendSimpleConnector": (("0.8.5rc1", "0.10.0rc1"),),
    "AscendStoreConnector": (("0.12.0rc1", ""),),
    "LLMDataDistCMgrConnector": (("0.9.1rc2", "0.9.2rc1"), ("0.10.0rc1", "0.12.0rc1")),
    "LMCacheAscendConnector": (("0.17.0rc1", "0.27.1rc1"),),
    "MooncakeConnectorStoreV1": (("0.11.0rc0", ""),),
    "MooncakeConnectorV1": (("0.10.1rc1", ""),),
    "MooncakeConnectorV2": (("0.28.0rc1", ""),),
    "MooncakeD2RHConnectorV1": (("0.29.0rc1", ""),),
    "MooncakeHybridConnector": (("0.20.2rc1", ""),),
    "MooncakeLayerwiseConnector": (("0.11.0rc1", ""),),
    "MooncakePullConnector": (("0.28.0rc1", ""),),
    "MultiConnector": (("0.9.1rc1", ""),),  # vLLM's own; vLLM-Ascend replaces it from 0.16.0rc1 on
    "OffloadingConnector": (("0.12.0rc1", ""),),  # vLLM's own; NPUOffloadingSpec of vLLM-Ascend is its NPU part
    "PreemptOffloadConnector": (("0.28.0rc1", ""),),
    "RecomputeCPUOffloadConnector": (("0.23.0rc1", "0.28.0rc1"),),
    "SfaRemoteD2HConnector": (("0.26.0rc1", ""),),
    "SimpleCPUOffloadConnector": (("0.21.0rc1", ""),),
    "UCMConnector": (("0.13.0rc1", ""),),
}

# Connectors whose links do not come back: one that has linked with a process does not link with the next one of that engine.
# linked_cluster in vllm_ascend/distributed/llmdatadist_c_mgr_connector.py: connect_to_remote_agent returns at once for a known cluster.
LINKS_ONCE = frozenset({"LLMDataDistCMgrConnector"})

_LISTS = ("--port", "--host", "--prefiller-hosts", "--prefiller-ports", "--decoder-hosts", "--decoder-ports")
_RETRY = ("--max-retries", "--retry-delay")
_COUNTS = ("--prefiller-hosts-num", "--prefiller-ports-inc", "--decoder-hosts-num", "--decoder-ports-inc")
_WAITING = ("--max-waiting-retries", "--waiting-retry-interval")
_V1 = "examples/disaggregated_prefill_v1/"
_LOAD_BALANCE = "load_balance_proxy_server_example.py"

# flavour -> steps of (path in vLLM-Ascend's source, flags); an empty path: this release has none
PROXIES: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "load_balance": (
        ("0.9.1rc2", "examples/disaggregate_prefill_v1/" + _LOAD_BALANCE, _LISTS + _RETRY),
        ("0.9.1", "examples/disaggregate_prefill_v1/" + _LOAD_BALANCE, _LISTS + _COUNTS + _RETRY),
        ("0.9.2rc1", "", ()),
        ("0.10.0rc1", _V1 + _LOAD_BALANCE, _LISTS + _RETRY),
        ("0.13.0rc1", _V1 + _LOAD_BALANCE, _LISTS + _RETRY + _WAITING),
        ("0.21.0rc1", _V1 + _LOAD_BALANCE, _LISTS + _RETRY + _WAITING + ("--workers", "--log-level")),
    ),
    "layerwise": (("0.11.0rc1", _V1 + "load_balance_proxy_layerwise_server_example.py", _LISTS + _RETRY),),
    "epd_layerwise": (
        (
            "0.17.0rc1",
            "examples/epd_disaggregated/epd_load_balance_proxy_layerwise_server_example.py",
            _LISTS + ("--encoder-hosts", "--encoder-ports", "--pd-hosts", "--pd-ports") + _RETRY,
        ),
    ),
    "epd": (
        (
            "0.15.0rc1",
            "examples/disaggregated_encoder/disagg_epd_proxy.py",
            (
                "--host",
                "--port",
                "--encode-servers-urls",
                "--prefill-servers-urls",
                "--decode-servers-urls",
                "--encoder-dispatch-mode",
            ),
        ),
    ),
    "dp": (
        (
            "0.12.0rc1",
            "examples/external_online_dp/dp_load_balance_proxy_server.py",
            ("--port", "--host", "--dp-hosts", "--dp-ports") + _RETRY,
        ),
        ("0.25.1rc1", "", ()),
    ),
    "hybrid": (
        (
            "0.23.0rc1",
            "examples/dynamic_bucket_load_balancer/hybrid_proxy_server.py",
            ("--port", "--host", "--server-hosts", "--server-ports")
            + _RETRY
            + ("--server-group-threshold", "--max-request-tokens", "--enable-dynamic-bucket"),
        ),
    ),
}

_CANN, _FLA = "cann 9.2.0_20260930220649", "flash_linear_attention_npu 26.9.1+deva4a7958"
_RANK_TABLE = "DISAGGREGATED_PREFILL_RANK_TABLE_PATH"

# fact -> steps of (release, value); before the first step the record's default applies
FACTS: dict[str, tuple[tuple[str, object], ...]] = {
    # Installation of Mooncake: built from source in the image, or a package (image_install of the Dockerfiles)
    "mooncake_install": (("0.11.0rc3", "source"), ("0.23.0rc1", "package")),
    # Pin of the plugin's requirements if its images have another torch-npu (requirements.txt at the tags)
    "torch_npu_pin": (
        ("0.11.0rc3", "2.7.1"),
        ("0.12.0rc1", ""),
        ("0.13.0rc2", "2.8.0"),
        ("0.13.0", ""),
        ("0.18.0", "2.9.0"),
        ("0.19.1rc1", ""),
    ),
    # Requirements of vLLM-Ascend that contradict those of its vLLM; in its images they win, because it is installed last
    "overrides": (
        ("0.18.0", ("opencv-python-headless<=4.11.0.86",)),
        ("0.19.1rc1", ()),
        ("0.24.0rc1", ("fastapi<0.124.0",)),
    ),
    # Environment variables that were added and removed (vllm_ascend/envs.py)
    "free_timeout_env": (
        ("0.10.1rc1", "VLLM_ASCEND_KVCACHE_DELAY_FREE_TIMEOUT"),
        ("0.11.0rc0", "VLLM_NIXL_ABORT_REQUEST_TIMEOUT"),
        ("0.18.0", "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"),
    ),
    "llmdatadist_port_env": (
        ("0.9.1rc2", "VLLM_LLMDD_RPC_PORT"),
        ("0.9.2rc1", ""),
        ("0.10.0rc1", "VLLM_LLMDD_RPC_PORT"),
        ("0.10.1rc1", "VLLM_ASCEND_LLMDD_RPC_PORT"),
        ("0.12.0rc1", ""),
    ),
    # 0.9.1 and 0.10.0rc1 have the variable in envs.py only; their connector binds to tcp://0.0.0.0
    "llmdatadist_bind_env": (("0.10.1rc1", "VLLM_ASCEND_LLMDD_RPC_IP"), ("0.12.0rc1", "")),
    # Tutorials that say "on both prefill and decode nodes simultaneously"; from 0.23.0rc1 on platform.py switches it off for kv_producer
    "recompute_on_prefill": (("0.13.0", "recommended"), ("0.23.0rc1", "ignored")),
    "rank_table_env": (("0.9.1rc2", _RANK_TABLE), ("0.9.2rc1", ""), ("0.10.0rc1", _RANK_TABLE), ("0.12.0rc1", "")),
    "use_v1_env": (("0.8.4rc1", True), ("0.12.0rc1", False)),
    "store_port_key": (("0.11.0rc0", "mooncake_rpc_port"), ("0.12.0rc1", "lookup_rpc_port")),
    # AscendDirect's random ports (Mooncake ascend_direct_transport.cpp: 1000 per device in 0.3.7, later 100)
    "ascend_direct_stride": (("0.15.0rc1", 100),),
    "ascend_base_port_env": (("0.15.0rc1", "ASCEND_BASE_PORT"),),
    # Buffers on the NPU for the store; "removed" in kv_pool.md of the releases without (0.23.0, and again from 0.25.1 on)
    "buffer_pool_env": (
        ("0.7.3", "ASCEND_BUFFER_POOL"),
        ("0.23.0", ""),
        ("0.24.0rc1", "ASCEND_BUFFER_POOL"),
        ("0.25.1rc1", ""),
    ),
    "use_ascend_direct": (("0.10.2rc1", True), ("0.12.0rc1", False)),
    # kv-transfer-config
    "module_path_wins": (("0.20.2rc1", True),),
    "failure_policy": (("0.13.0rc1", "recompute"), ("0.17.0rc1", "fail")),
    "head_dim_needed": (("0.11.0rc1", True), ("0.21.0rc1", False)),
    # The worker compares the chip of the build (_build_info.py) with the actual one
    "chip_checked": (("0.12.0rc1", True),),
    "dense_dp_breaks": (("0.14.0rc1", True),),
    # quantization/utils.py: maybe_auto_detect_quantization takes the method from the files of the model
    "detects_quantization": (("0.15.0rc1", True), ("0.16.0rc1", False), ("0.17.0rc1", True)),
    # Log line of prefill's connector for each listening port
    "listening_line": (
        ("0.10.1rc1", "Starting listening on path: tcp://"),
        ("0.21.0rc1", "KVCacheSendingThread started listening on path: tcp://"),
    ),
    # Workers are bound to CPUs unless it is switched off (additional_config, enable_cpu_binding); on Arm only
    "binds_cpus": (("0.18.0rc1", True),),
    # Key of a connector's configuration: the folder with the descriptions of the links of a 950's NPUs (vllm_ascend/utils.py at the tags)
    "ub_endpoints": (("0.23.0", "/etc/hixlep"),),
    # vLLM
    "shutdown_timeout": (("0.18.0rc1", True),),
    # Metrics of vLLM
    "prompt_tokens_by_source": (("0.16.0rc1", True),),
    # Hardware of the wheels on PyPI: every _build_info.py in them has A2; before 0.12.0rc1 no worker compares. 0.23.0.post1
    # and everything from 0.27.1rc1 on are source distributions only
    "wheel_hardware": (
        ("0.7.3", ("a2", "a3")),
        ("0.12.0rc1", ("a2",)),
        ("0.23.0.post1", ()),
        ("0.24.0rc1", ("a2",)),
        ("0.27.1rc1", ()),
    ),
    # Builds in the images that no index has, by hardware, "" for all others: dated ones (ARG *_DATE and the base image of the
    # Dockerfiles), and wheels that they download. Workers of A2, A3 and 950 import fla_npu, which flash_linear_attention_npu has.
    "image_builds": (
        ("0.30.0rc1", {"310p": (), "": (_FLA,)}),
        (
            "0.30.0rc2",
            {
                "310p": (_CANN, "torch_npu 26.2.0"),
                "": (
                    *(_CANN, _FLA, "memcache 1.3.0", "memfabric 1.3.0", "torch_npu 26.2.0"),
                    "triton_ascend 3.6.0+dev20260923230212",
                ),
            },
        ),
    ),
    # Hardware generations with published images
    "image_hardware": (
        ("0.7.3", ("a2",)),
        ("0.9.1rc1", ("a2", "310p")),
        ("0.9.1rc2", ("a2",)),
        ("0.9.2rc1", ("a2", "310p")),
        ("0.10.0rc1", ("a2", "a3", "310p")),
        ("0.23.0", ("a2", "a3", "310p", "950")),
        ("0.24.0rc1", ("a2", "a3", "310p")),
        ("0.26.0rc1", ("a2", "a3", "310p", "950")),
    ),
    # Python versions that the package vllm-ascend supports: from, and before ("": no upper bound)
    "python_range": (
        ("0.7.3", ("3.9", "3.12")),
        ("0.12.0rc1", ("3.10", "3.12")),
        ("0.21.0rc1", ("3.10", "3.13")),
    ),
    # Driver and firmware (HDK): the minimum of the first README, still valid, and the recommendation of the documents
    "driver_minimum": (("0.7.3", "24.1.rc1"),),
    "hdk": (("0.7.3", "24.1.rc1"), ("0.13.0rc2", "25.5"), ("0.30.0rc1", "26.0.RC1")),
}

IMAGE = "quay.io/ascend/vllm-ascend"
IMAGE_SUFFIX = {"a2": "", "a3": "-a3", "310p": "-310p", "950": "-a5"}
