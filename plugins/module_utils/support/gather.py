# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last minutes of the logs of one host: services by their runtime, and CANN's plog files, bounded and redacted."""

from __future__ import annotations

import glob
import os
import re
from typing import Any, Callable, Iterable, List, NamedTuple, Tuple

from ..runtime.registry import LOGS
from ..tools import foreign_file
from ..tools.text import one_line
from .redact import Redactor

LINES = 50000  # of one log, before its size is bounded
LINE = 4000  # characters of a line
PLOGS = 64  # files of CANN
# CANN writes below ~/ascend/log unless ASCEND_PROCESS_LOG_PATH says otherwise, as for units of systemd: host processes, their runtime part, devices.
PLOG = ("debug/plog/*.log", "run/plog/*.log", "security/plog/*.log", "debug/device-*/*.log", "run/device-*/*.log")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# run(argv) -> (return code, output of both streams)
Run = Callable[[List[str]], Tuple[int, str]]


class Part(NamedTuple):
    """One file of the archive. name: its path below the host; text: redacted lines; problem: why it is missing or incomplete."""

    name: str
    text: str
    problem: str = ""

    def row(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": len(self.text.encode("utf-8")), "problem": self.problem}


def service_part(service: dict[str, Any], since: int, most: int, redactor: Redactor, run: Run) -> Part:
    """The log of a service since a moment (seconds since 1970), at most its last `most` bytes. Files have no times: their end counts."""
    log, name = service["log"], f"{service['name']}.log"
    try:
        if log["kind"] == "file":
            lines, cut = _file(log["path"], since, most)
        elif log["kind"] in LOGS:
            lines, cut = _command(log, since, run)
        else:
            return Part(name, "", f"its log of kind {log['kind']} is not on a host")
    except OSError as error:
        return Part(name, "", f"not read: {error}")
    return _bounded(name, redactor.lines(lines, cut), most, cut)


def text_part(name: str, text: str, most: int, redactor: Redactor, problem: str = "") -> Part:
    """A log that was read elsewhere, at most its last `most` bytes. Its first line may be a part if it has `most` bytes or more."""
    cut = len(text.encode("utf-8")) >= most
    found = _bounded(name, redactor.lines(_split(text)[1 if cut else 0 :], cut), most, cut)
    return found._replace(problem="; ".join(filter(None, [problem, found.problem])))


def plog_parts(folders: Iterable[str], since: int, most: int, redactor: Redactor) -> list[Part]:
    """Files of CANN that changed since a moment, the newest ones first; together at most `most` bytes."""
    paths: dict[str, float] = {}
    places: dict[str, str] = {}  # path -> the folder of CANN
    for folder in folders:
        for pattern in PLOG:
            for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
                try:
                    changed = os.lstat(path).st_mtime
                except OSError:
                    continue
                if changed >= since:
                    paths[path], places[path] = changed, folder
    newest = sorted(paths, key=lambda path: (-paths[path], path))
    parts: list[Part] = []
    left = most
    for path in newest[:PLOGS]:
        name = one_line(
            "plog/" + "/".join(path.split("/")[-3:])
        )  # the service's user chose it; Ansible takes no result with bytes that are no UTF-8
        try:
            lines, cut = _file(path, since, max(left, 1), home_of(places[path]))
            part = _bounded(name, redactor.lines(lines, cut), left, cut)
        except OSError as error:
            part = Part(name, "", f"not read: {error}")
        left = max(0, left - len(part.text.encode("utf-8")))
        parts.append(part)
    if len(newest) > PLOGS:
        parts.append(Part("plog/others", "", f"{len(newest) - PLOGS} older files of CANN were left out"))
    return parts


def home_of(folder: str) -> str:
    """The uppermost of `HOME`, `HOME/ascend` and `HOME/ascend/log`, the given folder, that somebody else owns, who may put links in place of folders
    there. Empty if all are the own user's. What is above belongs to who made the home or the deployment."""
    above = os.path.dirname(folder)
    foreign = (path for path in (os.path.dirname(above), above, folder) if os.stat(path).st_uid != os.geteuid())
    return next(foreign, "")


def _file(path: str, since: int, most: int, home: str = "") -> tuple[list[str], bool]:
    """(the lines at the end of a file, and before them of its predecessor `PATH.1` if that changed since the moment; whether lines are missing).

    home: as home_of returns it.
    """
    found: list[str] = []
    cut = False
    for name in (path + ".1", path):
        if name != path and not (os.path.isfile(name) and os.lstat(name).st_mtime >= since):
            continue
        with foreign_file.opened_below(home, name) if home else foreign_file.opened(name) as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - most))
            data = stream.read(most)
        lines = _split(data.decode("utf-8", "replace"))
        if size > most:  # the first line is a part, whose beginning is unknown
            found, lines, cut = [], lines[1:], True
        found += lines
    return found, cut


def _command(log: dict[str, Any], since: int, run: Run) -> tuple[list[str], bool]:
    last, newer = LOGS[log["kind"]].log_commands(log, LINES, since)
    code, text = run([*last, *(argument for argument in newer if argument not in last)])
    if code:
        raise OSError(f"{' '.join(last)} ended with {code}: {text.strip()[-300:]}")
    lines = _split(text)
    return lines, len(lines) >= LINES


def _split(text: str) -> list[str]:
    return [_shortened(line.rstrip("\r")) for line in _COLOUR.sub("", text).split("\n")]


def _shortened(line: str) -> str:
    """A line of at most LINE characters. It is cut between two words: half a secret is not recognised as one."""
    return line if len(line) <= LINE else line[: LINE + 1].rpartition(" ")[0]


def _bounded(name: str, lines: list[str], most: int, cut: bool) -> Part:
    """At most `most` bytes of the end, whole lines."""
    kept, size = 0, 0
    for line in reversed(lines):
        size += len(line.encode("utf-8")) + 1
        if size > most:
            break
        kept += 1
    text = "\n".join(lines[len(lines) - kept :])
    problem = "" if kept == len(lines) and not cut else f"only the last {kept} lines: the size is limited"
    return Part(name, text + "\n" if text and not text.endswith("\n") else text, problem)
