# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sources of one vLLM-Ascend release say: pins, images, connectors, proxies, environment names, configuration keys, documents.

``read(folder)`` takes the folder of an unpacked source distribution. Python files are parsed, never imported or run.
"""

from __future__ import annotations

import ast
import email
import hashlib
import pathlib
import re
import typing as t

from ansible_collections.ascend.inference.tests.releases import ascend_values, documents, images, model_support, package

# flavour -> the proxy's file in examples/; some moved from folder to folder
PROXIES = {
    "load_balance": "load_balance_proxy_server_example.py",
    "layerwise": "load_balance_proxy_layerwise_server_example.py",
    "epd_layerwise": "epd_load_balance_proxy_layerwise_server_example.py",
    "epd": "disagg_epd_proxy.py",
    "dp": "dp_load_balance_proxy_server.py",
    "hybrid": "hybrid_proxy_server.py",
}
PINNED = ("torch", "torch-npu", "triton-ascend", "fastapi")


def read(folder: pathlib.Path) -> dict[str, t.Any]:
    """The facts of the release whose sources lie in ``folder``; a fact that is not found is empty."""
    with open(folder / "PKG-INFO", encoding="utf-8") as stream:
        metadata = email.message_from_file(stream)
    built = images.read(folder)
    image = built["a2"]
    pins = requirements((folder / "requirements.txt").read_text(encoding="utf-8"))
    return {
        "release": str(metadata["Version"]),
        "vllm": image.value("VLLM_TAG").lstrip("v"),
        "python": image.python,
        "python_range": str(metadata["Requires-Python"] or ""),
        "cann": image.cann,
        "torch": pins.get("torch", ""),
        "torch_npu": pins.get("torch-npu", ""),
        "triton": pins.get("triton-ascend", ""),
        "fastapi": pins.get("fastapi", ""),
        "mooncake": image.value("MOONCAKE_TAG").lstrip("v"),
        "mooncake_install": image.mooncake_install,
        "image_builds": {hardware: one.unpublished for hardware, one in built.items() if _published(folder, hardware)},
        "image_packages": sorted({name for one in built.values() for name in one.installed}),
        "images": {
            hardware: {"vllm": one.value("VLLM_TAG").lstrip("v"), "cann": one.cann, "python": one.python}
            for hardware, one in built.items()
            if _published(folder, hardware)
        },
        "image_hardware": sorted(hardware for hardware in built if _published(folder, hardware)),
        "soc_version": {hardware: one.value("SOC_VERSION") for hardware, one in built.items()},
        "chip_checked": _chip_checked(folder),
        "connectors": connectors(folder),
        "proxies": proxies(folder),
        "environment": package.environment(folder),
        "imports": [name for name in package.imports(folder) if name.lower().replace("_", "-") not in required(folder)],
        "store_keys": package.store_keys(folder),
        "additional_config": additional_config(folder),
        "additional_values": ascend_values.read(folder),
        "quantization": quantization(folder),
        "architectures": model_support.of_ascend(folder),
        "schemes": model_support.schemes(folder),
        "replaced_environment": replaced_environment(folder),
        "matrix": documents.matrix(folder),
        "notes": documents.notes(folder),
    }


def requirements(text: str) -> dict[str, str]:
    """Versions that requirements.txt pins exactly, and fastapi's bound: {'torch': '2.10.0', 'fastapi': '<0.124.0'}."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z0-9_-]+)\s*(==|<)\s*([^\s#;,]+)\s*$", line.split("#")[0])
        if match and match.group(1).lower() in PINNED:
            operator = "" if match.group(2) == "==" else match.group(2)
            found[match.group(1).lower()] = operator + match.group(3)
    return found


def required(folder: pathlib.Path) -> set[str]:
    """The distributions of requirements.txt, as they are spelt there in small letters and with hyphens."""
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    names = (re.match(r"\s*([A-Za-z0-9_.-]+)", line.split("#")[0]) for line in lines)
    return {name.group(1).lower().replace("_", "-") for name in names if name}


def _trees(folder: pathlib.Path, pattern: str, word: str) -> t.Iterator[ast.Module]:
    """Parsed files that hold the word; parsing all of them would take minutes."""
    for path in sorted(folder.glob(pattern)):
        content = path.read_bytes()
        if word.encode() in content:
            yield ast.parse(content)


def connectors(folder: pathlib.Path) -> list[str]:
    """Names in the calls of KVConnectorFactory.register_connector."""
    names = set()
    for tree in _trees(folder, "vllm_ascend/distributed/**/__init__.py", "register_connector"):
        for call in _calls(tree, "register_connector"):
            if call.args and isinstance(call.args[0], ast.Constant):
                names.add(str(call.args[0].value))
    return sorted(names)


def _calls(tree: ast.AST, name: str) -> t.Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
            yield node


def proxies(folder: pathlib.Path) -> dict[str, dict[str, t.Any]]:
    """flavour -> path in the sources, SHA-256, and the flags that its parser has."""
    found = {}
    for flavour, name in PROXIES.items():
        for path in sorted(folder.glob(f"examples/**/{name}")):
            content = path.read_bytes()
            flags = []
            for call in _calls(ast.parse(content), "add_argument"):
                flags += [
                    word.value
                    for word in call.args
                    if isinstance(word, ast.Constant) and str(word.value).startswith("--")
                ]
            found[flavour] = {
                "path": path.relative_to(folder).as_posix(),
                "sha256": hashlib.sha256(content).hexdigest(),
                "flags": sorted({flag.replace("_", "-") for flag in flags}),
            }
    return found


def additional_config(folder: pathlib.Path) -> list[str]:
    """Keys of --additional-config that any module reads."""
    words = ascend_values.read(folder)
    return sorted({word.partition(":")[0] for word in words if ":" in word and "." not in word})


def quantization(folder: pathlib.Path) -> list[str]:
    """Methods in supported_quantization of the platform, which refuses all others (verify_quantization of vLLM's platforms)."""
    named: dict[str, str] = {}
    for name in ("utils.py", "platform.py"):
        tree = ast.parse((folder / "vllm_ascend" / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named[node.targets[0].id] = ascend_values.text(node.value)
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "supported_quantization":
                items = getattr(node.value, "elts", ())
                return sorted(ascend_values.text(item) or named.get(getattr(item, "id", ""), "") for item in items)
    return []


def _published(folder: pathlib.Path, hardware: str) -> bool:
    """Whether upstream's workflow builds the image; Dockerfile.a5 is older than its first image."""
    workflow = folder / ".github/workflows/schedule_image_build_and_push.yaml"
    return hardware != "950" or not workflow.exists() or "a5" in workflow.read_text(encoding="utf-8")


def replaced_environment(folder: pathlib.Path) -> dict[str, str]:
    """Environment name -> key of --additional-config that replaces it, from the table in docs."""
    path = folder / "docs/source/user_guide/configuration/additional_config.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return dict(re.findall(r"^\| `([A-Z_0-9]+)` \| `([\w.]+)` \|", text, re.M))


def _chip_checked(folder: pathlib.Path) -> bool:
    """Whether the worker compares the chip that the package was built for with the one it runs on."""
    return any("check_ascend_device_type(" in path.read_text() for path in folder.glob("vllm_ascend/worker/*.py"))
