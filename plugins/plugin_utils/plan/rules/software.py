# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of installed software: builds of vLLM-Ascend that match the hosts' chips."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...releases.artefacts import CHIPS
from ...releases.release import assumed, plain_name
from .base import Case, Rules

RULES = Rules()
INSTALL = "inference_engine_install"


def _hardware(case: Case) -> list[str]:
    """Hardware of the hosts that get engines."""
    return sorted({process.host.hardware for dummy, dummy, process in case.engines})


@RULES.rule(
    "RELEASE-ASSUMED",
    "State the versions of the release in inference_releases, or accept this rule.",
    "design of the planner: the collection has no facts of this release",
    "warning",
)
def release_assumed(case: Case) -> t.Iterator[Finding]:
    """Versions of a release are assumed.

    Installed versions and known options are those of the base release; this release may need others.
    """
    description = case.context.description
    own = {plain_name(str(name)) for name in description.releases}
    base = "" if case.context.release.name in own else description.release_base  # RELEASE-BASE-UNUSED says so
    versions = assumed(description.release, description.releases, base) if case.npu else {}
    if versions:
        path = "inference_release_base" if base else f"inference_releases.{case.context.release.name}"
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        yield Finding.at(path, base, f"assumed for release {case.context.release.name}: {listed}")


@RULES.rule(
    "WHEEL-CHIP",
    "Set inference_engine_install: source to build for this chip, inference_runtime: docker to use its image, or "
    "inference_engine_install: site and put a wheel that was built for this chip into vllm_ascend_find_links.",
    "_build_info.py in the wheels of vllm-ascend 0.11.0 to 0.26.0rc1: A2; vllm-ascend #11160, #6206, #9799",
)
def wheel_chip(case: Case) -> t.Iterator[Finding]:
    """The wheel of the package index is not built for the hosts' chip.

    Installation and import succeed, but the worker refuses to start after some minutes.
    """
    release = case.context.release
    if not case.npu or case.context.contained or case.context.description.engine_install != "wheel":
        return
    for hardware in _hardware(case):
        if hardware in release.wheel_hardware:
            continue
        known = ", ".join(release.wheel_hardware)
        built = f"the wheel of release {release.name} is for {known}, but hosts are {hardware}"
        absent = f"package indexes have no wheel of release {release.name}, only its sources"
        yield Finding.at(INSTALL, "wheel", built if known else absent)


@RULES.rule(
    "BUILD-CHIP",
    "Use A2, A3, 310P or 950 hosts, or set inference_engine_install: site if you have a wheel for this chip.",
    "setup.py of vllm-ascend: supported values of SOC_VERSION",
)
def build_chip(case: Case) -> t.Iterator[Finding]:
    """vLLM-Ascend cannot be built for the hosts' chip.

    The build stops with an unknown chip.
    """
    if not case.npu or case.context.contained or case.context.description.engine_install == "site":
        return
    for hardware in _hardware(case):
        if hardware not in CHIPS:
            yield Finding.at("inference_hardware", hardware, f"vLLM-Ascend has no build for {hardware}")


@RULES.rule(
    "IMAGE-ONLY",
    "Set inference_runtime: docker, choose another release, or set inference_engine_install: site if you have these builds.",
    "the release's Dockerfiles: dated builds (ARG *_DATE) and wheels that they download",
)
def image_only(case: Case) -> t.Iterator[Finding]:
    """The release's image contains builds that no package index has.

    A virtual environment of published packages differs from what upstream tested, and may not start.
    """
    release, description = case.context.release, case.context.description
    if not case.npu or case.context.contained or description.engine_install == "site":
        return
    builds = sorted({build for hardware in _hardware(case) for build in release.builds_of(hardware)})
    if builds:
        text = f"release {release.name} was tested with builds that only its image has: {', '.join(builds)}"
        yield Finding.at("inference_runtime", description.runtime, text)


@RULES.rule("INSTALL-UNUSED", "Remove inference_engine_install.", "design of the planner", "warning")
def install_unused(case: Case) -> t.Iterator[Finding]:
    """inference_engine_install is set, but nothing is installed on the hosts.

    The setting has no effect.
    """
    wish = case.context.description.engine_install
    if wish and (not case.npu or case.context.contained):
        why = (
            f"the engine is {case.context.engine.name}"
            if not case.npu
            else f"{case.context.description.runtime} runs images"
        )
        yield Finding.at(INSTALL, wish, f"{wish} has no effect: {why}")
