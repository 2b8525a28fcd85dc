# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make what a release consists of: `make artefact`, `make artefact SIGN=KEY`.

    python .ci/artefact.py SOURCE FOLDER [--sign KEY]

SOURCE is a copy of the files that git knows. FOLDER gets:

* `ascend-inference-VERSION.tar.gz`, built twice: two builds with unequal bytes are an error;
* `ascend-inference-VERSION.cdx.json`, a list of its files and of what it needs, in CycloneDX 1.6;
* `SHA256SUMS` of both;
* with a key, `SHA256SUMS.asc`, and `ascend-inference-VERSION.asc`, the signature of MANIFEST.json, which Galaxy and hubs take.

`ansible-galaxy collection build` writes times of files, the order of a folder and the user's name into its archive. So the archive is written again
from its content: sorted, owned by root, of the time of the last commit (SOURCE_DATE_EPOCH, if it is set). Needs ansible-galaxy on PATH, and gpg to sign.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST, FILES = "MANIFEST.json", "FILES.json"


def digest(content: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def git(*arguments: str) -> str:
    """What git says about this checkout."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def epoch() -> int:
    """The time of everything in the archive, in seconds: SOURCE_DATE_EPOCH, or that of the last commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def built(source: Path) -> dict[str, bytes | None]:
    """The content of one build of `ansible-galaxy`: path -> bytes, None for a folder."""
    with tempfile.TemporaryDirectory(prefix="artefact-") as folder:
        command = ["ansible-galaxy", "collection", "build", str(source), "--output-path", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            return {
                member.name.removeprefix("./"): tar.extractfile(member).read() if member.isfile() else None
                for member in tar.getmembers()
            }


def executable(source: Path, name: str) -> bool:
    """Whether a file may be run: the one bit of its mode that git keeps, and no umask changes."""
    return (source / name).is_file() and bool((source / name).stat().st_mode & 0o100)


def in_order(content: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """The same with the list of files sorted, and its new digest where MANIFEST.json names it."""
    files = json.loads(content[FILES])
    files["files"].sort(key=lambda entry: entry["name"])
    listed = json.dumps(files, indent=1, sort_keys=True).encode()
    manifest = json.loads(content[MANIFEST])
    manifest["file_manifest_file"]["chksum_sha256"] = digest(listed)
    return {**content, FILES: listed, MANIFEST: json.dumps(manifest, indent=1, sort_keys=True).encode()}


def packed(content: dict[str, bytes | None], source: Path, seconds: int) -> bytes:
    """The archive: equal content gives equal bytes. Ansible reads MANIFEST.json first, so that and the list of files begin."""
    tape = io.BytesIO()
    with tarfile.open(fileobj=tape, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in [MANIFEST, FILES, *sorted(set(content) - {MANIFEST, FILES, "."})]:
            data = content[name]
            member = tarfile.TarInfo(name)
            member.mtime = seconds
            member.mode = 0o755 if data is None or executable(source, name) else 0o644
            member.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            member.size = len(data or b"")
            tar.addfile(member, io.BytesIO(data or b""))
    return gzip.compress(tape.getvalue(), compresslevel=9, mtime=seconds)


def bill(content: dict[str, bytes | None], archive: bytes, commit: str) -> dict:
    """The list of parts in CycloneDX 1.6: each file with its digest, and what the collection needs, as ranges."""
    about = json.loads(content[MANIFEST])["collection_info"]
    name, version = f"{about['namespace']}.{about['name']}", about["version"]
    needed = {f"collection {each}": wanted for each, wanted in sorted(about["dependencies"].items())}
    needed["ansible-core"] = _core(content["meta/runtime.yml"].decode())
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest(archive))}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": name,
                "name": name,
                "version": version,
                "hashes": [{"alg": "SHA-256", "content": digest(archive)}],
                "licenses": [{"license": {"id": each}} for each in about["license"]],
                "externalReferences": [{"type": "vcs", "url": about["repository"], "comment": f"commit {commit}"}],
            }
        },
        "components": [
            *({"type": "library", "bom-ref": each, "name": each, "version": needed[each]} for each in sorted(needed)),
            *(
                {"type": "file", "name": path, "hashes": [{"alg": "SHA-256", "content": digest(data)}]}
                for path, data in sorted(content.items())
                if data is not None
            ),
        ],
        "dependencies": [{"ref": name, "dependsOn": sorted(needed)}],
    }


def _core(runtime: str) -> str:
    """The range of ansible-core in the text of meta/runtime.yml."""
    (line,) = [each for each in runtime.splitlines() if each.startswith("requires_ansible:")]
    return line.partition(":")[2].strip().strip("\"'")


def make(source: Path, folder: Path) -> tuple[Path, bytes]:
    """Build twice, compare, write archive, bill and sums; returns the archive's path, and MANIFEST.json, which a key signs."""
    seconds = epoch()
    with tempfile.TemporaryDirectory(prefix="artefact-") as other:
        again = Path(other) / "ansible_collections" / "ascend" / "inference"
        shutil.copytree(source, again, copy_function=shutil.copyfile)  # other times, users and order
        for path in source.rglob("*"):
            if path.is_file():
                shutil.copymode(path, again / path.relative_to(source))
        content, second = in_order(built(source)), in_order(built(again))
        archive, twin = packed(content, source, seconds), packed(second, again, seconds)
    if archive != twin:
        unequal = sorted(name for name in {*content, *second} if content.get(name) != second.get(name))
        raise SystemExit(
            f"Two builds of the same files are not equal, so nobody can check the archive: {unequal or 'modes'}"
        )
    about = json.loads(content[MANIFEST])["collection_info"]
    stem = f"{about['namespace']}-{about['name']}-{about['version']}"
    commit = git("rev-parse", "HEAD") + (" with uncommitted changes" if git("status", "--porcelain") else "")
    texts = {
        f"{stem}.tar.gz": archive,
        f"{stem}.cdx.json": (json.dumps(bill(content, archive, commit), indent=1) + "\n").encode(),
    }
    texts["SHA256SUMS"] = "".join(f"{digest(texts[name])}  {name}\n" for name in sorted(texts)).encode()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return folder / f"{stem}.tar.gz", content[MANIFEST]


def sign(key: str, archive: Path, manifest: bytes) -> None:
    """Sign the sums for everybody, and the manifest for Galaxy and hubs."""
    command = ["gpg", "--batch", "--yes", "--local-user", key, "--armor", "--detach-sign", "--output"]
    sums = archive.parent / "SHA256SUMS"
    subprocess.run([*command, f"{sums}.asc", str(sums)], check=True)
    own = archive.with_name(archive.name.removesuffix(".tar.gz") + ".asc")
    subprocess.run([*command, str(own), "-"], input=manifest, check=True)


def main() -> None:
    """Make the files and print their sums."""
    parser = argparse.ArgumentParser(description="Make what a release consists of")
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sign", metavar="KEY", help="a secret key of gpg")
    given = parser.parse_args()
    archive, manifest = make(given.source.resolve(), given.folder.resolve())
    if given.sign:
        sign(given.sign, archive, manifest)
    else:
        print("not signed: SIGN=KEY names a secret key of gpg", file=sys.stderr)
    print((given.folder / "SHA256SUMS").read_text(), end="")


if __name__ == "__main__":
    main()
