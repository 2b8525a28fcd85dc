#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run ansible-test's sanity tests with the newest available Python and ansible-core.
# Arguments go to ansible-test: sanity.sh --test validate-modules
. "$(dirname "$0")/../lib.sh"
version=$(environment pythons | tail -n 1 | cut -d' ' -f1)
# ansible-test searches python3.N by name: provide the real interpreter, not a shim.
python=$(environment pythons | tail -n 1 | cut -d' ' -f2-)
use sanity "$version"
PATH=$(dirname "$python"):$PATH
with_collections

# A separate home: ansible-test stores its environments there, and reads the script that installs pip from there.
home=$ROOT/.cache/home
mkdir -p "$home/.ansible/test/cache"
for pip in 23_1_2 24_2 25_2; do cp .ci/get_pip.py "$home/.ansible/test/cache/get_pip_$pip.py"; done
for settings in .config/pip/pip.conf .pip/pip.conf; do
    [ ! -e "$HOME/$settings" ] || { mkdir -p "$home/$(dirname "$settings")"; cp "$HOME/$settings" "$home/$settings"; }
done

# A copy with a separate git repository: inside .cache, git of the checkout ignores every file,
# and ansible-test would skip all targets and report success.
copy=$(environment copy .cache/sanity)
git init --quiet "$copy"
log=$ROOT/.cache/sanity/output.txt
say "ansible-test sanity, ansible-core for Python $version"
cd "$copy" || exit
# Half of the lines are tests, which no release contains: ruff reads them, and they run. pylint takes most of the time of this part.
[ -n "${LONG:-}" ] || set -- --exclude tests/ --exclude molecule/ "$@"
HOME=$home ansible-test sanity --local --python "$version" --color no "$@" 2>&1 | tee "$log"

if grep -q 'All targets skipped' "$log"; then
    echo 'error: ansible-test found no files to test' >&2
    exit 1
fi
ran=$(grep -c '^Running sanity test' "$log" || true)
[ "$ran" -gt 0 ] || { echo 'error: no sanity test ran' >&2; exit 1; }
say "done: $ran sanity tests ran"
