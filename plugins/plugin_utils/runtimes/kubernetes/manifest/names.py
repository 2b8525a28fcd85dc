# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forms of names, labels and annotations (RFC 1123, RFC 1035, and Kubernetes' own)."""

from __future__ import annotations

import re
import typing as t

from ....description.findings import Finding
from .walk import violation

SOURCE = "Kubernetes' object names and labels"
WORD = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME_PART = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"


def is_subdomain(text: str) -> bool:
    """Lower-case labels of letters, digits and hyphens, separated by dots; at most 253 characters."""
    return len(text) <= 253 and re.fullmatch(rf"{WORD}(\.{WORD})*", text) is not None


def is_label(text: str) -> bool:
    """Lower-case letters, digits and hyphens; at most 63 characters."""
    return len(text) <= 63 and re.fullmatch(WORD, text) is not None


def is_dns1035(text: str) -> bool:
    """As ``is_label``, and it begins with a letter."""
    return is_label(text) and text[0].isalpha()


def is_label_value(text: str) -> bool:
    """A label's value: empty, or at most 63 characters that begin and end with a letter or digit."""
    return text == "" or (len(text) <= 63 and re.fullmatch(NAME_PART, text) is not None)


def is_qualified(text: str) -> bool:
    """A label's or annotation's key, or a resource's name: an optional subdomain, a slash, a name."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= 63 and re.fullmatch(NAME_PART, name) is not None


def metadata(value: t.Any, path: str, named: bool = True) -> t.Iterator[Finding]:
    """Violations in an object's metadata; ``named`` objects need a name."""
    if not isinstance(value, t.Mapping):
        return
    name = value.get("name")
    if named and not name and not value.get("generateName"):
        yield violation(f"{path}.name", "K8S-NAME", "the object has no name", "Set a name.", source=SOURCE)
    for key in ("name", "generateName"):
        word = value.get(key)
        if isinstance(word, str) and word and not is_subdomain(word.rstrip("-") if key != "name" else word):
            fix = "Use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit."
            yield violation(f"{path}.{key}", "K8S-NAME", "is not a DNS subdomain (RFC 1123)", fix, word, SOURCE)
    space = value.get("namespace")
    if isinstance(space, str) and space and not is_label(space):
        yield violation(f"{path}.namespace", "K8S-NAME", "is not a DNS label (RFC 1123)", "", space, SOURCE)
    yield from labels(value.get("labels"), f"{path}.labels")
    annotations = value.get("annotations")
    if isinstance(annotations, t.Mapping):
        for key in annotations:
            if not is_qualified(str(key).lower()):
                yield violation(f"{path}.annotations[{key}]", "K8S-NAME", "is not a qualified name", source=SOURCE)


def labels(value: t.Any, path: str) -> t.Iterator[Finding]:
    """Violations in a mapping of labels."""
    if not isinstance(value, t.Mapping):
        return
    for key in value:
        if not is_qualified(str(key)):
            yield violation(f"{path}[{key}]", "K8S-NAME", "the label's key is not a qualified name", source=SOURCE)
        if isinstance(value[key], str) and not is_label_value(value[key]):
            fix = "Use at most 63 letters, digits, '-', '_' and '.'."
            yield violation(f"{path}[{key}]", "K8S-NAME", "is not a label value", fix, value[key], SOURCE)
