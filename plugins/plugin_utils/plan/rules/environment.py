# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of environment variables: derived ones, mutually exclusive ones, and those that a release reads."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ...releases.release import ASCEND_NAMES, REPLACED
from .base import Case, Rules
from .store import GIB, truth

RULES = Rules()
OWN = {
    "ASCEND_RT_VISIBLE_DEVICES": "inference_pools.<pool>.devices",
    "HCCL_IF_BASE_PORT": "inference_pools.<pool>.ports.hccl",
    "HCCL_IF_IP": "inference_address of the host",
    "VLLM_HOST_IP": "inference_address of the host",
    "MOONCAKE_CONFIG_PATH": "inference_store",
    "MOONCAKE_MASTER": "inference_store",  # read instead of mooncake.json's master_server_address
    "MOONCAKE_GLOBAL_SEGMENT_SIZE": "inference_pools.<pool>.store_segment_size",  # the same of global_segment_size
    "DISAGGREGATED_PREFILL_RANK_TABLE_PATH": "inference_kv_transfer",
    "VLLM_MOONCAKE_BOOTSTRAP_PORT": "inference_pools.<pool>.ports.bootstrap",
    "VLLM_LLMDD_RPC_PORT": "inference_pools.<pool>.ports.llmdatadist",
    "VLLM_ASCEND_LLMDD_RPC_PORT": "inference_pools.<pool>.ports.llmdatadist",
}
RANKS = ("VLLM_DP_RANK", "VLLM_DP_RANK_LOCAL", "VLLM_DP_SIZE", "VLLM_DP_MASTER_IP", "VLLM_DP_MASTER_PORT", "VLLM_PORT")
CARDS = ("GLOO_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
TIMEOUTS = ("ASCEND_CONNECT_TIMEOUT", "ASCEND_TRANSFER_TIMEOUT", "HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT")
HOLD = (
    "VLLM_ASCEND_KVCACHE_DELAY_FREE_TIMEOUT",
    "VLLM_NIXL_ABORT_REQUEST_TIMEOUT",
    "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT",
)
ONLY_V1 = (0, 10)  # from this vLLM on the release has no other engine
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
DEV_MODE = "VLLM_SERVER_DEV_MODE"
SECRET = re.compile(r"(API_KEY|_TOKEN|PASSWORD|SECRET)$")
HUB = re.compile(r"^(HF|HUGGING_?FACE|MODELSCOPE|MS)_.*TOKEN$", re.IGNORECASE)
LOCAL_MODEL = "Download the model to a folder with this token, and set inference_model.path to the folder: engines then ask no hub."
OFFLOAD = "MOONCAKE_OFFLOAD_LOCAL_BUFFER_SIZE_BYTES"


def user_variables(case: Case) -> t.Iterator[tuple[str, str, str]]:
    """Path, name and value of every environment variable that the user sets, for every process."""
    for path, name, raw in user_values(case):
        yield path, name, str(raw)


def user_values(case: Case) -> t.Iterator[tuple[str, str, t.Any]]:
    """The same with the values as the user wrote them."""
    description, seen = case.context.description, set()
    layers = [layer for view in case.engine_views for layer in view.layers("env")]
    layers += [
        ("inference_router.env", description.router.env),
        ("inference_mooncake_master.env", description.mooncake_master.env),
    ]
    for path, mapping in layers:
        for name in mapping:
            if mapping[name] is not None and f"{path}.{name}" not in seen:
                seen.add(f"{path}.{name}")
                yield f"{path}.{name}", name, mapping[name]


@RULES.rule("ENV-NAME", "Correct the name.", "environ(7)")
def name_(case: Case) -> t.Iterator[Finding]:
    """An environment variable has an invalid name, or a value that is no single line of text.

    Units and scripts hold one variable per line; a name may have letters, digits and underscores only.
    """
    for path, name, raw in user_values(case):
        value = str(raw)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            yield Finding.at(path, "", f"'{name}' is not a valid name of an environment variable")
        elif isinstance(raw, (dict, list, tuple)):
            yield Finding.at(
                path,
                value,
                f"{name} is a {'mapping' if isinstance(raw, dict) else 'list'}, not text",
                "Write JSON in single quotes.",
            )
        elif "\n" in value:
            yield Finding.at(path, "", f"the value has {len(value.splitlines())} lines")


@RULES.rule(
    "ENV-DERIVED",
    "Remove the variable and set the one that it is derived from.",
    "design of the planner: ports, peers and the rank table follow from the same variable",
)
def derived(case: Case) -> t.Iterator[Finding]:
    """An environment variable that the planner derives is set manually.

    Its value differs for each process; one value for all breaks ports, peers or device order.
    """
    for view in case.engine_views:
        for name, variable in OWN.items():
            if view.sets_env(name):
                problem = f"{name} is derived from {variable}"
                yield Finding.at(view.env_path(name), view.env.get(name), problem)


@RULES.rule(
    "ENV-RANKS",
    "Remove the variable: sizes of the pool and load_balancing decide about ranks.",
    "vllm/envs.py: VLLM_DP_RANK, VLLM_DP_SIZE and others are read instead of the options",
    "warning",
)
def ranks(case: Case) -> t.Iterator[Finding]:
    """Ranks of data parallelism, or the base of vLLM's own ports, are set for all processes.

    Every process gets the same rank or tries the same ports. vLLM reads the former where the options set none.
    """
    for view in case.engine_views:
        several = view.instance.pool.data_parallel_size > 1 or len(view.instance.processes) > 1
        for name in RANKS:
            if view.sets_env(name) and several:
                yield Finding.at(view.env_path(name), view.env.get(name), f"{name} is the same for all ranks")


@RULES.rule(
    "ENV-PATH",
    "Write the whole list, such as /own/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin.",
    "execvp(3): programs are searched for in PATH",
    "warning",
)
def search_path(case: Case) -> t.Iterator[Finding]:
    """PATH has no folder of the operating system.

    Engines compile kernels when they start, and find neither a shell nor a compiler.
    """
    for path, name, value in user_variables(case):
        folders = set(value.split(":"))
        if name == "PATH" and "$" not in value and not folders & {"/bin", "/usr/bin"}:
            yield Finding.at(path, value, "neither /bin nor /usr/bin is in PATH")


@RULES.rule(
    "ENV-CARDS",
    "Set inference_interface and remove these variables.",
    "vllm-ascend #167, #2390: Gloo and HCCL connect over different networks",
    "warning",
)
def cards(case: Case) -> t.Iterator[Finding]:
    """Gloo, HCCL and tensor parallelism use different network interfaces.

    Ranks connect over one network and wait on the other, so startup hangs.
    """
    for view in case.engine_views if case.npu else ():
        own = [name for name in CARDS if view.sets_env(name)]
        alike = list(case.processes_like(view)) if own else []
        interfaces = {item.process.host.interface for item in alike}
        for item in alike:
            host = item.process.host
            values = {name: item.env[name] for name in CARDS if name in item.env}
            if host.interface and interfaces & set(values.values()):  # else they name another network on purpose
                values["inference_interface"] = host.interface
            if len(set(values.values())) > 1:
                said = ", ".join(f"{name}={values[name]}" for name in values)
                problem = f"different network interfaces on {host.name}: {said}"
                yield Finding.at(view.env_path(own[0]), item.env.get(own[0]), problem)
                break


@RULES.rule(
    "ENV-BINDERS",
    "Remove CPU_AFFINITY_CONF, or set additional-config.enable_cpu_binding: false.",
    "vllm_ascend/cpu_binding.py; CANN: environment variable CPU_AFFINITY_CONF of torch_npu",
    "warning",
)
def binders(case: Case) -> t.Iterator[Finding]:
    """Both torch_npu and vLLM-Ascend bind an engine's threads to CPUs.

    The one that binds last wins for each thread, so threads of different NPUs may share CPUs, and interrupts their workers' CPUs.
    """
    for view in case.engine_views if case.npu else ():
        wanted = str(view.env.get("CPU_AFFINITY_CONF") or "0").strip()
        ours = view.mapping("additional-config").get("enable_cpu_binding", case.context.release.binds_cpus)
        if wanted.partition(",")[0] != "0" and ours and truth(str(ours)):
            problem = (
                f"CPU_AFFINITY_CONF={wanted} binds threads, and vLLM-Ascend's enable_cpu_binding binds them as well"
            )
            yield Finding.at(view.env_path("CPU_AFFINITY_CONF"), wanted, problem)


@RULES.rule(
    "ENV-PROXY",
    "Remove it; download the model or packages before, if that needs the proxy.",
    "vllm-ascend docs: unset http_proxy; httpx and libcurl in proxy, store and engines obey it",
)
def http_proxy(case: Case) -> t.Iterator[Finding]:
    """An HTTP proxy is set for services.

    Requests between router, engines and store would go through it and fail.
    """
    for path, name, value in user_variables(case):
        if name.lower() in PROXIES and value:
            yield Finding.at(path, value, f"{name} is set for services that connect to each other over HTTP")


@RULES.rule(
    "ENV-SECRET",
    "Remove it. Services read the secrets api_key and client_keys of inference_secrets, and no others.",
    "the plan is printed, stored and compared; secrets are not part of it",
)
def secrets(case: Case) -> t.Iterator[Finding]:
    """A secret is written into a plain variable.

    The plan is printed, stored and compared, so the secret would be visible in logs and files.
    """
    for path, name, value in user_variables(case):
        if SECRET.search(name.upper()) and value:
            fix = "Set inference_secrets.api_key instead." if name == "VLLM_API_KEY" else ""
            fix = LOCAL_MODEL if HUB.search(name) else fix
            yield Finding.at(path, "(hidden)", f"{name} looks like a secret in a plain variable", fix)


@RULES.rule(
    "ENV-DEV-MODE",
    "Remove it, or accept it for an engine that only a test reaches.",
    "vllm/envs.py and its API server: development endpoints, which warn of themselves at start; the middleware for keys knows paths below /v1",
    "warning",
)
def dev_mode(case: Case) -> t.Iterator[Finding]:
    """Engines open vLLM's development endpoints, such as /collective_rpc, /sleep and /reset_prefix_cache.

    Whoever reaches an engine's port, also without the key, can call methods of its workers, put it to sleep or empty its cache.
    """
    for view in case.engine_views:
        value = str(view.env.get(DEV_MODE) or "")
        if view.sets_env(DEV_MODE) and value not in ("", "0"):
            yield Finding.at(view.env_path(DEV_MODE), value, f"{DEV_MODE} is {value}")


@RULES.rule(
    "ENV-SHELL",
    "Write the expanded value.",
    "systemd, docker and supervisor do not expand values",
    "warning",
)
def shell(case: Case) -> t.Iterator[Finding]:
    """A value uses shell syntax.

    systemd, docker and supervisor do not expand values: the $ or backquote reaches the process unchanged. Only a
    reference of a variable to itself is expanded.
    """
    for path, name, value in user_variables(case) if not case.in_pods else ():
        rest = re.sub(rf"\$(?:{re.escape(name)}\b|{{{re.escape(name)}[^}}]*}})", "", value)
        if re.search(r"\$[({A-Za-z_]|`", rest):
            yield Finding.at(path, value, f"'{value}' is shell syntax, and no shell expands it")


@RULES.rule("ENV-TIMEOUT", "Write a whole number.", "CANN and Mooncake: std::stoi, or the default without a message")
def timeouts(case: Case) -> t.Iterator[Finding]:
    """A timeout is not a whole number above zero.

    ASCEND_* are milliseconds, HCCL_* and vLLM's are seconds; anything else ends the process or silently becomes the
    default.
    """
    for path, name, value in user_variables(case):
        if name in TIMEOUTS + HOLD and not (value.isdecimal() and int(value)):
            unit = "milliseconds" if name.startswith("ASCEND_") else "seconds"
            yield Finding.at(path, value, f"'{value}' is not a whole number of {unit} above zero")


@RULES.rule(
    "RDMA-TIMEOUT",
    "Choose a number from 5 to 24; 17 is half a second, every step doubles it.",
    "CANN: HCCL_RDMA_TIMEOUT, 4.096 us x 2^n",
)
def rdma(case: Case) -> t.Iterator[Finding]:
    """HCCL_RDMA_TIMEOUT is not a number from 5 to 24.

    It is an exponent (4.096 us x 2^n); HCCL refuses other values at start.
    """
    for path, name, value in user_variables(case):
        if name == "HCCL_RDMA_TIMEOUT" and not (value.isdecimal() and 5 <= int(value) <= 24):
            yield Finding.at(path, value, f"'{value}' is not a number from 5 to 24")


@RULES.rule(
    "ENV-RELEASE",
    "Remove it.",
    "vllm_ascend/envs.py by tag",
    "warning",
)
def of_release(case: Case) -> t.Iterator[Finding]:
    """An environment variable is set that the release does not read, or that its documents replaced.

    The setting has no effect, or one that upstream no longer tests.
    """
    release = case.context.release
    for path, name, value in user_variables(case) if case.npu else ():
        if name in HOLD and name != release.free_timeout_env:
            problem = f"release {release.name} does not read {name}; it reads {release.free_timeout_env or 'no such variable'}"
            fix = "Set inference_kv_hold_timeout for the time that prefill holds KV cache."
            yield Finding.at(path, value, problem, fix)
        elif name == "VLLM_USE_V1" and not release.use_v1_env and value == "0":
            yield Finding.at(path, value, f"release {release.name} has only the V1 engine")
        elif release.environment and name in ASCEND_NAMES - {*release.environment, *HOLD}:
            key = REPLACED.get(name, "")
            instead = key if key.partition(".")[0] in release.additional_config else ""
            fix = f"Set {instead} in args.additional-config instead." if instead else ""
            yield Finding.at(path, value, f"release {release.name} does not read {name}", fix)
        elif name == "ASCEND_BUFFER_POOL" and not release.buffer_pool_env and value != "0:0":
            problem = (
                f"documents of release {release.name} say that {name} was removed, and its Mooncake still reads it"
            )
            fix = "Set HCCL_INTRA_ROCE_ENABLE or ASCEND_ENABLE_USE_FABRIC_MEM instead."
            yield Finding.at(path, value, problem, fix)
        elif name == "ASCEND_BASE_PORT" and not release.ascend_base_port_env:
            problem = f"Mooncake {release.mooncake} of release {release.name} does not read {name}; 0.3.8 and later do"
            yield Finding.at(path, value, problem)


@RULES.rule(
    "USE-V1",
    "Remove it: the planner sets 1.",
    "vllm-ascend docs up to 0.11: prefill/decode disaggregation needs V1; platform.py of 0.10 and 0.11: does not support V0 engine",
)
def use_v1(case: Case) -> t.Iterator[Finding]:
    """vLLM's V0 engine is selected where the release or a connector does not work with it.

    Engines of 0.10 and 0.11 end at their start; before them connectors work with the V1 engine only.
    """
    release = case.context.release
    only = release.vllm_version >= ONLY_V1
    for view in case.engine_views if release.use_v1_env else ():
        if view.env.get("VLLM_USE_V1") == "0" and (only or case.context.transfer_of(view.instance.pool)):
            problem = f"VLLM_USE_V1=0 {'in' if only else 'with a connector in'} release {release.name}"
            yield Finding.at(view.env_path("VLLM_USE_V1"), "0", problem)


@RULES.rule(
    "HASH-SEED",
    "Remove it: the planner sets 0 for all.",
    "vllm-ascend kv_pool.md; vLLM prefix hashes start from it",
)
def hash_seed(case: Case) -> t.Iterator[Finding]:
    """Engines that share the store start Python with different hash seeds.

    Block hashes depend on the seed, so no engine finds KV cache that another one stored.
    """
    seeds = {view.env.get("PYTHONHASHSEED", "") for view in case.engine_views}
    for view in case.engine_views if case.context.store else ():
        own = view.env.get("PYTHONHASHSEED", "")
        if view.sets_env("PYTHONHASHSEED") and (len(seeds) > 1 or not own.isdecimal()):
            others = ", ".join(sorted(seeds - {own})) or "none"
            problem = (
                f"'{own}' is not a number" if not own.isdecimal() else f"{view.kind} has {own}, others have {others}"
            )
            yield Finding.at(view.env_path("PYTHONHASHSEED"), own, problem)


@RULES.rule(
    "BUFFER-POOL",
    "Keep one of ASCEND_BUFFER_POOL, ASCEND_USE_ASYNC_TRANSFER and ASCEND_ENABLE_USE_FABRIC_MEM.",
    "Mooncake ascend_direct_transport: 'Buffer pool mode does not support async transfer'",
)
def buffer_pool(case: Case) -> t.Iterator[Finding]:
    """ASCEND_BUFFER_POOL is combined with an incompatible setting.

    It works neither with asynchronous transfer nor with fabric memory; Mooncake refuses to start.
    """
    for view in case.engine_views:
        pooled = view.env.get("ASCEND_BUFFER_POOL", "")
        for name in ("ASCEND_USE_ASYNC_TRANSFER", "ASCEND_ENABLE_USE_FABRIC_MEM"):
            if pooled and pooled != "0:0" and truth(view.env.get(name, "0")):
                own = name if view.sets_env(name) else "ASCEND_BUFFER_POOL"
                yield Finding.at(view.env_path(own), view.env[own], f"ASCEND_BUFFER_POOL is {pooled} and {name} is on")


@RULES.rule(
    "FABRIC-MEMORY",
    "Use fabric memory only on A3 with the HCCS link.",
    "vllm-ascend kv_pool.md 5.1: A3 with HCCS, CANN 9.0, HDK 25.5",
)
def fabric(case: Case) -> t.Iterator[Finding]:
    """Fabric memory is switched on where it does not work.

    It needs A3 hosts that are linked over HCCS, and CANN 9.0; elsewhere the allocation fails at start.
    """
    for view in case.engine_views:
        if not truth(view.env.get("ASCEND_ENABLE_USE_FABRIC_MEM", "0")):
            continue
        path, description = view.env_path("ASCEND_ENABLE_USE_FABRIC_MEM"), case.context.description
        if view.process.host.hardware not in ("a3", "950") or description.link == "roce":
            problem = f"fabric memory is on for {view.process.host.hardware} with inference_link {description.link}"
            yield Finding.at(path, 1, problem, severity="" if description.store.backend == "mooncake" else "warning")
        elif case.context.release.cann_version < (9,):
            problem = f"release {case.context.release.name} has CANN {case.context.release.cann}, older than 9.0"
            yield Finding.at(path, 1, problem)


@RULES.rule(
    "INTRA-ROCE",
    "Remove HCCL_INTRA_ROCE_ENABLE and set inference_link.",
    "vllm-ascend kv_pool.md 5.1; Mooncake #3749",
)
def intra_roce(case: Case) -> t.Iterator[Finding]:
    """HCCL_INTRA_ROCE_ENABLE contradicts the hardware or the link.

    With 0 a store on A2 transfers nothing; with 1 A3 hosts linked over HCCS connect over the wrong network.
    """
    for view in case.engine_views:
        value, hardware = view.env.get("HCCL_INTRA_ROCE_ENABLE"), view.process.host.hardware
        if hardware == "a2" and case.context.store and value == "0":
            yield Finding.at(
                view.env_path("HCCL_INTRA_ROCE_ENABLE"),
                value,
                "RoCE inside a host is off, but the store on A2 needs it",
            )
        elif hardware == "a3" and case.context.description.link == "hccs" and value == "1":
            yield Finding.at(
                view.env_path("HCCL_INTRA_ROCE_ENABLE"), value, "RoCE is on although inference_link is hccs"
            )


@RULES.rule(
    "OFFLOAD-BUFFER",
    "Write a multiple of 1073741824.",
    "vllm-ascend kv_pool.md 5.3: the default 1342177280 is refused with fabric memory",
)
def offload_buffer(case: Case) -> t.Iterator[Finding]:
    """The offload buffer has an invalid size.

    It must be a number of bytes; with fabric memory NPUs map it in pages of 1 GiB and refuse other sizes.
    """
    for view in case.engine_views:
        value = view.env.get(OFFLOAD)
        fabric_ = truth(view.env.get("ASCEND_ENABLE_USE_FABRIC_MEM", "0"))
        if value is not None and (not value.isdecimal() or fabric_ and int(value) % GIB):
            problem = f"'{value}' is not a {'multiple of 1 GiB' if value.isdecimal() else 'whole number of bytes'}"
            yield Finding.at(view.env_path(OFFLOAD), value, problem)


@RULES.rule(
    "FUSED-MC2",
    "Set VLLM_ASCEND_ENABLE_FUSED_MC2 on the decode pool only.",
    "vllm-ascend #8320",
    "warning",
)
def fused(case: Case) -> t.Iterator[Finding]:
    """The fused MC2 operator is enabled on prefill in a release up to 0.18.

    With several data-parallel ranks it corrupts prefill's KV cache, and answers are wrong.
    """
    for view in case.of("prefill", "colocated") if case.context.release.vllm_version <= (0, 18, 0) else ():
        several = view.instance.pool.data_parallel_size > 1 and view.kv
        if several and view.env.get("VLLM_ASCEND_ENABLE_FUSED_MC2", "0") not in ("", "0"):
            name, ranks = "VLLM_ASCEND_ENABLE_FUSED_MC2", view.instance.pool.data_parallel_size
            problem = f"fused MC2 is on in pool {view.kind}, which has {ranks} data-parallel ranks"
            yield Finding.at(view.env_path(name), view.env[name], problem)


@RULES.rule(
    "READY-TIMEOUT",
    "Set inference_start_timeout: both timeouts are derived from it.",
    "vLLM: VLLM_ENGINE_READY_TIMEOUT_S",
    "warning",
)
def ready(case: Case) -> t.Iterator[Finding]:
    """The engine's timeout for loading is shorter than the playbook's.

    An engine that loads slowly is stopped although the playbook would still wait.
    """
    name, wanted = "VLLM_ENGINE_READY_TIMEOUT_S", case.context.description.start_timeout
    for view in case.engine_views:
        value = view.env.get(name, "")
        if view.sets_env(name) and value.isdecimal() and int(value) < wanted:
            problem = f"{value} s is shorter than inference_start_timeout, which is {wanted} s"
            yield Finding.at(view.env_path(name), value, problem)
