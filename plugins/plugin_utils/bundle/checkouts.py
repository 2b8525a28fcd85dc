# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sources that hosts build, with what their builds need of the distribution: vLLM, vLLM-Ascend and Mooncake, as the roles clone them."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...module_utils.install.index_credentials import without_credentials
from ...module_utils.tools.engine_kinds import ENGINE_KINDS

Known = t.Mapping[str, t.Any]
NAME = re.compile(r"\w[\w.+-]*", re.ASCII)
# Defaults of the roles vllm_ascend and mooncake, by their variables; a test compares both.
DEFAULTS: dict[str, t.Any] = {
    "vllm_ascend_vllm_repository": "https://github.com/vllm-project/vllm.git",
    "vllm_ascend_repository": "https://github.com/vllm-project/vllm-ascend.git",
    "vllm_ascend_system_packages": ["git", "gcc", "g++", "make"],
    "mooncake_repository": "https://github.com/kvcache-ai/Mooncake.git",
    "mooncake_yalantinglibs_repository": "https://github.com/alibaba/yalantinglibs.git",
    "mooncake_yalantinglibs_ref": "0.5.6",
    "mooncake_dependencies": True,
    "mooncake_dependencies_method": "auto",
    "mooncake_system_packages": {
        "Debian": ["git", "cmake", "make", "gcc", "g++", "mpich", "libmpich-dev"],
        "RedHat": ["git", "cmake", "make", "gcc", "gcc-c++", "mpich", "mpich-devel"],
    },
    "mooncake_dependency_packages": {
        "Debian": [
            *("libboost-all-dev", "libcurl4-openssl-dev", "libgoogle-glog-dev", "libgrpc++-dev", "libgtest-dev"),
            *("libhiredis-dev", "libibverbs-dev", "libjsoncpp-dev", "libmsgpack-dev", "libnuma-dev", "libprotobuf-dev"),
            *("libpython3-dev", "libssl-dev", "libunwind-dev", "liburing-dev", "libxxhash-dev", "libyaml-cpp-dev"),
            *("libzmq3-dev", "libzstd-dev", "patchelf", "pkg-config", "protobuf-compiler-grpc"),
        ],
        "RedHat": [
            *("boost-devel", "gflags-devel", "glog-devel", "gtest-devel", "hiredis-devel", "jsoncpp-devel"),
            *("libcurl-devel", "libibverbs-devel", "liburing-devel", "libzstd-devel", "msgpack-devel", "numactl-devel"),
            *("openssl-devel", "patchelf", "python3-devel", "xxhash-devel", "yaml-cpp-devel"),
        ],
    },
}
VARIABLES = (*DEFAULTS, "vllm_ascend_vllm_ref", "vllm_ascend_ref", "mooncake_ref", "mooncake_method")


@dataclass(frozen=True, order=True)
class Checkout:
    """A repository at a tag, branch or commit. ``python``: uv builds a package of it, with the packages that its pyproject.toml names.

    ``fetches``: its build may fetch archives, which become a part of the sources; ``release`` says which are known before.
    """

    name: str
    repository: str
    ref: str
    python: bool = False
    fetches: bool = False
    release: str = ""

    @property
    def folder(self) -> str:
        """The name of the folder into which the role clones it, and of the top folder of the archive."""
        return f"{self.name}-{self.ref.replace('/', '-')}"

    @property
    def archive(self) -> str:
        """The file in the bundle."""
        return f"{self.folder}.sources.tar.gz"

    @property
    def origin(self) -> str:
        """The repository without user and password."""
        return without_credentials(self.repository)

    @property
    def valid(self) -> bool:
        """Whether git takes the texts for an address and a reference, and hosts take the archive for a file."""
        return bool(NAME.fullmatch(self.folder) and re.fullmatch(r"[\w./+-]+", self.ref) and self.repository[:1] != "-")


def _value(known: Known, name: str) -> t.Any:
    return known[name] if name in known else DEFAULTS.get(name, "")


def _here(plan: Known, host: str) -> set[str]:
    return {service["kind"] for service in plan["services"] if service["host"] == host}


def _contained(plan: Known) -> bool:
    return bool(plan["runtime_facts"].get("contained"))


def builds_engine(plan: Known, host: str) -> bool:
    """Whether a host clones and builds vLLM and vLLM-Ascend."""
    builds = plan["software"].get("engine", {}).get("builds") or {}
    hardware = next((each.get("hardware", "") for each in plan["hosts"] if each["name"] == host), "")
    return (
        not _contained(plan)
        and not _here(plan, host).isdisjoint(ENGINE_KINDS)
        and _method(builds, hardware) == "source"
    )


def _method(builds: Known, hardware: str) -> str:
    return str((builds.get(hardware) or {}).get("method", ""))


def builds_mooncake(plan: Known, host: str, known: Known) -> bool:
    """Whether a host clones and builds Mooncake: there is no wheel for its release, or mooncake_method asks for it."""
    mooncake, method = plan["software"]["mooncake"], known.get("mooncake_method") or "auto"
    built = method == "source" or method == "auto" and not mooncake.get("package")
    needed = mooncake.get("needed", True) and bool(_here(plan, host) & {*ENGINE_KINDS, "mooncake_master"})
    return not _contained(plan) and built and needed


def installs_dependencies(known: Known) -> bool:
    """Whether the role mooncake brings what the build needs."""
    return str(_value(known, "mooncake_dependencies")).lower() not in ("false", "no", "off", "0")


def runs_script(known: Known) -> bool:
    """Whether Mooncake's own script brings it, which downloads whatever it wants."""
    return installs_dependencies(known) and _value(known, "mooncake_dependencies_method") == "script"


def checkouts(plan: Known, host: str, known: Known) -> list[Checkout]:
    """What a host would clone. ``known``: variables of the host, see VARIABLES."""
    found = []
    if builds_engine(plan, host):
        engine = plan["software"]["engine"]
        refs = {"vllm": ("vllm_ascend_vllm_ref", "version"), "vllm-ascend": ("vllm_ascend_ref", "release")}
        for name, (variable, version) in refs.items():
            repository = _value(known, "vllm_ascend_vllm_repository" if name == "vllm" else "vllm_ascend_repository")
            ref = str(_value(known, variable) or f"v{engine[version]}")
            own = name == "vllm-ascend"  # vLLM itself compiles nothing: VLLM_TARGET_DEVICE=empty
            release = str(engine[version]) if own and ref == f"v{engine[version]}" else ""
            found.append(Checkout(name, str(repository), ref, python=True, fetches=own, release=release))
    if builds_mooncake(plan, host, known):
        ref = str(_value(known, "mooncake_ref") or f"v{plan['software']['mooncake']['version']}")
        found.append(Checkout("Mooncake", str(_value(known, "mooncake_repository")), ref, fetches=True))
        if installs_dependencies(known) and not runs_script(known):
            repository = str(_value(known, "mooncake_yalantinglibs_repository"))
            wished = str(_value(known, "mooncake_yalantinglibs_ref"))
            found.append(Checkout("yalantinglibs", repository, wished, fetches=True))
    return found


def build_packages(plan: Known, host: str, family: str, known: Known) -> list[str]:
    """Packages of the distribution that roles install before they build. ``family`` is Debian or RedHat."""
    found: list[str] = []
    if builds_engine(plan, host):
        found += _value(known, "vllm_ascend_system_packages")
    if builds_mooncake(plan, host, known):
        found += _value(known, "mooncake_system_packages").get(family, [])
        if installs_dependencies(known) and not runs_script(known):
            found += _value(known, "mooncake_dependency_packages").get(family, [])
    return sorted({str(name) for name in found})
