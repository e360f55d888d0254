"""`paged serve`: an OpenAI-compatible server."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from paged.cli.byte_size import byte_size
from paged.cli.command import Action
from paged.cli.model_options import add_model_options, model_config
from paged.errors import ConfigError

KEYS_VARIABLE = "PAGED_API_KEY"
# Those of `paged.server.shadow`, which takes torch to import: help does without.
SHADOWS = ("reserved-max", "reserved-pow2", "virtual")
_LOG_LEVELS = ("critical", "error", "warning", "info", "debug")


def _add_arguments(parser: ArgumentParser) -> None:
    server = parser.add_argument_group("server")
    server.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at; 0.0.0.0 is every one (default: %(default)s)",
    )
    server.add_argument(
        "--port", type=int, default=8000, metavar="N", help="0 takes a free one (default: 8000)"
    )
    server.add_argument(
        "--served-model-name",
        action="append",
        metavar="NAME",
        help="what clients call the model; may be given again, and answers carry the first"
        " (default: MODEL)",
    )
    server.add_argument(
        "--api-key",
        action="append",
        metavar="KEY",
        help="which requests must carry; may be given again"
        f" (default: ${KEYS_VARIABLE}, split at commas; without it everybody is let in)",
    )
    server.add_argument(
        "--allowed-origins",
        action="append",
        metavar="ORIGIN",
        help="of web pages that may call the server; may be given again, and * is any"
        " (default: none)",
    )
    server.add_argument(
        "--ssl-keyfile", metavar="FILE", help="private key, PEM (default: plain http)"
    )
    server.add_argument(
        "--ssl-certfile", metavar="FILE", help="certificate, PEM (default: plain http)"
    )
    server.add_argument(
        "--uvicorn-log-level",
        choices=_LOG_LEVELS,
        default="warning",
        help="least important of what is logged; info has a line for each request"
        " (default: %(default)s)",
    )
    server.add_argument(
        "--shadow-allocators",
        type=shadow_names,
        default=SHADOWS,
        metavar="POLICY,...",
        help=f"shown beside the real one, of {', '.join(SHADOWS)}, or none (default: all)",
    )
    _add_limits(parser)
    add_model_options(parser, is_model_positional=True)


def _add_limits(parser: ArgumentParser) -> None:
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--max-open-requests",
        type=int,
        default=1024,
        metavar="N",
        help="that run or wait; more get the status 429 (default: %(default)s)",
    )
    limits.add_argument(
        "--max-body-size",
        type=byte_size,
        default=8 * 2**20,
        metavar="SIZE",
        help="of a request (default: 8MiB)",
    )
    limits.add_argument(
        "--drain-timeout",
        type=int,
        default=60,
        metavar="S",
        help="seconds for what runs when SIGTERM, SIGHUP or Ctrl-C comes (default: %(default)s)",
    )
    limits.add_argument(
        "--tensor-parallel-size",
        type=int,
        default=1,
        metavar="N",
        help="only 1 for now (default: %(default)s)",
    )


def shadow_names(text: str) -> tuple[str, ...]:
    """Read `virtual,reserved-max`, each once; `none` is no policy. Raises ArgumentTypeError."""
    if text == "none":
        return ()
    names = tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in SHADOWS]
    if unknown:
        raise ArgumentTypeError(
            f"expected policies of {','.join(SHADOWS)} with commas between, or none,"
            f" got {unknown[0]!r:.40}"
        )
    return names


def _run(arguments: Namespace) -> int:
    from paged.engine.loaded_model import load_model
    from paged.server.config import ServerConfig
    from paged.server.limits import Limits
    from paged.server.runner import Listen, run_server
    from paged.server.service import EngineService

    if arguments.tensor_parallel_size != 1:
        raise ConfigError(
            f"tensor-parallel-size: expected 1, got {arguments.tensor_parallel_size};"
            " one server drives one device for now"
        )
    options = model_config(arguments)
    limits = Limits(
        max_open_requests=arguments.max_open_requests,
        max_body_bytes=arguments.max_body_size,
        drain_timeout_s=arguments.drain_timeout,
    )
    config = ServerConfig(
        served_model_names=tuple(arguments.served_model_name or [options.model]),
        api_keys=_keys(arguments.api_key),
        allowed_origins=tuple(arguments.allowed_origins or ()),
        limits=limits,
    )
    listen = Listen(
        host=arguments.host,
        port=arguments.port,
        ssl_keyfile=arguments.ssl_keyfile,
        ssl_certfile=arguments.ssl_certfile,
        log_level=arguments.uvicorn_log_level,
    )
    # An address that is taken is told before the model is read.
    with listen.bound_socket() as bound:
        print(f"loading {options.model}", file=sys.stderr, flush=True)
        service = EngineService(
            options,
            load_model(options),
            max_open_requests=limits.max_open_requests,
            shadows=arguments.shadow_allocators,
        )
        logging.basicConfig(
            level=arguments.uvicorn_log_level.upper(), format="%(levelname)s: %(message)s"
        )
        run_server(service, config, listen, bound)
    return 0


def _keys(given: list[str] | None) -> tuple[str, ...]:
    """Return the API keys: those of the flag, else those of the environment."""
    if given is not None:
        return tuple(given)
    named = os.environ.get(KEYS_VARIABLE)
    # An empty one is refused as --api-key '' is: whoever sets it means to let nobody else in.
    return () if named is None else tuple(named.split(","))


ACTION = Action(add_arguments=_add_arguments, run=_run)
