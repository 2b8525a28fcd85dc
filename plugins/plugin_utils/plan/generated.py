# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a plan whose content is generated at deployment from facts of the hosts."""

from __future__ import annotations

import json
import typing as t

from .service import digest

Service = t.Mapping[str, t.Any]


def filled(services: t.Iterable[Service], made: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Services with the content of files that have ``from``, if ``made`` has an entry of that name.

    The digest of such a service depends on the content, so the service restarts when the content changes.
    """
    return [_filled(service, made) for service in services]


def _filled(service: Service, made: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    texts = {name: json.dumps(value, indent=2) + "\n" for name, value in made.items() if value}
    files = [{**file, "content": texts.get(file.get("from", ""), file["content"])} for file in service["files"]]
    if files == service["files"]:
        return dict(service)
    return {**service, "files": files, "digest": digest([service["digest"], [file["content"] for file in files]])}
