"""SmolLM2's weights in the files that peers read, made once from the GGUF that we read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model_zoo.loading.download import SMOLLM2
from paged.cache_dir import cache_dir

MODEL = SMOLLM2.name
# Of a matrix; norms stay float32, as in every converter.
GGUF_TYPES = {"f16": "F16", "q8_0": "Q8_0"}


def source_gguf() -> Path:
    """Find the downloaded GGUF. Raises ModelFileError, which says how to fetch it."""
    return SMOLLM2.downloaded()


def gguf_of(kind: str) -> Path:
    """Write the model again with other weights, f16 or q8_0, unless it is there already."""
    import gguf

    target = cache_dir("peers") / f"{MODEL}.{kind}.gguf"
    if target.exists():
        return target
    reader = gguf.GGUFReader(source_gguf())
    architecture = str(reader.fields["general.architecture"].contents())
    scratch = target.with_suffix(".part")
    writer = gguf.GGUFWriter(scratch, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kinds = field.types
        element = kinds[-1] if kinds[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kinds[0], element)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        wanted = GGUF_TYPES[kind] if values.ndim > 1 else "F32"
        into = gguf.GGMLQuantizationType[wanted]
        writer.add_tensor(tensor.name, gguf.quants.quantize(values, into), raw_dtype=into)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return scratch.replace(target)


def folder_of(dtype: str) -> Path:
    """Write the model as a folder of safetensors for transformers and vLLM, unless there."""
    import torch
    from transformers import AutoModelForCausalLM

    target = cache_dir("peers") / f"{MODEL}-{dtype}"
    if (target / "config.json").exists():
        return target
    source = source_gguf()
    read: Any = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=getattr(torch, dtype)
    )
    # One that does not know that it was quantised, for such a one cannot be saved.
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    plain = AutoModelForCausalLM.from_config(read.config, dtype=getattr(torch, dtype))
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(target)
    return target
