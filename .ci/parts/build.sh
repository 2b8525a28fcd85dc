#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Make what a release consists of, signed with a key that exists only here; check it with Galaxy's importer; install it into another
# directory, and run a playbook from there.
. "$(dirname "$0")/../lib.sh"
use galaxy
dependencies=$(environment collections)
export ANSIBLE_COLLECTIONS_PATH=$dependencies
copy=$(environment copy .cache/build/source)
out=$ROOT/.cache/build/out
.ci/apt gpg gpg-agent

say "the artefact, built twice"
GNUPGHOME=$(mktemp -d /tmp/gpg-XXXXXX) # short, as the paths of sockets are limited
export GNUPGHOME
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
gpg --batch --quiet --passphrase '' --quick-generate-key test@example.invalid default default never
python .ci/artefact.py "$copy" "$out" --sign test@example.invalid
tarball=$(echo "$out"/ascend-inference-*.tar.gz)
(cd "$out" && sha256sum --check SHA256SUMS && gpg --batch --verify SHA256SUMS.asc SHA256SUMS)
tar -tzf "$tarball" | grep -v '/$' >"$out/files.txt"
unwanted=$(grep -v '^\.ansible-lint$' "$out/files.txt" | grep -E '^\.[^/]|__pycache__|\.pyc$|\.po$|^(molecule|tests|changelogs/fragments)/' || true)
[ -z "$unwanted" ] || { printf 'These files do not belong in the collection (build_ignore in galaxy.yml):\n%s\n' "$unwanted" >&2; exit 1; }
count=$(wc -l <"$out/files.txt")
[ "$count" -le 1200 ] || { echo "The collection has $count files; with more than 1,200 Galaxy's importer needs too long" >&2; exit 1; }

say "galaxy-importer, $count files"
# Without its run of ansible-lint, which is stopped after 180 seconds of a machine that others use as well: the part lint runs it with the
# same profile. From 1.0.0 on as strictly as the hub of certified collections.
strict=$(grep -q '^version: 0\.' galaxy.yml && echo False || echo True)
printf '[galaxy-importer]\nRUN_ANSIBLE_LINT = False\nCHECK_REQUIRED_TAGS = True\nREQUIRE_V1_OR_GREATER = %s\n' "$strict" >"$out/importer.cfg"
export GALAXY_IMPORTER_CONFIG=$out/importer.cfg
# It writes its result into the working directory.
(cd "$out" && python -m galaxy_importer.main "$tarball") 2>&1 | tee "$out/importer.log"
! grep -qE '^(WARNING|ERROR|CRITICAL)' "$out/importer.log" || { echo 'galaxy-importer reports warnings or errors' >&2; exit 1; }

say "the signature of MANIFEST.json, and that of another file"
# By gpg: ansible-galaxy takes signatures of an archive on disk from no option, and fails if a keyring is set without them.
tar -xzOf "$tarball" MANIFEST.json >"$out/MANIFEST.json"
gpg --batch --verify "${tarball%.tar.gz}.asc" "$out/MANIFEST.json"
if gpg --batch --verify "$out/SHA256SUMS.asc" "$out/MANIFEST.json" 2>/dev/null; then
    echo 'the signature of another file is accepted' >&2
    exit 1
fi

say "install and use it from outside the checkout"
installed=$out/installed
export ANSIBLE_COLLECTIONS_PATH=$installed:$dependencies
ansible-galaxy collection install "$tarball" --collections-path "$installed" --no-deps
cd /
ansible-galaxy collection verify ascend.inference --offline
ansible-galaxy collection list ascend.inference | tee "$out/list.txt"
grep -q "^# $installed/" "$out/list.txt" || { echo 'ansible finds another collection than the installed one' >&2; exit 1; }
if [ -f "$ROOT/playbooks/site.yml" ]; then
    ansible-playbook -i "$ROOT/inventories/local" ascend.inference.site --list-tasks
else
    say "playbooks/site.yml isn't there yet"
fi
say "done"
