"""The families there are, and the way from a config.json to one of them."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from model_zoo import families
from model_zoo.config import ModelConfig
from model_zoo.family import Family
from model_zoo.fields import Fields
from paged.errors import ConfigError


def discover() -> Mapping[str, Family]:
    """Return the family of every module in `model_zoo.families`, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(families.__path__))
    modules = [import_module(f"{families.__name__}.{name}") for name in names]
    found: list[Family] = [module.FAMILY for module in modules]
    return {family.name: family for family in found}


FAMILIES = discover()


def find_family(name: str) -> Family:
    """Return a family. Raises ConfigError, which lists them."""
    if name not in FAMILIES:
        raise ConfigError(
            f"unknown family of models {name!r:.100}: expected one of {', '.join(FAMILIES)}"
        )
    return FAMILIES[name]


def config_from_hf(values: Mapping[str, object], *, source: str = "config.json") -> ModelConfig:
    """Return the configuration that a config.json describes, of transformers 4 or 5.

    values: its JSON object. source: what errors call it.
    Raises: ConfigError for an unknown architecture, a missing or mistyped field, an impossible
    size, and for what no model here computes.
    """
    fields = Fields(values=values)
    try:
        return _family_of(fields).read(fields)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error


def _family_of(fields: Fields) -> Family:
    architectures = fields.optional_texts("architectures")
    model_type = fields.optional_text("model_type")
    for family in FAMILIES.values():
        if family.architecture in architectures if architectures else family.name == model_type:
            return family
    got = f"architectures {list(architectures)}" if architectures else f"model_type {model_type!r}"
    known = ", ".join(family.architecture for family in FAMILIES.values())
    raise ConfigError(
        f"unknown architecture: expected one of {known}, got {got:.200};"
        " docs/models.md says how to add one"
    )
