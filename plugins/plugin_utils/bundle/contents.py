# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts need from outside, as a function of the plan: Python environments, CANN's packages, images, and what no bundle holds."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass, field, replace

from ...module_utils.install.package_lock import UV
from ...module_utils.install.venv_options import lock_name
from ..description.findings import Finding
from ..releases.cann import cann_packages
from .checkouts import Checkout, checkouts, runs_script
from .distribution import Wish, distribution_of, names, packages
from .platform import Platform, platform_of


@dataclass(frozen=True)
class Environment:
    """One layer of a Python environment on one platform. ``options`` are those of the module python_venv.

    ``lock`` is the name of its lock; empty for files that are fetched without a lock. ``alone``: without the packages that it requires.
    ``controller``: for the machine that runs Ansible, not for hosts.
    """

    title: str
    platform: Platform
    options: t.Mapping[str, t.Any]
    lock: str = ""
    alone: bool = False
    controller: bool = False


@dataclass(frozen=True)
class NamedFile:
    """A file that is fetched by its address: ``sha256`` is empty if nobody published it."""

    kind: str
    name: str
    origin: str
    sha256: str = ""
    platform: str = ""


@dataclass(frozen=True, order=True)
class PlannedImage:
    """An image for the machine of a host ('aarch64')."""

    name: str
    machine: str


@dataclass
class Contents:
    """The list of a bundle, and findings that prevent it. ``missing``: what hosts need and a bundle does not hold."""

    environments: list[Environment] = field(default_factory=list)
    files: list[NamedFile] = field(default_factory=list)
    images: list[PlannedImage] = field(default_factory=list)
    checkouts: list[Checkout] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def contents(
    plan: t.Mapping[str, t.Any], hosts: t.Mapping[str, t.Mapping[str, t.Any]], models: t.Collection[str] = ()
) -> Contents:
    """The contents of a bundle for a plan.

    ``hosts`` has for each planned host its variables: ``platform`` (inference_bundle_platform), ``environments`` (validated options of
    python_venv), ``cann_source``, ``cann_source_on_host``, ``cann_method``, ``cann_checksums`` and ``router_script_image``, ``sources``
    (inference_bundle_sources), those of checkouts.VARIABLES, and those that name other packages of the distribution. ``models`` are the
    folders of models that were fetched into the bundle.
    """
    result = Contents()
    if plan["runtime_facts"].get("in_cluster"):
        result.findings.append(_in_cluster(plan))
        return result
    contained = plan["runtime_facts"].get("contained", False)
    for host in plan["hosts"]:
        name = host["name"]
        known = hosts.get(name, {})
        platform, findings = platform_of(known.get("platform"), name, only_machine=contained)
        result.findings += findings
        if not platform:
            continue
        _wish(plan, name, platform, known, result)
        if contained:
            images = {s["container"]["image"] for s in plan["services"] if s["host"] == name and s.get("container")}
            _add(result.images, [PlannedImage(image, platform.machine) for image in sorted(images)])
            continue
        result.findings += _script(plan, name, known)
        _add(result.checkouts, checkouts(plan, name, known))
        image = known.get("router_script_image")
        _add(result.missing, [f"image {image}, from which the proxy is copied (router_script_image)"] if image else [])
        _add(result.environments, environments(plan, name, platform, known, result))
        if plan["engine_facts"]["npus"]:
            _cann(plan, host, platform, known, result)
    result.wishes.sort()
    _add(result.missing, not_held(plan, hosts, models))
    return result


def _wish(
    plan: t.Mapping[str, t.Any], host: str, platform: Platform, known: t.Mapping[str, t.Any], result: Contents
) -> None:
    """Add the packages of one host to those of its distribution, if it is named."""
    distribution = distribution_of(str(known["platform"].get("distribution", "")), platform.machine)
    if not distribution:
        return
    sources = known.get("sources") or []
    files = (sources,) if isinstance(sources, str) else tuple(map(str, sources))
    wish = Wish(distribution, tuple(names(plan, host, distribution.family, known)), files)
    for place, other in enumerate(result.wishes):
        if (other.distribution, other.sources) == (wish.distribution, wish.sources):
            result.wishes[place] = replace(wish, names=tuple(sorted({*wish.names, *other.names})))
            return
        if other.distribution == distribution:
            problem = f"its inference_bundle_sources differ from those of another host with {distribution.title}"
            fix = "set the same files for all hosts of a distribution"
            result.findings.append(Finding(host, "bundle_sources", problem, fix))
            return
    result.wishes.append(wish)


def _script(plan: t.Mapping[str, t.Any], host: str, known: t.Mapping[str, t.Any]) -> list[Finding]:
    """The finding for a host on which Mooncake's own script would download what the build needs."""
    if not (runs_script(known) and any(each.name == "Mooncake" for each in checkouts(plan, host, known))):
        return []
    problem = "Mooncake's script dependencies.sh, which mooncake_dependencies_method names, downloads what it wants"
    fix = "remove mooncake_dependencies_method: packages of the distribution are then used, and are in the bundle"
    why = "A bundle holds what is known before; it cannot hold what a script asks for."
    return [Finding(host, "bundle_script", problem, fix, "error", "script", why)]


def _in_cluster(plan: t.Mapping[str, t.Any]) -> Finding:
    """The finding for a plan whose images a cluster pulls."""
    images = sorted({service["container"]["image"] for service in plan["services"] if service.get("container")})
    problem = f"its pods pull images, and a bundle loads images into Docker: {', '.join(images)}"
    fix = (
        "copy them into the registry of the cluster ('skopeo copy --all docker://NAME docker://REGISTRY/NAME', or first into a folder with dir:), "
        "and set inference_image to the name there"
    )
    return Finding("inference_runtime", "bundle_cluster", problem, fix, "error", plan.get("runtime", ""))


def environments(
    plan: t.Mapping[str, t.Any],
    host: str,
    platform: Platform,
    known: t.Mapping[str, t.Any],
    result: Contents,
) -> list[Environment]:
    """The environments of one host, with uv and with the source distribution of the proxy."""
    uv = UV.split()[0]  # hosts install this version by its hash
    found = [Environment("uv", platform, {"requirements": [uv]}, alone=True)]
    held = {each.folder for each in checkouts(plan, host, known)}
    for each in known.get("environments", []):
        others = [text for text in each["requirements"] if " @ " in text and text.rpartition("/")[2] not in held]
        if others:
            problem = f"its environment {each['path']} is built from {', '.join(others)}"
            fix = "use an image (inference_runtime: docker), wheels (inference_engine_install: wheels) or wheels of your own (site)"
            why = "A bundle holds published files, and the sources that the roles clone; it does not know where these are from."
            result.findings.append(Finding(host, "bundle_checkout", problem, fix, "error", "", why))
            continue
        title = f"{each['path'].rstrip('/').rpartition('/')[2]}, layer {each['layer']}"
        found.append(Environment(title, platform, each, lock_name(each)))
    router = plan["software"]["router"]
    if router.get("script") and any(s["host"] == host and s["kind"] == "router" for s in plan["services"]):
        wish = {"requirements": [f"vllm-ascend=={router['source_release']}"], "no_binary": ["vllm-ascend"]}
        found.append(Environment("proxy", platform, wish, alone=True))
    return found


def _cann(
    plan: t.Mapping[str, t.Any],
    host: t.Mapping[str, t.Any],
    platform: Platform,
    known: t.Mapping[str, t.Any],
    result: Contents,
) -> None:
    """CANN's packages of one host, from the folder or address that the role cann would use."""
    method, source = known.get("cann_method") or "run", str(known.get("cann_source") or "")
    names = cann_packages(plan["software"]["cann"]["version"], host["hardware"], platform.machine)
    if method != "run":
        line = f"CANN from the package manager of {host['name']} (cann_method: {method})"
        _add(result.missing, [line] if method == "package_manager" else [])
        return
    if not source or known.get("cann_source_on_host"):
        reason = "cann_source is a folder of the hosts" if source else "cann_source is not set"
        _add(result.missing, [f"CANN: {name} ({reason})" for name in names])
        return
    sums = known.get("cann_checksums") or {}
    files = []
    for name in names:
        sha256 = str(sums.get(name, ""))
        if sha256 and not sha256.startswith("sha256:"):
            problem = f"cann_checksums has {sha256.partition(':')[0]} for {name}; a bundle needs sha256"
            fix = "write sha256:... for each package (sha256sum prints it)"
            result.findings.append(Finding(host["name"], "bundle_checksum", problem, fix))
        files.append(NamedFile("cann", name, f"{source.rstrip('/')}/{name}", sha256.rpartition(":")[2], platform.name))
    _add(result.files, files)


def not_held(
    plan: t.Mapping[str, t.Any], hosts: t.Mapping[str, t.Mapping[str, t.Any]], models: t.Collection[str] = ()
) -> list[str]:
    """What the hosts need besides, and a bundle does not hold: packages of distributions that are not named, the model, drivers."""
    given = [hosts.get(host["name"], {}).get("platform") for host in plan["hosts"]]
    named = [each.get("distribution") if isinstance(each, t.Mapping) else None for each in given]
    found = [] if all(named) else packages(plan, hosts)
    model = plan["model"]
    if model.get("source") != "tiny" and posixpath.basename(model["path"].rstrip("/")) not in models:
        on_hub = str(model.get("source") or "").partition(":")[0] in ("modelscope", "huggingface", "https", "http")
        found.append(f"the model {model['path']}" + (" (inference_bundle_model: true fetches it)" if on_hub else ""))
    if plan["engine_facts"]["npus"]:
        found.append("driver and firmware of the NPUs")
    return found


def _add(to: list[t.Any], more: t.Iterable[t.Any]) -> None:
    """Append what is not there yet; environments have no hash."""
    for item in more:
        if item not in to:
            to.append(item)
