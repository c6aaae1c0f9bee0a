"""A model's small files without the model: a tokenizer of 32,000 made-up words and a chat template.

Dynamo's frontends read tokenizer and template as they would the real ones. The mock engine answers with token numbers
between 1,000 and 2,000, so the vocabulary must be larger than that, or answers are empty.
"""

import json
from pathlib import Path
from typing import Any

_WORDS = 32_000
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tiny_model(folder: Path, context_tokens: int) -> None:
    """Write the files into ``folder``.

    :param context_tokens: what the model is said to take.
    """
    folder.mkdir(parents=True)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    alphabet = _byte_alphabet()
    words = [*alphabet, *(f"Ġw{number}" for number in range(len(alphabet), _WORDS))]
    extra = [
        {"id": _WORDS + at, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for at, text in enumerate(_SPECIAL)
    ]  # fmt: skip
    model: dict[str, Any] = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
        "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": {word: number for number, word in enumerate(words)}, "merges": [],
    }  # fmt: skip
    files = {
        "tokenizer.json": {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": extra, "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level, "model": model,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": _SPECIAL[0], "eos_token": _SPECIAL[2],
            "model_max_length": context_tokens, "chat_template": _TEMPLATE,
        },
        "config.json": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
            "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
            "vocab_size": _WORDS + len(_SPECIAL), "max_position_embeddings": context_tokens,
            "bos_token_id": _WORDS, "eos_token_id": _WORDS + 2, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
        },
        "generation_config.json": {"bos_token_id": _WORDS, "eos_token_id": _WORDS + 2},
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _byte_alphabet() -> list[str]:
    """The 256 letters of byte-level BPE: printable Latin-1 as itself, every other byte from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return sorted(chr(byte) for byte in printable) + [chr(256 + at) for at in range(len(others))]
