# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NPU memory of one data parallel rank: numbered blocks, prefix cache, blocks held for a decoder."""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict

from .model import BLOCK_BYTES


class Memory:
    """``total`` blocks; a free block is reused, even if a decoder has not read it yet."""

    def __init__(self, total):
        self.total = total
        self.blocks = {}
        self.held = OrderedDict()  # request -> (ids, time)
        self.ids = itertools.cycle(range(1, total))
        self.prefixes = OrderedDict()  # key of a full block -> its bytes

    @property
    def used(self):
        return sum(len(ids) for ids, _since in self.held.values())

    def hold(self, request, blocks):
        """Store blocks until ``free``; returns their ids."""
        busy = {number for ids, _since in self.held.values() for number in ids}
        ids = list(itertools.islice((n for n in self.ids if n not in busy), len(blocks)))
        self.blocks.update(zip(ids, blocks))
        self.held[request] = (ids, time.monotonic())
        return ids

    def free(self, request):
        return self.held.pop(request, None)

    def expire(self, seconds):
        """Requests whose blocks have expired; their memory is reused from now on."""
        limit = time.monotonic() - seconds
        late = [request for request, (_ids, since) in self.held.items() if since < limit]
        for request in late:
            for number in self.free(request)[0]:
                self.blocks[number] = bytes(BLOCK_BYTES)
        return late

    def read(self, ids):
        return [self.blocks.get(number, bytes(BLOCK_BYTES)) for number in ids]

    def cached(self, keys):
        """Bytes of the leading blocks that the prefix cache has."""
        return list(itertools.takewhile(lambda found: found is not None, map(self.prefixes.get, keys)))

    def remember(self, keys, blocks):
        self.prefixes.update(zip(keys, blocks))
        while len(self.prefixes) > self.total:
            self.prefixes.popitem(last=False)
