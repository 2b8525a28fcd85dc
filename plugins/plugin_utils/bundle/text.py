# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of a bundle for people: files with sizes and sources, sums by kind, and what is not in it."""

from __future__ import annotations

import typing as t
from urllib.parse import urlparse

MIB = 2**20


def size_text(size: int | None) -> str:
    """Bytes as text: '0.1 MiB', '146.2 MiB'; 'unknown' for None."""
    return "unknown" if size is None else f"{size / MIB:.1f} MiB"


def table(rows: t.Sequence[t.Mapping[str, t.Any]], missing: t.Sequence[str]) -> str:
    """The list as text."""
    lines = [f"{'KIND':7} {'SIZE':>12}  {'NAME'} (from)"]
    for row in rows:
        unpublished = "" if row["sha256"] else ", without a published checksum"
        source = urlparse(row["origin"]).netloc or row["origin"].removeprefix("file://").rpartition("/")[0]
        if row["kind"] == "source":
            source, unpublished = f"{row['origin']}, commit {row['version'][:12]}", ""
        source += (
            f", sha256:{row['sha256'][:12]}" if row["kind"] == "image" else ""
        )  # its tag may name another one tomorrow
        lines.append(f"{row['kind']:7} {size_text(row['size']):>12}  {row['name']} ({source}{unpublished})")
    kinds: dict[str, list[int | None]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row["size"])
    lines.append("")
    layers: dict[str, int] = {}  # images share layers
    for row in rows:
        layers.update(row.get("parts", {}))
    for kind, sizes in sorted(kinds.items()):
        sizes = [*layers.values()] if kind == "image" else sizes
        unknown = sizes.count(None)
        more = f" and {unknown} of unknown size" if unknown else ""
        lines.append(f"{len(kinds[kind])} {kind}s: {size_text(sum(size or 0 for size in sizes))}{more}")
    if any(row["kind"] in ("sdist", "source") for row in rows):
        lines.append("Packages that only builds need are added when the sources are fetched.")
    if missing:
        lines += ["", "Not in the bundle, needed on the hosts:", *(f"- {text}" for text in missing)]
    return "\n".join(lines)
