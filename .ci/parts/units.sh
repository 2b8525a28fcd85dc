#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run all unit tests on the oldest supported Python of a controller that this machine has, and tests of modules and module_utils on the oldest
# Python of a target. The other parts run on the main Python. With LONG=1 all tests except those of simulated clusters (separate programs) run
# also on the main and the newest Python of a controller. Arguments are passed to pytest, and then only the main Python runs: units.sh -k ports
. "$(dirname "$0")/../lib.sh"
tree=$(environment tree)
collections=$(environment collections) # tests that load roles
.ci/apt libibverbs1 libnuma1 librdmacm1 # libraries of the real store in one test
.ci/apt gpg gpg-agent gpgconf gpgv # signatures of bundles
.ci/apt systemd # its systemd-analyze judges the units

on_controller() { # 3.N PYTEST-ARGUMENT...
    local version=$1 folder
    shift
    folder=$(environment venv units "$version")
    say "Python $version, ansible-core $("$folder/bin/python" -c 'import ansible.release as r; print(r.__version__)')"
    PATH=$folder/bin:$PATH PYTHONPATH=$tree ANSIBLE_COLLECTIONS_PATH=$tree:$collections "$folder/bin/python" -m pytest "$@"
}

on_target() { # 3.N FOLDER...
    local version=$1 folder core
    shift
    folder=$(environment venv target "$version")
    core=$(environment target-core)
    say "Python $version as a target, with the module_utils of $(basename "$core")"
    PATH=$folder/bin:$PATH PYTHONPATH=$tree:$core "$folder/bin/python" -m pytest -n 2 "$@"
}

main=$(environment main)
if [ $# -gt 0 ]; then
    on_controller "$main" "$@"
    exit
fi

mapfile -t all < <(environment pythons | cut -d' ' -f1)
controllers=()
for version in "${all[@]}"; do [ "${version#3.}" -lt 10 ] || controllers+=("$version"); done
[ ${#controllers[@]} -ge 2 ] || say "this machine has only Python $main: the oldest (3.10) and newest supported ones are not tested"
mapfile -t for_targets < <(find tests/unit/plugins/module_utils tests/unit/plugins/modules -name 'test_*.py' 2>/dev/null)
# Tests of what runs on targets run on the oldest Python, below; here only those that need something of a controller, which name it as a reason.
omitted=()
if [ -z "${LONG:-}" ] && [ ${#for_targets[@]} -gt 0 ]; then
    mapfile -t omitted < <(grep --files-without-match 'importorskip(.*reason=' "${for_targets[@]}")
fi
# A failure on one Python must not hide those on the others.
failed=0
on_controller "${controllers[0]}" -n 2 "${omitted[@]/#/--ignore=}" tests/unit || failed=1
# What roles and playbooks do is recorded with the ansible-core of the main Python; all cases run in one process.
if [ "${controllers[0]}" != "$main" ]; then on_controller "$main" tests/unit/rehearsal || failed=1; fi
if [ -n "${LONG:-}" ]; then
    for version in $(printf '%s\n' "$main" "${controllers[-1]}" | sort -u -t. -k2n); do
        [ "$version" = "${controllers[0]}" ] || on_controller "$version" -n 2 tests/unit --ignore tests/unit/simulator --ignore tests/unit/rehearsal || failed=1
    done
fi

if [ "${all[0]}" != 3.7 ]; then
    say "this machine has no Python 3.7: target code is tested on ${all[0]}"
fi
if [ ${#for_targets[@]} -eq 0 ]; then
    say "no tests of modules or module_utils yet"
else
    on_target "${all[0]}" "${for_targets[@]}" || failed=1
fi
[ "$failed" = 0 ] || exit 1
say "done"
