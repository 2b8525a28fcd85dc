#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run the scenarios in molecule/ on systemd nodes in containers: all, or the given ones: molecule.sh nodes
# MOLECULE_COMMAND=converge (or login, verify, destroy ...) runs one step instead of a complete test.
# Each scenario deploys and verifies. Only some test check mode, idempotence, faults and removal; with LONG=1 all of them.
. "$(dirname "$0")/../lib.sh"
use dev
with_collections
# Scenarios may run in parallel; one of them builds the images.
flock --close .cache/locks/images bash .ci/parts/images.sh

steps_of() { # SCENARIO
    case ${LONG:+long-}$1 in
        mooncake_1p1d) echo create, prepare, check, converge, idempotence, verify, side_effect, cleanup ;;
        docker_pd) echo create, prepare, converge, idempotence, verify, side_effect, cleanup ;;
        install) echo create, prepare, converge, idempotence, verify, side_effect ;;
        llmdatadist_1p2d) echo create, prepare, converge, verify, side_effect ;;
        long-install) echo syntax, create, prepare, check, converge, idempotence, verify, side_effect, side_effect back.yml, cleanup ;;
        long-llmdatadist_1p2d) echo syntax, create, prepare, check, converge, idempotence, verify, side_effect faults.yml, side_effect, cleanup ;;
        address_*) echo create, prepare, converge, idempotence, side_effect, cleanup ;;
        *changes_* | *halves_* | *_changes) echo create, prepare, converge, side_effect ;;
        *) echo syntax, create, prepare, check, converge, idempotence, verify, side_effect, cleanup ;;
    esac
}

if [ $# -eq 0 ]; then
    for scenario in molecule/*/molecule.yml; do set -- "$@" "$(basename "$(dirname "$scenario")")"; done
fi
# The scenarios of this project are in molecule/, a top-level folder of the collection.
export MOLECULE_GLOB=${MOLECULE_GLOB:-molecule/*/molecule.yml}
for name in "$@"; do
    say "molecule ${MOLECULE_COMMAND:-test} $name"
    MOLECULE_STEPS="[destroy, $(steps_of "$name"), destroy]" molecule "${MOLECULE_COMMAND:-test}" --scenario-name "$name"
done
say "done"
