#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# SIMULATED: a host before any installation by this collection.
#   simulated_host.sh NUMBER HOSTS GENERATION DEVICES DRIVER RELEASE     NUMBER: index of this host, from 0
set -euo pipefail
number=$1 hosts=$2 generation=$3 devices=$4 driver=$5 release=$6
simulator=/usr/share/ascend-simulator/simulator
state=/var/lib/ascend-simulator

# Members of the driver's group may use NPUs; here: read and write their state files.
getent group HwHiAiUser >/dev/null || groupadd --system HwHiAiUser
install -d -m 2775 -g HwHiAiUser "$state"
cd "$simulator"
python3 cann/driver.py "$driver" >/dev/null
# Each host has the state of all hosts' NPUs, to answer pings; host.json is its own state.
python3 - "$state" "$number" "$hosts" "$generation" "$devices" "$driver" "$release" <<'PYTHON'
import os
import sys

import ascend_cluster

folder, mine, hosts, generation, devices, driver, release = sys.argv[1:]
for number in range(int(hosts)):
    state = ascend_cluster.host_state(generation, number, int(devices), driver=driver)
    if number == int(mine):
        state.update(host="host", hccn_conf="/etc/hccn.conf", engine={"release": release})
    os.chmod(ascend_cluster.write(folder, state), 0o664)
PYTHON
chgrp HwHiAiUser "$state"/*.json /etc/hccn.conf

install -d /models/tiny
# A safetensors file without tensors: the length of its header in 8 bytes, the header. The simulated engine loads no tokenizer.
printf '\002\000\000\000\000\000\000\000{}' >/models/tiny/model.safetensors
echo '{}' >/models/tiny/tokenizer.json
# Docker mounts /proc/sys read-only, and vm.max_map_count belongs to the whole machine: a file replaces it.
mount -o remount,rw /proc/sys
echo 65530 >/run/max_map_count
mount --bind /run/max_map_count /proc/sys/vm/max_map_count
cat >/models/tiny/config.json <<'JSON'
{"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 64, "head_dim": 16, "num_attention_heads": 4,
 "num_key_value_heads": 4, "num_hidden_layers": 2, "num_experts": 8, "num_experts_per_tok": 2, "vocab_size": 151936, "torch_dtype": "bfloat16",
 "max_position_embeddings": 4096}
JSON
