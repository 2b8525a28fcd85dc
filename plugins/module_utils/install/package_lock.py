# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of Python environments: the versions of all packages with the hashes of their files, as ``uv pip compile`` writes them.

A lock begins with a line that names the requirements that it belongs to, so that one of other requirements is never used.
"""

from __future__ import annotations

import hashlib
import json
import re

HEAD = "# ascend.inference lock "
ALONE = "# only of "  # the second line of a lock that one host resolved, and no other one yet
# The files of uv that are installed: the wheels of uv 0.13.9 on PyPI for glibc on x86_64 and aarch64
UV = """uv==0.13.9 \\
    --hash=sha256:5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe \\
    --hash=sha256:d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19
"""
REQUIREMENT = re.compile(r"([\w.-]+?)(?:\[[^\]]*\])?\s*==\s*([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
HASH_LINE = re.compile(r" +--hash=sha256:[0-9a-f]{64}( |$)")
HASH_OPTION = re.compile(r"\s*--hash=\S+")
# An entry of a lock of another machine, its continued lines joined. A marker has no options, addresses and comments.
ENTRY = re.compile(
    r"[^\W_][\w.-]*(?:\[[\w.,-]+\])?==[\w.!+-]+(?: ?;(?:(?!--)[^#@\\])+)?(?: +--hash=sha256:[0-9a-f]{64})+", re.ASCII
)
BY_ADDRESS = re.compile(r"([\w.-]+)(?:\[[\w.,-]+\])? @ (\S+)(?: +--hash=sha256:[0-9a-f]{64})*", re.ASCII)
MOST, MOST_LINE = 8 * 2**20, 2000  # characters of a lock and of a line; the lock of vLLM-Ascend has 0.4 million
MISMATCH = ("DO NOT MATCH THE HASHES", "Hash mismatch")


def digest(wish):
    """The digest of a layer's requirements, of which its lock is."""
    return hashlib.sha256(json.dumps(wish, sort_keys=True).encode()).hexdigest()[:16]


def belongs(text, wish):
    """Whether a lock is one of these requirements."""
    return bool(text) and text.splitlines()[0] == HEAD + digest(wish)


def signed(text, wish):
    """The lock with its first line."""
    return HEAD + digest(wish) + "\n" + text


def of_host(text, host):
    """The lock with the host that resolved it alone."""
    first, dummy, rest = text.partition("\n")
    return f"{first}\n{ALONE}{json.dumps(host)}\n{rest}"


def alone(text):
    """The host that resolved a lock alone; empty if another one confirmed it, or a person wrote it."""
    second = text.split("\n", 2)[1:2]
    try:
        return str(json.loads(second[0][len(ALONE) :])) if second and second[0].startswith(ALONE) else ""
    except ValueError:
        return ""


def given_to(known, host):
    """The kept lock as a host gets it: one that it resolved itself holds for it like a confirmed one."""
    first, dummy, rest = known.partition("\n")
    return f"{first}\n{rest.partition(chr(10))[2]}" if known and alone(known) == host else known


def kept(known, text, host):
    """(the lock to keep after ``host`` resolved ``text``, what differs from the one that another host resolved alone).

    ``known`` is the kept lock, or empty. Two hosts that resolved the same make it one for all, with the files that both have. Root of a host
    writes any text, so one that nobody confirmed gives way: it is of the last host that resolved something else.
    """
    first = alone(known)
    if known and first in ("", host):
        return known, ""
    ours, theirs = _files(text), _files(known)
    other = other_files(known, text)
    if known and set(ours) == set(theirs) and not other:
        common = [f"{name}{_options(_common(files, ours[name]))}\n" for name, files in theirs.items()]
        return known.partition("\n")[0] + "\n" + "".join(common), ""
    only = [
        f"only {who} has {', '.join(names[:4])}"
        for who, names in ((first, sorted(set(theirs) - set(ours))), (host, sorted(set(ours) - set(theirs))))
        if names
    ]
    only += [f"other SHA-256 of {', '.join(other[:4])}"] if other else []
    return of_host(text, host), ", and ".join(only) if known else ""


def other_files(first, second):
    """The packages with versions that both locks have, and no file of them."""
    theirs, ours = _files(first), _files(second)
    return sorted(name for name in set(ours) & set(theirs) if not _common(theirs[name], ours[name]))


def _files(text):
    """{package with version and marker: [SHA-256]} of a lock."""
    blocks = re.split(r"(?m)^(?=[^\s#-])", text)[1:]
    return {
        " ".join(HASH_OPTION.sub("", block.partition("\n")[0]).rstrip(" \\").split()): HASH.findall(block)
        for block in blocks
    }


def _common(first, second):
    """SHA-256 that both have; for a folder of sources, which has none, a text that stands for none."""
    return [each for each in first if each in second] or ([""] if not first and not second else [])


def _options(hashes):
    return "".join(f" \\\n    --hash=sha256:{each}" for each in hashes if each)


def fully_hashed(text):
    """Whether every package of a lock has a hash. Folders of sources and checkouts have none."""
    packages, hashed, last = 0, 0, 0
    for line in text.splitlines():
        if line.strip().startswith("--hash="):
            hashed += last
            last = 0
        elif line.strip() and not line.startswith((" ", "#", "-")):
            packages, last = packages + 1, 1
            if "--hash=" in line:
                hashed, last = hashed + 1, 0
    return packages == hashed


def problem(text, wish):
    """What is wrong with a lock that another machine wrote; empty if its packages have one version and hashes each.

    A package that the requirements themselves name with an address, such as a folder of sources, may have this address and no hash.
    """
    if len(text) > MOST:
        return f"it has more than {MOST} characters"
    if not belongs(text, wish):
        return "its first line is not that of these requirements"
    own = set(filter(None, map(_by_address, [*wish["requirements"], *wish.get("overrides", [])])))
    entry = ""
    for number, line in enumerate(text.split("\n"), 1):
        comment = not entry and line.lstrip()[:1] in ("", "#") and not line.endswith("\\")
        if re.search("[^ -~]", line) or len(line) > MOST_LINE:
            return f"line {number} is {line[:80]!r}"
        if entry and not HASH_LINE.match(line):  # others would read a package, or a version, in what is joined
            return f"line {number} continues a package with {line[:80]!r}"
        entry += "" if comment else line
        if entry.endswith("\\"):
            entry = entry[:-1]
        elif entry and not ENTRY.fullmatch(re.sub(" +", " ", entry.rstrip())) and _by_address(entry) not in own:
            shown = " ".join(HASH.sub("", entry).split())[:80]
            return f"line {number} ends {shown!r}, which is not NAME==VERSION with SHA-256"
        else:
            entry = ""
    return f"its last line continues {entry[:80]!r}" if entry else ""


def _by_address(entry):
    """(normalised name, address) of a package that is named with an address, or None."""
    found = BY_ADDRESS.fullmatch(re.sub(" +", " ", entry.strip()))
    return (normal(found.group(1)), found.group(2)) if found else None


def normal(name):
    """A distribution's name in the form of indexes."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text):
    """The packages of a lock with their versions: {'a==1'}."""
    found = filter(None, map(REQUIREMENT.match, text.splitlines()))
    return {f"{normal(match.group(1))}=={match.group(2)}" for match in found}


def narrowed(text, names, sdists):
    """The lock with only the known hash for each package that is built, and texts for those whose files are others.

    ``names``: normalised names of the packages that are built; ``sdists``: SHA-256 of their source distributions by 'name==version'.
    An index may have several files of a version, and uv would build any of them that has a hash in the lock.
    """
    lines, problems = [], []
    for block in re.split(r"(?m)^(?=[^\s#-])", text):
        found = REQUIREMENT.match(block)
        name = normal(found.group(1)) if found else ""
        known = sdists.get(f"{name}=={found.group(2)}") if name in names else None
        offered = HASH.findall(block)
        if known and offered and known not in offered:
            problems.append(f"{name} {found.group(2)} has SHA-256 {' or '.join(offered)}, and the release has {known}")
        if known:
            comments = [line for line in block.splitlines()[1:] if line.lstrip()[:1] == "#" or line[:1] == "-"]
            first = HASH_OPTION.sub("", block.splitlines()[0]).rstrip(" \\")
            block = "\n".join([f"{first} \\", f"    --hash=sha256:{known}", *comments, ""])
        lines.append(block)
    return "".join(lines), problems


def preferences(freeze):
    """The lines of ``pip freeze`` that name a version, as preferred versions for ``uv pip compile``."""
    return "".join(
        line + "\n" for line in freeze.splitlines() if "==" in line and " @ " not in line and line[0] not in "#-"
    )


def preferred(lock, freeze):
    """The versions of a lock, and those of ``pip freeze`` for other packages, as preferred versions."""
    known = pins(lock)
    names = {text.partition("==")[0] for text in known}
    more = [
        line for line in preferences(freeze).splitlines(True) if normal(line.partition("==")[0].strip()) not in names
    ]
    return "".join(f"{text}\n" for text in sorted(known)) + "".join(more)


def tampered(output):
    """Whether a file did not have its hash."""
    return any(text in output for text in MISMATCH)
