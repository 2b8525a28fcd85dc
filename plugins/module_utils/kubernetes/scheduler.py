# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of Volcano, which places the pods, as the image of its scheduler shows it.

A scheduler may also run outside of the cluster or under another name, so nothing here is more than a warning.
"""

from __future__ import annotations

from .errors import Refused

# Image of the scheduler: the least version. The first is for the plugin of Huawei Cloud, whose versions are its own (prerequisites of
# its guide for Kthena); its image name is not documented, and assumed: under another one the version is unknown, which is a warning.
# The second is upstream's, where 1.14 has the subgroups that Kthena uses to place a role as a whole.
LEAST = {"volcano-scheduler": (1, 20, 15), "vc-scheduler": (1, 14)}


def scheduler_warnings(cluster, plan):
    """Texts about a Volcano that is missing, too old or unknown; none if the plan has another scheduler."""
    if plan["kubernetes"]["scheduler"] != "volcano":
        return []
    try:
        found = cluster.everywhere("Deployment")
    except Refused as error:
        if error.code != 403:
            raise
        return ["Cannot list Deployments of all namespaces; the version of Volcano was not checked."]
    pods = [((item.get("spec") or {}).get("template") or {}).get("spec") or {} for item in found]
    images = {container.get("image", "") for pod in pods for container in pod.get("containers") or []}
    schedulers = sorted(image for image in images if _parts(image)[0] in LEAST)
    if not schedulers:
        names = " or ".join(sorted(LEAST))
        return [f"No Deployment has an image {names}. Pods name the scheduler volcano: without it they stay pending."]
    return [text for text in map(_judged, schedulers) if text]


def _judged(image):
    name, tag = _parts(image)
    least, found = LEAST[name], _numbers(tag)
    wanted = ".".join(map(str, least))
    if not found:
        return f"The image {image} does not tell the version of Volcano. Check that it is {wanted} or later."
    return f"Volcano is {tag} ({image}), and {wanted} or later is needed. Update it." if found < least else ""


def _parts(image):
    """(name, tag) of an image; a registry may have a port."""
    name, dummy, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return name, tag


def _numbers(tag):
    """(1, 20, 15) of v1.20.15-r1; empty if it is no version."""
    parts = tag.lstrip("v").partition("-")[0].split(".")
    return tuple(map(int, parts)) if len(parts) > 1 and all(part.isdigit() for part in parts) else ()
