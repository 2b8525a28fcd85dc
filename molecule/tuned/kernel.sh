#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# SIMULATED: what the kernel of a host with 40 CPUs, two NUMA nodes and four NPUs shows, each time as after a boot.
#   kernel.sh boot      mount files and folders over the settings; the interrupts of NPUs are not there yet
#   kernel.sh driver    show them; the number of the first one is in /etc/made-up-kernel, because numbers differ from boot to boot
#   kernel.sh values    print the settings that tuning knows, one a line; interrupts by the NPU's address
#   kernel.sh units     print what systemd knows of the unit of tuning and irqbalance, and the CPUs of services
#   kernel.sh state     print the values, and all that tuning may write, stop or leave behind
#   kernel.sh changes   print what differs from an earlier state in /root/state-before; fails if something does
set -euo pipefail
tree=/run/made-up-kernel
settings=(/proc/sys/vm/swappiness /proc/sys/kernel/numa_balancing /proc/sys/vm/nr_hugepages
    /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag)
npus=(0000:c1:00.0 0000:01:00.0 0000:c2:00.0 0000:02:00.0) # as the simulated npu-smi names them

put() { # PATH TEXT
    mkdir -p "$(dirname "$tree$1")"
    printf '%s\n' "$2" >"$tree$1"
}

boot() {
    put /proc/sys/vm/swappiness 60
    put /proc/sys/kernel/numa_balancing 1
    put /proc/sys/vm/nr_hugepages 0
    put /sys/kernel/mm/transparent_hugepage/enabled always
    put /sys/kernel/mm/transparent_hugepage/defrag madvise
    for name in online possible present; do put "/sys/devices/system/cpu/$name" 0-39; done
    for cpu in {0..39}; do
        put "/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor" ondemand
        put "/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_available_governors" 'ondemand performance'
    done
    put /sys/devices/system/node/node0/cpulist 0-19
    put /sys/devices/system/node/node1/cpulist 20-39
    for index in 0 1 2 3; do
        node=$((index / 2))
        put "/sys/bus/pci/devices/${npus[index]}/numa_node" "$node"
        put "/sys/bus/pci/devices/${npus[index]}/local_cpulist" "$(cat "$tree/sys/devices/system/node/node$node/cpulist")"
    done
    put /proc/interrupts '  24:          1          0  GICv3   5 Level     made-up-timer'
    mkdir "$tree/proc/irq"
    for place in "${settings[@]}" /proc/interrupts /proc/irq /sys/bus /sys/devices/system/cpu /sys/devices/system/node; do
        [ ! -e "$place" ] || mount --bind "$tree$place" "$place"
    done
    values >$tree/values-of-the-boot
}

driver() {
    local number lines
    number=$(cat /etc/made-up-kernel)
    lines=$(cat /proc/interrupts)
    for npu in "${npus[@]}"; do
        for irq in $number $((number + 1)); do
            put "/proc/irq/$irq/smp_affinity_list" 0-39
            put "/sys/bus/pci/devices/$npu/msi_irqs/$irq" msix
        done
        lines+=$(printf '\n%4d:          5          0  ITS-MSI 1 Edge      sq_send_trigger_irq' "$number")
        lines+=$(printf '\n%4d:          5          0  ITS-MSI 2 Edge      cq_update_irq' $((number + 1)))
        number=$((number + 2))
    done
    printf '%s\n' "$lines" >/proc/interrupts # in one step: whoever waits for it finds all of them
}

values() {
    for place in "${settings[@]}"; do [ ! -e "$place" ] || echo "$place $(cat "$place")"; done
    echo "governors $(cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c | xargs)"
    for npu in "${npus[@]}"; do
        echo "$npu $(find "/sys/bus/pci/devices/$npu/msi_irqs" -type f -printf '/proc/irq/%f/smp_affinity_list\n' 2>/dev/null | sort | xargs --no-run-if-empty cat | xargs)"
    done
}

state() {
    values
    find /etc/systemd/system /etc/sysctl.d -type f -exec sha256sum {} + | sort
    find /etc/systemd/system -type l -printf '%p -> %l\n' -o -type d -printf '%p %m\n' | sort
    find /var/lib/ascend-inference /run/ascend-inference* 2>/dev/null || true
    systemctl is-active irqbalance.service || true
    systemctl is-enabled irqbalance.service ascend-inference-tuning.service 2>/dev/null || true
    systemctl show --property=LoadState --value ascend-inference-tuning.service
}

units() {
    systemctl is-active ascend-inference-tuning.service irqbalance.service || true
    systemctl is-enabled ascend-inference-tuning.service irqbalance.service || true
    systemctl show --property=Result --value ascend-inference-tuning.service
    grep --no-filename CPUAffinity /etc/systemd/system/inference-*.service.d/50-ascend-inference-tuning.conf | sort --unique
}

changes() {
    state | diff /root/state-before -
}

"$1"
