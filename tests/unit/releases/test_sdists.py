# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Digests of source distributions: the data, the plan that carries them, and the collector on a local package index."""

from __future__ import annotations

import http.server
import json
import re
import threading

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.sdists import sdists
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.sdists_data import SDISTS
from ansible_collections.ascend.inference.tests.releases import compare
from ansible_collections.ascend.inference.tests.releases import sdists as collector


@pytest.mark.parametrize("release", compare.FIRST_CLASS)
def test_first_class_releases_have_the_digests_of_both_packages(release):
    vllm = RELEASES[release].vllm
    found = sdists(vllm, release)
    assert set(found) == {f"vllm=={vllm}", f"vllm-ascend=={release}"}
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in found.values())


def test_every_line_is_another_file():
    rows = [line.split("|") for line in SDISTS.split()]
    assert (
        len({(name, version) for name, version, _digest in rows})
        == len({digest for *_place, digest in rows})
        == len(rows)
    )


def test_the_plan_carries_the_digests():
    variables = {
        "inference_release": "0.23.0",
        "inference_hardware": "a2",
        "inference_model": {"path": "/models/m", "name": "m"},
        "inference_interface": "eth0",
        "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}},
    }
    hosts = {
        name: {"groups": [group], "variables": {"ansible_host": address}}
        for name, group, address in (("n1", "prefill", "10.0.0.1"), ("n2", "decode", "10.0.0.2"))
    }
    engine = launch_plan(variables, hosts)["software"]["engine"]
    assert engine["sdists"] == sdists(engine["version"], "0.23.0") and len(engine["sdists"]) == 2


class Index(http.server.BaseHTTPRequestHandler):
    """A package index with pages in JSON."""

    def do_GET(self):
        assert self.headers["Accept"] == collector.JSON
        names = {
            "/simple/vllm/": {
                "vllm-0.23.0.tar.gz": "1" * 64,
                "vllm-0.23.0-cp38-abi3-linux.whl": "2" * 64,
                "vllm-99.tar.gz": "3" * 64,
            },
            "/simple/vllm-ascend/": {"vllm_ascend-0.23.0.tar.gz": "4" * 64, "vllm-ascend-0.18.0.tar.gz": "5" * 64},
        }[self.path]
        files = [{"filename": name, "hashes": {"sha256": digest}} for name, digest in names.items()]
        body = json.dumps({"files": files}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        """Be silent."""


@pytest.fixture(name="digests", scope="module")
def _digests():
    with http.server.HTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/simple/"
        yield {package: collector.published(url, package) for package in collector.wanted()}
        server.shutdown()


def test_the_collector_reads_source_distributions_of_the_matrix(digests):
    assert digests["vllm"] == {"0.23.0": "1" * 64, "99": "3" * 64}
    assert sorted(collector.lines(digests)) == [
        f"vllm-ascend|0.18.0|{'5' * 64}",
        f"vllm-ascend|0.23.0|{'4' * 64}",
        f"vllm|0.23.0|{'1' * 64}",
    ]


def test_differences_of_data_and_index_are_named(digests):
    data = f"vllm|0.23.0|{'9' * 64}\nvllm|0.13.0|{'8' * 64}\nvllm-ascend|0.23.0|{'4' * 64}\n"
    assert collector.differences(data, digests) == [
        "vllm 0.13.0: the index has no source distribution any more",
        f"vllm 0.23.0: the index has the source distribution {'1' * 64}, the data {'9' * 64}",
        f"vllm-ascend 0.18.0: the data lacks the source distribution {'5' * 64}",
    ]


def test_a_known_digest_is_never_replaced(digests, tmp_path):
    path = tmp_path / "data.py"
    collector.write(path, f"vllm|0.23.0|{'9' * 64}\nvllm|0.13.0|{'8' * 64}\n", digests)
    written: dict[str, str] = {}
    exec(path.read_text(encoding="utf-8"), written)
    assert written["SDISTS"].split() == [
        f"vllm|0.13.0|{'8' * 64}",
        f"vllm|0.23.0|{'9' * 64}",
        f"vllm-ascend|0.18.0|{'5' * 64}",
        f"vllm-ascend|0.23.0|{'4' * 64}",
    ]
    assert path.read_text(encoding="utf-8").startswith("# Copyright")
