#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run the scenarios in molecule/ on systemd nodes in containers, as `molecule test --scenario-name NAME` does: all, or the given ones.
# MOLECULE_COMMAND=converge (or login, verify, destroy ...) runs one step instead of a complete test.
# The steps of a scenario are in its molecule.yml. Some leave out check mode, idempotence, faults or removal; LONG=1 runs all steps of those.
. "$(dirname "$0")/../lib.sh"
use dev
with_collections
share_built_modules
say "Docker engine"
.ci/docker-up
.ci/apt openssh-client

long_steps_of() { # SCENARIO
    case $1 in
        install) echo syntax, create, prepare, check, converge, idempotence, verify, side_effect, side_effect back.yml, cleanup ;;
        llmdatadist_1p2d) echo syntax, create, prepare, check, converge, idempotence, verify, side_effect faults.yml, side_effect, cleanup ;;
        *) echo syntax, create, prepare, check, converge, idempotence, verify, side_effect, cleanup ;;
    esac
}

if [ $# -eq 0 ]; then
    for scenario in molecule/*/molecule.yml; do set -- "$@" "$(basename "$(dirname "$scenario")")"; done
fi
for name in "$@"; do
    say "molecule ${MOLECULE_COMMAND:-test} --scenario-name $name"
    if [ -n "${LONG:-}" ]; then
        MOLECULE_STEPS="[destroy, $(long_steps_of "$name"), destroy]"
        export MOLECULE_STEPS
    fi
    molecule "${MOLECULE_COMMAND:-test}" --scenario-name "$name"
done
say "done"
