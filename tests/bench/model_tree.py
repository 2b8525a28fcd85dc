# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a model takes to forty hosts, as a ratio to one fetch and the copies of a perfect tree.

    make bench ARGS="model_tree"       HOSTS=40, MEGABYTES=12 of the model, RATE=0.3 megabytes a second of the uplink and of each copy

The code that decides, hands out, copies and compares is that of the modules, each host with an address, a folder and processes of its own.
Rates are limited, so that the machine's own speed does not count. What Ansible needs to start modules comes on top: some seconds a round.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import typing as t

from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.plugins.module_utils.model import delivery, share, web
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import model_rounds
from ansible_collections.ascend.inference.tests.integration._hub import Hub, tiny_model

HOSTS = int(os.environ.get("HOSTS", "40"))
RATE = int(float(os.environ.get("RATE", "0.3")) * 10**6)
SIZE = int(float(os.environ.get("MEGABYTES", "12")) * 10**6)
PORT, TOKEN, SOURCE = 7199, "of-this-run", "https://models.example/m"
LIMIT = 1.5
FORK = multiprocessing.get_context("fork")


def state(path: str) -> dict[str, t.Any]:
    """As model_delivery_info answers."""
    record = listing.read(path)
    differences = listing.differences(path, record["files"]) if record else []
    return {"exists": os.path.lexists(path), "record": record, "differences": differences}


def bring(path: str, files: list[dict[str, t.Any]], client: t.Any) -> None:
    """As model_delivery does on a host."""
    delivery.Delivery(path, files).bring(client, SOURCE, "")


def fetched(paths: dict[str, str], hub: Hub) -> list[dict[str, t.Any]]:
    """The first host fetches; the files with their digests."""
    client = web.Web(f"{hub.address}/web")
    first = FORK.Process(target=bring, args=(next(iter(paths.values())), client.files()[1], client))
    first.start()
    first.join()
    record = listing.read(next(iter(paths.values())))
    return model_rounds.manifest({}, record)


def passed_on(paths: dict[str, str], files: list[dict[str, t.Any]], number: int) -> bool:
    """One round, as tasks/hub/pass.yml makes it; whether a host lacked the model."""
    names = list(paths)
    decided = model_rounds.next_round({name: state(paths[name]) for name in names}, SOURCE, files, number=number)
    if decided["problems"]:
        sys.exit("; ".join(decided["problems"]))
    where = {name: f"127.1.0.{names.index(name) + 1}" for name in names}
    servers = [
        FORK.Process(target=share.serve, args=(paths[name], where[name], PORT, TOKEN, 600))
        for name in decided["sources"]
    ]
    takers = [
        FORK.Process(target=bring, args=(paths[to], files, web.Peer(f"http://{where[giver]}:{PORT}", TOKEN, rate=RATE)))
        for to, giver in decided["pairs"].items()
    ]
    for each in [*servers, *takers]:
        each.start()
    for each in takers:
        each.join()
    enders = [
        FORK.Process(target=share.stop, args=(paths[name],)) for name in decided["sources"]
    ]  # at the same time, as hosts do
    for each in enders:
        each.start()
    for each in [*servers, *enders]:
        each.join()
    return bool(decided["lacking"])


def main() -> None:
    """Measure, print, fail above the limit."""
    with tempfile.TemporaryDirectory() as folder, Hub(tiny_model(SIZE // 2), rate=RATE) as hub:
        os.chmod(folder, 0o755)
        paths = {f"n{number}": f"{folder}/n{number}/m" for number in range(HOSTS)}
        for path in paths.values():
            pathlib.Path(path).parent.mkdir()
        begin = time.monotonic()
        files = fetched(paths, hub)
        fetch, rounds = time.monotonic() - begin, 0
        while passed_on(paths, files, rounds):
            rounds += 1
        seconds = time.monotonic() - begin
        asked = max(hub.fetched(each["name"]) for each in files)
    copies, copy = math.ceil(math.log2(HOSTS)), sum(each["size"] for each in files) / RATE
    ratio = seconds / (fetch + copy * copies)
    print(
        f"{HOSTS} hosts, {SIZE / 1e6:.0f} MB at {RATE / 1e6:.1f} MB/s: fetch {fetch / copy:.2f} times the transfer, {rounds} rounds"
    )
    print(
        f"time / (fetch + {copies} copies) = {ratio:.2f} (limit {LIMIT}); each for itself over one uplink: {HOSTS * copy / (fetch + copy * copies):.1f}"
    )
    print(f"each file was asked for {asked} time(s) from outside")
    if ratio > LIMIT or asked != 1 or rounds != copies:
        sys.exit("the tree is slower than its limit, or the uplink was used more than once")


if __name__ == "__main__":
    main()
