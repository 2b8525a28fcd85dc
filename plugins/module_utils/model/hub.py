# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a model comes from: its hub, through the hub's own client, or a folder on a web server. Runs where the client is installed.

``modelscope_hub`` and ``huggingface_hub`` do the requests, redirects, retries and resumed transfers. Names, sizes and digests are compared by
this collection, before a file is asked for and after it came.
"""

from __future__ import annotations

import os
import re
import shutil

from ..files import listing
from .web import Refused, Web

KINDS = ("modelscope", "huggingface", "https", "http", "folder")
NAME = re.compile(r"[\w][\w.-]{0,127}/[\w][\w.-]{0,127}", re.ASCII)
REVISION = re.compile(r"[\w][\w./-]{0,127}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
SMALL = (
    *("config.json", "generation_config.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json"),
    "quant_model_description.json",
)
NO_ACCESS = (
    "set the token (model_token) of an account that may read this model, and accept its licence on the page of the hub"
)
FIXES = {
    401: NO_ACCESS,
    403: NO_ACCESS,
    404: "correct the name or the revision, or set the token (model_token) if the model is private",
    429: "the hub limits requests: wait, then run again; it goes on. A token, or a mirror (model_endpoint), has a higher limit",
}
# modelscope_hub, FileIntegrityError; huggingface_hub, "Consistency check failed: file should be of size"
OTHER_CONTENT = re.compile(r"Integrity|hash mismatch|Consistency check failed", re.IGNORECASE)
OTHER = "run again; if that does not help, the revision moved while it was fetched, or a server on the way has a damaged copy"
OTHERWISE = (
    "check the network, the proxy and model_endpoint, then run again; it goes on with the first file that is not whole. If only the controller "
    "reaches the hub, set model_fetch_host: localhost"
)


def is_small(name):
    # type: (str) -> bool
    """Whether a file is read before weights are fetched: it describes the model."""
    return name in SMALL or (name.endswith(".index.json") and "/" not in name)


class Source:
    """``KIND:OWNER/NAME@REVISION`` of a hub, or the address of a folder. Raises ``Refused`` for another text."""

    def __init__(self, text):
        # type: (str) -> None
        self.text = text
        self.kind, _colon, rest = text.partition(":")
        self.name, at, self.revision = rest.partition("@")
        if self.kind not in KINDS:
            raise Refused(f"{text} is no source of a model. Fix: one of modelscope:, huggingface: and https://")
        if self.kind.startswith("http"):
            self.name, self.revision = text, ""
        elif self.kind == "folder" and os.path.isabs(rest):
            self.name, self.revision = rest, ""
        elif not NAME.fullmatch(self.name) or (at and not REVISION.fullmatch(self.revision)) or ".." in rest:
            raise Refused(f"{text} is no name on a hub. Fix: write {self.kind}:OWNER/NAME@REVISION")

    @property
    def pinned(self):
        # type: () -> bool
        """Whether the files cannot become others: a revision is a commit, not a branch or tag; a folder is read once."""
        return self.kind == "folder" or bool(COMMIT.fullmatch(self.revision))


def client(source, endpoint="", token="", home="", authority=""):
    # type: (Source, str, str, str, str) -> t.Any
    """An object with ``files()`` -> (revision, [{name, size, sha256, git}]) and ``fetch(file, folder)``.

    ``home`` is a folder for what the hub's client keeps, ``authority`` a file with certificates. The token goes to the client alone.
    """
    for name in ("HF_HOME", "MODELSCOPE_HOME", "MODELSCOPE_CACHE"):
        os.environ[name] = home
    os.environ.update(HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_UPDATE_CHECK="1")
    os.environ.update(HF_HUB_DISABLE_IMPLICIT_TOKEN="1", MODELSCOPE_LOG_LEVEL="40", TQDM_DISABLE="1")
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN"):
        os.environ.pop(name, None)
    if authority:
        os.environ.update(SSL_CERT_FILE=authority, REQUESTS_CA_BUNDLE=authority)
    if source.kind == "folder":
        return OnHost(source.name)
    if source.kind == "huggingface":
        if endpoint:
            os.environ.update(HF_ENDPOINT=endpoint, HF_HUB_DISABLE_XET="1")  # mirrors have no Xet server
        return HuggingFace(source, endpoint, token)
    return ModelScope(source, endpoint, token) if source.kind == "modelscope" else Folder(source, token, authority)


def asked(source, token, call):
    # type: (Source, str, t.Callable[[], t.Any]) -> t.Any
    """What a call of a client returns; its errors become ``Refused``, with the fix and without the token."""
    try:
        return call()
    except Refused:
        raise
    except Exception as error:  # each client has classes of its own, of several libraries below it
        answers = (error, getattr(error, "response", None), error.__cause__)
        known = [getattr(each, name, None) for each in answers for name in ("status_code", "code")]
        code = next((each for each in known if each), None)
        text = " ".join(str(error).split()).replace(token or "\0", "***")[:1000]
        fix = OTHER if OTHER_CONTENT.search(f"{type(error).__name__} {text}") else FIXES.get(code, OTHERWISE)
        raise Refused(f"{source.text}: {type(error).__name__}: {text}. Fix: {fix}") from error


class HuggingFace:
    """Requires ``huggingface_hub`` 1 or later. API: https://huggingface.co/docs/huggingface_hub, HfApi.model_info and hf_hub_download."""

    def __init__(self, source, endpoint, token):
        import huggingface_hub

        self.hub, self.source = huggingface_hub, source
        self.access, self.token = {"endpoint": endpoint or None, "token": token or False}, token
        self.revision = source.revision or "main"

    def files(self):
        """The listing at the commit that the revision means now."""
        api = self.hub.HfApi(**self.access)
        found = asked(
            self.source,
            self.token,
            lambda: api.model_info(self.source.name, revision=self.revision, files_metadata=True),
        )
        if not COMMIT.fullmatch(str(found.sha)):
            raise Refused(f"{self.source.text}: the hub named no commit of the revision {self.revision}")
        if COMMIT.fullmatch(self.revision) and found.sha != self.revision:
            raise Refused(f"{self.source.text}: the hub answered with the commit {found.sha}")
        self.revision = found.sha
        return found.sha, [
            {
                "name": each.rfilename,
                "size": each.size,
                "sha256": str((each.lfs or {}).get("sha256") or ""),
                "git": "" if each.lfs else str(each.blob_id or ""),
            }
            for each in found.siblings or []
            if os.path.basename(str(each.rfilename)) not in listing.NOT_NEEDED
        ]

    def fetch(self, file, folder):
        """One file into the folder, at the commit of the listing."""
        place = {"revision": self.revision, "local_dir": folder}
        call = self.hub.hf_hub_download
        asked(self.source, self.token, lambda: call(self.source.name, file["name"], **place, **self.access))


class ModelScope:
    """Requires ``modelscope-hub``, which modelscope itself uses. API: https://modelscope.cn/docs, HubApi.list_repo_files and download_file."""

    def __init__(self, source, endpoint, token):
        from modelscope_hub import HubApi

        self.source, self.revision, self.token = source, source.revision or "master", token
        self.api = HubApi(endpoint=endpoint or None, token=token or None)

    def files(self):
        """The listing of the revision; the hub names no commit, so that the digests decide what was meant."""
        call = self.api.list_repo_files
        found = asked(self.source, self.token, lambda: call(self.source.name, "model", revision=self.revision))
        return self.revision, [
            {"name": each.path, "size": each.size, "sha256": str(each.sha256 or ""), "git": ""}
            for each in found
            if not each.is_dir and os.path.basename(str(each.path)) not in listing.NOT_NEEDED
        ]

    def fetch(self, file, folder):
        """One file into the folder; what a killed run has of it is continued."""
        known = {"expected_sha256": file["sha256"] or None, "file_size": file["size"]}
        place = {"revision": self.revision, "local_dir": folder}
        call = self.api.download_file
        asked(self.source, self.token, lambda: call(self.source.name, "model", file["name"], **place, **known))


class Folder(Web):
    """A folder of a web server, see ``Web``."""

    def __init__(self, source, token, authority):
        super().__init__(source.name, token, authority)
        self.source, self.token = source, token

    def files(self):
        """As ``Web.files``, with the fix in the error."""
        return asked(self.source, self.token, super().files)

    def fetch(self, file, folder):
        """As ``Web.fetch``, with the fix in the error."""
        call = super().fetch
        asked(self.source, self.token, lambda: call(file, folder))


class OnHost:
    """A folder of this host that somebody else brought. Names with a leading dot are what clients of hubs keep, and no files of the model."""

    def __init__(self, path):
        self.path = path.rstrip("/")

    def place(self, name):
        """The file to hand out under a name: a repaired config.json has its original beside it."""
        backup = os.path.join(self.path, listing.BACKUP)
        return backup if name == "config.json" and os.path.isfile(backup) else os.path.join(self.path, name)

    def files(self):
        """What the record says if the sizes are right, else each file with its SHA-256, which reads all of them."""
        record = listing.read(self.path)
        if record and not listing.differences(self.path, record["files"]):
            return "", [dict(each, git="") for each in record["files"]]
        if not os.path.isdir(self.path):
            raise Refused(
                f"{self.path} is no folder on this host. Fix: set model_origin to the folder of the model there"
            )
        names = sorted(
            name for name in listing.names_in(self.path) if not any(part[0] == "." for part in name.split("/"))
        )
        links = [name for name in names if os.path.islink(os.path.join(self.path, name))]
        if links:
            raise Refused(
                f"{self.path} has links, which are not followed: {', '.join(links[:3])}. Fix: copy the model with cp -rL, or fetch it "
                "with hf download --local-dir or modelscope download --local_dir"
            )
        return "", [self._listed(name) for name in names]

    def _listed(self, name):
        path = self.place(name)
        return {"name": name, "size": os.path.getsize(path), "sha256": listing.sha256_of(path)[0], "git": ""}

    def fetch(self, file, folder):
        """A copy of one file."""
        path = os.path.join(folder, file["name"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(self.place(file["name"]), path)
