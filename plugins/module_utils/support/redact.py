# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines without secrets and without texts of clients.

Rather too much is removed than too little: from the first place of a line that may begin such a text, the rest of the line is left out, and
with it the following lines that do not begin like lines of a log, because a prompt may have several lines.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Iterable, Iterator
from urllib.parse import quote

from .exceptions import LEFT_OUT, Messages

LEAST = 6  # bytes of a known secret that is sought in base64 too: shorter forms are parts of other words
# Texts of clients and models: fields of requests and answers as JSON, as Python's repr and as text of vLLM's request logger (0.9 to 0.32:
# "prompt: '...'", "params: SamplingParams(...)", "JSON body: {...}", "output: '...'"), its dumps after a failed step, tracebacks of pydantic.
_FIELDS = (
    "prompt|prompts|prompt_token_ids|prompt_embeds|messages|content|reasoning|reasoning_content|text|input|inputs|input_value|input_ids|query|"
    "queries|documents|output|outputs|output_token_ids|outputs_text|token_ids|arguments|stop|suffix|params|sampling_params|body|raw_body|"
    "request_body|image_url|delta|generated_text|scheduler_output|guided_json|structured_outputs|choices|logprobs"
)
# The quotes of JSON within JSON have backslashes. A number is a counter only if another field follows, or nothing.
_COUNTER = r"\s*\d+(?:\s*[;,]\s*[\w.-]+\s*[:=]|[;,)\]}\s]*$)"
_CLIENT = re.compile(rf"""(?<![\w.-])["']?(?:{_FIELDS})\\*["']?\s*(?:[:=])(?!{_COUNTER})""", re.IGNORECASE)
# Dumps of vLLM, prompts as templates render them, pictures, and texts in base64: more characters than a digest or a name has, of both cases.
_DUMP = re.compile(
    r"Dumping (?:input data|scheduler output)|NewRequestData\(|SamplingParams\(|EngineCoreRequest\(|<[|\uff5c][\w\u2581]+[|\uff5c]>|\[INST\]"
    r"|data:[\w.+-]+/[\w.+-]+;base64,|(?<![\w/+.-])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])[A-Za-z0-9+][A-Za-z0-9+/]{99}"
)
# Secrets by their form. The value may be quoted. A text of a client may have been written to make a pattern slow, so each word is tried once,
# from its begin and as a whole: the group without a way back is that of the lookahead.
_QUOTED = r"""b?"(?:[^"\\]|\\.|"")*"|b?'(?:[^'\\]|\\.|'')*'"""
_LAST = r"""[\["'\\]*(?:(?:Bearer|Basic|Digest|Token|ApiKey)\s+)?[^\s"'\\,;&)}\]][^\s"',;&)}\]]*"""
# After the name: a colon, in Chinese texts a wide one, a comma within a list of words or pairs, or a space, as in a sentence.
_BETWEEN = r"""\\*["']?(?:\s*[:=：]\s*|\s*,\s*(?=b?["'])|\s+(?:(?:is|was)\s+)?)"""
_VALUE = rf"""{_BETWEEN}(?:\[[^\]]*\]?|{_QUOTED}|{_LAST})"""
_KEYS = (
    "api[_-]?key|access[_-]?key|secret|password|passwd|passphrase|private[_-]?key|auth[_-]?token|access[_-]?token|hf[_-]?token|basic[_-]?auth"
    "|(?:account|auth|client|consumer|encryption|hmac|license|master|service|session|shared|signing|storage|subscription)[_-]?key"
    "|requirepass|masterauth|密码|口令|密钥|令牌"
)
# Names that end so; but for tokens of a vocabulary. Those of the environment have capitals: forward_pass is no secret.
_ENDS = "authorization|cookie|signature|token"
_ENVIRONMENT = "(?-i:[A-Z0-9_]+_(?:AK|CREDENTIALS?|KEY|PASS|SK)|SSHPASS)"
_VOCABULARY = "(?:[\\w-]*[_-])?(?:audio|bos|cls|eos|first|image|last|mask|new|next|output|pad|per|prompt|sep|special|stop|unk|video)[_-]token(?![\\w-])"
_NAMED = re.compile(
    rf"""(?<![\w-])(?!{_VOCABULARY})(?=[\w-]*?(?:{_KEYS})|[\w-]*(?:{_ENDS})(?![\w-])"""
    rf"""|[\w-]*[_-]pwd(?![\w-])|{_ENVIRONMENT}(?![\w-]))(?=([\w-]+))\1{_VALUE}""",
    re.IGNORECASE,
)
# A header has words, commas and quotes of its own, so the rest of the line is its value, but for one in quotes.
_HEADER = re.compile(
    rf"""(?<![\w-])(?=[\w-]*(?:authorization|cookie)(?![\w-]))(?=([\w-]+))\1\\*["']?\s*[:=,：]\s*(?:{_QUOTED}|(?![\[{{(]).+)""",
    re.IGNORECASE,
)
# An option of a command takes all words up to the next one, as several keys of vLLM; -u and --user a name and a password.
_OPTION = re.compile(
    rf"""(?<![\w-])(?=--[\w-]*?(?:{_KEYS}|token(?![\w-])))(?=([\w-]+))\1(?:[ \t]+(?![-\s])[^\s"']+)+""", re.IGNORECASE
)
_USER = re.compile(r"""(?<![\w-])(-u|--(?:proxy-)?user)(?:\s+|=)\\*["']?[^\s"':]{1,200}:[^\s"']+""")
_PHRASE = re.compile(
    rf"(?<![\w-])((?:access|api|encryption|license|private|secret|signing)\s+key){_VALUE}", re.IGNORECASE
)
# Short names are words of every log, so a separator has to follow them; their value may be an object.
_SHORT = re.compile(
    rf"""(?<![\w-])(["']?)(pass|pwd|credentials?|auth|ak|sk|sig)\\*\1\s*[:=：]\s*(?:\{{[^{{}}]*\}}|\([^()]*\)|{_QUOTED}|[^\s"',;&)}}\]]+)""",
    re.IGNORECASE,
)
_QUERY = re.compile(r"(?<=\?)[^\s\"?]+(?= HTTP/\d)")  # of a request in an access log
_ADDRESS = re.compile(
    r"""(?<=://)([^\s?"'<>]{1,1000}\?)(?!key=mooncake%2F)[^\s"'<>]+"""
)  # with a query, but for those of Mooncake to its metadata
_MAIL = re.compile(r"(?<![\w.+-])[\w+-][\w.+-]{0,63}@(?:[\w-]{1,63}\.)+[A-Za-z]{2,}(?![\w-])", re.ASCII)
_FORMS = re.compile(
    r"\b(?:sk-[\w-]{8,}|hf_[A-Za-z0-9]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"
    r"|\b[Bb]earer\s+[^\s\"',;]+|(?<=://)[^\s\"'<>]{1,300}(?=@)"
)
_SECRETS = (
    (_ADDRESS, rf"\1{LEFT_OUT}"),
    (_FORMS, LEFT_OUT),
    (_HEADER, rf"\1={LEFT_OUT}"),
    (_OPTION, rf"\1={LEFT_OUT}"),
    (_USER, rf"\1={LEFT_OUT}"),
    (_NAMED, rf"\1={LEFT_OUT}"),
    (_PHRASE, rf"\1={LEFT_OUT}"),
    (_SHORT, rf"\2={LEFT_OUT}"),
)
_KEY_BEGIN, _KEY_END = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), re.compile(r"-----END [A-Z ]*PRIVATE KEY")
# Each line of a message of vLLM begins like its first one: with the process, and in the main log with level, time and place in the source.
_PROCESS = re.compile(r"(?:\((?:[\w ]*pid=|EngineCore|APIServer|Worker|ApiServer)[^)]*\) ?)+")
_PLACE = re.compile(r"[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?")
# How lines of vLLM, its workers, vllm-router, uvicorn, the proxies, Mooncake's glog (of any version), CANN's plog and its error manager, torch-npu,
# etcd and HAProxy begin; and tracebacks of Python, whose lines of source are indented. Errors of NPUs follow the dump of a scheduler that died.
_BEGIN = re.compile(
    r"""\x1b\[|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"""
    r"""|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[IWEF](?:20\d\d)?\d{4} |\{"level"|Traceback \(|  File "|During handling|The above exception"""
    r"""|\[(?:EVENT|DEBUG|INFO|WARNING|ERROR)\]|\[rank\d{1,5}\]:|\[[IWEF]\d{3,4} \d\d:\d\d:\d\d\.\d+ |\[\d{1,9}\] \[\d{4}-\d\d-\d\d """
    r"""|E[A-Z0-9]\d{4}(?::? ?\[PID: \d|: Inner Error!)|\[PID: \d{1,9}\] \d{4}-|\[Error\]: |terminate called |Segmentation fault|Fatal Python error: """
    r"""|[\w.]+(?:Error|Exception|Interrupt)(?::|$)|note: run with `RUST_BACKTRACE|stack backtrace:$"""
)


def _begin_of(line: str) -> str:
    """Process, level, time and place of a line of vLLM; empty for other lines."""
    process = _PROCESS.match(line)
    place = _PLACE.match(line, process.end() if process else 0)
    return line[: place.end()] if place else ""


def _process_of(line: str) -> int:
    """Where the text begins after the process that a worker writes before it."""
    process = _PROCESS.match(line)
    return process.end() if process else 0


def _begins(line: str, begin: str) -> bool:
    """Whether a line after a text of a client is another message, and not its next line. ``begin``: that of the message with the text."""
    same = begin and line.startswith(begin.rstrip())
    return not same and bool(_BEGIN.match(line[_process_of(line) :]))


def _forms(secret: str) -> Iterator[str]:
    """A known secret as programs write it: in a URL, in JSON, in base64 and in hexadecimal numbers."""
    yield from (secret, json.dumps(secret)[1:-1])
    for form in (quote(secret, safe=""), quote(secret)):
        yield from (form, re.sub("%[0-9A-F]{2}", lambda found: found.group().lower(), form))
    data = secret.encode("utf-8")
    if len(data) >= LEAST:
        yield from (base64.b64encode(data).decode("ascii").rstrip("="), data.hex())


class Redactor:
    """Removes known values and everything that looks like a secret or like a text of a client. Counts what it left out."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        plain = {part for secret in secrets for part in [secret, *secret.split()] if part}
        # Longer ones first: one may be part of another.
        self.known = sorted({form for part in plain for form in _forms(part)}, key=len, reverse=True)
        self.counts = {"secrets": 0, "texts": 0}

    def lines(self, lines: Iterable[str], cut: bool = False) -> list[str]:
        """The lines of one log, in order. cut: earlier lines are missing, so the first ones may be the rest of a text."""
        found: list[str] = []
        within_text, within_key, begin = cut, False, ""
        messages = Messages()
        for line in lines:
            if within_key or _KEY_BEGIN.search(line):
                self.counts["secrets"] += not within_key
                within_key = not _KEY_END.search(line)
                found += [] if found and found[-1] == LEFT_OUT else [LEFT_OUT]
                continue
            if within_text and not _begins(line, begin):
                if found and not found[-1].endswith(LEFT_OUT):
                    found[-1] += f" {LEFT_OUT}"
                    self.counts["texts"] += 1
                continue
            begin = _begin_of(line)
            line, continues = messages.line(line, len(begin) or _process_of(line))
            line, within_text = self._line(line)
            within_text = within_text or continues
            found.append(line)
        self.counts["texts"] += messages.left_out
        return found

    def _line(self, line: str) -> tuple[str, bool]:
        """(the line, whether the rest of it was a text of a client)."""
        places = [match.end() for match in (_CLIENT.search(line),) if match]
        places += [match.start() for match in (_DUMP.search(line),) if match]
        if places:
            self.counts["texts"] += 1
            line = f"{line[: min(places)]} {LEFT_OUT}"
        return self.without_secrets(line), bool(places)

    def without_known(self, text: str) -> str:
        """The text without known secrets; what only looks like one stays."""
        for value in self.known:
            self.counts["secrets"] += text.count(value)
            text = text.replace(value, LEFT_OUT)
        return text

    def without_secrets(self, line: str) -> str:
        """The line without known secrets, and without what looks like one."""
        line = self.without_known(line)
        for pattern, replacement in _SECRETS:
            line, number = pattern.subn(replacement, line)
            self.counts["secrets"] += number
        for pattern in (_QUERY, _MAIL):
            line, number = pattern.subn(LEFT_OUT, line)
            self.counts["texts"] += number
        return line
