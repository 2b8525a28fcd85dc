# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a delivery that ends at its folder says."""

from __future__ import annotations

import errno

import pytest
from ansible_collections.ascend.inference.plugins.modules.model_delivery import reason


@pytest.mark.parametrize(
    ("error", "fixed"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/models"), True),
        (OSError(errno.EROFS, "Read-only file system", "/models"), True),
        (OSError("config.json: the server answers 404 Not Found"), False),
        (ValueError("no"), False),
    ],
)
def test_a_folder_that_the_user_cannot_write_is_named_with_the_fix(error, fixed):
    text = reason(error, "/models/m")
    assert str(error) in text
    assert (text.startswith("/models/m cannot be written") and "model_origin on the controller" in text) == fixed
