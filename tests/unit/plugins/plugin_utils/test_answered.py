# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that name something on the controller are those of the inventory."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.of_inventory import of_inventory_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.answered import of_controller, of_inventory

INVENTORY, ANSWERED = "/srv/model", "/root/.ssh"


@pytest.mark.parametrize("facts", [{}, None, {"architecture": "aarch64"}])
def test_a_value_of_the_inventory_is_taken(facts):
    assert of_inventory(INVENTORY, facts, "model_origin") == INVENTORY


@pytest.mark.parametrize("value", [ANSWERED, [ANSWERED], {"/a": ANSWERED}])
def test_a_value_that_the_host_answered_is_refused(value):
    with pytest.raises(AnsibleFilterError, match="model_origin names something on the controller"):
        of_inventory_filter(value, {"model_origin": value}, "model_origin")


def test_of_two_facts_with_and_without_prefix_one_is_seen():
    """Ansible makes a variable of the first one, and keeps the second one under the same name."""
    with pytest.raises(ValueError, match="model_origin names something on the controller"):
        of_inventory(ANSWERED, {"model_origin": "x"}, "model_origin")


def test_a_fact_that_an_option_of_a_role_is_made_of_is_seen():
    """The playbook gives inference_entry to the role as entry_settings; keys and certificates are files that it names."""
    with pytest.raises(ValueError, match="the host answered the fact inference_entry"):
        of_inventory({"keys_file": ANSWERED}, {"inference_entry": {"keys_file": ANSWERED}}, "entry_settings")


def test_nothing_is_nothing():
    assert of_inventory("", {"model_origin": ""}, "model_origin") == ""


def test_the_controllers_own_variable_comes_first():
    variables = {"hostvars": {"localhost": {"x": INVENTORY}}, "x": ANSWERED, "ansible_facts": {"x": ANSWERED}}
    assert of_controller(variables, "x", str) == INVENTORY


def test_variables_of_the_host_remain():
    assert of_controller({"hostvars": {"localhost": {}}, "x": INVENTORY, "ansible_facts": {}}, "x", str) == INVENTORY
    assert of_controller({}, "x", str) == ""
    with pytest.raises(ValueError, match="answered the fact x"):
        of_controller({"x": ANSWERED, "ansible_facts": {"x": ANSWERED}}, "x", str)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("files/tls.pem", "/srv/site/files/tls.pem"),
        ("/etc/tls.pem", "/etc/tls.pem"),
        ("~/tls.pem", "~/tls.pem"),
        ("https://example.com/cann", "https://example.com/cann"),
        ("", ""),
        ({"/etc/c.pem": "c.pem"}, {"/etc/c.pem": "/srv/site/c.pem"}),
        (["keys/a", "/b"], ["/srv/site/keys/a", "/b"]),
    ],
)
def test_relative_paths_begin_at_the_folder_of_the_inventory(given, found):
    assert of_inventory_filter(given, {}, "x", "/srv/site") == found


@pytest.mark.parametrize("folder", ["", None])
def test_hosts_of_the_command_line_have_no_folder(folder):
    assert of_inventory_filter("c.pem", {}, "x", folder) == "c.pem"


def test_a_folder_that_the_host_answered_is_refused():
    with pytest.raises(AnsibleFilterError, match="inventory_dir names something on the controller"):
        of_inventory_filter("c.pem", {"inventory_dir": "/root"}, "x", "/root")
