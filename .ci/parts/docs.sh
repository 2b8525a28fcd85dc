#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The documentation of modules, filters, roles and the guides: does it parse, do its references lead somewhere?
. "$(dirname "$0")/../lib.sh"
use dev
with_collections

say "antsibull-docs"
antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs all --disallow-unknown-collection-refs .
say "done"
