# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds in which hosts hand a model on: who gets it from whom, which digests count, and how long a tree of hosts takes."""

from __future__ import annotations

import concurrent.futures
import http.server
import itertools
import math
import os
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.plugins.module_utils.install.bundle_server import Server
from ansible_collections.ascend.inference.plugins.module_utils.model import delivery
from ansible_collections.ascend.inference.plugins.module_utils.model.web import Peer
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.model_rounds import (
    manifest,
    most_rounds,
    next_round,
)

SOURCE = "modelscope:o/m@v1"
FILES = [
    {"name": "config.json", "size": 2, "sha256": "a" * 64},
    {"name": "w.safetensors", "size": 9, "sha256": "b" * 64},
]
RECORD = {"source": SOURCE, "revision": "v1", "files": FILES, "digest": listing.digest(FILES)}
HAS, LACKS = {"exists": True, "record": RECORD, "differences": []}, {"exists": False, "record": {}, "differences": []}


def test_each_round_doubles_the_hosts_that_have_the_model():
    states, rounds = {f"h{number:02}": LACKS for number in range(40)}, 0
    states["h00"] = HAS
    while True:
        found = next_round(states, SOURCE, FILES, number=rounds)
        if not found["lacking"]:
            break
        rounds += 1
        assert len(set(found["pairs"].values())) == len(found["pairs"])
        states.update({host: HAS for host in found["pairs"]})
    assert rounds == math.ceil(math.log2(40)) == most_rounds(40) - 3


def test_copies_bound_what_one_host_serves():
    states = {"a": HAS, **{name: LACKS for name in "bcdef"}}
    found = next_round(states, SOURCE, FILES, copies=3)
    assert found["pairs"] == {"b": "a", "c": "a", "d": "a"} and found["sources"] == ["a"]


def test_a_host_that_failed_gets_another_source_in_the_next_round():
    states = {"a": HAS, "b": HAS, "c": LACKS}
    assert {next_round(states, SOURCE, FILES, number=number)["pairs"]["c"] for number in (0, 1)} == {"a", "b"}


OTHER = {
    **LACKS,
    "progress": {"error": "w.safetensors has another content than listed, so nothing of the model is used"},
}
CLOSED = {**LACKS, "progress": {"error": "w.safetensors: the port is closed"}}


def played(states, *after):
    """The rounds of which the first begins with ``states``, and each further one with these changes."""
    found = [next_round(states, SOURCE, FILES)]
    for number, changed in enumerate(after, 1):
        states = {**states, **{host: changed for host in found[-1]["pairs"]}}
        found.append(next_round(states, SOURCE, FILES, number=number, before=found[-1]))
    return found


def test_a_source_at_which_two_hosts_found_other_files_gives_nothing_more():
    """Each round another host tries where there is one source, so that one that lies accuses nobody alone."""
    states = {"a": HAS, "b": LACKS, "c": LACKS, "d": LACKS}
    first, second, third = played(states, OTHER, OTHER)
    assert [each["pairs"] for each in (first, second)] == [{"b": "a"}, {"c": "a"}] and second["distrusted"] == []
    assert third["distrusted"] == ["a"] and third["pairs"] == {} and third["found"] == {"a": ["b", "c"]}


def test_a_source_that_cannot_be_reached_is_not_accused():
    states = {"a": HAS, "b": LACKS, "c": LACKS}
    assert all(not each["distrusted"] for each in played(states, CLOSED, CLOSED, CLOSED, CLOSED))


def test_one_host_alone_accuses_nobody():
    assert all(not each["distrusted"] for each in played({"a": HAS, "b": LACKS}, OTHER, OTHER, OTHER))


@pytest.mark.parametrize(
    "state, text",
    [
        ({**HAS, "differences": ["w.safetensors has 1 bytes, expected 9"]}, "w.safetensors has 1 bytes"),
        ({**HAS, "record": {**RECORD, "source": "modelscope:o/m@v2"}}, "is modelscope:o/m@v2"),
        ({**LACKS, "exists": True}, "did not bring"),
    ],
)
def test_a_host_with_something_else_is_named_and_gives_nothing(state, text):
    found = next_round({"a": HAS, "b": state, "c": LACKS}, SOURCE, FILES)
    assert (
        list(found["problems"]) == ["b"] and found["problems"]["b"].startswith("b: ") and text in found["problems"]["b"]
    )
    assert "b" not in found["sources"] and "b" not in found["pairs"]


def test_the_digests_are_those_of_the_hub():
    listed = {"files": [{"name": "config.json", "size": 2, "sha256": "", "git": ""}, {**FILES[1], "git": ""}]}
    assert manifest(listed, [RECORD]) == FILES
    with pytest.raises(ValueError, match=r"another w\.safetensors"):
        manifest({"files": [listed["files"][0], {**FILES[1], "sha256": "c" * 64}]}, [RECORD])
    with pytest.raises(ValueError, match="other files"):
        manifest({"files": listed["files"][:1]}, [RECORD])
    with pytest.raises(ValueError, match="model_digest"):
        manifest({}, [RECORD], "d" * 64)
    with pytest.raises(ValueError, match="a record that is none"):
        manifest({}, [{**RECORD, "files": [{"name": "../config.json", "size": 1, "sha256": "a" * 64}]}])
    with pytest.raises(ValueError, match="a listing that is none"):
        manifest({"files": [{}]}, [RECORD])


@pytest.mark.parametrize("said", ["\u00e9" * 10, "v1" * 100, ["v1"], {"a": 1}, 7, "a b", None])
def test_a_revision_that_is_none_is_passed_to_nobody(said):
    odd, other = ({**HAS, "record": {**RECORD, "revision": text}} for text in (said, "v1"))
    assert next_round({"a": odd, "c": LACKS}, SOURCE, FILES)["revision"] == ""
    assert next_round({"a": odd, "b": other, "c": LACKS}, SOURCE, FILES)["revision"] == "v1"


def test_another_host_does_not_choose_what_is_asked(tmp_path):
    """A redirect of a giver would lead root of this host to a service of its own loopback."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "w").write_bytes(b"internal")
    inner = Server(("127.0.0.1", 0), str(tmp_path / "inner"))
    asked = []

    class Giver(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{inner.server_port}/w")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *given):
            pass

    giver = http.server.HTTPServer(("127.0.0.1", 0), Giver)
    for server in (inner, giver):
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with pytest.raises(OSError, match="the server answers 302"):
        Peer(f"http://127.0.0.1:{giver.server_port}", "t0ken").fetch(dict(FILES[1], name="w", size=8), str(tmp_path))
    assert asked == ["/w"] and not os.path.exists(tmp_path / "w")
    for server in (inner, giver):
        server.shutdown()
        server.server_close()


EVIL = [{**FILES[0]}, {**FILES[1], "sha256": "e" * 64}]


@pytest.mark.parametrize("digest", [listing.digest(EVIL), RECORD["digest"]])
def test_of_hosts_that_have_the_model_one_gives_nothing_else_to_the_others(digest):
    """Also the first one, whatever digest it writes into its record; it is named, and hosts that lack the model go on."""
    evil = {**RECORD, "files": EVIL, "digest": digest}
    states = {"a": {**HAS, "record": evil}, "b": HAS, "c": HAS, "d": LACKS}
    files = manifest({}, [state["record"] for state in states.values() if state["record"]])
    assert files == FILES
    found = next_round(states, SOURCE, files)
    assert found["pairs"]["d"] in ("b", "c") and list(found["problems"]) == ["a"]
    evil["digest"] = listing.digest(EVIL)
    assert manifest({}, [evil, {**evil}, RECORD], RECORD["digest"]) == FILES  # what the administrator expects


@pytest.mark.parametrize("wrong", [[], {}, None, [{}], [["config.json"]]])
def test_a_name_that_is_no_text_is_a_record_that_is_none(wrong):
    with pytest.raises(ValueError, match="a record that is none"):
        manifest({}, [{**RECORD, "files": [{**FILES[0], "name": wrong}, FILES[1]]}])


def test_a_host_with_another_content_is_told_why():
    found = next_round({"a": HAS, "b": {**HAS, "record": {**RECORD, "digest": "d" * 64}}}, SOURCE, FILES)
    assert "another content than that of most hosts" in found["problems"]["b"]


class Host:
    """A folder with the model, a server, and a network card of ``rate`` bytes a second."""

    def __init__(self, folder):
        self.path = str(folder / "m")
        folder.mkdir()

    def state(self):
        record = listing.read(self.path)
        return {"exists": os.path.exists(self.path), "record": record, "differences": []}

    def serve(self):
        self.server = Server(("127.0.0.1", 0), self.path, token="t0ken")
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def take(self, address, files, rate):
        delivery.Delivery(self.path, files).bring(Peer(address, "t0ken", rate=rate), SOURCE, "v1")


@pytest.mark.long  # 20 s of waiting, in which nearly nothing is computed
def test_a_tree_of_hosts_takes_as_long_as_its_rounds(tmp_path):
    """The goal: at most 1.5 times the fetch and as many copies as there are rounds."""
    size, rate, count = 2_000_000, 400_000, 8
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "config.json").write_text("{}")
    (origin / "w.safetensors").write_bytes(os.urandom(size))
    files = [
        {"name": name, "size": (origin / name).stat().st_size, "sha256": listing.sha256_of(str(origin / name))[0]}
        for name in ("config.json", "w.safetensors")
    ]
    hosts = {f"h{number}": Host(tmp_path / f"h{number}") for number in range(count)}
    begin, web = time.monotonic(), Server(("127.0.0.1", 0), str(origin), token="t0ken")
    threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True).start()
    hosts["h0"].take(f"http://127.0.0.1:{web.server_port}", files, rate)
    for number in itertools.count():
        found = next_round({name: host.state() for name, host in hosts.items()}, SOURCE, files, number=number)
        if not found["lacking"]:
            break
        addresses = {name: hosts[name].serve() for name in found["sources"]}
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            for taker, giver in found["pairs"].items():
                pool.submit(hosts[taker].take, addresses[giver], files, rate)
        for name in found["sources"]:
            hosts[name].server.shutdown()
    elapsed, least = time.monotonic() - begin, size / rate * (1 + math.ceil(math.log2(count)))
    assert number == math.ceil(math.log2(count))
    assert least * 0.9 <= elapsed <= 1.5 * least


def test_without_the_token_a_host_gets_nothing(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text("{}")
    host = Host(tmp_path / "h")
    host.path = str(tmp_path / "m")
    address = host.serve()
    for token in ("", "t0ke", "t0kenn"):
        with pytest.raises(OSError, match="401"):
            Peer(address, token).fetch({"name": "config.json", "size": 2, "sha256": ""}, str(tmp_path / "h"))
    Peer(address, "t0ken").fetch({"name": "config.json", "size": 2, "sha256": ""}, str(tmp_path / "h"))
    host.server.shutdown()
