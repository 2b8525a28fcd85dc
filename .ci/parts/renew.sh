#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Write all records and generated pages again: texts of plans, findings and rehearsals, pages of variables and of roles. Read `git diff`.
# With arguments only those that are named; a rehearsal by the beginning of its name: renew.sh plans pages deploy/first upgrade/
. "$(dirname "$0")/../lib.sh"
use dev
with_collections
PYTHONPATH=$(environment tree)
export PYTHONPATH
[ $# -gt 0 ] || set -- plans pages rehearsals

# The tests write what they then compare, so only a record that cannot be made is a failure.
failed=0
cases=
for name in "$@"; do
    say "$name"
    case $name in
        plans)
            RENEW_PLANS=1 RENEW_FINDINGS=1 pytest -q -n 0 tests/unit/inventories \
                tests/unit/plugins/plugin_utils/rules/test_exact_findings.py \
                tests/unit/plugins/plugin_utils/test_exact_host_findings.py || failed=1
            ;;
        pages)
            for page in docs/*.py; do
                ! grep -q -- "$(basename "$page") --write" "$page" || python "$page" --write || failed=1
            done
            ;;
        rehearsals) cases=1 ;;
        *) cases="${cases:+$cases }$name" ;;
    esac
done
if [ -n "$cases" ]; then
    RENEW_REHEARSALS=$cases pytest -q -n 0 -m '' tests/unit/rehearsal/test_rehearsal.py -k 'recorded or record' || failed=1
fi
git status --short
exit "$failed"
