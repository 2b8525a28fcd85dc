# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every measurement of this folder, printed; nothing is judged. Usage: PYTHONPATH=... python tests/bench/run.py [NAME...]

A measurement is a program of its own beside this one; NAME chooses some of them.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main(names: list[str]) -> int:
    """Run the programs, in order of their names; the exit code is the worst of theirs."""
    worst = 0
    for program in sorted(HERE.glob("*.py")):
        if program.name == "run.py" or (names and program.stem not in names):
            continue
        print(f"{program.stem}:", flush=True)
        worst = max(worst, subprocess.run([sys.executable, str(program)], check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
