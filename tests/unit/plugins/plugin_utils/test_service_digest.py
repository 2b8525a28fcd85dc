# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service restarts for what its process has at the start, and for nothing else: every field of the plan's service is one or the other."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.service import (
    File,
    Health,
    MembersFiles,
    Port,
    Service,
    Start,
    Stop,
)

SERVICE = Service(
    name="prefill-0",
    kind="prefill",
    host="node1",
    address="10.0.0.1",
    argv=("vllm", "serve"),
    env={"A": "1"},
    work_directory="/srv/x",
    start=Start(1),
)
SCRIPT = File("/srv/x/members.py", "")
STARTED_WITH = {
    "argv": ("vllm", "serve", "--port=1"),
    "env": {"A": "2"},
    "secret_env": {"KEY": "api_key"},
    "source": ("/opt/set_env.sh",),
    "files": (File("/srv/x/mooncake.json", "{}"),),
    "container": {"image": "x"},
    "start": Start(1, limits={"nofile": 1}),
    "peers": ("10.0.0.1", "10.0.0.2"),
}
# What the playbooks, the runtime or other services need to know; a change of it takes effect without a restart, or comes with one of argv.
BESIDE = {
    "name": "prefill-1",
    "kind": "decode",
    "host": "node2",
    "address": "10.0.0.2",
    "work_directory": "/srv/y",
    "health": Health("http://10.0.0.1:1/health"),
    "instance": 1,
    "rank": 1,
    "devices": (0,),
    "ports": (Port("api", 1),),
    "stop": Stop("INT", 9),
    "unit": "x.service",
    "log": {"kind": "file"},
    "digest_file": "/srv/x/digest",
    "starts_file": "/srv/x/starts",
    "code_directory": "/srv/x/code",
    "pause_file": "/srv/x/pause",
}
ELSEWHERE = {"members", "link_watch"}  # below, and an optional program with settings of its own


def digest(**changes):
    return dataclasses.replace(SERVICE, **changes).as_dict()["digest"]


def test_every_field_is_judged():
    assert {field.name for field in dataclasses.fields(Service)} == {*STARTED_WITH, *BESIDE, *ELSEWHERE}


@pytest.mark.parametrize("name", STARTED_WITH)
def test_what_the_process_starts_with_restarts_it(name):
    assert digest(**{name: STARTED_WITH[name]}) != digest()


@pytest.mark.parametrize("name", BESIDE)
def test_anything_else_does_not(name):
    assert digest(**{name: BESIDE[name]}) == digest()


def test_stage_and_needs_are_for_the_playbook():
    assert digest(start=Start(2, ("mooncake_master",))) == digest()


def test_a_router_whose_members_change_at_run_time_does_not_restart_for_them():
    """Its command names the engines, and the one of the digest does not."""
    members = MembersFiles(argv=("router",), script=SCRIPT)
    assert digest(members=members, argv=("router", "e1")) == digest(members=members, argv=("router", "e1", "e2"))
    assert digest(members=members) != digest(members=dataclasses.replace(members, argv=("router", "--port=1")))
