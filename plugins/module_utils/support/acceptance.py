# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of an acceptance: recorded calls of tools by host and the documents, without secrets, and with pseudonyms on request."""

from __future__ import annotations

import json
import re

from ..tools.credentials import IN_URL, passwords
from ..tools.text import one_line
from .archive import MOST_LINE, WRONG_FORM, safe
from .mask import Masker
from .raw import files_of, learn, read
from .redact import LEFT_OUT
from .words import words_of

FORMAT = 1  # of the archive
OF_INVENTORY = ("plan.json", "inventory.json")  # no host writes a text of these documents
RECORD = re.compile(r"\{[^{}]*\}|[^\n{}]+")  # a record of a document of JSON, or a line


def contents(params):
    """(files of the archive, number of calls, why hosts have no records, the masker or None)."""
    documents = [(name, str(text)) for name, text in sorted(params["documents"].items())]
    words = words_of([text for dummy, text in documents], params["records"])
    masker = Masker(params["records"], words=words) if params["mask"] else None
    files, maskers, missing, calls = [], {}, {}, 0
    for name, texts in sorted(params["records"].items()):
        maskers[name] = masker
        try:
            own = masker.of_host() if masker else None
            found, commands = _of_host(name, texts, own) if texts else ([], 0)
        except (*WRONG_FORM, OSError) as error:  # OSError: of a time that has no date
            missing[name] = (
                f"its record is left out, because it has a wrong form ({type(error).__name__}: {str(error)[:120]})"
            )
            continue
        maskers[name], calls = own, calls + commands
        files += [(name, inner, text) for inner, text in found]
        missing.update({} if texts else {name: "nothing was recorded"})
    known = _secrets_of(params)
    shown = [(name, _without(_without_passwords(name, text), known)) for name, text in documents]
    shown.append(("archive.json", json.dumps({"format": FORMAT, "masked": masker is not None}) + "\n"))
    if masker:  # after the secrets: one that contains the name of a host would no longer be found
        shown = [(masker(name), _masked(text, masker, maskers)) for name, text in shown]
    for name, inner, text in files:
        path, text = f"{safe(name)}/{inner}", _without(text, known)
        shown.append((masker(path), maskers[name](text)) if masker else (path, text))
    return shown, calls, missing, masker


def _of_host(name, texts, masker):
    """([(path, text)] of the host's records, number of calls). Whatever a host wrote ends here."""
    host = read(texts)
    if masker:
        learn(masker, name, host)
    return files_of(name, host), len(host.commands)


def passwords_of(documents):
    """The passwords in URLs of the inventory and its plan; one in a text of a host is a word that the host chose."""
    return passwords([documents.get(name, "") for name in OF_INVENTORY])


def _secrets_of(params):
    """What is left out of all texts, longer ones first, as one may be part of another: of the operator, never a word that a host chose."""
    # A frontend has several keys in one text.
    known = {part for secret in params["secrets"] for part in [secret, *secret.split()] if part}
    known |= passwords_of(params["documents"])
    known |= {json.dumps(secret)[1:-1] for secret in known}  # as documents in JSON have it
    return sorted(known, key=len, reverse=True)


def _without(text, known):
    for secret in known:
        text = text.replace(secret, LEFT_OUT)
    return text


def _without_passwords(name, text):
    """A document in which hosts may have written, without the passwords in its URLs."""
    return (
        text
        if name in OF_INVENTORY
        else IN_URL.sub(lambda found: found.group().partition("//")[0] + f"//{LEFT_OUT}@", text)
    )


def _masked(text, masker, maskers):
    """A document: what a host's record names is masked where only this host is mentioned."""
    names = sorted(maskers, key=len, reverse=True)
    mentioned = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])") if names else None

    def of_record(found):
        hosts = set(mentioned.findall(found.group()))
        return maskers[hosts.pop()](found.group()) if len(hosts) == 1 else found.group()

    return masker(RECORD.sub(of_record, text) if mentioned else text)


def text_of(path, size, commands, missing, pseudonyms, unmasked):
    """What the archive has, in lines. ``size`` 0: it was not written."""
    lines = [
        f"{path} has {commands} outputs of tools, {size / 1024:.0f} KiB. Look through it before it leaves the site."
        if size
        else f"No archive was written because of --check; it would have {commands} outputs of tools."
    ]
    lines += [one_line(f"{name}: {reason}")[:MOST_LINE] for name, reason in missing.items()]
    lines += [
        f"{name} is NOT masked: the name is also a word of the tools or of the inventory, which would become unreadable. "
        "Fix: rename it, if the word says something about the site"
        for name in unmasked
    ]
    return "\n".join(
        lines + [f"{name} is {pseudonym} in the archive" for name, pseudonym in sorted(pseudonyms.items())]
    )
