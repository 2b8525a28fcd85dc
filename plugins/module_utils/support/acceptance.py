# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of an acceptance: recorded calls of tools by host and the documents, without secrets, and with pseudonyms on request."""

from __future__ import annotations

import json

from ..tools.credentials import passwords
from .archive import safe
from .mask import Masker
from .raw import files_of, learn, read
from .redact import LEFT_OUT
from .words import words_of

FORMAT = 1  # of the archive


def contents(params):
    """(files of the archive, number of calls, hosts without records, the masker or None). Raises ValueError for a damaged record."""
    hosts = {name: read(texts) for name, texts in sorted(params["records"].items()) if texts}
    files = [(name, str(text)) for name, text in sorted(params["documents"].items())]
    words = words_of([text for dummy, text in files], params["records"])
    masker = Masker(params["records"], words=words) if params["mask"] else None
    for name, host in hosts.items():
        if masker:
            learn(masker, name, host)
        files += [(f"{safe(name)}/{inner}", text) for inner, text in files_of(name, host)]
    # A frontend has several keys in one text. Longer ones first: one may be part of another.
    known = {part for secret in params["secrets"] for part in [secret, *secret.split()] if part}
    known |= passwords(params["documents"])
    known |= {json.dumps(secret)[1:-1] for secret in known}  # as documents in JSON have it
    for secret in sorted(known, key=len, reverse=True):
        files = [(name, text.replace(secret, LEFT_OUT)) for name, text in files]
    files.append(("archive.json", json.dumps({"format": FORMAT, "masked": masker is not None}) + "\n"))
    if masker:  # after the secrets: one that contains the name of a host would no longer be found
        files = [(masker(name), masker(text)) for name, text in files]
    missing = sorted(set(params["records"]) - set(hosts))
    return files, sum(len(host.commands) for host in hosts.values()), missing, masker


def text_of(path, size, commands, missing, pseudonyms, unmasked):
    """What the archive has, in lines. ``size`` 0: it was not written."""
    lines = [
        f"{path} has {commands} outputs of tools, {size / 1024:.0f} KiB. Look through it before it leaves the site."
        if size
        else f"No archive was written because of --check; it would have {commands} outputs of tools."
    ]
    lines += [f"{name}: nothing was recorded" for name in missing]
    lines += [
        f"{name} is NOT masked: the name is also a word of the tools or of the inventory, which would become unreadable. "
        "Fix: rename it, if the word says something about the site"
        for name in unmasked
    ]
    return "\n".join(
        lines + [f"{name} is {pseudonym} in the archive" for name, pseudonym in sorted(pseudonyms.items())]
    )
