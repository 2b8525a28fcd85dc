# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages of a connection: they name the server, the kubeconfig and the context. Only the last test needs the library."""

from __future__ import annotations

import contextlib
import json
import socket
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import client as clients
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.client import Client
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.cluster import UNSEEN, Cluster
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import (
    KubernetesProblem,
    Refused,
    Unreachable,
)


@pytest.fixture
def client():
    """A client whose connection was never made."""
    found = Client.__new__(Client)
    found.url, found.place = "https://10.0.0.1:6443", "context production of /etc/kubeconfig"
    return found


def answer(status, body, reason="Reason", headers=None):
    """What the library raises."""
    return types.SimpleNamespace(status=status, body=body, reason=reason, headers=headers)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (json.dumps({"message": 'pods "a" is forbidden: no'}).encode(), 'pods "a" is forbidden: no'),
        ('{"kind": "Status", "message": "later"}', "later"),
        ("<html>", "<html>"),
        ("[]", "[]"),
        (None, "Reason"),
    ],
)
def test_the_server_s_message_is_kept(client, body, message):
    found = client._refusal(answer(403, body))
    assert (str(found), found.code, found.reason) == (message, 403, "Reason")


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0),
        ({"Retry-After": "-1"}, 0),
        (None, 0),
    ],
)
def test_a_server_says_when_to_come_again(client, headers, wait):
    assert client._refusal(answer(429, "{}", headers=headers)).wait == wait


def test_refused_credentials_name_server_and_context(client):
    text = str(client._refusal(answer(401, '{"message": "Unauthorized"}')))
    for part in ("https://10.0.0.1:6443", "context production", "Unauthorized", "Renew its token"):
        assert part in text


def test_a_page_of_something_else_is_no_answer(client):
    client.text = lambda *_unused: "<!doctype html><title>Log in</title>"
    with pytest.raises(KubernetesProblem, match="https://10.0.0.1:6443 .*something else than JSON.*<!doctype html>"):
        client.request("get", "/api/v1/nodes")


def test_no_answer_and_a_wrong_certificate_are_told_apart(client):
    refused = client._unreachable(types.SimpleNamespace(reason="Connection refused"))
    assert (
        "https://10.0.0.1:6443 of context production of /etc/kubeconfig does not answer (Connection refused)" in refused
    )
    wrong = client._unreachable(OSError("certificate verify failed: CERTIFICATE_VERIFY_FAILED"))
    assert "The certificate of https://10.0.0.1:6443 is not accepted" in wrong


@pytest.mark.parametrize(
    ("code", "text", "passing", "right"),
    [
        (403, 'pods is forbidden: User "u" cannot create resource "pods" in API group ""', False, True),
        (403, 'pods "a" is forbidden: violates PodSecurity restricted', False, False),
        (
            403,
            'pods "a" is forbidden: exceeded quota: q, requested: cpu=32, used: cpu=32, limited: cpu=40',
            False,
            False,
        ),
        (422, "is invalid", False, False),
        (503, "later", True, False),
        (500, "failed to create typed patch object (a/b; v1, Kind=X): .x: field not declared in schema", False, False),
    ],
)
def test_refusals_are_told_apart(code, text, passing, right):
    found = Refused(code, "", text)
    assert (found.is_passing(), found.is_missing_right()) == (passing, right)


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: here, user: me}}}}]
clusters: [{{name: here, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: me, user: {{token: t}}}}]
"""


def test_a_silent_server_is_told_in_half_a_minute(tmp_path, monkeypatch):
    """It accepts connections and answers none: no attempt is multiplied by the library."""
    pytest.importorskip("kubernetes.config", reason="the library of hosts that talk to a cluster")
    pauses, poll = [], 5
    assert UNSEEN * clients.FIRST[1] + poll <= 30 and UNSEEN * clients.FIRST[0] + poll <= 30
    monkeypatch.setattr(clients, "FIRST", (0.2, 0.2))
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(20)
        path = tmp_path / "config"
        path.write_text(KUBECONFIG.format(port=server.getsockname()[1]), encoding="utf-8")
        cluster = Cluster(Client(str(path)), "serving", poll=poll)
        cluster.sleep = pauses.append
        with pytest.raises(Unreachable, match="does not answer"):
            cluster.list("Pod")
        server.settimeout(0.2)
        asked = 0
        with contextlib.suppress(OSError):
            while True:
                server.accept()[0].close()
                asked += 1
    assert (asked, pauses) == (UNSEEN, [poll])
