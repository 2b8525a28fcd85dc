# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes plugins/plugin_utils/releases/values_data.py: what vLLM's JSON flags and registries take, by version of vLLM.

    python tests/releases/collect_values.py          # fetches the source distributions once (10 to 40 MB each)

Run it when a release with a new vLLM joins the matrix, after tests/parsers/collect_flags.py.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import tarfile
import tempfile

import compare
import run
import vllm_values
from ansible_collections.ascend.inference.plugins.module_utils.install import sdist
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import run_command
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.arguments import JSON_FLAGS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options_data

WITHOUT_SDIST = {"0.15.0"}  # the index has wheels of it only; what both neighbours have, it has
TARGET = run.DATA / "values_data.py"
NEEDED = re.compile(
    r"[^/]+/vllm/(config(\.py|/.*\.py)|envs\.py|reasoning/.*\.py|(entrypoints/openai/)?tool_parsers/.*\.py"
    r"|model_executor/(model_loader|layers/quantization)/__init__\.py|model_executor/models/registry\.py"
    r"|tokenizers/registry\.py)$"
)
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM's configuration classes and registries take, by version; written by tests/releases/collect_values.py.

VALUES: ``word|first|last`` version that has it; an empty bound is open. ``flag.key:kind`` is a key of a JSON flag with the
kind of its value (bool, int, float, str, ints, or nothing), ``flag.key=value`` and ``flag=value`` are values that it takes.
ENVIRONMENT: the same for the variables that vllm/envs.py reads. VERSIONS: the versions that it covers.
"""

from __future__ import annotations

'''


def unpacked(version: str) -> pathlib.Path:
    """The folder of a vLLM's sources; only what is read is unpacked."""
    kept = hashlib.sha256(NEEDED.pattern.encode()).hexdigest()[:8]  # other files: fetched again
    folder = run.CACHE / "vllm" / f"{version}-{kept}"
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
    folders = {version: unpacked(version) for version in options_data.VLLM_VERSIONS if version not in WITHOUT_SDIST}
    flags = sorted(
        {line.split("|")[0] for line in options_data.VLLM.split() if line.split("|")[3:4] == ["json"]} | JSON_FLAGS
    )
    tables = {
        "VALUES": compare.spans({name: vllm_values.read(folder, flags) for name, folder in folders.items()}),
        "ENVIRONMENT": compare.spans({name: vllm_values.environment(folder) for name, folder in folders.items()}),
    }
    listed = "".join(f'    "{version}",\n' for version in options_data.VLLM_VERSIONS)
    text = (
        HEAD
        + f"VERSIONS = [\n{listed}]\n\n"
        + "\n".join(f'{name} = """\n' + "\n".join(lines) + '\n"""\n' for name, lines in tables.items())
    )
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET}: {', '.join(f'{name} {len(lines)} lines' for name, lines in tables.items())}")


if __name__ == "__main__":
    main()
