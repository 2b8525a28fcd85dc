# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates pods for the errors that tests plant in templates; independent of the collection's rules."""

from __future__ import annotations


def problems(spec):
    """All violations in a pod's specification."""
    found = []
    volumes = [volume.get("name") for volume in spec.get("volumes", [])]
    for number, volume in enumerate(spec.get("volumes", [])):
        mode = (volume.get("configMap") or {}).get("defaultMode", 0)
        if not 0 <= mode <= 511:
            where = f"spec.volumes[{number}].configMap.defaultMode"
            found.append(f"{where}: Invalid value: {mode}: must be a number between 0 and 0777 (octal)")
    for number, container in enumerate(spec.get("containers", [])):
        where = f"spec.containers[{number}]"
        if not container.get("image"):
            found.append(where + ".image: Required value")
        for place, port in enumerate(container.get("ports", [])):
            found += _port(port, f"{where}.ports[{place}]", spec.get("hostNetwork", False))
        for place, mount in enumerate(container.get("volumeMounts", [])):
            if mount.get("name") not in volumes:
                found.append(f'{where}.volumeMounts[{place}].name: Not found: "{mount.get("name")}"')
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        for name, amount in (resources.get("requests") or {}).items():
            if "/" in name and str(amount) != str(limits.get(name)):
                found.append(f"{where}.resources.requests: must be equal to {name} limit of {limits.get(name)}")
    if not spec.get("containers"):
        found.append("spec.containers: Required value")
    return found


def _port(port, where, host_network):
    number, found = port.get("containerPort"), []
    if not isinstance(number, int) or not 1 <= number <= 65535:
        found.append(f"{where}.containerPort: Invalid value: {number}: must be between 1 and 65535")
    if host_network and port.get("hostPort", number) != number:
        found.append(f"{where}.hostPort: must match `containerPort` when `hostNetwork` is true")
    return found
