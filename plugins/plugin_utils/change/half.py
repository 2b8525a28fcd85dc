# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts of a round of a blue/green change: one half leaves before its files are written, changes, and gets the requests when it is proven.

``this_round``: of `lifecycle.halves.rounds`, with ``seconds``, how long each share of the requests is watched. After the last round all engines and
routers serve.
"""

from __future__ import annotations

import typing as t

from ..lifecycle.halves import OTHER_HALF
from ..plan.agreed import text_of_most
from .phrases import Plan, Writer
from .script import Script, some

Found = t.Mapping[str, t.Mapping[str, t.Any]]
Round = t.Mapping[str, t.Any]
BEFORE = "The {other} half serves; the {half} half does, too, where it still gets requests."
SERVING = "The {half} half gets no requests; the other half serves."
JOINING = "The {other} half serves; the {half} half does, too, where it gets requests already."
SHIFTING = "Both halves run; each balancer sends requests to the {other} half, unless it has finished the step that moves them."


def drained(plan: Plan, found: Found, this_round: Round, drain_timeout: int, join_timeout: int) -> Script:
    """The half gets no requests any more, and finishes those that it has.

    ``plan``: the whole plan to which the change goes; ``found``: {host: what `observe.known` returns}; the timeouts are seconds.
    """
    writer, serving = _writer(plan, found, drain_timeout, join_timeout), this_round["serving"]
    writer.return_routers(serving["routers"])
    writer.drain_routers(this_round["routers"])
    listed = some([engine["name"] for engine in this_round["engines"]])
    writer.keep(f"Take {listed} out of {some(serving['routers'])}", serving["routers"], serving["engines"])
    decode = [engine["url"] for engine in serving["engines"] if engine["kind"] == "decode"]
    writer.finish(this_round["engines"], this_round["upstream"], decode)
    return _script(writer, found, this_round, BEFORE)


def changed(plan: Plan, found: Found, this_round: Round, drain_timeout: int, join_timeout: int) -> Script:
    """The half starts with its new files. It has routers of its own until the last round, in which its engines join all. Arguments: as `drained`."""
    writer = _writer(plan, found, drain_timeout, join_timeout)
    for stage in plan.get("stages") or sorted({each["start"]["stage"] for each in plan["services"]}):
        here = [each["name"] for each in plan["services"] if each["start"]["stage"] == stage]
        names = [name for name in here if name in this_round["starts"]]
        writer.start(names, names)
    if this_round["last"]:
        writer.join((plan.get("members") or {}).get("engines", ()))
        writer.return_routers()
    else:
        title = f"Give {some(this_round['routers'])} the engines of this half and no others"
        writer.keep(title, this_round["routers"], this_round["engines"])
    return _script(writer, found, this_round, JOINING if this_round["last"] else SERVING)


def shifted(plan: Plan, found: Found, this_round: Round, drain_timeout: int, join_timeout: int) -> Script:
    """The half gets the requests of the other one. Arguments: as `drained`."""
    writer, shift = _writer(plan, found, drain_timeout, join_timeout), this_round["shift"]
    writer.shift(shift["from"], shift["to"], shift["routers"], this_round["seconds"])
    return _script(writer, found, this_round, SHIFTING)


def _writer(plan: Plan, found: Found, drain_timeout: int, join_timeout: int) -> Writer:
    down = [name for here in found.values() for name in here["down"]]
    return Writer(plan, down, drain_timeout, join_timeout, dry=True)


def _script(writer: Writer, found: Found, this_round: Round, serving: str) -> Script:
    """Without one of its hosts the others would go on with services that it did not change."""
    text = text_of_most([here["content"] for here in found.values() if here["content"] is not None], [].append)
    hosts = tuple(dict.fromkeys(each["host"] for each in writer.plan["services"]))
    return Script(
        writer.steps, [], [], text, hosts, serving.format(half=this_round["half"], other=OTHER_HALF[this_round["half"]])
    )
