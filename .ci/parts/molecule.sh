#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The scenarios under molecule/ on systemd nodes in containers: all of them, or those named: molecule.sh nodes
# MOLECULE_COMMAND=converge (or login, verify, destroy ...) instead of a whole test.
. "$(dirname "$0")/../lib.sh"
use dev
with_collections
# Scenarios may run side by side; one of them makes the images.
flock --close .cache/locks/images bash .ci/parts/images.sh
chosen=(--all)
if [ $# -gt 0 ]; then
    chosen=()
    for name in "$@"; do chosen+=(--scenario-name "$name"); done
fi
# In this project scenarios lie in molecule/, beside the collection's other top-level folders.
export MOLECULE_GLOB=${MOLECULE_GLOB:-molecule/*/molecule.yml}
say "molecule ${MOLECULE_COMMAND:-test} ${chosen[*]}"
molecule "${MOLECULE_COMMAND:-test}" "${chosen[@]}"
say "done"
