# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What dnf is asked for packages of openEuler and others, and what its indexes say of them: repositories, records, checksums."""

from __future__ import annotations

import bz2
import configparser
import gzip
import lzma
import os
import re
import typing as t
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit, urlunsplit

from ...module_utils.install.index_credentials import without_credentials
from .distribution import Distribution
from .sources import VARIABLE
from .store import FetchError

TRUE, FALSE = {"1", "yes", "true", "on"}, {"0", "no", "false", "off"}
PLACES = ("baseurl", "mirrorlist", "metalink")
SECRET = ("username", "password", "proxy_username", "proxy_password")
USERINFO = re.compile(r"//([^/@\s]+)@")
IDENTIFIER = re.compile(r"[\w.:-]+", re.ASCII)
METADATA = "{http://linux.duke.edu/metadata/common}"
# Of an index in the cache: .../ID-0123456789abcdef/repodata/SUM-primary.xml.gz
INDEX = re.compile(r"(?P<id>[^/]+)-[0-9a-f]{16}/repodata/(?:[0-9a-f]+-)?primary\.xml(?:\.(?P<form>gz|xz|bz2))?")
FORMS = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open, "": open}
PACKED = "primary.xml.zst"  # Python before 3.14 cannot read it
OTHER_MACHINES = {"x86_64": "*.i?86"}  # what runs there as well; roles need none
FIX = f"Fix: correct {VARIABLE}"


@dataclass(frozen=True)
class Repository:
    """One section of a file NAME.repo. ``options`` may have passwords. ``signed``: whether packages need the signature of one of ``keys``.

    ``signed_index``: whether the index needs one.
    """

    name: str
    options: t.Mapping[str, str]
    signed: bool
    keys: tuple[str, ...]
    signed_index: bool = False


@dataclass(frozen=True, order=True)
class Rpm:
    """One package. ``spec`` is its name with epoch, version and machine, ``time`` that of the file in the index (seconds since 1970)."""

    package: str
    version: str
    name: str
    spec: str
    origin: str
    sha256: str
    size: int
    repository: str = ""
    time: int = 0


def repositories(paths: t.Iterable[str], wanted: Distribution) -> list[Repository]:
    """The enabled repositories of files of dnf, with what they say of the release and machine resolved. Raises ``FetchError``."""
    found: dict[str, Repository] = {}
    for path in paths:
        parser = configparser.RawConfigParser(delimiters=("=",), interpolation=None)
        try:
            with open(path, encoding="utf-8") as stream:
                parser.read_file(stream)
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            reason = getattr(error, "strerror", "") or type(error).__name__  # its text may have a line with a password
            raise FetchError(f"{path} is no file of repositories of dnf ({reason}). {FIX}") from error
        for name in parser.sections():
            options = {key: _resolved(value, wanted) for key, value in parser.items(name)}
            if name == "main" or not _flag(path, name, options, "enabled", True):
                continue
            if name in found or not IDENTIFIER.fullmatch(name):
                problem = "it is there twice" if name in found else "expected letters, digits, '_', '.', ':' and '-'"
                raise FetchError(f"{path} has a repository with the id {name!r}: {problem}. {FIX}")
            found[name] = _repository(path, name, options)
    if not found:
        raise FetchError(f"{', '.join(paths) or 'no file'} has no enabled repository of dnf. {FIX}")
    return [found[name] for name in sorted(found)]


def _repository(path: str, name: str, options: dict[str, str]) -> Repository:
    if not any(options.get(key) for key in PLACES):
        raise FetchError(f"{path}: the repository {name} has none of {', '.join(PLACES)}. {FIX}")
    signed = _flag(path, name, options, "gpgcheck", True)
    keys = tuple(re.split(r"[\s,]+", options.get("gpgkey", "").strip())) if options.get("gpgkey", "").strip() else ()
    signed_index = _flag(path, name, options, "repo_gpgcheck", False)
    if (signed or signed_index) and not keys:
        raise FetchError(
            f"{path}: the repository {name} has no gpgkey, with which the signatures of its packages are compared. Fix: add gpgkey=file:///PATH "
            "or gpgkey=https://..., or gpgcheck=0 if its packages have no signatures and you trust the way to it"
        )
    return Repository(name, options, signed, keys, signed_index)


def _flag(path: str, name: str, options: t.Mapping[str, str], key: str, default: bool) -> bool:
    given = options.get(key, "").strip().lower()
    if given and given not in TRUE | FALSE:
        raise FetchError(f"{path}: {key} of the repository {name} is neither 1 nor 0. {FIX}")
    return given in TRUE if given else default


def _resolved(value: str, wanted: Distribution) -> str:
    """A value with the variables of dnf that a distribution determines."""
    known = {"releasever": wanted.version, "basearch": wanted.machine, "arch": wanted.machine}
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: known.get(found[1] or found[2], found[0]), value)


def repo_text(given: t.Iterable[Repository]) -> str:
    """The file of repositories for dnf. An unavailable repository is no reason to take packages from the others."""
    own = {"enabled": "1", "skip_if_unavailable": "0"}
    lines = []
    for repository in given:
        options = {
            "name": repository.name,
            **repository.options,
            **own,
            "gpgcheck": "1" if repository.signed else "0",
        }
        lines += [f"[{repository.name}]", *(f"{key}={' '.join(value.split())}" for key, value in options.items()), ""]
    return "\n".join(lines)


def conf_text(place: str, machine: str) -> str:
    """The configuration of dnf with folders of its own below ``place``, so that nothing of this machine counts."""
    options = {
        "reposdir": f"{place}/repos",
        "varsdir": f"{place}/vars",
        "cachedir": f"{place}/cache",
        "persistdir": f"{place}/persist",
        "logdir": f"{place}/log",
        "gpgcheck": "1",
        "best": "1",
        "install_weak_deps": "1",
        "keepcache": "0",
        "timeout": "60",
        "retries": "5",
        "excludepkgs": OTHER_MACHINES.get(machine, ""),
    }
    return "[main]\n" + "".join(f"{key}={value}\n" for key, value in options.items() if value)


def secrets(given: t.Iterable[Repository]) -> set[str]:
    """What must be in no message: passwords, and user and password of addresses, as they are written and decoded."""
    found: set[str] = set()
    for repository in given:
        found.update(repository.options[key] for key in SECRET if repository.options.get(key))
        for value in (*repository.options.values(), *repository.keys):
            for login in USERINFO.findall(value):
                found.update({login, unquote(login)})
                found.update(part for part in login.split(":")[1:] if part)
    return {each for each in found if len(each) > 2}  # a shorter one would change ordinary words


def address_without_secrets(address: str) -> str:
    """An address without user, password and query, in which servers of packages have tokens."""
    return urlunsplit(urlsplit(without_credentials(address))._replace(query="", fragment=""))


def unfit_release(wanted: Distribution, lines: t.Iterable[str]) -> str:
    """The release that repositories are of instead of the wanted one; empty if one package of a release fits, or there is none.

    ``lines``: 'NAME VERSION' of the packages that provide system-release: 'openEuler-release 22.03LTS_SP3'.
    """
    found = [line.split() for line in lines if len(line.split()) == 2]
    exact = re.compile(re.escape(wanted.version) + r"(?![0-9])")
    fits = any(exact.match(version) for _name, version in found)
    return "" if fits or not found else ", ".join(sorted({f"{name} {version}" for name, version in found}))


def addresses(output: str) -> list[str]:
    """The addresses of packages that 'dnf download --urls' printed."""
    lines = [line.strip() for line in output.splitlines()]
    return sorted({line for line in lines if "://" in line and urlsplit(line).path.endswith(".rpm")})


def records(folder: str, files: t.Collection[str]) -> dict[str, list[Rpm]]:
    """{file name: the packages of this name in the indexes of dnf's cache}; their ``origin`` is the place in the repository.

    ``files``: names of the files that are wanted. Raises ``FetchError``.
    """
    found: dict[str, list[Rpm]] = {name: [] for name in files}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            matched = INDEX.search(path)
            if matched and path.endswith(matched.group(0)):
                for rpm in _of_index(path, matched.group("id"), matched.group("form") or "", found):
                    found[os.path.basename(rpm.origin)].append(rpm)
    return found


def _of_index(path: str, repository: str, form: str, files: t.Collection[str]) -> t.Iterator[Rpm]:
    """The wanted packages of one index, which may have hundreds of MB: elements are dropped as soon as they are read."""
    try:
        with FORMS[form](path, "rb") as stream:  # type: ignore[operator]
            events = ET.iterparse(stream, events=("start", "end"))
            _event, root = next(events)
            for event, element in events:
                if event != "end" or element.tag != METADATA + "package":
                    continue
                place = element.find(METADATA + "location")
                href = unquote(place.get("href", "") if place is not None else "")
                if os.path.basename(href) in files:
                    yield _rpm(element, href, repository)
                root.clear()
    except (OSError, EOFError, ValueError, StopIteration, ET.ParseError, lzma.LZMAError) as error:
        raise FetchError(f"the index of the repository {repository} cannot be read: {error}. Fix: check it") from error


def _rpm(element: t.Any, href: str, repository: str) -> Rpm:
    def of(name: str) -> dict[str, str]:
        found = element.find(METADATA + name)
        return {} if found is None else dict(found.attrib)

    name, machine = (element.findtext(METADATA + key) or "" for key in ("name", "arch"))
    version, sum_ = of("version"), element.find(METADATA + "checksum")
    sha256 = "" if sum_ is None or sum_.get("type") != "sha256" else (sum_.text or "").strip().lower()
    evr = f"{version.get('ver', '')}-{version.get('rel', '')}"
    epoch = version.get("epoch", "0")
    file = re.sub(r"[^\w.+-]", "_", os.path.basename(href), flags=re.ASCII)
    spec = f"{name}-{epoch}:{evr}.{machine}"
    full = evr if epoch in ("", "0") else f"{epoch}:{evr}"
    size, time = int(of("size").get("package", 0)), int(of("time").get("file", 0))
    return Rpm(name, full, file, spec, href, sha256, size, repository, time)


def chosen(address: str, known: t.Sequence[Rpm], signed: t.Collection[str], title: str) -> Rpm:
    """The package at an address, from the index of a repository that has it. Raises ``FetchError`` without a SHA-256, or if two differ."""
    path = unquote(urlsplit(address).path)
    fitting = [rpm for rpm in known if path.endswith("/" + rpm.origin.removeprefix("./"))]
    sums = {rpm.sha256 for rpm in fitting}
    name = os.path.basename(path)
    if len(sums) > 1:
        where = ", ".join(sorted({rpm.repository for rpm in fitting}))
        raise FetchError(f"the repositories {where} have different files {name}. Fix: leave one out of {VARIABLE}")
    if not sums or not re.fullmatch(r"[0-9a-f]{64}", *sums):
        raise FetchError(f"the index of {title} has no SHA-256 of {name}. Fix: use repositories whose index has it")
    # Content that a repository signs has to have its signature, also where another one has the same without.
    best = min(fitting, key=lambda rpm: (rpm.repository not in signed, rpm.repository))
    return replace(best, origin=address_without_secrets(address))
