# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of the distribution in a bundle: fetched by apt from an index, installed by apt without a route and without the host's sources."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import threading
from dataclasses import replace

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.bundle_files import distribution, host
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.apt import Apt
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import Contents
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.distribution import (
    DEBIAN,
    Distribution,
    Wish,
    names,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.make import (
    distributions,
    fetched_packages,
    listed,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import manifest, write
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import Store
from ansible_collections.ascend.inference.tests.integration._packages import HOST, PLAN, can_isolate, run

OWN = "find /etc/apt /var/lib/apt/lists /var/cache/apt -type f | sort | xargs sha256sum | sha256sum"
TOOL, LIBRARY = "inference-test-tool", "inference-test-library"
VARIABLES = {"router_haproxy_package": TOOL}


pytestmark = pytest.mark.skipif(
    not all(shutil.which(each) for each in ("apt-get", "dpkg-deb")), reason="this machine has no apt"
)


def package(folder, name, version, depends=""):
    """Build a package; its record for an index."""
    root = folder / "root" / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "usr/share").mkdir(parents=True)
    (root / "usr/share" / name).write_text(version)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: A Test <test@example.org>\n{depends}Description: a test\n"
    (root / "DEBIAN/control").write_text(control)
    file = folder / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(root), str(file)], check=True, capture_output=True)
    content = file.read_bytes()
    return f"{control}Filename: ./{file.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"


def release():
    """The head of an index of this machine's distribution."""
    name, version = distribution().split()
    return f"Origin: {name.title()}\nVersion: {version}\n"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """(file of package sources, paths that were asked, folder of the index)."""
    folder, asked = tmp_path_factory.mktemp("index"), []
    records = [
        package(folder, TOOL, "1:2.0~rc1-1", f"Depends: {LIBRARY} (>= 1)\n"),
        package(folder, LIBRARY, "1.5+b1"),
        package(folder, "python3-venv", "0"),
        package(folder, "python3-apt", "0"),
    ]
    (folder / "Packages").write_text("\n".join(records))
    (folder / "Release").write_text(release())

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = folder / "test.list"
    file.write_text(f"deb [trusted=yes] http://127.0.0.1:{server.server_port}/ ./\n")
    yield file, asked, folder
    server.shutdown()
    server.server_close()


def wish(file, **named):
    """The wish of the planned host for a distribution; by default for this machine's."""
    name, version = distribution().split()
    known = {"name": name, "version": version, "machine": os.uname().machine, **named}
    return Wish(Distribution(**known), tuple(names(PLAN, "localhost", "Debian", VARIABLES)), (str(file),))


def listing_of(folder, given):
    (folder / "apt").mkdir(exist_ok=True)
    apt = {DEBIAN: Apt(str(folder / "apt"))}
    return apt, listed(Contents(wishes=[given]), None, None, apt, None)


def made(folder, given):
    """Make a bundle with nothing but packages, as the action bundle does; (manifest, names that were fetched)."""
    apt, listing = listing_of(folder, given)
    (folder / "bundle").mkdir(exist_ok=True)
    store = Store(str(folder / "bundle"))
    items, findings = fetched_packages(listing, apt, store)
    assert listing.findings == findings == []
    platform = {key: value for key, value in host().items() if key != "distribution"}
    data = manifest({"distributions": distributions(listing)}, items, [Platform(**platform)])
    write(str(folder / "bundle"), data)
    return data, store.fetched


def test_a_host_without_a_route_gets_them_from_the_bundle(sources, tmp_path):
    file, asked, _folder = sources
    data, fetched = made(tmp_path, wish(file))
    debs = {entry["name"]: entry for entry in data["items"] if entry["kind"] == "deb"}
    assert f"{TOOL}_1_2.0_rc1-1_all.deb" in debs and len(debs) == 4 and {*debs} < {*fetched}
    assert all(entry["origin"].startswith("http://127.0.0.1") and entry["published"] for entry in debs.values())
    assert data["distributions"][0]["names"] == [TOOL, "python3-venv"]
    del asked[:]
    assert made(tmp_path, wish(file)) == (data, []) and not any(".deb" in path for path in asked)
    (tmp_path / "layers").mkdir()
    if not can_isolate(tmp_path / "layers"):
        pytest.skip("this user cannot mount copies of the machine's folders")
    done = installed(tmp_path, "unshare", "--net", "--mount", "sh", "-c", HOST, str(tmp_path / "layers"))
    assert done.code == 0, done.output
    assert f"{TOOL}\\t1:2.0~rc1-1" in done.output and f"{LIBRARY}\\t1.5+b1" in done.output


def installed(folder, *within):
    """Install the planned package as the playbook prepare does, and prove that apt's own files stay as they were."""
    files = {"path": str(folder / "bundle"), "directory": str(folder / "cache"), "plan": PLAN, "variables": VARIABLES}
    files["manifest_sha256"] = hashlib.sha256((folder / "bundle/manifest.json").read_bytes()).hexdigest()
    role = {"name": "ascend.inference.system_packages"}
    given = {"system_packages_names": [TOOL], "system_packages_repository": "{{ copied.directory }}"}
    before = subprocess.run([*within, "sh", "-c", OWN], capture_output=True, text=True, check=True).stdout
    show = f"dpkg-query --show {TOOL} {LIBRARY}; {OWN}"
    tasks = [
        {"name": "Copy", "ascend.inference.bundle_files": files, "register": "copied"},
        {"name": "Install", "ansible.builtin.include_role": role, "vars": given},
        {"name": "Ask", "ansible.builtin.shell": show, "register": "found", "changed_when": False},
        {"name": "Print", "ansible.builtin.debug": {"msg": "{{ found.stdout_lines[:2] }}"}},
        {"name": "Same", "ansible.builtin.assert": {"that": ["(found.stdout_lines[2:] | join('\n')) == before"]}},
        {"name": "Again", "ascend.inference.bundle_files": files, "register": "again"},
        {"name": "Lack", "ansible.builtin.assert": {"that": ["again.packages == []", "again is not changed"]}},
    ]
    return run(folder, tasks, *within, before=before.strip())


def test_what_cannot_be_had_is_named_and_not_of_another_release(sources, tmp_path):
    file, _asked, folder = sources
    (folder / "altered").mkdir()
    text = (folder / "Packages").read_text()
    (folder / "altered/Packages").write_text(text.replace(f"Package: {LIBRARY}\n", "Package: another\n"))
    (tmp_path / "other.list").write_text(file.read_text().replace("/ ./", "/altered ./"))
    (finding,) = listing_of(tmp_path, wish(tmp_path / "other.list"))[1].findings
    assert "of an unknown release" in finding.problem  # it has no Release file
    (folder / "altered/Release").write_text(release())
    (finding,) = listing_of(tmp_path, wish(tmp_path / "other.list"))[1].findings
    assert finding.id == "bundle_packages" and LIBRARY in finding.problem
    (folder / "old").mkdir()
    (folder / "old/Packages").write_text(text)
    (folder / "old/Release").write_text(f"Origin: {distribution().split()[0].title()}\nVersion: 7.1\nCodename: old\n")
    (tmp_path / "other.list").write_text(file.read_text().replace("/ ./", "/old ./"))
    (finding,) = listing_of(tmp_path, wish(tmp_path / "other.list"))[1].findings
    assert "7.1 (old)" in finding.problem
    (finding,) = listing_of(tmp_path, replace(wish(file, version="7"), sources=()))[1].findings
    assert "inference_bundle_sources" in finding.problem


def test_damage_on_the_way_is_named(sources, tmp_path):
    file, _asked, folder = sources
    apt, listing = listing_of(tmp_path, wish(file))
    content = (folder / f"{LIBRARY}.deb").read_bytes()
    try:
        (folder / f"{LIBRARY}.deb").write_bytes(content[:-1] + b"!")
        (tmp_path / "bundle").mkdir()
        _items, (finding,) = fetched_packages(listing, apt, Store(str(tmp_path / "bundle")))
    finally:
        (folder / f"{LIBRARY}.deb").write_bytes(content)
    assert finding.id == "bundle_packages" and LIBRARY in finding.problem and not (tmp_path / "bundle/blobs").exists()
