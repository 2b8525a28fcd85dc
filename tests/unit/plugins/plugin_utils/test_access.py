# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the user of the services can read the model and use the root folder: where that is said, about which hosts, and how."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import access
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.observed import Observed

PROBLEMS = ["/models (mode 0700)", "/models/ds (mode 0750)"]


def service(host, health="/health", **more):
    return {"name": f"s-{host}", "host": host, "devices": [0], "health": health, **more}


def case(found, *services, source="", own_user=True):
    """A case of the hosts n1 and n2, each with the same results ``found``."""
    plan = {
        "hosts": [{"name": "n1"}, {"name": "n2"}],
        "services": list(services),
        "model": {"path": "/models/ds", "source": source},
        "root": "/opt/x",
        "user": "npu",
        "runtime_facts": {"own_user": own_user},
    }
    return Observed(plan, {name: {"host": {"access": found}} for name in ("n1", "n2")})


def denied(**more):
    return {
        "user": "npu",
        "exists": True,
        "models": {"/models/ds": PROBLEMS, "/models/other": ["/else"]},
        "roots": {"/opt/x": ["/opt (mode 0700)", "/opt/x"], "/opt/y": ["/else"]},
        **more,
    }


def rows(found):
    return [(item.path, item.value, item.problem, item.severity, item.fix) for item in found]


def test_each_folder_that_keeps_the_user_from_the_model_is_named():
    found = rows(access.model_access(case(denied(), service("n1"), service("n2"))))
    text = "the services' user npu cannot read /models (mode 0700); /models/ds (mode 0750)"
    assert found == [(name, "/models (mode 0700)", text, "", "") for name in ("n1", "n2")]


def test_who_does_not_exist_yet_is_said_to_be_so():
    found = rows(access.model_access(case(denied(exists=False), service("n1"))))
    assert found[0][2].startswith("the services' user npu, who does not exist yet, cannot read /models ")
    found = rows(access.model_access(case(denied(user=""), service("n1"))))
    assert found[0][2].startswith("the connected user cannot read /models ")


def test_only_hosts_with_a_service_that_answers_have_to_read_the_model():
    services = [service("n1", None), service("n2", None), service("n2")]
    assert [row[0] for row in rows(access.model_access(case(denied(), *services)))] == ["n2"]
    assert rows(access.model_access(case(denied(), service("n1", None)))) == []


@pytest.mark.parametrize("models", [{}, {"/models/ds": []}, {"/models/ds": None}, {"/models/other": PROBLEMS}])
def test_a_model_that_the_user_can_read_is_no_finding(models):
    assert rows(access.model_access(case(denied(models=models), service("n1")))) == []


def test_a_model_that_is_fetched_later_is_not_judged():
    assert rows(access.model_access(case(denied(), service("n1"), source="https://hub/ds"))) == []
    assert rows(access.model_access(case(denied(models=None), service("n1"), source="https://hub/ds"))) == []


def test_without_root_the_answer_is_not_known_on_any_host():
    text = "not tested whether the services' user npu can read the model: only root can become another user"
    expected = [(name, "", text, "remark", "Run the check with --become.") for name in ("n1", "n2")]
    assert rows(access.model_access(case(denied(models=None), service("n1")))) == expected


@pytest.mark.parametrize(("user", "needs"), [("npu", "enter"), ("", "write to")])
def test_what_is_missing_at_the_root_folder(user, needs):
    name = "the services' user npu" if user else "the connected user"
    text = f"{name} cannot {needs} /opt (mode 0700); /opt/x is the deployment's root"
    expected = [(host, "/opt/x", text, "", "") for host in ("n1", "n2")]
    assert rows(access.root_access(case(denied(user=user), service("n1")))) == expected


@pytest.mark.parametrize("roots", [None, {}, {"/opt/x": []}, {"/opt/x": None}, {"/opt/y": ["/opt"]}])
def test_a_root_folder_that_the_user_can_use_is_no_finding(roots):
    assert rows(access.root_access(case(denied(roots=roots), service("n1")))) == []


def judged(case_):
    return [item.path for rule in (access.model_access, access.root_access) for item in rule(case_)]


def test_root_may_do_everything():
    inside = service("n1", container={"user": "root"})
    assert judged(case(denied(), inside, service("n2"))) == ["n2", "n2"]
    mixed = service("n1", container={"user": "npu"})
    assert judged(case(denied(), inside, mixed, service("n2"))) == ["n1", "n2", "n1", "n2"]


def test_a_runtime_without_a_user_of_its_own_is_judged_too():
    assert judged(case(denied(), service("n1"), service("n2"), own_user=False)) == ["n1", "n2", "n1", "n2"]


def test_a_host_without_this_fact_hides_no_other_one():
    one = case(denied(), service("n1"), service("n2"))
    one.facts["n1"]["host"]["access"] = None
    assert judged(one) == ["n2", "n2"]
    one.facts["n1"]["host"].pop("access")
    assert judged(one) == ["n2", "n2"]
