# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a deployment, as frozen records.

An unknown variable is refused with its path. Defaults that depend on the release, the engine or the hosts are
set by the planner.
"""

from __future__ import annotations

import dataclasses
import typing as t
from dataclasses import dataclass

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..engines.registry import NAMES as ENGINES
from ..engines.registry import engine
from ..runtimes.registry import NAMES as RUNTIMES
from .fabric import Fabric
from .findings import Finding, nearest
from .firewall import Firewall
from .kubernetes import Kubernetes
from .loader import Reader, choice, commas, documented, factory, firsts, mapping, number, typed
from .meaning import VARIABLES, close, engine_meant, generation_of, runtime_meant
from .probe import Probe
from .store_ha import StoreHa
from .texts import problem_of
from .tune import PROFILES, Tune
from .values import natural

LARGEST_BODY = 192  # MiB. HAProxy refuses a buffer of 256 MiB and more, and a buffer holds a whole request.

PREFIX = "inference_"

# Variables that control a run of a playbook; the planner ignores them.
RUN_VARIABLES = {
    "acceptance": "What the playbook acceptance proves, and where it writes its page and its archive, see below.",
    "advise_inventory": "File for the inventory that the playbook advise proposes; it is read after the present one.",
    "advise_json": "File for the advice of the playbook advise, as JSON.",
    "advise_report": "Report of the playbook bench (inference_bench_json) that the playbook advise judges. Default: it reads metrics.",
    "advise_seconds": "Seconds over which the playbook advise reads metrics. Default: 60.",
    "allow_pause": "Whether deploy, site and restart may restart engines, and rollback all services, although no other instance serves meanwhile. "
    "Default: false.",
    "bench": "What the playbook bench sends: profile, loads, lengths and limits, see below.",
    "bench_compare": "Report of an earlier run of the playbook bench with which it compares this one.",
    "bench_check": "File with the findings of the playbook check (inference_check_json), which the report of the playbook bench records.",
    "bench_json": "File for the report of the playbook bench, as JSON.",
    "bench_html": "File for the report of the playbook bench, as an HTML page with curves. Needs pygal on the controller.",
    "bench_markdown": "File for the report of the playbook bench, as Markdown.",
    "break_lock": "The run whose lock of the deployment is taken over, as the error message names it.",
    "bundle": "Folder on the controller with a bundle (playbook bundle). Hosts install from it, without package indexes and registries.",
    "bundle_archive_checksums": "Digests of the archives that builds of vLLM-Ascend fetch, as {protobuf-25.1.tar.gz: 'sha256:...'}.",
    "bundle_archives": "Folder where the bundle is made, or address of a mirror, with the archives that builds of vLLM-Ascend fetch. "
    "Default: the addresses in the sources.",
    "bundle_base": "Folder of an older bundle; the playbook bundle leaves out the files that it has.",
    "bundle_controller": "Platform of the controller that gets Ansible from the bundle, as bundle_platform. Default: that of the machine that makes it.",
    "bundle_directory": "Folder on each host for the files of the bundle. Default: /var/cache/ascend-inference/bundle.",
    "bundle_keyring": "File of 'gpg --export'; the bundle has to be signed by one of its keys.",
    "bundle_minisign_key": "File of a secret key of minisign, without a password, with which the playbook bundle signs.",
    "bundle_minisign_public_key": "Public key of minisign, as file or text; the bundle has to be signed by it.",
    "bundle_model": "true: the playbook bundle also fetches the model, or those of inference_models, from their hubs.",
    "bundle_path": "Folder that the playbook bundle writes. Default: bundle, in the current folder.",
    "bundle_platform": "Per host, group or deployment: machine, python and glibc, as in {machine: aarch64, python: '3.11', glibc: '2.35'}. "
    "Images need machine only. With distribution, as in 'debian 12', the bundle also has packages of this distribution.",
    "bundle_show": "list: the playbook bundle prints the list with sizes and fetches nothing.",
    "bundle_sign": "Id of the GnuPG key with which the playbook bundle signs.",
    "bundle_sources": "Per host, group or deployment: files of the hosts' sources (NAME.list, NAME.sources; NAME.repo for dnf) where the bundle is made. "
    "Default: its own, if it has the same distribution.",
    "bundle_url": "Per host, group or deployment: address at which an HTTP server of the rack has the folder of the bundle. Hosts fetch their files "
    "there, and the controller sends none. Default: the controller sends them.",
    "check_html": "File for the findings of the host check, as one HTML page.",
    "check_ignore": "Ids of host checks whose findings are accepted, as a list or as A,B.",
    "check_packages": "Whether the playbook check asks the package indexes for the Python packages; the playbook prepare always does.",
    "check_json": "File for the findings of the host check and the gathered facts, as JSON.",
    "compare_folder": "Folder on the controller for the reports and outputs of the playbook compare. Default: the current folder.",
    "compare_with": "File of YAML with the variables of the other topology that the playbook compare measures on the same hosts.",
    "drill": "Which faults the playbook drill makes, and the load meanwhile, see below.",
    "drill_confirm": "The name of the deployment, or entry for the group entry, which confirms that the playbook drill may kill its services.",
    "drill_json": "File for the report of the playbook drill, as JSON.",
    "drill_markdown": "File for the report of the playbook drill, as Markdown.",
    "entry": "What the playbook entry deploys: models of several deployments and teams with limits at one address, see below.",
    "fabric_accept_loss": "Whether the playbook fabric may change an address although that drops a gateway or routes. Default: false.",
    "fabric_json": "File for the report of the playbook fabric, as JSON.",
    "fabric_rollback": "Whether the playbook fabric sets the values of before its first change again.",
    "fabric_rollback_file": "File on each host with these values. Default: /var/lib/ascend-inference/fabric.json.",
    "drain_timeout": "Most seconds until an engine that left the router has finished its requests; it is stopped then. Default: 300.",
    "group": "Inventory group with the hosts of the deployment, if the inventory contains several deployments.",
    "grafana_token": "Token with which the playbook monitoring sends the dashboard to inference_monitoring.grafana_url.",
    "index_strategy": "Which of several package indexes uv takes a package from, as its --index-strategy. Default: first-index.",
    "join_timeout": "Most seconds of one answer when a new or restarted engine is proven, and until a request through the router used it. Default: 300.",
    "keep_placement": "Whether running instances keep their hosts, devices and ports. Default: true. With false all are placed again.",
    "lock_directory": "Directory on the controller for locks of Python environments (versions and hashes), which all hosts and later runs install.",
    "manifests_file": "Kubernetes: file for the manifests.",
    "logs_file": "Archive that the playbook logs writes. Default: DEPLOYMENT-logs.tar.gz in the current folder.",
    "logs_mib": "Most MiB of all logs together that the playbook logs gathers. Default: 64.",
    "logs_minutes": "How many minutes the playbook logs goes back. Default: 30.",
    "models": "Models that the playbook models brings to the hosts with engines, a list of path and source. Default: that of the deployment.",
    "models_verify": "Whether the playbook models compares each byte of the models that are there. Default: false.",
    "monitoring": "What the playbook monitoring writes, where, and limits of alerts, see below.",
    "manifests_dir": "Kubernetes: folder for a file for each manifest and a kustomization.",
    "outside": "Host outside of the deployment, such as localhost, from which the playbook verify tries the planned ports.",
    "plan": "The plan itself; set by the playbook plan for later playbooks.",
    "pages": "Folder in which each deployment has the latest HTML pages of its plan, check, status and benchmark, and an index of these.",
    "plan_file": "File for the plan, as JSON.",
    "model_facts": "File that the playbook check wrote (inference_check_json); plan shows the memory of each pool, and recipes reads the NPUs.",
    "plan_html": "File for the plan, as one HTML page with a picture of the deployment.",
    "plan_only": "Kubernetes: print the manifests and stop.",
    "plan_show": "What the playbook plan prints: table, commands, json, memory, rules, advice or diff.",
    "recipe_fit": "Whether the playbook recipes lists those that fit the hosts of the inventory, and why the others do not. Default: false.",
    "recipe_show": "Name of a recipe that the playbook recipes prints as YAML, for an inventory in which its values are changed. Default: all are listed.",
    "rehearse": "Whether the installed release judges the engines' settings before a service is changed. Default: true.",
    "remove_caches": "Remove environments and caches as well.",
    "remove_models": "Remove a model that the collection installed as well.",
    "services": "Names of the services that the playbook restart restarts, as a list or as A,B. Default: all.",
    "status_fail": "Whether the playbook status fails if a service is not well. Default: true.",
    "status_file": "File for the status of the services, as JSON.",
    "status_html": "File for the status of the services, as one HTML page with a picture of the deployment.",
    "trace_html": "File for the report of the playbook trace, as an HTML page.",
    "trace_json": "File for the report of the playbook trace, as JSON.",
    "trace_requests": "How many requests the playbook trace sends, one after the other. Default: 8.",
    "upgrade_mode": "How the playbooks upgrade and rollback change the services: rolling, blue_green or recreate. Default: the gentlest one that is "
    "possible. One that is not possible is refused.",
    "upgrade_watch": "Seconds for which the playbook upgrade watches each share of requests that new routers get in the mode blue_green. Default: 60.",
    "usage_csv": "File for the usage of each day, team and model that the playbook usage writes, as CSV.",
    "usage_first": "The first day of the playbook usage, as 2026-11-01, in UTC. Default: the first of this month.",
    "usage_last": "The last day of the playbook usage. Default: today.",
    "verify_file": "File for the report of the verification, as JSON.",
    "watchdog": "What the playbook watchdog does with an engine that makes no progress: report or restart. Default: report.",
    "watchdog_per_hour": "Most restarts by the playbook watchdog within an hour. Default: 2.",
}
OPERATIONAL = frozenset(PREFIX + name for name in RUN_VARIABLES)
DEVICES = {"a2": 8, "a3": 16, "950": 8, "310p": 8, "910a": 8}  # NPUs (dies) of a server of each generation
HARDWARE = ("a2", "a3", "950", "310p", "910a", "cpu")
MOST_DEVICES = 1024  # of one host; a SuperPoD has 384 NPUs in 48 hosts
HOST_VARIABLES = {
    "address": "Address that other hosts use. Default: ansible_host, or the inventory name.",
    "fabric": "Settings of the NPUs' network for the playbook fabric, see below. Default: nothing is changed.",
    "devices": "Number of NPUs that may be used, or a list of their device ids. Default: all of the hardware.",
    "hardware": "Hardware generation of the host. Default: the one of the deployment.",
    "interface": "Network interface that holds the address. Default: the one of the deployment.",
    "memory": "Host memory in GiB; the planner checks the size of the store against it. Default: unknown.",
    "tune": "What the profile latency of the playbook tune may do, see below.",
    "tune_profile": "Settings of a host with NPU engines: safe, latency, or none, which sets the old values back. Default: safe.",
}


@dataclass(frozen=True)
class Model:
    """The served model: ``path`` on every engine's host, ``name`` in the clients' requests."""

    path: str = documented(
        "Directory of the model on every host with an engine.", example="path: /models/Qwen3-30B-A3B"
    )
    name: str = documented("Model name that clients send and the API reports. Default: the last part of the path.", "")
    source: str = documented(
        "Where the role model gets the files from: modelscope:OWNER/NAME@REVISION or huggingface:OWNER/NAME@REVISION, the https:// address of a folder, "
        "hosts:NAME for a host that has them, copy, archive, rsync, or tiny for a small random model. Empty: they already exist.",
        typed("model_source"),
    )
    moe: str = documented(
        "Whether the model has experts. With auto the planner assumes a mixture of experts and the host check reads config.json.",
        choice("auto", "true", "false"),
    )


@dataclass(frozen=True)
class Ports:
    """First ports set by the user instead of chosen by the planner.

    One number is the first port of the pool's first instance on a host (further instances of that host follow at a
    distance); a list has one number for each instance of the pool, or of the host if it is set for a host.
    """

    api: tuple[int, ...] = documented("HTTP port of the OpenAI-compatible API.", firsts())
    kv: tuple[int, ...] = documented(
        "First port of the range on which the KV connector's ranks exchange metadata.", firsts()
    )
    dp_rpc: tuple[int, ...] = documented("Port of the data-parallel coordinator (--data-parallel-rpc-port).", firsts())
    hccl: tuple[int, ...] = documented("First port of HCCL on the host (HCCL_IF_BASE_PORT).", firsts())
    bootstrap: tuple[int, ...] = documented(
        "Bootstrap port of vLLM's own Mooncake connector; CPU engines only.", firsts()
    )
    llmdatadist: tuple[int, ...] = documented("First port of the LLMDataDist connector's ranks.", firsts())


@dataclass(frozen=True)
class HostSettings:
    """Settings of one host of a pool."""

    args: dict[str, t.Any] = documented(
        "Options of vllm serve for this host; they take precedence over those of the pool.", mapping()
    )
    env: dict[str, t.Any] = documented(
        "Environment variables for this host; they take precedence over those of the pool.", mapping()
    )
    ports: Ports = documented("First ports on this host.", factory(Ports))


@dataclass(frozen=True)
class RankSettings:
    """Settings of one data-parallel rank of a pool."""

    env: dict[str, t.Any] = documented(
        "Environment variables for this rank; they take precedence over those of the pool and of the host.", mapping()
    )


@dataclass(frozen=True)
class Pool:
    """A pool of engines: number and size of instances, hosts, options."""

    group: str = documented(
        "Inventory group with the hosts of the pool. Default: the name of the pool.", typed("group")
    )
    model: str = documented("Directory of the model for this pool, if it differs from inference_model.path.", "")
    instances: int = documented("Number of instances (independent engines) of the pool.", number(1, 0))
    instances_per_host: int = documented("Instances on one host. 0: as many as fit.", number(0, 0))
    hosts_per_instance: int = documented("Hosts that one instance spans. 0: as few as possible.", number(0, 0))
    data_parallel_size: int = documented("Data-parallel ranks of one instance.", number(1))
    tensor_parallel_size: int = documented("Tensor-parallel size of one rank.", number(1))
    pipeline_parallel_size: int = documented("Pipeline-parallel size of one rank.", number(1))
    prefill_context_parallel_size: int = documented(
        "Context-parallel size of one rank while it processes prompts.", number(1)
    )
    decode_context_parallel_size: int = documented(
        "Context-parallel size of one rank while it decodes; it reuses the tensor-parallel devices.", number(1)
    )
    expert_parallel: bool = documented(
        "Distribute the experts over all ranks of an instance (--enable-expert-parallel).", False
    )
    load_balancing: str = documented(
        "internal: one process and one API per host. external: one process and one API per data-parallel rank.",
        choice("internal", "external"),
    )
    devices: tuple[int, ...] = documented(
        "Device ids to use on each host of the pool. Default: chosen by the planner.", ()
    )
    device_offset: int = documented("Number of devices to skip at the beginning of each host.", number(0, 0))
    args: dict[str, t.Any] = documented(
        "Options of vllm serve for the pool, without dashes; they take precedence over inference_args.", mapping()
    )
    env: dict[str, t.Any] = documented(
        "Environment variables of the pool; they take precedence over inference_env.", mapping()
    )
    kv: dict[str, t.Any] = documented("Settings merged into the connector's configuration, by connector.", mapping())
    kv_transfer: str = documented("KV transfer of this pool, if it differs from inference_kv_transfer.", "")
    store_segment_size: str = documented(
        "Host memory that each rank of the pool contributes to a Mooncake store, if it differs from inference_store.segment_size. 0: none, so the "
        "pool only uses what the others contribute.",
        "",
    )
    hosts: dict[str, HostSettings] = documented(
        "Settings of single hosts of the pool, by inventory name.", factory(dict)
    )
    ranks: dict[str, RankSettings] = documented(
        "Settings of single data-parallel ranks of each instance, by number; needs load_balancing: external.",
        factory(dict),
    )
    ports: Ports = documented("First ports of the pool's instances.", factory(Ports))

    @property
    def rank_devices(self) -> int:
        """Devices of one data-parallel rank."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.prefill_context_parallel_size

    @property
    def context_parallel_size(self) -> int:
        """Ranks that share the KV cache of a sequence."""
        return self.prefill_context_parallel_size * self.decode_context_parallel_size

    @property
    def devices_per_instance(self) -> int:
        """Devices of one instance over all its hosts."""
        return self.data_parallel_size * self.rank_devices


@dataclass(frozen=True)
class Pools:
    """The pools that a deployment may have."""

    encode: Pool | None = documented("Encoders of multimodal input.", None)
    prefill: Pool | None = documented("Engines that process prompts and transfer the KV cache.", None)
    decode: Pool | None = documented("Engines that receive the KV cache and generate tokens.", None)
    colocated: Pool | None = documented("Engines that do both.", None)

    def present(self) -> dict[str, Pool]:
        """The configured pools, in start order."""
        return {name: pool for name in ENGINE_KINDS if (pool := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Router:
    """The proxy in front of the engines."""

    flavour: str = documented(
        "Router program: vllm_router, load_balance, layerwise, epd, epd_layerwise, dp, hybrid or none. Empty: derived from "
        "the KV transfer and the pools.",
        "",  # names are in plan/routers/registry.py
    )
    policy: str = documented(
        "How vllm_router chooses an engine of each pool: round_robin, random, power_of_two, cache_aware, kv_aware (with event sources in args), "
        "consistent_hash or sticky_least_loaded. Default: round_robin. An args.policy precedes it.",
        "",  # the values are those of the program
    )
    group: str = documented(
        "Inventory group whose first host runs the router, balancer and frontend; further routers run on its other hosts. Default without such a "
        "group: the first prefill host.",
        "router",
    )
    instances: int = documented(
        "Number of routers, on the hosts of the group in turn. Several need a balancer, which distributes requests over those that answer. "
        "Each further one uses ports that are 20 higher.",
        number(1, 1, 8),
    )
    port: int = documented("Port on which the router listens.", number(8000, 1, 65535))
    metrics_port: int = documented(
        "Port of the router's metrics, for flavours that have one. 0: chosen by the planner.", number(0, 0, 65535)
    )
    bind: str = documented("Address on which the router listens. Default: the address of its host.", typed("address"))
    balancer: str = documented(
        "haproxy: distribute requests over several routers, and go on without one that fails or restarts. Clients then use its port, or the frontend's.",
        choice("none", "haproxy"),
    )
    balancer_image: str = documented(
        "Image of HAProxy, 2.4 or later, for a runtime of containers: the engines' images have none. Without containers the distribution's package "
        "is installed.",
        "",
    )
    balancer_port: int = documented("Port of the balancer.", number(8001, 1, 65535))
    balancer_status_port: int = documented("Port of the balancer's own health page.", number(8012, 1, 65535))
    balancer_bind: str = documented(
        "Address on which the balancer listens. Default: the address of its host.", typed("address")
    )
    virtual_address: str = documented(
        "Address of the clients' entry that belongs to no host: keepalived keeps it on one of two hosts with a balancer each, and moves it when that "
        "host is lost. Such as 10.0.0.100, in the hosts' network. Default: one balancer on one host.",
        typed("network"),
    )
    virtual_router_id: int = documented(
        "Number by which the two keepalived of a virtual address know each other. Other deployments on the same hosts need another one.",
        number(51, 1, 255),
    )
    virtual_interface: str = documented(
        "Interface that gets the virtual address. Default: the one with the address of its host.", typed("interface")
    )
    frontend: str = documented(
        "haproxy: terminate TLS and check client keys in front of the router, as the playbook entry does it.",
        choice("none", "haproxy"),
    )
    frontend_port: int = documented("Port of the frontend.", number(8443, 1, 65535))
    frontend_status_port: int = documented("Port of the frontend's own health and status page.", number(8011, 1, 65535))
    frontend_bind: str = documented(
        "Address on which the frontend listens. Default: the address of its host.", typed("address")
    )
    frontend_paths: tuple[str, ...] = documented(
        "Additional paths that clients may request with POST from the frontend or the balancer, such as /v1/messages. The paths of the OpenAI API "
        "for the engines' task are always allowed.",
        (),
    )
    frontend_body_mib: int = documented(
        "Largest request in MiB. A prompt of a million tokens has about 5 MiB, one with images some tens of MiB.",
        number(64, 1, LARGEST_BODY),
    )
    frontend_answer_timeout: int = documented(
        "Timeout in seconds between two parts of an answer, of the frontend and the balancer. An answer that is not streamed arrives as a whole, "
        "after its last token.",
        number(3600, 1, 86400),
    )
    frontend_client_timeout: int = documented(
        "Timeout in seconds between two reads from or writes to a client, of the frontend and the balancer. It closes connections of slow clients.",
        number(60, 1, 3600),
    )
    frontend_requests_per_minute: int = documented(
        "Requests per minute and client key. Further requests get status 429. 0: no limit.",
        number(0, 0, 65535),
    )
    frontend_parallel_requests: int = documented(
        "Open requests per client key. Further requests get status 429. 0: no limit. The default prevents one key from using "
        "all connections of the frontend.",
        number(1024, 0, 65535),
    )
    certificate: str = documented("Path of the TLS certificate on the router's host.", "")
    certificate_key: str = documented("Path of the certificate's private key on the router's host.", "")
    args: dict[str, t.Any] = documented("More options of the router, without dashes.", mapping())
    env: dict[str, t.Any] = documented("More environment variables of the router.", mapping())


@dataclass(frozen=True)
class Master:
    """mooncake_master, the store's metadata service."""

    group: str = documented(
        "Inventory group whose first host runs mooncake_master. Default without such a group: the first host with an engine.",
        "mooncake_master",
    )
    port: int = documented("RPC port. 0: chosen by the planner.", number(0, 0, 65535))
    metrics_port: int = documented("Port of metrics and administration.", number(9003, 1, 65535))
    http_metadata_port: int = documented(
        "Port of the built-in HTTP metadata server. 0: not started.", number(0, 0, 65535)
    )
    args: dict[str, t.Any] = documented("More options of mooncake_master, without dashes.", mapping())
    env: dict[str, t.Any] = documented("More environment variables of mooncake_master.", mapping())


@dataclass(frozen=True)
class Store:
    """The store: KV cache in host memory that engines share."""

    backend: str = documented("Store that holds shared KV blocks.", choice("mooncake", "memcache", "yuanrong"))
    segment_size: str = documented(
        "Host memory that each rank contributes to the store, such as 25GB. Default: 1GB, or 512mb on CPU.", ""
    )
    buffer_size: str = documented("Buffer of each rank for transfers, such as 1GB. Default: the one of the client.", "")
    options: dict[str, t.Any] = documented("Settings merged into the store's configuration file.", mapping())
    ha: StoreHa | None = documented(
        "Several masters of a Mooncake store, so that it survives the death of one. {} takes all defaults. Default: one master.",
        None,
    )


@dataclass(frozen=True)
class EncoderCache:
    """Transfer from encoders to prefill: vLLM's ec_transfer_config, through a shared directory."""

    connector: str = documented(
        "Connector that passes encoder output to prefill (ec_transfer_config).", "ECExampleConnector"
    )
    path: str = documented("Directory that encode and prefill engines share.", "")


@dataclass(frozen=True)
class Container:
    """Settings of containers, for runtimes that use them."""

    os: str = documented("Operating system of the image.", choice("ubuntu", "openeuler"))
    user: str = documented(
        "User of the processes: the services' user of the host, or root for images that require it.",
        choice("service", "root"),
    )
    read_only: bool = documented(
        "Read-only root file system for engines' containers. Those of the router and the store's master always have one.",
        False,
    )
    shm_size: str = documented("Size of /dev/shm in the container.", typed("size", "16g"))
    mounts: tuple[str, ...] = documented("More bind mounts, as SOURCE:TARGET or SOURCE:TARGET:ro.", typed("mount", ()))


@dataclass(frozen=True)
class Verify:
    """What the playbook verify asks, and how exact answers have to agree. Changes are shown in its report, with the reason."""

    reason: str = documented("Why this deployment is verified more or less strictly. Shown in the report.", "")
    server_name: str = documented(
        "Name by which clients reach the entry, for its certificate. Default: the address of its URL.", typed("address")
    )
    ca_file: str = documented(
        "CA file that clients use for the entry, on the entry's host. Default: the authorities of the operating system.",
        typed("directory"),
    )
    compared_tokens: int = documented(
        "Tokens of each answer that have to be equal. 0: all 16 on CPU, 8 on NPUs.", number(0, 0, 16)
    )
    min_prompt_tokens: int = documented(
        "Least length of prompts in tokens. They always have more than two KV blocks.", number(0, 0)
    )
    prompts: int = documented(
        "Free texts whose tokens are compared between all engines and the entry. 0: none.", number(3, 0, 64)
    )
    agreement: int = documented(
        "Least percentage of equal tokens outside of near ties, in free texts.", number(100, 0, 100)
    )
    near_tie: int = documented(
        "A token with at least this percentage of the probability of the expected token counts as equal. 100: only the expected one. "
        "0: 99 on CPU, 60 on NPUs, where the order of sums depends on the batch.",
        number(0, 0, 100),
    )
    probability_difference: int = documented(
        "Most that the probabilities of equal tokens may differ on average, in percent. 0: 1 on CPU, 30 on NPUs.",
        number(0, 0, 10000),
    )
    burst: int = documented("Concurrent requests of the burst. 0: none.", number(8, 0, 1024))
    long_prompt_tokens: int = documented(
        "Length of the long prompt in tokens. 0: more than two chunks of max-num-batched-tokens.", number(0, 0)
    )
    max_pairs: int = documented(
        "Pairs of a prefill rank and a decode rank that are tested. Others are reported as not covered.",
        number(256, 1, 65536),
    )


@dataclass(frozen=True)
class Description:
    """All variables of one deployment."""

    model: Model = documented(
        "The model to serve.", example="inference_model: {path: /models/Qwen3-30B-A3B, name: qwen3}"
    )
    pools: Pools = documented(
        "The pools of engines: kinds, number of instances, sizes.",
        example="inference_pools: {prefill: {tensor_parallel_size: 8}, decode: {tensor_parallel_size: 8}}",
    )
    recipe: str = documented(
        "Documented deployment whose settings are taken where this inventory has none; the playbook recipes lists them.",
        "",
    )
    release: str = documented("Release of vLLM-Ascend. Default: 0.23.0.", typed("release"))
    release_base: str = documented(
        "For a release that the collection does not know: the known release to derive it from.", typed("release")
    )
    releases: dict[str, t.Any] = documented(
        "Releases that the collection does not know, or corrections of known ones: name to {base: a known release, vllm: ..., cann: ..., "
        "torch: ..., torch_npu: ..., triton: ..., mooncake: ..., python: ..., connectors: [...]}.",
        mapping(),
    )
    engine: str = documented(
        "vllm_cpu runs upstream vLLM on machines without NPUs.", choice(*ENGINES, meaning=engine_meant)
    )
    engine_install: str = documented(
        "How vLLM-Ascend is installed without an image: the wheel of the package index, a build from source, or a wheel of the "
        "site. Default: the wheel if it is built for the hosts' chip, else source.",
        choice("", "wheel", "source", "site"),
    )
    index_url: str = documented(
        "Package index for all Python packages, such as a mirror of the site that has every one. Variables of roles such as "
        "vllm_ascend_index_url take precedence. Default: pip's configuration on each host, and the public indexes of PyTorch and "
        "Ascend for the packages that only these have.",
        typed("url"),
    )
    engine_version: str = documented("Version of vLLM for the engine vllm_cpu.", typed("version"))
    runtime: str = documented("What runs the services.", choice(*RUNTIMES, meaning=runtime_meant))
    deployment: str = documented("Name of the deployment; prefix of units, programs and containers.", "inference")
    root: str = documented("Directory that contains all files on a host.", "/opt/ascend-inference")
    user: str = documented(
        "User that runs the units of the runtime systemd. Default: service_user of the role service.", typed("user")
    )
    kv_transfer: str = documented(
        "How the KV cache reaches decode: mooncake, mooncake_hybrid, mooncake_layerwise, mooncake_v2, mooncake_pull, "
        "mooncake_d2rh, llmdatadist, store, combinations "
        "such as mooncake+store, none, and others that the release registers. Default: mooncake if there are prefill and "
        "decode pools.",
        "",
    )
    kv_hold_timeout: int = documented(
        "Seconds for which prefill keeps KV blocks that decode has not fetched. 0: default of the release.",
        number(0, 0),
    )
    link: str = documented(
        "Interconnect between NPUs of different hosts. auto: from the hardware.", choice("auto", "hccs", "roce")
    )
    hardware: str = documented(
        "Hardware generation of the hosts. Default: a3, or cpu for the engine vllm_cpu. May differ per host.",
        choice("", "a2", "a3", "950", "310p", "910a", "cpu", meaning=generation_of),
    )
    devices: int = documented(
        "Number of NPUs per host, or a list of device ids. 0: all NPUs of the hardware. May differ per host.",
        number(0, 0),
    )
    interface: str = documented(
        "Network interface that holds the host's address. May differ per host.", typed("interface")
    )
    image: str = documented("Container image. Default: the image of the release for the hardware.", typed("image"))
    container: Container = documented("Settings of containers.", factory(Container))
    kubernetes: Kubernetes = documented("Settings of the runtime kubernetes.", factory(Kubernetes))
    firewall: Firewall = documented(
        "Filter of the planned ports on the hosts, so that only the hosts that need them can connect.",
        factory(Firewall),
    )
    cann_path: str = documented("Installation directory of CANN.", typed("path", "/usr/local/Ascend"))
    args: dict[str, t.Any] = documented("Options of vllm serve for all engines, without dashes.", mapping())
    env: dict[str, t.Any] = documented("Environment variables of all engines.", mapping())
    router: Router = documented("The router in front of the engines, and the optional TLS frontend.", factory(Router))
    mooncake_master: Master = documented("The metadata service of the Mooncake store.", factory(Master))
    store: Store = documented("The KV store in host memory that instances share.", factory(Store))
    encoder_cache: EncoderCache = documented("Transfer of encoder output to prefill.", factory(EncoderCache))
    start_timeout: int = documented("Timeout in seconds until an engine answers.", number(1800, 1))
    stop_timeout: int = documented("Seconds between the stop signal and SIGKILL.", number(60, 1))
    tasks_max: int = documented(
        "Most processes and threads of one service, with the runtimes systemd and docker. One more fails to start; the host stays usable.",
        number(65536, 1024, 4194304),  # 4194304: PID_MAX_LIMIT of 64-bit kernels
    )
    secrets: dict[str, t.Any] = documented(
        "Secrets such as api_key and client_keys; they appear in no command line, plan, log or diff.", mapping()
    )
    verify: Verify = documented("What the verification asks, and its tolerance.", factory(Verify))
    probe: Probe = documented("A service that watches the deployment by requests.", factory(Probe))
    rules_ignore: tuple[t.Any, ...] = documented(
        "Rules whose findings are accepted: an id, an id with a place (FLAG-UNKNOWN:decode), or {rule: ..., place: ..., reason: ...}.",
        commas(),
    )


@dataclass(frozen=True)
class Host:
    """One host of the inventory; ``devices`` are physical ids, ``memory`` is in GiB (0: unknown)."""

    name: str
    address: str
    interface: str
    hardware: str
    devices: tuple[int, ...]
    groups: tuple[str, ...]
    memory: int = 0
    fabric: Fabric | None = None
    tune_profile: str = PROFILES[0]
    tune: Tune = dataclasses.field(default_factory=Tune)
    of_npus: tuple[str, ...] = ()  # which of its own variables are about NPUs
    here: bool = False  # whether this is the controller; several names may refer to it


def read_description(variables: t.Mapping[str, t.Any], other: bool = False) -> tuple[Description, list[Finding]]:
    """Read ``inference_*`` variables; returns the description and every finding about them.

    Invalid values are substituted; ``other`` selects other substitutes (``Reader``).
    """
    reader = Reader(other)
    raw = {
        key[len(PREFIX) :]: variables[key]
        for key in variables
        if key.startswith(PREFIX) and key not in OPERATIONAL and key[len(PREFIX) :] not in HOST_VARIABLES
    }
    for name in ("devices", "hardware", "interface"):
        if PREFIX + name in variables:
            raw[name] = variables[PREFIX + name]
    description = reader.record(Description, raw, "inference")
    return description, [_rename(_of_variables(finding)) for finding in reader.findings]


def _of_variables(finding: Finding) -> Finding:
    """An unknown key of the whole description is an unknown variable: the similar ones are those of hosts and playbooks, too."""
    name = finding.path.rpartition(".")[2]
    first, dot, _rest = finding.path.partition(".")[2].partition(".")
    if dot and finding.problem == f"unknown key '{finding.path.partition('.')[2]}'":
        fix = (
            f"Write the keys below {PREFIX}{first} in the inventory, one inside the other. On the command line "
            f"-e '{{\"{PREFIX}{first}\": {{...}}}}' replaces the whole variable."
        )
        return dataclasses.replace(finding, problem="a variable has no dots in its name", fix=fix)
    if finding.id != "VARIABLE-UNKNOWN" or finding.path != f"inference.{name}":
        return finding
    known = [field.name for field in dataclasses.fields(Description) if field.init]
    meant = VARIABLES.get(name)
    alike = [meant] if meant else close(name, [*known, *HOST_VARIABLES, *RUN_VARIABLES], 3)
    names = ", ".join(PREFIX + item for item in alike or sorted(known))
    fix = f"Did you mean {names}? Correct the name or remove it." if alike else f"Variables of a deployment: {names}."
    why = "An unknown variable would silently have no effect."
    return dataclasses.replace(finding, problem="unknown variable", why=why, fix=fix)


def _rename(finding: Finding) -> Finding:
    """Change the reader's path ``inference.pools.decode`` to the variable ``inference_pools.decode``."""
    return dataclasses.replace(
        finding,
        path=finding.path.replace("inference.", PREFIX, 1),
        value="" if finding.path.startswith("inference.secrets") else finding.value,
    )


def read_hosts(
    inventory: t.Mapping[str, t.Mapping[str, t.Any]], description: Description, other: bool = False
) -> tuple[dict[str, Host], list[Finding]]:
    """Read each host's own variables.

    ``inventory`` maps a host's name to ``{groups: [...], variables: {...}}``; only ``inference_address``,
    ``inference_interface``, ``inference_devices`` (a count or a list of physical ids), ``inference_hardware``,
    ``inference_memory`` (GiB), ``inference_fabric``, ``inference_tune``, ``inference_tune_profile``, ``ansible_host`` and
    ``ansible_connection`` are read.
    """
    reader, hosts = Reader(other), {}
    for name in sorted(inventory, key=natural):
        variables = inventory[name].get("variables", {})
        hardware = _hardware(reader, name, variables.get(PREFIX + "hardware"), description)
        hosts[name] = Host(
            name=name,
            address=_address(reader, name, variables),
            interface=_text(reader, name, "interface", variables) or description.interface,
            hardware=hardware,
            devices=_devices(reader, variables.get(PREFIX + "devices", description.devices), name, hardware),
            groups=tuple(sorted(map(str, inventory[name].get("groups", ())))),
            memory=_memory(reader, variables.get(PREFIX + "memory"), name),
            fabric=_fabric(reader, name, variables.get(PREFIX + "fabric")),
            tune_profile=_profile(reader, name, variables.get(PREFIX + "tune_profile")),
            tune=t.cast(
                Tune, reader.record(Tune, variables.get(PREFIX + "tune"), f"{_shown_name(name)}.inference_tune")
            ),
            of_npus=_of_npus(variables),
            here=variables.get("ansible_connection") == "local",
        )
    return hosts, reader.findings


def _address(reader: Reader, host: str, variables: t.Mapping[str, t.Any]) -> str:
    """A host's address: its own variable, Ansible's, or its name. An invalid one is replaced by a documentation address (RFC 5737)."""
    if problem_of(host):
        reader.add(f"{_shown_name(host)}.inventory_hostname", host, problem_of(host), rule="VARIABLE-TEXT")
    given = [(name, str(variables[name])) for name in (PREFIX + "address", "ansible_host") if variables.get(name)]
    variable, address = (*given, ("inventory_hostname", host))[0]
    problem = problem_of(address, "address")
    if problem:
        bare, colon, port = address.rpartition(":")
        bare = bare.strip("[]")
        fix = f"Write {bare}{', and the port of SSH into ansible_port' if variable == 'ansible_host' else ''}."
        known = colon and port.isdigit() and not problem_of(bare, "address")
        reader.add(f"{_shown_name(host)}.{variable}", address, problem, fix if known else "", "VARIABLE-TEXT")
        return "192.0.2.2" if reader.other else "192.0.2.1"
    return address


def _shown_name(name: str) -> str:
    """A host's name with control characters as escapes."""
    return repr(name)[1:-1] if problem_of(name) else name


def _text(reader: Reader, host: str, name: str, variables: t.Mapping[str, t.Any]) -> str:
    """A variable of a host; its kind has the same name as the variable."""
    text = str(variables.get(PREFIX + name) or "")
    problem = problem_of(text, name)
    if problem:
        reader.add(f"{_shown_name(host)}.{PREFIX}{name}", text, problem, rule="VARIABLE-TEXT")
        return "substitute" if reader.other else ""
    return text


def _fabric(reader: Reader, host: str, raw: t.Any) -> Fabric | None:
    """A host's settings of the NPUs' network; None if it has none."""
    if raw is None:
        return None
    return t.cast(Fabric, reader.record(Fabric, raw, f"{_shown_name(host)}.inference_fabric"))


def _profile(reader: Reader, host: str, raw: t.Any) -> str:
    """A host's profile of tuning."""
    if raw in (None, *PROFILES):
        return str(raw or PROFILES[0])
    problem, fix = (
        f"'{raw}' is not one of {', '.join(PROFILES)}",
        f"{nearest(str(raw).lower(), PROFILES)}Choose one of them.",
    )
    reader.add(f"{_shown_name(host)}.inference_tune_profile", raw, problem, fix, "VARIABLE-CHOICE")
    return PROFILES[1] if reader.other else PROFILES[0]


def _memory(reader: Reader, raw: t.Any, host: str) -> int:
    """A host's memory in GiB; 0 if it is not set."""
    try:
        size = int(raw or 0)
    except (TypeError, ValueError, OverflowError):
        size = -1
    if size < 0:
        reader.add(
            f"{host}.inference_memory", raw, f"'{raw}' is not a number of GiB", "Write a whole number, such as 1024."
        )
    return max(size, 0)


def _of_npus(variables: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    given = {name: variables.get(PREFIX + name) for name in ("devices", "hardware")}
    return tuple(name for name in given if given[name] not in (None, "", "cpu"))


def _hardware(reader: Reader, host: str, raw: t.Any, description: Description) -> str:
    """A host's hardware generation: its own, the deployment's, or the engine's default."""
    usual = description.hardware or engine(description.engine).hardware
    if not raw:
        return usual
    if str(raw) in HARDWARE:
        return str(raw)
    problem = f"'{raw}' is not one of {', '.join(HARDWARE)}"
    reader.add(
        f"{host}.inference_hardware",
        raw,
        problem,
        f"{nearest(str(raw).lower(), HARDWARE, {str(raw).lower(): generation_of(str(raw))})}Choose one of them.",
        "VARIABLE-CHOICE",
    )
    return usual


def _devices(reader: Reader, raw: t.Any, host: str, hardware: str) -> tuple[int, ...]:
    """Physical ids of a host's devices: the given list, the given count starting at 0, else those of the hardware."""
    if hardware == "cpu":
        return ()
    try:
        if isinstance(raw, (list, tuple)):
            return _listed(reader, [int(device) for device in raw], host, hardware)
        count = int(raw or len(all_devices(hardware)))
        if 0 < count <= MOST_DEVICES:
            return tuple(range(count))
        problem, rule = f"{count} is not a number of devices from 1 to {MOST_DEVICES}", "VARIABLE-RANGE"
    except (TypeError, ValueError, OverflowError):
        problem, rule = f"'{raw}' is neither a number of devices nor a list of device ids", "VARIABLE-TYPE"
    fix = f"Write a number from 1 to {MOST_DEVICES}, or a list such as [0, 1, 2, 3]."
    reader.add(f"{host}.inference_devices", raw, problem, fix, rule)
    return all_devices(hardware) if reader.other else ()


def all_devices(hardware: str) -> tuple[int, ...]:
    """Physical ids of the devices that a host of this generation has."""
    return tuple(range(DEVICES.get(hardware, 8))) if hardware != "cpu" else ()


def _listed(reader: Reader, ids: list[int], host: str, hardware: str) -> tuple[int, ...]:
    """Listed ids of a host's devices, in order; one that no device has, or that stands twice, is a finding."""
    wrong = sorted({device for device in ids if not 0 <= device < MOST_DEVICES})
    twice = sorted({device for device in ids if ids.count(device) > 1})
    if wrong or twice:
        shown = ", ".join(map(str, wrong or twice))
        problem = f"no device has the id {shown}" if wrong else f"device {shown} is listed twice"
        fix = "Write each id once, as npu-smi shows them."
        reader.add(f"{host}.inference_devices", ids, problem, fix, "VARIABLE-RANGE")
        if reader.other:
            return all_devices(hardware)
    return tuple(sorted({device for device in ids if 0 <= device < MOST_DEVICES}))
