# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a tiny Qwen2 model whose output depends on the whole prompt.

    make_tiny_model.py DIRECTORY

No training and no download: a fixed seed, four layers, a byte-pair tokenizer trained on the word list below, about 3 MB.
The weights are scaled so that attention is neither uniform nor dominated by one token. Greedy output then changes with every
word of the prompt, and two engines return the same text only if they have the same KV cache. Only plain words are emitted.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

STAMP = ".ascend-inference-tiny-1"  # the number grows with every change of the bytes
END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
WORDS = """
able acid acre aged also arch area army aunt away back bake ball band bank bark barn base bath beam bean bear beat bell belt
bend bird boat body bold bone book born both bowl bread brick bridge bright broad brown brush build burn bush cabin cable
cake calm camp candle canvas card care cargo carpet castle cattle cave cedar chain chair chalk cheese cherry circle clay
clear clever climb clock cloth cloud coast coffee coin cold copper coral corn cotton cousin crane cream crowd crown daily
dance dawn deep deer desert desk diver dozen drawer dream drum dusk eager eagle early earth east echo eight elbow engine
evening every fabric fair falcon family farm feather fence ferry field fifty figure finger fire fish flame flock floor flour
flower forest fork fossil fox frame fresh frost fruit garden gate gentle giant glass glove gold grain grape grass green
guide guitar hammer harbor harvest hazel heavy hill honey horse house island ivory jacket jewel journey jungle kettle key
kitchen kite ladder lake lamp large laurel lemon letter light lily linen lion little lizard lobby maple marble market meadow
melon metal mild mirror moss mountain music narrow needle nest north oak ocean olive onion orange orchard otter oven owl
""".split()  # noqa: SIM905 - a word list is read as text, not as two hundred quoted strings
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer: every text can be encoded, every word of WORDS is one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=[END, START, STOP],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(WORDS)] * 4 + WORDS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=STOP, pad_token=END, chat_template=CHAT_TEMPLATE
    )


def is_plain_word(piece: str) -> bool:
    """True for a piece of letters, with or without the leading space that byte-level BPE writes as U+0120."""
    return piece.lstrip("\u0120").isascii() and piece.lstrip("\u0120").isalpha()


def make_model(vocabulary: dict[str, int]) -> Qwen2ForCausalLM:
    """Random weights from seed 0; `vocabulary` maps piece to token id."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(vocabulary),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        eos_token_id=vocabulary[STOP],
        bos_token_id=None,
        tie_word_embeddings=False,
        dtype="float32",
    )
    model = Qwen2ForCausalLM(config).float()
    gains = {"q_proj": 1.5, "k_proj": 1.5, "o_proj": 3.0}  # sharp attention whose result weighs more than the residual
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                deviation = 0.5 if "embed" in name else weight.shape[1] ** -0.5
                weight.normal_(0, deviation * gains.get(name.split(".")[-2], 1.0))
            elif "norm" not in name:
                weight.normal_(0, 0.1)
        for piece, number in vocabulary.items():
            if not is_plain_word(piece):
                model.lm_head.weight[number].zero_()  # a logit of 0 never wins against the best of hundreds
    return model


def save(directory: str) -> None:
    """Write all files, readable for all users, and the stamp last."""
    tokenizer = make_tokenizer()
    make_model(tokenizer.get_vocab()).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    for name in os.listdir(directory):
        os.chmod(os.path.join(directory, name), 0o644)
    with open(os.path.join(directory, STAMP), "w", encoding="utf-8"):
        pass


def main(directory: str) -> None:
    """Write the model to a temporary folder and rename it, so that no incomplete model is visible."""
    if os.path.isdir(directory) and os.listdir(directory) and not any(map(is_stamp, os.listdir(directory))):
        sys.exit(f"{directory} contains files that this program did not create; set another inference_model.path")
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(directory), prefix=".tiny-") as temporary:
        save(temporary)
        os.chmod(temporary, 0o755)
        shutil.rmtree(directory, ignore_errors=True)
        os.rename(temporary, directory)
        os.mkdir(temporary)  # for TemporaryDirectory to remove


def is_stamp(name: str) -> bool:
    """Whether a file's name is the stamp of any version of this model."""
    return name.startswith(STAMP.rstrip("0123456789"))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
