# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each warning and error of a release's KV code is a red flag, a cause, or harmless for a reason; the simulator prints these texts."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.diagnose import cause_of
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.module_utils.verify.red_flags import RED_FLAGS, flags_of
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER
from ansible_collections.ascend.inference.tests.releases import messages
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend import texts

ROWS = messages.known()
VALUES = ("{}", "x", "7")  # what a place of a text may have
# Flags that vLLM, Mooncake or CANN print, whose sources are not read here; engine ids and threads are texts of exceptions.
OTHERS = {
    "transfer_status_1039", "transfer_batch_timeout", "transfer_load_failed", "recomputed", "engine_id_conflict", "device_ip_wrong",
    "store_lease_expired", "store_no_handle", "store_segment_not_found", "store_client_expired", "store_master_silent", "engine_not_added",
    "counter_negative", "kv_not_fetched", "transfer_metadata_failed", "transfer_pull_failed", "transfer_counted", "kv_expired",
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row["text"][:60] for row in ROWS])
def test_each_message_means_what_is_said_of_it(row):
    forms = [row["text"].replace("{}", value) for value in VALUES]
    flags = {flag for form in forms for flag in flags_of(form)}
    kind, dummy, what = row["says"].partition(" ")
    if kind == "flag":
        assert flags == {what} and all(flags_of(form) for form in forms[1:])
    elif kind == "cause":
        assert not flags and {found.id for found in (cause_of(form, "ERROR") for form in forms) if found} == {what}
    else:
        assert kind == "harmless:" and len(what) > 10 and not flags


def test_each_flag_of_vllm_ascend_is_in_a_release():
    """A pattern that is in no text of any release is a dead one."""
    said = {row["says"].partition(" ")[2] for row in ROWS if row["says"].startswith("flag ")}
    assert said == {name for name, dummy in RED_FLAGS} - OTHERS
    assert {cause.id for cause in CAUSES} >= {row["says"][6:] for row in ROWS if row["says"].startswith("cause ")}


SOURCE = """
def f(logger, a):
    message = "a text of a name %s" % a
    logger.error("Failed to put %d keys, 100%% of %s", a, a)
    logger.warning(f"x{a}y" + " and more")
    logger.exception("lost {} of {}".format(a, a))
    logger.error(message)
    logger.info("not read")
    logger.error(a)
    print("not read")
"""


def test_messages_of_a_source_are_read(tmp_path):
    path = tmp_path / "vllm_ascend" / "distributed" / "kv_transfer" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    (tmp_path / "vllm_ascend" / "platform.py").write_text("logger.error('of another folder')")
    assert messages.read(tmp_path) == {
        "Failed to put {} keys, 100% of {}": "ERROR",
        "x{}y and more": "WARNING",
        "lost {} of {}": "ERROR",
        "a text of a name {}": "ERROR",
    }
    lines = messages.differences("9.9.9", tmp_path)
    assert len(lines) == 4 and all("has no meaning" in line for line in lines)


def test_a_message_that_a_release_has_no_more_is_named(tmp_path):
    lines = messages.differences("0.30.0rc2", tmp_path)
    own = [row for row in ROWS if "0.30.0rc2" in row["releases"]]
    assert len(lines) == len(own) > 100 and "and not in the sources" in lines[0]


def test_new_texts_join_the_known_ones():
    rows = [
        {"text": "a", "level": "ERROR", "releases": ["1", "2"], "says": "flag x"},
        {"text": "gone", "level": "ERROR", "releases": ["2"], "says": "flag x"},
    ]
    found = messages.merged(rows, {"2": {"a": "ERROR", "b": "WARNING"}})
    assert [(row["text"], row["releases"], row["says"]) for row in found] == [
        ("a", ["1", "2"], "flag x"),
        ("b", ["2"], ""),
    ]


@pytest.mark.parametrize("release", [name for name in ORDER if name != "main" and ORDER[name] >= ORDER["0.11.0"]])
def test_the_simulator_prints_texts_of_its_release_and_they_are_flags(release):
    text = texts.said(release, ("Mooncake transfer failed for request",), "cmpl-1", -1)
    assert flags_of(text) == ["transfer_failed"] and "cmpl-1" in text and "{}" not in text
    text = texts.said(
        release, ("Remote connection failed in lookup", "Remote connection failed in contains"), "OSError", "x"
    )
    assert flags_of(text) == ["store_lookup_failed"]


def test_the_simulator_has_the_words_of_the_default_release():
    assert "remote_request_id=cmpl-1, ret=-1" in texts.said(
        "0.23.0.post1", ("Mooncake transfer failed for request",), "cmpl-1", -1
    )
    assert (
        texts.said("0.18.0", ("Mooncake transfer failed for request",), "cmpl-1", -1)
        == "Mooncake transfer failed for request cmpl-1"
    )
    with pytest.raises(KeyError):
        texts.said("0.18.0", ("no such text",), 1)


def test_the_file_has_one_line_for_each_text():
    assert messages.KNOWN.read_text(encoding="utf-8") == messages.as_text("texts", ROWS)
