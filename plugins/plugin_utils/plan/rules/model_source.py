# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of where the model comes from: a hub's page, a hub's name as a path, and a source without a folder to fill."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ....module_utils.tools.how_many import how_many
from ...description.findings import Finding
from .base import Case, Rules
from .folders import models

RULES = Rules()
ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")  # owner/name


def _on_hub(url: str) -> tuple[str, str]:
    """(hub, owner/name) of the URL of a model on a hub; both empty if it is none."""
    found = re.match(
        r"https?://[\w.-]*(huggingface\.co|modelscope\.cn|hf-mirror\.com)/(?:models/)?([\w.-]+/[\w.-]+?)(?:\.git)?(?:/|$)",
        url,
    )
    return ("modelscope" if "modelscope" in found.group(1) else "huggingface", found.group(2)) if found else ("", "")


def downloaded(url: str) -> str:
    """A fix that names the model of such a URL; empty if it has none."""
    hub, name = _on_hub(url)
    return (
        f"Write the folder /models/{posixpath.basename(name)}, and inference_model.source: {hub}:{name}."
        if name
        else ""
    )


@RULES.rule(
    "MODEL-SOURCE-PAGE",
    "Name the hub and the model.",
    "pages of huggingface.co and modelscope.cn; role model: https:// is the address of a folder with SHA256SUMS",
)
def source_page(case: Case) -> t.Iterator[Finding]:
    """The source of the model is the page of a model on a hub.

    It is asked for files and digests as a folder of a web server, and answers with a page.
    """
    source = case.context.description.model.source
    hub, name = _on_hub(source)
    if name:
        yield Finding.at(
            "inference_model.source", source, f"{source} is a page, not a folder of files", f"Write {hub}:{name}."
        )


@RULES.rule(
    "MODEL-SOURCE-PATH",
    "Write the folder, such as /models/NAME, into inference_model.path; the hub's name stays in inference_model.source.",
    "role model: a model comes to a folder by one rename",
)
def source_path(case: Case) -> t.Iterator[Finding]:
    """The model has a source, and its path is no absolute path.

    The files would come to another folder than the one that the engines read, or to none.
    """
    model = case.context.description.model
    if model.source and not posixpath.isabs(model.path):
        problem = f"'{model.path}' is no absolute path, and inference_model.source is {model.source}"
        yield Finding.at("inference_model.path", model.path, problem)


@RULES.rule(
    "MODEL-DOWNLOADS",
    "Write a folder into inference_model.path, and the hub's name into inference_model.source: one host fetches the model, and the others get it from it.",
    "vLLM: a path that does not exist is downloaded from a hub",
    "warning",
)
def downloads(case: Case) -> t.Iterator[Finding]:
    """The path of the model is a hub's name.

    Each host downloads it by itself when its engine starts, through one uplink and at the revision of that moment, and nothing compares the files.
    """
    description = case.context.description
    hosts = set() if case.in_pods else {service.host for service, _instance, _process in case.engines}
    for place, path in models(description) if hosts and not description.model.source else ():
        if not ON_HUB.fullmatch(path):
            continue
        fix = f"Write {place}: /models/{posixpath.basename(path)}"
        if place == "inference_model.path":
            fix += f" and inference_model.source: modelscope:{path} or huggingface:{path}; one host fetches it, and the others get it from there."
        else:
            fix += ", and bring the model there with the playbook models (inference_models)."
        yield Finding.at(place, path, f"{how_many(len(hosts), 'host')} would download {path}, each by itself", fix)
