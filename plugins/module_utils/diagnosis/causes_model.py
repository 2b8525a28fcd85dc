# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes in the model, its configuration and the options of the engine."""

from __future__ import annotations

from .words import Cause

CAUSES = (
    Cause(
        "LOG-HEAD-DIM",
        r"has no attribute '(?:head_dim|num_key_value_heads)'|\bCan not get num_key_value_heads\b|\bdoes not have `num_key_value_heads`",
        "the model's config.json lacks a field that the KV connector reads",
        "Connectors before 0.21.0rc1 read head_dim from config.json.",
        "Add head_dim (hidden_size divided by num_attention_heads) with hf-overrides or the role model, or use release 0.21.0rc1 or later.",
    ),
    Cause(
        "LOG-FLOAT16",
        r"[Tt]ensor scale not implemented for DT_FLOAT16|not implemented for DT_FLOAT16",
        "a quantized operator does not support float16",
        "config.json of the model has torch_dtype float16, and the quantized matrix multiplication needs bfloat16.",
        "Set dtype: bfloat16 in inference_args, or torch_dtype in the model's config.json.",
    ),
    Cause(
        "LOG-OPTION",
        r"error: (?:unrecognized arguments|argument |ambiguous option|the following arguments are required)",
        "the program does not accept an option",
        "The option belongs to another release, or its value is invalid.",
        "Remove it from the inventory; the rules of plan list the options of the release.",
    ),
    Cause(
        "LOG-REMOTE-CODE",
        r"trust_remote_code=True|requires you to execute the configuration file",
        "the model needs its own Python code",
        "vLLM runs code of the model's folder only if that is allowed.",
        "Check the code, then set trust-remote-code: true in inference_args.",
    ),
    Cause(
        "LOG-MODEL-FILES",
        r"does not appear to have a file named|Repo id must be in the form|Cannot find any model weights|SafetensorError|\bHeaderTooLarge\b"
        r"|is not a local folder and is not a valid model identifier|No such file or directory: .*\.safetensors|\bInvalid repository ID or local directory"
        r"|\bincomplete metadata, file not fully covered\b|\bFailed to load rotation weight\b",
        "files of the model are missing or damaged",
        "The folder is not the model's, a copy was interrupted, or the service's user cannot read it.",
        "Run check, which compares the folder with the model's index; then copy the model again.",
    ),
    Cause(
        "LOG-ARCHITECTURE",
        r"[Mm]odel architectures? .* (?:(?:are|is) not supported|failed to be inspected)|does not recognize this architecture",
        "this release does not support the model's architecture",
        "The model is newer than vLLM or its transformers package.",
        "Use a release that supports the model.",
    ),
    Cause(
        "LOG-CHAT-TEMPLATE",
        r"chat template .* (?:looks like a file path|doesn't exist|does not exist)|The supplied chat template",
        "the chat template cannot be read",
        "The option chat-template names a file that the engine's host or container does not have.",
        "Copy the file to every engine's host, or remove the option.",
    ),
    Cause(
        "LOG-MODEL-LENGTH",
        r"User-specified max_model_len .* is greater than the derived max_model_len",
        "max-model-len is larger than the model supports",
        "The model's positions end before it.",
        "Set a smaller max-model-len, or rope scaling with hf-overrides.",
    ),
    Cause(
        "LOG-TP-SIZE",
        r"prefill_tp_size: .* must be greater than or equal to the decode_tp_size|[Tt]otal number of attention heads .* must be divisible"
        r"|\bdecode pp (?:size )?must be 1\b|\bpp and pcp cannot open in same time\b|\bPrefill context parallel is not support\w* on decoder\b"
        r"|\bMamba (?:group )?prefill TP[_ ]size must\b|\bprefill tp size\(\d+\) must be divisible by decode tp size\b"
        r"|\bdoes not support different TP size with Mamba\b"
        r"|\bonly support cp_world_size == 1\b|\bremote_cp_size\(\d+\) must be an integer multiple\b|\bD node DCP not support P node block_size\b",
        "the parallel sizes do not match",
        "Decode's tensor-parallel size must divide prefill's, and the number of heads must be divisible by both.",
        "Change tensor_parallel_size of the pools.",
    ),
    Cause(
        "LOG-PIPELINE",
        r"'PPMissingLayer' object has no attribute\b|\bPipeline parallelism is not supported for this model\b",
        "this release cannot divide the layers of this model among stages",
        "Each class of models supports pipeline parallelism, or does not.",
        "Set pipeline_parallel_size to 1 and a larger tensor_parallel_size, or use a release that supports it.",
    ),
    Cause(
        "LOG-SIZES-DIFFER",
        r"config has a conflicting (?:tensor|data) parallel size",
        "the connector's configuration has other parallel sizes than the engine",
        "The sizes in kv_connector_extra_config must be those of the engines.",
        "Remove the sizes from the pool's kv settings, and run site.",
    ),
    Cause(
        "LOG-DENSE-DP",
        r"\bExpected 1, but got \d+",
        "data-parallel ranks of a model without experts disagree about their number",
        "From vLLM 0.14 on, an engine of a dense model resets its data-parallel size to one.",
        "Plan several instances instead of data_parallel_size.",
    ),
    Cause(
        "LOG-CONNECTOR",
        r"Unsupported connector type|Class \w+ not found in \S*(?:mooncake|connector)|No module named '\S*(?:mooncake_connector|llmdatadist)\w*'"
        r"|\bUnsupported kv_role\b|\bPlease specify kv_(?:role|disagg_role) when kv_connector is set\b",
        "the KV connector does not exist in this release",
        "Its name or kv_connector_module_path belongs to another release.",
        "Remove own connector settings (kv of the pool) and run site.",
    ),
    Cause(
        "LOG-QUANTIZATION",
        r"\bvLLM Ascend doesn't support (?:quant_type )?\S+ for\b|\bCurrently, vLLM Ascend (?:doesn't support|only supports following quant)"
        r"|\bThere is no available ascend quantizer\b|\bNot all shards of .* are quantized\b|\bDetected some but not all shards\b"
        r"|\bModelSlim [Qq]uantization [Cc]onfig [Nn]ot [Ff]ound\b"
        r"|\bQuantization method specified in the model config \(.*\) does not match\b|\bUnknown quantization method\b"
        r"|\bquantization is (?:currently )?not supported\b"
        r"|\bCould not determine quantization type for layer\b|\bno longer supported\. Please switch to Per"
        r"|\bcurrent weight does not support moe part tp>16|'\w*Linear\w*' object has no attribute '\w+'",
        "the quantized weights do not fit the option quantization or this release",
        "quantization: ascend needs the description that ModelSlim writes beside the weights, and each release knows some forms of it.",
        "Compare the weights' description with the release's documents; set quantization: ascend only for weights of ModelSlim; use weights or a "
        "release that fit.",
    ),
    Cause(
        "LOG-WEIGHTS",
        r"\bAttempted to load weight \(.*\) into parameter\b|\bTried to load weights of size\b|\bFollowing weights were not initialized from checkpoint\b"
        r"|\bThere is no module or parameter named\b|(?:\bKeyError: |^|\] )'(?:[\w.]+\.)?\w*(?:weight|bias|scale|offset|zero_point|scales?_inv)\w*'",
        "the weights do not belong to the model's class",
        "The copy is incomplete, the option quantization is missing or wrong, or the release does not know this variant of the model.",
        "Run check, which compares the folder with the model's index; set quantization for quantized weights; use a release that supports the model.",
    ),
    Cause(
        "LOG-BLOCK-SIZE",
        r"\bremote_block_size\(\d+\) not divisible by kernel_size\(\d+\)|\bBlock sizes of P \(\d+\) and D \(\d+\) must be divisible"
        r"|\bRemote block size must be divisible by local block size"
        r"|\bdoes not support different P/D block size|\bNone of the kernel sizes .* can divide\b|\bhash_block_size\b.{0,120}\b(?:must|divi)",
        "the block size does not fit the model's cache or the connector",
        "Hybrid models have groups of layers with other blocks, and a connector moves blocks only between engines whose sizes divide each other.",
        "Remove block-size from inference_args, so that the engine chooses it, and use the connector that the release's guide of this model names (a "
        "hybrid connector for hybrid models).",
    ),
    Cause(
        "LOG-KV-SPLIT",
        r"\bin (?:_get_kv_split_metadata|_get_remote_(?:host_info|ranks|tp)\w*)\b|\bHMA (?:should not be enabled"
        r"|with multiple kv_cache_groups requires)\b|\bOnly one connector can produce KV transfer params\b"
        r"|\bMooncakeConnector does not support C8 KV cache quantization\b|\blen of local trans block ids\b"
        r"|\bHybrid KV cache manager is disabled but\b",
        "the connector cannot divide the KV cache of this model with these parallel sizes",
        "Its release supports fewer combinations of context parallelism, speculation and cache groups than the engine.",
        "Plan the sizes of the release's guide of this model: decode without decode-context-parallel-size or without speculation, or another "
        "connector or release.",
    ),
    Cause(
        "LOG-TOKENIZER",
        r"\bTokenizer class \S+ does not exist or is not currently imported\b|\bNo tokenizer registered for tokenizer_mode\b"
        r"|\bCan't load tokenizer for\b|\b[Cc]ouldn't instantiate the backend tokenizer\b|\bUnable to load vocabulary from file\b",
        "the model's tokenizer cannot be loaded",
        "Its files were written by a newer transformers package than the release's or are missing, or tokenizer-mode is unknown to the release.",
        "Compare the tokenizer's files with the publisher's; remove tokenizer-mode; use a release that supports the model.",
    ),
    Cause(
        "LOG-PROCESSOR",
        r"\bFailed to apply prompt (?:replacement|updates?)\b|\bFailed to apply \w+Processor on data\b"
        r"|\bExpected there to be \d+ prompt (?:updates|placeholders)\b",
        "the processor of pictures, videos or sound does not belong to the model",
        "The files preprocessor_config.json and those of its code are of another version than the weights, or transformers than the release's.",
        "Compare these files with the publisher's; for text alone set language-model-only (or limit-mm-per-prompt of 0) in inference_args.",
    ),
    Cause(
        "LOG-SHAPES",
        r"\bThe size of tensor a \(\d+\) must match the size of tensor b\b|\bshape mismatch: value tensor of shape\b"
        r"|\bshape '\[[^\]]*\]' is invalid for input of size\b"
        r"|\bmat1 and mat2 shapes cannot be multiplied\b|\bSizes of tensors must match except in dimension\b|\bThe expanded size of the tensor\b"
        r"|\bsplit_with_sizes expects\b|\bsplit_sizes to sum exactly to\b",
        "two tensors do not have the sizes that the model's code expects",
        "The code does not fit these parallel sizes, speculation, graphs or padding together, or the weights are not those of its class.",
        "Try without the options that the release's guide of this model does not have (graphs, speculation, context parallelism, flashcomm1); look for "
        "the line in the issues of vllm-ascend.",
    ),
    Cause(
        "LOG-SPECULATION",
        r"\bvalidation errors? for SpeculativeConfig\b|\bUnsupported speculative method\b|\bnum_speculative_tokens\b.*\b(?:must be divisible"
        r"|was not provided|must be provided|but without)|\bcudagraph (?:shapes|sizes)\b.{0,80}\bmultiple of \d+",
        "the settings of speculation are wrong",
        "Method and number of tokens depend on the model and the release; sizes of captured graphs are multiples of num_speculative_tokens + 1, and with "
        "sequence parallelism of tensor_parallel_size.",
        "Correct speculative-config in inference_args, or remove it; capture a size (cudagraph_capture_sizes) that fits.",
    ),
    Cause(
        "LOG-BATCHED-TOKENS",
        r"\bmax_num_batched_tokens \(?\d+\)? (?:is smaller than max_model_len|must be greater than or equal to max_num_seqs)\b",
        "max-num-batched-tokens is too small for the other options",
        "Without chunked prefill a prompt of max-model-len has to fit into one batch.",
        "Set max-num-batched-tokens to at least max-model-len and max-num-seqs, or remove it.",
    ),
    Cause(
        "LOG-DP-OPTIONS",
        r"\bAll DP workers must have identical configurations\b|\bMessage from engine with unexpected data parallel rank\b"
        r"|\bmust (?:not )?use --headless\b|\bUnexpected \S+ message for \S+ engine\b"
        r"|\bRemote engine \S+ must\b|message from \S+ engine \S+, expected it to be",
        "the data-parallel ranks of one engine were started with options that do not belong together",
        "All ranks need the same configuration, and each its own number.",
        "Run deploy for all hosts of the instance; remove data-parallel options from inference_args.",
    ),
    Cause(
        "LOG-DEVICES-FEW",
        r"\bNo NPU devices found or specified in ASCEND_RT_VISIBLE_DEVICES\b|\blocal_rank \d+ is out of bounds\b"
        r"|\blocal_world_size \(\d+\) (?:must be less than or equal to|exceeds)\b"
        r"|\bDP adjusted local rank \d+ is out of bounds\b|\bNot enough physical devices available for DP rank\b",
        "the engine needs more NPUs than it sees",
        "ASCEND_RT_VISIBLE_DEVICES or the container has fewer devices than the parallel sizes need.",
        "Remove own settings of ASCEND_RT_VISIBLE_DEVICES; compare inference_devices and the parallel sizes with npu-smi info.",
    ),
    Cause(
        "LOG-OPTIONS-CONFLICT",
        r"\b(?:oproj|olora|mlp|embedding|lmhead)_tensor_parallel_size\b.*\b(?:only supported|requires?|currently)\b"
        r"|\benable_reduce_sample is (?:incompatible|not supported)\b"
        r"|\bSleep mode (?:is not enabled|can only be used)\b|\bExpandable segments are not compatible with memory pool\b"
        r"|\b[Xx]lite graph (?:mode )?(?:only|is only|is not|does not)\b|\bmodule tp sizes must divide\b"
        r"|\bBuffer pool (?:mode do(?:es)? not support async transfer|and fabric mem mode can not be enabled)",
        "two options exclude each other",
        "The release supports one of them only without the other.",
        "Remove one of the options that the line names from inference_args or inference_env.",
    ),
    Cause(
        "LOG-ADDITIONAL-CONFIG",
        r"\badditional_config keys are invalid for vLLM-Ascend\b|\badditional_config\.\S+ must be\b|\bunexpected keyword argument '\w+'.{0,80}[Cc]onfig",
        "a key of additional-config is unknown to this release or has a wrong value",
        "Keys appear and go with releases.",
        "Remove it; the rules of plan list the keys of the release.",
    ),
)
