#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run a playbook of the collection with the tooling of this checkout: playbook.sh site inventories/local [ANSIBLE-PLAYBOOK-ARGUMENT...]
. "$(dirname "$0")/lib.sh"
unset ANSIBLE_NOCOLOR NO_COLOR
playbook=$1 inventory=$2
shift 2
use ansible
with_collections
export ANSIBLE_CALLBACKS_ENABLED=${ANSIBLE_CALLBACKS_ENABLED:-ansible.posix.timer}
export ANSIBLE_CALLBACK_RESULT_FORMAT=${ANSIBLE_CALLBACK_RESULT_FORMAT:-yaml}
export ANSIBLE_STDOUT_CALLBACK=${ANSIBLE_STDOUT_CALLBACK:-ascend.inference.compact}
report=$PWD/.cache/$playbook-report.json
rm -f "$report"
ansible-playbook --inventory "$inventory" "ascend.inference.$playbook" --extra-vars "{\"inference_verify_file\": \"$report\"}" "$@"
