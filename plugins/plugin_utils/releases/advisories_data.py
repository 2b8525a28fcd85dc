# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published security advisories of vLLM: id, first affected version, fixed version, CVSS score, condition, effect.

The score is empty if the source has none.

Ranges and scores: the CVE records (CVEProject/cvelistV5) and the Python Packaging Advisory Database (pypa/advisory-database), as of
November 2026. The condition under which a deployment is exposed is a key of ``advisories.CONDITIONS``.
"""

from __future__ import annotations

# Only advisories with both ends of the range in the sources. Those of at most medium severity that need a client's key and only
# stop the engine are omitted: there are many, and the measure against them is to restrict who has a key.
ROWS: tuple[tuple[str, str, str, str, str, str], ...] = (
    (
        "CVE-2025-32444",
        "0.6.5",
        "0.8.5",
        "10.0",
        "mooncake",
        "whoever reaches the Mooncake connector's sockets runs code (pickle over ZeroMQ)",
    ),
    (
        "CVE-2026-48746",
        "0.3.0",
        "0.22.0",
        "9.1",
        "keyed",
        "engines can be used without their API key",
    ),
    (
        "CVE-2025-59425",
        "0",
        "0.11.0",
        "",
        "keyed",
        "the time of refusals tells the engines' API key, character by character",
    ),
    (
        "CVE-2026-22778",
        "0.8.3",
        "0.14.1",
        "9.8",
        "images",
        "error messages for an invalid image contain memory addresses, which help to run code",
    ),
    (
        "CVE-2026-22807",
        "0.10.1",
        "0.14.0",
        "8.8",
        "always",
        "a model's config.json can name code that runs at load, even without trust-remote-code",
    ),
    (
        "CVE-2026-27893",
        "0.10.1",
        "0.18.0",
        "",
        "untrusted",
        "two model types load code from their directory although trust-remote-code is off",
    ),
    (
        "CVE-2026-41523",
        "0",
        "0.22.0",
        "",
        "optimized",
        "a model can run code if Python runs without assertions (PYTHONOPTIMIZE)",
    ),
    (
        "CVE-2026-56340",
        "0.10.2",
        "0.13.0",
        "7.5",
        "embeds",
        "embeddings in requests are not validated, which stops the engine or corrupts its memory",
    ),
    (
        "CVE-2026-114053",
        "0.7.3",
        "0.31.0",
        "",
        "downloaded",
        "a request chooses the revision of the model's code that runs",
    ),
    ("PYSEC-2026-2303", "0.12.0", "0.24.0", "6.5", "embeds", "embeddings in a request stop the engine"),
)
