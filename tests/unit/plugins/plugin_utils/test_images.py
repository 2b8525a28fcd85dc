# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One tag is one image on all hosts, whatever way it came."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.images import image_differences
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules import runtime

NAME = "quay.io/ascend/vllm-ascend:v0.23.0-a3"
PULLED = '["quay.io/ascend/vllm-ascend@sha256:aa"] sha256:11 arm64'


def compared(*texts):
    return image_differences(
        {f"node{number}": {"results": [{"item": NAME, "stdout": text}]} for number, text in enumerate(texts, 1)}
    )


@pytest.mark.parametrize(
    "other",
    [
        PULLED,
        '["mirror.example/vllm-ascend@sha256:aa"] sha256:22 arm64',
        "[] sha256:11 arm64",
        "null sha256:11",
        "[] sha256:33 amd64",
        "",
    ],
    ids=["equal", "another store", "from an archive", "no digests", "another architecture", "not inspected"],
)
def test_the_same_image(other):
    assert compared(PULLED, other) == []


def test_a_tag_that_was_pushed_again_is_found():
    (text,) = compared(PULLED, PULLED, '["quay.io/ascend/vllm-ascend@sha256:bb"] sha256:22 arm64')
    assert text == f"{NAME} is not the same image on all hosts: sha256:11 on node1, node2; sha256:22 on node3"


def test_an_image_of_one_host_hides_no_difference_of_others():
    evil = '["q@sha256:aa", "q@sha256:bb"] sha256:99 arm64'
    (text,) = compared(evil, PULLED, '["q@sha256:bb"] sha256:22 arm64')
    assert text.endswith("sha256:99 on node1, node2; sha256:22 on node3")


@pytest.mark.parametrize("odd", ["x", "{", "[1] sha256:11", "7", '{"a": 1}', "[" * 100_000])
def test_what_is_no_image_is_of_its_host(odd):
    (text,) = compared(PULLED, odd, PULLED)
    assert text == f"{NAME}: node2 answered something else than an image"


def test_each_architecture_is_compared():
    (text,) = compared(PULLED, "[] sha256:33 amd64", "[] sha256:44 amd64")
    assert text.endswith("sha256:33 on node2; sha256:44 on node3")


def test_nothing_was_inspected_in_check_mode():
    assert image_differences({"node1": {}, "node2": {"skipped": True}}) == []


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("quay.io/ascend/vllm-ascend:v0.23.0-a3", ""),
        ("quay.io/ascend/vllm-ascend:main-a3", "main-a3"),
        ("quay.io/ascend/vllm-ascend:nightly", "nightly"),
        ("quay.io/ascend/vllm-ascend:nightly-2026", "nightly-2026"),
        ("vllm-ascend:latest", "latest"),
        ("vllm-ascend", "latest"),
        ("registry.local:5000/vllm-ascend", "latest"),  # a port is no tag
        ("registry.local:5000/vllm-ascend:v0.23.0", ""),
        ("vllm-ascend:main@sha256:" + 64 * "a", ""),
    ],
)
def test_a_tag_that_names_other_images_over_time(image, tag):
    assert runtime._moving_tag(image) == tag


def test_a_difference_names_four_hosts_of_an_image_and_the_start_of_its_id():
    first, second = (f"[] sha256:{12 * digit}00 arm64" for digit in "12")
    (text,) = compared(*5 * [first], second)
    assert text.endswith(f": sha256:{12 * '1'} on node1, node2, node3, node4; sha256:{12 * '2'} on node6")


def test_a_host_with_the_digests_of_two_images_does_not_make_them_one():
    """A host answers what it likes, and images of others still differ, whatever their order."""
    both = '["quay.io/ascend/vllm-ascend@sha256:aa", "quay.io/ascend/vllm-ascend@sha256:bb"] sha256:33 arm64'
    other = '["quay.io/ascend/vllm-ascend@sha256:bb"] sha256:22 arm64'
    assert all(compared(*texts) for texts in itertools.permutations((PULLED, other, both)))
