# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What every part begins with: the checkout as working folder, and how to reach environments and collections.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export ROOT=$PWD
# What the caller's shell has set for another checkout must not decide what is tested here.
unset ANSIBLE_COLLECTIONS_PATH ANSIBLE_CONFIG PYTHONPATH PYTHONHOME
export PYTHON=${PYTHON:-python3} PYTHONDONTWRITEBYTECODE=1 ANSIBLE_NOCOLOR=1 NO_COLOR=1

say() { printf '[%5ds] %s\n' "$SECONDS" "$*"; }
environment() { "$PYTHON" .ci/env.py "$@"; }

# Put an environment first on PATH: use NAME [3.N]
use() {
    local folder
    folder=$(environment venv "$@")
    export PATH=$folder/bin:$PATH
}

# Let ansible find this checkout and the collections it depends on.
with_collections() {
    local tree dependencies
    tree=$(environment tree)
    dependencies=$(environment collections)
    export ANSIBLE_COLLECTIONS_PATH=$tree:$dependencies
}
