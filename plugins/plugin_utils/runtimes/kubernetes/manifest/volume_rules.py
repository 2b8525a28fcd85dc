# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes of a pod: one source, decimal file modes, relative paths."""

from __future__ import annotations

import typing as t

from .....module_utils.kubernetes.quantity import is_quantity, quantity
from ....description.findings import Finding
from .names import is_label
from .parts import chosen, mapped
from .walk import SILENT, violation

PATH_TYPES = ("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
WITH_MODE = ("configMap", "secret", "downwardAPI", "projected")
NEEDS_NAME = {"configMap": "name", "secret": "secretName", "persistentVolumeClaim": "claimName", "hostPath": "path"}


def volume(value: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """All violations in one volume."""
    name = value.get("name")
    if isinstance(name, str) and not is_label(name):
        fix = "Use at most 63 lower-case letters, digits and '-'."
        yield violation(f"{path}.name", "K8S-NAME", "is not a DNS label (RFC 1123)", fix, name, SILENT)
    sources = [key for key in value if key != "name" and value[key] is not None]
    if len(sources) > 1:  # without a source it is an emptyDir
        message = f"a volume must have one source, but this one has {', '.join(sources)}"
        yield violation(path, "POD-VOLUME", message, "Keep one of them.", source=SILENT)
    for kind in sources:
        if isinstance(value[kind], t.Mapping):
            yield from _source(kind, value[kind], f"{path}.{kind}")


def _source(kind: str, source: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    if kind in NEEDS_NAME and not source.get(NEEDS_NAME[kind]):
        yield violation(
            f"{path}.{NEEDS_NAME[kind]}", "K8S-REQUIRED", "this field is required", "Set it.", source=SILENT
        )
    if kind in WITH_MODE:
        yield from _mode(source, "defaultMode", path)
        yield from _items(source, path)
    if kind == "hostPath":
        yield from chosen(source, "type", PATH_TYPES, path)
    if kind == "emptyDir":
        medium = str(source.get("medium") or "")
        if not medium.startswith("HugePages"):
            yield from chosen(source, "medium", ("Memory",), path)
        limit = source.get("sizeLimit")
        if limit is not None and is_quantity(limit) and quantity(limit) < 0:
            yield violation(f"{path}.sizeLimit", "K8S-RANGE", "must not be negative", "", limit, SILENT)


def _items(source: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    for index, item in enumerate(mapped(source.get("items"))):
        place = f"{path}.items[{index}]"
        yield from _mode(item, "mode", place)
        inside = str(item.get("path", ""))
        if inside.startswith("/") or ".." in inside.split("/"):
            message = "must be a relative path without '..'"
            yield violation(f"{place}.path", "POD-VOLUME", message, "", inside, SILENT)


def _mode(owner: t.Mapping[str, t.Any], key: str, path: str) -> t.Iterator[Finding]:
    value = owner.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and not 0 <= value <= 0o777:
        message = "a file mode must be a number from 0 to 511 (0777 in octal)"
        fix = "JSON and YAML 1.2 have no octal 0777: write 511 (0777), 493 (0755) or 420 (0644)."
        yield violation(f"{path}.{key}", "POD-MODE", message, fix, value, SILENT)
