# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of Debian and Ubuntu: the closure of names for a distribution, from its own signed indexes, resolved and fetched by apt.

apt runs with folders of its own and with an empty list of installed packages, so that the closure depends on nothing that this machine has.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import typing as t
from dataclasses import dataclass
from urllib.parse import unquote

from ...module_utils.install.index_credentials import without_credentials
from ...module_utils.tools.runner import environment, execute
from .distribution import MODULE_OF_APT, Distribution, Wish
from .sources import answered, bring, require_sources
from .store import FetchError, Store

ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}  # names of Debian
INDEX = "Packages"  # the name that apt asks for in a flat repository
# {codename: (ID, VERSION_ID)}. Source: the package distro-info-data of Debian.
CODENAMES = {
    "bullseye": ("debian", "11"),
    "bookworm": ("debian", "12"),
    "trixie": ("debian", "13"),
    "forky": ("debian", "14"),
    "focal": ("ubuntu", "20.04"),
    "jammy": ("ubuntu", "22.04"),
    "noble": ("ubuntu", "24.04"),
    "resolute": ("ubuntu", "26.04"),
}
RECORD = re.compile(r"(?m)^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)$")


@dataclass(frozen=True, order=True)
class Deb:
    """One package. ``record`` is its part of the index, with the name of the file here; ``size`` is in bytes."""

    package: str
    version: str
    name: str
    origin: str
    sha256: str
    size: int
    record: str

    @property
    def spec(self) -> str:
        """What apt calls it."""
        return f"{self.package}={self.version}"


class Apt:
    """apt of this machine for other distributions and machines; files of each in a folder of their own below ``folder``."""

    kind, needs = "deb", "apt"

    def __init__(self, folder: str, run: t.Callable[..., t.Any] = execute, system: str = "/") -> None:
        self.folder, self.run, self.system = folder, run, system

    def usable(self) -> bool:
        """Whether this machine has apt."""
        return all(shutil.which(program) for program in ("apt-get", "apt-cache"))

    def closure(self, wish: Wish) -> list[Deb]:
        """The packages and all that they need and recommend. Raises ``FetchError``."""
        options = self._prepared(wish)
        self._must(wish, ["apt-get", *options, "update"])
        self._of_the_release(wish)
        wanted = [*wish.names, MODULE_OF_APT]
        listed = self._must(wish, ["apt-get", *options, "install", "--quiet=1", "--print-uris", *wanted])
        addresses = [shlex.split(line)[:2] for line in listed.splitlines() if line.startswith("'")]
        chosen = {name: address for address, name in addresses}
        pairs = [(name.split("_")[0], unquote(name.split("_")[1])) for name in chosen]
        shown = self._must(wish, ["apt-cache", *options, "show", *(f"{name}={version}" for name, version in pairs)])
        records = {(each["Package"], each["Version"], each.get("Filename", "")): each for each in parsed(shown)}
        return sorted(
            self._deb(wish, records, *pair, address) for pair, address in zip(pairs, chosen.values(), strict=True)
        )

    def _deb(
        self, wish: Wish, records: t.Mapping[t.Any, dict[str, str]], package: str, version: str, address: str
    ) -> Deb:
        path = unquote(address)
        fitting = [
            record
            for (name, number, place), record in sorted(records.items())
            if (name, number) == (package, version) and place and path.endswith(place.removeprefix("./"))
        ]
        if not fitting or not re.fullmatch(r"[0-9a-f]{64}", fitting[0].get("SHA256", "")):
            raise FetchError(
                f"the index of {wish.distribution.title} has no SHA-256 of {package} {version}. Fix: use sources whose index has it "
                "(inference_bundle_sources)"
            )
        record = fitting[0]
        name = re.sub(r"[^\w.+-]", "_", f"{package}_{version}_{record['Architecture']}.deb", flags=re.ASCII)
        text = "".join(f"{key}: {value}\n" for key, value in {**record, "Filename": f"./{name}"}.items())
        return Deb(package, version, name, without_credentials(address), record["SHA256"], int(record["Size"]), text)

    def fetch(self, wish: Wish, debs: t.Sequence[Deb], store: Store) -> None:
        """Bring the packages into the store; those that are there are not fetched. Raises ``FetchError``."""

        def download(specs: list[str], folder: str) -> None:
            self._must(wish, ["apt-get", *self._options(wish), "download", *specs], cwd=folder)

        bring(wish, debs, store, download)

    def index(self, wish: Wish, debs: t.Sequence[Deb], store: Store) -> list[tuple[str, str]]:
        """The index of a flat repository with these packages, written outside of the store."""
        path = os.path.join(self._place(wish), "index", INDEX)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(index(debs))
        return [("repository", path)]

    def _place(self, wish: Wish) -> str:
        return os.path.abspath(os.path.join(self.folder, wish.distribution.platform))

    def _options(self, wish: Wish) -> list[str]:
        place, architecture = self._place(wish), ARCHITECTURES[wish.distribution.machine]
        own = not wish.sources
        options = {
            "Dir::State": place,
            "Dir::State::status": f"{place}/status",
            "Dir::State::lists": f"{place}/lists",
            "Dir::Cache": f"{place}/cache",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Install-Recommends": "true",
            "APT::Update::Error-Mode": "any",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
            **({"APT::Sandbox::User": "root"} if os.getuid() == 0 else {}),  # the folders are this user's
            **({} if own else {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": f"{place}/sources"}),
        }
        return [part for key, value in options.items() for part in ("-o", f"{key}={value}")]

    def _prepared(self, wish: Wish) -> list[str]:
        """apt's options, after its folders were made. Raises ``FetchError`` if nothing says where packages are."""
        place = self._place(wish)
        require_sources(wish, self.system, "/etc/apt/sources.list, /etc/apt/sources.list.d")
        for name in ("lists/partial", "cache/archives/partial", "sources"):
            os.makedirs(os.path.join(place, name), exist_ok=True)
        with open(os.path.join(place, "status"), "w", encoding="utf-8"):
            pass
        for source in map(os.path.expanduser, wish.sources):
            if not source.endswith((".list", ".sources")) or not os.path.isfile(source):
                raise FetchError(
                    f"{source} is no file NAME.list or NAME.sources of apt. Fix: correct inference_bundle_sources"
                )
            shutil.copyfile(source, os.path.join(place, "sources", os.path.basename(source)))
        return self._options(wish)

    def _of_the_release(self, wish: Wish) -> None:
        """Raise ``FetchError`` unless an index says that it is of the distribution's release, and none is of another."""
        heads = []
        for path in sorted(glob.glob(os.path.join(glob.escape(self._place(wish)), "lists", "*Release"))):
            with open(path, encoding="utf-8", errors="replace") as stream:
                text = stream.read(4096)
            signed = path.endswith("InRelease")  # the head of the signature comes first
            heads.append(dict(RECORD.findall(text.partition("\n\n")[2] if signed else text)))
        problem = unfit_release(wish.distribution, heads)
        if problem:
            raise FetchError(
                f"the package sources for {wish.distribution.title} are {problem}. Fix: correct inference_bundle_sources, or distribution in "
                "inference_bundle_platform; the Release file of an own mirror needs the distribution's Version or Codename"
            )

    def _must(self, wish: Wish, argv: list[str], cwd: str | None = None) -> str:
        fix = "check inference_bundle_sources, their keys (Signed-By), and network and proxy of this machine"
        env = {**environment(), "DEBIAN_FRONTEND": "noninteractive"}
        return answered(self.run, argv, env, f"packages of {wish.distribution.title}", fix, cwd=cwd)


def unfit_release(wanted: Distribution, heads: t.Sequence[t.Mapping[str, str]]) -> str:
    """What indexes are instead of the wanted release; empty if one is of it and none of another. ``heads``: fields of their Release files.

    Repositories of others (Origin) may have versions and names of their own; the distribution's own always says one (testing says no
    version), and so does one of the codenames in any repository.
    """
    fitting = False
    for head in heads:
        own = head.get("Origin", "").lower() == wanted.name
        title = f"of {head.get('Origin', 'an unnamed origin')} {head.get('Version', '')} ({head.get('Codename', 'no codename')})"
        version = re.split(r"[^\d.]", head.get("Version", ""), maxsplit=1)[0] if own else ""
        named = {re.split("[-/]", head.get(key, ""), maxsplit=1)[0] for key in ("Codename", "Suite")} & {*CODENAMES}
        releases = {CODENAMES[name] for name in named}
        fits = f"{version}.".startswith(f"{wanted.version}.") if version else (wanted.name, wanted.version) in releases
        if not fits and (own or releases):
            return title.replace("  ", " no version ")
        fitting = fitting or fits
    return "" if fitting else "of an unknown release: no Release file has a version or codename of it"


def parsed(text: str) -> list[dict[str, str]]:
    """The records of an index (deb-control(5)), with their continuation lines."""
    found = [dict(RECORD.findall(part)) for part in re.split(r"\n\n+", text)]
    return [record for record in found if record.get("Package") and record.get("Version")]


def index(debs: t.Iterable[Deb]) -> str:
    """The index of a flat repository with these packages."""
    return "\n".join(deb.record for deb in sorted(debs))
