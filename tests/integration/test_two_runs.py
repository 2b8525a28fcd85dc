# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two playbooks at once that change one deployment: one ends as if it were alone, the other one is refused and has changed nothing.

The host is that of ``_deployment``. The first run is held in the middle of its change while the second one begins; in the last test both begin at
the same moment. What each of them does alone is the subject of other tests.
"""

from __future__ import annotations

import pathlib
import shutil
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment
from ansible_collections.ascend.inference.tests.integration.test_interruptions import leftovers, phase, snapshot

pytestmark = pytest.mark.long
NEW = "0.24.0rc1"
WRITES = "service | Write scripts, units and environments"
HELD = {
    "site": f"Deploy | {WRITES}",
    "upgrade": f"Switch to the new release | {WRITES}",
    "rollback": f"Start the previous services | {WRITES}",
    "tune": "Tune the hosts | tune | Apply the settings of the profile, and set others back",
}
SWAPPINESS = "proc/sys/vm/swappiness"


@pytest.fixture(scope="module")
def upgraded():
    """A deployment that runs the new release and can go back to the old one; what is installed is simulated, and nothing is checked."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="two"))  # short, because of the path of a socket
    deployment = Deployment(folder, packages_too=False)
    deployment.new = {"inference_release": NEW, "inference_cann_path": str(folder / "Ascend-new")}
    deployment.host_root = folder / "host"
    (deployment.host_root / SWAPPINESS).parent.mkdir(parents=True)
    (deployment.host_root / "etc/systemd/system").mkdir(parents=True)
    deployment.provide()
    deployment.provide(**deployment.new)
    deployment.without("check", "prepare")
    yield deployment
    deployment.stop()
    shutil.rmtree(folder)


@pytest.fixture
def deployment(upgraded):
    for playbook, variables in (("site", {"inference_allow_pause": True}), ("upgrade", upgraded.new)):
        run = upgraded.play(playbook, **variables)
        assert run.code == 0, run.output[-6000:]
    (upgraded.host_root / SWAPPINESS).write_text("60\n")
    return upgraded


def given(deployment, playbook):
    """The variables of a run: an upgrade changes an argument, and a site does as well."""
    changed = {"inference_args": {"max-model-len": 2048}}
    return {
        "site": {**deployment.new, **changed, "inference_allow_pause": True},
        "upgrade": {**deployment.new, **changed},
        "rollback": {"inference_allow_pause": True},
        "tune": {**deployment.new, "tune_root": str(deployment.host_root)},
    }[playbook]


def refused(run):
    return run.code != 0 and "deployment inference is being changed by" in " ".join(run.output.split())


def assert_whole(deployment, playbook):
    """The deployment is what the playbook alone makes of it: nothing of another run is there, and nothing is left to do."""
    assert leftovers(deployment) == [] and phase(deployment) == "verified"
    variables = {"rollback": {}, "tune": deployment.new}.get(playbook) or given(deployment, playbook)
    variables = {} if playbook == "rollback" else variables
    again = deployment.play("deploy", **variables)
    assert (again.code, again.changed) == (0, 0), again.output[-6000:]
    assert (deployment.host_root / SWAPPINESS).read_text() == ("1\n" if playbook == "tune" else "60\n")


@pytest.mark.parametrize(
    ("first", "second"),
    [("upgrade", "rollback"), ("rollback", "upgrade"), ("site", "tune"), ("tune", "site"), ("rollback", "tune")],
)
def test_the_second_run_is_refused_and_the_first_one_ends(deployment, first, second):
    held = deployment.begin(first, HELD[first], signalled="SIGSTOP", **given(deployment, first))
    try:
        locked = deployment_lock.holder_of(str(deployment.directory))
        before = snapshot(deployment)
        other = deployment.play(second, **given(deployment, second)) if locked else None
        after, still = snapshot(deployment), deployment_lock.holder_of(str(deployment.directory))
    finally:  # a process that stays stopped would keep the deployment's lock
        run = held()
    assert other, run.output[-6000:]
    assert refused(other), other.output[-6000:]
    assert after == before and still
    assert run.code == 0, run.output[-6000:]
    assert_whole(deployment, first)


@pytest.mark.parametrize("pair", [("upgrade", "rollback"), ("tune", "site")], ids="+".join)
def test_of_two_that_begin_together_each_succeeds_or_is_refused(deployment, pair):
    """The one that comes first may have ended before the other one asks for the lock: then both succeed, one after the other."""
    runs = [end() for end in [deployment.begin(name, **given(deployment, name)) for name in pair]]
    for run in runs:
        assert run.code == 0 or refused(run), run.output[-6000:]
    succeeded = [name for name, run in zip(pair, runs, strict=True) if run.code == 0]
    assert succeeded
    if len(succeeded) == 1:
        assert_whole(deployment, succeeded[0])
    else:
        assert leftovers(deployment) == [] and phase(deployment) == "verified"
