# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable ``inference_probe``: requests that watch the service from inside."""

from __future__ import annotations

from dataclasses import dataclass

from .loader import documented, number, typed


@dataclass(frozen=True)
class Probe:
    """A service that sends a request through the clients' entry and over one pair of prefill and decode after the other."""

    enabled: bool = documented("Whether the deployment has this service, on the host of the entry.", False)
    interval: int = documented("Seconds between the begins of two rounds.", number(60, 5, 86400))
    timeout: int = documented("Seconds for one answer; a slower one is a failure.", number(30, 1, 3600))
    stalled_after: int = documented(
        "Seconds after which an engine that has requests and computes no token is reported.", number(300, 30, 86400)
    )
    port: int = documented("Port of its pages /health and /metrics.", number(8013, 1, 65535))
    textfile_directory: str = documented(
        "Folder of node_exporter's textfile collector for the same metrics. The services' user must be able to write it. Default: none.",
        typed("directory"),
    )
