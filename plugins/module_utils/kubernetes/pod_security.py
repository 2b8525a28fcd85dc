# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Pod Security Standard planned pods keep (kubernetes.io, "Pod Security Standards" of v1.35), and which one a namespace enforces."""

from __future__ import annotations

from ..tools.finding import Finding
from .workloads import planned_templates

ENFORCED = "pod-security.kubernetes.io/enforce"
ADDED = {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}
HELD = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
SECCOMP = ("RuntimeDefault", "Localhost")
LOWER = "set host_network: false, driver_mounts: false, and model_claim or a model that is downloaded, in inference_kubernetes"


def pod_security(plan, namespace):
    """Findings: pods that the namespace, as the server returns it, will refuse to their controllers.

    A level that the configuration of the server sets for all namespaces shows in the dry runs only.
    """
    level = ((namespace or {}).get("metadata") or {}).get("labels", {}).get(ENFORCED, "")
    found = {}
    for role, dummy, template, count in planned_templates(plan):
        baseline, restricted = breaches(template["spec"])
        broken = baseline + restricted * (level == "restricted") if level in ("baseline", "restricted") else []
        if broken and count:
            found.setdefault((bool(baseline), ", ".join(broken)), set()).add(role)
    name, why = (
        plan["kubernetes"]["namespace"],
        "The server refuses these pods to their controllers, so there are none.",
    )
    return [
        Finding(
            f"namespace {name}",
            "K8S-POD-SECURITY",
            "it enforces the Pod Security Standard {}, and pods of {} have {}".format(
                level, " and ".join(sorted(found[key])), key[1]
            ),
            "Run kubectl label --overwrite namespace {} {}={}{}.".format(
                name, ENFORCED, "privileged" if key[0] else "baseline", f"; or {LOWER}" if key[0] else ""
            ),
            why=why,
        )
        for key in sorted(found)
    ]


def breaches(spec):
    """``(what baseline forbids, what only restricted forbids)`` of a pod's specification, as texts; a pod with the first needs privileged."""
    own, volumes = spec.get("securityContext") or {}, spec.get("volumes") or []
    boxes = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    baseline = [key for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    mounted = sorted(item["name"] for item in volumes if "hostPath" in item)
    baseline += ["hostPath volumes ({})".format(", ".join(mounted))] if mounted else []
    baseline += ["sysctls"] if own.get("sysctls") else []
    others = sorted(item["name"] for item in volumes if set(item) - {"name", "hostPath"} - HELD)
    restricted = ["volumes of other types ({})".format(", ".join(others))] if others else []
    for box in boxes:
        first, more = _of_container(box, own)
        baseline += [text for text in first if text not in baseline]
        restricted += [text for text in more if text not in restricted]
    return baseline, restricted


def _of_container(box, pod):
    own = box.get("securityContext") or {}
    both = {**pod, **{key: own[key] for key in own if own[key] is not None}}
    capabilities, profile = own.get("capabilities") or {}, (both.get("seccompProfile") or {}).get("type")
    added = set(capabilities.get("add") or [])
    checks = (
        (own.get("privileged"), "privileged containers"),
        (added - ADDED, "capabilities {}".format(", ".join(sorted(added - ADDED)))),
        (any(port.get("hostPort") for port in box.get("ports") or []), "hostPort"),
        (own.get("procMount", "Default") != "Default", "procMount"),
        (profile == "Unconfined", "an unconfined seccompProfile"),
    )
    kept = (
        (own.get("allowPrivilegeEscalation") is not False, "allowPrivilegeEscalation"),
        (both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0, "the user root"),
        (profile not in SECCOMP, "no seccompProfile"),
        ("ALL" not in (capabilities.get("drop") or []) or added - {"NET_BIND_SERVICE"}, "capabilities that are kept"),
    )
    return [text for is_broken, text in checks if is_broken], [text for is_broken, text in kept if is_broken]
