# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make times`: write what the parts of the tests took, as the last run of each measured it, into the table of CONTRIBUTING.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / ".cache" / "logs" / "times.json"
TABLE = ROOT / "CONTRIBUTING.md"
ROW = re.compile(r"(\| `make ([a-z0-9-]+)` \|.*\|)[^|]*(\|)$", re.MULTILINE)


def keep(outcomes: dict[str, tuple[float, float]]) -> None:
    """Keep the seconds, and seconds of processor time, of parts that passed, beside those of earlier runs."""
    MEASURED.write_text(json.dumps({**measured(), **outcomes}, indent=1), encoding="utf-8")


def measured() -> dict[str, tuple[float, float]]:
    """Seconds and seconds of processor time by part; empty before the first run."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.is_file() else {}


def shown(text: str, times: dict[str, tuple[float, float]]) -> str:
    """The table with these times: of `molecule` and `e2e` the sum of their parts, of `test` that of all; others stay."""

    def cell(row: re.Match[str]) -> str:
        name = row[2]
        of = [times[part][1] for part in times if name in ("test", part) or part.startswith(f"{name}-")]
        return f"{row[1]} {_text(sum(of), len(of))} {row[3]}" if of else row[0]

    return ROW.sub(cell, text)


def _text(seconds: float, parts: int) -> str:
    time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
    return time if parts == 1 else f"{time}, {parts} parts"


if __name__ == "__main__":
    times = measured()
    if not times:
        raise SystemExit("nothing was measured in this checkout: run make test, and then make times")
    TABLE.write_text(shown(TABLE.read_text(encoding="utf-8"), times), encoding="utf-8")
