# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host brings a model first: never the one that has it, which would find its own folder in the way."""

from __future__ import annotations

import pathlib

import jinja2
import pytest
import yaml

VARS = pathlib.Path(__file__).resolve().parents[2] / "roles" / "model" / "vars" / "main.yml"
FETCHES = yaml.safe_load(VARS.read_text(encoding="utf-8"))["__model_fetches"]


@pytest.mark.parametrize(
    ("given", "giver", "holders", "first"),
    [
        ("", "", [], "n1"),
        ("n2", "", [], "n2"),
        ("n3", "n3", [], "n1"),  # it was to fetch from a hub before, and has the model now
        ("n2", "n3", [], "n2"),
        ("localhost", "n3", [], "n1"),  # the controller fetches from hubs, and the model is on a host
        ("n2", "", ["n1"], None),  # a host has it by an earlier run, and passes it on
    ],
)
def test_the_host_that_brings_the_model_first(given, giver, holders, first):
    known = {
        "model_fetch_host": given,
        "__model_giver_name": giver,
        "__model_holders": holders,
        "__model_hosts": ["n1", "n2"],
        "ansible_play_hosts": ["n1", "n2"],
    }
    rendered = {
        host: jinja2.Template(FETCHES).render(inventory_hostname=host, **known).strip() for host in ("n1", "n2", "n3")
    }
    assert [host for host, text in rendered.items() if text == "True"] == ([first] if first else [])
