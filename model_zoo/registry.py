"""The families there are, and the way from a config.json to one of them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType

from model_zoo import families
from model_zoo.config import ModelConfig
from model_zoo.family import Family
from model_zoo.fields import Fields
from paged.errors import ConfigError


def discover() -> Mapping[str, Family]:
    """Return the family of every module in `model_zoo.families`, by name.

    Raises: ConfigError for a module without one, and for two of one name or architecture.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(families.__path__))
    return by_name([import_module(f"{families.__name__}.{name}") for name in names])


def by_name(modules: Iterable[ModuleType]) -> Mapping[str, Family]:
    """Return the modules' families by their names. Raises ConfigError as `discover`."""
    homes: dict[str, str] = {}
    found: dict[str, Family] = {}
    for module in modules:
        family = getattr(module, "FAMILY", None)
        if not isinstance(family, Family):
            raise ConfigError(
                f"{module.__name__}: expected FAMILY to be a Family, got {family!r:.100};"
                " docs/models.md shows one"
            )
        for claim in (f"the name {family.name!r}", f"the architecture {family.architecture!r}"):
            # A copy of another family's file, say: it would take that family's models over.
            if claim in homes:
                raise ConfigError(
                    f"{module.__name__}: {claim} is that of {homes[claim]}; choose another"
                )
            homes[claim] = module.__name__
        found[family.name] = family
    return found


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
    size, for what no model here computes, and for a family that gives another's name.
    """
    fields = Fields(values=values)
    try:
        family = _family_of(fields)
        config = family.read(fields)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error
    if config.family != family.name:
        # The names of its weights and its forward would be those of the other.
        raise ConfigError(
            f"the family {family.name!r} reads a configuration of the family {config.family!r};"
            " give its read_config its own name"
        )
    return config


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
