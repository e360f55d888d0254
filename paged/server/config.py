"""Options of the HTTP server."""

from __future__ import annotations

from dataclasses import dataclass, field

from paged.errors import ConfigError
from paged.server.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """How the server shows itself and whom it lets in.

    served_model_names: what clients may call the model; answers carry the first.
    api_keys: one of them must come with each request but for health; none lets everybody in.
    allowed_origins: of web pages that may call the server from a browser.
    """

    served_model_names: tuple[str, ...]
    api_keys: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in ("served_model_names", "api_keys"):
            for value in getattr(self, name):
                if not value or value != value.strip():
                    raise ConfigError(
                        f"{name}: expected texts without spaces at their ends, and none empty"
                    )
        if not self.served_model_names:
            raise ConfigError("served_model_names: expected at least one name")

    @property
    def model_name(self) -> str:
        """What the model is called in answers."""
        return self.served_model_names[0]
