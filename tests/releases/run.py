# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the release matrix with vLLM-Ascend's source distributions, and add what the package index has and it lacks.

    run.py                    rows of the first-class releases against their sources; releases of the index without a row
    run.py --releases all     every row that has a source distribution (some 15 MB each, kept in .cache/releases)
    run.py --write            add rows for new releases and write sources_data.py and sdists_data.py of plugins/plugin_utils/releases
                              again, and the recipes

A row is added with what the sources say. Connectors, proxies and facts of FACTS are spans and steps in matrix.py: the
differences that remain after --write are listed, and need a person.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import typing as t

import baselines
import compare
import messages
import refusals
import said
import sdists
import sources
import unread
from ansible_collections.ascend.inference.plugins.module_utils.install import sdist
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import run_command, settings
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import sdists_data
from ansible_collections.ascend.inference.tests.conformance import make_recipes

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("ASCEND_INFERENCE_RELEASES", str(ROOT / ".cache" / "releases")))
DATA = ROOT / "plugins" / "plugin_utils" / "releases"
PACKAGE = "vllm-ascend"
NEEDED = re.compile(
    r"[^/]+/(PKG-INFO|requirements\.txt|Dockerfile[^/]*|vllm_ascend/.*\.py|examples/.*\.py|\.github/workflows/.*|docs/source/.*\.md"
    r"|tests/e2e/cases/models/configs/.*\.yaml)$"
)


def published() -> list[str]:
    """Versions that the package index has, oldest first; asked with pip, the client that hosts use."""
    argv = [python(), "-m", "pip", "index", "versions", "--pre", PACKAGE]
    text = subprocess.run(argv, text=True, capture_output=True, check=True).stdout
    found = re.search(r"Available versions: (.*)", text)
    return [name.strip() for name in reversed(found.group(1).split(","))] if found else []


def python() -> str:
    """A Python that has pip."""
    venv = CACHE / "pip"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    return str(venv / "bin" / "python")


def index() -> str:
    """The package index that pip is configured for, else pip's default."""

    def printed(*arguments: str) -> str:
        return subprocess.run([python(), *arguments], text=True, capture_output=True, check=True).stdout

    configured = settings(printed("-m", "pip", "config", "list"), {}).get("PIP_INDEX_URL")
    return configured or printed("-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)").strip()


def source_distributions() -> dict[str, sdists.Digests]:
    """The digests of vLLM's and vLLM-Ascend's source distributions on the index."""
    return {package: sdists.published(index(), package) for package in sdists.wanted()}


def unpacked(release: str) -> pathlib.Path:
    """The folder of a release's sources: fetched once, never built; only what is read is unpacked."""
    folder = (
        CACHE / f"{release}-{hashlib.sha256(NEEDED.pattern.encode()).hexdigest()[:8]}"
    )  # other files: fetched again
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            wish = {"package": PACKAGE, "version": release, "python": python()}
            with tarfile.open(sdist.download(wish, work, run_command)) as archive:
                members = [
                    getmember
                    for getmember in archive.getmembers()
                    if getmember.isfile() and NEEDED.match(getmember.name)
                ]
                for member in members:
                    member.name = member.name.split("/", 1)[1]
                archive.extractall(os.path.join(work, "sources"), members=members, filter="data")
            os.rename(os.path.join(work, "sources"), folder)
    return folder


@functools.cache
def facts(release: str) -> dict[str, t.Any]:
    """What a release's sources say."""
    return sources.read(unpacked(release))


def report(names: t.Iterable[str]) -> list[str]:
    """Differences between rows and sources, as lines."""
    return [
        f"{name}: {line}"
        for name in names
        for line in (
            *compare.differences(name, facts(name)),
            *messages.differences(name, unpacked(name)),
            *unread.differences(name, unpacked(name)),
            *said.differences(name, unpacked(name)),
            *baselines.differences(name, unpacked(name)),
            *(refusals.differences(name, unpacked(name)) if name in refusals.RELEASES else ()),
        )
    ]


def main() -> int:
    """Compare, and with --write add; 1 if a person is needed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", default="first-class", help="first-class, all, or names with commas")
    parser.add_argument("--write", action="store_true", help="add rows and write the collected data")
    parser.add_argument("--no-index", action="store_true", help="do not ask the index for new releases")
    asked = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    new = [] if asked.no_index else compare.unknown(published())
    for name in new:
        row = compare.row(facts(name))
        print(f"{name} is published and has no row: {row}")
        if asked.write:
            compare.add_row(DATA / "matrix.py", row)
    if asked.write:
        names = [*compare.collected_releases(), *new]
        compare.write_data(DATA / "sources_data.py", {name: facts(name) for name in names})
        sdists.write(DATA / "sdists_data.py", sdists_data.SDISTS, source_distributions())
    shelf = {name: unpacked(name) for name in make_recipes.SHELF}
    if asked.write:
        for path, text in make_recipes.texts(make_recipes.compiled(shelf), shelf).items():
            path.write_text(text, encoding="utf-8")
    chosen = {"first-class": compare.FIRST_CLASS, "all": compare.collected_releases()}
    lines = report(chosen.get(asked.releases) or asked.releases.split(","))
    lines += compare.documented(facts(compare.newest()))
    lines += make_recipes.differences(shelf)
    if not asked.no_index:
        importlib.reload(sdists_data)
        lines += sdists.differences(sdists_data.SDISTS, source_distributions())
        lines += compare.newer_engines(sdists.published(index(), "vllm"))
    print("\n".join(lines) or "The rows say what the sources say.")
    return 1 if lines or (new and not asked.write) else 0


if __name__ == "__main__":
    sys.exit(main())
