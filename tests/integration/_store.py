# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store client in a process of its own: python _store.py CONFIG SEGMENT KEYS. Reads commands, one a line, and answers with JSON.

It runs with the Python of Mooncake's wheel and imports nothing else. CONFIG is an engine's mooncake.json.
"""

from __future__ import annotations

import json
import sys
import time


def value(number):
    """What is stored under a key: every byte depends on the key."""
    return bytes((number + place) % 251 for place in range(256)) * 800  # 200 kB


def main(config, address, keys):
    from mooncake.store import MooncakeDistributedStore

    with open(config, encoding="utf-8") as stream:
        given = json.load(stream)
    store = MooncakeDistributedStore()
    code = store.setup(
        address,
        given["metadata_server"],
        512 * 2**20,
        64 * 2**20,
        given["protocol"],
        given["device_name"],
        given["master_server_address"],
    )
    print(json.dumps({"setup": code}), flush=True)
    for line in sys.stdin:
        word = line.strip()
        if word == "put":
            answer = {"failed": sum(store.put(f"key-{number}", value(number)) != 0 for number in range(keys))}
        elif word == "one":  # the first moment at which the store takes and returns a key again
            began, name = time.monotonic(), f"fresh-{time.monotonic_ns()}"
            while store.put(name, b"x") != 0 and time.monotonic() - began < 60:
                time.sleep(0.1)
            answer = {"seconds": time.monotonic() - began, "got": store.get(name).decode()}
        else:
            answer = {"right": sum(store.get(f"key-{number}") == value(number) for number in range(keys))}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
