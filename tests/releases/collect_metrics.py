# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes plugins/plugin_utils/releases/metrics_data.py: the metrics of vLLM by version of vLLM.

    python tests/releases/collect_metrics.py          # fetches the source distributions once (10 to 40 MB each)

Run it when a release with a new vLLM joins the matrix, after tests/parsers/collect_flags.py.
"""

from __future__ import annotations

import os
import pathlib
import re
import tarfile
import tempfile

import compare
import run
import vllm_metrics
from ansible_collections.ascend.inference.plugins.module_utils.install import sdist
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import run_command
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options_data

WITHOUT_SDIST = {"0.15.0"}  # the index has wheels of it only; what both neighbours have, it has
TARGET = run.DATA / "metrics_data.py"
NEEDED = re.compile(r"[^/]+/vllm/(v1/metrics|distributed/kv_transfer)/.*\.py$")
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of vLLM by version, as Prometheus stores them; written by tests/releases/collect_metrics.py.

VLLM: ``name|first|last`` version that has it; an empty bound is open. VERSIONS: the versions that it covers.
"""

from __future__ import annotations

'''


def unpacked(version: str) -> pathlib.Path:
    """The folder of a vLLM's sources; only what is read is unpacked."""
    folder = run.CACHE / "metrics" / version
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=run.CACHE) as work:
            wish = {"package": "vllm", "version": version, "python": run.python()}
            with tarfile.open(sdist.download(wish, work, run_command)) as archive:
                members = [member for member in archive.getmembers() if member.isfile() and NEEDED.match(member.name)]
                for member in members:
                    member.name = member.name.split("/", 1)[1]
                archive.extractall(os.path.join(work, "sources"), members=members, filter="data")
            os.rename(os.path.join(work, "sources"), folder)
    return folder


def main() -> None:
    """Collect and write."""
    versions = [version for version in options_data.VLLM_VERSIONS if version not in WITHOUT_SDIST]
    lines = compare.spans({version: vllm_metrics.read(unpacked(version)) for version in versions})
    listed = "".join(f'    "{version}",\n' for version in options_data.VLLM_VERSIONS)
    text = HEAD + f"VERSIONS = [\n{listed}]\n\n" + 'VLLM = """\n' + "\n".join(lines) + '\n"""\n'
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET}: {len(lines)} lines")


if __name__ == "__main__":
    main()
