# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Strict loader of plain data into frozen dataclasses: unknown keys and wrong types become findings with their path."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import types
import typing as t

from .findings import Finding, nearest
from .meaning import key_in, without_blank
from .texts import as_extra_variable, controls_within, problem_of
from .units import in_unit
from .values import listed

# The functions below return dataclass fields; pylint does not recognise that.
# pylint: disable=invalid-field-call

KINDS: tuple[tuple[t.Any, str], ...] = (
    (t.Mapping, "a mapping"),
    ((list, tuple), "a list"),
    (bool, "true or false"),
    ((int, float), "this number"),
    (str, "this text"),
)
TRUE = {"true", "yes", "on", "1"}
FALSE = {"false", "no", "off", "0"}
hints_of = functools.cache(t.get_type_hints)  # it compiles each annotation anew
LARGEST = 10**6  # default upper bound of whole numbers; the planner iterates over many of them


def choice(*values: str, meaning: t.Callable[[str], str] = str) -> t.Any:
    """A field whose value is one of ``values``; the first one is the default. ``meaning`` finds what other words stand for."""
    return dataclasses.field(default=values[0], metadata={"choices": values, "meaning": meaning})


def number(default: int, least: int = 1, most: int | None = None) -> t.Any:
    """A field that holds a whole number from ``least`` to ``most``."""
    return dataclasses.field(default=default, metadata={"least": least, "most": most})


def firsts() -> t.Any:
    """A field that holds port numbers: none, one, or one for each instance."""
    return dataclasses.field(default=(), metadata={"least": 1, "most": 65535})


def typed(kind: str, default: t.Any = "") -> t.Any:
    """A field whose text, or each of whose texts if it is a list, matches a kind of ``texts.KINDS``."""
    return dataclasses.field(default=default, metadata={"kind": kind})


def commas() -> t.Any:
    """A field with a list, which may also be a text with commas, as ``-e name=A,B`` gives it."""
    return dataclasses.field(default=(), metadata={"commas": True})


def mapping() -> t.Any:
    """A field that holds a mapping of free keys (engine arguments, environment)."""
    return dataclasses.field(default_factory=dict)


def factory(make: t.Callable[[], t.Any]) -> t.Any:
    """A field with a default factory: a record or a mapping."""
    return dataclasses.field(default_factory=make)


def documented(text: str, default: t.Any = dataclasses.MISSING, example: str = "") -> t.Any:
    """A field with its documentation, from which the page of variables is generated.

    ``default`` is a plain value, a field made by one of the functions above, or nothing for a required field; that one has an ``example``
    as YAML, for who forgot it.
    """
    if isinstance(default, dataclasses.Field):
        default.metadata = types.MappingProxyType({**default.metadata, "doc": text})
        return default
    return dataclasses.field(default=default, metadata={"doc": text, "example": example})


WHY = {
    "VARIABLE-TYPE": "A value of another type can be read in several ways, so it is not clear what to deploy.",
    "VARIABLE-RANGE": "Services cannot work with a value out of this range.",
    "VARIABLE-CHOICE": "The collection has nothing of this name.",
    "VARIABLE-TEXT": "The rest of the text would be read as other settings, options or commands of a unit, a configuration or a script.",
    "VARIABLE-UNKNOWN": "An unknown key would silently have no effect.",
    "VARIABLE-MISSING": "It has no default.",
}


class Reader:
    """Collects findings while reading; an invalid value is replaced by a substitute.

    The substitute is the field's default, or with ``other`` another valid value: findings that occur with both
    do not depend on the invalid value.
    """

    def __init__(self, other: bool = False) -> None:
        self.other = other
        self.findings: list[Finding] = []

    def add(self, path: str, value: t.Any, problem: str, fix: str = "", rule: str = "VARIABLE-TYPE") -> None:
        """Add a finding and continue."""
        shown = "" if value is None else repr(plain(value))
        self.findings.append(
            Finding(path, rule, problem, fix.strip() or "Correct the value.", value=shown[:120], why=WHY[rule])
        )

    def record(self, cls: type, raw: t.Any, path: str) -> t.Any:
        """Read a mapping into the dataclass ``cls``."""
        fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
        if raw is None:
            raw = {}
        readable = isinstance(raw, t.Mapping)
        if not readable:
            first, text = next(iter(fields)), raw
            given, rest = without_blank(raw)
            if key_in(given, fields) in fields:
                first, text = key_in(given, fields), rest
            example = (
                f", such as {first}: {text}" if isinstance(raw, str) and (given or _required(fields[first])) else ""
            )
            fix = f"{as_extra_variable(path, raw)}Write KEY: VALUE{example}. Known keys: {', '.join(sorted(fields))}."
            missing = f": a blank is missing behind the colon of '{raw}'" if text is not raw else ""
            self.add(path, raw, _expected("a mapping", raw) + missing, fix)
            raw = {first: text} if self.other and missing else {}
        told = set()  # fields that are set under another name
        for key in raw:
            if key not in fields:
                given, rest = without_blank(key)
                problem, meant = f"unknown key '{key}'", key_in(given or key, fields)
                option = "Write it into args if it is an option of the program. " if "args" in fields else ""
                hint = f"{nearest(key, fields, {key: meant}) or option}Known keys: {', '.join(sorted(fields))}."
                if meant in fields and given:
                    problem, hint = f"a blank is missing behind the colon of '{key}'", f"Write {meant}: {rest}."
                self.add(f"{path}.{key}", None, problem, hint, "VARIABLE-UNKNOWN")
                told.add(meant)
                raw = self._correct_misspelling(raw, key, fields)
        hints = hints_of(cls)
        values = {}
        for name, field in fields.items():
            if name in raw and raw[name] is not None:
                values[name] = self.value(hints[name], raw[name], f"{path}.{name}", field)
            elif _required(field):
                if readable and name not in told:  # else it is told already that the mapping, or the key, is another
                    fix = f"Set it: {field.metadata.get('doc', '')} Example: {field.metadata.get('example', '')}"
                    self.add(f"{path}.{name}", None, "this variable is required but not set", fix, "VARIABLE-MISSING")
                values[name] = self.substitute(hints[name])
        return cls(**values)

    def value(self, kind: t.Any, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> t.Any:
        """Read one value of the annotated type ``kind``."""
        origin, arguments = t.get_origin(kind), t.get_args(kind)
        if origin in (t.Union, types.UnionType):
            return self.value(
                next(argument for argument in arguments if argument is not types.NoneType), raw, path, field
            )
        if dataclasses.is_dataclass(kind):
            return self.record(t.cast(type, kind), raw, path)
        if origin is dict:
            return self._mapping(arguments[1], raw, path, field)
        if origin is tuple:
            return self._items(arguments[0], raw, path, field)
        if kind is int:
            return self._integer(raw, path, field)
        if kind is bool:
            return self._truth(raw, path)
        if kind is str:
            return self._text(raw, path, field)
        return self._free(raw, path)

    def substitute(self, kind: t.Any) -> t.Any:
        """A value in the place of a missing required one, so that reading can go on."""
        if dataclasses.is_dataclass(kind):
            return Reader(self.other).record(t.cast(type, kind), {}, "")
        return {int: 1 if self.other else 0, bool: self.other}.get(kind, "/missing" if self.other else "")

    def _correct_misspelling(
        self, raw: t.Mapping[str, t.Any], key: str, fields: t.Mapping[str, t.Any]
    ) -> t.Mapping[str, t.Any]:
        """With ``other``, the mapping with unknown keys replaced by the most similar known key."""
        given, rest = without_blank(key)
        alias = key_in(given or key, fields)
        meant = alias if alias in fields else nearest(key, fields).partition("'")[2].rpartition("'")[0]
        return {**raw, meant: rest if given else raw[key]} if self.other and meant and meant not in raw else raw

    def _mapping(self, kind: t.Any, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> dict[str, t.Any]:
        if not isinstance(raw, t.Mapping):
            self.add(path, raw, _expected("a mapping", raw), f"{as_extra_variable(path, raw)}Write KEY: VALUE.")
            return {}
        found = {}
        for key in sorted(raw, key=str):
            name, problem = str(key), problem_of(str(key))
            if problem:
                self.add(path, None, f"a key of it cannot be used: {problem}", rule="VARIABLE-TEXT")
                continue
            place = f"{path}.{name}"
            found[name] = (
                self._text(raw[key], place, field, lines=True)
                if kind is str
                else self.value(kind, raw[key], place, field)
            )
        return found

    def _items(self, kind: t.Any, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> tuple[t.Any, ...]:
        """A list; a single value is a list of one. One invalid item makes the whole list invalid."""
        before = len(self.findings)
        if field.metadata.get("commas") and isinstance(raw, str):
            raw = listed(raw)
        if isinstance(raw, (list, tuple)):
            items = tuple(self.value(kind, item, f"{path}[{place}]", field) for place, item in enumerate(raw))
        else:
            items = (self.value(kind, raw, path, field),)
            self.findings[before:] = [
                dataclasses.replace(finding, fix=f"{finding.fix} Several are written as a list: [FIRST, SECOND].")
                for finding in self.findings[before:]
            ]
        valid = len(self.findings) == before
        return (
            items
            if valid or self.other or field.default is dataclasses.MISSING
            else t.cast(tuple[t.Any, ...], field.default)
        )

    def _free(self, raw: t.Any, path: str) -> t.Any:
        """Free data. Its texts may have several lines, and no other control characters."""
        problems = list(controls_within(raw, path))
        for place, problem in problems:
            self.add(place, None, problem, "Remove the character.", "VARIABLE-TEXT")
        return ({} if isinstance(raw, t.Mapping) else "") if problems else plain(raw)

    def _integer(self, raw: t.Any, path: str, field: dataclasses.Field[t.Any]) -> int:
        least, most = field.metadata.get("least"), field.metadata.get("most") or LARGEST
        number_ = _whole(raw)
        if number_ is None:
            doc = field.metadata.get("doc", "")
            fix = f"Write {in_unit(raw, doc) or _span(least, most if most != LARGEST else None)}. {doc}"
            self.add(path, raw, _expected("a whole number", raw), fix)
        elif (least is not None and number_ < least) or (most is not None and number_ > most):
            span = _span(least, most if number_ > most or most != LARGEST else None)
            self.add(path, raw, f"{number_} is not {span}", f"Write {span}.", "VARIABLE-RANGE")
        else:
            return number_
        default = t.cast(int, field.default) if isinstance(field.default, int) else least or 0
        return default + (default != most) if self.other else default

    def _truth(self, raw: t.Any, path: str) -> bool:
        text = str(raw).lower()
        if text not in TRUE | FALSE:
            self.add(path, raw, _expected("true or false", raw), "Write true or false.")
            return self.other
        return text in TRUE

    def _text(self, raw: t.Any, path: str, field: dataclasses.Field[t.Any], lines: bool = False) -> str:
        choices = field.metadata.get("choices")
        if isinstance(raw, bool) and choices and str(raw).lower() in choices:
            return str(raw).lower()  # YAML reads false as no text
        if isinstance(raw, (t.Mapping, list, tuple, bool)):
            fix = "Write it in quotes, if it is meant." if isinstance(raw, bool) and not choices else ""
            fix = f"Choose one of {', '.join(choice for choice in choices if choice)}." if choices else fix
            if path.endswith(".kv_transfer") and isinstance(raw, (list, tuple)):
                fix = f"Write {'+'.join(map(str, raw))}."
            self.add(path, raw, _expected("text", raw), fix)
            if choices:
                return t.cast(str, choices[-1] if self.other else choices[0])
            return "substitute" if self.other else ""
        text = str(raw)
        if choices and text not in choices:
            allowed = ", ".join(choice or repr(choice) for choice in choices)
            alias = field.metadata.get("meaning", str)(text)
            hint = f"{nearest(text, choices, {text: alias})}Allowed values: {allowed}."
            self.add(path, raw, f"{text!r} is not an allowed value", hint, "VARIABLE-CHOICE")
            return t.cast(str, choices[-1] if self.other else choices[0])
        problem = problem_of(text, field.metadata.get("kind", ""), lines)
        if problem:
            self.add(path, raw, problem, rule="VARIABLE-TEXT")
            usual = field.default if isinstance(field.default, str) else ""
            return "substitute" if self.other else usual
        return text


def _required(field: dataclasses.Field[t.Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _expected(what: str, raw: t.Any) -> str:
    """The expected type of a value, and its actual type."""
    kind = next((name for types_, name in KINDS if isinstance(raw, types_)), "a value of another type")
    return f"expected {what}, not {kind}"


def _span(least: int | None, most: int | None) -> str:
    """The whole numbers that a field may hold, in words."""
    if most is not None:
        return f"a whole number from {least} to {most}" if least is not None else f"a whole number up to {most}"
    return f"a whole number of at least {least}" if least is not None else "a whole number"


def _whole(raw: t.Any) -> int | None:
    if isinstance(raw, bool) or isinstance(raw, float) and not raw.is_integer():
        return None
    try:
        return int(raw)
    except (TypeError, ValueError, OverflowError):
        return None


def plain(raw: t.Any) -> t.Any:
    """The value converted to Python's built-in types (Ansible passes tagged subclasses)."""
    if isinstance(raw, str):  # most of a plan
        return str(raw)
    if isinstance(raw, collections.abc.Mapping):
        return {str(key): plain(raw[key]) for key in raw}
    if isinstance(raw, (list, tuple, set)):
        return [plain(item) for item in raw]
    if isinstance(raw, bool) or raw is None:
        return raw
    for kind in (int, float):
        if isinstance(raw, kind):
            return kind(raw)
    return str(raw)


def in_order(value: t.Any) -> t.Any:
    """The value with the keys of all mappings sorted, so that the order in which a user wrote them changes nothing.

    Otherwise JSON in a command line would change, and engines would restart.
    """
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value, key=str)}
    return [in_order(item) for item in value] if isinstance(value, list) else value
