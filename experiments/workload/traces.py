"""Traces: workloads recorded by someone else, read from a file.

Public sources of each format are named in `formats`. A row is dropped only for a reason
that is counted; a row that cannot be true refuses the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from experiments.workload.errors import WorkloadError, require
from experiments.workload.formats import FORMATS, TraceFormat, find_field
from experiments.workload.records import Record, read_records
from experiments.workload.values import parse_block_ids, parse_tokens
from experiments.workload.workload import Workload
from paged.types import IndexArray

Parsed = TypeVar("Parsed")


def load_trace(path: str | Path) -> Workload:
    """Read a trace file, plain or gzipped; its format is told from its content.

    Raises: WorkloadError, naming file and line, for a file that cannot be read, has
        other columns, or holds a value that cannot be true.
    """
    path = Path(path)
    records = read_records(path)
    first = next(records, None)
    if first is None:
        raise WorkloadError(f"{path}: a header and no rows; expected one row per request")
    columns = _Columns(format=_sniff(path, first), first=first)
    for record in itertools.chain([first], records):
        try:
            columns.add(record)
        except WorkloadError as error:
            raise WorkloadError(f"{path}:{record.line}: {error}") from error
    return columns.to_workload(path)


def _sniff(path: Path, first: Record) -> TraceFormat:
    """Return the format whose fields the first row has."""
    match = next((known for known in FORMATS if known.matches(first.fields)), None)
    if match is None:
        known = "; ".join(
            ",".join((*each.marks, each.prompt[0], each.output[0])) for each in FORMATS
        )
        got = ",".join(first.fields)
        raise WorkloadError(f"{path}: expected the columns of a trace ({known}), got {got:.200}")
    return match


@dataclass(slots=True, kw_only=True)
class _Columns:
    """The columns of a trace while its rows are read."""

    format: TraceFormat
    first: Record
    num_rows_read: int = 0
    prompt_tokens: list[int] = field(default_factory=list[int])
    output_tokens: list[int] = field(default_factory=list[int])
    arrival_s: list[float] = field(default_factory=list[float])
    prompt_block_ids: list[IndexArray] = field(default_factory=list[IndexArray])
    output_block_ids: list[IndexArray] = field(default_factory=list[IndexArray])
    dropped: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, record: Record) -> None:
        """Add one row or count why it is dropped. Raises: WorkloadError."""
        num_prompt = self._parse(record, self.format.prompt, parse_tokens)
        num_output = self._parse(record, self.format.output, parse_tokens)
        self._check_total(record, num_prompt + num_output)
        arrival_s = self._parse_arrival(record)
        prompt_ids, output_ids = self._parse_ids(record, num_prompt, num_output)
        self.num_rows_read += 1
        if num_prompt == 0 or num_output == 0:
            reason = "prompt_tokens is 0" if num_prompt == 0 else "output_tokens is 0"
            self.dropped[reason] = self.dropped.get(reason, 0) + 1
            return
        self.prompt_tokens.append(num_prompt)
        self.output_tokens.append(num_output)
        self.arrival_s.extend(arrival_s)
        self.prompt_block_ids.extend(prompt_ids)
        self.output_block_ids.extend(output_ids)

    def to_workload(self, path: Path) -> Workload:
        """Turn the columns into a workload. Raises: WorkloadError if no row is left."""
        arrival_s = np.array(self.arrival_s) if self.arrival_s else None
        has_ids = self.format.hash_block_size is not None
        return Workload(
            name=path.name.removesuffix(".gz").rpartition(".")[0] or path.name,
            source=f"{self.format.name} trace {path.name}",
            prompt_tokens=np.array(self.prompt_tokens, dtype=np.int64),
            output_tokens=np.array(self.output_tokens, dtype=np.int64),
            num_rows_read=self.num_rows_read,
            dropped=self.dropped,
            arrival_s=None if arrival_s is None else arrival_s - arrival_s.min(),
            prompt_block_ids=tuple(self.prompt_block_ids) if has_ids else None,
            output_block_ids=tuple(self.output_block_ids) if self.format.output_ids else None,
            hash_block_size=self.format.hash_block_size,
        )

    def _parse(
        self, record: Record, aliases: tuple[str, ...], parse: Callable[[object], Parsed]
    ) -> Parsed:
        """Parse a row's value of the field that the first row named."""
        name = find_field(aliases, self.first.fields) or aliases[0]
        require(name in record.fields, f"the field {name} is missing")
        try:
            return parse(record.fields[name])
        except WorkloadError as error:
            raise WorkloadError(f"{name}: {error}") from error

    def _check_total(self, record: Record, num_tokens: int) -> None:
        """Refuse a row whose stated total is not the sum of its lengths."""
        name = self.format.total
        if name is not None and name in self.first.fields:
            total = self._parse(record, (name,), parse_tokens)
            require(
                total == num_tokens, f"expected {name} {num_tokens}, prompt + output, got {total}"
            )

    def _parse_arrival(self, record: Record) -> list[float]:
        """Arrival of a row, or nothing where the file has no timestamps."""
        if find_field(self.format.arrival, self.first.fields) is None:
            return []
        return [self._parse(record, self.format.arrival, self.format.parse_arrival)]

    def _parse_ids(
        self, record: Record, num_prompt: int, num_output: int
    ) -> tuple[list[IndexArray], list[IndexArray]]:
        """Block ids of prompt and output of a row, or nothing where there are none."""
        size = self.format.hash_block_size
        if size is None or self.format.prompt_ids is None:
            return [], []
        prompt_ids = self._parse(record, (self.format.prompt_ids,), parse_block_ids)
        full_prompt = num_prompt // size
        if self.format.output_ids is None:
            # Sources differ in whether a partial last block has an id.
            _require_count(prompt_ids, full_prompt, -(-num_prompt // size))
            return [prompt_ids], []
        output_ids = self._parse(record, (self.format.output_ids,), parse_block_ids)
        _require_count(prompt_ids, full_prompt, full_prompt)
        full_output = (num_prompt + num_output) // size - full_prompt
        _require_count(output_ids, full_output, full_output)
        return [prompt_ids], [output_ids]


def _require_count(ids: IndexArray, least: int, most: int) -> None:
    expected = str(least) if least == most else f"{least} or {most}"
    require(
        least <= len(ids) <= most, f"expected {expected} block ids for the length, got {len(ids)}"
    )
