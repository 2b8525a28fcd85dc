#!/bin/sh
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# SIMULATED: hccn_tool and npu-smi on hosts whose hardware does not change. Repeats what the simulator of its own name has answered to the same
# question before. The vendor's tools are compiled programs; the simulator starts Python for each call, which would be a large part of the measured
# time and is no part of the collection. "npu-smi info", which lists processes, is always asked anew.
set -u
name=${0##*/}
simulator=/usr/share/ascend-simulator/$name
memory=/run/remembered/$name
key=$(printf %s "$*" | tr / _)
case "$name $key" in
"hccn_tool "*" -g"*) ;;
"npu-smi -v" | "npu-smi info -l" | "npu-smi info -m" | "npu-smi info -t "*) ;;
*) exec "$simulator" "$@" ;;
esac
if [ ! -e "$memory/$key" ]; then
    mkdir -p "$memory" || exec "$simulator" "$@"
    new=$(mktemp -d "$memory/.XXXXXX") || exec "$simulator" "$@"
    "$simulator" "$@" >"$new/out" 2>"$new/err"
    echo $? >"$new/status"
    mv -T "$new" "$memory/$key" 2>/dev/null || rm -r "$new" # somebody asked the same meanwhile
fi
cat "$memory/$key/err" >&2
cat "$memory/$key/out"
read -r status <"$memory/$key/status"
exit "$status"
