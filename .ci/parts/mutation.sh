#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Make small mistakes in a copy of the product code, and compare the share that unit tests notice with tests/mutation/scores.yml. Arguments are
# passed to tests/mutation/run.py: mutation.sh --folder rules --count 60 --write tests/mutation/scores.yml
. "$(dirname "$0")/../lib.sh"
copy=$(environment copy .cache/mutation)
dependencies=$(environment collections)
use mutation
written=()
while [ $# -gt 0 ]; do # the program works in the copy
    if [ "$1" = --write ] || [ "$1" = --records ]; then
        written+=("$1" "$(realpath "$2")")
        shift
    else
        written+=("$1")
    fi
    shift
done
cd "$copy"
PYTHONPATH=$ROOT/.cache/mutation ANSIBLE_COLLECTIONS_PATH=$ROOT/.cache/mutation:$dependencies exec nice -n 19 python tests/mutation/run.py "${written[@]}"
