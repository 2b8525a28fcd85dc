#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run a part of the tests that stands by itself: script.sh e2e [ARGUMENT...]
# It is the program tests/NAME/run.py or tests/NAME/run; or else pytest, over tests/NAME/test_*.py.
# It finds ansible, pytest and all collections within reach.
. "$(dirname "$0")/../lib.sh"
name=$1
shift
if [ -f "tests/$name/run.py" ]; then
    program=(python "tests/$name/run.py")
elif [ -f "tests/$name/run" ]; then
    program=(bash "tests/$name/run")
elif compgen -G "tests/$name/test_*.py" >/dev/null; then
    program=(python -m pytest -v "tests/$name")
else
    say "there is nothing to run in tests/$name yet"
    exit 3
fi
use units
with_collections
PYTHONPATH=$(environment tree)
export PYTHONPATH
exec "${program[@]}" "$@"
