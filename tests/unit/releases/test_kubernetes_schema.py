# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How published schemas become the notation of the fields of manifests."""

from __future__ import annotations

from ansible_collections.ascend.inference.tests.releases.kubernetes_schema import choices, joined, shape

GO = """
// How it is carried.
// +enum
type Protocol string

const (
	// the usual one
	ProtocolTCP Protocol = "TCP"
	ProtocolUDP Protocol = "UDP"
	Other       Open     = "other"
)

type Port struct {
	Protocol Protocol `json:"protocol,omitempty"`
	More []v1.Protocol `json:"more"`
	Name Open `json:"name"`
}
"""


def test_closed_lists_of_values():
    assert choices(GO) == {"Port": {"protocol": "=TCP|UDP", "more": {"list": "=TCP|UDP"}}}


def test_shapes():
    text, number = {"type": ["string", "null"]}, {"type": "integer", "minimum": 1, "maximum": 9}
    port = {
        "properties": {"port": number, "name": text, "kind": {**text, "default": "x"}},
        "required": ["port", "kind"],
    }
    listed = {"type": "array", "items": port, "x-kubernetes-list-map-keys": ["port", "name"], "maxItems": 2}
    assert shape(listed) == {
        "list": {"port!": "int 1..9", "name": "string", "kind": "string"},
        "key": "port name",
        "most": 2,
    }
    assert shape({"additionalProperties": {"$ref": "#/x/io.k8s.Quantity"}}) == {"*": "quantity"}
    assert shape({"type": "string", "enum": ["A", "B"]}) == "=A|B" and shape({"type": "object"}) == "any"


def test_versions_are_marked():
    old, middle = {"a!": "int", "b": "int"}, {"a!": "int", "b": "int", "c": "int"}
    new = {"a": "int", "b!": "int", "c": "int", "d!": "int"}
    assert joined([old, middle, new], ["1", "2", "3"]) == {
        "a!<3": "int",
        "b!3": "int",
        "c@2": "int",
        "d!@3": "int",
    }
    assert joined([{"a!": "int"}, {"a": "int"}], ["", ""]) == {"a": "int"}  # required is what all require
