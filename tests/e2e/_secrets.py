# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where on this machine does a planted secret stand? Imported by tests, and a program of its own for hosts with nothing but Python:

    python3 _secrets.py [--run COMMAND]... FOLDER...

It prints JSON: "files" (path: mode and owner), "commands" and "environments" (process id: owner), "outputs" (the commands that print it).
It sees what its user may see. Every secret that a test plants begins with PLANTED, so that the program need not be told one.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import stat
import subprocess

PLANTED = "PLANTED-SECRET".lower()  # so that this file does not hold it
CHUNK = 1 << 20


def forms(word: str = PLANTED) -> list[bytes]:
    """The word as it is, and as it stands within any text in base64 (whose letters depend on where the word begins)."""
    plain, found = word.encode(), [word.encode()]
    for before in range(3):
        coded = base64.b64encode(b"x" * before + plain)
        found.append(coded[4 if before else 0 : len(coded) - 4])  # without letters that its neighbours have a part in
    return found


def _holds(path: str, words: list[bytes]) -> bool:
    kept = b""
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(CHUNK), b""):
            text = kept + chunk
            if any(word in text for word in words):
                return True
            kept = text[-max(map(len, words)) :]
    return False


def files(folders: list[str], word: str = PLANTED, since: float = 0) -> dict[str, str]:
    """Readable files below the folders, changed since then, that hold the word: mode and owner, such as "0600 root's id"."""
    found, words = {}, forms(word)
    for folder in folders:
        for directory, _folders, names in os.walk(folder):
            for path in (os.path.join(directory, name) for name in names):
                try:
                    state = os.lstat(path)
                    if stat.S_ISREG(state.st_mode) and state.st_mtime >= since and _holds(path, words):
                        found[path] = f"{stat.S_IMODE(state.st_mode):04o} {state.st_uid}"
                except OSError:
                    continue
    return found


def processes(part: str, word: str = PLANTED) -> dict[int, int]:
    """Processes that have the word in their "cmdline" or "environ": process id and its user's id."""
    found, words = {}, forms(word)
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and _holds(f"/proc/{name}/{part}", words):
                found[int(name)] = os.stat(f"/proc/{name}").st_uid
        except OSError:
            continue
    return found


def outputs(commands: list[str], word: str = PLANTED) -> list[str]:
    """Those shell commands that print the word."""
    found, words = [], forms(word)
    for command in commands:
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if any(word in done.stdout for word in words):
            found.append(command)
    return found


def main() -> None:
    """All of it, for hosts that have no more than this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--run", action="append", default=[])
    told = parser.parse_args()
    seen = {
        "files": files(told.folders),
        "commands": processes("cmdline"),
        "environments": processes("environ"),
        "outputs": outputs(told.run),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
