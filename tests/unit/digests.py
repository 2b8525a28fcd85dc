# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of many cases, kept as a line of short digests for each group of them, so that a change names the group and the part.

A file has lines ``key: part=digest part=digest``. ``RENEW_DIGESTS=1 pytest FILE`` (one process) writes the lines of the tests that run.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib

HEAD = "# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by the test of the same name: RENEW_DIGESTS=1 pytest FILE.\n"


def digest(value):
    """Four hexadecimal digits of plain data."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:4]


def read(path):
    """The lines of a file by their key."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = [line.split(": ", 1) for line in lines if not line.startswith("#")]
    return {row[0]: row[1] for row in rows}


def expect(test, key, parts):
    """Compare ``parts`` (name: plain data or a number) with the line of the file beside ``test``; ``test`` is its ``__file__``."""
    path = pathlib.Path(test).with_suffix(".txt")
    found = {name: value if isinstance(value, int) else digest(value) for name, value in sorted(parts.items())}
    line = " ".join(f"{name}={value}" for name, value in found.items())
    if os.environ.get("RENEW_DIGESTS"):
        rows = dict(read(path), **{key: line})
        path.write_text(HEAD + "".join(f"{name}: {rows[name]}\n" for name in sorted(rows)), encoding="utf-8")
    known = read(path).get(key)
    assert known is not None, f"{key} has no line in {path.name}: RENEW_DIGESTS=1 pytest {path.stem}.py"
    before = dict(word.split("=") for word in known.split())
    changed = [name for name in sorted({*before, *found}) if str(before.get(name)) != str(found.get(name))]
    assert not changed, f"{key}: {', '.join(changed)} changed. If that is meant: RENEW_DIGESTS=1 pytest {path.stem}.py"
