# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes plugins/plugin_utils/releases/requirements_data.py: requirements of packages that hosts build from source.

    python tests/releases/collect_requirements.py          # fetches the source distributions once (10 to 40 MB each)

Run it when a release becomes first-class. vLLM without a device needs requirements/common.txt, not what the metadata of its
published wheels and source distribution list, which is for CUDA. vLLM-Ascend needs its requirements.txt.
"""

from __future__ import annotations

import os
import pathlib
import tarfile
import tempfile

import compare
import run
from ansible_collections.ascend.inference.plugins.module_utils.install import sdist
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import run_command
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

TARGET = run.DATA / "requirements_data.py"
FILES = {"vllm": "requirements/common.txt", "vllm-ascend": "requirements.txt"}
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of packages that hosts build from source; written by tests/releases/collect_requirements.py.

Keys are ``package==version``; values are requirements in the format of pip, one a line. Builders of Python environments compute such
requirements by running the package's setup.py, which for vLLM installs a torch for CUDA first.
"""

from __future__ import annotations

REQUIREMENTS = {
'''


def unpacked(package: str, version: str) -> str:
    """The text of the package's requirements file, from its source distribution."""
    kept = run.CACHE / "requirements" / f"{package}-{version}.txt"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=run.CACHE) as work:
            wish = {"package": package, "version": version, "python": run.python()}
            with tarfile.open(sdist.download(wish, work, run_command)) as archive:
                folder = f"{package.replace('-', '_')}-{version}"
                stream = archive.extractfile(os.path.join(folder, FILES[package]))
                kept.write_text(stream.read().decode("utf-8") if stream else "", encoding="utf-8")
    return kept.read_text(encoding="utf-8")


def requirements(text: str) -> list[str]:
    """The requirements of a file, sorted, without comments, options and spaces."""
    lines = [line.split(" #")[0].split("#")[0].strip() for line in text.splitlines()]
    found = []
    for line in lines:
        if line and not line.startswith("-"):
            name, _semicolon, marker = line.partition(";")
            needless = "x86_64" in marker and "aarch64" in marker  # the architectures of all hosts
            found.append(name.replace(" ", "") + (f"; {marker.strip()}" if marker and not needless else ""))
    return sorted(found)


def main() -> None:
    """Write the data of the first-class releases."""
    run.CACHE.mkdir(parents=True, exist_ok=True)
    pairs = {("vllm-ascend", name) for name in compare.FIRST_CLASS}
    pairs |= {("vllm", RELEASES[name].vllm) for name in compare.FIRST_CLASS}
    parts = [HEAD]
    for package, version in sorted(pairs):
        lines = "\n".join(requirements(unpacked(package, version)))
        parts.append(f'    "{package}=={version}": """\n{lines}\n""",\n')
    pathlib.Path(TARGET).write_text("".join([*parts, "}\n"]), encoding="utf-8")


if __name__ == "__main__":
    main()
