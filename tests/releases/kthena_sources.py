# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is what the product says of versions of Kthena what its sources say? ``python tests/releases/kthena_sources.py FOLDER`` with a clone of them.

Each claim names the file that makes it and words of it: ``tests/unit/releases/test_kthena_sources.py`` finds out if they are no longer there.
"""

from __future__ import annotations

import subprocess
import sys
import typing as t

CRDS = "charts/kthena/charts/workload/crds/workload.serving.volcano.sh_"
SERVING, POLICY, BINDING = (
    f"{CRDS}{name}.yaml" for name in ("modelservings", "autoscalingpolicies", "autoscalingpolicybindings")
)
ROUTER, GANG = "pkg/kthena-router/router/router.go", "pkg/model-serving-controller/podgroupmanager/manager.go"
ROLE = 24 * " "  # before a field of a role in the CRD
TIMEOUT = "TrafficPolicy.Timeout"


class Claim(t.NamedTuple):
    """``words`` of our ``file`` say that this ``text`` is, or is not (``there``), in a ``path`` of Kthena's ``version``."""

    file: str
    words: str
    version: str
    path: str
    text: str
    there: bool = True


RULES = "plugins/plugin_utils/runtimes/kubernetes/rules.py"
WISHES = "plugins/plugin_utils/description/kubernetes.py"
GUIDE = "docs/docsite/rst/guide_kthena.rst"
CLAIMS = (
    Claim(RULES, "v0.4.0 scales roles by a kind of its own", "v0.4.0", BINDING, "subTargets"),
    Claim(RULES, "v0.4.0 scales roles by a kind of its own", "v0.4.0", POLICY, "disaggregatedTarget", False),
    Claim(RULES, "a policy has at most two roles", "v1.0.0", POLICY, "maxProperties: 2"),
    Claim(WISHES, "v0.4.0 has no maxUnavailable per role", "v0.4.0", SERVING, f"\n{ROLE}maxUnavailable:", False),
    Claim(WISHES, "v0.4.0 has no maxUnavailable per role", "v1.0.0", SERVING, f"\n{ROLE}maxUnavailable:"),
    Claim(WISHES, "main (after v1.0.0) has a partition per role", "v1.0.0", SERVING, f"\n{ROLE}partition:", False),
    Claim(WISHES, "main (after v1.0.0) has a partition per role", "main", SERVING, f"\n{ROLE}partition:"),
    Claim(WISHES, "Kthena after v1.0.0 applies it", "main", ROUTER, TIMEOUT),
    Claim(GUIDE, "Kthena v1.0.0 does not apply it", "v1.0.0", ROUTER, TIMEOUT, False),
    Claim(GUIDE, "Kthena requires all pods of a serving group at once", "v1.0.0", GANG, "Default to all replicas"),
)


def problems(read: t.Callable[[str, str], str]) -> list[str]:
    """Claims that ``read`` (version, path -> text) shows to be wrong. A file without text is wrong, too: then nothing was compared."""
    found = []
    for claim in CLAIMS:
        text = read(claim.version, claim.path)
        if not text or (claim.text in text) != claim.there:
            found.append(
                f"{claim.file}: '{claim.words}', and {claim.text.strip()} is {'not ' if claim.there else ''}in {claim.path} of {claim.version}"
            )
    return found


def main() -> int:
    """Exit status 1 if a claim is wrong."""

    def read(version: str, path: str) -> str:
        command = ["git", "-C", sys.argv[1], "show", f"{version}:{path}"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    found = problems(read)
    print("\n".join(found) or f"{len(CLAIMS)} claims hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
