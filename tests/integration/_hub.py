# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in of Hugging Face, of ModelScope and of a web server with SHA256SUMS, on loopback, for the real clients.

As strict as the hubs are: unknown revisions are 404, a commit names exactly one state, large files are redirected to another address (the CDN),
ranges are honoured there only. Protocols: huggingface_hub 2.4 (model_info, hf_hub_download), modelscope-hub 0.5 (_legacy_api.py, _download.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import json
import ssl
import threading
import time
import typing as t
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "a" * 40
LARGE = 4096  # bytes; larger files are in Git LFS


@dataclasses.dataclass
class Fault:
    """What goes wrong with the content of a file, ``times`` times: an answer of ``status``, a connection cut after ``cut`` bytes, other bytes."""

    status: int = 0
    cut: int = -1
    content: bytes | None = None
    times: int = 1


@dataclasses.dataclass
class Hub:
    """``files``: name to content. ``listed``: entries that a listing has instead, name to size. ``token``: who reads needs it."""

    files: dict[str, bytes]
    token: str = ""
    rate: int = 0
    commit: str = COMMIT
    hide_sha256: bool = False
    certificate: str = ""  # a file with certificate and key: the hub and its CDN speak TLS
    extra: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    faults: dict[str, Fault] = dataclasses.field(default_factory=dict)
    log: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    leaked: list[str] = dataclasses.field(default_factory=list)

    def __enter__(self) -> Hub:
        self.server, self.cdn = (self._start(kind) for kind in (_Hub, _Cdn))
        scheme = "https" if self.certificate else "http"
        self.address = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        self.far = f"{scheme}://localhost:{self.cdn.server_address[1]}"  # another name, because cookies are sent to all ports of one
        return self

    def __exit__(self, *unused: object) -> None:
        for each in (self.server, self.cdn):
            each.shutdown()
            each.server_close()

    def _start(self, kind: type) -> http.server.ThreadingHTTPServer:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (kind,), {"hub": self}))
        server.daemon_threads = True
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def fetched(self, name: str) -> int:
        """How often the content of a file was asked for."""
        return sum(method == "GET" and asked == name for _where, method, asked in self.log)


class _Base(http.server.BaseHTTPRequestHandler):
    protocol_version, hub = "HTTP/1.1", t.cast("Hub", None)

    def log_message(self, *unused: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer()

    def do_HEAD(self) -> None:
        self.answer()

    def reply(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def send_file(self, name: str, ranges: bool, **headers: str) -> None:
        """The content of a file, with its fault."""
        self.hub.log.append((type(self).__mro__[1].__name__, self.command, name))
        content, fault = self.hub.files[name], self.hub.faults.get(name)
        if fault and fault.times > 0 and self.command == "GET":
            fault.times -= 1
            if fault.status:
                self.reply(fault.status, **({"Retry_After": "1"} if fault.status == 429 else {}))
                return
            content = content if fault.content is None else fault.content
        else:
            fault = None
        first, given = 0, self.headers.get("Range", "")
        if ranges and given.startswith("bytes="):
            start, _dash, last = given[6:].partition("-")
            first, end = int(start), int(last) + 1 if last else len(content)
            if first >= len(content):
                self.reply(416, Content_Range=f"bytes */{len(content)}")
                return
            headers["Content_Range"] = f"bytes {first}-{min(end, len(content)) - 1}/{len(content)}"
            content = content[first:end]
        self.send_response(206 if "Content_Range" in headers else 200)
        for key, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault and fault.cut >= 0:
            self.wfile.write(content[: fault.cut])
            self.close_connection = True
            self.connection.close()
            return
        for place in range(0, len(content), 65536):
            self.wfile.write(content[place : place + 65536])
            if self.hub.rate:
                time.sleep(min(65536, len(content) - place) / self.hub.rate)


class _Cdn(_Base):
    def answer(self) -> None:
        """Signed addresses need no token, and must not get one."""
        if "Authorization" in self.headers or "m_session_id" in self.headers.get("Cookie", ""):
            self.hub.leaked.append(self.path)
        self.send_file(unquote(urlsplit(self.path).path[1:]), True, ETag='"cdn"')


class _Hub(_Base):
    def answer(self) -> None:
        """One request of a client."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path)
        if self.hub.token and self.headers.get("Authorization") != f"Bearer {self.hub.token}":
            self.reply(401, b'{"error": "Invalid username or password."}')
        elif path.startswith("/api/models/o/m/revision/"):
            self.model_info(path.rpartition("/revision/")[2])
        elif path.startswith("/o/m/resolve/"):
            revision, _slash, name = path[len("/o/m/resolve/") :].partition("/")
            self.resolve(revision, name)
        elif path == "/api/v1/models/o/m/repo/files":
            self.repo_files(query["Revision"])
        elif path == "/api/v1/models/o/m/repo":
            self.repo(query["Revision"], query["FilePath"])
        elif path == "/web/SHA256SUMS":
            lines = [f"{digest(content)}  {name}\n" for name, content in self.hub.files.items()]
            self.reply(200, "".join(lines).encode())
        elif path.startswith("/web/") and path[5:] in self.hub.files:
            self.send_file(path[5:], True)
        else:
            self.reply(404, b'{"Code": 404, "Message": "not found"}')

    def known(self, revision: str) -> bool:
        """Whether the hub has the revision; otherwise 404."""
        if revision in ("main", "master", "v1", self.hub.commit):
            return True
        self.reply(404, b'{"error": "Invalid rev id"}', X_Error_Code="RevisionNotFound")
        return False

    def model_info(self, revision: str) -> None:
        """HfApi.model_info with files_metadata."""
        if not self.known(revision):
            return
        siblings = []
        for name, content in self.hub.files.items():
            entry: dict[str, t.Any] = {"rfilename": name, "size": self.hub.sizes.get(name, len(content))}
            entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324
            if len(content) > LARGE:
                entry["lfs"] = {"sha256": digest(content), "size": entry["size"], "pointerSize": 134}
            siblings.append(entry)
        siblings += [{"rfilename": each["name"], "size": 1, "blobId": "b" * 40} for each in self.hub.extra]
        body = {
            "_id": "1",
            "id": "o/m",
            "modelId": "o/m",
            "sha": self.hub.commit,
            "siblings": siblings,
            "private": False,
        }
        self.reply(200, json.dumps(body).encode(), Content_Type="application/json")

    def resolve(self, revision: str, name: str) -> None:
        """hf_hub_download: HEAD, then GET."""
        if not self.known(revision):
            return
        content = self.hub.files.get(name)
        if content is None:
            self.reply(404, X_Error_Code="EntryNotFound")
            return
        etag = digest(content) if len(content) > LARGE else hashlib.sha1(content).hexdigest()  # noqa: S324
        if len(content) > LARGE:
            headers = {
                "X_Linked_Size": str(len(content)),
                "X_Linked_Etag": f'"{etag}"',
                "X_Repo_Commit": self.hub.commit,
            }
            self.reply(302, Location=f"{self.hub.far}/{name}", ETag=f'"{etag}"', **headers)
            return
        self.send_file(name, False, X_Repo_Commit=self.hub.commit, ETag=f'"{etag}"')

    def repo_files(self, revision: str) -> None:
        """HubApi.list_repo_files."""
        if not self.known(revision):
            return
        rows = [
            {
                "Path": name,
                "Name": name.rpartition("/")[2],
                "Size": self.hub.sizes.get(name, len(content)),
                "Type": "blob",
                "Sha256": "" if self.hub.hide_sha256 else digest(content),
            }
            for name, content in self.hub.files.items()
        ]
        rows += [{"Path": each["name"], "Name": each["name"], "Size": 1, "Type": "blob"} for each in self.hub.extra]
        self.reply(200, json.dumps({"Code": 200, "Success": True, "Data": {"Files": rows}}).encode())

    def repo(self, revision: str, name: str) -> None:
        """HubApi.download_file."""
        if not self.known(revision) or name not in self.hub.files:
            self.reply(404)
        elif len(self.hub.files[name]) > LARGE:
            self.reply(302, Location=f"{self.hub.far}/{name}")
        else:
            self.send_file(name, False)


def digest(content: bytes) -> str:
    """SHA-256 as text."""
    return hashlib.sha256(content).hexdigest()


def tiny_model(size: int = 200_000) -> dict[str, bytes]:
    """The files of a model with two shards; the weights are valid safetensors of ``size`` bytes each, and differ."""
    files: dict[str, bytes] = {
        "config.json": json.dumps(
            {"architectures": ["Qwen2ForCausalLM"], "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
        ).encode(),
        "tokenizer.json": b"{}",
        "generation_config.json": b"{}",
        "figures/empty.txt": b"",
    }
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for number, name in enumerate(names):
        head = json.dumps({f"t{number}": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
        body = bytes((number + 1 + place * 7) % 251 for place in range(1000)) * (size // 1000 + 1)
        files[name] = len(head).to_bytes(8, "little") + head + body[:size]
    index = {"metadata": {"total_size": 2 * size}, "weight_map": {"t0": names[0], "t1": names[1]}}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    return files
