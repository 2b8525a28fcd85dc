# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the requests of a cluster do with each refusal of a server: which one is an answer, is asked again, gets a fix, or ends the run."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.cluster import ATTEMPTS, TAKEN, Cluster
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import Refused

CONFLICT = "Apply failed with 1 conflict: conflict with \"kubectl\": .data.run.sh"
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
