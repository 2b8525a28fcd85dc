# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New lines of a service's log since the last round, and the position for the next one. Each line is read once, and no round reads more than MOST.

A position is a dict of JSON; ``{}`` before the first round, which begins at the end of the log: what is older is not counted. No other
character of Unicode ends a line than a line feed: a client's text may have them, and journalctl prints them as they are.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os

from ..tools import foreign_file
from ..tools.runner import execute

MOST = 16 * 2**20  # bytes of one log in one round; the rest is read in the next ones
BEHIND = 16 * MOST  # of a log that grows faster than it is read, older lines are given up
TIMEOUT = 120  # seconds of a command
LINE = 4096  # bytes of a line's beginning that are kept
KNOWN = 256  # bytes before the position by which its file is known again: a number of an inode is used again, and copytruncate keeps it


WIDEST = 64 * 1024  # bytes of a line that are read from a container's log


class Unread(Exception):
    """Why a log was not read. Its position stays."""


class Endless(Unread):
    """The first line is longer than what is read in one round."""


def new_lines(log, position, now):
    """``(lines, position, gap)``; ``gap``: whether lines before them were lost. Raises :class:`Unread`.

    ``log``: ``{kind, path or unit}`` of the plan; ``now``: seconds since 1970.
    """
    if log["kind"] not in READERS:
        raise Unread("no collector reads a log of kind {}".format(log["kind"]))
    try:
        return READERS[log["kind"]](log, position, now)
    except (OSError, ValueError) as error:
        raise Unread(str(error)) from error


def _file(log, position, _now):
    """Of a log in a file; the older part of a rotated one is in PATH.1."""
    path = log["path"]
    with foreign_file.opened(path) as stream:
        end = _end(stream)
        if not position:
            return [], dict(end, known=_known(stream, end["offset"])), False
        if _same(stream, end, position):
            return _rest(stream, end, position["offset"], False, position.get("begun", ""))
        if position["inode"] == end["inode"]:  # cut in place
            return _rest(stream, end, 0, True)
        older = _rotated(path + ".1", position)
        if older is None:
            return _rest(stream, end, 0, True)
        lines, left, begun = older
        if left:  # the old part is read to its end before the new one is begun
            return lines, left, False
        more, after, gap = _rest(stream, end, 0, False, begun)
        return lines + more, after, gap


def _end(stream):
    found = os.fstat(stream.fileno())
    return {"inode": found.st_ino, "offset": found.st_size}


def _known(stream, offset):
    """A digest of the bytes before an offset."""
    stream.seek(max(0, offset - KNOWN))
    return hashlib.sha256(stream.read(min(KNOWN, offset))).hexdigest()


def _same(stream, end, position):
    """Whether the position is one in this file. Positions of before the digest was kept have none."""
    if end["inode"] != position["inode"] or end["offset"] < position["offset"]:
        return False
    return position.get("known", "") in ("", _known(stream, position["offset"]))


def _rotated(path, position):
    """``(lines, position, beginning of a line)`` of the rest of a rotated log; None if it is another file.

    The position is None if the rest was read. A runtime may rotate amid a line, whose other part is in the new file.
    """
    try:
        with foreign_file.opened(path) as stream:
            end = _end(stream)
            if not _same(stream, end, position):
                return None
            lines, after, dummy = _rest(stream, end, position["offset"], False, position.get("begun", ""))
            if end["offset"] - position["offset"] > MOST:
                return lines, after, ""
            stream.seek(after["offset"])
            left = stream.read(end["offset"] - after["offset"])
            return lines, None, left[:LINE].decode("latin-1")
    except FileNotFoundError:
        return None


def _rest(stream, end, offset, gap, begun=""):
    """At most MOST bytes of whole lines from an offset on; ``begun``: the beginning of the first one, each byte a character."""
    if end["offset"] - offset > BEHIND:
        offset, gap, begun = end["offset"] - MOST, True, ""
    stream.seek(offset)
    data = stream.read(min(MOST, end["offset"] - offset))
    whole = data.rfind(b"\n") + 1
    if not whole and len(data) == MOST:  # one line without an end
        whole, gap = len(data), True
    after = dict(end, offset=offset + whole, known=_known(stream, offset + whole))
    if not whole:
        return [], dict(after, begun=begun), gap
    return _split(begun.encode("latin-1") + data[:whole]), after, gap


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
    try:
        rows = _command([*base, begin])  # whole rows: one that the limit cuts off is the first of the next round
    except Endless:  # an entry may have 768 MiB, and its cursor may be printed after its text: ask for the cursor alone, and go on behind it
        short = [word.replace("=MESSAGE", "=PRIORITY") for word in base]
        return [], {"cursor": json.loads(_command([*short, begin])[0])["__CURSOR"]}, True
    for row in rows:
        entry = json.loads(row)
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
    """Of a container. Lines have times of nanoseconds; those up to the last one were read before.

    Of a clock that was set back since the last one, nothing says which lines are new: it begins anew.
    """
    begun = _utc(now)
    position = position or {"last": begun}
    gap = _order(begun) < _order(position["last"])
    lines, last = [], begun if gap else position["last"]
    rows = _command(["docker", "logs", "--timestamps", "--since=" + last, log["unit"]], merged=True)
    since = last
    for row in rows:
        moment, dummy, line = row.partition(" ")
        if _order(moment, row) > _order(since):
            lines += _split(line.encode("utf-8", "replace"))
            last = max(last, moment, key=_order)
    return lines, {"last": last}, gap


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
    # cut reads a longer line to its end and passes on its beginning. The journal's rows are JSON, whose beginning is of no use.
    script = f'"$@" 2>&1 | cut -b -{WIDEST} | head -c "$0"' if merged else '"$@" | head -c "$0"'
    words = ["sh", "-c", script, str(MOST), *argv]
    done = execute(words, TIMEOUT, dict(os.environ, LC_ALL="C"), most=2 * MOST)
    if done.timed_out or done.stderr.strip():
        raise Unread("{}: {}".format(argv[0], done.stderr.strip()[-200:] or f"no end after {TIMEOUT} s"))
    rows = done.stdout.split("\n")[:-1]
    if done.stdout and not rows:
        raise Endless(f"{argv[0]}: a line without an end within {MOST} bytes")
    return rows


def _split(data):
    """As texts; those of bytes end with a line feed or a carriage return, as progress bars print, and with nothing else."""
    return [line.decode("utf-8", "replace") for line in data.splitlines()]


# By the ``log_kind`` of a runtime: reader(log, position, now) -> (lines, position, gap).
READERS = {"file": _file, "journald": _journal, "docker": _docker}
