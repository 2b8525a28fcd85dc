# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that would break out of a unit, a configuration, a command or a terminal are refused, and are shown as escapes."""

from __future__ import annotations

import dataclasses
import types
import typing as t

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import visible
from ansible_collections.ascend.inference.plugins.plugin_utils.description import variables
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding, PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.kubernetes import Kubernetes
from ansible_collections.ascend.inference.plugins.plugin_utils.description.texts import KINDS, problem_of
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

NOTHING = types.NoneType
CONTROLS = ("\n", "\r", "\x00", "\x1b[2J", "\x7f", "\x9b", "\u2028", "\u202e")


def refused(changes, name="p2p"):
    """Ids and paths of what a plan is refused for."""
    try:
        launch_plan(*family(name, changes))
    except PlanError as error:
        return {(finding.id, finding.path) for finding in error.findings}
    return set()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("inference_user", "svc\nExecStartPre=+/bin/touch /tmp/x"),
        ("inference_user", "-svc"),
        ("inference_user", "a b"),
        ("inference_user", "%h"),
        ("inference_user", "svc\n"),
        ("inference_image", "--privileged"),
        ("inference_image", "-v=/:/host"),
        ("inference_image", "image --privileged"),
        ("inference_image", "image;reboot"),
        ("inference_router.frontend_bind", "0.0.0.0:1; include /etc/passwd; #"),
        ("inference_router.frontend_bind", "-1.2.3.4"),
        ("inference_router.frontend_bind", "fe80::1%a;b"),
        ("inference_router.bind", "10.0.0.1 --insecure"),
        ("inference_interface", "eth0;x"),
        ("inference_cann_path", '/usr/local/$(id)"'),
        ("inference_cann_path", "/usr/local/`id`"),
        ("inference_cann_path", "-x"),
        ("inference_container.mounts", ["--privileged"]),
        ("inference_container.shm_size", "16g --privileged"),
        ("inference_release", "../../etc"),
        ("inference_engine_version", "0.1 --index-url=http://x"),
        ("node1.ansible_host", "1.2.3.4\nExecStart=/bin/x"),
        ("node1.ansible_host", "-oProxyCommand=x"),
        ("node1.inference_address", "10.0.0.1; x"),
        ("node1.inference_interface", "eth0\nx"),
    ],
)
def test_a_value_that_could_break_out_is_refused_at_its_place(path, value):
    where = f"{path}[0]" if isinstance(value, list) else path
    assert ("VARIABLE-TEXT", where) in refused({path: value})


@pytest.mark.parametrize("path", ["namespace", "secrets.existing", "service_account"])
@pytest.mark.parametrize("value", ["a/../../kube-system", "..", "a?x=y", "-n", "a b", "A", "a."])
def test_the_name_of_an_object_is_no_path_of_the_cluster(path, value):
    """Names are parts of paths at the API server, which is asked with the rights of the operator."""
    place = f"inference_kubernetes.{path}"
    assert ("VARIABLE-TEXT", place) in refused({place: value}, "kubernetes")


def texts_of(record, path):
    """Paths of every text of a record, and of the records within."""
    hints = t.get_type_hints(record)
    for field in dataclasses.fields(record):
        kind, place = hints[field.name], f"{path}.{field.name}"
        if NOTHING in t.get_args(kind):
            kind = next((part for part in t.get_args(kind) if part != NOTHING), kind)
        if dataclasses.is_dataclass(kind):
            yield from texts_of(kind, place)
        elif kind is str and "choices" not in field.metadata:
            yield place


TEXTS = [place.replace("inference.", "inference_", 1) for place in texts_of(variables.Description, "inference")]


@pytest.mark.parametrize("path", TEXTS)
def test_no_text_of_a_description_may_have_control_characters(path):
    assert len(TEXTS) > 40
    for control in CONTROLS:
        findings = variables.read_description(family("p2p", {path: f"a{control}b"})[0])[1]
        assert ("VARIABLE-TEXT", path) in {(finding.id, finding.path) for finding in findings}, repr(control)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("inference_args.chat-template", "a\x00b"),
        ("inference_args.additional-config", {"a": ["x", "b\x1b[2J"]}),
        ("inference_pools.decode.hosts.node3.args.seed", "1\x00"),
        ("inference_router.args.x", "\x9b"),
        ("inference_store.options.x", "\x1b"),
        ("inference_secrets.api_key", "geheim\x00"),
    ],
)
def test_free_data_may_have_lines_but_no_other_control_characters(path, value):
    found = refused({path: value})
    assert {place.split("[")[0] for id_, place in found if id_ == "VARIABLE-TEXT"} <= {path, f"{path}.a"}
    assert "VARIABLE-TEXT" in {id_ for id_, _place in found}


def test_a_secret_is_not_shown_with_what_is_wrong_in_it():
    with pytest.raises(PlanError) as caught:
        launch_plan(*family("p2p", {"inference_secrets": {"api_key": "geheim\x00", "client_keys": "wort"}}))
    assert "U+0000 at position 7" in str(caught.value) and "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["inference_args", "inference_env", "inference_router.env", "inference_secrets", "inference_pools.decode.hosts"],
)
def test_names_in_free_data_have_no_lines(path):
    assert ("VARIABLE-TEXT", path) in refused({path: {"x\nExecStart=y": {}}})


def test_a_name_of_a_host_is_no_way_out_either():
    words, inventory = family("p2p", {})
    inventory["node9\x1b[2J\nx"] = {"groups": ["decode"], "variables": {"ansible_host": "10.1.0.9"}}
    with pytest.raises(PlanError) as caught:
        launch_plan(words, inventory)
    assert "VARIABLE-TEXT" in str(caught.value) and "\x1b" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_refuses_what_ends_a_line_and_what_looks_like_an_option(kind):
    for text in ("-x", "--privileged", "a\n", "\na", "a;b c", 'a"b', "a$(id)", "a`id`", " a", "a\x00"):
        assert problem_of(text, kind), text
    assert not problem_of("", kind)


@pytest.mark.parametrize(
    ("kind", "texts"),
    {
        "address": (
            "10.0.0.1",
            "::",
            "fd00::1",
            "fe80::1%eth0",
            "0.0.0.0",
            "localhost",
            "node-1.example.org",
            "node_1",
        ),
        "directory": ("/", "/usr/local/Ascend", "/opt/a+b/c@d_1.2"),
        "group": ("decode", "_x", "a3-1"),
        "image": ("a", "quay.io/ascend/vllm-ascend:v0.23.0-a3", "localhost:5000/x@sha256:0123", "[fd00::1]:5000/x:y"),
        "interface": ("eth0", "bond0.100", "enp1s0:1", "br-lan"),
        "mount": ("/a:/b", "/a b:/c:ro", "data:/x:rw,z"),
        "namespace": ("default", "team-1", "0", "a" * 63),
        "object": ("default", "team-1", "a.b-c.d", "0"),
        "release": ("0.23.0", "main", "0.22.1rc1", "0.9.1+site"),
        "size": ("16g", "64Gi", "1.5 GB", "1024"),
        "user": ("svc", "ascend-inference", "_x", "Dom.User"),
    }.items(),
)
def test_usual_values_are_of_their_kind(kind, texts):
    for text in texts:
        assert not problem_of(text, kind), text


@pytest.mark.parametrize("text", ["my.models", "My-Models", "-a", "a-", "a" * 64])
def test_a_namespace_is_one_label(text):
    """It is a part of the names of services, in which a dot would begin another one."""
    assert problem_of(text, "namespace")
    assert refused({"inference_kubernetes.namespace": text}, "kubernetes") == {
        ("VARIABLE-TEXT", "inference_kubernetes.namespace")
    }


def test_a_word_of_the_cluster_is_read_the_same_way():
    assert Kubernetes
    assert ("VARIABLE-TEXT", "inference_kubernetes.router.image") in refused(
        {"inference_kubernetes.router.image": "-x"}, "kubernetes"
    )
    annotated = {"inference_kubernetes.annotations": {"a": "two\nlines"}}
    assert "VARIABLE-TEXT" not in {id_ for id_, _path in refused(annotated, "kubernetes")}


def test_control_characters_of_others_are_shown_as_escapes():
    assert visible("a\x1b]0;x\x07\tb\nc\x9b\u202e") == "a\\x1b]0;x\\x07\tb\nc\\x9b\\u202e"
    assert visible("模型 é ok") == "模型 é ok"
    finding = Finding.from_dict(
        {"path": "node1", "id": "PORT-TAKEN", "problem": "python3 \x1b[2J evil", "value": "\x07"}
    )
    assert finding.text() == "node1 = \\x07: python3 \\x1b[2J evil. [PORT-TAKEN]"


def test_no_text_has_a_character_that_is_shown_as_an_escape():
    """What a terminal must not get is not planned either; newline and tab may be in quoted values."""
    shown = [chr(code) for code in range(0x10000) if visible(chr(code)) != chr(code)]
    assert len(shown) > 2000
    assert [char for char in shown if not problem_of(char) or not problem_of(char, lines=True)] == []


@pytest.mark.parametrize(
    "path",
    ["inference_model.name", "inference_env.A", "inference_args.chat-template", "inference_root", "node1.ansible_host"],
)
@pytest.mark.parametrize("char", ["\ud800", "\u061c"])
def test_half_a_character_is_refused_and_no_error_of_the_planner(path, char):
    assert {id_ for id_, dummy in refused({path: f"/a{char}"})} == {"VARIABLE-TEXT"}
