# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bundle made from a real index is installed in a network namespace without a route; what does not fit is named first."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import signature
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import BundleError
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run

OFFLINE = ["unshare", "--net"]
HERE = {
    "machine": os.uname().machine,
    "python": "{}.{}".format(*sys.version_info[:2]),
    "glibc": platform.libc_ver()[1],
}
BACKEND = """
import base64, helper, zipfile

def build_wheel(folder, settings=None, metadata=None):
    name = "built-1-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as archive:
        archive.writestr("built.py", "HELPED = %r" % helper.VALUE)
        archive.writestr("built-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: built\\nVersion: 1\\n")
        archive.writestr("built-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("built-1.dist-info/RECORD", "built.py,,\\nbuilt-1.dist-info/METADATA,,\\nbuilt-1.dist-info/WHEEL,,\\n")
    return name
"""
PLAN = {
    "runtime": "systemd",
    "runtime_facts": {"contained": False},
    "hosts": [{"name": "localhost"}],
    "services": [],
    "engine": "vllm_cpu",
    "engine_facts": {"npus": False},
    "software": {"router": {}, "mooncake": {"needed": False}},
    "model": {"source": "tiny"},
}


def wheel(name, text, requires=""):
    """The content of a wheel of version 1 with one module."""
    info = f"{name}-1.dist-info"
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in [*files, f"{info}/RECORD"])
    with io.BytesIO() as stream:
        with zipfile.ZipFile(stream, "w") as archive:
            for each, content in files.items():
                archive.writestr(each, content)
        return stream.getvalue()


def sdist():
    """A source distribution that needs the package helper to be built."""
    files = {
        "pyproject.toml": '[build-system]\nrequires = ["helper"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "built"\nversion = "1"\n',
        "backend.py": BACKEND,
        "PKG-INFO": "Metadata-Version: 2.2\nName: built\nVersion: 1\n",
    }
    with io.BytesIO() as stream:
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(f"built-1/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content.encode()))
        return stream.getvalue()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """(address of an index in the format of PEP 503, paths that were asked)."""
    folder, asked = tmp_path_factory.mktemp("index"), []
    contents = {
        "asked-1-py3-none-any.whl": wheel("asked", "import needed", "Requires-Dist: needed\nRequires-Dist: built\n"),
        "needed-1-py3-none-any.whl": wheel("needed", ""),
        "helper-1-py3-none-any.whl": wheel("helper", "VALUE = 7"),
        "built-1.tar.gz": sdist(),
    }
    for name, content in contents.items():
        place = folder / "simple" / name.partition("-")[0]
        place.mkdir(parents=True)
        (place / name).write_bytes(content)
        link = f'<a href="{name}#sha256={hashlib.sha256(content).hexdigest()}">{name}</a>'
        (place / "index.html").write_text(link)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple", asked
    server.shutdown()
    server.server_close()


def run(folder, tasks, *within, **variables):
    """Run tasks on localhost with the plugins of this tree."""
    book = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "name": "Test", "tasks": tasks}]
    (folder / "book.yml").write_text(json.dumps(book))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_HOME": str(folder.parent / "ansible"),  # keeps uv for all tests
    }
    given = json.dumps({"ansible_python_interpreter": sys.executable, **variables})
    argv = [*within, str(PROGRAM), "-i", "localhost,", "-e", given, str(folder / "book.yml")]
    done = subprocess.run(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return Run(done.returncode, done.stdout)


def wish(folder, url):
    """Options of python_venv for the environment of this test."""
    return {
        "path": str(folder / "venvs" / "e"),
        "layer": "base",
        "requirements": ["asked==1"],
        "imports": ["asked", "built"],
        "no_binary": ["built"],
        "index_url": url,
    }


def made(folder, url, name="bundle", given=None, **options):
    """Make a bundle."""
    hosts = {"localhost": {"platform": given or HERE, "environments": [wish(folder, url)]}}
    task = {"path": str(folder / name), "plan": PLAN, "hosts": hosts, "ansible": False, **options}
    return run(folder, [{"name": "Make", "ascend.inference.bundle": task}])


@pytest.fixture(scope="module")
def bundle(index, tmp_path_factory):
    """(working folder, address of the index, run that made the bundle in it)."""
    folder = tmp_path_factory.mktemp("work")
    return folder, index[0], made(folder, index[0])


def installed(folder, *within, bundle="bundle", attacks=(), url=""):
    """Install the environment from a bundle, as the playbook prepare does.

    ``attacks``: commands after the verification and after the comparison. ``url``: address of a server of the rack.
    """
    cache, path = str(folder / "cache"), str(folder / bundle)
    files = {"path": path, "directory": cache, "manifest_sha256": "{{ verified.manifest_sha256 }}", "url": url}
    environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": cache}
    host = {key: f"{{{{ compared.{key} }}}}" for key in ("platform", "directory")}
    host["manifest_sha256"] = files["manifest_sha256"]
    venv = {**wish(folder, "http://index.invalid/simple"), "tools": str(folder / "venvs" / "tools")}
    tasks = [
        {
            "name": "Verify",
            "ascend.inference.bundle": {"path": path, "state": "verified"},
            "register": "verified",
        },
        *({"name": "Attack", "ansible.builtin.command": {"argv": attack}} for attack in attacks[:1]),
        {
            "name": "Compare",
            "ascend.inference.bundle_files": {**files, "state": "compared"},
            "register": "compared",
        },
        *({"name": "Attack", "ansible.builtin.command": {"argv": attack}} for attack in attacks[1:]),
        {"name": "Record", "ansible.builtin.set_fact": {"__inference_bundle_host": host}},
        {"name": "Copy", "ascend.inference.bundle_files": files},
        {"name": "Install", "ascend.inference.python_venv": venv, "environment": environment},
    ]
    return run(folder, tasks, *within, inference_bundle=path)


def test_a_bundle_has_what_builds_need_and_is_fetched_once(bundle):
    folder, url, first = bundle
    assert first.code == 0 and first.changed == 1, first.output
    data = json.loads((folder / "bundle" / "manifest.json").read_text())
    names = {entry["name"].partition("-")[0] for entry in data["items"]}
    assert names == {"asked", "needed", "built", "helper", "uv", "e"}
    again = made(folder, url)
    assert again.code == 0 and again.changed == 0 and "fetched now: 0 files" in again.output, again.output
    check = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder / "bundle", check=False)
    assert check.returncode == 0


@pytest.mark.skipif(not shutil.which("minisign"), reason="minisign is not installed")
def test_only_a_bundle_with_the_signature_of_the_key_is_accepted(bundle, tmp_path):
    """With the real minisign: a wrong key, changed checksums and a missing signature are refused."""
    for name in ("us", "them"):
        argv = ["minisign", "-G", "-W", "-p", str(tmp_path / f"{name}.pub"), "-s", str(tmp_path / f"{name}.sec")]
        subprocess.run(argv, check=True, capture_output=True)
    shutil.copytree(bundle[0] / "bundle", tmp_path / "bundle")
    folder, us = str(tmp_path / "bundle"), (tmp_path / "us.pub").read_text().splitlines()[1]
    with pytest.raises(
        BundleError, match=r"no signature SHA256SUMS.minisig.*inference_bundle_minisign_public_key asks"
    ):
        signature.verify_minisign(folder, us)
    done = made(tmp_path, bundle[1], minisign_key=str(tmp_path / "us.sec"))
    assert done.code == 0 and "fetched now: 0 files" in done.output, done.output
    for key in (us, str(tmp_path / "us.pub")):
        assert signature.verify_minisign(folder, key) == (tmp_path / "bundle/SHA256SUMS").read_text()
    task = {"path": folder, "state": "verified"}
    keys = [{"minisign_public_key": str(tmp_path / f"{name}.pub")} for name in ("us", "them")]
    tasks = [{"name": "Verify", "ascend.inference.bundle": {**task, **key}} for key in keys]
    done = run(tmp_path, [{**tasks[0], "register": "first", "failed_when": "not first.signed"}, tasks[1]])
    assert done.code != 0 and "ok=1 " in done.output and "signature of the bundle failed" in done.text, done.output
    sums = tmp_path / "bundle/SHA256SUMS"
    sums.write_text(sums.read_text().replace("0", "1", 1))
    with pytest.raises(BundleError, match="signature of the bundle failed"):
        signature.verify_minisign(folder, us)
    with pytest.raises(BundleError, match="needs no password"):
        signature.sign_minisign(folder, str(tmp_path / "absent.sec"))


SWAP = """
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
manifest = folder / "manifest.json"
old, text = hashlib.sha256(manifest.read_bytes()).hexdigest(), manifest.read_text()
entry = next(each for each in json.loads(text)["items"] if each["name"].startswith("needed-"))
content = (folder / entry["path"]).read_bytes()
evil = content[:-1] + bytes([content[-1] ^ 1])
sums = (folder / "SHA256SUMS").read_text()
(folder / entry["path"]).write_bytes(evil)
if len(sys.argv) > 2:
    manifest.write_text(text.replace(entry["sha256"], hashlib.sha256(evil).hexdigest()))
    sums = sums.replace(entry["sha256"], hashlib.sha256(evil).hexdigest())
    (folder / "SHA256SUMS").write_text(sums.replace(old, hashlib.sha256(manifest.read_bytes()).hexdigest()))
"""


@pytest.mark.parametrize("whole", [True, False], ids=["with its manifest", "the file alone"])
def test_what_is_swapped_after_the_verification_reaches_no_host(bundle, tmp_path, whole):
    shutil.copytree(bundle[0] / "bundle", tmp_path / "bundle")
    swap = [sys.executable, "-c", SWAP, str(tmp_path / "bundle"), *(["whole"] if whole else [])]
    done = installed(tmp_path, attacks=[swap] if whole else [["true"], swap])
    assert done.code != 0 and ("[bundle_swapped]" if whole else "after the copy") in done.text, done.output
    assert not (tmp_path / "venvs").exists() and not list(tmp_path.glob("cache/needed-*"))


@pytest.mark.long
def test_a_newer_bundle_leaves_out_what_the_older_one_has(bundle):
    folder, url, _run = bundle
    newer = made(folder, url, "newer", base=str(folder / "bundle"))
    assert newer.code == 0 and "fetched now: 0 files" in newer.output and not (folder / "newer" / "blobs").exists()
    older = hashlib.sha256((folder / "bundle/manifest.json").read_bytes()).hexdigest()
    assert json.loads((folder / "newer/manifest.json").read_text())["base"] == older


@pytest.mark.long
@pytest.mark.skipif(
    subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode != 0,
    reason="this user cannot make a network namespace",
)
def test_a_host_without_a_route_installs_from_it_once(bundle):
    folder = bundle[0]
    shutil.rmtree(folder / "venvs", ignore_errors=True)
    done = installed(folder, *OFFLINE)
    assert done.code == 0, done.output
    python = folder / "venvs" / "e" / "bin" / "python"
    helped = subprocess.run([str(python), "-c", "import built; print(built.HELPED)"], capture_output=True, check=True)
    assert helped.stdout == b"7\n"
    again = installed(folder, *OFFLINE)
    assert again.code == 0 and again.changed == 0, again.output


@pytest.fixture
def rack(bundle, tmp_path):
    """(folder of the bundle on the server of a rack, address of the server, paths that were asked)."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    folder = tmp_path / "server"
    shutil.copytree(bundle[0] / "bundle", folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.long
def test_a_host_gets_its_files_from_the_server_of_its_rack_once(bundle, tmp_path, rack):
    shutil.copytree(bundle[0] / "bundle", tmp_path / "bundle")
    done = installed(tmp_path, url=rack[1])
    assert done.code == 0 and any("/needed-1-py3-none-any.whl" in path for path in rack[2]), done.output
    rack[2].clear()
    again = installed(tmp_path, url=rack[1])
    assert again.code == 0 and again.changed == 0 and rack[2] == [], again.output


@pytest.mark.long
def test_another_bundle_on_the_server_is_named_before_anything_is_copied(bundle, tmp_path, rack):
    shutil.copytree(bundle[0] / "bundle", tmp_path / "bundle")
    (rack[0] / "manifest.json").write_text("{}")
    done = installed(tmp_path, url=rack[1])
    assert done.code != 0 and "[bundle_server]" in done.text and "another bundle" in done.text, done.output
    assert not (tmp_path / "cache").exists() and not (tmp_path / "venvs").exists()


@pytest.mark.long
def test_damage_is_named_before_anything_is_copied(bundle, tmp_path):
    folder = bundle[0]
    shutil.copytree(folder / "bundle", tmp_path / "bundle")
    (victim,) = (tmp_path / "bundle" / "blobs").glob("*/needed-1-py3-none-any.whl")
    content = victim.read_bytes()
    victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    done = installed(tmp_path)
    assert done.code != 0 and "[bundle_file_changed]" in done.text and "wheel needed-1-py3-none-any.whl" in done.text
    victim.write_bytes(content)
    pathlib.Path(tmp_path / "bundle" / "SHA256SUMS").unlink()
    assert "[bundle_sums]" in installed(tmp_path).text
    assert not (tmp_path / "cache").exists()


@pytest.mark.long
def test_a_host_of_another_machine_gets_nothing(bundle, tmp_path):
    other = {**HERE, "machine": "aarch64" if HERE["machine"] == "x86_64" else "x86_64"}
    assert made(tmp_path, bundle[1], given=other).code == 0
    done = installed(tmp_path)
    assert done.code != 0 and "[bundle_platform]" in done.text and other["machine"] in done.text
    assert not (tmp_path / "cache").exists() and not (tmp_path / "venvs").exists()


@pytest.mark.long
def test_what_cannot_be_had_is_named_and_no_bundle_is_made(bundle, tmp_path):
    hosts = {
        "localhost": {"platform": HERE, "environments": [{**wish(tmp_path, bundle[1]), "requirements": ["absent==1"]}]}
    }
    task = {"path": str(tmp_path / "bundle"), "plan": PLAN, "hosts": hosts, "ansible": False}
    done = run(tmp_path, [{"name": "Make", "ascend.inference.bundle": task}])
    assert done.code != 0 and "[bundle_unresolved]" in done.text and "absent" in done.text
    assert not (tmp_path / "bundle").exists()


@pytest.mark.long
def test_a_controller_without_a_route_gets_ansible_and_the_collections(bundle, tmp_path):
    folder, url, _run = bundle
    done = made(tmp_path, url, ansible=True)
    assert done.code == 0, done.output
    assert "collection ascend.inference: it is not installed on this machine, or only as a clone" in done.text
    script = ["sh", str(tmp_path / "bundle" / "install.sh"), str(tmp_path / "controller")]
    environment = {**os.environ, "PYTHON": sys.executable}
    first = subprocess.run([*OFFLINE, *script], capture_output=True, text=True, check=False, env=environment)
    assert first.returncode == 0, first.stdout + first.stderr
    ran = subprocess.run(
        [str(tmp_path / "controller" / "bin" / "ansible"), "--version"], capture_output=True, check=True
    )
    assert b"ansible [core" in ran.stdout
    assert (
        tmp_path / "controller" / "collections" / "ansible_collections" / "ansible" / "posix" / "MANIFEST.json"
    ).exists()
    again = subprocess.run(script, capture_output=True, text=True, check=False, env=environment)
    assert again.returncode == 1 and "exists. Fix" in again.stderr
