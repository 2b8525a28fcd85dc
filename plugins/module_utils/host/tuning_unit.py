# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The unit of systemd that applies remembered settings again at boot."""

from __future__ import annotations

from .boot_unit import RESTRICTIONS
from .interrupts import DEVICES, SEND

UNIT = """\
# Written by the Ansible collection ascend.inference (module host_tuning). Removed when the settings are set back.
[Unit]
Description=Kernel settings for inference
After=systemd-sysctl.service systemd-modules-load.service
Before=multi-user.target

[Service]
Type=oneshot
RemainAfterExit=yes
{lines}
# It writes below /proc/sys, /proc/irq and /sys, as root; CAP_SYS_ADMIN is what the kernel asks for NUMA balancing. Network and IPC settings are those
# of a namespace, so it must be in the host's.
# No ProtectProc or ProtectControlGroups: they mount another /proc, without what is mounted below that of the host.
CapabilityBoundingSet=CAP_SYS_ADMIN
NoNewPrivileges=true
PrivateDevices=true
ProtectSystem=strict
ProtectHome=true
ProtectHostname=true
ProtectClock=true
ProtectKernelLogs=true
ProtectKernelModules=true
RestrictAddressFamilies=AF_UNIX
{restrictions}
[Install]
WantedBy=multi-user.target
""".replace("{restrictions}", RESTRICTIONS)
LINE = "ExecStart=-/bin/sh -c '{}'"  # the minus: a host that lost a file still boots with the other settings
SETTING = 'for file in {}; do [ ! -w "$file" ] || echo {} > "$file"; done'
# The driver may be loaded late: at most two minutes, and only if there are interrupts to set.
WAIT = (
    'n=0; until [ "$(grep -c {send} /proc/interrupts)" -ge {count} ] || [ $n -ge 60 ]; do sleep 2; n=$((n + 1)); done'
)
# Numbers may differ after a boot, so they are looked up.
INTERRUPT = (
    'cd {devices}/{address}/msi_irqs && for irq in *; do if grep -qE "^ *$irq:.*{send}" /proc/interrupts; then '
    "echo {cpus[0]} > /proc/irq/$irq/smp_affinity_list; echo {cpus[1]} > /proc/irq/$((irq + 1))/smp_affinity_list; break; fi; done"
)


def unit_text(values, interrupts):
    """The unit for ``values`` (path or pattern to value) and ``interrupts`` (PCI address to two lists of CPUs); empty without any."""
    commands = [SETTING.format(path, values[path]) for path in sorted(values)]
    if interrupts:
        commands.append(WAIT.format(send=SEND, count=len(interrupts)))
    commands += [
        INTERRUPT.format(devices=DEVICES, address=address, cpus=interrupts[address], send=SEND)
        for address in sorted(interrupts)
    ]
    lines = [LINE.format(command.replace("$", "$$")) for command in commands]
    return UNIT.format(lines="\n".join(lines)) if lines else ""
