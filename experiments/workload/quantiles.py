"""Workloads whose length distributions are given by quantiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from experiments.workload.errors import WorkloadError, require
from experiments.workload.records import read_records, read_text
from experiments.workload.synthetic import draw_workload
from experiments.workload.values import MAX_LENGTH_TOKENS, parse_number
from experiments.workload.workload import FloatArray, Workload
from paged.types import BoolArray, IndexArray

_JSON_QUANTILES = "quantiles_0_to_1_step_0.005"
_NUM_JSON_QUANTILES = 201
_CSV_COLUMNS = ("quantile", "prompt_tokens", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LengthQuantiles:
    """One length distribution: lengths_tokens[i] is its levels[i] quantile.

    Straight between the levels, but for the last interval, which rises with the power
    tail_power: the top of a long-tailed distribution is no straight line.
    Raises: WorkloadError unless levels rise from 0 to 1 and lengths never fall.
    """

    levels: FloatArray
    lengths_tokens: FloatArray
    tail_power: float = 1.0

    def __post_init__(self) -> None:
        levels, lengths = self.levels, self.lengths_tokens
        require(
            len(levels) == len(lengths) >= 2 and bool(np.isfinite(levels).all()),
            "expected at least two quantiles, each with a finite level",
        )
        require(
            levels[0] == 0 and levels[-1] == 1 and bool((np.diff(levels) > 0).all()),
            "expected quantile levels that rise from 0 to 1",
        )
        is_valid = bool(((lengths >= 0) & (lengths <= MAX_LENGTH_TOKENS)).all())
        require(
            is_valid and bool((np.diff(lengths) >= 0).all()),
            f"expected lengths from 0 to {MAX_LENGTH_TOKENS} tokens that never fall",
        )

    def invert(self, levels: FloatArray) -> IndexArray:
        """Return the whole lengths at levels from 0 to 1."""
        start = self.levels[-2]
        within = np.maximum(levels - start, 0.0) / (1.0 - start)
        warped = start + (1.0 - start) * within**self.tail_power
        positions = np.where(levels > start, warped, levels)
        lengths = np.interp(positions, self.levels, self.lengths_tokens)
        return np.rint(lengths).astype(np.int64)


def from_quantiles(
    path: str | Path, *, seed: int, num_requests: int, model: str | None = None
) -> Workload:
    """Draw lengths by inverting the quantile functions in a file.

    The file is CSV with columns quantile,prompt_tokens,output_tokens, or JSON by model
    (model chooses). Prompt and output are drawn independently, since marginals say
    nothing of how they hang together; pairs with an empty prompt or output are redrawn.

    Raises: WorkloadError for an unreadable or malformed file, or an unknown model.
    Source: the JSON form is that of length quantiles derived from alibaba/ServeGen.
    """
    path = Path(path)
    text = read_text(path)
    is_json = text.lstrip().startswith("{")
    name = path.name.partition(".")[0]
    if is_json:
        models = _parse_json(path, text)
        chosen = _choose(path, models, model)
        prompt, output = _parse_model(path, chosen, models[chosen])
        name = f"{name}-{chosen}"
    else:
        require(model is None, f"{path}: a CSV has one distribution; leave the model out")
        prompt, output = _parse_csv(path)

    def draw(random: np.random.Generator, num: int) -> tuple[IndexArray, IndexArray]:
        return prompt.invert(random.random(num)), output.invert(random.random(num))

    source = f"quantiles of {path.name}, prompt and output independent, both >= 1"
    return draw_workload(name, source, draw, _accepts, seed=seed, num_requests=num_requests)


def _accepts(prompts: IndexArray, outputs: IndexArray) -> BoolArray:
    return (prompts >= 1) & (outputs >= 1)


def _parse_csv(path: Path) -> tuple[LengthQuantiles, LengthQuantiles]:
    columns: dict[str, list[float]] = {name: [] for name in _CSV_COLUMNS}
    for record in read_records(path):
        for name, column in columns.items():
            if name not in record.fields:
                expected = ",".join(_CSV_COLUMNS)
                got = ",".join(record.fields)
                raise WorkloadError(f"{path}: expected the columns {expected}, got {got:.200}")
            try:
                column.append(parse_number(record.fields[name]))
            except WorkloadError as error:
                raise WorkloadError(f"{path}:{record.line}: {name}: {error}") from error
    levels, prompts, outputs = (np.array(columns[name]) for name in _CSV_COLUMNS)
    try:
        return (
            LengthQuantiles(levels=levels, lengths_tokens=prompts),
            LengthQuantiles(levels=levels, lengths_tokens=outputs),
        )
    except WorkloadError as error:
        raise WorkloadError(f"{path}: {error}") from error


def _parse_json(path: Path, text: str) -> Mapping[str, object]:
    try:
        return cast(Mapping[str, object], json.loads(text))
    except (ValueError, RecursionError) as error:
        raise WorkloadError(f"{path}: malformed JSON ({error})") from error


def _choose(path: Path, models: Mapping[str, object], model: str | None) -> str:
    """Return the model asked for, or the only one there is."""
    require(bool(models), f"{path}: an empty object; expected quantiles by model")
    names = ", ".join(models)
    if model is None:
        require(len(models) == 1, f"{path}: say which model to take, one of {names:.200}")
        return next(iter(models))
    require(model in models, f"{path}: has no model {model!r}; it has {names:.200}")
    return model


def _parse_model(path: Path, model: str, value: object) -> tuple[LengthQuantiles, LengthQuantiles]:
    try:
        return _parse_field(value, "input_tokens"), _parse_field(value, "output_tokens")
    except WorkloadError as error:
        raise WorkloadError(f"{path}: {model}: {error}") from error


def _parse_field(model: object, name: str) -> LengthQuantiles:
    """Read one distribution; its p99.9 and mean shape the tail."""
    summary = _get(model, name)
    quantiles = _get(summary, _JSON_QUANTILES)
    if not isinstance(quantiles, list) or len(quantiles) != _NUM_JSON_QUANTILES:
        raise WorkloadError(f"{name}: expected a list of {_NUM_JSON_QUANTILES} quantiles")
    lengths = [parse_number(item) for item in cast("list[object]", quantiles)]
    body = LengthQuantiles(
        levels=np.linspace(0.0, 1.0, len(lengths)), lengths_tokens=np.array(lengths)
    )
    p999 = parse_number(_get(summary, "p99.9"))
    return _shape_tail(body, p999=p999, mean=parse_number(_get(summary, "mean")))


def _get(value: object, key: str) -> object:
    """Return a field of a JSON object that must be there."""
    if not isinstance(value, dict) or key not in value:
        raise WorkloadError(f"expected an object with the field {key}")
    return cast("dict[str, object]", value)[key]


def _shape_tail(body: LengthQuantiles, *, p999: float, mean: float) -> LengthQuantiles:
    """Add the 99.9 % quantile and choose the power that gives the stated mean.

    On the last interval x(t) = low + (high - low) t^k has mean low + (high - low)/(k + 1).
    A straight line up to the maximum would put the mean up to four times too high.
    """
    low, high = p999, float(body.lengths_tokens[-1])
    levels = np.concatenate([body.levels[:-1], [0.999, 1.0]])
    lengths = np.concatenate([body.lengths_tokens[:-1], [low, high]])
    body_mean = float(np.trapezoid(lengths[:-1], levels[:-1]))
    tail_mean = (mean - body_mean) / 0.001
    excess = min(max(tail_mean - low, 1.0), high - low)
    power = (high - low) / excess - 1.0 if excess > 0 else 1.0
    return LengthQuantiles(levels=levels, lengths_tokens=lengths, tail_power=power)
