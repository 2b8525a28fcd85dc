# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of Volcano by the images of the cluster; what is not known is said."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import Refused
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.scheduler import scheduler_warnings


class Cluster:
    def __init__(self, *images, code=0):
        self.images, self.code = images, code

    def everywhere(self, kind):
        assert kind == "Deployment"
        if self.code:
            raise Refused(self.code, "Forbidden", "no")
        return [{"spec": {"template": {"spec": {"containers": [{"image": image}]}}}} for image in self.images]


def warnings(*images, scheduler="volcano", code=0):
    return scheduler_warnings(Cluster(*images, code=code), {"kubernetes": {"scheduler": scheduler}})


@pytest.mark.parametrize(
    ("images", "text"),
    [
        (["registry.example:5000/a/volcano-scheduler:1.20.15"], ""),
        (["a/volcano-scheduler:1.21"], ""),
        (["a/volcano-scheduler:v1.20.15-r1@sha256:00"], ""),
        (["volcanosh/vc-scheduler:v1.14.0"], ""),
        (["volcanosh/vc-scheduler:v1.13.9"], "Volcano is v1.13.9 .* 1.14 or later"),
        (["other/x:1", "a/volcano-scheduler:1.20.14"], "Volcano is 1.20.14 .* 1.20.15 or later"),
        (["a/volcano-scheduler:1.9.15"], "Volcano is 1.9.15"),
        (["a/volcano-scheduler@sha256:00"], "does not tell the version"),
        (["a/volcano-scheduler:latest"], "does not tell the version"),
        (["registry.example:5000/volcano-scheduler"], "does not tell the version"),
        (["other/x:1", ""], "stay pending"),
        ([], "stay pending"),
    ],
)
def test_the_version_is_judged(images, text):
    found = warnings(*images)
    assert len(found) == bool(text)
    assert re.search(text, " ".join(found))


def test_what_may_not_be_read_is_said():
    assert "was not checked" in warnings(code=403)[0]
    with pytest.raises(Refused):
        warnings(code=500)


def test_another_scheduler_is_not_judged():
    assert warnings("a/volcano-scheduler:1.0.0", scheduler="default-scheduler") == []
