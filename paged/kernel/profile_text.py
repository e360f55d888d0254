"""A kernel's profile in words: operands, classes of instructions and lines, beside the roofline."""

from __future__ import annotations

from collections.abc import Sequence

from paged.kernel.cost import Roofline
from paged.kernel.profile import KernelProfile, Tally
from paged.kernel.work import Work

LEGEND = (
    "requests: instructions of warps, arithmetic left out. sectors: of 32 bytes, as warps ask for"
    " them; no cache is modelled. over asked: bytes of sectors over those that lanes use."
    " conflicts: wavefronts of shared memory beyond the least. in flight: asynchronous copies of a"
    " block, each thread at its own peak"
)


def profile_lines(
    profile: KernelProfile, work: Work, roofline: Roofline, *, gpu: str, num_lines: int
) -> list[str]:
    """Lay a profile out. work: the call's least. num_lines: lines of source, at most."""
    return [
        *_bounds(profile, work, roofline, gpu),
        *_table(_operands(profile)),
        *_table(_classes(profile)),
        *_table(_source(profile, num_lines)),
    ]


def _bounds(profile: KernelProfile, work: Work, roofline: Roofline, gpu: str) -> list[str]:
    """Say how long a GPU takes at best: for the least bytes, and for those that are moved."""
    moved = profile.traffic.sector_bytes
    least_s = roofline.least_s(work)
    moved_s = max(least_s, moved / roofline.bytes_per_s)
    bound = "flops" if work.flops / roofline.flops_per_s == least_s else "bytes"
    lines = [
        f"  moves {moved:,} bytes of at least {work.bytes:,}, {_ratio(moved, work.bytes)} times"
        f" as many; {gpu}: {least_s * 1e6:.4g} us at best, by {bound},"
        f" {moved_s * 1e6:.4g} us for what is moved"
    ]
    wavefronts = profile.wavefronts_over_minimum
    if wavefronts is not None:
        lines.append(
            f"  shared memory: {profile.total.num_wavefronts:,} wavefronts, {wavefronts:.3g} times"
            " the least"
        )
    if profile.bytes_in_flight:
        lines.append(f"  asynchronous copies: up to {profile.bytes_in_flight:,} bytes in flight")
    return lines


def _operands(profile: KernelProfile) -> list[list[str]]:
    rows = [["operand", "read", "written", "least", "over minimum"]]
    for each in profile.traffic.operands:
        if not each.sector_bytes:
            continue
        ratio = each.bytes_over_minimum
        rows.append(
            [
                each.operand,
                f"{each.read_sector_bytes:,}",
                f"{each.write_sector_bytes:,}",
                "" if each.least_bytes is None else f"{each.least_bytes:,}",
                "" if ratio is None else f"{ratio:.3g}",
            ]
        )
    return rows


_COSTS = ["requests", "lanes", "sectors/request", "over asked", "conflicts"]


def _classes(profile: KernelProfile) -> list[list[str]]:
    rows = [["instructions", *_COSTS]]
    return rows + [[kind, *_costs(tally)] for kind, tally in profile.classes.items()]


def _source(profile: KernelProfile, num_lines: int) -> list[list[str]]:
    """Return the lines that cost most: bytes moved, wavefronts, then requests."""

    def cost(tally: Tally) -> tuple[int, int]:
        return (tally.num_sectors + tally.num_wavefronts, tally.num_requests)

    worst = sorted(profile.lines, key=lambda each: cost(each.tally), reverse=True)[:num_lines]
    rows = [["line", *_COSTS]]
    return rows + [[f"{e.file}:{e.line} {e.kind}", *_costs(e.tally)] for e in worst]


def _costs(tally: Tally) -> list[str]:
    sectors, over = tally.sectors_per_request, tally.bytes_over_asked
    return [
        f"{tally.num_requests:,}",
        f"{tally.num_lanes:,}",
        "" if sectors is None else f"{sectors:.3g}",
        "" if over is None else f"{over:.3g}",
        f"{tally.conflicts:,}" if tally.num_wavefronts else "",
    ]


def _ratio(moved: int, least: int) -> str:
    return f"{moved / least:.3g}" if least else "any number of"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the columns, the first to the left; a table of a head alone is left out."""
    if len(rows) == 1:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "",
        *(
            ("  " + row[0].ljust(widths[0]) + "".join(
                f"  {cell.rjust(width)}" for cell, width in zip(row[1:], widths[1:], strict=True)
            )).rstrip()
            for row in rows
        ),
    ]  # fmt: skip
