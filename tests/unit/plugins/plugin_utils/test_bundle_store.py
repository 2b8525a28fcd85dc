# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a bundle: fetched once, continued where the connection broke, never kept with another hash; each fault has its name."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import json
import os
import shutil
import stat
import subprocess
import sys
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import served
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import make, signature, store
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import (
    MANIFEST,
    SUMS,
    BundleError,
    files_for,
    item,
    manifest,
    read,
    read_with_digest,
    verify,
    write,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform

A3 = Platform("aarch64", "3.11", "2.34")
BODY = bytes(range(256)) * 400
SHA = hashlib.sha256(BODY).hexdigest()


class Index(http.server.BaseHTTPRequestHandler):
    """Serves BODY, whole or from a position; breaks off after ``cut`` bytes of the first answers."""

    cuts: list[int] = []
    asked: list[str] = []
    ranges = True
    status = 200

    def do_GET(self):
        start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if self.ranges else 0
        type(self).asked.append(self.headers.get("Range", ""))
        if self.status != 200:
            return self.send_error(self.status)
        if start >= len(BODY):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        cut = self.cuts.pop(0) if self.cuts else len(BODY)
        return self.wfile.write(BODY[start : start + cut])

    def log_message(self, *args):
        """Print nothing."""


@pytest.fixture
def index(monkeypatch):
    """(the handler's class, the address of the file)."""
    handler = type("Handler", (Index,), {"cuts": [], "asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    yield handler, f"http://127.0.0.1:{server.server_port}/x.whl"
    server.shutdown()
    server.server_close()


def test_a_second_run_asks_nothing(index, tmp_path):
    handler, address = index
    first, second = store.Store(str(tmp_path)), store.Store(str(tmp_path))
    assert first.get("x.whl", address, SHA, len(BODY)) == second.get("x.whl", address, SHA) == (SHA, len(BODY))
    assert (first.fetched, first.fetched_bytes) == (["x.whl"], len(BODY))
    assert (second.fetched, second.fetched_bytes, len(handler.asked)) == ([], 0, 1)
    assert (tmp_path / store.blob(SHA, "x.whl")).read_bytes() == BODY


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_connection_goes_on_where_it_stopped(index, tmp_path, ranges):
    handler, address = index
    handler.cuts, handler.ranges = [1000, 500], ranges
    assert store.Store(str(tmp_path)).get("x.whl", address, SHA) == (SHA, len(BODY))
    assert handler.asked == (["", "bytes=1000-", "bytes=1500-"] if ranges else ["", "bytes=1000-", "bytes=500-"])


def test_an_interrupted_run_is_continued_by_the_next(index, tmp_path, monkeypatch):
    handler, address = index
    handler.cuts = [1000] * store.ATTEMPTS
    monkeypatch.setattr(store, "ATTEMPTS", 1)
    with pytest.raises(store.FetchError, match="ended early.*goes on"):
        store.Store(str(tmp_path)).get("x.whl", address, SHA)
    handler.cuts = []
    assert store.Store(str(tmp_path)).get("x.whl", address, SHA)[0] == SHA
    assert handler.asked[-1] == "bytes=1000-"


def test_the_beginning_of_another_file_is_thrown_away(index, tmp_path):
    handler, address = index
    handler.cuts = [1000]
    done = store.Store(str(tmp_path))
    part = tmp_path / "incomplete" / hashlib.sha256(f"{address} {SHA}".encode()).hexdigest()
    part.parent.mkdir()
    part.write_bytes(b"?" * len(BODY))
    assert done.get("x.whl", address, SHA) == (SHA, len(BODY))


def test_another_hash_is_not_kept(index, tmp_path):
    with pytest.raises(store.FetchError, match=f"has SHA-256 {SHA}, expected {'0' * 64}"):
        store.Store(str(tmp_path)).get("x.whl", index[1], "0" * 64)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("size", [len(BODY), None])
def test_a_server_that_never_ends_is_given_up_at_once_and_nothing_stays(index, tmp_path, monkeypatch, endless, size):
    handler, address = index
    monkeypatch.setattr(store, "MOST", 2**20)
    monkeypatch.setattr(handler, "do_GET", endless.do_GET)
    with pytest.raises(store.FetchError, match=f"x.whl: more than the expected {size or 2**20} bytes were sent.*Fix:"):
        store.Store(str(tmp_path)).get("x.whl", address, SHA, size)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()] and endless.asked == 1


@pytest.mark.parametrize("kind", ["dripping", "continued"])
def test_a_head_without_an_end_is_given_up_at_once(tmp_path, monkeypatch, odd_server, kind):
    monkeypatch.setattr(served, "HEAD", 0.3)
    odd_server.serve = getattr(odd_server, kind)
    with pytest.raises(store.FetchError, match="health: the head of the answer was not whole.*Fix:"):
        store.Store(str(tmp_path)).get("x.whl", odd_server.url, SHA)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()] and odd_server.asked == 1


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("kind", ["symbolic", "hard", "pipe"])
def test_nothing_is_written_into_files_of_others(index, tmp_path, kind, local):
    _handler, address = index
    precious, body = tmp_path / "precious", tmp_path / "body"
    precious.write_text("mine")
    body.write_bytes(BODY)
    source = str(body) if local else address
    part = tmp_path / "b" / "incomplete" / hashlib.sha256(f"{source} {SHA}".encode()).hexdigest()
    part.parent.mkdir(parents=True)
    make = {"symbolic": part.symlink_to, "hard": part.hardlink_to, "pipe": lambda _target: os.mkfifo(part)}
    make[kind](precious)
    assert store.Store(str(tmp_path / "b")).get("x.whl", source, SHA) == (SHA, len(BODY))
    assert precious.read_text() == "mine"
    kept = tmp_path / "b" / store.blob(SHA, "x.whl")
    assert kept.read_bytes() == BODY and kept.is_file() and not kept.is_symlink()


@pytest.mark.parametrize("name", ["incomplete", "blobs", f"blobs/{SHA}"])
def test_a_folder_behind_a_link_is_not_of_the_bundle(index, tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "b" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(store.FetchError, match=f"{name} is no folder, or a link to one.*Fix:"):
        store.Store(str(tmp_path / "b")).get("x.whl", index[1], SHA)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "head", ["Transfer-Encoding: chunked\r\n\r\n5\r\nab", "Transfer-Encoding: chunked\r\n\r\nz\r\n", "", "x"]
)
def test_an_answer_that_is_no_http_is_an_error_and_no_traceback(index, tmp_path, monkeypatch, head):
    handler, address = index
    status = "HTTP/1.1 200 OK" if head else "something else"
    monkeypatch.setattr(handler, "do_GET", lambda self: self.wfile.write(f"{status}\r\n{head}".encode()))
    monkeypatch.setattr(store, "ATTEMPTS", 2)
    with pytest.raises(store.FetchError, match="cannot be fetched.*Fix:|has SHA-256.*Fix:"):
        store.Store(str(tmp_path)).get("x.whl", address, SHA)


def test_a_missing_file_is_not_asked_again_and_again(index, tmp_path):
    handler, address = index
    handler.status = 404
    secret = address.replace("//", "//me:secret@")
    with pytest.raises(store.FetchError, match="404") as raised:
        store.Store(str(tmp_path)).get("x.whl", secret, SHA)
    assert len(handler.asked) == 1 and "secret" not in str(raised.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 501, 408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again(index, tmp_path, status):
    """A server that is busy, or that counts requests, may answer a little later; a refusal stays one."""
    handler, address = index
    handler.status = status
    with pytest.raises(store.FetchError, match=f"{status}.*Fix:"):
        store.Store(str(tmp_path)).get("x.whl", address, SHA)
    assert len(handler.asked) == (store.ATTEMPTS if status in (408, 429) or status >= 500 else 1)


def test_attempts_are_farther_and_farther_apart(index, tmp_path, monkeypatch):
    handler, address = index
    handler.status, slept = 503, []
    monkeypatch.setattr(store.time, "sleep", slept.append)
    monkeypatch.setattr(store, "ATTEMPTS", 6)
    with pytest.raises(store.FetchError):
        store.Store(str(tmp_path)).get("x.whl", address, SHA)
    assert slept == [1, 2, 4, 8, 10, 0], "and none after the last one"


@pytest.mark.parametrize("error", [OSError("reset"), ValueError("a number"), EOFError("early")], ids=repr)
def test_a_connection_that_breaks_in_any_way_is_tried_again(index, tmp_path, monkeypatch, error):
    plain, broken = store.Store._continue, [error]

    def once(self, *asked):
        if broken:
            raise broken.pop()
        plain(self, *asked)

    monkeypatch.setattr(store.Store, "_continue", once)
    assert store.Store(str(tmp_path)).get("x.whl", index[1], SHA)[0] == SHA and not broken


@pytest.mark.parametrize("sha256", [SHA, ""])
def test_a_file_without_a_known_hash_goes_on_too_and_anybody_may_read_it(index, tmp_path, sha256):
    handler, address = index
    part = tmp_path / "incomplete" / hashlib.sha256(f"{address} {sha256}".encode()).hexdigest()
    part.parent.mkdir()
    part.write_bytes(BODY[:1000])
    part.chmod(0o600)
    done = store.Store(str(tmp_path))
    assert done.get("x.whl", address, sha256) == (SHA, len(BODY))
    assert handler.asked == ["bytes=1000-"] and done.fetched_bytes == len(BODY) - 1000
    assert stat.S_IMODE((tmp_path / store.blob(SHA, "x.whl")).stat().st_mode) == 0o644


def test_a_packed_file_stays_packed(index, tmp_path, monkeypatch):
    """Its hash is that of what the server keeps."""
    handler, address = index
    packed = gzip.compress(BODY)

    def do_GET(self):
        assert self.headers["Accept-Encoding"] == "identity"
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)

    monkeypatch.setattr(handler, "do_GET", do_GET)
    sha256 = hashlib.sha256(packed).hexdigest()
    assert store.Store(str(tmp_path)).get("x.gz", address, sha256) == (sha256, len(packed))


def test_a_refusal_is_no_end_of_a_file(index, tmp_path):
    handler, address = index
    handler.status = 403
    part = tmp_path / "incomplete" / hashlib.sha256(f"{address} ".encode()).hexdigest()
    part.parent.mkdir()
    part.write_bytes(BODY[:1000])
    with pytest.raises(store.FetchError, match="403"):
        store.Store(str(tmp_path)).get("x.whl", address)
    assert part.read_bytes() == BODY[:1000], "the next run goes on"


def test_files_of_an_older_bundle_are_left_out(index, tmp_path):
    old, new = store.Store(str(tmp_path / "old")), store.Store(str(tmp_path / "new"), str(tmp_path / "old"))
    old.get("x.whl", index[1], SHA)
    assert new.get("x.whl", index[1], SHA, len(BODY)) == (SHA, len(BODY)) and len(index[0].asked) == 1
    assert not (tmp_path / "new").exists() and new.place("x.whl", SHA) == old.place("x.whl", SHA)


@pytest.fixture
def bundle(tmp_path):
    """A bundle with one wheel."""
    path = tmp_path / store.blob(SHA, "x.whl")
    path.parent.mkdir(parents=True)
    path.write_bytes(BODY)
    entry = item(
        "wheel", "x.whl", "https://example.org/x.whl", SHA, len(BODY), store.blob(SHA, "x.whl"), platforms=[A3.name]
    )
    assert write(str(tmp_path), manifest({"deployment": "d"}, [entry], [A3]))
    return tmp_path, path


def ids(folder):
    return [finding.id for finding in verify(str(folder), read(str(folder)))]


def test_a_bundle_is_as_it_was_written(bundle):
    folder, _path = bundle
    assert ids(folder) == [] and not write(str(folder), read(str(folder)))
    assert f"{SHA}  {store.blob(SHA, 'x.whl')}\n" in (folder / SUMS).read_text()


DAMAGES = {
    "a byte": (lambda path: path.write_bytes(b"?" + BODY[1:]), "bundle_file_changed"),
    "truncated": (lambda path: path.write_bytes(BODY[:-1]), "bundle_file_size"),
    "missing": (lambda path: path.unlink(), "bundle_file_missing"),
    "another case": (lambda path: path.rename(path.with_name(path.name.swapcase())), "bundle_file_missing"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "bundle_file_missing"),
    "a link": (lambda path: (path.rename(path.with_name("other")), path.symlink_to("other")), "bundle_file_missing"),
}
# kind: (name, path) of a file of each kind that a bundle has
KINDS = {
    "wheel": ("x.whl", store.blob(SHA, "x.whl")),
    "sdist": ("x-1.tar.gz", store.blob(SHA, "x-1.tar.gz")),
    "cann": ("x.run", store.blob(SHA, "x.run")),
    "controller": ("x.whl", store.blob(SHA, "x.whl")),
    "deb": ("x_1_amd64.deb", store.blob(SHA, "x_1_amd64.deb")),
    "repository": ("Packages", store.blob(SHA, "Packages")),
    "collection": ("x-y-1.tar.gz", store.blob(SHA, "x-y-1.tar.gz")),
    "lock": ("x.txt", f"locks/{A3.name}/x.txt"),
    "script": ("install.sh", "install.sh"),
    "layout": ("index.json", "images/index.json"),
    "image": (SHA, f"images/blobs/sha256/{SHA}"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_named(tmp_path, kind, damage):
    (change, finding_id), (name, place) = DAMAGES[damage], KINDS[kind]
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(BODY)
    entry = item(kind, name, "https://example.org/x", SHA, len(BODY), place, version="registry.example/i:1")
    assert write(str(tmp_path), manifest({"deployment": "d"}, [entry], [A3]))
    change(path)
    (finding,) = verify(str(tmp_path), read(str(tmp_path)))
    title = f"image registry.example/i:1, part {SHA[:12]}" if kind == "image" else f"{kind} {name}"
    assert (finding.id, finding.path) == (finding_id, title) and place in finding.problem


def test_a_delta_over_another_bundle_names_the_one_that_it_belongs_to(bundle):
    folder, path = bundle
    entries = read(str(folder))["items"]
    write(str(folder), manifest({"base": "1" * 64}, entries, [A3]))
    assert ids(folder) == []
    path.unlink()
    (finding,) = verify(str(folder), read(str(folder)))
    assert finding.id == "bundle_file_missing" and "had the SHA-256 " + "1" * 64 in finding.fix
    write(str(folder), manifest({"base": ["a"]}, entries, [A3]))
    assert "SHA-256" not in verify(str(folder), read(str(folder)))[0].fix


def test_two_files_that_were_swapped_are_both_named(tmp_path):
    bodies = {"a.whl": b"first", "b.whl": b"other"}
    entries = []
    for name, body in bodies.items():
        sha256 = hashlib.sha256(body).hexdigest()
        place = tmp_path / store.blob(sha256, name)
        place.parent.mkdir(parents=True)
        place.write_bytes(bodies["b.whl" if name == "a.whl" else "a.whl"])
        entries.append(item("wheel", name, "", sha256, len(body), store.blob(sha256, name), platforms=[A3.name]))
    write(str(tmp_path), manifest({}, entries, [A3]))
    assert ids(tmp_path) == ["bundle_file_changed", "bundle_file_changed"]


def test_a_manifest_with_right_sums_of_a_changed_file_needs_the_other_sums_too(bundle):
    folder, path = bundle
    path.write_bytes(b"?" + BODY[1:])
    data = read(str(folder))
    data["items"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(data))
    assert ids(folder) == ["bundle_sums"]


def test_sums_and_manifest_have_to_agree(bundle):
    folder, _path = bundle
    (folder / SUMS).write_text((folder / SUMS).read_text().replace(SHA, "0" * 64, 1))
    assert ids(folder) == ["bundle_sums"]
    (folder / SUMS).unlink()
    assert ids(folder) == ["bundle_sums"]


@pytest.fixture
def keys(tmp_path_factory, monkeypatch):
    """(exported key, exported key of somebody else); the first one can sign as 'us'."""
    if not shutil.which("gpg") or not shutil.which("gpgv"):
        pytest.skip("GnuPG is not installed")
    home = tmp_path_factory.mktemp("gnupg")
    home.chmod(0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    for name in ("us", "them"):
        argv = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign"]
        subprocess.run(argv, check=True, capture_output=True)
        subprocess.run(["gpg", "--batch", "--output", str(home / name), "--export", name], check=True)
    yield str(home / "us"), str(home / "them")
    subprocess.run(["gpgconf", "--kill", "all"], check=False)


def test_only_the_signature_of_a_known_key_is_accepted(bundle, keys):
    folder, _path = bundle
    with pytest.raises(BundleError, match="has no signature"):
        signature.verify(str(folder), keys[0])
    signature.sign(str(folder), "us")
    sums = signature.verify(str(folder), keys[0])
    assert sums == (folder / SUMS).read_text()
    data, digest = read_with_digest(str(folder))
    assert verify(str(folder), data, digest, sums) == []
    assert [finding.id for finding in verify(str(folder), data, "0" * 64, sums)] == ["bundle_sums"]
    assert [finding.id for finding in verify(str(folder), data, digest, "")] == ["bundle_sums"]
    with pytest.raises(BundleError, match="signature of the bundle failed"):
        signature.verify(str(folder), keys[1])
    (folder / SUMS).write_text((folder / SUMS).read_text().replace(SHA, "0" * 64, 1))
    with pytest.raises(BundleError, match="(?s)signature of the bundle failed.*BAD"):
        signature.verify(str(folder), keys[0])
    with pytest.raises(BundleError, match="check the key"):
        signature.sign(str(folder), "nobody")


def test_a_signature_is_written_into_no_file_of_others(bundle, keys, tmp_path):
    folder, precious = bundle[0], tmp_path / "precious"
    precious.write_text("mine")
    for name in ("SHA256SUMS.asc", "SHA256SUMS.asc.new"):
        (folder / name).symlink_to(precious)
    signature.sign(str(folder), "us")
    assert signature.verify(str(folder), keys[0]) and precious.read_text() == "mine"


def test_a_manifest_is_written_into_no_file_of_others(bundle, tmp_path):
    folder, precious = bundle[0], tmp_path / "precious"
    precious.write_text("mine")
    for name in (MANIFEST, SUMS):
        (folder / f"{name}.new").symlink_to(precious)
        (folder / name).unlink()
        (folder / name).symlink_to(precious)
    data = manifest({}, [item("wheel", "x.whl", "https://x", SHA, len(BODY), store.blob(SHA, "x.whl"))], [A3])
    assert write(str(folder), data) and precious.read_text() == "mine"
    assert read(str(folder)) == data


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "blobs/../../x", f"blobs/{SHA}/../x", "images/../../x", "locks/../x.txt"]
)
def test_a_manifest_cannot_name_files_outside(bundle, path):
    folder, _path = bundle
    data = read(str(folder))
    data["items"][0]["path"] = path
    (folder / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(BundleError, match="items of another form: 0"):
        read(str(folder))


@pytest.mark.parametrize("change", [{"name": "../x"}, {"name": ".bashrc"}, {"size": "1"}, {"platforms": None}])
def test_a_manifest_cannot_name_other_files_on_hosts(bundle, change):
    folder, _path = bundle
    data = read(str(folder))
    data["items"][0].update(change)
    (folder / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(BundleError, match="items of another form: 0"):
        read(str(folder))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        pytest.param("[" * 100000, "not JSON", id="deep"),
        ("{}", "format None"),
        ("[]", "format None"),
        ('{"format": 2}', "format 2, and this version of the collection reads 1"),
        ('{"format": 1, "items": 3}', "all, platforms"),
        ('{"format": 1, "items": [], "platforms": [{"machine": "mips"}]}', "form: platforms"),
        (None, "no bundle"),
    ],
)
def test_what_is_no_bundle_is_refused(tmp_path, text, reason):
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(BundleError, match=reason):
        read(str(tmp_path))


IMAGE = {
    "name": "quay.io/a/b:1",
    "machine": "aarch64",
    "digest": f"sha256:{SHA}",
    "config": f"sha256:{SHA}",
    "parts": [f"sha256:{SHA}"],
}


@pytest.mark.parametrize(
    ("image", "good"),
    [
        (IMAGE, True),
        ("x", False),
        (None, False),
        ({**IMAGE, "parts": "x"}, False),
        ({**IMAGE, "parts": ["x"]}, False),
        ({**IMAGE, "parts": [3]}, False),
        ({**IMAGE, "digest": "x"}, False),
        ({**IMAGE, "config": None}, False),
        ({**IMAGE, "machine": "mips"}, False),
        ({**IMAGE, "name": "-x"}, False),
    ],
)
def test_an_image_of_a_manifest_has_its_form(tmp_path, image, good):
    write(str(tmp_path), manifest({"images": [image]}, [], [A3]))
    if good:
        assert read(str(tmp_path))["images"] == [image]
    else:
        with pytest.raises(BundleError, match="another form"):
            read(str(tmp_path))


@pytest.mark.parametrize(("count", "more"), [(5, False), (6, True)])
def test_five_files_that_sums_lack_are_named(tmp_path, count, more):
    entries = [item("wheel", f"{n}.whl", "", SHA, 1, store.blob(SHA, f"{n}.whl")) for n in range(count)]
    write(str(tmp_path), manifest({}, entries, [A3]))
    data, digest = read_with_digest(str(tmp_path))
    found = verify(str(tmp_path), data, digest, f"{digest}  {MANIFEST}\n")[0]
    assert found.id == "bundle_sums" and found.problem.count(".whl") == 5 and found.problem.endswith(" ...") is more


def test_a_manifest_is_the_same_in_whatever_order_it_was_made(tmp_path):
    """Its hash is handed on, and a bundle that did not change is not written again."""
    entries = [
        item("wheel", f"{n}.whl", "", f"{9 - n}" * 64, 1, store.blob(SHA, "x"), platforms="ba") for n in range(9)
    ]
    data = manifest({}, entries[::-1], [A3])
    assert [entry["name"] for entry in data["items"]] == [f"{n}.whl" for n in range(9)]
    assert data["items"][0]["platforms"] == ["a", "b"]
    assert write(str(tmp_path), data) and not write(str(tmp_path), manifest({}, entries, [A3]))


def test_another_manifest_than_the_verified_one_is_refused(bundle):
    folder, _path = bundle
    data, digest = read_with_digest(str(folder))
    assert read(str(folder), digest) == data
    write(str(folder), {**data, "deployment": "other"})
    with pytest.raises(BundleError, match=r"it had " + digest + r".*\[bundle_swapped\]"):
        read(str(folder), digest)


def test_two_different_files_of_one_name_are_refused():
    entries = [item("wheel", "x.whl", "", str(number) * 64, 1, "", platforms=[A3.name]) for number in (1, 2)]
    with pytest.raises(BundleError, match="two different files x.whl"):
        files_for({"items": entries}, A3.name, ("wheel",))
    assert files_for({"items": entries}, "other", ("wheel",)) == {}


def test_a_bundle_has_the_script_of_the_controller_and_the_server_of_a_rack(tmp_path):
    items = make.for_controller(A3, [], store.Store(str(tmp_path)))
    assert [entry["path"] for entry in items] == ["install.sh", "serve.py"]
    write(str(tmp_path), manifest({}, items, [A3]))
    assert verify(str(tmp_path), read(str(tmp_path))) == []
    argv = [sys.executable, "-I", str(tmp_path / "serve.py"), "--help"]
    assert b"--port" in subprocess.run(argv, capture_output=True, check=True).stdout
