#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Deploy both demos on this machine, and serve them at one address: an entry on two nodes with systemd in containers, see molecule/entry.
# demo_entry.sh remove: remove the nodes.
. "$(dirname "$0")/lib.sh"
nodes() { MOLECULE_COMMAND=$1 bash .ci/parts/molecule.sh entry; }
if [ "${1:-}" = remove ]; then
    [ -z "$(docker ps --all --quiet --filter label=ascend.inference.molecule=entry 2>/dev/null)" ] || nodes destroy
    exit
fi
say "two nodes for the entry"
nodes prepare
here=$(docker network inspect ascend-entry --format '{{(index .IPAM.Config 0).Gateway}}')
bash .ci/playbook.sh site inventories/local -e "ansible_host=$here"
bash .ci/playbook.sh site inventories/local_pool -e "ansible_host=$here" \
    -e '{"inference_model": {"path": "{{ inference_root }}/models/tiny", "source": "tiny", "name": "tiny-pool"}}'
say "the entry: two models, two teams"
export ENTRY_BEHIND="{
  \"deployments\": {\"inference\": {\"routers\": [\"$here:8000\"]}, \"pool\": {\"routers\": [\"$here:8001\"]}},
  \"models\": {\"tiny\": {\"deployment\": \"inference\"}, \"tiny-pool\": {\"deployment\": \"pool\", \"fallback\": \"tiny\"}}}"
nodes converge
folder=$(dirname "$(ls -d "${MOLECULE_EPHEMERAL_DIRECTORY:-$HOME/.ansible/tmp}"/molecule.*.entry/entry)")
address=${here%.*}.200
cat <<END

Both models answer at https://$address. The team "lab" may use both, "search" tiny alone, 30 requests a minute:
  curl --insecure https://$address/v1/models -H "Authorization: Bearer \$(cat $folder/entry/lab)"
  curl --insecure https://$address/v1/completions -H "Authorization: Bearer \$(cat $folder/entry/search)" \\
    -H 'Content-Type: application/json' -d '{"model": "tiny", "prompt": "Hello", "max_tokens": 8}'
Stop the node that has the address, and ask again after five seconds: docker kill entry-node1 (or entry-node2), docker start entry-node1
Remove all of it: make demo-remove
END
