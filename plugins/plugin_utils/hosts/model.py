# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the model on the hosts: presence, equality and loadability."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding
from ..plan.rules.base import Rules
from ..releases.release import RELEASES
from .observed import Observed, Record, later, majority, place

RULES = Rules()


@RULES.rule(
    "MODEL-MISSING", "Copy the model to the host, or set inference_model.source.", "knowledge_failures, KV transfer: K8"
)
def model_missing(case: Observed) -> t.Iterator[Finding]:
    """The model is missing on an engine's host, or its config.json is invalid.

    The engine cannot load it.
    """
    if case.plan["model"].get("source"):
        return
    for host, model in models(case):
        if not model["exists"]:
            yield Finding.at(place(host), model["path"], f"the model's folder {model['path']} does not exist")
        elif model["config_error"]:
            yield Finding.at(place(host), model["path"], f"{model['path']}/config.json {model['config_error']}")


def models(case: Observed) -> list[tuple[Record, Record]]:
    """Hosts with engines, with what is known of the model's folder there."""
    path = case.plan["model"]["path"]
    engines = {service["host"] for service in case.plan["services"] if service["kind"] in ENGINE_KINDS}
    return [
        (host, model)
        for host, facts in case.gathered("host")
        for model in facts.get("models") or []
        if host["name"] in engines and model["path"].rstrip("/") == path.rstrip("/")
    ]


def _repaired(case: Observed, host: Record) -> bool:
    """Whether the role model will repair the host's config.json after this check (see check_facts)."""
    return later(case, host, "model_repair").lower() in ("true", "yes", "on", "1", "y", "t")


@RULES.rule("MODEL-DIFFERS", "Copy the model from one host to the others.", "knowledge_failures, KV transfer: K15")
def model_differs(case: Observed) -> t.Iterator[Finding]:
    """The model on a host differs from the model on most hosts.

    Prefill and decode with different weights produce wrong text, without an error.
    """
    found = {host["name"]: model for host, model in models(case) if model["exists"]}
    prints = {name: str(model["fingerprint"]) for name, model in found.items()}
    usual = majority(prints)
    same = [name for name in prints if prints[name] == usual]
    for name, value in prints.items():
        if value != usual:
            model = found[name]
            problem = f"the model in {model['path']} ({_size(model)}) differs from the one on {len(same)} other hosts"
            yield Finding.at(name, value[:12], f"{problem} ({same[0]}: {_size(found[same[0]])})")


def _size(model: Record) -> str:
    return f"{model.get('files', 0)} files, {model.get('size_mib', 0)} MiB"


@RULES.rule(
    "MODEL-INCOMPLETE",
    "Copy the model again, or finish its download.",
    "safetensors documentation, sharded checkpoints",
)
def model_incomplete(case: Observed) -> t.Iterator[Finding]:
    """Files of the model are missing on a host: weights listed in its index, or targets of links.

    The engine fails while it loads the model, after some minutes.
    """
    if case.plan["model"].get("source"):
        return
    for host, model in models(case):
        missing = model.get("missing") or []
        if model["exists"] and not model["config_error"] and missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            problem = f"missing in {model['path']}: {', '.join(missing[:3])}{more}"
            yield Finding.at(place(host), model["path"], problem)


@RULES.rule("MODEL-DAMAGED", "Copy the named files again.", "https://huggingface.co/docs/safetensors, format")
def model_damaged(case: Observed) -> t.Iterator[Finding]:
    """Weights of the model are cut off or are not safetensors files.

    The engine fails while it loads the model, after some minutes.
    """
    if case.plan["model"].get("source"):
        return
    for host, model in models(case):
        found = model.get("damaged") or []
        if found:
            more = f", and {len(found) - 3} more files" if len(found) > 3 else ""
            yield Finding.at(place(host), model["path"], f"in {model['path']}, {'; '.join(found[:3])}{more}")


@RULES.rule(
    "MODEL-TOKENIZER",
    "Copy the tokenizer's files there, or name another folder with tokenizer in the pool's args.",
    "vllm serve --help, --tokenizer",
)
def model_tokenizer(case: Observed) -> t.Iterator[Finding]:
    """The model's folder has no tokenizer.

    The engine stops at its start.
    """
    if case.plan["model"].get("source"):
        return
    for host, model in models(case):
        engines = [service["argv"] for service in case.services(host["name"]) if service["kind"] in ENGINE_KINDS]
        elsewhere = all("--tokenizer" in argv or "--skip-tokenizer-init" in argv for argv in engines)
        if model["exists"] and model.get("tokenizer") is False and not elsewhere:
            yield Finding.at(
                place(host), model["path"], f"{model['path']} has no tokenizer.json or other tokenizer file"
            )


@RULES.rule(
    "MODEL-CHAT-TEMPLATE",
    "Copy the model's tokenizer_config.json or chat_template.jinja there, or set chat-template in the pool's args. For a model without "
    "chat accept the finding.",
    "vLLM documentation, OpenAI-compatible server: chat template",
    "remark",
)
def model_chat_template(case: Observed) -> t.Iterator[Finding]:
    """The model's folder has no chat template.

    Requests to /v1/chat/completions are refused; /v1/completions works.
    """
    if case.plan["model"].get("source"):
        return
    for host, model in models(case):
        engines = [service["argv"] for service in case.services(host["name"]) if service["kind"] in ENGINE_KINDS]
        elsewhere = all({"--chat-template", "--tokenizer", "--tokenizer-mode"} & set(argv) for argv in engines)
        if model["exists"] and model.get("chat_template") is False and not elsewhere:
            problem = f"{model['path']} has no chat_template.jinja, and its tokenizer_config.json has no chat_template"
            yield Finding.at(place(host), model["path"], problem)


@RULES.rule(
    "MODEL-UNQUANTIZED",
    "Copy quant_model_description.json there, choose the quantized model, or remove quantization from the pool's args.",
    "knowledge_failures, topology and arguments: T15",
)
def model_unquantized(case: Observed) -> t.Iterator[Finding]:
    """The engine gets --quantization ascend, and the model has no description of its quantization.

    The engine stops before it loads the weights.
    """
    if case.plan["model"].get("source"):
        return
    for host, model in models(case):
        for service in case.services(host["name"]):
            argv = service["argv"]
            given = argv[argv.index("--quantization") + 1] if "--quantization" in argv[:-1] else ""
            if model["exists"] and given == "ascend" and not model["quantized"]:
                problem = (
                    f"{model['path']} has no quant_model_description*.json, and the engine gets --quantization ascend"
                )
                yield Finding.at(f"{place(host)} {service['name']}", model["path"], problem)


@RULES.rule(
    "MODEL-FORMAT",
    "Use the model as it was published in BF16, or one quantized by msModelSlim.",
    "vllm-ascend platform.py supported_quantization: 'awq quantization is currently not supported in npu'",
)
def model_format(case: Observed) -> t.Iterator[Finding]:
    """The model's config.json has a quantization method that the release's platform does not support.

    The engine ends at start with a ValueError.
    """
    release = RELEASES.get(case.plan["release"])
    supported = release.quantization if release and case.plan["engine_facts"]["quantization_option"] else ()
    for host, model in models(case) if supported else ():
        given = model["config"].get("quantization_config")
        method = str(given.get("quant_method") or "") if isinstance(given, dict) else ""
        if method and method not in supported:
            problem = f"{model['path']}/config.json has quant_method {method}; release {release.name} supports {', '.join(supported)}"
            yield Finding.at(place(host), method, problem)


@RULES.rule(
    "MODEL-HEAD-DIM",
    "Set model_repair: true so that the role model adds it, or choose a release from 0.21.0rc1 on.",
    "https://github.com/vllm-project/vllm-ascend/issues/7352",
)
def model_keys(case: Observed) -> t.Iterator[Finding]:
    """The model's config.json has no head_dim, which the release's connector reads.

    The engine fails when it registers its KV cache.
    """
    if not case.plan.get("release_facts", {}).get("head_dim_required"):
        return
    for host, model in models(case):
        config = model["config"]
        connects = any("--kv-transfer-config" in service["argv"] for service in case.services(host["name"]))
        readable = model["exists"] and not model["config_error"]
        missing = config.get("head_dim") is None and not config.get("kv_lora_rank")
        if connects and readable and missing and not _repaired(case, host):
            yield Finding.at(place(host), "head_dim", f"{model['path']}/config.json has no head_dim")


@RULES.rule(
    "MODEL-QUANTIZED", "Add quantization: ascend to the pool's args.", "knowledge_failures, topology and arguments: T15"
)
def quantization(case: Observed) -> t.Iterator[Finding]:
    """The model is quantized, but the engine has no --quantization.

    It loads the weights unquantized and runs out of memory.
    """
    flags = {service["name"]: "--quantization" in service["argv"] for service in case.plan["services"]}
    for host, model in models(case):
        engines = [service for service in case.services(host["name"]) if model["path"] in service["argv"]]
        for service in engines:
            if (
                model["exists"]
                and model["quantized"]
                and not flags[service["name"]]
                and case.plan["engine_facts"]["quantization_option"]
            ):
                yield Finding.at(
                    f"{place(host)} {service['name']}",
                    model["path"],
                    "the model is quantized, but the engine has no --quantization",
                )


@RULES.rule(
    "MODEL-DTYPE",
    "Add dtype: bfloat16 to the pool's args, or let the role model repair config.json.",
    "knowledge_failures, topology and arguments: T14",
)
def dtype(case: Observed) -> t.Iterator[Finding]:
    """A quantized model has torch_dtype float16.

    The kernels of quantized layers do not support float16.
    """
    for host, model in models(case):
        own = str(model["config"].get("torch_dtype") or model["config"].get("dtype") or "")
        given = {
            service["name"]: _option(service["argv"], "--dtype")
            for service in case.services(host["name"])
            if service["kind"] in ENGINE_KINDS and model["quantized"]
        }
        if own == "float16" and {"", "auto"} & set(given.values()) and not _repaired(case, host):
            yield Finding.at(
                place(host), own, f"{model['path']}/config.json has torch_dtype float16 for a quantized model"
            )
        for name, value in given.items():
            if value in ("float16", "half"):
                yield Finding.at(f"{place(host)} {name}", value, f"--dtype is {value} for a quantized model")


def _option(argv: list[str], flag: str) -> str:
    """The word behind a flag of a command; empty without it."""
    return dict(zip(argv, argv[1:], strict=False)).get(flag, "")
