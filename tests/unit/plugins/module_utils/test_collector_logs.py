# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counters of logs: each line counts once, whatever is rotated, cut or interrupted; a log that is not read is not a log without red flags."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.collector import logs, positions
from ansible_collections.ascend.inference.plugins.module_utils.verify.red_flags import RED_FLAGS, flags_of, transfers_of

FAILED = "(EngineCore pid=9) \x1b[31mERROR\x1b[0m 11-23 Mooncake transfer failed for request cmpl-1, ret: -1\n"
TOOK = "INFO KV cache transfer for request cmpl-1 took 12.50 ms (1 groups, 3 blocks).\n"
# SIMULATED: options of the real programs that are not used here are refused, as unknown ones are. As the real ones, they end without a word
# when nobody reads any more.
JOURNALCTL = """\
    import argparse, json, signal
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    options = argparse.ArgumentParser()
    for flag in ("quiet", "no-pager", "all"):
        options.add_argument("--" + flag, action="store_true")
    for name in ("output", "output-fields", "unit", "after-cursor", "since"):
        options.add_argument("--" + name)
    given = options.parse_args()
    assert given.output == "json" and given.no_pager and (given.since is None) != (given.after_cursor is None)
    rows = [json.loads(line) for line in open("FOLDER/journal")]
    for row in rows:
        if row["unit"] + ".service" != given.unit:
            continue
        if given.since and row["at"] < float(given.since.lstrip("@")) or given.after_cursor and row["__CURSOR"] <= given.after_cursor:
            continue
        text = row["MESSAGE"]
        if text and len(text) > 4096 and not given.all:
            text = None
        # As the real one, which prints what counts as printable, such as U+2028, as it is.
        # The order of fields is that of a table of hashes; the cursor is printed whatever fields are asked for.
        shown = {name: {"MESSAGE": text, "PRIORITY": "6"}[name] for name in given.output_fields.split(",")}
        print(json.dumps({**shown, "__CURSOR": row["__CURSOR"], "__REALTIME_TIMESTAMP": "1"}, ensure_ascii=False))
"""
DOCKER = """\
    import signal, sys
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    assert sys.argv[1:3] == ["logs", "--timestamps"] and sys.argv[3].startswith("--since=") and len(sys.argv) == 5
    if sys.argv[4] != "inference-decode-0":
        sys.exit("Error response from daemon: No such container: " + sys.argv[4])
    for line in open("FOLDER/container", newline="\\n"):
        if line.split(" ")[0].rstrip("Z") >= sys.argv[3][8:].rstrip("Z0"):
            (sys.stderr if "ERROR" in line else sys.stdout).write(line)
"""


@pytest.fixture(autouse=True)
def _programs(tmp_path, monkeypatch):
    for name, text in (("journalctl", JOURNALCTL), ("docker", DOCKER)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        text = textwrap.dedent(text).replace("FOLDER", str(tmp_path))
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    (tmp_path / "textfiles").mkdir()


@pytest.fixture
def rounds(tmp_path):
    """Run a round; {metric or (metric, flag): value} of decode-0."""
    settings = {"deployment": "d", "file": "logs.prom", "state": str(tmp_path / "state.json")}
    settings["transferred"] = "KV cache transfer for request "

    def run(log):
        settings["services"] = [{"service": "decode-0", "role": "decode", "log": log}]
        (tmp_path / "logs.json").write_text(json.dumps(settings))
        assert logs.main([str(tmp_path / "textfiles"), str(tmp_path / "logs.json")]) == 0
        text = (tmp_path / "textfiles" / "logs.prom").read_text()
        found = {}
        for name, labels, value in re.findall(r"^inference_log_(\w+)\{(.*)\} (\S+)$", text, re.M):
            assert 'deployment="d"' in labels and 'role="decode"' in labels and 'service="decode-0"' in labels
            flag = re.search('flag="(.*?)"', labels)
            found[(name, flag[1]) if flag else name] = float(value)
        return found

    return run


@pytest.fixture
def file(tmp_path):
    """A log in a file that has older lines, and its entry in the settings."""
    path = tmp_path / "decode-0.log"
    path.write_text(FAILED)
    return path, {"kind": "file", "path": str(path), "unit": ""}


def failed(found):
    return found["red_flags_total", "transfer_failed"]


def append(path, text):
    with path.open("a") as stream:
        stream.write(text)


def test_each_new_line_of_a_file_counts_once(rounds, file):
    path, log = file
    first = rounds(log)
    assert failed(first) == 0 and first["read"] == 1, "what is older is not counted"
    assert sum(name[0] == "red_flags_total" for name in first if isinstance(name, tuple)) == len(RED_FLAGS)
    append(path, FAILED + TOOK + TOOK + FAILED[:30])
    second = rounds(log)
    assert (failed(second), second["transfers_total"], second["transfer_seconds_total"]) == (1, 2, 0.025)
    append(path, FAILED[30:])
    assert [failed(rounds(log)), failed(rounds(log))] == [2, 2], "the end of a line came later"
    assert rounds(log)["gaps_total"] == 0


def test_a_rotated_file_is_read_to_its_end(rounds, file, monkeypatch):
    path, log = file
    rounds(log)
    append(path, FAILED * 3)
    path.rename(f"{path}.1")
    path.write_text(FAILED * 2)
    found = rounds(log)
    assert (failed(found), found["gaps_total"]) == (5, 0)
    # The same with more lines than one round reads.
    monkeypatch.setattr(positions, "MOST", len(FAILED) * 2 + 5)
    append(path, FAILED * 5)
    path.rename(f"{path}.1")
    path.write_text(FAILED)
    assert [failed(rounds(log)) for _round in range(4)] == [7, 9, 11, 11]


@pytest.mark.parametrize("how", ["cut in place", "rotated twice", "much faster than it is read"])
def test_lost_lines_are_a_gap(rounds, file, monkeypatch, how):
    path, log = file
    rounds(log)
    if how == "cut in place":
        path.write_text("")
    elif how == "rotated twice":
        path.rename(f"{path}.2")
        path.write_text(FAILED)
    else:
        monkeypatch.setattr(positions, "MOST", 2 * len(FAILED))
        monkeypatch.setattr(positions, "BEHIND", 4 * len(FAILED))
        append(path, FAILED * 9)
    found = rounds(log)
    assert found["gaps_total"] == 1 and failed(found) == {"cut in place": 0, "rotated twice": 1}.get(how, 2)


@pytest.mark.parametrize("how", ["copytruncate", "the same inode"])
def test_a_file_that_was_cut_and_has_grown_again_is_known_as_another(rounds, file, how):
    path, log = file
    append(path, TOOK * 3)
    rounds(log)
    if how == "copytruncate":
        path.write_text(FAILED * 9)
    else:  # a new file often gets the number of the one that was deleted
        before = path.stat().st_ino
        path.unlink()
        path.write_text(FAILED * 9)
        if path.stat().st_ino != before:
            pytest.skip("this file system gave another inode")
    found = rounds(log)
    assert (failed(found), found["gaps_total"]) == (9, 1), "lines before the old position were not read"
    append(path, FAILED)
    found = rounds(log)
    assert (failed(found), found["gaps_total"]) == (10, 1)


@pytest.mark.parametrize("cut", [1, len(FAILED) // 2, len(FAILED) - 1])
def test_a_line_that_a_rotation_divides_counts_once(rounds, file, cut):
    path, log = file
    rounds(log)
    append(path, FAILED + FAILED[:cut])
    path.rename(f"{path}.1")
    path.write_text("")
    assert failed(rounds(log)) == 1
    append(path, FAILED[cut:-1])
    assert failed(rounds(log)) == 1, "its end is not there yet"
    append(path, "\n" + FAILED)
    found = rounds(log)
    assert (failed(found), found["gaps_total"]) == (3, 0)


def test_a_position_of_an_earlier_version_is_continued(rounds, file, tmp_path):
    path, log = file
    rounds(log)
    state = json.loads((tmp_path / "state.json").read_text())
    del state["decode-0"]["position"]["known"]
    (tmp_path / "state.json").write_text(json.dumps(state))
    append(path, FAILED)
    found = rounds(log)
    assert (failed(found), found["gaps_total"]) == (1, 0)


def test_a_line_without_an_end_does_not_stop_the_log(rounds, file, monkeypatch):
    path, log = file
    rounds(log)
    monkeypatch.setattr(positions, "MOST", 1000)
    append(path, "x" * 2500 + "\n" + FAILED)
    assert failed([rounds(log) for _round in range(4)][-1]) == 1


@pytest.mark.parametrize(
    "log", [{"kind": "file", "path": "/none"}, {"kind": "kubernetes"}, {"kind": "docker", "unit": "no"}]
)
def test_a_log_that_is_not_read_is_said(rounds, log, capsys):
    found = rounds(log)
    said = capsys.readouterr().err
    assert found["read"] == 0 and "the log of decode-0 was not read" in said
    assert log["kind"] != "docker" or "No such container" in said


def test_a_missing_log_keeps_its_counters(rounds, file):
    path, log = file
    rounds(log)
    append(path, FAILED)
    assert failed(rounds(log)) == 1
    path.rename(f"{path}.1")
    gone = rounds(log)
    assert (failed(gone), gone["read"]) == (1, 0)
    path.write_text(FAILED)
    back = rounds(log)
    assert (failed(back), back["read"], back["gaps_total"]) == (2, 1, 0)


def test_a_link_is_not_followed(rounds, file, tmp_path):
    path, log = file
    path.unlink()
    path.symlink_to("/dev/zero")
    assert rounds(log)["read"] == 0


def test_each_entry_of_the_journal_counts_once(rounds, tmp_path, monkeypatch):
    log = {"kind": "journald", "path": "", "unit": "inference-decode-0.service"}
    entries = []

    def entry(text, unit="inference-decode-0"):
        cursor = f"s=1;i={len(entries):04d}"
        entries.append({"unit": unit, "__CURSOR": cursor, "MESSAGE": text, "at": 2e9})
        (tmp_path / "journal").write_text("".join(json.dumps(item) + "\n" for item in entries))

    (tmp_path / "journal").write_text(
        json.dumps({"unit": "inference-decode-0", "__CURSOR": "s=0", "MESSAGE": FAILED, "at": 5})
    )
    assert failed(rounds(log)) == 0
    entry(FAILED)
    entry(FAILED, unit="other")
    entry([ord(letter) for letter in FAILED])  # bytes that are no UTF-8 come as numbers
    entry(FAILED + "y" * 5000)
    assert [failed(rounds(log)), failed(rounds(log))] == [3, 3]
    # A service that writes to the journal's own socket may send the field twice, and one of them in bytes.
    entry([FAILED, FAILED])
    entry(["x", [255, 254]])
    entry([None, []])
    entry([])
    assert [failed(rounds(log)), failed(rounds(log))] == [5, 5]
    monkeypatch.setattr(positions, "MOST", 600)
    for _number in range(8):
        entry(FAILED)
    counts = [failed(rounds(log)) for _round in range(8)]
    assert counts[0] < 13 and counts[-1] == 13 and counts == sorted(counts)


STRANGE = "prompt with \u2028 and \u2029 and \x85 and \x0b and \x1c and \x00\n"


def test_no_character_of_a_client_ends_the_reading_of_a_journal(rounds, tmp_path):
    log = {"kind": "journald", "path": "", "unit": "inference-decode-0.service"}
    (tmp_path / "journal").write_text("")
    rounds(log)
    texts = [STRANGE, ["two", "messages of one entry: " + FAILED], [list(b"\xff bytes"), "text"], None, FAILED]
    rows = [
        {"unit": "inference-decode-0", "__CURSOR": f"s=1;i={number}", "MESSAGE": text, "at": 2e9}
        for number, text in enumerate(texts)
    ]
    (tmp_path / "journal").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = rounds(log)
    assert (failed(found), found["read"]) == (2, 1)


def test_an_entry_that_no_round_can_read_is_a_gap_and_not_the_end(rounds, tmp_path, monkeypatch):
    """A service may write 768 MiB to the journal's own socket."""
    log = {"kind": "journald", "path": "", "unit": "inference-decode-0.service"}
    monkeypatch.setattr(positions, "MOST", 1000)
    (tmp_path / "journal").write_text("")
    rounds(log)
    unit = "inference-decode-0"
    texts = [FAILED, "x" * 3000, FAILED]
    rows = [
        {"__CURSOR": f"s=1;i={number}", "at": 2e9, "unit": unit, "MESSAGE": text} for number, text in enumerate(texts)
    ]
    (tmp_path / "journal").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = [rounds(log) for _round in range(4)]
    assert (failed(found[-1]), found[-1]["gaps_total"], found[-1]["read"]) == (2, 1, 1)


def test_no_character_of_a_client_ends_the_reading_of_a_container(rounds, tmp_path):
    log = {"kind": "docker", "path": "", "unit": "inference-decode-0"}
    path = tmp_path / "container"
    path.write_text("")
    rounds(log)
    append(path, "2099-01-01T00:00:00.5Z " + STRANGE + "2099-01-01T00:00:00.6Z " + FAILED)
    found = rounds(log)
    assert (failed(found), found["read"]) == (1, 1)


def test_a_clock_that_was_set_back_is_a_gap_and_lines_after_it_count(rounds, tmp_path, monkeypatch):
    log = {"kind": "docker", "path": "", "unit": "inference-decode-0"}
    path = tmp_path / "container"
    path.write_text("")
    now = 4102444800.0  # 2100-01-01
    monkeypatch.setattr(logs.time, "time", lambda: now)
    rounds(log)
    now -= 3600
    back = rounds(log)
    append(path, "2099-12-31T23:00:30.5Z " + FAILED)
    now += 60
    found = rounds(log)
    assert (failed(found), back["gaps_total"], found["gaps_total"]) == (1, 1, 1)


def test_each_line_of_a_container_counts_once(rounds, tmp_path, monkeypatch):
    monkeypatch.setattr(logs.time, "time", lambda: 4086633600.0)  # 2099-07-01, after the lines
    log = {"kind": "docker", "path": "", "unit": "inference-decode-0"}
    path = tmp_path / "container"
    path.write_text("2020-01-01T00:00:00.5Z " + FAILED)
    assert failed(rounds(log)) == 0
    monkeypatch.setattr(logs.time, "time", lambda: 4102444800.0)
    append(path, "2099-12-01T00:00:00.5Z " + FAILED + "2099-12-01T00:00:00.500000001Z " + TOOK)
    second = rounds(log)
    assert (failed(second), second["transfers_total"]) == (1, 1)
    append(path, "2099-12-01T00:00:00.51Z " + FAILED)
    third = rounds(log)
    assert (failed(third), third["transfers_total"]) == (2, 1)


def test_a_damaged_state_begins_anew(rounds, file, tmp_path):
    path, log = file
    rounds(log)
    (tmp_path / "state.json").write_text("{")
    append(path, FAILED)
    assert failed(rounds(log)) == 0
    append(path, FAILED)
    assert failed(rounds(log)) == 1


def test_flags_and_transfers_of_lines():
    names = [name for name, _pattern in RED_FLAGS]
    assert len(set(names)) == len(names)
    assert flags_of("Force freed expired request: 3, status: 103900") == ["transfer_status_1039", "kv_freed_by_force"]
    assert flags_of("all is well") == []
    assert transfers_of(TOOK, "") == (0, 0.0)
    line = "KV Transfer metrics: Num successful transfers=4, Avg xfer time (ms)=2.5, Num failed transfers=1"
    assert transfers_of(line, "x") == (4, 10.0) and flags_of(line) == ["transfer_counted"]


def test_a_line_of_a_container_without_an_end_is_read_to_its_beginning(rounds, tmp_path, monkeypatch):
    log = {"kind": "docker", "path": "", "unit": "inference-decode-0"}
    monkeypatch.setattr(positions, "MOST", 200_000)
    (tmp_path / "container").write_text("")
    rounds(log)
    first, second = (positions._utc(time.time()) + " " for _line in range(2))
    (tmp_path / "container").write_text(first + FAILED.rstrip() + "x" * 400_000 + "\n" + second + FAILED)
    found = [rounds(log) for _round in range(2)]
    assert [(failed(one), one["read"], one["gaps_total"]) for one in found] == [(2, 1, 0), (2, 1, 0)]
