# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of what a host answers, Ansible sees only what the module documents, in its types. The modules' own tests compare that with honest answers."""

from __future__ import annotations

import json
import pathlib

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.module_answer import (
    MOST,
    MOST_VALUES,
    SAID,
    checked,
    documented,
    facts_of_ours,
)

ROOT = pathlib.Path(__file__).resolve().parents[4]
KEYS = documented(
    'RETURN = r"""\nrows:\n  type: list\n  elements: dict\n  contains:\n    size: {type: int}\n    at: {type: float}\nnames:\n  type: dict\n'
    'text:\n  type: str\nwarnings:\n  type: list\n"""\n'
)


def taken(answer, before=""):
    return json.loads(checked(before + json.dumps(answer), KEYS))


def test_an_honest_answer_stays():
    answer = {
        "changed": True,
        "rows": [{"size": 1, "at": 2, "more": "x"}],
        "names": {"a": 1},
        "text": None,
        "diff": {"before": "a\n"},
    }
    assert taken(answer) == answer
    assert taken(answer, before="motd\n") == answer


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", str(2**64), "9" * 30, "9" * 5000]
)
def test_a_number_that_nothing_can_be_computed_with_is_refused(number):
    """Each place that makes an integer, a date or a text of it would have to expect that."""
    found = json.loads(checked('{"changed": false, "names": {"a": [NUMBER]}}'.replace("NUMBER", number), KEYS))
    assert found["failed"] and "number" in found["msg"] and "Fix:" in found["msg"]


def test_half_a_character_is_none():
    """No file and no terminal takes it: a report would end with an error, and with it the run of all hosts."""
    found = json.loads(checked('{"changed": false, "text": "a\\ud800b", "names": {"\\udcff": "\\ud83d\\ude00"}}', KEYS))
    assert found == {"changed": False, "text": "a?b", "names": {"?": "\U0001f600"}}
    assert "\ud800" not in checked("no JSON \ud800", KEYS)


@pytest.mark.parametrize(
    "key",
    [
        "ansible_facts",
        "ansible_stats",
        "add_host",
        "add_group",
        "_ansible_no_log",
        "unreachable",
        "results",
        "ansible_job_id",
    ],
)
def test_what_ansible_would_obey_is_left_out(key):
    assert taken({"changed": False, "text": "a", key: {"inference_allow_pause": True}}) == {
        "changed": False,
        "text": "a",
    }


def test_a_failure_has_no_control_characters_anywhere():
    """Ansible prints all of it, and JSON does not escape what turns a text around."""
    answer = {"failed": True, "msg": "a", "names": {"x\u202e": ["y\u202e"]}}
    assert taken(answer)["names"] == {"x\\u202e": ["y\\u202e"]}
    assert taken({**answer, "failed": False})["names"] == answer["names"]


@pytest.mark.parametrize(
    "said",
    [{"msg": "x" * SAID}, {"msg": ["x"] * SAID}, {"text": "x" * SAID}, {"failed": False, "warnings": ["x"] * SAID}],
)
def test_what_ansible_prints_of_one_answer_buries_nothing(said):
    """A failure is printed whole: one host would hide what all others say behind megabytes of its text."""
    found = taken({"failed": True, "msg": "", **said})
    assert found["failed"] and len(json.dumps(found)) < 2000
    assert "says more than 256 KiB" in found["msg"] and ("xxxx" in found["msg"]) == (said.get("msg", "")[:2] == "xx")


def test_a_long_failure_and_a_long_answer_are_taken():
    assert taken({"failed": True, "msg": "x" * 200_000})["msg"] == "x" * 200_000
    assert taken({"text": "x" * SAID})["text"] == "x" * SAID


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ({"rows": {}}, "rows is not a list"),
        ({"rows": [[]]}, "rows[0] is not a mapping"),
        ({"rows": [{"size": "1"}]}, "rows[0].size is not a number"),
        ({"rows": [{"size": True}]}, "rows[0].size is not a number"),
        ({"names": []}, "names is not a mapping"),
        ({"text": 1}, "text is not a text"),
        ({"changed": "no"}, "changed is not true or false"),
        ({"warnings": "x"}, "warnings is not a list"),
    ],
)
def test_a_wrong_form_fails_on_this_host(answer, wrong):
    found = taken(answer)
    assert found["failed"] and wrong in found["msg"] and "rows" not in found


@pytest.mark.parametrize("output", ["{" + '"text": ' + "[" * 200_000, '{"text": ' + "9" * 5000 + "}", "{" + "x" * MOST])
def test_an_answer_has_limits(output):
    found = json.loads(checked(output, KEYS))
    assert found["failed"] and "is not used" in found["msg"]


@pytest.mark.parametrize("value", ["[]", '""', "{}", "0"])
def test_the_values_of_an_answer_are_counted(value):
    """Of each byte, the controller made an object of 30 to 60 bytes."""
    answer = '{"text": [' + ",".join([value] * (MOST_VALUES + 1)) + "]}"
    assert len(answer) < MOST and "more than 4194304 values" in json.loads(checked(answer, KEYS))["msg"]


def test_a_module_may_document_a_key_of_ansible_in_another_type():
    """As port_probe does with ``failed``: a failure of it is one nevertheless."""
    keys = {"failed": {"type": "dict"}}
    assert [json.loads(checked(json.dumps({"failed": item}), keys))["failed"] for item in (True, {"80": "x"})] == [
        True,
        {"80": "x"},
    ]
    assert "failed is not a mapping" in checked('{"failed": 1}', keys)


def test_printed_texts_have_no_control_characters():
    bad = "a\x1b[2J\u202eb"
    answer = {"msg": bad, "warnings": [bad, {"event": {"msg": bad}}], "exception": bad, "diff": [{"before": bad}]}
    assert "\x1b" not in json.loads(json.dumps(taken(answer), ensure_ascii=False)).__repr__().replace("\\x1b", "")
    assert (
        taken(answer)["warnings"][0] == "a\\x1b[2J\\u202eb"
        and taken(answer)["diff"][0]["before"] == "a\\x1b[2J\\u202eb"
    )
    assert checked("no JSON \x1b[2J", KEYS) == "no JSON \\x1b[2J"


def test_names_of_variables_are_no_facts():
    ours = [
        "inference_allow_pause",
        "__inference_substitute",
        "__service_plan",
        "service_plan",
        "model_origin",
        "kthena_image",
    ]
    ansibles = [
        "service_mgr",
        "discovered_interpreter_python",
        "distribution",
        "system_vendor",
        "virtualization_role",
        "kernel",
        "local",
    ]
    assert facts_of_ours(dict.fromkeys(ours + ansibles)) == sorted(ours)
    assert facts_of_ours(None) == facts_of_ours([None, 1]) == []


def test_each_role_has_its_prefix():
    roles = [path.name for path in (ROOT / "roles").iterdir() if path.is_dir()]
    assert facts_of_ours(f"{role}_x" for role in roles) == sorted(f"{role}_x" for role in roles)


def test_each_module_that_asks_a_host_has_the_action():
    """Or one of its own, whose class is the same."""
    routed = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["plugin_routing"]["modules"]
    actions = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "plugins/action").glob("*.py")}
    modules = {path.stem for path in (ROOT / "plugins/modules").glob("*.py")} - {"__init__"}
    asked = {name for name, text in actions.items() if "class ActionModule(Asked" in text}
    on_controller = {"bundle", "plan", "print_text"}  # run no module
    assert set(routed) == modules - set(actions) and asked == set(actions) - on_controller
    assert all(each == {"action_plugin": "ascend.inference.host_info"} for each in routed.values())
    assert all("_execute_module" not in actions[name] for name in on_controller)
    assert all(
        documented((ROOT / f"plugins/modules/{name}.py").read_text(encoding="utf-8"))
        for name in modules - {"grafana_dashboard", "model_share", "print_text", "source_archive"}
    )
