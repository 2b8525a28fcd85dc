# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release matrix: the rows, the steps between them, and what an unknown release gets."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import matrix as data
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import (
    metrics_data,
    options_data,
    sources_data,
    values_data,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import (
    ORDER,
    RELEASES,
    REPLACED,
    Release,
    assumed,
    find_release,
    nearest_release,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.version import numbers

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]


def test_every_step_names_a_row():
    steps = [step[0] for steps in (*data.FACTS.values(), *data.PROXIES.values()) for step in steps]
    spans = [name for spans in data.CONNECTORS.values() for span in spans for name in span if name]
    assert set(steps + spans) <= set(ORDER)


def test_steps_are_in_order():
    for name, steps in {**data.FACTS, **data.PROXIES}.items():
        indexes = [ORDER[step[0]] for step in steps]
        assert indexes == sorted(set(indexes)), name


@pytest.mark.parametrize(
    ("release", "fact", "value"),
    [
        ("0.9.1", "llmdatadist_port_env", "VLLM_LLMDD_RPC_PORT"),
        ("0.9.2rc1", "llmdatadist_port_env", ""),
        ("0.11.0", "use_ascend_direct", True),
        ("0.12.0rc1", "use_ascend_direct", False),
        ("0.13.0", "ascend_direct_stride", 1000),
        ("0.18.0", "ascend_direct_stride", 100),
        ("0.17.0rc1", "free_timeout_env", "VLLM_NIXL_ABORT_REQUEST_TIMEOUT"),
        ("0.18.0", "free_timeout_env", "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"),
        ("0.23.0", "mooncake_package", "mooncake-transfer-engine-npu"),
    ],
)
def test_facts_of_releases(release, fact, value):
    assert getattr(RELEASES[release], fact) == value


def test_a_leading_v_is_accepted():
    assert find_release("vllm_ascend", "v0.18.0")[0].name == "0.18.0"


def test_an_unknown_release_names_the_nearest_and_the_override():
    dummy, findings = find_release("vllm_ascend", "0.19.2")
    assert [finding.id for finding in findings] == ["RELEASE-UNKNOWN"]
    assert "'0.19.1rc1'" in findings[0].fix
    assert "inference_release_base" in findings[0].fix


def test_the_override_lends_a_rows_facts_to_an_unknown_release():
    release, findings = find_release("vllm_ascend", "99.0.0", "v0.23.0")
    assert not findings
    assert (release.name, release.vllm) == ("99.0.0", "0.23.0")


def test_an_unknown_override_is_refused_too():
    assert [item.path for item in find_release("vllm_ascend", "99.0.0", "0.30")[1]] == ["inference_release_base"]


def test_nearest_release_prefers_a_final_one():
    assert nearest_release("0.13.4", ORDER) == "0.13.0"


def test_mooncake_master_flags_follow_its_version():
    assert RELEASES["0.23.0"].master_knows("allocation_strategy")
    assert not RELEASES["0.18.0"].master_knows("allocation_strategy")
    assert not RELEASES["0.23.0"].master_knows("metrics_host")  # Mooncake 0.3.13
    assert RELEASES["0.11.0rc1"].master_knows(
        "rpc_port"
    )  # its images hold no Mooncake: judged as the oldest that is known
    assert numbers("0.3.10.post2") > numbers("0.3.10")


def test_every_fact_of_a_release_is_read():
    folder = REPOSITORY / "plugins"
    tables = [
        folder / "plugin_utils" / "releases" / name for name in ("matrix.py", "options_data.py", "sources_data.py")
    ]
    read = "".join(path.read_text() for path in folder.rglob("*.py") if path not in tables)
    unread = [field.name for field in dataclasses.fields(Release) if not re.search(rf"\.{field.name}\b", read)]
    assert not unread


@pytest.mark.parametrize(
    ("release", "present", "absent"),
    [
        ("0.23.0.post1", ("MooncakeConnectorV1", "RecomputeCPUOffloadConnector"), ("MooncakeConnectorV2",)),
        ("0.26.0rc1", ("SfaRemoteD2HConnector", "LMCacheAscendConnector"), ("PreemptOffloadConnector",)),
        ("0.27.1rc1", ("OffloadingConnector",), ("LMCacheAscendConnector",)),
        ("0.28.0rc1", ("MooncakeConnectorV2", "MooncakePullConnector"), ("RecomputeCPUOffloadConnector",)),
        ("0.29.0rc1", ("MooncakeD2RHConnectorV1",), ()),
        ("0.30.0rc2", ("PreemptOffloadConnector", "MooncakeHybridConnector"), ("LLMDataDistCMgrConnector",)),
    ],
)
def test_connectors_came_and_went(release, present, absent):
    assert set(present) <= set(RELEASES[release].connectors)
    assert not set(absent) & set(RELEASES[release].connectors)


def not_collected(rows):
    """{command: releases and versions of these rows that it has not read}: all that is missing, at once."""
    final = [row for row in rows if "rc" not in row[1]]
    known = options_data.VLLM_VERSIONS
    missing = {
        "make releases ARGS=--write": {row[0] for row in rows} - {*sources_data.COLLECTED, "main"},
        "python tests/parsers/collect_flags.py vllm=VERSION": {row[1] for row in final} - set(known),
        "python tests/parsers/collect_flags.py mooncake_master=VERSION": {row[7] for row in final}
        - {"", *options_data.MOONCAKE_MASTER_VERSIONS},
        "python tests/releases/collect_values.py": {*known, *(row[1] for row in final)} - set(values_data.VERSIONS),
        "python tests/releases/collect_metrics.py": {*known, *(row[1] for row in final)} - set(metrics_data.VERSIONS),
    }
    return {f"run: {command}": sorted(names) for command, names in missing.items() if names}


def test_every_row_has_what_is_collected_from_its_sources_and_programs():
    rows = data.ROWS[[row[0] for row in data.ROWS].index(sources_data.COLLECTED[0]) :]
    assert not_collected(rows) == {}


def test_each_collector_that_was_not_run_is_named():
    row = ("99.0.0", "98.0.0", "3.12", "9.2.0", "2.10.0", "2.10.0", "3.2.2", "97.0.0", "")
    assert not_collected((row,)) == {
        "run: make releases ARGS=--write": ["99.0.0"],
        "run: python tests/parsers/collect_flags.py vllm=VERSION": ["98.0.0"],
        "run: python tests/parsers/collect_flags.py mooncake_master=VERSION": ["97.0.0"],
        "run: python tests/releases/collect_values.py": ["98.0.0"],
        "run: python tests/releases/collect_metrics.py": ["98.0.0"],
    }


def test_the_development_branch_has_the_facts_of_the_newest_row():
    newest = RELEASES[data.ROWS[-2][0]]
    assert dataclasses.replace(RELEASES["main"], name=newest.name) == newest


def test_every_proxy_of_a_release_has_a_digest():
    for name, release in RELEASES.items():
        if name != "main" and not name.startswith("cpu-") and ORDER[name] >= ORDER["0.9.1rc2"]:
            assert set(release.proxy_sha256) == set(release.proxies), name
            assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in release.proxy_sha256.values())


def test_environment_names_became_keys_of_additional_config():
    before, after = RELEASES["0.26.0rc1"], RELEASES["0.27.1rc1"]
    assert "VLLM_ASCEND_ENABLE_NZ" in before.environment
    assert "VLLM_ASCEND_ENABLE_NZ" not in after.environment
    assert REPLACED["VLLM_ASCEND_ENABLE_NZ"] in after.additional_config
    assert RELEASES["main"].environment == RELEASES[data.ROWS[-2][0]].environment
    assert RELEASES["0.8.5rc1"].environment == ()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("0.18", "nearest known release is '0.18.0'"),
        ("0.18", "in quotes"),
        ("v0.23.0-a3", 'Write "0.23.0"'),
        ("0.13.0-a5-openeuler", 'Write "0.13.0"'),
    ],
)
def test_hints_lead_to_the_release_that_was_meant(name, part):
    assert part in find_release("vllm_ascend", name)[1][0].fix


NEW = {"base": "0.30.0rc2", "vllm": "99.0.0", "cann": "9.2.1", "connectors": ["MooncakeConnectorV2"]}


def test_a_release_of_the_inventory_states_its_facts_and_borrows_the_rest():
    release, findings = find_release("vllm_ascend", "v99.0.0", described={"99.0.0": NEW})
    assert not findings
    assert (release.name, release.vllm, release.cann) == ("99.0.0", "99.0.0", "9.2.1")
    assert release.connectors == ("MooncakeConnectorV2",)
    assert release.torch_npu == RELEASES["0.30.0rc2"].torch_npu
    lent = assumed("99.0.0", {"99.0.0": NEW}, "")
    assert "vllm" not in lent and lent["mooncake"] == "0.3.11.post1"
    assert assumed("0.23.0", {}, "") == {}


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ({"vllm": "99.0.0"}, "inference_releases.99.0.0.base"),
        ({**NEW, "mooncake": "latest"}, "inference_releases.99.0.0.mooncake"),
        ({**NEW, "base": "99.0.0"}, "inference_releases.99.0.0.base"),
        ({"base": "0.99"}, "inference_releases.99.0.0.base"),
        ({**NEW, "vlm": "1"}, "inference_releases.99.0.0.vlm"),
        ({**NEW, "vllm": 99.0}, "inference_releases.99.0.0.vllm"),
        ({**NEW, "connectors": "X"}, "inference_releases.99.0.0.connectors"),
        ("99.0.0", "inference_releases.99.0.0"),
    ],
)
def test_wrong_facts_of_a_release_of_the_inventory_are_refused(words, path):
    findings = find_release("vllm_ascend", "99.0.0", described={"99.0.0": words})[1]
    assert [(finding.id, finding.path) for finding in findings] == [("RELEASE-FACT", path)]
    assert findings[0].fix


def test_a_correction_of_a_known_release_needs_no_base_and_is_no_assumption():
    for words in ({"mooncake": "0.3.12"}, {"mooncake": "0.3.12", "base": "0.23.0"}):
        release, findings = find_release("vllm_ascend", "0.23.0", described={"v0.23.0": words})
        assert not findings and (release.name, release.mooncake) == ("0.23.0", "0.3.12")
        assert release.vllm == RELEASES["0.23.0"].vllm
        assert assumed("0.23.0", {"v0.23.0": words}, "") == {}


def test_the_base_of_a_release_may_be_described_as_well():
    described = {"99.1.0": {"base": "99.0.0", "cann": "9.9.9"}, "v99.0.0": NEW}
    release, findings = find_release("vllm_ascend", "99.1.0", described=described)
    assert not findings and (release.name, release.vllm, release.cann) == ("99.1.0", "99.0.0", "9.9.9")
    lent = assumed("99.1.0", described, "")
    assert lent["vllm"] == "99.0.0" and "cann" not in lent and lent["mooncake"] == "0.3.11.post1"


@pytest.mark.parametrize("circle", [{"a": {"base": "b"}, "b": {"base": "a"}}, {"a": {"base": "a"}}])
def test_releases_that_are_based_on_each_other_are_refused(circle):
    findings = find_release("vllm_ascend", "a", described=circle)[1]
    assert {finding.id for finding in findings} == {"RELEASE-FACT"} and assumed("a", circle, "") == {}


def test_a_text_that_is_no_version_is_not_told_to_be_quoted():
    (finding,) = find_release("vllm_ascend", "99.0.0", described={"99.0.0": {**NEW, "mooncake": "latest"}})[1]
    assert finding.problem == "'latest' is not a version" and "quotes" not in finding.fix
