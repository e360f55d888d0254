"""`paged bench serve`: load on a server, and what its clients see."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any, cast

from experiments.workload.arrivals import from_trace, poisson
from experiments.workload.synthetic import SYNTHETIC
from experiments.workload.traces import load_trace
from experiments.workload.workload import FloatArray, Workload
from paged.cli.command import Action
from paged.errors import ConfigError
from paged.loadgen.client import Target
from paged.loadgen.load import Load, fixed_lengths, run_load
from paged.loadgen.prompts import Prompts
from paged.loadgen.server import find_model
from paged.loadgen.summary import Objective, lines_of

_DEFAULT_CONCURRENCY = 1
_OBJECTIVES = {
    "ttft": "time to the first token",
    "tpot": "time per token after the first",
    "latency": "time to the end",
}


def _add_arguments(parser: ArgumentParser) -> None:
    server = parser.add_argument_group("server")
    server.add_argument("--url", default="http://127.0.0.1:8000", help="(default: %(default)s)")
    server.add_argument("--model", metavar="NAME", help="(default: the first that it serves)")
    server.add_argument(
        "--endpoint",
        choices=("completions", "chat"),
        default="completions",
        help="(default: %(default)s)",
    )
    server.add_argument("--api-key", metavar="KEY", help="(default: none)")
    server.add_argument(
        "--timeout",
        type=float,
        default=600.0,
        metavar="S",
        help="seconds for each request (default: %(default)s)",
    )
    server.add_argument(
        "--ignore-eos",
        action="store_true",
        help="let outputs have the lengths of the workload; vLLM's field, which paged has too",
    )
    server.add_argument(
        "--extra-body",
        type=_json_object,
        default={},
        metavar="JSON",
        help="more fields for each request (default: none)",
    )
    _add_requests(parser)
    _add_times(parser)
    out = parser.add_argument_group("results")
    for name, what in _OBJECTIVES.items():
        out.add_argument(
            f"--slo-{name}-ms",
            type=float,
            metavar="MS",
            help=f"most {what} that is good (default: any)",
        )
    out.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="for CSV, JSON and a picture (default: none are written)",
    )


def _add_requests(parser: ArgumentParser) -> None:
    requests = parser.add_argument_group("requests")
    requests.add_argument(
        "--workload",
        metavar="NAME",
        help="sharegpt-like, alpaca-like, or the file of a trace: of Azure, Bailian, Mooncake or"
        " vLLM, or with columns prompt_tokens, output_tokens and, maybe, arrival_s"
        " (default: requests that are all alike)",
    )
    for what, default in (("prompt", 128), ("output", 64)):
        requests.add_argument(
            f"--{what}-tokens",
            type=int,
            default=default,
            metavar="N",
            help="of each, without --workload (default: %(default)s)",
        )
    requests.add_argument(
        "--num-requests", type=int, metavar="N", help="(default: 100, or all of a trace)"
    )
    requests.add_argument(
        "--max-model-len", type=int, metavar="N", help="leave longer ones out (default: none)"
    )
    requests.add_argument(
        "--prompt-ids",
        type=int,
        metavar="VOCABULARY",
        help="send token ids below it, which are exactly as many, in place of words"
        " (default: words)",
    )
    requests.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of all that is drawn (default: 0)"
    )


def _add_times(parser: ArgumentParser) -> None:
    times = parser.add_argument_group("times")
    one = times.add_mutually_exclusive_group()
    one.add_argument(
        "--rate",
        type=float,
        metavar="R",
        help="arrivals per second, a Poisson process (default: no arrivals)",
    )
    one.add_argument("--trace-times", action="store_true", help="arrivals as the trace has them")
    times.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="most requests at once; without arrivals, each is sent when another ends (default:"
        f" no limit, and {_DEFAULT_CONCURRENCY} without arrivals)",
    )


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"expected a JSON object, got {text!r:.60}")
    return cast("dict[str, Any]", value)


def _run(arguments: Namespace) -> int:

    workload = _workload(arguments)
    target = _target(arguments)
    if not target.model:
        target = find_model(target)
    arrivals = _arrivals(arguments, workload)
    load = Load(
        workload=workload,
        prompts=Prompts(workload, seed=arguments.seed, vocab_size=arguments.prompt_ids),
        arrivals=arrivals,
        max_concurrency=_concurrency(arguments),
    )
    print(f"{target.base_url} {target.model}: {load.description}", file=sys.stderr)
    outcome = run_load(load, target, _objective(arguments))
    print("\n".join(lines_of(outcome.summary)))
    if arguments.out is not None:
        outcome.write(arguments.out, load, target, seed=arguments.seed)
    return 1 if outcome.was_interrupted or outcome.summary.num_errors else 0


def _workload(arguments: Namespace) -> Workload:

    name, count = arguments.workload, arguments.num_requests
    if name is None or name in SYNTHETIC:
        if name is None:
            make = fixed_lengths(arguments.prompt_tokens, arguments.output_tokens)
        else:
            make = SYNTHETIC[name]
        workload = make(arguments.seed, 100 if count is None else count)
    else:
        workload = load_trace(name)
        workload = workload if count is None else workload.head(count)
    longest = arguments.max_model_len
    return workload if longest is None else workload.fit(longest)


def _arrivals(arguments: Namespace, workload: Workload) -> FloatArray | None:

    if arguments.trace_times:
        return from_trace(workload, seed=arguments.seed)
    if arguments.rate is None:
        return None
    return poisson(workload, rate_per_s=arguments.rate, seed=arguments.seed)


def _concurrency(arguments: Namespace) -> int | None:
    given: int | None = arguments.concurrency
    if given is not None and given < 1:
        raise ConfigError(f"--concurrency: expected at least 1, got {given}")
    has_times = arguments.trace_times or arguments.rate is not None
    return given if given is not None or has_times else _DEFAULT_CONCURRENCY


def _target(arguments: Namespace) -> Target:

    extra = dict(arguments.extra_body)
    if arguments.ignore_eos:
        extra["ignore_eos"] = True
    return Target(
        url=arguments.url,
        model=arguments.model or "",
        endpoint=arguments.endpoint,
        api_key=arguments.api_key,
        timeout_s=arguments.timeout,
        extra=extra,
    )


def _objective(arguments: Namespace) -> Objective:
    given: dict[str, float | None] = {
        name: getattr(arguments, f"slo_{name}_ms") for name in _OBJECTIVES
    }
    return Objective(
        **{f"{name}_s": most_ms / 1e3 for name, most_ms in given.items() if most_ms is not None}
    )


ACTION = Action(add_arguments=_add_arguments, run=_run)
