# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a plan: what it shows, that it loads nothing, and that no value of a plan becomes markup."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.picture import connectors
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_page import plan_page

VOID = {"meta", "br", "wbr"}


def planned(prefill=2, decode=2, more=None, **variables):
    """The plan of ``prefill`` hosts with an instance each, and of one decode instance over ``decode`` hosts; ``more``: further hosts."""
    pools = {
        "prefill": {"instances": prefill, "data_parallel_size": 2, "tensor_parallel_size": 8, "expert_parallel": True},
        "decode": {"data_parallel_size": 16 * decode, "expert_parallel": True, "load_balancing": "external"},
    }
    words = {
        "inference_model": {"path": "/models/m", "name": "served"},
        "inference_interface": "eth0",
        "inference_pools": pools,
        "inference_secrets": {"api_key": "planted-secret"},
        **variables,
    }
    hosts = {
        f"p{number}": {"groups": ["prefill"], "variables": {"ansible_host": f"192.0.2.{number}"}}
        for number in range(1, prefill + 1)
    }
    hosts.update(
        {
            f"d{number}": {"groups": ["decode"], "variables": {"ansible_host": f"198.51.100.{number}"}}
            for number in range(1, decode + 1)
        }
    )
    return launch_plan(words, {**hosts, **(more or {})})


def test_used_devices_are_printed_and_words_stay_whole():
    """Without exact colours a printer leaves out the ground of white numbers; a box as narrow as a letter divided "Clients"."""
    style = plan_page(PLAN).partition("<style>")[2].partition("</style>")[0]
    printed = style.partition("@media print")[2].partition("@media")[0]
    assert "print-color-adjust: exact" in printed
    box = re.search(r"\.box \{([^}]*)\}", style)[1]
    assert "overflow-wrap: break-word" in box and "min-width" not in box


def test_what_changes_comes_before_the_picture_if_it_is_known():
    text = plan_page(PLAN, {"changes": ["~ decode-0 <restarts>", "  argv - --seed 1"]})
    assert "~ decode-0 &lt;restarts&gt;\n  argv - --seed 1</pre>" in text
    assert text.index("Compared with what is deployed") < text.index("Path of a request")
    assert "Compared with what is deployed" not in plan_page(PLAN)


class Tags(HTMLParser):
    """Collects start tags and text, and complains about tags that do not match."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        """Note a tag with its attributes."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Hold it against the tag that is open."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note visible text."""
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)


def parsed(page):
    """The page, read; all its tags are closed."""
    reader = Tags()
    reader.feed(page)
    assert reader.open == []
    return reader


PLAN = planned()


def test_shows_hosts_pools_devices_and_the_way_of_the_kv_cache():
    words = " ".join(parsed(plan_page(PLAN)).words)
    assert "2 instances, 2 processes, 32 NPUs" in words and "1 instance, 32 processes, 32 NPUs" in words
    assert "KV cache: MooncakeConnectorV1" in words
    assert "load_balance" in words and "p1:8000" in words
    assert "decode-0-0 … decode-0-15" in words


def test_every_used_device_has_a_cell_named_after_its_service():
    cells = [attrs for tag, attrs in parsed(plan_page(PLAN)).tags if tag == "span" and "used" in attrs.get("class", "")]
    planned_devices = [service["name"] for service in PLAN["services"] for dummy in service["devices"]]
    assert sorted(cell["title"] for cell in cells) == sorted(planned_devices)


def test_loads_nothing_and_has_no_secret():
    page = plan_page(PLAN)
    assert not [tag for tag, dummy in parsed(page).tags if tag in ("script", "link", "img", "iframe")]
    assert "planted-secret" not in page and "url(" not in page and "@import" not in page and "src=" not in page


def test_hundred_hosts_have_one_card_each():
    page = plan_page(planned(prefill=60, decode=40))
    assert len(re.findall(r'<div class="host">', page)) == 101  # and one for the router
    assert "p1 … p60 (60 hosts)" in page
    assert len(page) < 400_000


def poisoned(value):
    """The same data with markup in every text."""
    if isinstance(value, dict):
        return {key: poisoned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item) for item in value]
    return f"<b onload='x'>&\"{value}" if isinstance(value, str) else value


def test_every_value_is_escaped():
    plan = copy.deepcopy(PLAN)
    plan["findings"] = [{"severity": "warning", "path": "x", "problem": "m", "id": "I", "value": "", "fix": ""}]
    wrong = poisoned(plan)
    for service, right in zip(wrong["services"], plan["services"], strict=True):
        service["kind"] = right["kind"]
    page = plan_page(wrong)
    parsed(page)
    assert "<b onload" not in page and "&lt;b onload=&#39;x&#39;&gt;" in page
    assert not [attrs for dummy, attrs in parsed(page).tags if "onload" in attrs]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"kv_connector": "A"}, ["A"]),
        (
            {
                "kv_connector": "M",
                "kv_connector_extra_config": {"connectors": [{"kv_connector": "A"}, {"kv_connector": "B"}]},
            },
            ["A", "B"],
        ),
    ],
)
def test_connectors(config, names):
    assert connectors([{"argv": ["vllm", "--kv-transfer-config", json.dumps(config)]}] * 2) == names


def test_what_is_no_json_names_no_connector():
    assert connectors([{"argv": ["--kv-transfer-config", "{"]}]) == []


def test_store_is_named_with_those_who_share_it():
    page = plan_page(planned(inference_kv_transfer="mooncake+store"))
    assert "metadata by mooncake-master on" in page and "shared by prefill and decode" in page
