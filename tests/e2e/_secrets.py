# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Search this machine for planted secrets. Imported by tests, and a standalone program for hosts with Python only:

    python3 _secrets.py [--run COMMAND]... FOLDER...

It prints JSON: "files" (path: mode and owner), "commands" and "environments" (process id: owner), "outputs" (the commands that print it).
It finds only data that its user can read. All planted secrets begin with PLANTED, so the program needs no secret as an argument.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import stat
import subprocess

PLANTED = "PLANTED-SECRET".lower()  # in upper case here, so that this file does not contain it
CHUNK = 1 << 20


def forms(secret: str = PLANTED) -> list[bytes]:
    """The secret as plain text and as base64, which depends on the offset of the secret in the encoded text."""
    plain, found = secret.encode(), [secret.encode()]
    for before in range(3):
        coded = base64.b64encode(b"x" * before + plain)
        found.append(
            coded[4 if before else 0 : len(coded) - 4]
        )  # without letters that also depend on neighbouring text
    return found


def _contains(path: str, patterns: list[bytes]) -> bool:
    kept = b""
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(CHUNK), b""):
            text = kept + chunk
            if any(pattern in text for pattern in patterns):
                return True
            kept = text[-max(map(len, patterns)) :]
    return False


def files(folders: list[str], secret: str = PLANTED, since: float = 0) -> dict[str, str]:
    """Readable files below the folders, changed since then, that contain the secret: mode and owner, such as "0600 root's id"."""
    found, patterns = {}, forms(secret)
    for folder in folders:
        for directory, _folders, names in os.walk(folder):
            for path in (os.path.join(directory, name) for name in names):
                try:
                    state = os.lstat(path)
                    if stat.S_ISREG(state.st_mode) and state.st_mtime >= since and _contains(path, patterns):
                        found[path] = f"{stat.S_IMODE(state.st_mode):04o} {state.st_uid}"
                except OSError:
                    continue
    return found


def processes(part: str, secret: str = PLANTED) -> dict[int, int]:
    """Processes that have the secret in their "cmdline" or "environ": process id and its user's id."""
    found, patterns = {}, forms(secret)
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and _contains(f"/proc/{name}/{part}", patterns):
                found[int(name)] = os.stat(f"/proc/{name}").st_uid
        except OSError:
            continue
    return found


def outputs(commands: list[str], secret: str = PLANTED) -> list[str]:
    """The shell commands that print the secret."""
    found, patterns = [], forms(secret)
    for command in commands:
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if any(pattern in done.stdout for pattern in patterns):
            found.append(command)
    return found


def main() -> None:
    """Run all searches and print the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--run", action="append", default=[])
    options = parser.parse_args()
    seen = {
        "files": files(options.folders),
        "commands": processes("cmdline"),
        "environments": processes("environ"),
        "outputs": outputs(options.run),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
