# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the release matrix beside what sources.read() found: differences, new rows, the collected data file."""

from __future__ import annotations

import pathlib
import re
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options_data
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.matrix import ROWS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER, RELEASES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.version import numbers
from ansible_collections.ascend.inference.tests.releases import known

FIRST_CLASS = ("0.9.1", "0.11.0", "0.13.0", "0.18.0", "0.23.0", "0.23.0.post1", "0.30.0rc2")
OLDEST = "0.9.1rc2"  # the first with a proxy for prefill and decode; nothing is collected of older ones
OF_VLLM = {"MultiConnector", "OffloadingConnector"}  # vLLM registers them where vLLM-Ascend does not
Facts = dict[str, t.Any]


def collected_releases() -> list[str]:
    """Rows that a source distribution is read for."""
    return [name for name in list(ORDER)[ORDER[OLDEST] :] if name != "main"]


def newest() -> str:
    """The newest row that has sources."""
    return max(collected_releases(), key=lambda name: (numbers(name), ORDER[name]))


def newer_engines(published: t.Iterable[str]) -> list[str]:
    """vLLM's final releases after the newest whose options are collected: the next vLLM-Ascend will be built on one of them."""
    last = max(options_data.VLLM_VERSIONS, key=numbers)
    later = [name for name in published if re.fullmatch(r"[\d.]+", name) and numbers(name) > numbers(last)]
    return [
        f"vLLM {name} is published; options and values are collected up to {last}"
        for name in sorted(later, key=numbers)
        if name not in known.ENGINES
    ]


def unknown(published: t.Iterable[str]) -> list[str]:
    """Published releases without a row, that are newer than the oldest row."""
    oldest = numbers(ROWS[0][0])
    return [name for name in published if name not in ORDER and numbers(name) > oldest]


def differences(name: str, facts: Facts) -> list[str]:
    """What a row says otherwise than its sources."""
    release = RELEASES[name]
    found = []

    def judge(fact: str, row: t.Any, source: t.Any) -> None:
        if row != source and (name, fact) not in known.FACTS:
            found.append(f"{fact} is {row!r} in the row, {source!r} in the sources")

    for fact in ("vllm", "python", "cann", "mooncake", "mooncake_install", "fastapi"):
        judge(fact, getattr(release, fact), facts[fact])
    for fact, row in (
        ("torch", release.torch),
        ("torch_npu", release.torch_npu_pin or release.torch_npu),
        ("triton", release.triton),
    ):
        if facts[fact]:  # older releases pin none
            judge(fact, row, facts[fact])
    judge("python_range", release.python_range[0], facts["python_range"].partition(">=")[2].partition(",")[0])
    judge("image_hardware", set(release.image_hardware), set(facts["image_hardware"]))
    for hardware, builds in facts["image_builds"].items():
        judge(f"image_builds for {hardware}", list(release.builds_of(hardware)), builds)
    judge("chip_checked", release.chip_checked, facts["chip_checked"])
    judge("connectors", sorted(set(release.connectors) - OF_VLLM), sorted(set(facts["connectors"]) - OF_VLLM))
    for flavour in sorted({*release.proxies, *facts["proxies"]}):
        source = facts["proxies"].get(flavour, {})
        judge(f"path of proxy {flavour}", release.proxy_paths.get(flavour), source.get("path"))
        judge(f"flags of proxy {flavour}", sorted(release.proxies.get(flavour, ())), source.get("flags", []))
        judge(f"SHA-256 of proxy {flavour}", release.proxy_sha256.get(flavour), source.get("sha256"))
    for hardware, image in facts["images"].items():
        for fact, value in image.items():
            judge(f"{fact} of the image for {hardware}", getattr(release, fact), value)
    found += [
        f"the image installs {package}, which nothing requires and known.PACKAGES does not have"
        for package in facts["image_packages"]
        if package not in known.PACKAGES
    ]
    built = {build.split()[0] for builds in release.image_builds.values() for build in builds}
    found += [
        f"its code imports {module}, which nothing requires, known.IMPORTS does not have and no build of the image brings"
        for module in facts["imports"]
        if module not in known.IMPORTS and known.BUILDS.get(module) not in built
    ]
    return found


def documented(facts: Facts) -> list[str]:
    """What rows say otherwise than the newest documents, whose matrix and notes cover all releases."""
    found = []
    for source in ("matrix", "notes"):
        for name, stated in facts[source].items():
            row = _row(name) if name in RELEASES else {}
            found += [
                f"{name}: {fact} is {row[fact]!r} in the row, {value!r} in the {source} of {facts['release']}"
                for fact, value in stated.items()
                if fact in row and row[fact] != value and (name, f"{fact} in the {source}") not in known.FACTS
            ]
    return found


def _row(name: str) -> dict[str, str]:
    """A row in the words of the documents."""
    release = RELEASES[name]
    facts = {fact: str(getattr(release, fact)) for fact in ("vllm", "cann", "torch", "torch_npu", "triton", "hdk")}
    return {
        **facts,
        "python_range": release.python_range[1],
        **({"mooncake": release.mooncake} if release.mooncake else {}),
    }


def row(facts: Facts) -> tuple[str, ...]:
    """The line of ROWS for a release."""
    keys = ("release", "vllm", "python", "cann", "torch", "torch_npu", "triton", "mooncake", "fastapi")
    return tuple(facts[key] for key in keys)


def add_row(path: pathlib.Path, line: tuple[str, ...]) -> None:
    """Write a row into matrix.py: after the last of its line of releases, at the latest before the development branch."""
    text = path.read_text(encoding="utf-8")
    before = [name for name in ORDER if name != "main" and numbers(name) <= numbers(line[0])]
    place = next(part for part in text.splitlines(keepends=True) if part.startswith(f'    ("{before[-1]}", '))
    words = ", ".join(f'"{word}"' for word in line)
    path.write_text(text.replace(place, f"{place}    ({words}),\n", 1), encoding="utf-8")


def spans(collected: t.Mapping[str, t.Iterable[str]]) -> list[str]:
    """Lines ``name|first|last``: the spans of releases that have a name; an empty bound is open."""
    names, lines = list(collected), []
    for word in sorted({word for words in collected.values() for word in words}):
        has = [word in set(collected[name]) for name in names]
        first = None
        for index, present in enumerate([*has, False]):
            if present and first is None:
                first = index
            elif not present and first is not None:
                last = "" if index == len(names) else names[index - 1]
                lines.append(f"{word}|{names[first] if first else ''}|{last}".rstrip("|"))
                first = None
    return lines


def digests(collected: t.Mapping[str, Facts]) -> list[str]:
    """Lines ``flavour|release|sha256``: the file of a release and of those after it, until the next line."""
    seen: dict[str, str] = {}
    lines = []
    for name, facts in collected.items():
        for flavour, proxy in facts["proxies"].items():
            if seen.get(flavour) != proxy["sha256"]:
                seen[flavour] = proxy["sha256"]
                lines.append(f"{flavour}|{name}|{proxy['sha256']}")
    return sorted(lines, key=lambda line: line.split("|")[0])


HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts from vLLM-Ascend's source distributions, by release; written by ``make releases ARGS=--write``.

PROXY_SHA256: ``flavour|release|SHA-256`` of the proxy's file; it holds until the next line of the flavour.
ENVIRONMENT: ``name|first|last`` release whose vllm_ascend reads the variable; an empty bound is open.
ADDITIONAL_CONFIG: the same for the keys of --additional-config that any of its modules reads.
ADDITIONAL_VALUES: the same for what is known of the keys: ``key:kind``, ``key.inner:kind``, ``key=value`` that it takes, ``!`` and
``!key`` where the release refuses other keys (there).
STORE_KEYS: the same for the keys of mooncake.json that the store's back end reads.
QUANTIZATION: the same for the methods that its platform supports; it refuses all others.
ARCHITECTURES: the same for the models that it registers besides, or in place of, those of its vLLM.
SCHEMES: the same for the words for a layer that its reader of quant_model_description.json has a method for.
REPLACED: environment variable and the key of --additional-config that stands in its place, from upstream's own table.
"""

from __future__ import annotations

'''


def write_data(path: pathlib.Path, collected: t.Mapping[str, Facts]) -> None:
    """Write sources_data.py."""
    replaced: dict[str, str] = {}
    for facts in collected.values():
        replaced.update(facts["replaced_environment"])
    own = {
        name: [word for word in facts["environment"] if "VLLM_ASCEND" in word or word in replaced]
        for name, facts in collected.items()
    }
    stored = {name: facts["store_keys"] for name, facts in collected.items()}
    tables = {
        "PROXY_SHA256": digests(collected),
        "ENVIRONMENT": spans(own),
        "ADDITIONAL_CONFIG": spans({name: facts["additional_config"] for name, facts in collected.items()}),
        "ADDITIONAL_VALUES": spans(
            {
                name: [word for word in facts["additional_values"] if not re.fullmatch(r"\w+:", word)]
                for name, facts in collected.items()
            }
        ),
        "STORE_KEYS": spans(stored),
        "QUANTIZATION": spans({name: facts["quantization"] for name, facts in collected.items()}),
        "ARCHITECTURES": spans({name: facts["architectures"] for name, facts in collected.items()}),
        "SCHEMES": spans({name: facts["schemes"] for name, facts in collected.items()}),
        "REPLACED": [f"{name}|{key}" for name, key in sorted(replaced.items())],
    }
    listed = "".join(f'    "{name}",\n' for name in collected)
    text = (
        HEAD
        + f"COLLECTED = [\n{listed}]\n\n"
        + "\n".join(f'{name} = """\n' + "\n".join(lines) + '\n"""\n' for name, lines in tables.items())
    )
    path.write_text(text, encoding="utf-8")
