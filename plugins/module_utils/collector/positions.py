# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New lines of a service's log since the last round, and the position for the next one. Each line is read once, and no round reads more than MOST.

A position is a dict of JSON; ``{}`` before the first round, which begins at the end of the log: what is older is not counted.
"""

from __future__ import annotations

import datetime
import json
import os

from ..tools import foreign_file
from ..tools.runner import execute

MOST = 16 * 2**20  # bytes of one log in one round; the rest is read in the next ones
BEHIND = 16 * MOST  # of a log that grows faster than it is read, older lines are given up
TIMEOUT = 120  # seconds of a command


class Unread(Exception):
    """Why a log was not read. Its position stays."""


def new_lines(log, position, now):
    """``(lines, position, gap)``; ``gap``: whether lines before them were lost. Raises :class:`Unread`.

    ``log``: ``{kind, path or unit}`` of the plan; ``now``: seconds since 1970.
    """
    readers = {"file": _file, "journald": _journal, "docker": _docker}
    if log["kind"] not in readers:
        raise Unread("its log of kind {} is not on a host".format(log["kind"]))
    try:
        return readers[log["kind"]](log, position, now)
    except (OSError, ValueError) as error:
        raise Unread(str(error)) from error


def _file(log, position, _now):
    """Of a log in a file; the older part of a rotated one is in PATH.1."""
    path = log["path"]
    with foreign_file.opened(path) as stream:
        found = os.fstat(stream.fileno())
        end = {"inode": found.st_ino, "offset": found.st_size}
        if not position:
            return [], end, False
        if position["inode"] == found.st_ino:
            gap = found.st_size < position["offset"]  # cut in place
            return _rest(stream, end, 0 if gap else position["offset"], gap)
        older = _rotated(path + ".1", position)
        if older is None:
            return _rest(stream, end, 0, True)
        lines, left = older
        if left:  # the old part is read to its end before the new one is begun
            return lines, left, False
        more, after, gap = _rest(stream, end, 0, False)
        return lines + more, after, gap


def _rotated(path, position):
    """``(lines, position, None if the rest was read)`` of the rest of a rotated log; None if it is another file."""
    try:
        with foreign_file.opened(path) as stream:
            found = os.fstat(stream.fileno())
            if found.st_ino != position["inode"] or found.st_size < position["offset"]:
                return None
            lines, after, dummy = _rest(
                stream, {"inode": found.st_ino, "offset": found.st_size}, position["offset"], False
            )
            limited = found.st_size - position["offset"] > MOST
            return lines, after if limited else None
    except FileNotFoundError:
        return None


def _rest(stream, end, offset, gap):
    """At most MOST bytes of whole lines from an offset on."""
    if end["offset"] - offset > BEHIND:
        offset, gap = end["offset"] - MOST, True
    stream.seek(offset)
    data = stream.read(min(MOST, end["offset"] - offset))
    whole = data.rfind(b"\n") + 1
    if not whole and len(data) == MOST:  # one line without an end
        whole, gap = len(data), True
    return _split(data[:whole]), dict(end, offset=offset + whole), gap


def _journal(log, position, now):
    """Of a unit's journal. The cursor of each entry says where the next round begins."""
    position = position or {"since": int(now)}
    base = [
        "journalctl",
        "--quiet",
        "--no-pager",
        "--all",
        "--output=json",
        "--output-fields=MESSAGE",
        "--unit=" + log["unit"],
    ]
    begin = (
        "--after-cursor=" + position["cursor"] if position.get("cursor") else "--since=@{}".format(position["since"])
    )
    lines, after = [], dict(position)
    for row in _command([*base, begin]):
        try:
            entry = json.loads(row)
        except ValueError:
            break  # cut off by the limit: the next round begins with it
        after = {"cursor": entry["__CURSOR"]}
        for message in _messages(entry.get("MESSAGE") or ""):
            lines += _split(message)
    return lines, after, False


def _messages(value):
    """The texts of a field as bytes: one is a string, or a list of its bytes if it is not UTF-8; several ones are a list of these (journalctl(1))."""
    several = isinstance(value, list) and not all(isinstance(part, int) for part in value)
    for text in value if several else [value]:
        yield bytes(text or []) if isinstance(text, list) or text is None else text.encode("utf-8", "replace")


def _docker(log, position, now):
    """Of a container. Lines have times of nanoseconds; those up to the last one were read before."""
    position = position or {"last": _utc(now)}
    lines, last = [], position["last"]
    rows = _command(["docker", "logs", "--timestamps", "--since=" + position["last"], log["unit"]], merged=True)
    for row in rows:
        moment, dummy, line = row.partition(" ")
        if _order(moment, row) > _order(position["last"]):
            lines += _split(line.encode("utf-8", "replace"))
            last = max(last, moment, key=_order)
    return lines, {"last": last}, False


def _utc(now):
    return datetime.datetime.fromtimestamp(now, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")


def _order(moment, row=""):
    """Times of RFC 3339 in UTC in their order: docker leaves out zeros at the end of the fraction."""
    seconds, dummy, fraction = moment.rstrip("Z").partition(".")
    if len(seconds) != 19 or not (fraction.isdigit() or not fraction):
        raise ValueError(f"{(row or moment)[:200]!r} has no time of docker")
    return seconds, fraction.ljust(9, "0")


def _command(argv, merged=False):
    """Whole lines of the output, at most MOST bytes of it. Raises :class:`Unread`."""
    words = ["sh", "-c", '"$@" 2>&1 | head -c "$0"' if merged else '"$@" | head -c "$0"', str(MOST), *argv]
    done = execute(words, TIMEOUT, dict(os.environ, LC_ALL="C"), most=2 * MOST)
    if done.timed_out or done.stderr.strip():
        raise Unread("{}: {}".format(argv[0], done.stderr.strip()[-200:] or f"no end after {TIMEOUT} s"))
    return done.stdout[: done.stdout.rfind("\n") + 1].splitlines()


def _split(data):
    return data.decode("utf-8", "replace").splitlines()
