# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables that name images, and whether containers are started from them."""

from __future__ import annotations

import typing as t

from .base import Case


class Named(t.NamedTuple):
    """A variable of an image. ``image``: "" for the release's own. ``unused``: why no container is started from it; "" if one is."""

    variable: str
    image: str
    unused: str


def images(case: Case) -> list[Named]:
    """The engines' image and, if one is set, the balancer's."""
    description = case.context.description
    none = "" if case.context.contained else f"inference_runtime {description.runtime} starts no containers"
    found = [Named("inference_image", description.image, none)]
    if description.router.balancer_image:
        unused = none or ("" if case.named("balancer") else "no balancer is planned on a host")
        found.append(Named("inference_router.balancer_image", description.router.balancer_image, unused))
    return found
