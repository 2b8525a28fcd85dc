# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of CANN packages follow version, hardware and machine."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host.ascend_software import package_of
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.cann import cann_packages, missing_packages


@pytest.mark.parametrize(
    ("version", "hardware", "kernels"),
    [
        ("8.2.RC1", "a2", "Ascend-cann-kernels-910b_8.2.RC1_linux-aarch64.run"),
        ("8.2.RC1", "a3", "Atlas-A3-cann-kernels_8.2.RC1_linux-aarch64.run"),
        ("8.5.0", "a2", "Ascend-cann-910b-ops_8.5.0_linux-aarch64.run"),
        ("9.1.0", "a3", "Ascend-cann-A3-ops_9.1.0_linux-aarch64.run"),
    ],
)
def test_names(version, hardware, kernels):
    names = cann_packages(version, hardware, "aarch64")
    assert names[1] == kernels
    assert [package_of(name).kind for name in names] == ["toolkit", "kernels", "nnal"]
    assert package_of(kernels).hardware == hardware


def test_unknown_hardware_is_refused():
    with pytest.raises(ValueError, match="known: "):
        cann_packages("9.1.0", "b7", "aarch64")


def test_a_host_lacks_what_is_not_recorded_or_was_interrupted():
    names = cann_packages("9.1.0", "a3", "aarch64")
    toolkit, ops, nnal = names
    version = {"9.1.0": {"path": "/x", "arch": "aarch64"}}
    whole = {"toolkit": version, "kernels": version, "nnal": version}
    assert missing_packages(names, {"installed": whole, "interrupted": []}) == []
    assert missing_packages(names, {"installed": whole, "interrupted": [ops, "another.run"]}) == [ops]
    assert missing_packages(names, {"installed": {**whole, "nnal": {"9.0.0": {}}}, "interrupted": []}) == [nnal]
    assert missing_packages(names[::-1], {"installed": dict.fromkeys(whole, {}), "interrupted": []}) == names
    assert missing_packages(names, {}) == names  # nothing is known
