# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is what the product says that vLLM-Ascend has, or has not, what the sources of the release say?

Each claim names the file that makes it and words of it: ``tests/unit/releases/test_said.py`` finds out if they are no longer there.
"""

from __future__ import annotations

import pathlib
import re
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

EVER: tuple[int, ...] = (999,)
RULES, GUIDES = "plugins/plugin_utils/plan/rules", "docs/published"


class Claim(t.NamedTuple):
    """``words`` of our ``file``: in releases with vLLM ``since`` to before ``until``, ``text`` is in files ``paths``, or is in none of them (``there``)."""

    file: str
    words: str
    since: tuple[int, ...]
    until: tuple[int, ...]
    paths: str
    text: str
    there: bool = False


CLAIMS = (
    Claim(f"{RULES}/store_ha.py", "images of vLLM-Ascend have no etcd", (0,), EVER, "Dockerfile*", r"\betcd"),
    Claim(f"{RULES}/router.py", "upstream's images have no HAProxy", (0,), EVER, "Dockerfile*", "haproxy"),
    Claim(f"{RULES}/balancer.py", "upstream's images have no HAProxy", (0,), EVER, "Dockerfile*", "haproxy"),
    Claim(
        f"{RULES}/unused.py", "the proxies have no port for metrics", (0, 9), EVER, "examples/**/*proxy*.py", "metrics"
    ),
    Claim(
        f"{RULES}/torchair.py",
        "0.12.0rc1 has no TorchAir",
        (0, 12),
        EVER,
        "vllm_ascend/**/*.py",
        "torchair_graph_config",
    ),
    Claim(
        "plugins/module_utils/router/instances.py",
        "releases before 0.13.0 have no such path",
        (0, 9),
        (0, 13),
        "examples/**/load_balance*.py",
        "/instances/add",
    ),
    Claim(
        f"{RULES}/environment.py",
        "platform.py of 0.10 and 0.11: does not support V0 engine",
        (0, 10),
        (0, 12),
        "vllm_ascend/platform.py",
        "does not support V0 engine",
        True,
    ),
    Claim(
        f"{GUIDES}/colocated_pool.yml",
        "has only the V1 engine, and ends at its start with 0",
        (0, 11),
        (0, 12),
        "vllm_ascend/platform.py",
        "does not support V0 engine",
        True,
    ),
    Claim(
        f"{GUIDES}/llmdatadist_1p2d.yml",
        "This release has no such key and ignores it.",
        (0, 10, 1),
        (0, 10, 2),
        "vllm_ascend/**/*.py",
        "enable_multistream_shared_expert",
    ),
)


def differences(release: str, sources: pathlib.Path) -> t.Iterator[str]:
    """Claims about the release that its sources show to be wrong. Without a file to look into one is wrong, too: then nothing was compared."""
    for claim in CLAIMS:
        if not claim.since <= RELEASES[release].vllm_version < claim.until:
            continue
        files = sorted(sources.glob(claim.paths))
        found = [path for path in files if re.search(claim.text, path.read_text(encoding="utf-8"), re.I)]
        if not files or bool(found) != claim.there:
            where = ", ".join(path.relative_to(sources).as_posix() for path in found or files) or "no file"
            yield f"{claim.file}: '{claim.words}', and '{claim.text}' is {'' if found else 'not '}in {where} ({claim.paths})"
