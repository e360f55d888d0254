"""The tensors of a GGUF file under the names, and in the row order, of transformers."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch

from model_zoo.config import ModelConfig
from model_zoo.loading.gguf_config import FREQUENCIES
from model_zoo.loading.gguf_file import GgufFile, GgufTensor
from model_zoo.loading.gguf_values import FloatArray, read_rows, read_values

_LAYER = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
_LAYER_MODULES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
# llama.cpp turns neighbours where transformers turns the halves of a head, so its converter
# weaves the halves of these, in files of this architecture.
_WOVEN_ARCHITECTURE = "llama"
_WOVEN = ("attn_q", "attn_k")


class GgufSource:
    """Implements the protocol `TensorSource`."""

    def __init__(self, file: GgufFile, config: ModelConfig) -> None:
        self.source = str(file.path)
        self._file = file
        self._head_dim = config.head_dim
        self._is_woven = file.metadata.text("general.architecture") == _WOVEN_ARCHITECTURE
        # The frequencies are part of the configuration.
        kept = [tensor for name, tensor in file.tensors.items() if name != FREQUENCIES]
        self._tensors = {_name(tensor.name): tensor for tensor in kept}

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of every tensor."""
        return {name: tensor.shape for name, tensor in self._tensors.items()}

    def read_into(self, name: str, out: torch.Tensor) -> None:
        """Copy a tensor. Raises ModelFileError."""
        tensor = self._tensors[name]
        if self._is_woven and self._module(tensor) in _WOVEN:
            self._read_woven(tensor, out)
            return
        rows = out.reshape(-1, out.shape[-1])
        start = 0
        for values in read_rows(self._file, tensor):
            rows[start : start + len(values)] = _tensor(values)
            start += len(values)

    def _read_woven(self, tensor: GgufTensor, out: torch.Tensor) -> None:
        values = _tensor(read_values(self._file, tensor))
        pairs = self._head_dim // 2
        woven = values.reshape(-1, pairs, 2, *values.shape[1:])
        out.copy_(woven.transpose(1, 2).reshape(values.shape))

    def _module(self, tensor: GgufTensor) -> str | None:
        found = _LAYER.fullmatch(tensor.name)
        return None if found is None else found[2]


def _name(name: str) -> str:
    """Return transformers' name of a tensor; an unknown one keeps its own."""
    found = _LAYER.fullmatch(name)
    if found is None:
        return _NAMES.get(name, name)
    layer, module, part = found.groups()
    known = _LAYER_MODULES.get(module)
    return name if known is None else f"model.layers.{layer}.{known}.{part}"


def _tensor(values: FloatArray) -> torch.Tensor:
    return torch.from_numpy(values)  # pyright: ignore[reportUnknownMemberType]
