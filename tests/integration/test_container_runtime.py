# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role container_runtime: archives with a real engine if one is available, pulls with a simulated docker that records its arguments."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import uuid

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play

# A simulated docker: images are lines of a file, and each command is logged.
PROGRAM = """#!/bin/sh
echo "$*" >> "@FOLDER@/log"
case "$1 $2" in
"version "*) echo 27.0 ;;
"image inspect")
    for last; do :; done
    grep -qxF "$last" "@FOLDER@/images" || exit 1
    echo '["'"$last"'@sha256:abc"] sha256:def' ;;
"pull "*) echo "$3" >> "@FOLDER@/images" ;;
"load --quiet")
    stat -c %u "$4" "$(dirname "$4")" > "@FOLDER@/owners"
    cat "$4" >> "@FOLDER@/images"
    [ ! -e "@FOLDER@/broken" ] ;;
"tag "*) echo "$3" >> "@FOLDER@/images" ;;
*) exit 9 ;;
esac
"""
IMAGE = "quay.io/ascend/vllm-ascend:v0.23.0-a3"


def answers():
    """Whether a Docker engine is available."""
    docker = shutil.which("docker")
    return bool(docker) and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0


@pytest.fixture
def variables(tmp_path):
    """Variables that select the simulated program."""
    (tmp_path / "docker").write_text(PROGRAM.replace("@FOLDER@", str(tmp_path)))
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "images").write_text("")
    return {
        "container_runtime_command": str(tmp_path / "docker"),
        "container_runtime_images": [IMAGE],
        "container_runtime_record": str(tmp_path / "record/images.json"),
    }


def pulls(tmp_path):
    return [line for line in (tmp_path / "log").read_text().splitlines() if line.startswith(("pull", "tag"))]


def test_images_are_pulled_and_recorded(tmp_path, variables):
    done = play(tmp_path, "container_runtime", **variables)
    assert done.code == 0 and done.changed > 0, done.output
    assert pulls(tmp_path) == [f"pull --quiet {IMAGE}"]
    assert "sha256:abc" in json.loads((tmp_path / "record/images.json").read_text())[IMAGE]


def test_mirrored_images_get_the_planned_name_and_are_pulled_once(tmp_path, variables):
    for changed in (True, False):
        done = play(tmp_path, "container_runtime", container_runtime_mirror="mirror.example.org:5000/quay", **variables)
        assert (done.code, done.changed > 0) == (0, changed), done.output
    theirs = "mirror.example.org:5000/quay/ascend/vllm-ascend:v0.23.0-a3"
    assert pulls(tmp_path) == [f"pull --quiet {theirs}", f"tag {theirs} {IMAGE}"]


def test_digest_and_mirror_exclude_each_other(tmp_path, variables):
    variables["container_runtime_images"] = ["quay.io/ascend/vllm-ascend@sha256:" + 64 * "a"]
    done = play(tmp_path, "container_runtime", container_runtime_mirror="mirror.example.org", **variables)
    assert done.code != 0 and "daemon.json" in done.text
    assert pulls(tmp_path) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("broken", [False, pytest.param(True, marks=pytest.mark.long)])
def test_no_other_user_can_replace_an_archive_before_it_is_loaded(tmp_path, variables, broken):
    nobody, public = pwd.getpwnam("nobody").pw_uid, tmp_path / "public"
    public.mkdir()
    public.chmod(0o1777)
    planted = public / "ascend-inference-images.tar"
    planted.write_text("of nobody")
    os.chown(planted, nobody, -1)
    (tmp_path / "images.tar").write_text(IMAGE + "\n")
    if broken:
        (tmp_path / "broken").touch()
    variables.update(container_runtime_archive=str(tmp_path / "images.tar"), container_runtime_temporary=str(public))
    done = play(tmp_path, "container_runtime", **variables)
    assert (done.code != 0) == broken, done.output
    assert (tmp_path / "owners").read_text().split() == ["0", "0"]
    assert list(public.iterdir()) == [planted] and planted.read_text() == "of nobody"


@pytest.fixture
def archive(tmp_path):
    """An archive with one image that the engine does not have -> the image's name and the variables that load it."""
    name = f"localhost/ascend-inference-test:{uuid.uuid4().hex[:8]}"
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/file").write_text("nothing\n")
    tar = subprocess.run(["tar", "-C", str(tmp_path / "empty"), "-c", "."], capture_output=True, check=True).stdout
    subprocess.run(["docker", "import", "-", name], input=tar, capture_output=True, check=True)
    try:
        subprocess.run(["docker", "save", "--output", str(tmp_path / "images.tar"), name], check=True)
        subprocess.run(["docker", "rmi", name], capture_output=True, check=True)
        variables = {
            "container_runtime_images": [name],
            "container_runtime_archive": str(tmp_path / "images.tar"),
            "container_runtime_record": str(tmp_path / "images.json"),
            "container_runtime_temporary": str(tmp_path),
        }
        yield name, variables
    finally:
        subprocess.run(["docker", "rmi", name], capture_output=True, check=False)


@pytest.mark.long  # molecule/docker_pd loads an archive, twice
@pytest.mark.skipif(not answers(), reason="no Docker engine answers here")
def test_an_archive_is_loaded_once(tmp_path, archive):
    for changed in (True, False):
        done = play(tmp_path, "container_runtime", **archive[1])
        assert (done.code, done.changed > 0) == (0, changed), done.output


@pytest.mark.skipif(not answers(), reason="no Docker engine answers here")
def test_an_archive_without_the_image_is_reported(tmp_path, archive):
    name, variables = archive
    done = play(tmp_path, "container_runtime", **{**variables, "container_runtime_images": [name + "-other"]})
    assert done.code != 0 and "does not contain" in done.text and name in done.text
