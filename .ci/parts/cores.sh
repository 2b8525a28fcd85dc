#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run tests/cores with both ends of what the collection supports: the oldest ansible-core and the newest final one of the package index, each on
# the Python at its end, and with the oldest Python that it manages on the host. Arguments are passed to pytest.
. "$(dirname "$0")/../lib.sh"
tree=$(environment tree)
share_built_modules
.ci/apt libibverbs1 libnuma1 librdmacm1
mapfile -t all < <(environment pythons | cut -d' ' -f1)
failed=0

with_core() { # CORE 3.N PYTEST-ARGUMENT...
    local core=$1 version=$2 folder collections least minor path host='' old=''
    shift 2
    folder=$(environment core "$core" "$version") || return 1
    collections=$(environment collections "$version") || return 1
    least=$("$folder/bin/python" -c 'from ansible.module_utils.basic import _PY_MIN as least; print(least[1])') || return 1
    while read -r minor path; do
        if [ "${minor#3.}" -lt "$least" ]; then old=$path; else host=${host:-$path}; fi
    done < <(environment pythons)
    say "ansible-core $core on Python $version; it manages hosts with Python 3.$least or newer, this one has $("$host" -V)"
    PATH=$folder/bin:$PATH PYTHONPATH=$tree ANSIBLE_COLLECTIONS_PATH=$tree:$collections CORES_HOST_PYTHON=$host CORES_OLD_PYTHON=$old \
        "$folder/bin/python" -m pytest -v "$@" tests/cores
}

oldest=$(sed -n 's/^requires_ansible: ">=\([0-9]*\.[0-9]*\).*/\1/p' meta/runtime.yml)
pinned=$(sed -n "s/^ansible-core==\($oldest\.[0-9]*\) .*/\1/p" .ci/requirements/ansible.txt)
first=''
for version in "${all[@]}"; do [ -n "$first" ] || [ "${version#3.}" -lt 10 ] || first=$version; done
if [ "${first#3.}" -gt 12 ]; then
    say "FAILED: ansible-core $oldest needs Python 3.10, 3.11 or 3.12, and this machine has only ${all[*]}"
    failed=1
else
    with_core "$pinned" "$first" "$@" || failed=1
fi

last=${all[-1]}
newest=$(environment newest-core)
fitting=$(environment newest-core "$last")
[ "$newest" = "$fitting" ] || say "NOT TESTED: ansible-core $newest needs a newer Python than $last, the newest one of this machine; $fitting is tested"
# The older one trusts the most: without LONG=1 only there root of a host is hostile.
friendly=()
[ -n "${LONG:-}" ] || friendly=(--ignore tests/cores/test_hostile.py)
with_core "$fitting" "$last" "${friendly[@]}" "$@" || failed=1
[ "$failed" = 0 ] || exit 1
say "done"
