# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIMULATED: a machine that allows all requested limits. Runs runc with limits lowered to those of this machine.

The plan asks for locked memory without limit, as NPUs need it. A node of these tests may not raise its limits.
"""

import json
import os
import resource
import sys

if "--bundle" in sys.argv and "create" in sys.argv:
    path = os.path.join(sys.argv[sys.argv.index("--bundle") + 1], "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    for limit in config["process"].get("rlimits", []):
        most = resource.getrlimit(getattr(resource, limit["type"]))[1]
        if most != resource.RLIM_INFINITY:
            limit["hard"] = min(limit["hard"], most)
            limit["soft"] = min(limit["soft"], most)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
os.execv("/usr/bin/runc", ["runc", *sys.argv[1:]])
