# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of an upgrade; the playbook itself runs in tests/integration/test_upgrade.py."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle import rollback
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.outcome import lagging, outcome, went_back
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.upgrade import mode, obstacles, refusals
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.choices import upgrade_mode
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family


def plan(release="2.0", hosts=("h1", "h2"), cann=("9.0", "/opt/cann-9"), **more):
    return {
        "plan_version": PLAN_VERSION,
        "release": release,
        "runtime": "systemd",
        "root": "/opt/x",
        "directory": "/opt/x/d",
        "hosts": [{"name": name} for name in hosts],
        "software": {"cann": {"version": cann[0], "path": cann[1]} if cann else {}},
        **more,
    }


OLD = plan("1.0", cann=("8.0", "/opt/cann-8"))


def test_the_same_deployment_on_all_hosts_may_be_upgraded():
    assert refusals({"h1": OLD, "h2": OLD}, plan(), cann_installed=True) == []


@pytest.mark.parametrize(
    ("deployed", "expected"),
    [
        ({"h1": {}, "h2": {}}, "h1 has none; h2 has none"),
        ({"h1": OLD, "h2": {}}, "h2 has none"),
        ({"h1": OLD, "h2": plan("0.9")}, "h2 has release 0.9"),
        ({"h1": plan("1.0", hosts=("h1", "h3")), "h2": plan("1.0", hosts=("h1", "h3"))}, "on h1, h3"),
        ({"h1": plan("1.0", runtime="docker"), "h2": plan("1.0", runtime="docker")}, "with runtime docker"),
    ],
)
def test_nothing_to_go_back_to(deployed, expected):
    (text,) = refusals(deployed, plan(), cann_installed=True)
    assert expected in text and "Fix: use the playbook site" in text


@pytest.mark.parametrize("version", [PLAN_VERSION - 1, PLAN_VERSION + 1, None])
def test_a_plan_that_could_not_be_started_again_is_refused(version):
    old = {**OLD, "plan_version": version}
    if version is None:
        del old["plan_version"]
    (text,) = refusals({"h1": OLD, "h2": old}, plan(), cann_installed=True)
    assert f"h2 has version {version or 'none'}, this collection writes {PLAN_VERSION}" in text and "h1 has" not in text
    assert "Fix: run upgrade with the version of the collection that deployed it" in text


@pytest.mark.parametrize(
    ("previous", "installed", "refused"),
    [
        (("8.0", "/opt/cann-9"), True, True),  # another version in the same folder
        (("8.0", "/opt/cann-9"), False, False),  # the site's own CANN is not touched
        (("9.0", "/opt/cann-9"), True, False),  # the same version
        (("8.0", "/opt/cann-8"), True, False),  # a folder of its own
        (None, True, False),  # on CPU there is none
    ],
)
def test_cann_of_the_running_release_is_kept(previous, installed, refused):
    old = plan("1.0", cann=previous)
    assert bool(refusals({"h1": old, "h2": old}, plan(), installed)) is refused


def test_hosts_that_lag_behind_are_named():
    progress = {"h1": {"stage": "ready"}, "h2": None, "h3": {"stage": "failed", "reason": "x"}}
    assert lagging(progress, "ready") == ["h2", "h3"]


def test_all_verified_is_done():
    assert outcome({"h1": {"stage": "verified"}, "h2": {"stage": "verified"}}, "2.0")["next"] == "done"


@pytest.mark.parametrize(
    ("progress", "message"),
    [
        ({"h1": {"stage": "failed", "reason": "text differs."}, "h2": {"stage": "started"}}, "text differs"),
        ({"h1": {"stage": "started"}, "h2": {"stage": "ready"}}, "a host is unreachable"),
        ({"h1": {"stage": "verified"}, "h2": None}, "a host is unreachable"),
    ],
)
def test_anything_else_goes_back_with_the_reason(progress, message):
    why = f"Release 2.0 was not verified: {message}"
    assert outcome(progress, "2.0") == {"next": "go_back", "message": why, "fix": "correct the reason"}


STEP = "Step 3 of 4 failed on n2: Start x. n2: no NPU. Fix: correct the reason and run the playbook again."


@pytest.mark.parametrize(
    ("reasons", "ends"),
    [
        (
            [STEP],
            "n2: no NPU. Release 1.0 was started again and is verified. Fix: correct the reason, then run upgrade again.",
        ),
        (
            ["n1: no disk. Fix: free 2 GB."],
            "n1: no disk. Release 1.0 was started again and is verified. Fix: free 2 GB, then run upgrade again.",
        ),
        ([STEP, "no disk. Fix: free 2 GB."], "Fix: free 2 GB, then run upgrade again."),
        (
            ["n1: no disk.\n Fix: free 2 GB.\n n2: no text. Fix: look.", STEP],
            "verified. After that, run upgrade again.",
        ),
    ],
)
def test_a_message_has_one_piece_of_advice_or_those_of_its_findings(reasons, ends):
    ended = outcome({f"h{number}": {"reason": reason} for number, reason in enumerate(reasons)}, "2.0")
    text = went_back(ended, "1.0")
    assert text.endswith(ends), text
    assert text.count("Fix:") == 1 or not ended["fix"]
    failed = went_back(ended, "1.0", STEP)
    assert (
        failed.count("Fix:") == 1
        and "could not be started again: Step 3" in failed
        and failed.endswith("then run rollback, which returns to release 1.0.")
    )
    assert "started again: see above. Fix:" in went_back(ended, "1.0", "")


def pd_plan(prefill=2, decode=2, **more):
    hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}}
    pools = {"prefill": {"instances": prefill}, "decode": {"instances": decode}}
    base = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_model": {"path": "/m", "name": "m"},
    }
    return launch_plan({**base, "inference_pools": pools, **more}, hosts)


NOTHING = "Mode rolling: no pause. Nothing changes:"


def test_the_gentlest_mode_is_the_default():
    found = mode({"n1": pd_plan()}, pd_plan(inference_args={"max-num-seqs": 8}), "")
    assert (found["mode"], found["refusals"]) == ("rolling", [])
    assert found["text"].startswith("Mode rolling: no pause. 2 steps;")
    assert mode({"n1": pd_plan()}, pd_plan(inference_args={"max-num-seqs": 8}), "recreate")["mode"] == "recreate"


def test_an_upgrade_to_what_is_deployed_says_that_nothing_changes():
    found = mode({"n1": pd_plan()}, pd_plan(), "")
    assert (found["mode"], found["refusals"]) == ("rolling", [])
    assert found["text"].startswith(f"{NOTHING} the services have the settings of this plan.")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pd_plan(inference_probe={"enabled": True}), pd_plan(inference_probe={"enabled": True, "interval": 30})),
        (pd_plan(), pd_plan(3, 3)),
        (pd_plan(3, 3), pd_plan()),
    ],
    ids=["the probe restarts", "instances are added", "instances leave"],
)
def test_a_change_in_which_nothing_that_serves_restarts_has_no_steps(old, new):
    found = mode({"n1": old}, new, "")
    assert found["text"] == "Mode rolling: no pause. No instance and no router that serves restarts."


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (pd_plan(), {**pd_plan(), "release": "cpu-0.1"}, "cannot exchange KV cache"),
        (pd_plan(), pd_plan(inference_args={"block-size": 64}), "cannot exchange KV cache"),
        (pd_plan(2, 1), pd_plan(2, 1, inference_args={"max-num-seqs": 8}), "decode-0: its pool has no other instance"),
        (
            pd_plan(),
            pd_plan(inference_router={"args": {"policy": "random"}}),
            "router: all requests go through it, and there is one of it",
        ),
        (
            pd_plan(),
            pd_plan(inference_router={"port": 8100}),
            "router: the address that clients use changes from http://192.0.2.1:8000 to http://192.0.2.1:8100",
        ),
        ({}, pd_plan(), "cannot exchange KV cache"),
    ],
)
def test_what_cannot_roll_stops_everything_and_says_why(old, new, why):
    found = mode({"n1": old}, new, "")
    assert found["mode"] == "recreate" and why in found["text"] and "Clients get errors" in found["text"]
    (text,) = mode({"n1": old}, new, "rolling")["refusals"]
    assert why in text and "Nothing was changed" in text


def test_after_an_interrupted_change_to_another_plan_everything_stops():
    """Services may run that plan, whatever the verified one says. The same change may go on as it began."""
    whole = pd_plan()

    def chosen(interrupted, asked=""):
        return upgrade_mode({"n1": {"previous": whole, "locked": {"interrupted": interrupted}}}, whole, asked)

    assert [chosen(digest)["mode"] for digest in ("", whole["digest"])] == ["rolling"] * 2
    assert (
        chosen("other")["mode"] == "recreate"
        and "it is not recorded that the last change has ended" in chosen("other")["text"]
    )
    assert "it is not recorded that the last change has ended" in chosen("other", "rolling")["refusals"][0]


def after_an_unverified(runs, new, asked="", verified=None):
    """How to upgrade where ``runs`` is deployed and another plan was verified last."""
    found = {"previous": verified or pd_plan(), "unverified": runs}
    return upgrade_mode({"n1": {"previous": found["previous"], "locked": found}}, new, asked)


@pytest.mark.parametrize("asked", ["", "rolling", "blue_green"])
@pytest.mark.parametrize("new", [{"inference_args": {"block-size": 64}}, {}, {"inference_args": {"max-num-seqs": 8}}])
def test_what_runs_and_cannot_return_to_the_verified_plan_is_not_stopped_unasked(asked, new):
    """It may even be what is asked for; the verified plan says nothing about what has to restart."""
    runs = pd_plan(inference_args={"block-size": 64})
    found = after_an_unverified(runs, pd_plan(**new), asked)
    assert (found["mode"], found["text"], found["rounds"]) == ("", "", [])
    assert "was never verified" in found["refusals"][0] and "Fix: run verify" in found["refusals"][0]
    assert after_an_unverified(runs, pd_plan(**new), "recreate")["mode"] == "recreate"


def test_the_mode_is_that_of_a_change_of_what_runs():
    """The verified plan has two decode engines, but one runs."""
    limit = {"inference_args": {"max-num-seqs": 8}}
    found = after_an_unverified(pd_plan(2, 1), pd_plan(2, 1, **limit))
    assert found["mode"] == "recreate" and "decode-0: its pool has no other instance" in found["text"]
    found = after_an_unverified(pd_plan(**limit), pd_plan(**limit))
    assert found["mode"] == "rolling" and found["text"].startswith(NOTHING)


def test_there_are_three_modes():
    (text,) = mode({"n1": pd_plan()}, pd_plan(), "half")["refusals"]
    assert "inference_upgrade_mode is 'half', and there are rolling, blue_green and recreate." in text


@pytest.mark.parametrize(
    ("phases", "running", "chosen"),
    [
        (["verified"], pd_plan(inference_args={"max-num-seqs": 8}), "rolling"),
        (["deployed"], pd_plan(inference_args={"max-num-seqs": 8}), "rolling"),
        (["changing"], pd_plan(inference_args={"max-num-seqs": 8}), "recreate"),
        (["verified", "changing"], pd_plan(), "recreate"),
        ([], pd_plan(), "recreate"),
        (["verified"], pd_plan(inference_args={"block-size": 64}), "recreate"),
        (["verified"], {}, "recreate"),
    ],
)
def test_a_rollback_stops_everything_unless_it_can_roll(phases, running, chosen):
    found = rollback.mode({"n1": pd_plan()}, running, phases, allow_pause=True)
    assert found["mode"] == chosen and found["text"].startswith(f"Mode {chosen}: ")


def test_a_probe_that_restarts_stops_no_other_service():
    """No client asks it. A rollback to fewer engines changes its list of them, and would stop everything."""
    probe = {"enabled": True}
    old, more = (pd_plan(2, count, inference_probe=probe) for count in (2, 3))
    faster = pd_plan(inference_probe={**probe, "interval": 30})
    assert obstacles(faster, old) == obstacles(more, old) == obstacles(old, more) == []
    assert rollback.mode({"n1": old}, more, ["verified"])["mode"] == "rolling"


def test_several_masters_restart_at_once():
    old, new = (
        launch_plan(*family("ha", {"inference_mooncake_master.args.eviction_ratio": ratio})) for ratio in (0.1, 0.2)
    )
    masters = "mooncake-master-0, mooncake-master-1"
    assert obstacles(new, old) == [f"{masters}: their settings change, and all restart at once"]


def masters(name, **more):
    """Plans before and after another setting of the store's master."""
    return [
        launch_plan(*family(name, {"inference_mooncake_master.args.eviction_ratio": ratio, **more}))
        for ratio in (0.1, 0.2)
    ]


def test_engines_go_on_while_the_only_master_of_the_store_restarts():
    """As in deploy, which restarts nothing else: engines of all releases send heartbeats, and mount their memory again at a master that does not know them."""
    old, new = masters("both")
    found = mode({"n1": old}, new, "")
    assert (found["mode"], found["refusals"], obstacles(new, old)) == ("rolling", [], [])
    assert found["text"] == (
        "Mode rolling: no pause. No instance and no router that serves restarts. mooncake-master restarts at once: engines mount their memory again by "
        "themselves; what the store has is lost, and prompts are computed again."
    )
    assert rollback.mode({"n1": old}, new, ["verified"])["mode"] == "rolling"
    both = launch_plan(
        *family("both", {"inference_mooncake_master.args.eviction_ratio": 0.2, "inference_router.port": 8100})
    )
    (why,) = obstacles(both, old)
    assert why.startswith("router: ")


def test_a_master_that_keeps_the_addresses_of_memory_does_not_restart_alone():
    old, new = masters("both", **{"inference_mooncake_master.http_metadata_port": 9401})
    single = "mooncake-master: there is one of it, and its settings change"
    assert obstacles(new, old) == [single]
    assert obstacles(new, masters("both")[0])[-1] == obstacles(masters("both")[1], old)[-1] == single, "in either plan"


def test_the_meta_service_of_memcache_does_not_restart_alone():
    store = {"inference_store.backend": "memcache"}
    old, new = (
        launch_plan(*family("both", {**store, "inference_mooncake_master.args": {"ock.mmc.log_level": level}}))
        for level in ("info", "warn")
    )
    assert [text.partition(": ")[2] for text in obstacles(new, old)] == ["there is one of it, and its settings change"]
