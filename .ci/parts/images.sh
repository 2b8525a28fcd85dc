#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Start Docker and build the images of the test nodes for molecule.
. "$(dirname "$0")/../lib.sh"
say "Docker engine"
.ci/docker-up
say "images"
kinds=(node)
if grep -qsE '^ +image: docker-node' molecule/*/molecule.yml; then kinds+=(docker-node); fi
molecule/images/build "${kinds[@]}"
.ci/apt openssh-client
say "done"
