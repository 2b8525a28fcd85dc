# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Sourced by every part: changes to the checkout, defines functions for environments and collections.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export ROOT=$PWD
# Variables that the caller's shell has set for another checkout must not affect the tests.
unset ANSIBLE_COLLECTIONS_PATH ANSIBLE_CONFIG PYTHONPATH PYTHONHOME
# Compiled once instead of at each start: a play starts Python for every task, and importing the Kubernetes client takes a second.
unset PYTHONDONTWRITEBYTECODE
export PYTHON=${PYTHON:-python3} ANSIBLE_PIPELINING=1 ANSIBLE_NOCOLOR=1 NO_COLOR=1
# For the demo and the tests, not for a contributor's shell: further indexes of this machine may be incomplete mirrors.
export UV_INDEX_STRATEGY=${UV_INDEX_STRATEGY:-unsafe-best-match}
# LONG=1, which `make test-long` sets: also runs the tests that pytest.ini excludes.
if [ -n "${LONG:-}" ]; then export PYTEST_ADDOPTS="-m ''"; fi

say() { printf '[%5ds] %s\n' "$SECONDS" "$*"; }
environment() { "$PYTHON" .ci/env.py "$@"; }

# Put an environment first on PATH: use NAME [3.N]
use() {
    local folder
    folder=$(environment venv "$@")
    export PATH=$folder/bin:$PATH
}

# Set the paths of this checkout and its required collections for ansible.
with_collections() {
    local tree dependencies
    tree=$(environment tree)
    dependencies=$(environment collections)
    export ANSIBLE_COLLECTIONS_PATH=$tree:$dependencies
}

# Put modules together once in a part, and not in each run of ansible-playbook, see tests/callbacks/built_once.py.
share_built_modules() {
    export ANSIBLE_CALLBACK_PLUGINS=$ROOT/tests/callbacks ANSIBLE_CALLBACKS_ENABLED=built_once
}
