# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine that nobody needs: upstream vLLM without NPUs, of which there are images. The seam's test installs it."""

from __future__ import annotations

from .base import Engine

ENGINE = Engine(
    name="toy",
    title="the toy engine",
    release="cpu-0.32.0",
    release_prefix="cpu-",
    roles=("toy",),
    layers=("toy",),
    npus=False,
    images=True,
    hardware="cpu",
    versions=("kernel", "toy"),
    high_limits=True,
    environment={"TOY": "1"},
    connectors={"mooncake": "MooncakeConnector", "store": "MooncakeStoreConnector"},
    protocol="toy",
    segment_size="7mb",
    block_size=9,
    compared_tokens=11,
)
