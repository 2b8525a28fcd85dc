# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release's images are made of: the base, the build arguments, and each package that a Dockerfile installs or downloads."""

from __future__ import annotations

import pathlib
import re
import shlex
import typing as t
import urllib.parse

FILES = {"a2": "Dockerfile", "a3": "Dockerfile.a3", "310p": "Dockerfile.310p", "950": "Dockerfile.a5"}
_SOURCES = ("-e", "--editable", "-r", "--requirement", ".")  # vLLM's and vLLM-Ascend's own sources
_WHEEL = re.compile(r"([A-Za-z]\w*)-(\d[^-]*)-")
_VARIANT = re.compile(r"_(a2|a3|a5|310p|910b)$")  # one wheel for each chip


class Dockerfile:
    """The build arguments and the base image of one Dockerfile."""

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.M))
        self.arguments: dict[str, str] = {}
        for name, value in re.findall(r"^ARG\s+(\w+)=(\S+)", self.text, re.M):
            self.arguments.setdefault(name, value.strip("\"'"))
        base = re.search(r"^FROM\s+(\S+)", self.text, re.M)
        self.base = self._filled(base.group(1)) if base else ""

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{?(\w+)\}?", lambda found: self.arguments.get(found.group(1), ""), text)

    def value(self, name: str) -> str:
        """A build argument's default; empty without one."""
        return self._filled(self.arguments.get(name, ""))

    @property
    def python(self) -> str:
        """'3.11' of the base image ...-py3.11."""
        found = re.search(r"-py(3\.\d+)", self.base)
        return found.group(1) if found else ""

    @property
    def cann(self) -> str:
        """CANN as vLLM-Ascend's documents write it: 8.2.rc1 is 8.2.RC1; the date of a build is left out."""
        found = re.search(r":([0-9.]+?)(?:\.?(rc\d+))?(?:\.beta\d+)?(?:_\d+)?-", self.base)
        if not found:
            return ""
        return found.group(1) + (f".{found.group(2).upper()}" if found.group(2) else "")

    @property
    def mooncake_install(self) -> str:
        """'package', 'source', or empty where the image has no Mooncake."""
        if re.search(r"pip install[^&]*mooncake-transfer-engine", self.text):
            return "package"
        return "source" if self.value("MOONCAKE_TAG") else ""

    @property
    def unpublished(self) -> list[str]:
        """What the image has and no index, as name and version: dated builds (ARG *_DATE, CANN's too) and wheels from an address."""
        found = {f"{name} {version}" for name, version in self._wheels()}
        dated = re.search(r":(\d[\w.]*_\d{8,})-", self.base)
        if dated:
            found.add(f"cann {dated.group(1)}")
        if self.value("BUILD_TYPE") == "release" and self.value("TORCH_NPU_DATE"):
            names = [name[: -len("_DATE")] for name in self.arguments if name.endswith("_DATE")]
            found |= {f"{name.lower()} {self.value(name + '_VERSION')}" for name in names}
            packages = [name for name in self.arguments if name.endswith("_PACKAGE_VERSION")]
            found |= {
                f"{name[: -len('_PACKAGE_VERSION')].lower()} {urllib.parse.unquote(self.value(name))}"
                for name in packages
            }
        return sorted(found)

    def _wheels(self) -> t.Iterator[tuple[str, str]]:
        """Name and version of each wheel that has an address of its own; the variable of its file name is set by the shell."""
        for word in re.findall(r"[\w.%+${}-]+\.whl", self.text):
            found = _WHEEL.match(self._filled(word)[: -len(".whl")])
            if found:
                yield _VARIANT.sub("", found.group(1)), urllib.parse.unquote(found.group(2))

    @property
    def installed(self) -> list[str]:
        """The packages that its pip installs by name, without versions."""
        found = set()
        for command in re.findall(r"pip3? install ([^&|;\n]*)", self.text):
            words = shlex.split(command, comments=False)
            for before, word in zip(["", *words], words, strict=False):
                named = re.match(r"[A-Za-z][A-Za-z0-9_.-]*", word)
                if before.startswith("--extra") or before in (*_SOURCES, "-i", "--index-url") or "/" in word:
                    continue
                if named:
                    found.add(named.group().lower().replace("_", "-"))
        return sorted(found)


def read(folder: pathlib.Path) -> dict[str, Dockerfile]:
    """The Dockerfile of each hardware generation that the release has one for."""
    return {
        hardware: Dockerfile((folder / name).read_text(encoding="utf-8"))
        for hardware, name in FILES.items()
        if (folder / name).exists()
    }
