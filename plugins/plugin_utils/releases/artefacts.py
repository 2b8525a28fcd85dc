# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds of vLLM-Ascend by chip, and their sources.

A build is for one chip (vllm_ascend/_build_info.py), and from 0.12.0rc1 on the worker refuses to start on another one.
Wheels on package indexes are built for A2 only; images exist for each chip; a source build takes the chip in SOC_VERSION.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from .release import ORDER, RELEASES, Release


@dataclass(frozen=True)
class Chip:
    """A hardware generation: its name in _build_info.py, and the SOC_VERSION of its image's Dockerfile."""

    device_type: str
    soc_version: str


CHIPS = {
    "a2": Chip("A2", "ascend910b1"),
    "a3": Chip("A3", "ascend910_9391"),
    "310p": Chip("_310P", "ascend310p1"),
    "950": Chip("A5", "ascend950dt_9582"),
}


@dataclass(frozen=True)
class Artefact:
    """The build of vLLM-Ascend for the hosts of one generation.

    ``method`` is image, wheel (of a package index), source (built on the host) or site (a wheel of the site's own).
    ``device_type`` is the required value in _build_info.py; empty for releases that do not compare it.
    """

    method: str
    device_type: str = ""
    soc_version: str = ""

    def as_dict(self) -> dict[str, str]:
        """Plain data for the plan."""
        return asdict(self)


def artefact(release: Release, hardware: str, contained: bool, requested: str = "") -> Artefact:
    """The build for a host's hardware: the image, inference_engine_install, else the wheel if it fits, else a source build."""
    chip = CHIPS.get(hardware, Chip("", ""))
    expected = chip.device_type if release.chip_checked else ""
    method = "image" if contained else requested or ("wheel" if hardware in release.wheel_hardware else "source")
    return Artefact(method, expected, chip.soc_version if method == "source" else "")


def text(release: Release, hardware: str, build: Artefact) -> str:
    """One line of text: the software that is installed on hosts of this hardware."""
    name, chip = (
        f"vLLM-Ascend {release.name}",
        CHIPS[hardware].device_type.strip("_") if hardware in CHIPS else hardware,
    )
    if build.method == "image":
        return f"{hardware} hosts run {name} from the image"
    if build.method == "wheel":
        return f"{hardware} hosts get {name} as the wheel of the package index"
    if build.method == "site":
        return f"{hardware} hosts get {name} as your own wheel for {chip} from vllm_ascend_find_links"
    wheels = release.wheel_hardware
    why = (
        f"wheels of package indexes are for {', '.join(wheels)}" if wheels else "package indexes have only its sources"
    )
    built = f"{name} is built on {hardware} hosts with SOC_VERSION={build.soc_version}: {why}."
    return f"{built} It compiles kernels with CANN, which takes tens of minutes"


def newer_stable(name: str) -> Release | None:
    """The newest stable release, if it is newer than the release of this name; None for unknown releases and the engine for CPUs."""
    stable = [known for known in ORDER if "rc" not in known and known != "main"]
    newest = RELEASES[stable[-1]]
    return newest if name in ORDER and ORDER[name] < ORDER[newest.name] else None


def newer_text(name: str, hardware: list[str], contained: bool, refusal: str = "") -> str:
    """One line of text about a newer stable release than the planned one, and what it needs; empty without one.

    ``refusal`` is the first error of the description with it.
    """
    release = newer_stable(name)
    if release is None:
        return ""
    if refusal:
        return f"A newer stable release is known, {release.name}. It needs a changed description: {refusal}."
    builds = {kind: artefact(release, kind, contained) for kind in hardware}
    needs = [text(release, kind, build) for kind, build in builds.items()]
    needs[:1] = [f"With inference_release: {release.name}, {need}" for need in needs[:1]]
    return ". ".join([f"A newer stable release is known, {release.name}", *needs]) + "."
