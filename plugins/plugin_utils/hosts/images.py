# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that have one name and are not the same on all hosts."""

from __future__ import annotations

import json
import typing as t


class Image(t.NamedTuple):
    """One image of a host: its registry digests, its id, and its architecture (empty if it was not recorded)."""

    digests: frozenset[str]
    id: str
    architecture: str

    @classmethod
    def read(cls, text: str) -> Image:
        """The image out of what ``docker image inspect`` printed: '["name@sha256:..."] sha256:... arm64'."""
        listed, end = json.JSONDecoder().raw_decode(text.strip())
        id_, architecture = [*text.strip()[end:].split(), "", ""][:2]
        if not id_ or not isinstance(listed or [], list):
            raise ValueError("this is no image")
        return cls(frozenset(item.rpartition("@")[2] for item in listed or ()), id_, architecture)

    def same(self, other: Image) -> bool:
        """Whether both are one image. Its id alone depends on how Docker stores images."""
        return self.id == other.id or bool(self.digests & other.digests)


def image_differences(inspected: t.Mapping[str, t.Any]) -> list[str]:
    """One text for each image that differs between hosts. ``inspected`` maps hosts to the results of the inspection of each image."""
    found: dict[tuple[str, str], dict[str, Image]] = {}  # by name and architecture
    texts = []
    for host, done in inspected.items():
        for result in (done or {}).get("results", ()):
            if result.get("stdout"):
                try:
                    image = Image.read(result["stdout"])
                except (AttributeError, RecursionError, TypeError, ValueError):
                    texts.append(f"{result['item']}: {host} answered something else than an image")
                    continue
                found.setdefault((result["item"], image.architecture), {})[host] = image
    for (name, dummy), images in found.items():
        groups: list[tuple[Image, list[str]]] = []
        for host, image in images.items():
            for dummy, hosts in groups:
                if all(
                    image.same(images[other]) for other in hosts
                ):  # one host may claim the digests of several images
                    hosts.append(host)
                    break
            else:
                groups.append((image, [host]))
        if len(groups) > 1:
            kinds = "; ".join(f"{image.id[:19]} on {', '.join(hosts[:4])}" for image, hosts in groups)
            texts.append(f"{name} is not the same image on all hosts: {kinds}")
    return texts
