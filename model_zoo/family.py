"""A family of models: how its configuration is read, and what its weights are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from model_zoo.config import ModelConfig
from model_zoo.fields import Fields

if TYPE_CHECKING:
    import torch

    from model_zoo.batch import ModelBatch
    from model_zoo.params import ModelParams

    Forward = Callable[[ModelParams, ModelConfig, Sequence[torch.Tensor], ModelBatch], torch.Tensor]
    """What `transformer.forward` is."""

Names = Mapping[str, tuple[str, ...]]
"""For each leaf of the parameter tree the modules of a checkpoint whose rows it stacks.

`{layer}` stands for the layer's number. One module alone holds all rows of the leaf.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One architecture.

    name: `model_type` of its config.json.
    architecture: the class that its config.json names in `architectures`.
    read: makes a configuration of a config.json. Raises ConfigError.
    forward: computes a step, for models that differ in more than sizes; None is
        `transformer.forward`.
    """

    name: str
    architecture: str
    read: Callable[[Fields], ModelConfig]
    names: Names
    forward: Forward | None = None
