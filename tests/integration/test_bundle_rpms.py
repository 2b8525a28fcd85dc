# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for dnf in a bundle: fetched by dnf from a repository with a password, installed by dnf without a route and without its sources."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.bundle_files import host
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import Contents
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.distribution import (
    RED_HAT,
    Distribution,
    Wish,
    names,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.dnf_program import Dnf
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.make import (
    distributions,
    fetched_packages,
    listed,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import manifest, write
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import Store
from ansible_collections.ascend.inference.tests.integration._packages import HOST, PLAN, can_isolate, run

TOOL, LIBRARY, RELEASE = "inference-test-tool", "inference-test-library", "openEuler-release"
VARIABLES = {"router_haproxy_package": TOOL}
PASSWORD = "s3cret-pass"
OS_RELEASE = 'NAME="openEuler"\nID="openEuler"\nVERSION_ID="22.03"\nPRETTY_NAME="openEuler 22.03 (LTS-SP3)"\n'
# The host is one of openEuler, with a repository of its own that nobody answers for.
EULER = (
    HOST.replace('exec "$@"', 'printf %s "$OS_RELEASE" >/usr/lib/os-release\nmkdir -p /etc/yum.repos.d\n')
    + 'mkdir "$0/home"\nexport HOME="$0/home"\n'  # rpm of Debian has its database there
    + 'printf "[own]\\nname=own\\nbaseurl=http://192.0.2.1/own\\n" >/etc/yum.repos.d/own.repo\nexec "$@"\n'
)
SPEC = """Name: {name}
Epoch: {epoch}
Version: {version}
Release: 1
Summary: a test
License: none
{more}
%description
a test
%install
mkdir -p %{{buildroot}}/usr/share/{name}
echo {version} >%{{buildroot}}/usr/share/{name}/data
%files
/usr/share/{name}
"""
PACKAGES = [
    # Its second requirement is a file that only the complete index of files names.
    (TOOL, 1, "2.0~rc1", f"Requires: {LIBRARY} >= 1\nRequires: /usr/share/{LIBRARY}/data\n"),
    (LIBRARY, 0, "1.5^b1", ""),
    ("inference-test-other", 0, "1", ""),
    ("python3", 0, "3", ""),
]
DNF = ("dnf", "rpm", "rpmbuild", "rpmsign", "rpmkeys", "createrepo_c", "gpg")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not all(map(shutil.which, DNF)), reason="this machine has no dnf, rpm, createrepo_c or gpg"),
]


def build(folder, name, epoch, version, more, machine="noarch"):
    """Build a package into folder/repo."""
    spec = folder / f"{name}.spec"
    spec.write_text(SPEC.format(name=name, epoch=epoch, version=version, more=more))
    argv = ["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {folder}/build", "--define", f"_rpmdir {folder}/repo"]
    argv += ["--target", machine]
    environment = {**os.environ, "HOME": str(folder)}  # rpm of Debian has its database there
    subprocess.run([*argv, str(spec)], check=True, capture_output=True, env=environment)


def secret_keys(folder):
    """The environment of gpg with the key of the repository in a folder."""
    return {**os.environ, "GNUPGHOME": str(folder / "gpg"), "HOME": str(folder)}


def sign(folder, rpms):
    """Sign packages with the key of the repository in a folder."""
    argv = ["rpmsign", "--define", "_gpg_name Test", "--define", "__gpg /usr/bin/gpg", "--addsign", *map(str, rpms)]
    subprocess.run(argv, check=True, capture_output=True, env=secret_keys(folder))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """(its folder, file for dnf, paths that were asked with user and password); its packages are signed."""
    folder, asked = tmp_path_factory.mktemp("index"), []
    (folder / "gpg").mkdir(mode=0o700)
    environment = secret_keys(folder)
    key = [
        "gpg",
        "--batch",
        "--passphrase",
        "",
        "--quick-generate-key",
        "Test <test@example.org>",
        "rsa2048",
        "sign",
        "never",
    ]
    subprocess.run(key, check=True, capture_output=True, env=environment)
    exported = subprocess.run(["gpg", "--armor", "--export"], check=True, capture_output=True, env=environment).stdout
    (folder / "key.asc").write_bytes(exported)
    for each in PACKAGES:
        build(folder, *each)
    build(folder, RELEASE, 0, "22.03LTS_SP3", "Provides: system-release = 22.03LTS_SP3\n")
    rpms = sorted(map(str, (folder / "repo").rglob("*.rpm")))
    sign(folder, rpms)
    subprocess.run(["createrepo_c", "--quiet", str(folder / "repo")], check=True)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            given = self.headers.get("Authorization", "").partition(" ")[2]
            if base64.b64decode(given).decode() != f"me:{PASSWORD}":
                return self.send_error(401)
            asked.append(self.path)
            return super().do_GET()

        def log_message(self, *args):
            """Print nothing."""

    served = functools.partial(Handler, directory=str(folder / "repo"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), served)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = folder / "test.repo"
    base = f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/"
    file.write_text(f"[test]\nname=test\nbaseurl={base}\ngpgkey=file://{folder}/key.asc\n")
    yield folder, file, asked
    server.shutdown()
    server.server_close()


def wish(file, version="22.03", machine=""):
    """The wish of the planned host, which has this machine unless another one is given."""
    wanted = Distribution("openEuler", version, machine or os.uname().machine)
    return Wish(wanted, tuple(names(PLAN, "localhost", RED_HAT, VARIABLES)), (str(file),))


def listing_of(folder, given):
    (folder / "dnf").mkdir(exist_ok=True)
    fetchers = {RED_HAT: Dnf(str(folder / "dnf"))}
    assert fetchers[RED_HAT].usable()
    return fetchers, listed(Contents(wishes=[given]), None, None, fetchers, None)


def made(folder, given):
    """Make a bundle with nothing but packages, as the action bundle does; (manifest, names that were fetched)."""
    fetchers, listing = listing_of(folder, given)
    (folder / "bundle").mkdir(exist_ok=True)
    store = Store(str(folder / "bundle"))
    items, findings = fetched_packages(listing, fetchers, store)
    assert listing.findings == findings == []
    platform = {key: value for key, value in host().items() if key != "distribution"}
    data = manifest({"distributions": distributions(listing)}, items, [Platform(**platform)])
    write(str(folder / "bundle"), data)
    return data, store.fetched


def test_a_host_without_a_route_gets_them_from_the_bundle(repository, tmp_path, monkeypatch):
    folder, file, asked = repository
    data, fetched = made(tmp_path, wish(file))
    rpms = {entry["name"]: entry for entry in data["items"] if entry["kind"] == "rpm"}
    assert {f"{TOOL}-2.0_rc1-1.noarch.rpm", f"{LIBRARY}-1.5_b1-1.noarch.rpm", "python3-3-1.noarch.rpm"} == {*rpms}
    assert {*rpms} < {*fetched} and all(entry["origin"].startswith("http://127.0.0.1") for entry in rpms.values())
    assert sorted(entry["kind"] for entry in data["items"]).count("key") == 1
    del asked[:]
    assert made(tmp_path, wish(file)) == (data, []) and not any(".rpm" in path for path in asked)
    for path in pathlib.Path(tmp_path / "bundle").rglob("*"):
        assert path.is_dir() or PASSWORD.encode() not in path.read_bytes(), path
    (tmp_path / "layers").mkdir()
    if not can_isolate(tmp_path / "layers"):
        pytest.skip("this user cannot mount copies of the machine's folders")
    monkeypatch.setenv("OS_RELEASE", OS_RELEASE)
    done = installed(tmp_path, "unshare", "--net", "--mount", "sh", "-c", EULER, str(tmp_path / "layers"))
    assert done.code == 0, done.output
    assert f"{TOOL} 1:2.0~rc1" in done.output and f"{LIBRARY} (none):1.5^b1" in done.output.replace(
        "0:1.5", "(none):1.5"
    )


def installed(folder, *within, keys=()):
    """Install the planned package as the playbook prepare does; dnf's own repositories stay as they were, and installed once is enough."""
    files = {"path": str(folder / "bundle"), "directory": str(folder / "cache"), "plan": PLAN, "variables": VARIABLES}
    files["manifest_sha256"] = hashlib.sha256((folder / "bundle/manifest.json").read_bytes()).hexdigest()
    role = {"name": "ascend.inference.system_packages"}
    given = {
        "system_packages_names": [TOOL],
        "system_packages_repository": "{{ copied.directory }}",
        "system_packages_repository_type": "{{ copied.repository_type }}",
        "system_packages_repository_keys": [*keys] or "{{ copied.repository_keys }}",
    }
    query = f"rpm --query --queryformat '%{{NAME}} %{{EPOCH}}:%{{VERSION}}\\n' {TOOL} {LIBRARY}; rpm --query inference-test-other"
    own = "ls -A /etc/yum.repos.d; find /var/cache/dnf -name '*ascend*' 2>/dev/null"
    tasks = [
        {"name": "Copy", "ascend.inference.bundle_files": files, "register": "copied"},
        {"name": "Signed", "ansible.builtin.assert": {"that": [f"copied.repository_keys | length == {0 if keys else 1}", f"copied.packages == ['{TOOL}']"]}},
        {"name": "Install", "ansible.builtin.include_role": role, "vars": given},
        {"name": "Ask", "ansible.builtin.shell": query, "register": "found", "changed_when": False, "failed_when": False},
        {"name": "Print", "ansible.builtin.debug": {"msg": "{{ found.stdout_lines }}"}},
        {"name": "List", "ansible.builtin.shell": own, "register": "listed", "changed_when": False},
        {"name": "Same", "ansible.builtin.assert": {"that": ["listed.stdout_lines == ['own.repo']"]}},
        {"name": "Again", "ascend.inference.bundle_files": files, "register": "again"},
        {"name": "Lack", "ansible.builtin.assert": {"that": ["again.packages == []", "again is not changed"]}},
        {"name": "Install again", "ansible.builtin.include_role": role, "vars": given},
        {"name": "Same again", "ansible.builtin.assert": {"that": ["system_packages_result is not changed"]}},
    ]  # fmt: skip
    return run(folder, tasks, *within)


def test_no_package_is_taken_without_a_signature_that_was_asked_for(repository, tmp_path, monkeypatch):
    """Neither into the bundle, nor by a host from a bundle whose files are those of its manifest and index."""
    folder, _file, _asked = repository
    for each in PACKAGES:
        build(tmp_path, *each)
    subprocess.run(["createrepo_c", "--quiet", str(tmp_path / "repo")], check=True)
    source = f"[test]\nname=test\nbaseurl=file://{tmp_path}/repo\n"
    (tmp_path / "signed.repo").write_text(f"{source}gpgkey=file://{folder}/key.asc\n")
    fetchers, listing = listing_of(tmp_path, wish(tmp_path / "signed.repo"))
    (tmp_path / "bundle").mkdir()
    _items, (finding,) = fetched_packages(listing, fetchers, Store(str(tmp_path / "bundle")))
    assert "no valid signature of a key of the repository test" in finding.problem and TOOL in finding.problem
    (tmp_path / "unsigned.repo").write_text(f"{source}gpgcheck=0\n")
    data, _fetched = made(tmp_path, wish(tmp_path / "unsigned.repo"))
    assert not any(entry["kind"] == "key" for entry in data["items"])
    (tmp_path / "layers").mkdir()
    if not can_isolate(tmp_path / "layers"):
        pytest.skip("this user cannot mount copies of the machine's folders")
    monkeypatch.setenv("OS_RELEASE", OS_RELEASE)
    shutil.copy(str(folder / "key.asc"), str(tmp_path / "key.asc"))
    within = ["unshare", "--net", "--mount", "sh", "-c", EULER, str(tmp_path / "layers")]
    done = installed(tmp_path, *within, keys=["../key.asc"])
    assert done.code != 0 and "inference-test-tool" in done.text and "is not signed" in done.text, done.output


def test_what_cannot_be_had_or_is_damaged_is_named_without_the_password(repository, tmp_path):
    folder, file, _asked = repository
    (finding,) = listing_of(tmp_path, wish(file, "24.03"))[1].findings
    assert "of another release: openEuler-release 22.03LTS_SP3" in finding.problem
    (tmp_path / "wrong.repo").write_text(file.read_text().replace(PASSWORD, "0ther-pass"))
    (finding,) = listing_of(tmp_path, wish(tmp_path / "wrong.repo"))[1].findings
    assert "401" in finding.problem and "0ther-pass" not in finding.problem
    (tmp_path / "again").mkdir()
    fetchers, listing = listing_of(tmp_path / "again", wish(file))
    path = next(iter((folder / "repo").rglob(f"{LIBRARY}*.rpm")), None)
    content = path.read_bytes()
    try:
        path.write_bytes(content[:-1] + b"!")
        (tmp_path / "bundle").mkdir()
        _items, (finding,) = fetched_packages(listing, fetchers, Store(str(tmp_path / "bundle")))
    finally:
        path.write_bytes(content)
    assert finding.id == "bundle_packages" and LIBRARY in finding.problem and PASSWORD not in finding.problem
    assert not (tmp_path / "bundle/blobs").exists()


def test_packages_are_of_the_machine_of_the_hosts(repository, tmp_path):
    """A package for each machine, and in the end those of a machine that this one is not."""
    folder, _file, _asked = repository
    other = {"x86_64": "aarch64"}.get(os.uname().machine, "x86_64")
    for machine in ("x86_64", "aarch64"):
        more = f"Requires: {LIBRARY}(only-{machine})\n"
        build(tmp_path, TOOL, 0, "1", more, machine)
        build(tmp_path, LIBRARY, 0, "1", f"Provides: {LIBRARY}(only-{machine})\n", machine)
    build(tmp_path, "python3", 0, "3", "")
    sign(folder, (tmp_path / "repo").rglob("*.rpm"))
    subprocess.run(["createrepo_c", "--quiet", str(tmp_path / "repo")], check=True)
    file = tmp_path / "test.repo"
    file.write_text(f"[test]\nname=test\nbaseurl=file://{tmp_path}/repo\ngpgkey=file://{folder}/key.asc\n")
    data, fetched = made(tmp_path, wish(file, machine=other))
    rpms = [entry for entry in data["items"] if entry["kind"] == "rpm"]
    names_ = sorted(entry["name"] for entry in rpms)
    assert names_ == [f"{LIBRARY}-1-1.{other}.rpm", f"{TOOL}-1-1.{other}.rpm", "python3-3-1.noarch.rpm"]
    assert {*names_} < {*fetched} and all(entry["platforms"] == [f"{other}-openEuler-22.03"] for entry in rpms)


def test_an_index_with_a_signature_is_compared_if_the_user_asks_for_it(repository, tmp_path):
    folder, file, _asked = repository
    shutil.copytree(folder / "repo", tmp_path / "repo")
    index = tmp_path / "repo/repodata/repomd.xml"
    argv = ["gpg", "--batch", "--detach-sign", "--armor", str(index)]
    subprocess.run(argv, check=True, capture_output=True, env=secret_keys(folder))
    base = f"[test]\nname=test\nbaseurl=file://{tmp_path}/repo\ngpgkey=file://{folder}/key.asc\n"
    (tmp_path / "test.repo").write_text(f"{base}repo_gpgcheck=1\n")
    listing = listing_of(tmp_path, wish(tmp_path / "test.repo"))[1]
    assert listing.findings == [] and sorted(row["kind"] for row in listing.rows()) == ["rpm"] * 3
    index.write_text(index.read_text().replace("<revision>", "<revision>1"))
    (tmp_path / "again").mkdir()
    listing = listing_of(tmp_path / "again", wish(tmp_path / "test.repo"))[1]
    (finding,) = listing.findings
    assert finding.id == "bundle_packages" and "signature" in finding.problem.lower() and not listing.rows()


@pytest.mark.parametrize("damage", ["byte", "truncated", "missing"])
def test_a_damaged_package_of_a_bundle_is_named(repository, tmp_path, damage):
    _folder, file, _asked = repository
    data, _fetched = made(tmp_path, wish(file))
    (entry,) = [each for each in data["items"] if each["name"].startswith(LIBRARY)]
    store = Store(str(tmp_path / "bundle"))
    path = pathlib.Path(store.place(entry["name"], entry["sha256"]))
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(content[:-1] + (bytes([content[-1] ^ 1]) if damage == "byte" else b""))
    verify = {"path": str(tmp_path / "bundle"), "state": "verified"}
    done = run(tmp_path, [{"name": "Verify", "ascend.inference.bundle": verify}])
    assert done.code != 0 and entry["name"] in done.text, done.output
