# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of texts in variables.

No text may contain control characters: a line end would also end a line of a unit, a script or a configuration.
A text that is written there without quotes, or that a program could read as an option, has a kind. The whole text must match its pattern.
"""

from __future__ import annotations

import re
import typing as t

# C0, DEL and C1 (ISO 6429), the separators that Unicode counts as line ends, the marks that reverse the direction of text,
# and halves of surrogate pairs, which YAML can write and no file can hold.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
WITHIN_LINES = re.compile(
    CONTROL.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f")
)  # all of them but newline and tab


class Kind(t.NamedTuple):
    """A kind of text: the pattern of the whole text, and its description for messages."""

    pattern: re.Pattern[str]
    expected: str


IPV6 = r"[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(%[\w.-]+)?"  # two colons: one is that of a port
KINDS: dict[str, Kind] = {
    "address": Kind(re.compile(rf"\w[\w.-]*|{IPV6}", re.ASCII), "an IP address or a host name without a port"),
    # Mooncake joins it to the keys of etcd, and with an OpLog ends with other characters (ha/oplog: 128 of [A-Za-z0-9_.-]).
    "cluster_id": Kind(
        re.compile(r"\w[\w.-]{0,127}", re.ASCII),
        "a name of at most 128 letters, digits and . _ - that begins with a letter or digit",
    ),
    "directory": Kind(re.compile(r"/[\w./+@-]*", re.ASCII), "an absolute path of letters, digits and . _ / + @ -"),
    "endpoint": Kind(
        re.compile(
            r"(\w[\w.-]*|\[[0-9A-Fa-f:.]+\]):([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])",
            re.ASCII,
        ),
        "an address with a port, such as 10.0.0.1:2379",
    ),
    "group": Kind(re.compile(r"\w[\w.-]*", re.ASCII), "the name of an inventory group"),
    "image": Kind(
        re.compile(r"[\w\[][\w./:@+\[\]-]*", re.ASCII),
        "the name of an image, such as quay.io/ascend/vllm-ascend:v0.23.0",
    ),
    "interface": Kind(re.compile(r"\w[\w.:@-]*", re.ASCII), "the name of a network interface, such as eth0"),
    # The rule MOUNT-FORM checks the parts, and CANN-PATH whether a path is absolute.
    "model_source": Kind(
        re.compile(
            r"copy|archive|rsync|tiny|hosts:\w[\w.-]*|(modelscope|huggingface):\w[\w.-]*/\w[\w.-]*(@\w[\w./-]*)?|https?://[\w.-]+(:\d+)?(/[\w.+~@/-]*)?",
            re.ASCII,
        ),
        "copy, archive, rsync, tiny, hosts:NAME, modelscope:OWNER/NAME@REVISION, huggingface:OWNER/NAME@REVISION, or the https:// address of a folder",
    ),
    "mount": Kind(re.compile(r'[\w/][^;&|<>`$"]*'), "SOURCE:TARGET or SOURCE:TARGET:ro"),
    "name": Kind(re.compile(r"\w[\w.@-]*", re.ASCII), "a name of letters, digits and . _ @ -"),
    "network": Kind(
        re.compile(r"[0-9A-Fa-f:.]+(/\d{1,3})?", re.ASCII), "an IP address or a network, such as 10.0.0.0/24"
    ),
    "numbers": Kind(re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*", re.ASCII), "numbers and ranges, such as 0-3,8"),
    # RFC 1123: a label, as in the names of services; other objects may have several with dots, together at most 253 characters.
    "namespace": Kind(
        re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII),
        "the name of a Kubernetes namespace of at most 63 lower-case letters, digits and -, such as team-1",
    ),
    "object": Kind(
        re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII),
        "the name of a Kubernetes object of lower-case letters, digits and . -",
    ),
    "path": Kind(re.compile(r"[\w./][\w./+@-]*", re.ASCII), "a path of letters, digits and . _ / + @ -"),
    "release": Kind(re.compile(r"\w[\w.+-]*", re.ASCII), "the name of a release, such as 0.23.0"),
    "size": Kind(re.compile(r"\d+(\.\d+)? ?[A-Za-z]{0,3}", re.ASCII), "a number with a unit, such as 16g"),
    "version": Kind(re.compile(r"v?\d[\w.+-]*", re.ASCII), "a version, such as 0.32.0"),
    "url": Kind(
        re.compile(r"(https?|file)://[\w.~:/?#@!&*+,=%\[\]-]+", re.ASCII),
        "a URL that begins with https://, http:// or file://",
    ),
    # useradd(8), with the capitals that directories of users have
    "user": Kind(
        re.compile(r"[A-Za-z_][\w.-]{0,31}", re.ASCII), "the name of a user: a letter, then letters, digits and . _ -"
    ),
}


def problem_of(text: str, kind: str = "", lines: bool = False) -> str:
    """The problem of a text, without the text itself; empty if it is valid.

    ``kind`` is a key of ``KINDS`` or empty; ``lines`` allows several lines, for values that are always quoted. An empty text is valid for each kind.
    """
    found = (WITHIN_LINES if lines else CONTROL).search(text)
    if found:
        return f"the text has the control character U+{ord(found.group()):04X} at position {found.start() + 1}"
    if kind and text and not KINDS[kind].pattern.fullmatch(text):
        return f"{KINDS[kind].expected} is expected"
    return ""


def controls_within(value: t.Any, path: str) -> t.Iterator[tuple[str, str]]:
    """Path and problem of every text in free data (mappings, lists) that has a control character; keys have no lines."""
    if isinstance(value, t.Mapping):
        for key in value:
            problem = problem_of(str(key))
            if problem:
                yield path, f"a key of it cannot be used: {problem}"
            yield from controls_within(value[key], f"{path}.{key}")
    elif isinstance(value, (list, tuple, set)):
        for index, item in enumerate(value):
            yield from controls_within(item, f"{path}[{index}]")
    elif isinstance(value, str):
        problem = problem_of(value, lines=True)
        if problem:
            yield path, problem


def as_extra_variable(path: str, raw: t.Any) -> str:
    """How to give a mapping on the command line, for one that Ansible read as text: -e NAME={KEY: VALUE}."""
    if not isinstance(raw, str) or not raw.startswith("{"):
        return ""
    name = path.replace(".", "_", 1).partition(".")[0]
    return f"""On the command line, write -e '{{"{name}": {{KEY: VALUE}}}}', or -e @FILE with YAML: -e {name}=... is text. In a file: """
