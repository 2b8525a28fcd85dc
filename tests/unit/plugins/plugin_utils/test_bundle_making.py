# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a bundle is made and given out: what is listed, fetched and refused, with parts that answer from tables instead of a network."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.resolution import Unresolved
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import make, placing
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.checkouts import Checkout
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import (
    Contents,
    Environment,
    NamedFile,
    PlannedImage,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.distribution import Distribution, Wish
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.images import Image
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import BundleError
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.packages import PackageFile
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError

ARM, INTEL = Platform("aarch64", "3.11", "2.34"), Platform("x86_64", "3.11", "2.34")
DEBIAN = Distribution("debian", "12", "aarch64")
OPENEULER = Distribution("openEuler", "24.03", "aarch64")


def wheel(name, sha256="", size=1):
    file = f"{name}-1-py3-none-any.whl" if not name.endswith(".tar.gz") else name
    return PackageFile(name, "1", file, f"https://index/{file}", sha256, size)


def environment(title="e", platform=ARM, lock="e.lock", **more):
    return Environment(title, platform, {"requirements": [title], "path": "/e"}, lock, **more)


class Resolution:
    """Answers with the files of a title; one without an entry cannot be resolved."""

    def __init__(self, **files):
        self.known, self.asked = files, []

    def files(self, wanted):
        self.asked.append((wanted.title, wanted.options))
        if wanted.title not in self.known:
            raise Unresolved(f"nothing for {wanted.title}")
        return self.known[wanted.title]


class Answers:
    """Stands for a registry, for git and for a fetcher: fails for what is in ``bad``."""

    kind, needs = "deb", "apt"

    def __init__(self, *bad, usable=True, packages=(), index=()):
        self.bad, self.able, self.packages, self.of_index, self.done = bad, usable, list(packages), list(index), []

    def _answer(self, key, value):
        if key in self.bad:
            raise FetchError(f"no {key}")
        return value

    def find(self, wanted):
        return self._answer(wanted.name, types.SimpleNamespace(name=wanted.name, checkout=wanted))

    def usable(self):
        return self.able

    def closure(self, wish):
        return self._answer(wish.distribution.name, self.packages)

    def fetch(self, wish, packages, _store):
        self._answer("fetch " + wish.distribution.name, None)

    def index(self, _wish, _packages, _store):
        return self.of_index


class Store:
    """Counts what it gets; fails for the names in ``bad``."""

    def __init__(self, folder, *bad):
        self.folder, self.bad, self.got = str(folder), bad, []

    def get(self, name, address, sha256="", size=None):
        if name in self.bad:
            raise FetchError(f"no {name}")
        self.got.append((name, address))
        return sha256 or f"sha-of-{name}", size or 7

    def add(self, name, path):
        return f"sha-of-{name}", os.path.getsize(path)

    def place(self, name, _sha256):
        return os.path.join(self.folder, name)


def archive(folder, name, pyproject=None, member="a-1/pyproject.toml"):
    with tarfile.open(folder / name, "w:gz") as stream:
        for path, text in (("a-1/deep/pyproject.toml", 'build-system.requires = ["deep"]'), (member, pyproject)):
            if text is not None:
                info = tarfile.TarInfo(path)
                info.size = len(text)
                stream.addfile(info, io.BytesIO(text.encode()))
    return str(folder / name)


# ---- the list ----


def test_the_list_has_what_was_found_and_a_finding_for_each_thing_that_was_not():
    wanted = Contents(
        environments=[environment("good"), environment("lost"), environment("also")],
        images=[PlannedImage("bad-image", "aarch64"), PlannedImage("image", "aarch64")],
        checkouts=[Checkout("bad-code", "r", "v1"), Checkout("code", "r", "v1")],
        wishes=[Wish(OPENEULER, ("a",)), Wish(DEBIAN, ("b",))],
        findings=["earlier"],
    )
    resolution = Resolution(good=[wheel("a")], also=[])
    fetchers = {"RedHat": Answers("openEuler"), "Debian": Answers(packages=["p"])}
    found = make.listed(wanted, resolution, Answers("bad-image"), fetchers, Answers("bad-code"))
    assert [each.title for each, _files in found.environments] == ["good", "also"]
    assert [image.name for image in found.images] == ["image"]
    assert [source.name for source in found.sources] == ["code"]
    assert found.packages == [(wanted.wishes[1], ["p"])]
    assert [(each.path, each.id, each.severity) for each in found.findings[1:]] == [
        ("aarch64-python3.11-glibc2.34: lost", "bundle_unresolved", "error"),
        ("image bad-image for aarch64", "bundle_image", "error"),
        ("sources bad-code-v1", "bundle_sources_of_builds", "error"),
        ("packages of openEuler 24.03 on aarch64", "bundle_packages", "error"),
    ]
    assert all(each.why == make.WHY for each in found.findings[1:])
    assert found.findings[1].fix == "set an index that has the package (inference_index_url)"
    assert wanted.findings == ["earlier"], "the contents keep their own list"


def test_packages_that_this_machine_cannot_fetch_are_missing_and_hide_no_others():
    wanted = Contents(wishes=[Wish(OPENEULER, ("a",)), Wish(DEBIAN, ("b",))])
    fetchers = {"RedHat": Answers(usable=False), "Debian": Answers(packages=["p"])}
    found = make.listed(wanted, Resolution(), Answers(), fetchers, Answers())
    assert [wish.distribution for wish, _packages in found.packages] == [DEBIAN] and found.findings == []
    (line,) = wanted.missing
    assert "this machine lacks apt, which fetches them" in line


def test_advice_of_an_environment_is_the_way_out():
    result = make.Listing(Contents())
    lost = Environment("x", ARM, {"advice": "use another release"})
    make._resolve(result, Resolution(), lost)
    assert [each.fix for each in result.findings] == ["use another release"]


def test_rows_name_each_file_once_with_all_of_its_platforms():
    both = wheel("a", "1")
    built = wheel("b.tar.gz", "2")
    image = Image("img", "aarch64", "origin", "sha256:m", "sha256:c")
    listing = make.Listing(
        Contents(files=[NamedFile("cann", "c.run", "https://cann", "3", "p"), NamedFile("key", "k", "o")]),
        [
            (environment(), [both, built]),
            (environment(platform=INTEL), [both]),
            (environment(), [both]),
            (environment("ansible", controller=True), [wheel("d.tar.gz", "4")]),
        ],
        packages=[
            (Wish(DEBIAN, ("x",)), [types.SimpleNamespace(name="x.deb", sha256="5", origin="o", version="9", size=2)])
        ],
    )
    found = {(row["kind"], row["name"]): row for row in listing.rows()}
    assert list(found) == sorted(found)
    assert {kind for kind, _name in found} == {"wheel", "sdist", "controller", "cann", "key", "deb"}
    assert found["wheel", both.name]["platforms"] == [ARM.name, INTEL.name]
    assert found["cann", "c.run"] == {
        "kind": "cann",
        "name": "c.run",
        "version": "",
        "size": None,
        "sha256": "3",
        "origin": "https://cann",
        "platforms": ["p"],
    }
    assert found["key", "k"]["platforms"] == []
    assert found["deb", "x.deb"]["version"] == "9" and found["deb", "x.deb"]["platforms"] == [DEBIAN.platform]
    assert found["sdist", "b.tar.gz"]["size"] == 1
    del image


# ---- fetching ----


def test_every_file_is_an_item_and_one_that_fails_is_a_finding(tmp_path):
    listing = make.Listing(
        Contents(
            files=[
                NamedFile("cann", "bad.run", "x"),
                NamedFile("cann", "c.run", "https://c", "3", "p"),
                NamedFile("key", "k", "https://k"),
            ]
        ),
        [
            (environment(), [wheel("lost"), wheel("a", "1", 5)]),
            (environment(platform=INTEL), [wheel("a", "1", 5), wheel("b")]),
        ],
        findings=["earlier"],
    )
    store = Store(tmp_path, "lost-1-py3-none-any.whl", "bad.run")
    items, findings = make.fetched(listing, Resolution(), store)
    assert {(item["kind"], item["name"]): (item["platforms"], item["published"], item["size"]) for item in items} == {
        ("wheel", "a-1-py3-none-any.whl"): ([ARM.name, INTEL.name], True, 5),
        ("wheel", "b-1-py3-none-any.whl"): ([INTEL.name], False, 1),
        ("cann", "c.run"): (["p"], True, 7),
        ("key", "k"): ([""], False, 7),
    }
    assert items[0]["path"] == "blobs/1/a-1-py3-none-any.whl" and items[0]["version"] == "1"
    assert [each if isinstance(each, str) else (each.path, each.id) for each in findings] == [
        ("lost-1-py3-none-any.whl", "bundle_fetch"),
        "earlier",
        ("bad.run", "bundle_fetch"),
    ]
    assert [[file.sha256 for file in files] for _each, files in listing.environments] == [
        ["1"],
        ["1", "sha-of-b-1-py3-none-any.whl"],
    ]
    assert len(store.got) == 5


def test_what_a_build_needs_is_fetched_too_until_nothing_is_built_any_more(tmp_path):
    for name in ("a.tar.gz", "b.tar.gz"):
        archive(tmp_path, name, f'[build-system]\nrequires = ["need-{name[0]}"]')
    first = Environment(
        "e", ARM, {"requirements": ["a"], "path": "/e", "index_url": "https://i", "metadata": {"x": []}}
    )
    listing = make.Listing(Contents(), [(first, [wheel("a.tar.gz")])])
    resolution = Resolution(**{"build of a.tar.gz": [wheel("b.tar.gz")], "build of b.tar.gz": [wheel("c")]})
    items, findings = make.fetched(listing, resolution, Store(tmp_path))
    assert [item["name"] for item in items] == ["a.tar.gz", "b.tar.gz", "c-1-py3-none-any.whl"] and findings == []
    assert resolution.asked == [
        ("build of a.tar.gz", {"index_url": "https://i", "requirements": ["need-a"]}),
        ("build of b.tar.gz", {"index_url": "https://i", "requirements": ["need-b"]}),
    ]
    assert [item["kind"] for item in items] == ["sdist", "sdist", "wheel"]
    proxy = make.Listing(Contents(), [(environment("proxy"), [wheel("a.tar.gz")])])
    assert [item["name"] for item in make.fetched(proxy, Resolution(), Store(tmp_path))[0]] == ["a.tar.gz"]


@pytest.mark.parametrize(("rounds", "ends"), [(3, True), (4, False)])
def test_builds_that_need_builds_end(tmp_path, rounds, ends):
    names = [f"p{number}.tar.gz" for number in range(rounds)]
    for name in names:
        archive(tmp_path, name, '[build-system]\nrequires = ["x"]')
    known = {f"build of {name}": [wheel(following)] for name, following in zip(names, names[1:], strict=False)}
    known[f"build of {names[-1]}"] = [wheel("last")]
    listing = make.Listing(Contents(), [(environment(), [wheel(names[0])])])
    items, findings = make.fetched(listing, Resolution(**known), Store(tmp_path))
    assert [(each.path, each.id) for each in findings] == ([] if ends else [(f"build of {names[-1]}", "bundle_builds")])
    assert len(items) == (rounds + 1 if ends else rounds)


@pytest.mark.parametrize(
    ("pyproject", "member", "requires"),
    [
        ('[build-system]\nrequires = ["a", "b"]', "a-1/pyproject.toml", ["a", "b"]),
        ("[build-system]", "a-1/pyproject.toml", ["setuptools >= 40.8.0"]),
        ("[project]", "a-1/pyproject.toml", ["setuptools >= 40.8.0"]),
        ("[build-system]\nrequires = []", "a-1/pyproject.toml", []),
        (None, "", ["setuptools >= 40.8.0", "wheel"]),
        ('[build-system]\nrequires = ["a"]', "a-1/setup/pyproject.toml", ["setuptools >= 40.8.0", "wheel"]),
        ('[build-system]\nrequires = ["a"]', "pyproject.toml", ["setuptools >= 40.8.0", "wheel"]),
        ('[build-system]\nrequires = ["a"]', "a-1/xpyproject.toml", ["setuptools >= 40.8.0", "wheel"]),
    ],
)
def test_what_an_archive_needs_to_be_built(tmp_path, pyproject, member, requires):
    assert make.build_requires(archive(tmp_path, "a.tar.gz", pyproject, member)) == requires


def test_packages_of_distributions_come_with_their_index(tmp_path):
    (tmp_path / "Packages").write_text("12345")
    package = types.SimpleNamespace(name="x.deb", sha256="5", size=2, origin="o", version="9")
    listing = make.Listing(
        Contents(), packages=[(Wish(OPENEULER, ("a",)), [package]), (Wish(DEBIAN, ("b", "c")), [package])]
    )
    good = Answers(index=[("repository", str(tmp_path / "Packages"))])
    items, findings = make.fetched_packages(
        listing, {"RedHat": Answers("fetch openEuler"), "Debian": good}, Store(tmp_path)
    )
    assert [each.id for each in findings] == ["bundle_packages"]
    assert [(item["kind"], item["name"], item["size"], item["platforms"], item["origin"]) for item in items] == [
        ("deb", "x.deb", 2, [DEBIAN.platform], "o"),
        ("repository", "Packages", 5, [DEBIAN.platform], "written here"),
    ]
    assert all(item["published"] for item in items)
    assert make.distributions(listing)[1] == {**DEBIAN.as_dict(), "names": ["b", "c"]}


@pytest.mark.parametrize(
    ("number", "line"),
    [(0, None), (8, "0, 1, 2, 3, 4, 5, 6, 7"), (9, "0, 1, 2, 3, 4, 5, 6, 7 and 1 more")],
)
def test_what_a_build_may_fetch_by_itself_is_missing(number, line):
    source = types.SimpleNamespace(checkout=Checkout("code", "r", "v/1"))
    found = make._own_downloads(source, {"downloads": [str(one) for one in range(number)]} if number else {})
    assert found == ([f"what CMake of code-v-1 may fetch: {line}"] if line else [])


def test_sources_are_built_by_the_environments_that_name_their_folder(tmp_path):
    sources = [
        types.SimpleNamespace(checkout=Checkout(name, "r", "v1", python=name != "plain"), name=f"{name}.tar.gz")
        for name in ("bad", "plain", "code")
    ]
    for source in sources:
        archive(tmp_path, source.name, '[build-system]\nrequires = ["x"]')
    named = Environment("e", ARM, {"requirements": ["a", "vllm @ file:///src/code-v1"], "path": "/e"})
    other = Environment("f", ARM, {"requirements": ["vllm @ file:///src/plain-v1", "code-v1"], "path": "/f"})
    listing = make.Listing(Contents(), [(named, []), (other, [])], sources=sources)

    class Git:
        def fetch(self, source, _store, known):
            assert known == ["known"]
            if source.name.startswith("bad"):
                raise FetchError("gone")
            return {"sha256": "1", "downloads": ["u"], "name": source.name}

    resolution = Resolution(**{"build of code.tar.gz": [wheel("x")]})
    items, findings = make.fetched_sources(listing, resolution, Git(), Store(tmp_path), ["known"])
    assert [item["name"] for item in items] == ["plain.tar.gz", "code.tar.gz"]
    assert [(each.path, each.id) for each in findings] == [("sources bad-v1", "bundle_sources_of_builds")]
    assert [title for title, _options in resolution.asked] == ["build of code.tar.gz"]
    assert [each.title for each, _files in listing.environments] == ["e", "f", "build of code.tar.gz"]
    assert listing.contents.missing == [f"what CMake of {name}-v1 may fetch: u" for name in ("plain", "code")]


def test_locks_are_written_for_environments_that_have_one(tmp_path):
    options = {"requirements": ["a==1"], "path": "/e"}
    listing = make.Listing(
        Contents(),
        [(Environment("x", ARM, options), []), (Environment("e", ARM, options, "e.lock"), [wheel("a", "1")])],
    )
    (found,) = make.locks(listing, str(tmp_path))
    path = tmp_path / "locks" / ARM.name / "e.lock"
    assert (found["kind"], found["name"], found["path"]) == ("lock", "e.lock", f"locks/{ARM.name}/e.lock")
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest() and found["size"] == path.stat().st_size
    assert found["platforms"] == [ARM.name] and "sha256:1" in path.read_text()


# ---- giving out ----


def data(**more):
    return {"platforms": [ARM.as_dict()], "items": [], **more}


def test_packages_of_a_host_are_those_of_its_distribution():
    entry = {"name": "debian", "version": "12", "machine": "aarch64", "names": ["a", "b"]}
    items = [
        {"kind": kind, "name": kind, "platforms": [DEBIAN.platform], "path": "p", "sha256": "1", "size": 1}
        for kind in ("deb", "rpm", "key", "repository", "wheel")
    ]
    bundle = data(distributions=[entry], items=items)
    assert set(placing.packages_of_host(bundle, DEBIAN, ["a"], "n")) == {"deb", "rpm", "key", "repository"}
    assert (
        placing.packages_of_host(bundle, DEBIAN, [], "n") == placing.packages_of_host(data(), DEBIAN, ["a"], "n") == {}
    )
    for host, lacking, text in (
        (OPENEULER, ["a"], "openEuler 24.03 on aarch64; the bundle has packages for: debian 12 on aarch64"),
        (None, ["a"], "an unknown one"),
        (DEBIAN, ["a", "c", "d"], "does not have for debian 12 on aarch64: c, d"),
    ):
        with pytest.raises(BundleError, match=text):
            placing.packages_of_host(bundle, host, lacking, "n")
    assert placing.keys_of_packages(bundle, {"key": 1, "deb": 1}) == ["key"]
    assert placing.keys_of_packages(bundle, {"deb": 1}) == []
    keys = [f"key-{number}" for number in range(9)]
    many = {"items": [{"kind": "key", "name": key} for key in keys[::-1]]}
    assert placing.keys_of_packages(many, dict.fromkeys(keys)) == keys
    assert placing.has_packages(bundle, DEBIAN) and not placing.has_packages(bundle, OPENEULER)


@pytest.mark.parametrize(
    "glibc, platforms, has",
    [
        ("2.34", [ARM], "Python 3.7, glibc 2.34, and the bundle has files for: " + ARM.name),
        ("", [], "Python 3.7, glibc unknown, and the bundle has files for: none"),
    ],
)
def test_a_host_without_a_platform_of_the_bundle_is_told_what_both_have(glibc, platforms, has):
    bundle = {**data(), "platforms": [each.as_dict() for each in platforms]}
    with pytest.raises(BundleError, match=f"n has machine aarch64, {has}"):
        placing.files_of_host(bundle, {"machine": "aarch64", "python": "3.7", "glibc": glibc}, "n")


@pytest.mark.parametrize(
    "host, known, lacking",
    [("engine", {}, 2), ("router", {}, 0), ("engine", {"cann_method": "none"}, 0), ("store", {}, 2), ("idle", {}, 0)],
)
def test_packages_of_cann_are_those_that_the_services_of_a_host_need(monkeypatch, host, known, lacking):
    kinds = {"engine": "prefill", "router": "router", "store": "mooncake_master"}
    plan = {
        "services": [{"kind": kind, "host": name} for name, kind in kinds.items()],
        "hosts": [{"name": name, "hardware": f"a-{name}"} for name in ("idle", *kinds)],
        "engine_facts": {"npus": True},
        "software": {"cann": {"version": "9", "path": "/cann"}},
    }
    monkeypatch.setattr(placing, "cann_packages", lambda *asked: [" ".join(asked), "ops"])
    monkeypatch.setattr(placing, "missing_packages", lambda names, found: [n for n in names if n not in found])
    assert len(placing.lacking_of_cann(plan, host, "arm", known, {})) == lacking
    if lacking:
        assert placing.lacking_of_cann(plan, host, "arm", known, {"cann": {"/cann": ["ops"]}}) == [f"9 a-{host} arm"]
    assert placing.lacking_of_cann({**plan, "engine_facts": {"npus": False}}, host, "arm", known, {}) == []


@pytest.mark.parametrize(
    "sizes, groups",
    [
        ([], []),
        ([placing.ARCHIVE], [1]),
        ([1, placing.ARCHIVE - 1], [2]),
        ([1, placing.ARCHIVE], [1, 1]),
        ([placing.ARCHIVE - 1, 1, 1], [2, 1]),
        ([placing.ARCHIVE + 1, placing.ARCHIVE, 1], [1, 1, 1]),
    ],
)
def test_files_are_sent_in_archives_of_a_limited_size(sizes, groups):
    files = {f"f{number}": {"size": size} for number, size in enumerate(sizes)}
    archives = placing.archives(files, list(files))
    assert [len(group) for group in archives] == groups
    needed, largest = sum(sizes), max((sum(files[name]["size"] for name in group) for group in archives), default=0)
    for free, archived in ((needed + largest + placing.MARGIN, True), (needed + placing.MARGIN, False)):
        placing.lacking_space(files, list(files), free, "/d", "n", archived)
        if needed:
            with pytest.raises(BundleError, match="bundle_space"):
                placing.lacking_space(files, list(files), free - 1, "/d", "n", archived)


def test_images_of_a_host_are_those_of_its_machine():
    images = [{"name": "i", "machine": machine, "parts": []} for machine in ("x86_64", "aarch64")]
    bundle = data(images=images)
    assert placing.images_of_host(bundle, ["i"], "aarch64", "n") == [images[1]]
    assert placing.images_of_host(data(), [], "aarch64", "n") == []
    with pytest.raises(BundleError, match="has no such image"):
        placing.images_of_host(bundle, ["i", "j"], "aarch64", "n")
    with pytest.raises(BundleError, match="the image i for: aarch64, x86_64"):
        placing.images_of_host(bundle, ["i"], "riscv64", "n")


def test_an_image_planned_by_digest_is_proved_by_a_list_of_that_digest(tmp_path):
    blobs = tmp_path / placing.BLOBS
    blobs.mkdir(parents=True)

    def listing(content):
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        name = hashlib.sha256(text).hexdigest()
        (blobs / name).write_bytes(text)
        return f"sha256:{name}"

    mine = "sha256:" + "a" * 64
    good = listing({"manifests": [{"digest": "sha256:" + "b" * 64}, {"digest": mine}]})
    padded = {"manifests": [{"digest": mine}], "x": ""}
    padded["x"] = "x" * (4 * 2**20 - len(json.dumps(padded)))
    for planned in ("", "@" + mine, "@" + good, "@" + listing(padded)):
        placing.prove_digests(str(tmp_path), [{"name": f"i{planned}", "digest": mine}])
    padded["x"] += "x"  # longer than a registry accepts
    bad = [
        listing({"manifests": []}),
        listing([]),
        listing(b"no json"),
        listing({"manifests": [{}]}),
        listing(padded),
        "sha256:" + "c" * 64,
        "latest",
    ]
    (blobs / ("d" * 64)).write_bytes(json.dumps({"manifests": [{"digest": mine}]}).encode())  # not of this digest
    for planned in (*bad, "sha256:" + "d" * 64):
        with pytest.raises(BundleError, match="bundle_image_digest"):
            placing.prove_digests(
                str(tmp_path), [{"name": "j", "digest": mine}, {"name": f"i@{planned}", "digest": mine}]
            )


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], []),
        ([0], [1]),
        ([1, 1], [2]),
        ([2**30], [1]),
        ([2**29, 2**29], [2]),
        ([2**29, 2**29, 1], [2, 1]),
        ([2**31, 1, 1], [1, 2]),
        ([1, 2**30, 1], [1, 1, 1]),
    ],
)
def test_files_are_grouped_into_archives(sizes, groups):
    files = {str(number): {"size": size} for number, size in enumerate(sizes)}
    found = placing.archives(files, files)
    assert [len(group) for group in found] == groups and [name for group in found for name in group] == list(files)


def test_sources_of_a_host_are_those_that_it_would_clone():
    known = "0.30.0"
    checkout = Checkout("code", "https://r/code.git", "v1", fetches=True, release="0.9.1")
    fetching = Checkout("code", "https://r/code.git", "v1", fetches=True, release=known)
    assert placing.build_archives(known) and not placing.build_archives("0.9.1")

    def held(each, **entry):
        item = {"kind": "source", "name": each.archive, "origin": each.origin, **entry}
        try:
            placing.require_sources(data(items=[item]), [each], "n")
        except BundleError as error:
            assert f"{each.origin} at {each.ref}" in str(error)
            return False
        return True

    assert held(checkout) and held(fetching, archives=[])
    assert not held(checkout, origin="https://other/code.git") and not held(checkout, name="other")
    assert not held(checkout, kind="wheel")
    assert not held(fetching) and not held(fetching, archives=None)
    assert not held(Checkout("code", "r", "v1", fetches=True)) and held(
        Checkout("code", "r", "v1", fetches=True), archives=[]
    )
    assert held(Checkout("code", "r", "v1", release=known))
    item = {"kind": "source", "name": checkout.archive, "downloads": ["https://a", "b"]}
    (line,) = placing.fetching_builds(data(items=[item]), [checkout, Checkout("x", "r", "v")], "n")
    assert line.startswith("n: CMake of code-v1 may fetch https://a, b, which")
    assert placing.fetching_builds(data(items=[{**item, "kind": "wheel"}]), [checkout], "n") == []


@pytest.mark.parametrize(
    ("items", "files", "lacking", "refused"),
    [
        (["a.run"], ["a.run"], ["a.run"], False),
        (["a.run"], [], ["a.run"], True),
        (["b.run"], [], ["a.run"], True),
        ([], [], ["a.run"], False),
        (["a.run"], [], [], False),
    ],
)
def test_packages_of_cann_are_in_the_bundle_or_come_from_elsewhere(items, files, lacking, refused):
    bundle = data(items=[{"kind": "cann", "name": name} for name in items] + [{"kind": "wheel", "name": "w"}])
    if not refused:
        placing.require_cann(bundle, files, lacking, "n")
        return
    with pytest.raises(BundleError, match=f"does not have for it: a.run; it has {items[0]}"):
        placing.require_cann(bundle, files, lacking, "n")


def test_parts_of_images_are_in_the_manifest():
    entry = {"kind": "image", "name": "p", "sha256": "1" * 64, "path": "x", "size": 3, "origin": "o"}
    image = {"name": "i", "parts": ["sha256:" + "1" * 64]}
    assert placing.parts_of_images(data(items=[entry]), [image]) == {"p": {"path": "x", "sha256": "1" * 64, "size": 3}}
    with pytest.raises(BundleError, match="lacks the part"):
        placing.parts_of_images(data(items=[{**entry, "kind": "wheel"}]), [image])


def test_packages_that_dnf_does_not_find_are_refused():
    placing.refused_of_dnf(OPENEULER, [], "n")
    with pytest.raises(BundleError, match="none of its package sources offers: a, b.*dnf install a b"):
        placing.refused_of_dnf(OPENEULER, ["a", "b"], "n")
