# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing becomes root on the controller: with ``-b`` or ``become`` in ansible.cfg, files there would be root's, or sudo would ask for a password."""

from __future__ import annotations

import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PARTS = ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always")
IN_MEMORY = ("ansible.builtin.set_fact", "ansible.builtin.debug", "ansible.builtin.fail", "ascend.inference.print_text")


def as_root(items, controller=False, become=None):
    """Names of plays and tasks that may become root on the controller; the others are those of the block around."""
    for item in items:
        local = controller or item.get("connection") == "local" or item.get("delegate_to") == "localhost"
        own = item.get("become", become)
        inner = [task for part in PARTS for task in item.get(part) or []]
        if inner or "hosts" in item:
            if item.get("connection") == "local" and own is not False:
                yield item["name"]
            yield from as_root(inner, local, own)
        elif local and own is not False and not any(name in item for name in IN_MEMORY):
            yield item["name"]


def files():
    found = [*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")]
    return {str(path.relative_to(ROOT)): yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER) for path in found}  # noqa: S506 # a safe one


def test_nothing_becomes_root_on_the_controller():
    found = [f"{path}: {name}" for path, items in sorted(files().items()) for name in as_root(items or [])]
    assert found == [], "add become: false"


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"name": "play", "hosts": "localhost", "connection": "local"}, ["play"]),
        ({"name": "play", "hosts": "localhost", "connection": "local", "become": False, "tasks": [{"name": "a"}]}, []),
        ({"name": "play", "hosts": "all", "tasks": [{"name": "a", "delegate_to": "localhost"}]}, ["a"]),
        (
            {"name": "block", "delegate_to": "localhost", "block": [{"name": "a"}, {"name": "b", "become": False}]},
            ["a"],
        ),
        ({"name": "a", "delegate_to": "localhost", "ansible.builtin.set_fact": {}}, []),
        ({"name": "a", "delegate_to": "n1"}, []),
    ],
)
def test_the_search_sees_them(item, found):
    assert list(as_root([item])) == found
