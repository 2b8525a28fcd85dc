# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths in an engine's options and environment, and the mounts with which its container sees them."""

from __future__ import annotations

import json
import posixpath
import re
import typing as t
from dataclasses import dataclass

from ...description.values import read_json
from ...releases.paths import CONNECTOR_KEYS, KEYS, NO_PATHS, OPTIONS, VARIABLES
from .vllm import split

KV = "kv-transfer-config"
# Folders whose files are those of the image, or of the kernel.
IMAGE_FOLDERS = (
    "/bin",
    "/boot",
    "/dev",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "/vllm-workspace",
)
TEMPLATE = re.compile(r"[{}\n]")  # vLLM takes a chat-template with one of these for the text itself
WRITTEN = ("folder", "file")


@dataclass(frozen=True)
class Seen:
    """A path that an engine is given: ``part`` (args, env, kv), the option or variable, the ``key`` in it, what it does with the path."""

    part: str
    name: str
    path: str
    use: str
    key: str = ""

    @property
    def relative(self) -> bool:
        """Whether it is relative to a working directory. A name on a hub is none."""
        if self.path.startswith(("./", "../", "~")) or ".." in self.path.split("/"):
            return True
        return (
            not posixpath.isabs(self.path) and self.use != "hub" and not (self.use == "adapters" and _is_hub(self.path))
        )

    @property
    def shown(self) -> str:
        """What the container has to see: the folder of a file that is written, else the path."""
        path = posixpath.normpath(self.path)
        return posixpath.dirname(path) if self.use == "file" else path

    @property
    def of_the_host(self) -> bool:
        """Whether it is an absolute path outside of the folders of the image."""
        return posixpath.isabs(self.path) and not self.relative and not below(self.shown, IMAGE_FOLDERS)


def _is_hub(path: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", path))


def below(path: str, folders: t.Iterable[str]) -> bool:
    """Whether a path is one of the folders, or in one of them."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def seen(argv: t.Sequence[str], env: t.Mapping[str, str]) -> tuple[Seen, ...]:
    """The paths of an engine, in order, each place once. ``argv``: its command line; the model itself is none of them."""
    found = [item for name, values in split(argv) for item in _of_option(name, values)]
    found += [Seen("env", name, env[name], VARIABLES[name]) for name in sorted(VARIABLES) if env.get(name)]
    return tuple(dict.fromkeys(item for item in found if item.path))


def _of_option(name: str, values: t.Sequence[str]) -> t.Iterator[Seen]:
    use, value = OPTIONS.get(name, ""), values[0] if values else ""
    if use == "adapters":
        yield from (Seen("args", name, path, use) for text in values for path in _adapters(text))
    elif use and not (use == "template" and TEMPLATE.search(value)) and value not in NO_PATHS:
        yield Seen("args", name, value, use)
    option, dot, below = name.partition(".")
    for (owner, key), kind in KEYS.items():
        if owner == option and (not dot or key == below or key.startswith(below + ".")):
            rest = key[len(below) :].lstrip(".") if dot else key
            path = _at(_loaded(value), rest)
            if isinstance(path, str):
                yield Seen("args", option, path, kind, key)
    if name == KV:
        yield from _of_connectors(_loaded(value))


def _loaded(value: str) -> t.Any:
    found = read_json(value)
    return value if found is None else found


def _at(value: t.Any, keys: str) -> t.Any:
    for key in keys.split(".") if keys else ():
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _of_connectors(config: t.Any) -> t.Iterator[Seen]:
    extra = _at(config, "kv_connector_extra_config")
    for key, use in CONNECTOR_KEYS.items():
        path = _at(extra, key)
        if isinstance(path, str):
            yield Seen("kv", KV, path, use, key)
    children = _at(extra, "connectors")
    for child in children if isinstance(children, list) else ():
        yield from _of_connectors(child)


def _adapters(text: str) -> list[str]:
    """The paths of one value of lora-modules: ``name=path``, or JSON of one module or of several."""
    if not text.lstrip().startswith(("{", "[")):
        return [text.partition("=")[2]] if "=" in text else []
    try:
        found = json.loads(text)
    except ValueError:
        return []
    modules = found if isinstance(found, list) else [found]
    return [str(module.get("path", "")) for module in modules if isinstance(module, dict)]


def mounts(paths: t.Iterable[Seen], targets: t.Iterable[str]) -> list[str]:
    """``SOURCE:TARGET[:ro]`` of each path of the host that is below none of ``targets``, the folders that the container has already."""
    there = [posixpath.normpath(target) for target in targets]
    found: dict[str, bool] = {}
    for item in paths:
        if item.of_the_host and item.shown != "/" and not below(item.shown, there):
            found[item.shown] = found.get(item.shown, False) or item.use in WRITTEN
    wider = {path: [other for other in found if other != path and found[other] >= found[path]] for path in found}
    kept = sorted(path for path in found if not below(path, wider[path]))
    return [f"{path}:{path}" + ("" if found[path] else ":ro") for path in kept]
