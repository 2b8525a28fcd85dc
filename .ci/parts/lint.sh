#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Formatting and style of everything; no network but for the tools themselves.
. "$(dirname "$0")/../lib.sh"
use dev
with_collections

say "ruff"
ruff format --check --quiet . || { ruff format --diff --quiet . || true; exit 1; }
ruff check --quiet .
say "shellcheck"
mapfile -t scripts < <(git grep --untracked -lE '^#!(/usr/bin/env bash|/bin/(ba)?sh)|^# shellcheck shell=')
shellcheck "${scripts[@]}"
say "yamllint"
yamllint --strict .
say "changelog fragments"
antsibull-changelog lint
say "the ranges of galaxy.yml and requirements.yml"
ansible-galaxy collection install --offline --requirements-file requirements.yml --collections-path "$(environment collections)" >/dev/null
say "ansible-lint"
ansible-lint --offline --strict
say "done"
