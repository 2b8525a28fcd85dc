# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server says of single values: names, labels, addresses, and ``formats.yml``."""

from __future__ import annotations

import ipaddress
import pathlib
import re
import typing as t

import yaml

from ....description.findings import Finding
from .walk import KINDS, mapping, violation

RULE = "validation of the API server"
WORD = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL = re.compile(r"[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?", re.ASCII)
LABELS = ("labels", "matchLabels", "nodeSelector", "annotations", "selector")
FIX = "Write letters, digits and . _ - between a letter or digit at both ends, at most 63."


def is_subdomain(name: str) -> bool:
    """RFC 1123: lower-case labels of letters, digits and hyphens, separated by dots; at most 253 characters."""
    return len(name) <= 253 and re.fullmatch(rf"{WORD}(\.{WORD})*", name) is not None


def is_label(name: str) -> bool:
    """RFC 1123: one label of at most 63 characters."""
    return len(name) <= 63 and re.fullmatch(WORD, name) is not None


def is_dns1035(name: str) -> bool:
    """RFC 1035: a label that begins with a letter."""
    return name[:1].isalpha() and is_label(name)


def is_label_value(text: str) -> bool:
    """What a label can be, besides empty."""
    return len(text) <= 63 and LABEL.fullmatch(text) is not None


def is_qualified(name: str) -> bool:
    """The name of a label or an annotation, with or without a domain."""
    domain, slash, own = name.rpartition("/")
    return is_label_value(own) and (not slash or is_subdomain(domain))


def is_port_name(text: str) -> bool:
    """IANA_SVC_NAME: at most 15 characters, with a letter, without two hyphens in a row."""
    return len(text) <= 15 and re.fullmatch(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*", text) is not None


def is_address(text: str) -> bool:
    """An address of IPv4 or IPv6."""
    return "/" not in text and is_network(f"{text}/{128 if ':' in text else 32}")


def is_network(text: str) -> bool:
    """An address with the length of its prefix."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return text.rpartition("/")[2].isdecimal() and "/" in text


TESTS: dict[str, t.Callable[[str], bool]] = {
    "subdomain": is_subdomain,
    "label": is_label,
    "qualified": is_qualified,
    "port_name": is_port_name,
    "address": is_address,
    "cluster_address": lambda text: text == "None" or is_address(text),
    "network": is_network,
}
Format = t.Mapping[str, t.Any]
BY_PLACE: dict[str, list[Format]] = {}
for _format in yaml.safe_load((pathlib.Path(__file__).parent / "formats.yml").read_text(encoding="utf-8")):
    for _place in _format["at"].split():
        BY_PLACE.setdefault(_place, []).append(_format)


def single_values(name: str, value: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """What is wrong with the fields of a mapping, each for itself; ``name`` is that of its definition."""
    for place, forms in BY_PLACE.items():
        owner, dummy, field = place.rpartition(".")
        if owner in ("", name):
            items = value.get(field)
            several = isinstance(items, (list, tuple)) and len(items) > 0
            for index, item in enumerate(items if several else [items]):
                where = f"{path}.{field}[{index}]" if several else f"{path}.{field}"
                for form in forms:
                    if _is_wrong(form, item) and not (item is None and f"{field}!" in KINDS[name]):  # walk has said it
                        yield violation(
                            where, form["id"], form["says"], value="" if item is None else item, source=RULE
                        )
    for field in LABELS:
        for key, text in mapping(value.get(field)).items():
            if not is_qualified(str(key)):
                words = f"'{key}' is no name of a label or annotation"
                yield violation(f"{path}.{field}[{key}]", "K8S-LABEL", words, FIX, key, RULE)
            elif field != "annotations" and isinstance(text, str) and text and not is_label_value(text):
                words = f"'{text}' is no value of a label"
                yield violation(f"{path}.{field}[{key}]", "K8S-LABEL", words, FIX, text, RULE)


def _is_wrong(form: Format, item: t.Any) -> bool:
    """Of another type than the format is about, and of an empty string, ``walk`` and other formats tell."""
    if "full" in form:
        return item in (None, "", [])
    if isinstance(item, str) and item and ("is" in form or "text" in form):
        return not (TESTS[form["is"]](item) if "is" in form else re.fullmatch(form["text"], item, re.DOTALL))
    if isinstance(item, int) and not isinstance(item, bool) and "from" in form:
        return not form["from"] <= item <= form.get("to", item)
    return False
