#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Build the collection, check it with Galaxy's importer, install it into another directory, and run a playbook from there.
. "$(dirname "$0")/../lib.sh"
use galaxy
dependencies=$(environment collections)
export ANSIBLE_COLLECTIONS_PATH=$dependencies
copy=$(environment copy .cache/build/source)
out=$ROOT/.cache/build/out
rm -rf "$out"
mkdir -p "$out"

say "ansible-galaxy collection build"
ansible-galaxy collection build "$copy" --output-path "$out"
tarball=$(echo "$out"/ascend-inference-*.tar.gz)
unwanted=$(tar -tzf "$tarball" | grep -E '^(\./)?\.[^/]|__pycache__|\.pyc$|^(\./)?(molecule|tests)/' || true)
[ -z "$unwanted" ] || { printf 'These files do not belong in the collection (build_ignore in galaxy.yml):\n%s\n' "$unwanted" >&2; exit 1; }

say "galaxy-importer"
# Without its run of ansible-lint, which has a fixed timeout: the part lint runs it with a stricter profile.
printf '[galaxy-importer]\nRUN_ANSIBLE_LINT = False\n' >"$out/importer.cfg"
export GALAXY_IMPORTER_CONFIG=$out/importer.cfg
# It writes its result into the working directory.
(cd "$out" && python -m galaxy_importer.main "$tarball") 2>&1 | tee "$out/importer.log"
! grep -qE '^(ERROR|CRITICAL)' "$out/importer.log" || { echo 'galaxy-importer reports errors' >&2; exit 1; }

say "install and use it from outside the checkout"
installed=$out/installed
export ANSIBLE_COLLECTIONS_PATH=$installed:$dependencies
ansible-galaxy collection install "$tarball" --collections-path "$installed" --no-deps
cd /
ansible-galaxy collection list ascend.inference | tee "$out/list.txt"
grep -q "^# $installed/" "$out/list.txt" || { echo 'ansible finds another collection than the installed one' >&2; exit 1; }
if [ -f "$ROOT/playbooks/site.yml" ]; then
    ansible-playbook -i "$ROOT/inventories/local" ascend.inference.site --list-tasks
else
    say "playbooks/site.yml isn't there yet"
fi
say "done"
