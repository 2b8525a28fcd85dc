# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads plain data into frozen dataclasses, strictly: unknown keys and wrong types become complaints with their path."""

from __future__ import annotations

import dataclasses
import types
import typing as t

from .findings import Finding, nearest

# Dataclasses call the functions below in their bodies, where fields belong; pylint sees the functions alone.
# pylint: disable=invalid-field-call

TRUE = {"true", "yes", "on", "1"}
FALSE = {"false", "no", "off", "0"}


def choice(*values: str) -> t.Any:
    """A field whose value is one of ``values``; the first one is the default."""
    return dataclasses.field(default=values[0], metadata={"choices": values})


def number(default: int, least: int = 1, most: int | None = None) -> t.Any:
    """A field that holds a whole number from ``least`` to ``most``."""
    return dataclasses.field(default=default, metadata={"least": least, "most": most})


def firsts() -> t.Any:
    """A field that holds port numbers: none, one, or one for each instance."""
    return dataclasses.field(default=(), metadata={"least": 1, "most": 65535})


def words() -> t.Any:
    """A field that holds a mapping of free keys (engine arguments, environment)."""
    return dataclasses.field(default_factory=dict)


def factory(make: t.Callable[[], t.Any]) -> t.Any:
    """A field whose default is made anew for each record: another record, or a mapping."""
    return dataclasses.field(default_factory=make)


def documented(text: str, default: t.Any = dataclasses.MISSING) -> t.Any:
    """A field with its documentation, of which the page of all variables is made.

    ``default`` is a plain value, a field made by one of the functions above, or nothing for a required field.
    """
    if isinstance(default, dataclasses.Field):
        default.metadata = types.MappingProxyType({**default.metadata, "doc": text})
        return default
    return dataclasses.field(default=default, metadata={"doc": text})


class Reader:
    """Collects complaints while reading; a value that cannot be read is replaced by the field's default."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def complain(self, path: str, value: t.Any, message: str, fix: str = "", rule: str = "WORD-TYPE") -> None:
        """Note a violation and go on reading."""
        shown = "" if value is None else repr(plain(value))
        self.findings.append(Finding(path, rule, message, fix, value=shown[:120]))

    def record(self, cls: type, raw: t.Any, path: str) -> t.Any:
        """Read a mapping into the dataclass ``cls``."""
        fields = {one.name: one for one in dataclasses.fields(cls) if one.init}
        if raw is None:
            raw = {}
        if not isinstance(raw, t.Mapping):
            self.complain(path, raw, "a mapping is expected here", f"Known keys: {', '.join(sorted(fields))}.")
            raw = {}
        for key in raw:
            if key not in fields:
                hint = f"{nearest(key, fields)}Known keys: {', '.join(sorted(fields))}."
                self.complain(f"{path}.{key}", None, "this key is not known", hint, "WORD-UNKNOWN")
        hints = t.get_type_hints(cls)
        values = {}
        for name, field in fields.items():
            if name in raw and raw[name] is not None:
                values[name] = self.value(hints[name], raw[name], f"{path}.{name}", field)
            elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
                self.complain(f"{path}.{name}", None, "this key is required", rule="WORD-MISSING")
                values[name] = self.empty(hints[name])
        return cls(**values)

    def value(self, kind: t.Any, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> t.Any:
        """Read one value of the annotated type ``kind``."""
        origin, arguments = t.get_origin(kind), t.get_args(kind)
        if origin in (t.Union, types.UnionType):
            return self.value(next(one for one in arguments if one is not types.NoneType), raw, path, field)
        if dataclasses.is_dataclass(kind):
            return self.record(t.cast(type, kind), raw, path)
        if origin is dict:
            return self._mapping(arguments[1], raw, path, field)
        if origin is tuple:
            items = raw if isinstance(raw, (list, tuple)) else [raw]
            if not isinstance(raw, (list, tuple)):
                return (self.value(arguments[0], raw, path, field),)
            return tuple(self.value(arguments[0], one, f"{path}[{i}]", field) for i, one in enumerate(items))
        if kind is int:
            return self._integer(raw, path, field)
        if kind is bool:
            return self._truth(raw, path)
        if kind is str:
            return self._text(raw, path, field)
        return plain(raw)

    @staticmethod
    def empty(kind: t.Any) -> t.Any:
        """A harmless stand-in for a missing required value, so that reading can go on."""
        return {int: 0, bool: False}.get(kind, "")

    def _mapping(self, kind: t.Any, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> dict[str, t.Any]:
        if not isinstance(raw, t.Mapping):
            self.complain(path, raw, "a mapping is expected here")
            return {}
        return {str(key): self.value(kind, raw[key], f"{path}.{key}", field) for key in sorted(raw, key=str)}

    def _integer(self, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> int:
        least, most = field.metadata.get("least"), field.metadata.get("most")
        number_ = _whole(raw)
        if number_ is None:
            self.complain(path, raw, "a whole number is expected here")
        elif (least is not None and number_ < least) or (most is not None and number_ > most):
            span = f"from {least} to {most}" if most is not None else f"of at least {least}"
            self.complain(path, raw, f"a whole number {span} is expected here", rule="WORD-RANGE")
        else:
            return number_
        return t.cast(int, field.default) if isinstance(field.default, int) else 0

    def _truth(self, raw: t.Any, path: str) -> bool:
        word = str(raw).lower()
        if word not in TRUE | FALSE:
            self.complain(path, raw, "true or false is expected here")
        return word in TRUE

    def _text(self, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> str:
        if isinstance(raw, (t.Mapping, list, tuple, bool)):
            self.complain(path, raw, "a single word is expected here")
            return ""
        word = str(raw)
        choices = field.metadata.get("choices")
        if choices and word not in choices:
            self.complain(
                path,
                raw,
                f"one of {', '.join(c or repr(c) for c in choices)} is expected here",
                nearest(word, choices).strip(),
                "WORD-CHOICE",
            )
            return t.cast(str, field.default)
        return word


def _whole(raw: t.Any) -> int | None:
    if isinstance(raw, bool) or isinstance(raw, float) and not raw.is_integer():
        return None
    try:
        return int(raw)
    except (TypeError, ValueError):
        return None


def plain(raw: t.Any) -> t.Any:
    """The value rebuilt from Python's own types (Ansible hands over subclasses that carry tags)."""
    if isinstance(raw, t.Mapping):
        return {str(key): plain(raw[key]) for key in raw}
    if isinstance(raw, (list, tuple, set)):
        return [plain(one) for one in raw]
    if isinstance(raw, bool) or raw is None:
        return raw
    for kind in (int, float, str):
        if isinstance(raw, kind):
            return kind(raw)
    return str(raw)
