# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Security rules: published advisories, and settings that allow others to run code."""

from __future__ import annotations

import functools
import re
import typing as t

from ...description.findings import Finding, nearest
from ...releases.advisories import ADVISORIES, CONDITIONS, fixed_releases
from .base import Case, Rules
from .engine_view import EngineView
from .environment import HUB, LOCAL_MODEL

RULES = Rules()
TRIED = 4  # releases with a fix that are tried with a description; each is a plan of its own
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


def _images(view: EngineView) -> bool:
    """Whether clients may send images. A plan does not contain the model's modalities, but it contains a limit of zero."""
    limits = view.mapping("limit-mm-per-prompt")
    return not limits or limits.get("image") != 0


def _downloaded(case: Case, view: EngineView) -> str:
    """The model whose repository's code runs; empty if it is a directory of the hosts, or no code runs."""
    model = view.instance.pool.model or case.context.description.model.path
    return model if _on(view, "trust-remote-code") and not model.startswith("/") else ""


EXPOSED: dict[str, t.Callable[[Case, EngineView], bool]] = {
    "always": lambda case, view: True,
    "embeds": lambda case, view: _on(view, "enable-prompt-embeds"),
    "images": lambda case, view: _images(view),
    "keyed": lambda case, view: "api_key" in case.context.description.secrets,  # it is refused in other variables
    "mooncake": lambda case, view: case.context.p2p.startswith("mooncake") or case.context.store,
    "optimized": lambda case, view: bool(view.env.get("PYTHONOPTIMIZE")),
    "downloaded": lambda case, view: bool(_downloaded(case, view)),
    "untrusted": lambda case, view: not _on(view, "trust-remote-code"),
}


def _on(view: EngineView, flag: str) -> bool:
    return view.table.get(flag, ("false",)) in ((), ("true",), ("True",))


@RULES.rule(
    "ADVISORY",
    "Accept this rule only if only you reach the engines and choose the model.",
    "CVEProject/cvelistV5, pypa/advisory-database",
    "warning",
)
def advisory(case: Case) -> t.Iterator[Finding]:
    """A published security advisory affects this release with these settings.

    The vulnerability and its exploitation are public.
    """
    release, refused = case.context.release, functools.cache(case.refusal or str)
    for item in ADVISORIES:
        if item.affects(release.vllm) and any(EXPOSED[item.when](case, view) for view in case.engine_views):
            fix = _update(case, fixed_releases(item, release), refused) or f"No known release has vLLM {item.fixed}."
            score = f" (CVSS {item.score})" if item.score else ""
            problem = f"{item.id}{score}, fixed in vLLM {item.fixed}: {item.effect}; {CONDITIONS[item.when]}"
            yield Finding.at("inference_release", release.name, f"{release.name} has {problem}", fix)


def _update(case: Case, fixed: list[str], refused: t.Callable[[str], str]) -> str:
    """How to reach one of the fixed releases: one that takes this description, else what the oldest one refuses."""
    image = " and inference_image to its image" if case.context.description.image else ""
    good = next((release for release in fixed[:TRIED] if case.refusal is None or not refused(release)), "")
    if good:
        return f"Set inference_release to {good}{image}."
    if fixed:
        return f"Set inference_release to {fixed[0]}{image}, and change what it refuses, first {refused(fixed[0])}."
    return ""


def exposure(case: Case) -> list[str]:
    """The conditions of advisories that an engine of the plan meets. With them advisories can be judged that are published after the plan."""
    return sorted(name for name, met in EXPOSED.items() if any(met(case, view) for view in case.engine_views))


@RULES.rule(
    "SECRET-FORM",
    "Write text without blanks; several client_keys are separated by one blank.",
    "RFC 6750 section 2.1: characters of a bearer token",
)
def secret_form(case: Case) -> t.Iterator[Finding]:
    """A secret cannot be sent as a bearer token.

    Engines, router or frontend do not start with it, or answer 401 to every request.
    """
    secrets = case.context.description.secrets
    for name in ("api_key", "client_keys"):
        if name not in secrets:
            continue
        value, path = secrets[name], f"inference_secrets.{name}"
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
            yield Finding.at(path, "(hidden)", f"{name} is empty or not text")
        elif not all(TOKEN.fullmatch(key) for key in (str(value).split() if name == "client_keys" else [str(value)])):
            yield Finding.at(path, "(hidden)", f"{name} has other characters than A-Z a-z 0-9 . _ ~ + / = -")


@RULES.rule("SECRET-UNKNOWN", "Correct or remove the name.", "design of the planner", "warning")
def secret_unknown(case: Case) -> t.Iterator[Finding]:
    """inference_secrets has a name that nothing reads.

    Engines and the frontend accept requests without the key that was meant.
    """
    for name in case.context.description.secrets:
        if name not in ("api_key", "client_keys"):
            near = LOCAL_MODEL if HUB.search(str(name)) else nearest(str(name), ("api_key", "client_keys"))
            yield Finding.at(f"inference_secrets.{name}", "(hidden)", f"no service reads the secret '{name}'", near)


@RULES.rule(
    "REMOTE-CODE",
    "Remove trust-remote-code if vLLM supports the model's architecture without it; else download the model to a directory and review its code.",
    "vLLM docs/usage/security.md; transformers: auto_map",
    "warning",
)
def remote_code(case: Case) -> t.Iterator[Finding]:
    """The option trust-remote-code is on for a model that is not a directory of the hosts.

    Python code of the model's repository runs with the privileges of the engine. A change of the repository changes the code.
    """
    for view in case.engine_views:
        model = _downloaded(case, view)
        if model:
            yield Finding.at(view.path("trust-remote-code"), "true", f"the engine downloads and runs code of {model}")
