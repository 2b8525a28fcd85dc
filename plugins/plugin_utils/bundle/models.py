# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Models in a bundle: folders as the role model fetches them, each with its record, from which a controller without internet hands them out."""

from __future__ import annotations

import os
import typing as t

from ...module_utils.files import listing
from . import manifest
from .store import sha256_of


def items(bundle: str, names: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """The manifest's items of models that were fetched into the bundle. Raises ``BundleError`` for one that is not whole."""
    found = []
    for name in names:
        folder = os.path.join(bundle, manifest.MODELS, name)
        record = listing.read(folder)
        wrong = listing.differences(folder, record["files"]) if record else ["it has no record"]
        if wrong:
            raise manifest.BundleError(
                f"{folder} is not a whole model: {'; '.join(wrong[:5])}. Fix: move it away, and run the playbook bundle again with inference_bundle_model"
            )
        place = os.path.join(folder, listing.RECORD)
        own = {"name": listing.RECORD, "size": os.path.getsize(place), "sha256": sha256_of(place)}
        for each in (*record["files"], own):
            path = f"{manifest.MODELS}/{name}/{each['name']}"
            values = (each["name"], record["source"], each["sha256"], each["size"], path)
            found.append(manifest.item(manifest.MODEL, *values, version=name))
    return found


def held(bundle: str, data: t.Mapping[str, t.Any]) -> dict[str, dict[str, str]]:
    """``{folder: {source, revision, digest}}`` of a verified bundle. Raises ``BundleError`` if a record is none, or names other files."""
    found = {}
    named = [each for each in data["items"] if each["kind"] == manifest.MODEL]
    for name in sorted({each["version"] for each in named}):
        record = listing.read(os.path.join(bundle, manifest.MODELS, name))
        files = {
            each["name"]: each["sha256"] for each in named if each["version"] == name and each["name"] != listing.RECORD
        }
        if not record or {each["name"]: each["sha256"] for each in record["files"]} != files:
            raise manifest.BundleError(
                f"the record of the model {name} in {bundle} is none that only you or root can write, or names other files than the manifest. "
                f"Fix: {manifest.AGAIN}, and let nobody else write there (chmod -R go-w)"
            )
        found[name] = {key: str(record[key]) for key in ("source", "revision", "digest")}
    return found
