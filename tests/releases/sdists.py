# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SHA-256 digests of source distributions, from the pages of a package index, beside those of the release data."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t
import urllib.request

from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER, RELEASES

JSON = "application/vnd.pypi.simple.v1+json"
TIMEOUT = 120  # seconds
Digests = dict[str, str]
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SHA-256 of the source distributions of all releases, from the package index; written by ``make releases ARGS=--write``.

SDISTS: ``name|version|SHA-256``. A release without a line published none.
"""

from __future__ import annotations

'''


def wanted() -> dict[str, list[str]]:
    """The versions of each package that rows of the release matrix have, oldest first."""
    rows = [RELEASES[name] for name in ORDER if name != "main"]
    return {"vllm": list(dict.fromkeys(row.vllm for row in rows)), "vllm-ascend": [row.name for row in rows]}


def published(index: str, package: str) -> Digests:
    """{version: SHA-256} of the source distributions on the package's page of the index (PEP 691)."""
    request = urllib.request.Request(f"{index.rstrip('/')}/{package}/", headers={"Accept": JSON})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
        files = json.load(reply)["files"]
    found = {}
    for file in files:
        name = re.fullmatch(rf"{package.replace('-', '[-_.]')}-(\d[\w.!+]*)\.tar\.gz", file["filename"])
        if name:  # also of yanked releases, which a pinned version still installs
            found[name.group(1)] = str(file["hashes"]["sha256"])
    return found


def lines(digests: t.Mapping[str, Digests]) -> list[str]:
    """The lines of the data; the versions of the release matrix only."""
    return [
        f"{package}|{version}|{digests[package][version]}"
        for package, versions in wanted().items()
        for version in versions
        if version in digests.get(package, {})
    ]


def differences(data: str, digests: t.Mapping[str, Digests]) -> list[str]:
    """What the data says otherwise than the index. A file that an index replaced is never taken over without a person."""
    known = {tuple(line.split("|")[:2]): line.split("|")[2] for line in data.split()}
    found = {tuple(line.split("|")[:2]): line.split("|")[2] for line in lines(digests)}
    texts = []
    for package, version in sorted(known.keys() | found.keys()):
        ours, theirs = known.get((package, version)), found.get((package, version))
        if ours and theirs and ours != theirs:
            texts.append(f"{package} {version}: the index has the source distribution {theirs}, the data {ours}")
        elif not ours:
            texts.append(f"{package} {version}: the data lacks the source distribution {theirs}")
        elif not theirs:
            texts.append(f"{package} {version}: the index has no source distribution any more")
    return texts


def write(path: pathlib.Path, data: str, digests: t.Mapping[str, Digests]) -> None:
    """Write the data with new lines; a known digest stays as it is, so that a replaced file is seen."""
    known = {tuple(line.split("|")[:2]): line for line in data.split()}
    found = {tuple(line.split("|")[:2]): line for line in lines(digests)}
    order = {
        (package, version): number for package, versions in wanted().items() for number, version in enumerate(versions)
    }
    keys = sorted(known.keys() | found.keys(), key=lambda key: (key[0], order.get(key, -1)))
    rows = "\n".join(known.get(key) or found[key] for key in keys)
    path.write_text(f'{HEAD}SDISTS = """\n{rows}\n"""\n', encoding="utf-8")
