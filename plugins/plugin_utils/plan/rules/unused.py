# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of settings without effect: those of parts that this deployment does not have."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...description.variables import EncoderCache, Router
from ...recipes.catalogue import RECIPES
from ...releases.model_figures import of_name
from ...releases.release import RELEASES, plain_name
from ..placement import pool_hosts
from ..routers.registry import flavour_of
from .base import Case, Rules

RULES = Rules()
OF_RECIPES = Rules()  # judged although the hosts are too few, which they may be because of the recipe


@RULES.rule(
    "FRONTEND-UNUSED",
    "Set inference_router.frontend: haproxy, or remove the settings.",
    "design of the planner: TLS ends at the frontend",
    "warning",
)
def frontend(case: Case) -> t.Iterator[Finding]:
    """Settings of the frontend are set, but there is no frontend.

    Clients reach the router without TLS and without keys, although the settings look as if they did not.
    """
    if case.context.description.router.frontend != "none":
        return
    names = [name for name in vars(Router()) if name.startswith(("frontend_", "certificate"))]
    if case.context.balanced:  # it has these, too
        names = [
            name
            for name in names
            if name not in ("frontend_paths", "frontend_answer_timeout", "frontend_client_timeout")
        ]
    given = [name for name in names if case.sets("router", name)]
    if "client_keys" in case.context.description.secrets:
        yield Finding.at(
            "inference_secrets.client_keys", "", "client_keys are set without a frontend, which alone asks for them"
        )
    if given:
        verb = "is" if len(given) == 1 else "are"
        yield Finding.at(f"inference_router.{given[0]}", "", f"{', '.join(given)} {verb} set without a frontend")


@RULES.rule(
    "ROUTER-METRICS-PORT",
    "Remove it.",
    "vllm-ascend examples: the proxies have no port for metrics; vllm-router --prometheus-port",
    "warning",
)
def metrics_port(case: Case) -> t.Iterator[Finding]:
    """inference_router.metrics_port is set for a router without metrics.

    Nothing listens there.
    """
    value = case.context.description.router.metrics_port
    if value and not flavour_of(case.context).metrics_port:
        problem = f"the {flavour_of(case.context).name} router has no metrics"
        yield Finding.at("inference_router.metrics_port", value, problem)


@RULES.rule(
    "ENCODER-UNUSED",
    "Add inference_pools.encode, or remove the settings.",
    "design of the planner: ec_transfer_config is rendered with an encode pool only",
    "warning",
)
def encoder_cache(case: Case) -> t.Iterator[Finding]:
    """inference_encoder_cache is set, but there is no encode pool.

    The settings have no effect.
    """
    description = case.context.description
    if description.encoder_cache != EncoderCache() and not description.pools.encode:
        yield Finding.at("inference_encoder_cache", "", "inference_encoder_cache is set without an encode pool")


@OF_RECIPES.rule(
    "RECIPE-HARDWARE",
    "Choose a recipe for this hardware, which the playbook ascend.inference.recipes lists, or correct inference_hardware.",
    "the pages of the recipes",
    "warning",
)
def recipe_hardware(case: Case) -> t.Iterator[Finding]:
    """The recipe was documented for another generation of hardware than that of the pools' hosts.

    Its sizes and options fit other numbers of devices and other memory, so it may not fit, not start or be slow.
    """
    description, hosts = case.context.description, case.context.hosts
    recipe = RECIPES.get(description.recipe)
    found = {host.hardware for host in pool_hosts(description, hosts)} if recipe and case.npu else set()
    if recipe and found and recipe["hardware"] not in found:
        problem = f"{description.recipe} is for {recipe['hardware']}, and the hosts are {' and '.join(sorted(found))}"
        yield Finding.at("inference_recipe", description.recipe, problem)


@OF_RECIPES.rule(
    "RECIPE-MODEL",
    "Choose a recipe for this model, which the playbook ascend.inference.recipes lists, or correct inference_model.",
    "the pages of the recipes; the names of published families of models",
    "warning",
)
def recipe_model(case: Case) -> t.Iterator[Finding]:
    """The recipe was documented for another model than the one that is served, by its name.

    Its sizes, lengths and parsers fit the other model's memory, heads and formats, so the engines may not start, be slow or answer wrongly.
    """
    description = case.context.description
    recipe, model = RECIPES.get(description.recipe), description.model
    known = of_name(f"{model.path} {model.name}").source
    if recipe and known and known != of_name(recipe["model"]).source:
        problem = f"{description.recipe} is for {recipe['model']}, and the model is {known} by its name"
        yield Finding.at("inference_recipe", description.recipe, problem)


@RULES.rule("RELEASE-BASE-UNUSED", "Remove it.", "design of the planner: a known release has its own facts", "warning")
def release_base(case: Case) -> t.Iterator[Finding]:
    """inference_release_base is set for a release that needs none.

    The setting has no effect.
    """
    description = case.context.description
    name = case.context.release.name
    own = {plain_name(str(key)) for key in description.releases}
    wanted = plain_name(description.release or case.context.engine.release)
    if description.release_base and name == wanted and (name in RELEASES or name in own):
        problem = f"release {name} is known, and its own facts are used"
        yield Finding.at("inference_release_base", description.release_base, problem)


@RULES.rule(
    "HOST-NPUS-UNUSED",
    "Leave inference_engine out if NPUs are meant. Otherwise remove the variable.",
    "design of the planner: the engine decides whether NPUs are used",
    "warning",
)
def npus_of_hosts(case: Case) -> t.Iterator[Finding]:
    """A host has variables of NPUs, but the engine uses none.

    Nothing reads them, so the NPUs that they describe stay idle.
    """
    for name, host in case.context.hosts.items() if not case.npu and not case.in_pods else ():
        for variable in host.of_npus:
            problem = f"inference_{variable} is set, but the engine is {case.context.engine.name}, which uses no NPUs"
            yield Finding.at(f"{name}.inference_{variable}", "", problem)


@RULES.rule(
    "ENGINE-VERSION",
    "Remove it, or choose the release that belongs to this vLLM. For another vLLM describe a release in inference_releases.",
    "vllm-ascend versioning_policy.md: each release is for one version of vLLM",
    "warning",
)
def engine_version(case: Case) -> t.Iterator[Finding]:
    """inference_engine_version is not the vLLM of the release of vLLM-Ascend.

    vLLM-Ascend replaces parts of one version of vLLM; with another one it fails to start or computes wrong results.
    """
    wanted = case.context.description.engine_version
    known = RELEASES.get(case.context.release.name)
    if case.npu and wanted and known and wanted != known.vllm:
        problem = f"release {known.name} is for vLLM {known.vllm}, not {wanted}"
        yield Finding.at("inference_engine_version", wanted, problem)
