#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_bench
short_description: Measure a deployed service with one load
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Runs C(vllm bench serve) or AISBench once, and reads the counters of the engines before and after.
  - The requests end with the module, and with the connection that waits for its result.
  - Counts answers without text, which the program counts as failed or as completed, depending on their form.
attributes:
  check_mode:
    details: Sends no requests, and returns the command.
  diff_mode:
    support: N/A
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  deployment:
    description: The deployment's folder on the host. A measurement that runs is noted there, and a second one is refused.
    type: path
    required: true
  argv:
    description: The command, without the options of its result.
    type: list
    elements: str
    required: true
  environment:
    description: Additional variables of its environment.
    type: dict
    default: {}
  source:
    description: Shell scripts that are read before.
    type: list
    elements: path
    default: []
  directory:
    description: Directory that the user can write, for the result, which is removed.
    type: path
    required: true
  container:
    description: Name of the container in which the command runs.
    type: str
    default: ""
  runtime:
    description: The runtime of the container, as in the plan. Required with O(container).
    type: str
    default: ""
  user:
    description: The user who runs the command, if the module runs as root. Default is the owner of O(directory).
    type: str
    default: ""
  config:
    description:
      - Configuration of AISBench, without O(api_key), which is added. Then O(argv) is the path of C(ais_bench), with what comes before it.
      - C(prompts) says what is sent, C(count) of a C(file) with C(needed) lines, or of C(model), C(tokens), C(prefix), C(prefixes), C(seed).
      - Empty for C(vllm bench serve).
    type: dict
    default: {}
  api_key:
    description: Key of the service.
    type: str
    default: ""
  engine_api_key:
    description: Key of the engines, for their counters.
    type: str
    default: ""
  engines:
    description: The engines whose counters are read.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the engine.
        type: str
        required: true
      url:
        description: URL of the engine's API, without a path.
        type: str
        required: true
  others:
    description: Routers and masters of the store whose counters are read as well.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      kind:
        description: What it is.
        type: str
        required: true
        choices: [router, store]
      url:
        description: URL of its metrics, without a path.
        type: str
        required: true
  ways:
    description: Ways to the same router, on each of which the list of models is asked for before the requests, to compare how long that takes.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the way.
        type: str
        required: true
      url:
        description: URL at its begin, without a path.
        type: str
        required: true
      key:
        description: Whose key is sent.
        type: str
        choices: [clients, engines]
        default: clients
      ca_path:
        description: File with certificates that are trusted, for an address with TLS.
        type: str
        default: ""
      server_name:
        description: Name in the certificate, if it is not that of the URL.
        type: str
        default: ""
  evict:
    description:
      - Name of one of O(engines) whose KV cache the prompts replace. Their number is computed from the size that the engine reports.
      - Needs O(prompt_tokens).
    type: str
    default: ""
  prompt_tokens:
    description: Tokens of each prompt.
    type: int
    default: 0
  output_tokens:
    description: Tokens that each answer must have. V(0) means that they are not known.
    type: int
    default: 0
  trace:
    description:
      - File with requests in the format of Mooncake's traces, which the command sends. It is read first, also in check mode, and the module fails
        if a line is malformed, or a request is longer than O(most_tokens).
      - With O(container), a file that is only in the container is not read.
    type: path
    default: ""
  trace_requests:
    description: How many requests of O(trace) are sent. V(0) means all.
    type: int
    default: 0
  most_tokens:
    description: Tokens of the model's context. V(0) means that they are not known.
    type: int
    default: 0
  timeout:
    description: Timeout of the command in seconds.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Send 32 requests, 4 at a time
  ascend.inference.service_bench:
    deployment: /opt/ascend-inference/deployments/inference
    argv:
      - /opt/ascend-inference/venvs/vllm_ascend-0.23.0/bin/vllm
      - bench
      - serve
      - --base-url=http://10.0.0.1:8000
      - --model=/models/qwen3
      - --num-prompts=32
      - --max-concurrency=4
    directory: /opt/ascend-inference/deployments/inference/services/decode-0/work
    user: ascend-inference
    engines:
      - name: decode-0
        url: http://10.0.0.2:7300
"""

RETURN = r"""
command:
  description: The command.
  returned: always
  type: list
  elements: str
figures:
  description: >-
    Counts (C(completed), C(failed), C(empty), C(short)), rates per second, and times in milliseconds (C(ttft_p50), C(tpot_p99), ...).
  returned: when requests were sent
  type: dict
  sample: {"completed": 32, "failed": 0, "empty": 0, "short": 0, "ttft_p50": 51.2, "output_throughput": 812.0}
engines:
  description: What the counters of each engine gained; null for one that did not answer.
  returned: when requests were sent
  type: dict
  sample: {"decode-0": {"requests": 32.0, "preemptions": 0.0}}
others:
  description: The same of O(others).
  returned: when requests were sent
  type: dict
  sample: {"router": {"requests": 32.0, "retries": 0.0}}
ways:
  description: The median time of an answer on each of O(ways), in milliseconds, and what it was; C(problem) says why there is none.
  returned: when requests were sent
  type: dict
  sample: {"entry": {"ms": 1.9, "answer": "200", "problem": ""}, "router": {"ms": 1.1, "answer": "200", "problem": ""}}
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.bench.driver import (
    KEY,
    BenchError,
    Command,
    growth,
    prompts_that_evict,
    read_all,
    run_load,
    whole_argv,
)
from ..module_utils.bench.prompts import file_problem
from ..module_utils.bench.running import Running
from ..module_utils.bench.trace import trace_problem
from ..module_utils.bench.ways import walked
from ..module_utils.bench.window import gained, read_counters
from ..module_utils.files.tree import TreeError
from ..module_utils.runtime.base import RuntimeProblem
from ..module_utils.tools.runner import ToolMissing
from ..module_utils.tools.text import visible

ENGINE = {"name": {"type": "str", "required": True}, "url": {"type": "str", "required": True}}
OTHER = {**ENGINE, "kind": {"type": "str", "required": True, "choices": ["router", "store"]}}
WAY = {
    **ENGINE,
    "key": {"type": "str", "default": "clients", "choices": ["clients", "engines"], "no_log": False},
    "ca_path": {"type": "str", "default": ""},
    "server_name": {"type": "str", "default": ""},
}
ARGUMENTS = {
    "deployment": {"type": "path", "required": True},
    "argv": {"type": "list", "elements": "str", "required": True},
    "environment": {"type": "dict", "default": {}},
    "source": {"type": "list", "elements": "path", "default": []},
    "directory": {"type": "path", "required": True},
    "container": {"type": "str", "default": ""},
    "runtime": {"type": "str", "default": ""},
    "user": {"type": "str", "default": ""},
    "config": {"type": "dict", "default": {}},
    "api_key": {"type": "str", "default": "", "no_log": True},
    "engine_api_key": {"type": "str", "default": "", "no_log": True},
    "engines": {"type": "list", "elements": "dict", "default": [], "options": ENGINE},
    "others": {"type": "list", "elements": "dict", "default": [], "options": OTHER},
    "ways": {"type": "list", "elements": "dict", "default": [], "options": WAY},
    "evict": {"type": "str", "default": ""},
    "prompt_tokens": {"type": "int", "default": 0, "no_log": False},
    "output_tokens": {"type": "int", "default": 0, "no_log": False},
    "trace": {"type": "path", "default": ""},
    "trace_requests": {"type": "int", "default": 0},
    "most_tokens": {"type": "int", "default": 0, "no_log": False},
    "timeout": {"type": "int", "default": 3600},
}


def eviction(module):
    """The number of prompts that replace the KV cache of the named engine."""
    params = module.params
    found = [engine for engine in params["engines"] if engine["name"] == params["evict"]]
    if not found or params["prompt_tokens"] < 1:
        module.fail_json(msg="evict: name one of the engines, and set prompt_tokens above 0")
    try:
        return prompts_that_evict(found[0], params["prompt_tokens"], params["engine_api_key"])
    except BenchError as error:
        module.fail_json(msg=visible(f"Benchmark: {error}"))


def number_of_prompts(module):
    """The option with the number of prompts that replace a cache; AISBench gets it in its configuration."""
    if not module.params["evict"] or module.check_mode:
        return []
    count, config = eviction(module), module.params["config"]
    if config:
        config["prompts"]["count"] = count
    return [] if config else ["--num-prompts", str(count)]


def require_file(module):
    """Fail if there is a trace that is malformed or too long, or a file of prompts that has too few."""
    params, prompts = module.params, module.params["config"].get("prompts") or {}
    elsewhere = not params["trace"] or (params["container"] and not os.path.exists(params["trace"]))
    problem = "" if elsewhere else trace_problem(params["trace"], params["trace_requests"], params["most_tokens"])
    if prompts.get("file"):
        problem = file_problem(prompts["file"], prompts["needed"])
    if problem:
        module.fail_json(msg=visible(f"Benchmark: {problem}"))


def printed(module, command, path):
    """The whole command, for the result."""
    try:
        return whole_argv(command, path)
    except RuntimeProblem as error:
        module.fail_json(msg=visible(f"Benchmark: {error}"))


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    env = {name: str(value) for name, value in params["environment"].items()}
    env.update({KEY: params["api_key"]} if params["api_key"] else {})
    require_file(module)
    argv = [*params["argv"], *number_of_prompts(module)]
    place = [params[name] for name in ("source", "directory", "container", "user", "config", "runtime")]
    command = Command(argv, env, *place)
    path = os.path.join(params["directory"], f"bench-{os.getpid()}" + ("" if params["config"] else ".json"))
    result = {"changed": False, "command": printed(module, command, path)}
    if module.check_mode:
        module.exit_json(**result)
    keys = {"clients": params["api_key"], "engines": params["engine_api_key"]}
    result["ways"] = walked(params["ways"], keys)
    before, others = read_all(params["engines"], params["engine_api_key"]), read_counters(params["others"])
    try:
        with Running(params["deployment"]):
            result["figures"] = run_load(command, path, params["output_tokens"], params["timeout"])
    except (BenchError, ToolMissing, TreeError, OSError, ValueError) as error:
        module.fail_json(msg=visible(f"Benchmark: {error}"), **result)
    after = read_all(params["engines"], params["engine_api_key"])
    result["engines"] = {name: growth(before[name], after[name]) for name in before}
    result["others"] = gained(params["others"], others, read_counters(params["others"]))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
