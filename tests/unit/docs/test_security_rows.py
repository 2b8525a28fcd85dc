# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each row of each table of the guide "Security" has tests that try it, or says that nothing is protected."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The row's role: the tests of what it says is protected, as FILE::FUNCTION below tests/.
TESTS = {
    "A client without a key": [
        "integration/test_frontend.py::test_keys_open_the_door_and_stay_inside",
        "integration/test_entry.py::test_without_a_key_no_method_and_no_model_is_learnt",
        "integration/test_entry_attacks.py::test_addresses_of_one_network_guess_together",
    ],
    "A client with a key": [
        "integration/test_frontend.py::test_a_client_reaches_the_listed_paths_and_no_other",
        "integration/test_frontend.py::test_clients_choose_neither_rank_nor_request_id_nor_host",
        "integration/test_frontend.py::test_the_rate_of_one_key_is_limited_and_others_are_not",
        "integration/test_frontend.py::test_a_query_ends_at_the_frontend",
        "integration/test_balancer.py::test_a_query_and_another_host_end_at_the_balancer",
        "integration/test_entry.py::test_no_other_path_is_reached",
        "integration/test_entry.py::test_the_engines_get_their_own_key_and_an_id_of_the_entry",
        "integration/test_entry.py::test_refusals_have_the_form_of_the_api_and_reach_nobody",
        "integration/test_entry_attacks.py::test_a_client_does_not_say_where_an_engine_gets_kv_cache",
        "integration/test_entry_attacks.py::test_a_body_of_many_signs_costs_little",
        "integration/test_entry_attacks.py::test_a_team_over_its_limit_sends_no_body",
        "integration/test_entry_usage.py::test_no_form_of_a_request_hides_its_tokens",
        "integration/test_entry.py::test_no_second_request_hides_in_a_first_one",
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
        "unit/plugins/plugin_utils/test_asked_hosts.py::test_each_variable_of_a_connection_is_refused_as_a_fact",
        "unit/plugins/plugin_utils/test_asked_hosts.py::test_ansible_makes_no_variables_of_them",
        "unit/plugins/plugin_utils/test_fabric_settings.py::test_a_host_that_answers_wrong_gives_no_other_host_an_address",
        "unit/plugins/plugin_utils/test_rank_table.py::test_a_host_takes_no_device_address_of_another_one",
        "unit/plugins/action/test_python_venv.py::test_a_lock_of_one_host_stops_no_other_one",
        "unit/plugins/modules/test_acceptance_archive.py::test_a_record_in_a_wrong_form_costs_its_host_only",
        "unit/plugins/modules/test_acceptance_archive.py::test_the_words_of_one_host_change_no_text_of_another_one",
        "unit/plugins/module_utils/test_support_logs.py::test_parts_of_a_host_are_counted_before_they_cost_anything",
        "unit/plugins/plugin_utils/test_module_answer.py::test_the_values_of_an_answer_are_counted",
        "unit/plugins/plugin_utils/test_terminal.py::test_a_text_of_one_host_buries_nothing",
        "unit/plugins/plugin_utils/change/test_fills.py::test_an_odd_answer_of_one_host_changes_nothing_of_another_one",
        "cores/test_hostile.py::test_texts_are_only_texts",
        "cores/test_hostile.py::test_a_batch_of_attacks",
        "unit/plugins/plugin_utils/test_answered.py::test_a_fact_that_an_option_of_a_role_is_made_of_is_seen",
        "unit/plugins/plugin_utils/test_module_answer.py::test_what_ansible_would_obey_is_left_out",
        "unit/plugins/plugin_utils/test_module_answer.py::test_a_failure_has_no_control_characters_anywhere",
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
        "unit/rehearsal/test_secrets_sent.py::test_logs_are_gathered_with_the_secrets_of_the_host",
        "unit/plugins/module_utils/test_support_logs.py::test_secrets_that_a_host_does_not_know_are_left_out_of_the_archive",
        "unit/rehearsal/test_watchdog_order.py::test_the_probe_s_host_restarts_what_belongs_to_one_engine",
        "integration/test_upgrade.py::test_one_host_neither_imposes_a_plan_nor_prevents_a_rollback",
        "unit/plugins/plugin_utils/test_agreed.py::test_one_host_prevents_nothing_by_hiding_its_record",
        "unit/test_printed_texts.py::test_messages_have_no_control_characters_of_hosts",
        "unit/test_printed_texts.py::test_actions_print_no_control_characters_of_hosts",
        "unit/test_printed_texts.py::test_what_an_action_makes_to_a_failure_has_no_control_characters_of_hosts",
        "unit/test_printed_texts.py::test_a_host_adds_no_lines_to_what_is_printed",
        "unit/plugins/plugin_utils/test_module_answer.py::test_what_ansible_prints_of_one_answer_buries_nothing",
        "unit/plugins/plugin_utils/test_entry_usage.py::test_an_answer_of_a_host_that_is_no_usage_is_refused",
        "unit/plugins/plugin_utils/test_bench_services.py::test_a_host_says_nothing_of_the_logs_of_others",
        "unit/plugins/plugin_utils/test_drill.py::test_a_host_says_nothing_of_the_logs_of_others",
        "unit/plugins/plugin_utils/change/test_fills.py::test_only_its_own_host_says_that_a_router_has_to_restart",
        "unit/plugins/plugin_utils/test_run.py::test_a_record_of_a_host_adds_no_line_to_a_message",
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
        "integration/test_model_passed_on.py::test_another_content_than_model_digest_costs_the_host_that_brought_it",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_a_source_at_which_two_hosts_found_other_files_gives_nothing_more",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_a_host_with_something_else_is_named_and_gives_nothing",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_without_the_token_a_host_gets_nothing",
        "unit/plugins/plugin_utils/test_model_rounds.py::test_of_hosts_that_have_the_model_one_gives_nothing_else_to_the_others",
    ],
    "The owner of a folder above a model": [
        "integration/test_model.py::test_who_owns_a_folder_above_leads_root_nowhere"
    ],
    "The author of variables": [
        "unit/plugins/modules/test_service_files_absent.py::test_secrets_and_what_root_runs_go_into_no_container",
        "integration/test_unit_values.py::test_a_value_with_a_line_end_a_control_character_or_an_option_is_refused",
        "integration/test_frontend_keys.py::test_a_client_key_with_another_character_is_refused",
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

PROGRAMS = {
    "nftables": [
        "integration/test_firewall.py::test_only_the_named_addresses_reach_the_ports",
        "integration/test_firewall.py::test_other_tables_stay_and_nothing_of_ours_does",
        "integration/test_firewall.py::test_the_capability_of_the_unit_is_enough_to_load_the_table",
    ],
    "firewalld, if it is running": [
        "unit/plugins/modules/test_firewall_module.py::test_firewalld_filters_where_it_runs",
        "unit/plugins/module_utils/test_firewall.py::test_policy_of_firewalld_accepts_before_it_drops",
    ],
}

RUNTIMES = {
    "systemd": [
        "unit/test_units.py::test_little_is_left_open",
        "unit/test_units.py::test_what_needs_no_npu_reaches_none",
        "unit/test_units.py::test_an_engine_cannot_change_what_is_obeyed_in_its_user_s_home",
    ],
    "docker": [
        "unit/plugins/module_utils/test_docker.py::test_the_command_has_all_that_is_planned_and_no_more",
        "unit/plugins/module_utils/test_docker.py::test_an_image_that_insists_on_root_gets_the_one_capability_that_reading_needs",
        "unit/plugins/module_utils/test_docker_accounts.py::test_the_container_has_them_in_place_of_its_own",
    ],
    "supervisor": [],  # protects nothing, as its row says
    "kubernetes": [
        "unit/plugins/modules/test_kubernetes_modules.py::test_pods_keep_the_standard_of_their_namespace_or_are_refused_before",
        "unit/plugins/plugin_utils/test_kthena_render.py::test_the_router_is_spread_limited_and_unprivileged",
        "unit/plugins/plugin_utils/test_kthena_render.py::test_engines_with_addresses_of_their_own_are_reached_by_the_deployment_only",
    ],
}

IGNORED = ["unit/plugins/plugin_utils/test_check_edges.py::test_restrictions_that_an_old_systemd_ignores"]
OLD_SYSTEMD = dict.fromkeys(["242", "244", "245", "247", "248"], IGNORED)

SOFTWARE = {
    "CANN packages": [
        "integration/test_cann.py::test_a_package_with_another_checksum_is_not_run",
        "integration/test_cann.py::test_packages_without_a_checksum_are_not_run",
    ],
    "Python environments": [
        "unit/plugins/module_utils/test_venv.py::test_what_is_installed_is_the_lock_with_its_hashes",
        "unit/plugins/module_utils/test_venv.py::test_a_lock_that_this_host_would_not_resolve_installs_nothing",
        "unit/plugins/module_utils/test_venv.py::test_a_lock_with_files_that_this_host_does_not_find_leaves_nothing_behind",
        "unit/plugins/action/test_python_venv.py::test_a_lock_that_two_hosts_resolved_is_kept_and_the_others_have_to_confirm_it",
        "unit/plugins/module_utils/test_venv.py::test_uv_with_another_hash_is_an_error",
    ],
    "vLLM for machines without NPUs": [],  # the row above is about its lock; it says what nobody compares
    "Source distributions of vLLM and vLLM-Ascend": [
        "integration/test_builds.py::test_a_source_distribution_with_another_hash_is_not_built",
        "integration/test_builds.py::test_only_the_known_source_distribution_is_built",
    ],
    "Proxies of vLLM-Ascend": [
        "unit/plugins/modules/test_small_modules.py::test_one_file_of_the_distribution_is_taken"
    ],
    "Images": [
        "unit/plugins/module_utils/test_docker.py::test_a_tag_that_names_another_image_by_now_changes_nothing_unless_tags_may_move",
        "unit/plugins/module_utils/test_docker.py::test_a_moved_tag_is_noticed_after_the_image_is_gone_too",
        "integration/test_container_values.py::test_a_tag_that_was_moved_is_refused_and_a_container_of_others_is_left_alone",
        "unit/plugins/plugin_utils/test_images.py::test_a_tag_that_was_pushed_again_is_found",
    ],
    "Sources of vLLM-Ascend and Mooncake": [],  # checked out by tag
}
# The first cell of a table's head: its rows.
TABLES = {
    "Role": TESTS,
    "Program": PROGRAMS,
    "Runtime": RUNTIMES,
    "systemd before": OLD_SYSTEMD,
    "Software": SOFTWARE,
    "What happens": DISTURBANCES,
}
NOTHING = (
    "Never tried",
    "The privileges of the connecting user",
    "- Nothing: ",
    "- Nothing more",
)  # say rows without tests


def tables():
    """``{first cell of the head: {first cell: row}}`` of all tables."""
    guide = (ROOT / "docs/docsite/rst/guide_security.rst").read_text(encoding="utf-8")
    found = {}
    for table in guide.split(".. list-table::\n")[1:]:
        head, *rows = re.split(
            r"^ {3}\* - ", re.split(r"^\S", table, maxsplit=1, flags=re.MULTILINE)[0], flags=re.MULTILINE
        )[1:]
        found[head.partition("\n")[0]] = {row.partition("\n")[0]: row for row in rows}
    return found


def test_each_row_of_each_table_has_tests_and_no_other_is_named():
    assert {name: sorted(rows) for name, rows in tables().items()} == {
        name: sorted(rows) for name, rows in TABLES.items()
    }


def test_a_row_without_a_test_says_that_nothing_is_protected():
    for name, rows in tables().items():
        for first, row in rows.items():
            assert bool(TABLES[name][first]) != any(text in row for text in NOTHING), (name, first)


@pytest.mark.parametrize(
    "named", sorted({each for rows in TABLES.values() for tests in rows.values() for each in tests})
)
def test_the_tests_exist(named):
    path, dummy, function = named.partition("::")
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.MULTILINE), named
