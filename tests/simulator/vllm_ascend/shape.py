# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks of an instance: sizes, local ranks, names."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Died


@dataclass(frozen=True)
class Shape:
    """Sizes and place of this process in its data parallel group."""

    data: int  # ranks of the whole group
    local: int  # of them here
    start: int  # first of them here
    tensor: int
    pipeline: int
    context: int  # prefill context parallel
    address: str
    rpc_port: int
    headless: bool
    external: bool  # one process per rank, each with its own API

    @property
    def world(self):
        """NPUs of one data parallel rank."""
        return self.tensor * self.pipeline * self.context

    @property
    def ranks(self):
        return range(self.start, self.start + self.local)

    @property
    def master(self):
        return self.start == 0

    @property
    def alone(self):
        return self.local == self.data


def from_args(args):
    """The shape of a command line; Died if the numbers contradict each other."""
    data = args.data_parallel_size
    external = getattr(args, "data_parallel_rank", None) is not None
    start = args.data_parallel_rank if external else getattr(args, "data_parallel_start_rank", None) or 0
    local = getattr(args, "data_parallel_size_local", None)
    if external and local not in (None, 1):
        raise Died("AssertionError: data_parallel_size_local must be 1 when data_parallel_rank is set")
    local = 1 if external else data if local is None else local
    headless = bool(getattr(args, "headless", False))
    if headless and getattr(args, "data_parallel_start_rank", None) is None and not external and data > 1:
        raise Died("ValueError: data_parallel_start_rank is required with --headless")
    if start + local > data:
        raise Died(f"ValueError: data_parallel_rank ({start + local - 1}) must be in the range [0, {data})")
    return Shape(
        data=data,
        local=local,
        start=start,
        tensor=args.tensor_parallel_size,
        pipeline=args.pipeline_parallel_size,
        context=getattr(args, "prefill_context_parallel_size", None) or 1,
        address=getattr(args, "data_parallel_address", None) or "127.0.0.1",
        rpc_port=getattr(args, "data_parallel_rpc_port", None) or 29550,
        headless=headless,
        external=external,
    )
