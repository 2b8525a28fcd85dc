# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep a service running with the made-up runtime, through the module's own functions; the argument is an empty folder."""

import pathlib
import sys
import time

from ansible_collections.ascend.inference.plugins.module_utils.runtime.registry import runtime_of
from ansible_collections.ascend.inference.plugins.modules import service_state as module

FOLDER = pathlib.Path(sys.argv[1])
DIGEST = FOLDER / "a.digest"
(FOLDER / "run").mkdir()
(FOLDER / "run.sh").write_text(f"echo 1 > {DIGEST}; echo hello; exec sleep 600\n")
SERVICE = {"name": "a", "unit": "pid.x.a", "digest": "1", "digest_file": str(DIGEST), "newer": [], "url": ""}
SERVICE["script"] = str(FOLDER / "run.sh")


def call(state, check=False, **words):
    params = {"state": state, "services": [{**SERVICE, **words}], "remove": False, "restarts": 0, "lines": 9}
    work = module.registered if state in ("present", "absent") else module.running
    return work(runtime, params, check)


runtime = runtime_of("processes", {"folder": str(FOLDER / "run")})
try:
    print("present", call("present")["changed"])
    print("check", call("started", check=True)["started"])
    print("started", call("started")["started"])
    while not DIGEST.exists() or DIGEST.read_text() != "1\n":
        time.sleep(0.05)
    print("again", call("started")["changed"])
    print("log", runtime.log(SERVICE, 9))
    print("pids", [number > 1 for number in runtime.pids([SERVICE]).values()])
    print("changed", call("started", digest="2")["restarted"])
    print("status", runtime.states([])["pid.x.a"]["state"])
finally:
    print("absent", call("absent")["stopped"])
print("again", call("absent")["changed"])
