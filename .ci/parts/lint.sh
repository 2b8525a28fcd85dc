#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Check formatting and style of all files; network is needed only to install the tools.
. "$(dirname "$0")/../lib.sh"
use dev
with_collections

say "ruff"
ruff format --check --quiet . || { ruff format --diff --quiet . || true; exit 1; }
ruff check --quiet .
say "imports between folders"
imports=$(environment copy .cache/imports)
find "${imports%/ascend/inference}" -type d -exec touch {}/__init__.py \; # import-linter does not support namespace packages
(cd "${imports%/ansible_collections/ascend/inference}" && PYTHONPATH=. lint-imports --no-logo --no-cache --config "$ROOT/.config/importlinter.toml")
say "shellcheck"
# Selected by the first line, because other files may quote one; templates are excluded, because they are not scripts.
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard | grep -v '\.j2$' | while read -r file; do
    if [ -f "$file" ] && { head -n 1 "$file" | grep -qE '^#!(/usr/bin/env bash|/bin/(ba)?sh)'; } 2>/dev/null; then echo "$file"; fi
done)
shellcheck "${scripts[@]}" .ci/lib.sh
say "yamllint"
yamllint --strict .
say "the ranges of galaxy.yml and requirements.yml"
ansible-galaxy collection install --offline --requirements-file requirements.yml --collections-path "$(environment collections)" >/dev/null
say "syntax of all playbooks and roles"
# In one process. ansible-lint starts one for each of them, which takes most of its time, so it finds a program that does nothing.
shim=$ROOT/.cache/lint
mkdir -p "$shim"
printf '#!/bin/sh\nexit 0\n' >"$shim/ansible-playbook"
chmod +x "$shim/ansible-playbook"
for role in roles/*/; do
    printf -- '- hosts: localhost\n  tasks: [{import_role: {name: %s}}]\n' "$ROOT/${role%/}"
done >"$shim/roles.yml"
mapfile -t playbooks < <(git ls-files --cached --others --exclude-standard 'playbooks/*.yml' 'molecule/*.yml' 'tests/*.yml' | grep -v '^tests/unit/' |
    xargs grep -lE '^(- |  )(hosts|ansible\.builtin\.import_playbook|import_playbook):')
ansible-playbook -i localhost, --syntax-check "${playbooks[@]}" "$shim/roles.yml" >"$shim/syntax.txt" 2>&1 || { cat "$shim/syntax.txt"; exit 1; }
say "ansible-lint"
PATH=$shim:$PATH ansible-lint --offline --strict
say "done"
