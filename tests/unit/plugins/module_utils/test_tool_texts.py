# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all parsers of vendor output share: scalars, keys, blocks, tables; records of calls; names of images."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import (
    errors,
    image_name,
    record,
    tables,
    text,
)
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import (
    Output,
    ToolMissing,
)

NOT_ONE = object()


@pytest.mark.parametrize(
    ("token", "count", "number", "value"),
    [
        ("0", 0, 0, 0),
        ("10", 10, 10, 10),
        ("01", NOT_ONE, NOT_ONE, "01"),
        ("-1", NOT_ONE, -1, -1),
        ("-0.5", NOT_ONE, -0.5, -0.5),
        ("1.", NOT_ONE, NOT_ONE, "1."),
        ("1.50", NOT_ONE, 1.5, 1.5),
        ("+1", NOT_ONE, NOT_ONE, "+1"),
        ("1\n", NOT_ONE, NOT_ONE, 1),
        ("-", None, None, None),
        ("--", None, None, None),
        ("n/a", None, None, None),
        ("", None, None, None),
        (" NA ", None, None, None),
        ("Not Support", None, None, None),
        ("not supported", None, None, None),
        ("---", NOT_ONE, NOT_ONE, "---"),
        (" 0x1 ", NOT_ONE, NOT_ONE, "0x1"),
    ],
)
def test_a_token_is_a_number_nothing_or_an_error(token, count, number, value):
    for read, expected in ((text.count, count), (text.number, number)):
        if expected is NOT_ONE:
            with pytest.raises(text.ParseError, match=r"is not a (count|number) in line 2: 'b'"):
                read(token, "a\nb", 2)
        else:
            found = read(token, "")
            assert found == expected and type(found) is type(expected)
    found = text.value(token)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("HBM Usage Rate(%)", "hbm_usage_rate_percent"),
        ("Aicore curFreq(MHZ)", "aicore_cur_freq_mhz"),
        ("Memory(mb) ", "memory_mib"),
        ("Power(W)", "power_watts"),
        ("Volt( V )", "volt_volts"),
        ("Pages(page)", "pages_pages"),
        ("Speed(Gbps)", "speed_gbps"),
        ("A(odd)", "a_odd"),
        ("A(C) B", "a_c_b"),
        ("NPU Real-time Power(W)", "npu_real_time_power_watts"),
        ("PCIe Bus", "pcie_bus"),
    ],
)
def test_keys_have_their_unit(title, key):
    assert text.snake_case(title) == key


@pytest.mark.parametrize(
    ("line", "chatter"),
    [
        ("[WARNING] x", True),
        (" [info] x", True),
        ("Failed to get x", True),
        ("DrvMngGetConsoleLogLevel failed. (ret=4)", True),
        ("[root@node ~]# npu-smi info", True),
        ("(base) root@node:~# ", True),
        ("# ", True),
        ("$ sudo /usr/bin/hccn_tool -i 0", True),
        ("npu-smi version: 25.0", False),
        ("Tue Mar  3 10:11:12 CST 2026", True),
        ("Tue Mar  3 10:11:12 2026", True),
        ("2026-03-03T10:11:12Z", True),
        ("current time : Tue Mar  3 10:11:12 2026", False),
        ("[devid 2]link up", False),
        ("Health : OK", False),
    ],
)
def test_what_is_no_output_of_the_command(line, chatter):
    assert text.is_chatter(line) is chatter
    whole = f"a\r\n\n\x1b[31m{line}\x1b[0m\r\n b \r\n"
    assert text.chatter(whole) == ([line.strip()] if chatter else [])
    between = [] if chatter else [(3, line.strip())]
    assert text.content(whole) == [(1, "a"), *between, (4, "b")]


@pytest.mark.parametrize(
    ("line", "gap"),
    [("...", True), (" .... ", True), ("... ...", True), ("…", True), ("..", False), ("...x", False), ("", False)],
)
def test_dots_mark_omitted_lines(line, gap):
    assert text.is_gap(line) is gap


def test_an_error_quotes_its_line_in_bounded_length():
    assert str(text.ParseError("odd", " \n")) == "odd: the text is empty"
    assert str(text.ParseError("odd", " a \n")) == "odd: 'a'"
    assert str(text.ParseError("odd", "a\nb", 2)) == "odd in line 2: 'b'"
    assert str(text.ParseError("odd", "a", 2)) == "odd in line 2: 'a'"
    assert str(text.ParseError("odd", "x" * 160)) == f"odd: '{'x' * 160}'"
    assert str(text.ParseError("odd", "x" * 161)) == f"odd: '{'x' * 160}…'"


@pytest.mark.parametrize(
    ("whole", "blocks"),
    [
        ("a : 1\nb : 2\n", [[("a", "1", 1), ("b", "2", 2)]]),
        ("a : 1\n\nb : 2\n", [[("a", "1", 1)], [("b", "2", 3)]]),
        ("a : 1\n...\nb : 2\n", [[("a", "1", 1)], [("b", "2", 3)]]),
        ("a : 1\na : 2\n", [[("a", "1", 1)], [("a", "2", 2)]]),
        ("Chip ID : 0\nChip Name : MCU\n", [[("Chip ID", "0", 1)], [("Chip Name", "MCU", 2)]]),
        ("Chip ID : 0\nChip Name : x\n", [[("Chip ID", "0", 1), ("Chip Name", "x", 2)]]),
        ("x : 0\nChip Name : mcu\n", [[("x", "0", 1), ("Chip Name", "mcu", 2)]]),
        ("a : 1\n\n : more\nb : c:d\n", [[("a", "1\nmore", 1)], [("b", "c:d", 4)]]),
    ],
)
def test_blocks_of_keys_and_values(whole, blocks):
    assert text.key_value_blocks(whole) == blocks


@pytest.mark.parametrize("whole", ["", "no pair", "| a : b |", "+ a : b", "[a : b", " : a", "..."])
def test_what_is_no_block(whole):
    with pytest.raises(text.ParseError, match="expected (a key|'key : value')"):
        text.key_value_blocks(whole)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("", "blank"),
        ("+---+", "soft_rule"),
        ("+---", "soft_rule"),
        ("+--+", "other"),
        ("+===+===+", "rule"),
        ("+---+---+", "rule"),
        ("| a | b |", "row"),
        ("[INFO] x", "chatter"),
        ("...", "gap"),
        ("word", "other"),
    ],
)
def test_kinds_of_lines_of_a_table(line, kind):
    (found,) = tables.box_lines(f"  {line} ")
    assert (found.kind, found.number, found.text) == (kind, 1, line)
    assert found.cells == (["a", "b"] if kind == "row" else None)


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        ("| a |\n", "expected a table with a header"),
        ("| a |\n| a |\n", "a second header"),
        ("| a |\n| 1 | 2 |\n", "expected 1 cells, found 2"),
        ("| a |\n| 1\n", "the row is cut off"),
        ("|\n", "the row is cut off"),
        ("||\n", "the row is cut off"),
    ],
)
def test_damaged_tables(whole, words):
    with pytest.raises(text.ParseError, match=words):
        tables.records(whole)
    assert tables.records("+---+\n| a | b |\n| 1 | |\n") == [{"a": "1", "b": ""}]


def test_rows_that_are_not_as_wide_as_the_border():
    lines = tables.box_lines("note\n+----+\n| ab |\n| a |\n|\ta |\n+---+\n")
    assert tables.misaligned(lines) == [4, 6] and tables.misaligned(lines[:1]) == []


def test_a_call_is_recorded_with_its_end(tmp_path):
    def runner(argv, timeout, stdin):
        if argv == ["gone"]:
            raise ToolMissing("not there")
        return Output(argv, None if timeout == 1 else 3, "out", "err", timeout == 1)

    recorder = record.Recorder(runner)
    assert recorder(("a", "b"), 5, "y").rc == 3 and recorder(["a"], 1).timed_out
    with pytest.raises(ToolMissing):
        recorder(["gone"], 5)
    (tmp_path / "conf").write_bytes(b"a\xff")
    recorder.keep_file(str(tmp_path / "conf"))
    recorder.keep_file(str(tmp_path / "none"))
    found = record.unpacked(recorder.packed(), 10**6)
    assert [
        [call[key] for key in ("argv", "stdin", "rc", "timed_out", "stdout", "stderr", "problem")]
        for call in found["commands"]
    ] == [
        [["a", "b"], "y", 3, False, "out", "err", ""],
        [["a"], None, None, True, "out", "err", ""],
        [["gone"], None, None, False, "", "", "not there"],
    ]
    assert all(0 <= call["seconds"] < 60 and call["begin"] > 10**9 for call in found["commands"])
    assert found["files"] == {str(tmp_path / "conf"): "a\ufffd", str(tmp_path / "none"): None} and found["node"]
    size = len(json.dumps({"node": found["node"], "commands": found["commands"], "files": found["files"]}))
    assert record.unpacked(recorder.packed(), size) == found
    with pytest.raises(ValueError, match=f"more than {size - 1} bytes"):
        record.unpacked(recorder.packed(), size - 1)
    with pytest.raises(ValueError, match="damaged"):
        record.unpacked("YWJj", 100)


@pytest.mark.parametrize(
    ("name", "repository", "full", "loaded"),
    [
        ("vllm", "vllm", "docker.io/library/vllm:latest", "vllm"),
        ("vllm:1", "vllm", "docker.io/library/vllm:1", "vllm:1"),
        ("quay.io/a/vllm:1", "quay.io/a/vllm", "quay.io/a/vllm:1", "quay.io/a/vllm:1"),
        ("a/vllm", "a/vllm", "docker.io/a/vllm:latest", "a/vllm"),
        ("localhost/vllm", "localhost/vllm", "localhost/vllm:latest", "localhost/vllm"),
        ("host:5000/vllm", "host:5000/vllm", "host:5000/vllm:latest", "host:5000/vllm"),
        ("a/b:1@sha256:ab", "a/b", "docker.io/a/b@sha256:ab", "a/b:sha256-ab"),
    ],
)
def test_names_of_images(name, repository, full, loaded):
    assert (image_name.repository_of(name), image_name.full_name(name), image_name.loaded_name(name)) == (
        repository,
        full,
        loaded,
    )


@pytest.mark.parametrize(
    ("rc", "stdout", "stderr", "timed_out", "value", "notes", "error"),
    [
        (0, "good", "", False, "good", [], None),
        (0, "good\n[INFO] x", "", False, "good\n[INFO] x", ["[INFO] x"], None),
        (7, "good", "a\nb", False, "good", ["smi -x succeeded with exit status 7: a"], None),
        (0, "bad", "", False, None, None, "smi -x: exit status 0, odd: 'bad'"),
        (4, "bad", "\n why \n", False, None, None, "smi -x: exit status 4, odd: 'bad' (stderr: why)"),
        (1, "bad", "because no ip was preset there", False, None, [], None),
        (1, "bad", "permission denied", False, None, None, "smi -x: run this as root"),
        (0, "good", "", True, None, None, "smi -x exceeded the timeout"),
    ],
)
def test_an_answer_comes_with_notes_or_is_an_error(rc, stdout, stderr, timed_out, value, notes, error):
    def parse(whole):
        if whole == "bad":
            raise text.ParseError("odd", whole)
        return whole

    def tool(args, stdin):
        assert (args, stdin) == (["-x"], "y")
        return Output(["/usr/bin/smi", *args], rc, stdout, stderr, timed_out)

    if error:
        with pytest.raises(errors.ToolError) as caught:
            errors.answer(tool, ["-x"], parse, "y")
        assert str(caught.value).startswith(error)
        assert caught.value.kind == ("hung" if timed_out else "permission" if "denied" in stderr else "failed")
    else:
        assert errors.answer(tool, ["-x"], parse, "y") == (value, notes)
