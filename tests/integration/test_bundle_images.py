# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image of a real registry is bundled by skopeo, and loaded into a real engine after the registry is gone."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import images
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import PlannedImage
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError, Store
from ansible_collections.ascend.inference.tests.integration.test_bundle import HERE, run

PLAN = {
    "runtime": "docker",
    "runtime_facts": {"contained": True},
    "hosts": [{"name": "localhost"}],
    "engine": "vllm_ascend",
    "engine_facts": {"npus": True},
    "software": {"router": {}, "mooncake": {}},
    "model": {"source": "tiny"},
}
CONFIG = """
version: 0.1
storage: {filesystem: {rootdir: "@FOLDER@/registry"}}
http: {addr: "127.0.0.1:@PORT@"}
"""


def answers():
    """Whether a Docker engine, skopeo and a registry are available; make integration installs them as root on Debian."""
    programs = [shutil.which(name) for name in ("docker", "skopeo", "docker-registry")]
    return all(programs) and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not answers(), reason="no Docker engine, skopeo and docker-registry here")


def docker(*arguments, **options):
    done = subprocess.run(["docker", *arguments], capture_output=True, check=True, **options)
    return done.stdout.decode().strip()


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """(address of a registry without TLS, its process). skopeo accepts it by its configuration, as at a site."""
    address = f"127.0.0.1:{free_port()}"
    config = tmp_path / "config.yml"
    config.write_text(CONFIG.replace("@FOLDER@", str(tmp_path)).replace("@PORT@", address.rpartition(":")[2]))
    settings = tmp_path / "home" / ".config" / "containers" / "registries.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with subprocess.Popen(
        ["docker-registry", "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        for _attempt in range(100):
            try:
                urllib.request.urlopen(f"http://{address}/v2/", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address, process
        process.kill()


@pytest.fixture
def image(registry, tmp_path):
    """(name, id) of an image of two layers in the registry, which the engine does not have."""
    name, folder = f"{registry[0]}/ascend/tiny:v1", tmp_path / "context"
    folder.mkdir()
    (folder / "one").write_bytes(os.urandom(200000))
    (folder / "two").write_bytes(os.urandom(1000))
    (folder / "Dockerfile").write_text('FROM scratch\nCOPY one /\nCOPY two /\nCMD ["/one"]\n')
    try:
        docker("build", "--tag", name, str(folder), env={**os.environ, "DOCKER_BUILDKIT": "0"})
        found = docker("image", "inspect", "--format={{.Id}}", name)
        docker("push", name)
        docker("rmi", "--force", name)
        yield name, found
    finally:
        subprocess.run(["docker", "rmi", "--force", name], capture_output=True, check=False)


def plan(name):
    service = {"name": "prefill-0", "host": "localhost", "kind": "prefill", "container": {"image": name}}
    return {**PLAN, "services": [service]}


def made(folder, name, machine=HERE["machine"], bundle="bundle", **options):
    hosts = {"localhost": {"platform": {"machine": machine}}}
    task = {"path": str(folder / bundle), "plan": plan(name), "hosts": hosts, "ansible": False, **options}
    return run(folder, [{"name": "Make", "ascend.inference.bundle": task}])


def installed(folder, name, bundle="bundle"):
    """Verify, copy and load, as the playbook prepare does."""
    path = str(folder / bundle)
    files = {"path": path, "directory": str(folder / "cache"), "images": [name]}
    files["manifest_sha256"] = "{{ verified.manifest_sha256 }}"
    role = {
        "container_runtime_images": [name],
        "container_runtime_bundle": {"directory": files["directory"], "images": "{{ copied.images }}"},
        "container_runtime_record": str(folder / "record" / "images.json"),
    }
    tasks = [
        {
            "name": "Verify",
            "ascend.inference.bundle": {"path": files["path"], "state": "verified"},
            "register": "verified",
        },
        {"name": "Compare", "ascend.inference.bundle_files": {**files, "state": "compared"}},
        {"name": "Copy", "ascend.inference.bundle_files": files, "register": "copied"},
        {
            "name": "Provide",
            "ansible.builtin.include_role": {"name": "ascend.inference.container_runtime"},
            "vars": role,
        },
    ]
    return run(folder, tasks)


def test_an_image_is_bundled_and_loaded_without_its_registry(registry, image, tmp_path):
    (address, process), (name, id_) = registry, image
    first = made(tmp_path, name)
    assert first.code == 0 and first.changed == 1, first.output
    assert f"{name} ({address}, sha256:" in first.output and "1 images: 0.2 MiB" in first.output
    (entry,) = json.loads((tmp_path / "bundle" / "manifest.json").read_text())["images"]
    blobs = tmp_path / "bundle" / "images" / "blobs" / "sha256"
    assert entry["config"] == id_ and {path.name for path in blobs.iterdir()} == {
        each.partition(":")[2] for each in entry["parts"]
    }
    check = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "bundle", check=False)
    assert check.returncode == 0
    raw = subprocess.run(["skopeo", "inspect", "--raw", f"docker://{name}"], capture_output=True, check=True).stdout
    assert "sha256:" + hashlib.sha256(raw).hexdigest() == entry["digest"]

    process.kill()
    process.wait()
    done = installed(tmp_path, name)
    assert done.code == 0 and docker("image", "inspect", "--format={{.Id}}", name) == id_, done.output


class Slow(http.server.BaseHTTPRequestHandler):
    """Forwards to the registry ``server.behind``; of each answer of more than 100,000 bytes it sends a few bytes a second."""

    def do_GET(self):
        # skopeo names each type of manifest that it accepts in a header of its own
        headers = {name: ", ".join(self.headers.get_all(name)) for name in self.headers}
        try:
            request = urllib.request.Request(self.server.behind + self.path, headers=headers, method=self.command)
            answer = urllib.request.urlopen(request, timeout=10)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
        with contextlib.suppress(OSError):  # the client may leave
            while len(body) > 100_000:
                self.wfile.write(body[:10])
                body = body[10:]
                time.sleep(0.1)
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *arguments):
        """Disable logging."""


def processes(text):
    """Command lines of running processes that contain a text."""
    return subprocess.run(["pgrep", "--full", "--list-full", text], capture_output=True, text=True, check=False).stdout


def test_a_registry_that_sends_too_slowly_is_given_up_and_what_came_is_kept(registry, image, tmp_path, monkeypatch):
    (address, _process), (name, _id) = registry, image
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.behind, server.daemon_threads = f"http://{address}", True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        slow = f"127.0.0.1:{server.server_port}"
        with open(tmp_path / "home/.config/containers/registries.conf", "a") as settings:
            settings.write(f'[[registry]]\nlocation = "{slow}"\ninsecure = true\n')
        machine, source, store = HERE["machine"], images.Registry(), Store(str(tmp_path / "bundle"))
        wanted = {each: source.find(PlannedImage(name.replace(address, each), machine)) for each in (slow, address)}
        large, small = sorted(wanted[slow].layers, key=wanted[slow].layers.get, reverse=True)
        monkeypatch.setattr(images, "COPY", 4)
        begin = time.monotonic()
        with pytest.raises(FetchError, match="skopeo copy did not end within 5 s. Fix: .*it goes on with the rest"):
            images.fetch(wanted[slow], source, store)
        assert time.monotonic() - begin < 20 and processes(f"skopeo copy .*{slow}") == ""
        blobs = tmp_path / "bundle/images/blobs/sha256"
        assert (blobs / small.partition(":")[2]).exists() and not (blobs / large.partition(":")[2]).exists()
        images.fetch(wanted[address], source, store)
        assert store.fetched_bytes == wanted[address].layers[large] and (blobs / large.partition(":")[2]).exists()
        server.shutdown()


@pytest.mark.long
def test_a_second_run_fetches_copies_and_loads_nothing(image, tmp_path):
    name = image[0]
    assert made(tmp_path, name).code == 0 and installed(tmp_path, name).code == 0
    again = made(tmp_path, name)
    assert again.code == 0 and again.changed == 0 and "fetched now: 0 files" in again.output, again.output
    shutil.rmtree(tmp_path / "cache")  # by hand, when it is not needed
    again = installed(tmp_path, name)
    assert again.code == 0 and again.changed == 0 and not (tmp_path / "cache").exists(), again.output


@pytest.mark.long
def test_another_image_of_the_name_is_replaced_and_what_does_not_fit_is_named(image, tmp_path):
    name, id_ = image
    assert made(tmp_path, name).code == 0
    other = docker("import", "-", name, input=subprocess.run(["tar", "-c", "-T", "/dev/null"], capture_output=True, check=True).stdout)  # fmt: skip
    assert other != id_ and installed(tmp_path, name).code == 0
    assert docker("image", "inspect", "--format={{.Id}}", name) == id_
    docker("rmi", "--force", name, other)

    machine = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
    wrong = made(tmp_path, name, machine, "other")
    assert wrong.code != 0 and "[bundle_image]" in wrong.text and "it would not start there" in wrong.text
    absent = made(tmp_path, name + "-absent", bundle="other")
    assert absent.code != 0 and "[bundle_image]" in absent.text and not (tmp_path / "other").exists()
    stale = installed(tmp_path, name + "-later")
    assert stale.code != 0 and "[bundle_stale]" in stale.text


@pytest.mark.long
def test_an_image_by_digest_is_loaded_under_a_tag(image, tmp_path):
    name, id_ = image
    raw = subprocess.run(["skopeo", "inspect", "--raw", f"docker://{name}"], capture_output=True, check=True).stdout
    digest, path = "sha256:" + hashlib.sha256(raw).hexdigest(), name.rpartition(":")[0]
    assert made(tmp_path, f"{path}@{digest}").code == 0
    local = f"{path}:{digest.replace(':', '-')}"
    try:
        done = installed(tmp_path, f"{path}@{digest}")
        assert done.code == 0 and docker("image", "inspect", "--format={{.Id}}", local) == id_, done.output
    finally:
        subprocess.run(["docker", "rmi", "--force", local], capture_output=True, check=False)
