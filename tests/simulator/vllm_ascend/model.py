# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model: its files, its tokens, its "KV cache" and its text.

There is no network to run.  The KV of a block of tokens is a hash of the model's files and of all tokens up to the
block's end; the next token is a hash of the model, of the text so far, and of whether the KV is the right one.
So text and KV depend on every token of the prompt and on the model, P and D return the same text only with the same
model, and a decode with wrong KV repeats one wrong piece forever, as users report it.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
import zlib

from .errors import Died

NOT_WEIGHTS = ("head_dim", "torch_dtype", "dtype", "transformers_version", "_name_or_path")
BLOCK_BYTES = 1024  # of "KV" per block, over all ranks
START, VOWELS, END = "bdfgklmnprstvz", "aeiou", ["", "n", "r", "s", "l", "m"]


def tokenize(text):
    """Pieces of at most four letters; joined they are the original text."""
    return re.findall(r"\s*\w{1,4}|\s*[^\w\s]|\s+", text)


def token_id(piece):
    return zlib.crc32(piece.encode()) % 151643


class Model:
    """The files of a model directory."""

    def __init__(self, path, overrides=None):
        self.path = pathlib.Path(path)
        try:
            self.config = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
        except OSError as error:
            raise Died(
                f"ValueError: Invalid repository ID or local directory specified: '{path}'.\n"
                "Please verify the following requirements:\n1. Provide a valid Hugging Face repository ID.\n"
                "2. Specify a local directory that contains a recognized configuration file.\n"
                "   - For Hugging Face models: ensure the presence of a 'config.json'."
            ) from error
        except ValueError as error:
            raise Died(
                f"OSError: It looks like the config file at '{path}/config.json' is not a valid JSON file."
            ) from error
        self.effective = {**self.config, **(overrides or {})}
        self.digest = self._digest()

    def _digest(self):
        config = {key: value for key, value in self.config.items() if key not in NOT_WEIGHTS}
        total = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
        for file in sorted(self.path.iterdir()):
            if file.is_file() and (file.suffix in (".safetensors", ".bin", ".model") or file.name == "tokenizer.json"):
                with open(file, "rb") as weights:
                    total.update(f"{file.name} {file.stat().st_size}".encode() + weights.read(65536))
        return total.digest()

    @property
    def quantized(self):
        return any(self.path.glob("quant_model_description*.json"))

    @property
    def experts(self):
        """Whether it is a mixture of experts (only those may have more than one data parallel rank)."""
        return any(self.effective.get(key) for key in ("n_routed_experts", "num_experts", "num_local_experts"))

    @property
    def latent_attention(self):
        return "kv_lora_rank" in self.effective

    @property
    def config_class(self):
        architecture = (self.effective.get("architectures") or ["UnknownForCausalLM"])[0]
        return re.sub(r"(For|Model).*", "", architecture) + "Config"

    def keys(self, pieces, block_size):
        """Chained hash of each block of tokens (the last one may be part of a block)."""
        keys, chain = [], self.digest
        for first in range(0, len(pieces), block_size):
            block = "\0".join(pieces[first : first + block_size])
            chain = hashlib.sha256(chain + block.encode()).digest()
            keys.append(chain)
        return keys

    def generate(self, prompt, tokens, keys, kv, ignore_end=False):
        """(pieces of text, why it ended) for at most ``tokens`` tokens, decoded on the blocks ``kv``."""
        expected = [kv_block(key) for key in keys]
        if kv != expected:
            seen = hashlib.sha256(self.digest + b"".join(kv)).digest()
            return [_word(seen)] * tokens, "length"
        pieces, text = [], prompt
        while len(pieces) < tokens:
            state = hashlib.sha256(self.digest + text.encode()).digest()
            if not ignore_end and pieces and state[0] < 4:  # an end of text about every 64 words
                return pieces, "stop"
            pieces.append(_word(state))
            text += pieces[-1]
        return pieces, "length"


def kv_block(key):
    """The bytes of one block of KV."""
    return hashlib.shake_128(key).digest(BLOCK_BYTES)


def shard(block, rank, ranks):
    """The part of a block that one tensor parallel rank holds."""
    return block[BLOCK_BYTES * rank // ranks : BLOCK_BYTES * (rank + 1) // ranks]


def _word(seed):
    syllables = [
        START[seed[i] % len(START)] + VOWELS[seed[i + 1] % len(VOWELS)] + END[seed[i + 2] % len(END)]
        for i in range(1, 2 + 3 * (1 + seed[20] % 2), 3)
    ]
    return " " + "".join(syllables)
