# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is changed in a mutant: operators of cosmic-ray, and three of our own for what is left out.

Left away are operators whose mutants say nothing: of the pairs of comparisons only the opposite and the neighbour at the edge, no
arithmetic (a sum of texts that becomes a difference is an error everywhere), no texts (most are messages).
"""

from __future__ import annotations

import ast
import typing as t

import cosmic_ray.plugins
from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator

COMPARISONS = (
    "Eq_NotEq",
    "NotEq_Eq",
    "Lt_LtE",
    "Lt_GtE",
    "LtE_Lt",
    "LtE_Gt",
    "Gt_GtE",
    "Gt_LtE",
    "GtE_Gt",
    "GtE_Lt",
    "Is_IsNot",
    "IsNot_Is",
)
OTHERS = (
    "AddNot",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "NumberReplacer",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
)
Position = tuple[tuple[int, int], tuple[int, int]]


class LeftOutStatement(Operator):
    """A call whose result nobody uses, an augmented assignment, or a ``yield`` becomes ``pass``."""

    def mutation_positions(self, node: t.Any) -> t.Iterator[Position]:
        if node.type == "expr_stmt" and getattr(node.children[1], "type", "") in ("augassign", "operator"):
            if str(getattr(node.children[1], "value", "")).endswith("=") and node.children[1].value != "=":
                yield node.start_pos, node.end_pos
        elif node.type in ("atom_expr", "yield_expr") and node.parent.type == "simple_stmt":
            yield node.start_pos, node.end_pos

    def mutate(self, node: t.Any, index: int) -> t.Any:
        fresh = get_ast("pass")
        fresh = fresh.children[0]
        fresh.parent = node.parent
        fresh.prefix = node.get_first_leaf().prefix
        return fresh

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


class LeftOutItem(Operator):
    """One argument, or one item of a list, tuple, set or dict, is gone."""

    def mutation_positions(self, node: t.Any) -> list[Position]:
        return [(node.children[first].start_pos, node.children[last - 1].end_pos) for first, last in _items(node)]

    def mutate(self, node: t.Any, index: int) -> t.Any:
        first, last = _items(node)[index]
        rest = node.children
        if last < len(rest):  # with the comma behind it
            last += 1
        elif first:
            first -= 1
        del rest[first:last]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def _items(node: t.Any) -> list[tuple[int, int]]:
    """The children of each item: of a call with keywords these only, of a display with more than one item all."""
    if node.type == "arglist":
        return [
            (index, index + 1)
            for index, child in enumerate(node.children)
            if child.type == "argument" and child.children[1] == "="
        ]
    if node.type not in ("testlist_comp", "dictorsetmaker") or any("comp_for" in child.type for child in node.children):
        return []
    found, first = [], 0
    for index, child in enumerate([*node.children, ","]):
        if child == ",":
            if index > first:
                found.append((first, index))
            first = index + 1
    # a pair without its second half is an error everywhere, and tells nothing
    return found if len(found) > (1 if node.type == "dictorsetmaker" else 2) else []


OWN: dict[str, type[Operator]] = {"LeftOutStatement": LeftOutStatement, "LeftOutItem": LeftOutItem}


class Place(t.NamedTuple):
    """One possible mutant; ``occurrence`` is its number among those of the operator in the file."""

    operator: str
    occurrence: int
    line: int
    column: int


class _Positions(Visitor):
    def __init__(self, operator: Operator) -> None:
        self.operator, self.found = operator, []  # type: ignore[var-annotated]

    def visit(self, node: t.Any) -> t.Any:
        self.found += [position[0] for position in self.operator.mutation_positions(node)]
        return node


def _operator(name: str) -> Operator:
    if name in OWN:
        return OWN[name]()
    full = f"core/ReplaceComparisonOperator_{name}" if "_" in name else f"core/{name}"
    found: Operator = cosmic_ray.plugins.get_operator(full)()
    return found


def places(source: str) -> list[Place]:
    """All possible mutants of a file, without those in annotations and decorators, which are never evaluated or are names of rules."""
    tree, without = get_ast(source), _not_behaviour(source)
    found = []
    for name in (*COMPARISONS, *OTHERS, *OWN):
        visitor = _Positions(_operator(name))
        visitor.walk(tree)
        found += [Place(name, number, *position) for number, position in enumerate(visitor.found)]
    return [place for place in found if not any(first <= place[2:] < last for first, last in without)]


def mutant(source: str, place: Place) -> str | None:
    """The text of the file with this change; None if that is not Python."""
    changed = mutate_code(source, _operator(place.operator), place.occurrence)
    try:
        return None if changed is None or ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)) else str(changed)
    except SyntaxError:
        return None


def _not_behaviour(source: str) -> list[Position]:
    """Annotations, decorators, and conditions for type checkers."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts: list[t.Any] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += getattr(node, "decorator_list", [])
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            parts.append(node)
        found += [((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)) for part in parts if part]
    return found
