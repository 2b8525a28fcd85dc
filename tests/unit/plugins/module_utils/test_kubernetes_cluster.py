# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the requests of a cluster do with each refusal of a server: which one is an answer, is asked again, gets a fix, or ends the run."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import deploy
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.cluster import ATTEMPTS, AWAY, TAKEN, Cluster
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import (
    KubernetesProblem,
    Refused,
    Unreachable,
)

CONFLICT = 'Apply failed with 1 conflict: conflict with "kubectl": .data.run.sh'
MANIFEST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"}, "data": {}}


class Server:
    """Refuses each request in the same way; counts them."""

    def __init__(self, code, message=""):
        self.code, self.message, self.asked = code, message, 0

    def request(self, *_arguments):
        self.asked += 1
        raise Refused(self.code, "Reason", self.message)


def refusing(code, message=""):
    """The server, and a cluster whose clock moves by a minute with each look."""
    server = Server(code, message)
    cluster, minutes = Cluster(server, "serving"), iter(range(99))
    cluster.sleep, cluster.now = lambda _seconds: None, lambda: 60.0 * next(minutes)
    return server, cluster


@pytest.mark.parametrize(
    ("more", "code", "message", "is_offered"),
    [
        ({}, 409, CONFLICT, True),
        ({"immutable": False}, 409, CONFLICT, True),
        ({"immutable": True}, 409, CONFLICT, False),  # nobody can take its fields over
        ({}, 409, "the object has been modified", False),
        ({}, 422, CONFLICT, False),
    ],
)
def test_taking_fields_over_is_offered_where_it_helps(more, code, message, is_offered):
    _server, cluster = refusing(code, message)
    with pytest.raises(Refused) as refused:
        cluster.apply(dict(MANIFEST, **more))
    assert refused.value.code == code and str(refused.value).startswith(message)
    assert (TAKEN in str(refused.value)) == is_offered


# What a request does with a refusal: a value, or "raised". Codes of PASSING are asked again, and are no answer of the server to the question.
PASSING = (408, 429, 500, 502, 503, 504)
CODES = (401, 403, 404, 409, 422, *PASSING)
ANSWERS = {
    "get": {404: None},
    "serves": {403: None, 404: False},
    "list": {404: []},
    "may": {code: True for code in CODES if code not in PASSING},  # then the request itself is answered
    "delete": {404: None},
    "everywhere": {},
    "create": {},
    "apply": {},
}
CALLS = {
    "get": lambda cluster: cluster.get("ConfigMap", "scripts"),
    "serves": lambda cluster: cluster.serves("Deployment"),
    "list": lambda cluster: cluster.list("Pod"),
    "may": lambda cluster: cluster.may("create", "Pod"),
    "delete": lambda cluster: cluster.delete(MANIFEST),
    "everywhere": lambda cluster: cluster.everywhere("Node"),
    "create": lambda cluster: cluster.create(MANIFEST),
    "apply": lambda cluster: cluster.apply(MANIFEST),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_refusal_is_an_answer_only_where_it_says_one(call, code):
    server, cluster = refusing(code)
    try:
        found = CALLS[call](cluster)
    except Refused as error:
        assert error.code == code
        found = "raised"
    assert found == ANSWERS[call].get(code, "raised")
    assert server.asked == (ATTEMPTS if code in PASSING else 1 + (call == "may")), "for all rules, and for this one"


class Away:
    """Answers once, and then for a time not at all."""

    def __init__(self, silent_until):
        self.seconds, self.silent_until, self.asked = 0.0, silent_until, 0

    def request(self, *_arguments):
        self.asked += 1
        if self.asked > 1 and self.seconds < self.silent_until:
            raise Unreachable("no route to host")
        return {"items": []}

    def sleep(self, seconds):
        self.seconds += seconds


@pytest.mark.parametrize(("silent_until", "is_back"), [(AWAY - 5, True), (AWAY + 60, False)])
def test_a_server_that_has_answered_may_be_away_for_a_minute(silent_until, is_back):
    server = Away(silent_until)
    cluster = Cluster(server, "serving")
    cluster.sleep, cluster.now = server.sleep, lambda: server.seconds
    assert cluster.list("Pod") == []
    if is_back:
        assert cluster.list("Pod") == []
    else:
        with pytest.raises(Unreachable):
            cluster.list("Pod")
        assert AWAY <= server.seconds < AWAY + 10


@pytest.mark.parametrize(("code", "text"), [(401, "The dry run of"), (503, "The dry run of"), (422, ""), (403, "")])
def test_a_dry_run_that_says_nothing_about_the_object_ends_the_run(code, text):
    """Credentials that have expired, or a server that is busy; other refusals are listed, each with its object."""
    deployment = deploy.Deployment.__new__(deploy.Deployment)
    deployment.warnings = []

    def refuse(_manifest, _dry):
        raise Refused(code, "Reason", "no")

    if text:
        with pytest.raises(KubernetesProblem, match=f"{text} ConfigMap/scripts failed, so nothing was applied"):
            deployment._tried(MANIFEST, refuse)
    else:
        (found,) = deployment._tried(MANIFEST, refuse)
        assert found.startswith("The server would refuse ConfigMap/scripts")
