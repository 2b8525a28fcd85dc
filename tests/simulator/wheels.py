# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated wheels: small, with the real names, versions and pins, for an index without network.

``python wheels.py DIRECTORY RELEASE [CHIP]`` builds what a release needs.  vllm-ascend is built for A2, as every wheel of the package
index is; with CHIP (A3, ...) it simulates a wheel that a site built itself.  The wheel of ``vllm`` contains the engine simulator as its
program.  There are two variants: ``X+empty`` (VLLM_TARGET_DEVICE=empty, no pin on torch) and, with
``published=True``, plain ``X`` with the pin of the package index, which conflicts with vllm-ascend's.

Source of the pins: metadata of the source distributions of vllm-ascend and of vLLM's published wheels of those versions.
"""

from __future__ import annotations

import base64
import hashlib
import pathlib
import sys
import zipfile

ENGINE = pathlib.Path(__file__).with_name("vllm_ascend")
RELEASES = {
    "0.9.1": {
        "vllm": "0.9.1", "vllm_torch": "2.7.0", "torch": "2.5.1", "torch_npu": "2.5.1.post1", "torchvision": "0.20.1",
        "python": ">=3.9", "more": ["numpy<2.0.0", "transformers<4.53.0"],
    },
    "0.11.0": {
        "vllm": "0.11.0", "vllm_torch": "2.8.0", "torch": "2.7.1", "torch_npu": "2.7.1", "torchvision": "0.22.1",
        "python": ">=3.9", "more": ["numpy<2.0.0", "transformers<=4.57.1", "fastapi<0.124.0"],
    },
    "0.13.0": {
        "vllm": "0.13.0", "vllm_torch": "2.9.0", "torch": "2.8.0", "torch_npu": "2.8.0.post2", "torchvision": "0.23.0",
        "triton_ascend": "3.2.0", "python": ">=3.10",
        "more": ["numpy<2.0.0", "transformers<5,>=4.57.4", "fastapi<0.124.0"],
    },
    "0.18.0": {
        "vllm": "0.18.0", "vllm_torch": "2.10.0", "torch": "2.9.0", "torch_npu": "2.9.0", "torchvision": "0.24.0",
        "torchaudio": "2.9.0", "triton_ascend": "3.2.0", "python": ">=3.10",
        "more": ["numpy<2.0.0", "transformers>=4.57.4", "fastapi<0.124.0"],
    },
    "0.23.0": {
        "vllm": "0.23.0", "vllm_torch": "2.11.0", "torch": "2.10.0", "torch_npu": "2.10.0.post4",
        "torchvision": "0.25.0", "torchaudio": "2.10.0", "triton_ascend": "3.2.2", "mooncake": "0.3.11.post1",
        "python": ">=3.10", "more": ["numpy", "transformers==5.5.4", "fastapi<0.124.0"],
    },
    "0.24.0rc1": {  # without vllm_torch, which only published=True needs
        "vllm": "0.24.0", "torch": "2.10.0", "torch_npu": "2.10.0.post2",
        "torchvision": "0.25.0", "torchaudio": "2.10.0", "triton_ascend": "3.2.1", "mooncake": "0.3.11.post1",
        "python": ">=3.10", "more": ["numpy", "transformers==5.13.0", "fastapi<0.124.0"],
    },
}  # fmt: skip
SMALL = {"numpy": "1.26.4", "fastapi": "0.123.10"}
TRANSFORMERS = {
    "0.9.1": "4.52.4",
    "0.11.0": "4.57.1",
    "0.13.0": "4.57.6",
    "0.18.0": "4.57.6",
    "0.23.0": "5.5.4",
    "0.24.0rc1": "5.13.0",
}
for table in (RELEASES, TRANSFORMERS):
    table["0.23.0.post1"] = table["0.23.0"]  # the same pins

ENGINE_MODULE = "ascend_simulator_engine"


def wheel(folder, name, version, requires=(), files=None, python=">=3.9", scripts=None, tag="py3-none-any"):
    """Write one wheel -> its path. ``files``: path in the wheel -> text; ``scripts``: program -> "module:function"."""
    stem = f"{name.replace('-', '_')}-{version}"
    information = f"{stem}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Requires-Python: {python}"]
    lines += ["Summary: simulated package of the ascend.inference tests, not the real one"]
    lines += [f"Requires-Dist: {require}" for require in requires]
    contents = dict(files or {})
    contents[f"{information}/METADATA"] = "\n".join(lines) + "\n"
    contents[f"{information}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: simulator\nRoot-Is-Purelib: true\nTag: {tag}\n"
    if scripts:
        programs = [f"{program} = {place}" for program, place in sorted(scripts.items())]
        contents[f"{information}/entry_points.txt"] = "[console_scripts]\n" + "\n".join(programs) + "\n"
    record = []
    for path, text in sorted(contents.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(text.encode())}")
    record.append(f"{information}/RECORD,,")
    contents[f"{information}/RECORD"] = "\n".join(record) + "\n"
    path = pathlib.Path(folder) / f"{stem}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, text in sorted(contents.items()):
            archive.writestr(inside, text)
    return path


def module(name, version):
    """The only file of a simulated module."""
    return {f"{name}/__init__.py": f'"""Stand-in of the ascend.inference tests."""\n\n__version__ = "{version}"\n'}


def vllm_ascend(release, chip):
    """The plugin's files: its version, and from 0.12.0rc1 on the chip that it was built for."""
    files = module("vllm_ascend", release)
    if release not in ("0.9.1", "0.11.0"):
        files["vllm_ascend/_build_info.py"] = f"# Auto-generated file\n__device_type__ = '{chip}'\n"
    return files


def engine_files():
    """The engine simulator as a package inside a wheel."""
    files = sorted(ENGINE.glob("*.py")) + [ENGINE / "flags.json", ENGINE / "messages.json"]
    return {f"{ENGINE_MODULE}/{file.name}": file.read_text(encoding="utf-8") for file in files}


def vllm(folder, row, published=False):
    """vLLM, with the simulator as its program."""
    version = row["vllm"] + ("" if published else "+empty")
    requires = ["numpy", "transformers>=4.51.1"]
    if published:
        requires += [f"torch=={row['vllm_torch']}", "torchvision", "torchaudio"]
    scripts = {"vllm": f"{ENGINE_MODULE}.__main__:main"}
    return wheel(folder, "vllm", version, requires, {**module("vllm", version), **engine_files()}, ">=3.9", scripts)


def mooncake(folder, version):
    """Mooncake's NPU wheel: it has modules but no store (the engine then uses the simulator's store)."""
    files = module("mooncake", version)
    files["mooncake/engine.py"] = '"""Stand-in."""\n\n\nclass TransferEngine:\n    """Moves nothing."""\n'
    files["mooncake/store.py"] = (
        '"""Stand-in."""\n\nMooncakeDistributedStore = None\n\n\nclass ReplicateConfig:\n    """Says nothing."""\n'
    )
    return wheel(folder, "mooncake-transfer-engine-npu", version, (), files)


def stack(folder, release, published=False, without=(), only=(), chip="A2"):
    """All wheels of a release -> {name: path}, or ``only`` some; ``without`` omits some, like an index that does not have them."""
    row = RELEASES[release]
    torch = row["torch"]
    needs = [f"torch=={torch}", f"torch-npu=={row['torch_npu']}", *row["more"]]
    needs += [
        f"{name.replace('_', '-')}=={row[name]}"
        for name in ("torchvision", "torchaudio", "triton_ascend")
        if name in row
    ]
    made = {
        "torch": lambda: wheel(folder, "torch", torch, (), module("torch", torch)),
        "torch-npu": lambda: wheel(
            folder, "torch-npu", row["torch_npu"], [f"torch=={torch}"], module("torch_npu", row["torch_npu"])
        ),
        "vllm": lambda: vllm(folder, row, published),
        "vllm-ascend": lambda: wheel(folder, "vllm-ascend", release, needs, vllm_ascend(release, chip), row["python"]),
        "transformers": lambda: wheel(
            folder, "transformers", TRANSFORMERS[release], ["numpy"], module("transformers", TRANSFORMERS[release])
        ),
    }
    for name in ("torchvision", "torchaudio", "triton_ascend"):
        if name in row:
            pins = [f"torch=={torch}"] if name != "triton_ascend" else []
            made[name.replace("_", "-")] = lambda n=name, p=pins: wheel(
                folder, n.replace("_", "-"), row[n], p, module(n, row[n])
            )
    if "mooncake" in row:
        made["mooncake-transfer-engine-npu"] = lambda: mooncake(folder, row["mooncake"])
    for name, version in SMALL.items():
        made[name] = lambda n=name, v=version: wheel(folder, n, v, (), module(n, v))
    return {name: make() for name, make in made.items() if name not in without and name in (only or made)}


def offline(folder):
    """The variables of the roles that install: packages only from the wheels in this folder, and no library of Mooncake."""
    found = {"mooncake_libraries": {}, "torch_npu_requirements": ["numpy"]}
    for role in ("mooncake", "torch_npu", "vllm_ascend"):
        found.update({f"{role}_find_links": [str(folder)], f"{role}_offline": True})
    return found


if __name__ == "__main__":
    for place in stack(*sys.argv[1:3], chip=(sys.argv[3:] or ["A2"])[0]).values():
        print(place)
