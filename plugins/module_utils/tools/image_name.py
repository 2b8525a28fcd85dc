# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of container images: [REGISTRY/]PATH[:TAG] or [REGISTRY/]PATH[:TAG]@sha256:HEX (distribution/reference)."""

from __future__ import annotations


def repository_of(name):
    """The name without tag and digest."""
    path = name.partition("@")[0]
    front, colon, tag = path.rpartition(":")
    return front if colon and "/" not in tag else path


def full_name(name):
    """The name with registry and tag, as engines complete it: 'vllm:1' is 'docker.io/library/vllm:1'. A digest makes a tag superfluous."""
    first, slash, _rest = name.partition("/")
    if not slash or not (first == "localhost" or "." in first or ":" in first):
        name = "docker.io/" + (name if slash else "library/" + name)
    if "@" in name:
        return repository_of(name) + "@" + name.partition("@")[2]
    return name if ":" in name.rpartition("/")[2] else name + ":latest"


def loaded_name(name):
    """The name of a loaded image: 'x@sha256:ab' gets the tag 'x:sha256-ab', because Docker records digests only of what it pulled itself."""
    digest = name.partition("@")[2]
    return repository_of(name) + ":" + digest.replace(":", "-") if digest else name
