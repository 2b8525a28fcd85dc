# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each row of the guide "Security" about who can do what, and about what disturbs a run, has tests that try it."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The row's role: the tests of what it says is protected, as FILE::FUNCTION below tests/.
TESTS = {
    "A client without a key": ["integration/test_frontend.py::test_keys_open_the_door_and_stay_inside"],
    "A client with a key": [
        "integration/test_frontend.py::test_a_client_reaches_the_listed_paths_and_no_other",
        "integration/test_frontend.py::test_clients_choose_neither_rank_nor_request_id_nor_host",
        "integration/test_frontend.py::test_the_rate_of_one_key_is_limited_and_others_are_not",
    ],
    "Any machine in the cluster's network": [
        "unit/test_units.py::test_a_unit_has_no_value_of_the_environment_or_the_command",
        "unit/test_secret_tasks.py::test_a_task_that_passes_a_secret_hides_it",
    ],
    "A compromised service": [
        "unit/test_units.py::test_little_is_left_open",
        "unit/test_units.py::test_an_engine_cannot_change_what_is_obeyed_in_its_user_s_home",
        "unit/plugins/module_utils/test_support_logs.py::test_logs_of_cann_lead_root_nowhere_wherever_they_are",
        "unit/plugins/modules/test_trusted_files.py::test_a_planted_plan_is_not_read",
        "unit/plugins/module_utils/test_support_logs.py::test_a_second_name_of_another_user_s_file_is_not_read",
        "unit/plugins/plugin_utils/test_terminal.py::test_the_status_of_a_hostile_service_is_a_safe_table",
    ],
    "Who may write to the folder of a bundle": [
        "integration/test_bundle.py::test_only_a_bundle_with_the_signature_of_the_key_is_accepted",
        "integration/test_bundle.py::test_what_is_swapped_after_the_verification_reaches_no_host",
        "unit/plugins/modules/test_bundle_files.py::test_a_folder_in_which_others_could_swap_files_is_refused",
    ],
    "Who may write ConfigMaps of the namespace": [
        "unit/plugins/module_utils/test_kubernetes_state.py::test_a_record_that_somebody_changed_is_not_applied",
    ],
    "Root of a managed host": [
        "cores/test_hostile.py::test_facts_name_nothing_on_the_controller",
        "cores/test_hostile.py::test_facts_with_names_of_variables_end_on_their_host",
        "cores/test_hostile.py::test_texts_are_only_texts",
        "unit/plugins/plugin_utils/test_module_answer.py::test_what_ansible_would_obey_is_left_out",
        "unit/plugins/plugin_utils/test_module_answer.py::test_a_number_that_nothing_can_be_computed_with_is_refused",
        "unit/plugins/plugin_utils/test_module_answer.py::test_half_a_character_is_none",
        "unit/plugins/plugin_utils/test_run.py::test_nobody_is_told_to_type_what_a_host_wrote",
        "unit/plugins/plugin_utils/test_agreed.py::test_nobody_is_told_to_set_a_release_that_a_host_wrote",
        "unit/plugins/plugin_utils/test_agreed.py::test_of_two_hosts_none_decides_what_runs_on_the_other",
        "unit/plugins/plugin_utils/test_placement_agreed.py::test_of_two_hosts_none_decides_what_runs_on_the_other",
        "integration/test_hostile_records.py::test_orders_of_a_forged_plan_are_followed_by_nobody",
        "integration/test_hostile_records.py::test_remove_goes_where_the_deployment_is",
        "cores/test_hostile.py::test_a_bad_answer_costs_that_host_only",
        "unit/test_values_of_hosts.py::test_hosts_name_no_place_of_the_controller",
        "unit/test_values_of_hosts.py::test_what_a_host_answers_becomes_facts_of_no_other_host",
        "integration/test_upgrade.py::test_one_host_neither_imposes_a_plan_nor_prevents_a_rollback",
    ],
    "A user of a host": [
        "unit/plugins/modules/test_service_files.py::test_modes_owners_and_results_are_those_that_are_documented"
    ],
    "The author of a model": [
        "integration/test_model.py::test_an_archive_brings_no_rights_and_replaces_no_file_of_root",
        "integration/test_model.py::test_an_archive_brings_no_devices_and_pipes",
    ],
    "A hub of models, or who changes its answers": [
        "integration/test_model_hubs.py::test_a_listing_that_leads_elsewhere_is_refused_before_a_file_is_fetched",
        "integration/test_model_hubs.py::test_a_refusal_names_the_fix_and_no_token",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_the_digests_are_those_of_the_hub",
    ],
    "A host that hands a model on": [
        "integration/test_model_passed_on.py::test_a_host_with_a_damaged_file_gives_it_to_nobody",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_a_host_with_something_else_is_named_and_gives_nothing",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_without_the_token_a_host_gets_nothing",
    ],
    "The owner of a folder above a model": [
        "integration/test_model.py::test_who_owns_a_folder_above_leads_root_nowhere"
    ],
    "The author of variables": [
        "integration/test_unit_values.py::test_a_value_with_a_line_end_a_control_character_or_an_option_is_refused",
        "integration/test_frontend_keys.py::test_a_client_key_that_nginx_could_read_as_configuration_is_refused",
    ],
}

# What happens during a run: the tests of what follows.
DISTURBANCES = {
    "A disk is full": [
        "integration/test_full_disk.py::test_files_are_old_or_new_and_the_next_call_completes_them",
        "integration/test_full_disk.py::test_the_message_names_the_disk_and_the_fix",
        "integration/test_full_disk.py::test_a_file_of_the_controller_is_the_old_or_the_new_one",
    ],
    "A clock is set": [
        "unit/plugins/module_utils/test_watchdog.py::test_a_clock_that_was_set_back_restarts_nothing_and_is_said",
        "unit/plugins/module_utils/test_probe.py::test_a_clock_that_is_set_makes_no_engine_stuck_and_hides_none",
        "unit/plugins/module_utils/test_drill.py::test_a_fault_counts_its_seconds_without_the_clock",
    ],
    "A run is killed": [
        "integration/test_lock.py::test_the_lock_of_a_killed_run_is_taken_over",
        "integration/test_lock.py::test_a_lock_of_another_controller_is_broken_on_demand_only",
        "integration/test_interruptions.py::test_any_stage_and_any_write",
    ],
    "A host boots in the middle": [
        "integration/test_lock.py::test_a_host_that_is_lost_while_services_change_stops_the_run_and_not_the_next_one",
        "unit/test_units.py::test_a_service_starts_with_its_host",
    ],
    "Two controllers change one deployment": [
        "integration/test_lock.py::test_of_two_runs_at_once_one_succeeds_and_one_is_refused",
        "integration/test_lock.py::test_a_lock_of_another_controller_is_broken_on_demand_only",
    ],
    "``become_method: su``": ["integration/test_become_su.py::test_a_module_and_a_command_run_through_su"],
    "``sudo`` asks for a terminal (``requiretty``)": [],  # its row says that it was never tried
    "The API server of a Kubernetes cluster lies": [
        "unit/plugins/module_utils/test_kubernetes_client.py::test_a_page_of_something_else_is_no_answer",
        "unit/plugins/module_utils/test_kubernetes_client.py::test_no_answer_and_a_wrong_certificate_are_told_apart",
    ],
}


def rows(begin, end):
    """The first column of a table, and its rows."""
    guide = (ROOT / "docs/docsite/rst/guide_security.rst").read_text(encoding="utf-8")
    table = f"{guide}\n{END}".split(f"{begin}\n", 1)[1].split(f"{end}\n", 1)[0]
    found = re.split(r"^ {3}\* - ", table, flags=re.MULTILINE)[2:]
    return {row.partition("\n")[0]: row for row in found}


END = "End of the page\n"


def test_each_row_has_tests_and_no_other_is_named():
    assert sorted(rows("Access by role", "The network of the cluster")) == sorted(TESTS)


def test_each_disturbance_has_tests_or_says_that_it_was_never_tried():
    found = rows("Disturbances of a run", END.strip())
    assert sorted(found) == sorted(DISTURBANCES)
    assert [name for name in found if "Never tried" in found[name]] == [
        name for name, tests in DISTURBANCES.items() if not tests
    ]


@pytest.mark.parametrize("named", [each for tests in (TESTS | DISTURBANCES).values() for each in tests])
def test_the_tests_exist(named):
    path, dummy, function = named.partition("::")
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.MULTILINE), named
