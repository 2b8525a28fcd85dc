# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a model's folder."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.plugins.modules.model_delivery_info import gather

CONTENT = b"{}"


@pytest.fixture(name="model")
def fixture_model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes(CONTENT)
    return folder


def test_a_model_without_a_record_is_not_taken_for_one_that_was_compared(model):
    (text,) = gather(str(model), True)["differences"]
    assert "has no record" in text
    assert gather(str(model), False)["differences"] == []


def test_with_a_record_each_byte_counts(model):
    sha256 = listing.sha256_of(str(model / "config.json"))[0]
    files = [{"name": "config.json", "size": len(CONTENT), "sha256": sha256}]
    (model / listing.RECORD).write_text(listing.text("modelscope:o/m", "", files), encoding="utf-8")
    assert gather(str(model), True)["differences"] == []
    (model / "config.json").write_bytes(b"[]")
    assert gather(str(model), False)["differences"] == []
    assert gather(str(model), True)["differences"] == ["config.json has another content"]
