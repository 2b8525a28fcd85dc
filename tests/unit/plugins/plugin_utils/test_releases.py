# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release matrix: the rows, the steps between them, and what an unknown release gets."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import matrix as data
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import (
    ORDER,
    RELEASES,
    Release,
    find_release,
    nearest_release,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.version import numbers

REPOSITORY = pathlib.Path(__file__).resolve().parents[4]
MATRIX = pathlib.Path(os.environ.get("INFERENCE_SHARED", REPOSITORY.parent / "shared")) / "knowledge" / "versions.yaml"


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
    dummy, complaints = find_release("vllm_ascend", "0.19.2")
    assert [one.id for one in complaints] == ["RELEASE-UNKNOWN"]
    assert "'0.19.1rc1'" in complaints[0].fix
    assert "inference_release_base" in complaints[0].fix


def test_the_override_lends_a_rows_facts_to_an_unknown_release():
    release, complaints = find_release("vllm_ascend", "0.31.0", "v0.23.0")
    assert not complaints
    assert (release.name, release.vllm) == ("0.31.0", "0.23.0")


def test_an_unknown_override_is_refused_too():
    assert [one.path for one in find_release("vllm_ascend", "0.31.0", "0.30")[1]] == ["inference_release_base"]


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
    files = [path for path in (REPOSITORY / "plugins").rglob("*.py") if path.parent.name != "releases"]
    read = "".join(path.read_text() for path in (*files, REPOSITORY / "plugins/plugin_utils/releases/release.py"))
    unread = [one.name for one in dataclasses.fields(Release) if not re.search(rf"\.{one.name}\b", read)]
    assert not unread


@pytest.mark.skipif(not MATRIX.exists(), reason="the matrix that this data was condensed from is not here")
def test_the_rows_agree_with_the_matrix():
    matrix = yaml.safe_load(MATRIX.read_text())["releases"]
    assert [name.lstrip("v").replace("HEAD", "main") for name in matrix] == list(ORDER)
    for name, row in matrix.items():
        release = RELEASES[name.lstrip("v").replace("HEAD", "main")]
        pd = row["pd"]
        assert release.vllm == row["vllm"].lstrip("v"), name
        assert release.python == row["image_python"], name
        assert release.mooncake == (row["mooncake"]["image"] or "").lstrip("v"), name
        assert (
            release.mooncake_install
            == re.split(":", (row["mooncake"]["image_install"] or "").replace("pip", "package"))[0]
        ), name
        assert release.fastapi == (row["fastapi_pin"] or ""), name
        assert row["cann"].get("matrix") in (None, release.cann), name
        assert row["torch_npu"]["matrix"] in (None, release.torch_npu), name
        own = {"MultiConnector", "OffloadingConnector"}  # vLLM's: the matrix has those that vLLM-Ascend registers
        assert set(row["connectors"]) - own == set(release.connectors) - own, name
        flags = {one.rsplit("/", 1)[-1]: set(proxy["flags"]) for one, proxy in row["proxies"].items()}
        for flavour, path in release.proxy_paths.items():
            assert path in row["proxies"], (name, flavour)
            assert flags[path.rsplit("/", 1)[-1]] == set(release.proxies[flavour]), (name, flavour)
        assert bool(pd["llmdatadist"]) == ("LLMDataDistCMgrConnector" in release.connectors), name
        for fact, key in (
            ("free_timeout_env", "p_free_timeout_env"),
            ("use_ascend_direct", "use_ascend_direct_consumed"),
            ("llmdatadist_port_env", "llmdd_port_env"),
            ("rank_table_env", "ranktable_env"),
            ("failure_policy", "kv_load_failure_policy_default"),
            ("external_prefix_cache", "external_prefix_cache_metrics"),
            ("shutdown_timeout", "shutdown_timeout_flag"),
            ("dense_dp_breaks", "dense_dp_breaks_check"),
            ("head_dim_needed", "head_dim_required_in_config_json"),
        ):
            assert (pd.get(key) or "") == (getattr(release, fact) or ""), (name, fact)
        if pd.get("ascend_direct_port_stride"):
            assert release.ascend_direct_stride == pd["ascend_direct_port_stride"], name
