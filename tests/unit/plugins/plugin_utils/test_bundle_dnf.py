# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for dnf: what dnf, rpmkeys and createrepo_c are asked, what is believed of their answers, and where no password goes."""

from __future__ import annotations

import gzip
import hashlib
import os
import pathlib
import shutil
import stat
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import ToolMissing
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import dnf, dnf_program, sources
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import Contents
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.distribution import RED_HAT, Distribution, Wish
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.dnf_program import Dnf
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.make import fetched_packages, listed
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError, Store

EULER = Distribution("openEuler", "22.03", "aarch64")
FILES = {"tool-1:2.0-1.noarch": b"tool", "libtool^1-1.5-1.aarch64": b"library"}
PASSWORD = "s3cret-pass"
REPO = """[OS]
name=OS
baseurl=https://me:{password}@mirror.example/$releasever/$basearch/?token=t0ken
gpgkey=file://{key}
# not asked
[source]
baseurl=http://mirror.example/source
enabled=0
[main]
keepcache=1
"""
INDEX = """<?xml version="1.0"?>
<metadata xmlns="http://linux.duke.edu/metadata/common" packages="2">{}</metadata>"""
PACKAGE = """<package type="rpm"><name>{name}</name><arch>{arch}</arch><version epoch="{epoch}" ver="{ver}" rel="1"/>
<checksum type="{form}">{sha}</checksum><time file="1700000000" build="1"/><size package="{size}"/><location href="{href}"/></package>"""


def entries(form="sha256"):
    """The elements of FILES in an index."""
    tool, library = FILES.values()
    given = {"form": form, "sha": hashlib.sha256(tool).hexdigest(), "size": len(tool)}
    first = PACKAGE.format(
        name="tool", arch="noarch", epoch=1, ver="2.0", href="Packages/tool-2.0-1.noarch.rpm", **given
    )
    given.update(sha=hashlib.sha256(library).hexdigest(), size=len(library))
    place = "Packages/libtool%5e1-1.5-1.aarch64.rpm"
    return first + PACKAGE.format(name="libtool^1", arch="aarch64", epoch=0, ver="1.5", href=place, **given)


class Programs:
    """dnf, rpmkeys and createrepo_c, which refuse every argument that they are not meant to get; keeps the commands."""

    def __init__(self, place):
        self.place, self.asked, self.index = pathlib.Path(place), [], INDEX.format(entries())
        self.release, self.signature, self.broken, self.fails = "openEuler-release 22.03LTS_SP3", "OK", "", ""
        self.packed = False
        self.files = {
            "tool-1:2.0-1.noarch": "tool-2.0-1.noarch.rpm",
            "libtool^1-0:1.5-1.aarch64": "libtool^1-1.5-1.aarch64.rpm",
        }

    def __call__(self, argv, timeout, env, cwd=None):
        assert (
            timeout
            and "PYTHONPATH" not in env
            and env["HOME"] == str(self.place)
            and not any(PASSWORD in each for each in [*argv, *env.values()])
        )
        self.asked.append(argv)
        out = getattr(self, argv[0])(*argv[1:])
        failed = self.fails and self.fails in argv
        return types.SimpleNamespace(
            rc=1 if failed else 0, stdout="" if failed else out, stderr=f"Error {self.broken}", timed_out=False
        )

    def dnf(self, *argv):
        plugins = ("--disableplugin=*", "--enableplugin=download")
        if argv == ("--releasever=/", *plugins, "download", "--help"):
            return ""
        place = self.place / EULER.platform
        head = (
            f"--config={place}/dnf.conf",
            f"--installroot={place}/root",
            "--releasever=22.03",
            "--forcearch=aarch64",
            *plugins,
        )
        assert argv[:6] == head and os.listdir(str(place / "root")) == []
        conf = (place / "dnf.conf").read_text()
        assert f"reposdir={place}/repos\n" in conf and f"varsdir={place}/vars\n" in conf and "gpgcheck=1\n" in conf
        for file in (place / "dnf.conf", place / "repos/bundle.repo"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        rest = argv[6:]
        if "repo_gpgcheck=1\n" in (place / "repos/bundle.repo").read_text():
            assert rest[0] == "--assumeyes"
            rest = rest[1:]
        if rest[0] == "repoquery":
            assert rest[1:] == ("--whatprovides", "system-release", "--queryformat", "release %{name} %{version}\n")
            return "OS 1 kB/s | 1 kB 00:00\n\n" + "".join(f"release {line}\n" for line in self.release.splitlines())
        assert rest[0] == "download"
        if rest[1] == "--destdir":
            for spec in rest[3:]:
                content = {"tool": b"tool", "libtool^1": b"library"}[spec.split("-")[0]]
                (pathlib.Path(rest[2]) / self.files[spec]).write_bytes(b"other" if self.broken == "mirror" else content)
            return ""
        assert rest[1:] == ("--resolve", "--alldeps", "--urls", "--arch=aarch64,noarch", "tool")
        cache = place / "cache/OS-0123456789abcdef/repodata"
        cache.mkdir(parents=True, exist_ok=True)
        if self.packed:
            (cache / "ab12-primary.xml.zst").write_text(self.index)
        else:
            (cache / "ab12-primary.xml.gz").write_bytes(gzip.compress(self.index.encode()))
        base = f"https://me:{PASSWORD}@mirror.example/22.03/aarch64/Packages/"
        return f"Last check\n{base}tool-2.0-1.noarch.rpm?token=t0ken\n{base}libtool%5E1-1.5-1.aarch64.rpm\n"

    def rpmkeys(self, *argv):
        assert argv[0] == "--dbpath" and argv[1].startswith(str(self.place / EULER.platform / "rpm"))
        if argv[2] == "--import":
            assert [pathlib.Path(path).read_bytes() for path in argv[3:]] == [b"a key"]
            return ""
        assert argv[2:5] == ("--define", "_pkgverify_level all", "--checksig")
        return "".join(f"{path}: digests signatures {self.signature}\n" for path in argv[5:])

    def createrepo_c(self, *argv):
        assert argv[:-1] == ("--quiet", "--no-database", "--simple-md-filenames", "--general-compress-type=gz", "--revision=0",
                             "--set-timestamp-to-revision")  # fmt: skip
        names = sorted(os.listdir(argv[-1]))
        assert names == ["libtool_1-1.5-1.aarch64.rpm", "tool-2.0-1.noarch.rpm"]
        folder = pathlib.Path(argv[-1]) / "repodata"
        folder.mkdir()
        for name in dnf_program.INDEX[: 2 if self.broken == "index" else 4]:
            (folder / name).write_text(name)
        return ""


@pytest.fixture
def given(tmp_path, monkeypatch):
    """(programs, Dnf, wish, store); the wish's file of repositories and its key are below tmp_path. The machine has the programs."""
    monkeypatch.setattr(dnf_program.shutil, "which", lambda name: f"/usr/bin/{name}")
    (tmp_path / "key").write_bytes(b"a key")
    (tmp_path / "hosts.repo").write_text(REPO.format(password=PASSWORD, key=tmp_path / "key"))
    for name in ("own", "bundle"):
        (tmp_path / name).mkdir()
    programs = Programs(tmp_path / "own")
    found = Dnf(str(tmp_path / "own"), programs, str(tmp_path))
    return programs, found, Wish(EULER, ("tool",), (str(tmp_path / "hosts.repo"),)), Store(str(tmp_path / "bundle"))


def test_dnf_is_asked_for_the_release_and_repositories_of_the_hosts_alone(given):
    _programs, found, wish, _store = given
    library, tool = found.closure(wish)
    assert (tool.name, tool.spec, tool.version) == ("tool-2.0-1.noarch.rpm", "tool-1:2.0-1.noarch", "1:2.0-1")
    assert (tool.sha256, tool.size, tool.time) == (hashlib.sha256(b"tool").hexdigest(), 4, 1700000000)
    assert tool.origin == "https://mirror.example/22.03/aarch64/Packages/tool-2.0-1.noarch.rpm"
    assert (library.name, library.spec) == ("libtool_1-1.5-1.aarch64.rpm", "libtool^1-0:1.5-1.aarch64")


def test_what_is_fetched_has_the_index_s_checksum_and_a_signature_and_is_fetched_once(given):
    programs, found, wish, store = given
    fetchers = {RED_HAT: found}
    listing = listed(Contents(wishes=[wish]), None, None, fetchers, None)
    assert [row["kind"] for row in listing.rows()] == ["rpm", "rpm"] and not listing.findings
    items, findings = fetched_packages(listing, fetchers, store)
    kinds = sorted(entry["kind"] for entry in items)
    assert findings == [] and kinds == ["key", *["repository"] * 4, "rpm", "rpm"]
    assert all(entry["platforms"] == [EULER.platform] for entry in items)
    tool = next((each for each in listing.packages[0][1] if each.package == "tool"), None)
    assert os.stat(store.place(tool.name, tool.sha256)).st_mtime == 1700000000
    del programs.asked[:]
    again = Store(store.folder)
    assert fetched_packages(listing, fetchers, again) == (items, []) and again.fetched == []
    assert [argv[0] for argv in programs.asked] == ["rpmkeys", "createrepo_c"]


def test_no_password_is_in_a_file_of_the_bundle_or_a_message(given):
    programs, found, wish, store = given
    fetchers = {RED_HAT: found}
    listing = listed(Contents(wishes=[wish]), None, None, fetchers, None)
    items, _findings = fetched_packages(listing, fetchers, store)
    assert PASSWORD not in str((listing.rows(), items)) and "t0ken" not in str(items)
    for folder, _folders, names in os.walk(store.folder):
        assert not any(PASSWORD.encode() in (pathlib.Path(folder) / name).read_bytes() for name in names)
    programs.fails, programs.broken = "repoquery", f"401 for https://me:{PASSWORD}@mirror.example and {PASSWORD}"
    (finding,) = listed(Contents(wishes=[wish]), None, None, fetchers, None).findings
    assert "401 for https://mirror.example and ***" in finding.problem and "s3cret" not in finding.problem


def test_a_decoded_password_of_an_option_or_an_address_is_a_secret():
    options = {"password": "option-pw", "username": "u", "baseurl": "https://me:p%40ss@m.example", "gpgkey": ""}
    found = dnf.secrets([dnf.Repository("a", options, True, ("https://x:of-key@m.example/k",))])
    assert {"option-pw", "p%40ss", "of-key"} <= found and "me:p@ss" in found and "u" not in found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"release": "openEuler-release 24.03LTS"}, "of another release: openEuler-release 24.03LTS"),
        ({"release": "openEuler-release 22.031"}, "of another release"),
        ({"index": INDEX.format("")}, "has no SHA-256 of libtool"),
        ({"index": INDEX.format(entries("sha512"))}, "has no SHA-256 of libtool"),
        ({"index": "<metadata"}, "the index of the repository OS cannot be read"),
        (
            {"fails": "--urls", "broken": "No package tool available."},
            "dnf cannot get packages of openEuler 22.03 on aarch64.*No package tool",
        ),
    ],
)
def test_what_cannot_be_believed_is_refused(given, changes, message):
    programs, found, wish, _store = given
    for name, value in changes.items():
        setattr(programs, name, value)
    with pytest.raises(FetchError, match=message):
        found.closure(wish)


@pytest.mark.parametrize("release", ["", "openEuler-release 22.03LTS_SP3\nopenEuler-release 24.03"])
def test_a_release_that_is_not_said_or_one_of_several_is_taken(given, release):
    given[0].release = release
    assert len(given[1].closure(given[2])) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signature": "NOT OK"}, "no valid signature of a key of the repository OS: libtool.*gpgcheck=0"),
        ({"fails": "--checksig"}, "no valid signature"),
        (
            {"fails": "--import", "broken": "no armor"},
            "keys of packages: Error no armor. Fix: gpgkey of the repository OS",
        ),
        ({"broken": "mirror"}, "is not what the index of openEuler 22.03 on aarch64 says"),
        ({"broken": "index"}, "createrepo_c did not write filelists.xml.gz, other.xml.gz"),
        ({"fails": "--no-database", "broken": "x"}, "createrepo_c cannot get an index"),
    ],
)
def test_what_is_damaged_on_the_way_is_named_and_not_kept(given, changes, message):
    programs, found, wish, store = given
    rpms = found.closure(wish)
    for name, value in changes.items():
        setattr(programs, name, value)
    with pytest.raises(FetchError, match=message):
        found.fetch(wish, rpms, store)
        found.index(wish, rpms, store)
    kept = os.path.isdir(os.path.join(store.folder, "blobs"))
    assert kept is ("createrepo_c" in message)


def test_signatures_are_compared_unless_the_user_says_otherwise(given, tmp_path):
    programs, _found, wish, store = given
    path = tmp_path / "hosts.repo"
    text = path.read_text()
    path.write_text(text.replace("gpgkey=", "gpgcheck=0\n#"))
    found = Dnf(str(tmp_path / "own"), programs)
    rpms = found.closure(wish)
    found.fetch(wish, rpms, store)
    assert not any(argv[0] == "rpmkeys" for argv in programs.asked)
    assert {kind for kind, _path in found.index(wish, rpms, store)} == {"repository"}
    programs.signature = "NOT OK"
    path.write_text(text)
    with pytest.raises(FetchError, match="no valid signature"):  # also of what an earlier run took
        Dnf(str(tmp_path / "own"), programs).fetch(wish, rpms, store)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nbaseurl=http://x\n", "a has no gpgkey.*gpgcheck=0 if"),
        ("[a]\ngpgcheck=0\n", "has none of baseurl, mirrorlist, metalink"),
        ("[a]\nbaseurl=http://x\ngpgcheck=maybe\n", "gpgcheck of the repository a is neither 1 nor 0"),
        ("[a b]\nbaseurl=http://x\ngpgcheck=0\n", "the id 'a b': expected letters"),
        ("[a]\nbaseurl=http://x\nenabled=0\n", "has no enabled repository"),
        ("[main]\n", "has no enabled repository"),
        (f"baseurl=http://me:{PASSWORD}@x\n", r"no file of repositories of dnf \(MissingSectionHeaderError\)"),
    ],
)
def test_a_file_of_repositories_that_dnf_could_not_use_is_named(tmp_path, text, message):
    (tmp_path / "a.repo").write_text(text)
    with pytest.raises(FetchError, match=message) as caught:
        dnf.repositories([str(tmp_path / "a.repo")], EULER)
    assert PASSWORD not in str(caught.value) and str(tmp_path / "a.repo") in str(caught.value)


def test_two_files_may_not_have_one_repository(tmp_path):
    for name in ("a.repo", "b.repo"):
        (tmp_path / name).write_text("[a]\nbaseurl=http://x\ngpgcheck=0\n")
    with pytest.raises(FetchError, match="it is there twice"):
        dnf.repositories([str(tmp_path / "a.repo"), str(tmp_path / "b.repo")], EULER)


def test_a_repository_that_cannot_be_had_is_not_left_out(tmp_path):
    (tmp_path / "a.repo").write_text(
        "[a]\nbaseurl=http://x/${releasever}\n  http://y/$other\nskip_if_unavailable=1\ngpgcheck=no\n"
    )
    text = dnf.repo_text(dnf.repositories([str(tmp_path / "a.repo")], EULER))
    assert "skip_if_unavailable=0\n" in text and "skip_if_unavailable=1" not in text and "gpgcheck=0\n" in text
    assert "baseurl=http://x/22.03 http://y/$other\n" in text


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://me:pass-word@mirror.example/KEY", "http://mirror.example/KEY: whoever changes the key.*https://"),
        ("ftp://mirror.example/KEY", "whoever changes"),
        ("file:///nothing/here", "the key file:///nothing/here of the repository OS cannot be read: .*No such file"),
    ],
)
def test_a_key_that_others_could_change_is_refused(given, tmp_path, address, message):
    programs, _found, wish, store = given
    path = tmp_path / "hosts.repo"
    path.write_text(path.read_text().replace(f"file://{tmp_path}/key", address))
    found = Dnf(str(tmp_path / "own"), programs)
    with pytest.raises(FetchError, match=message) as caught:
        found.fetch(wish, found.closure(wish), store)
    assert "pass-word" not in str(caught.value)


def test_a_signed_index_is_compared_with_a_copy_of_the_key_that_the_user_gave(given, tmp_path):
    programs, found, wish, _store = given
    path = tmp_path / "hosts.repo"
    path.write_text(path.read_text().replace("gpgkey=", "repo_gpgcheck=1\ngpgcheck=0\ngpgkey="))
    assert len(found.closure(wish)) == 2 and any("--assumeyes" in argv for argv in programs.asked)
    (line,) = [
        line
        for line in (programs.place / EULER.platform / "repos/bundle.repo").read_text().splitlines()
        if line.startswith("gpgkey=")
    ]
    assert (
        pathlib.Path(line.removeprefix("gpgkey=file://")).read_bytes() == b"a key" and str(tmp_path / "key") not in line
    )
    path.write_text(path.read_text().replace(f"file://{tmp_path}/key", "http://mirror.example/KEY"))
    del programs.asked[:]
    with pytest.raises(FetchError, match="whoever changes the key"):
        Dnf(str(tmp_path / "own"), programs).closure(wish)
    assert programs.asked == [], "dnf would have taken the key from there"
    path.write_text("[a]\nbaseurl=http://x\ngpgcheck=0\nrepo_gpgcheck=1\n")
    with pytest.raises(FetchError, match="a has no gpgkey"):
        dnf.repositories([str(path)], EULER)


def test_equal_files_of_two_repositories_need_the_signature_of_the_one_that_signs():
    one = dnf.Rpm("a", "1-1", "a.rpm", "a-0:1-1.noarch", "Packages/a.rpm", "0" * 64, 1, "b")
    other = dnf.Rpm("a", "1-1", "a.rpm", "a-0:1-1.noarch", "a.rpm", "0" * 64, 1, "a")
    assert dnf.chosen("http://x/Packages/a.rpm", [other, one], {"b"}, "t").repository == "b"
    assert dnf.chosen("http://x/a.rpm", [one, other], {"b"}, "t").repository == "a"  # the other one has it elsewhere
    different = dnf.Rpm("a", "1-1", "a.rpm", "a-0:1-1.noarch", "a.rpm", "1" * 64, 1, "c")
    with pytest.raises(FetchError, match="the repositories a, c have different files a.rpm"):
        dnf.chosen("http://x/a.rpm", [other, different], set(), "t")


def test_an_index_of_zst_is_unpacked(given, monkeypatch):
    programs, found, wish, _store = given

    def zstd(*argv):
        assert argv[:4] == ("--decompress", "--quiet", "--force", "-o") and argv[5] == argv[4] + ".zst"
        shutil.copy(argv[5], argv[4])
        return ""

    def missing(*argv):
        raise ToolMissing("zstd cannot be started: No such file or directory")

    programs.packed = True
    programs.zstd = missing
    with pytest.raises(FetchError, match="zstd cannot be started.*Fix: install zstd"):
        found.closure(wish)
    programs.zstd = zstd
    assert [rpm.repository for rpm in found.closure(wish)] == ["OS", "OS"]


def test_own_sources_count_only_for_the_distribution_of_this_machine(given, tmp_path):
    programs, _found, wish, _store = given
    (tmp_path / "etc/yum.repos.d").mkdir(parents=True)
    shutil.copy(wish.sources[0], str(tmp_path / "etc/yum.repos.d/own.repo"))
    (tmp_path / "etc/os-release").write_text('ID="openEuler"\nVERSION_ID="22.03"\n')
    assert sources.this_distribution(str(tmp_path)) == ("openEuler", "22.03")
    bare = Wish(EULER, ("tool",))
    assert len(Dnf(str(tmp_path / "own"), programs, str(tmp_path)).closure(bare)) == 2
    (tmp_path / "etc/os-release").write_text('ID="openEuler"\nVERSION_ID="24.03"\n')
    with pytest.raises(FetchError, match=r"this machine has openEuler 24.03, .*inference_bundle_sources .*yum.repos.d"):
        Dnf(str(tmp_path / "own"), programs, str(tmp_path)).closure(bare)
    with pytest.raises(FetchError, match="no file NAME.repo"):
        Dnf(str(tmp_path / "own"), programs).closure(Wish(EULER, ("tool",), ("a.list",)))


def test_a_machine_without_the_programs_names_what_hosts_lack(given, monkeypatch):
    programs, found, wish, _store = given
    assert found.usable()
    programs.fails = "--help"
    assert not found.usable()
    contents = Contents(wishes=[wish])
    assert listed(contents, None, None, {RED_HAT: found}, None).packages == []
    (line,) = contents.missing
    assert line.startswith("packages of openEuler 22.03 on aarch64") and "lacks dnf with its command download" in line
    monkeypatch.setattr(dnf_program.shutil, "which", lambda name: None)
    assert not found.usable()
