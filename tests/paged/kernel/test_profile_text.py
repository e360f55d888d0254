"""A profile in words."""

from __future__ import annotations

from paged.kernel.cost import Roofline
from paged.kernel.profile import KernelProfile, LineProfile, Tally
from paged.kernel.profile_text import profile_lines
from paged.kernel.traffic import OperandTraffic, Traffic
from paged.kernel.work import Work


def operand(name: str, read: int, least: int | None) -> OperandTraffic:
    return OperandTraffic(
        operand=name,
        num_reads=1,
        num_writes=0,
        read_bytes=read,
        write_bytes=0,
        read_sector_bytes=read,
        write_sector_bytes=0,
        least_bytes=least,
    )


PROFILE = KernelProfile(
    traffic=Traffic(operands=(operand("x", 3000, 2000), operand("idle", 0, 8)), least_bytes=2000),
    lines=(
        LineProfile(
            file="a.cu",
            line=3,
            kind="global_read",
            tally=Tally(num_requests=10, num_lanes=320, num_bytes=1280, num_sectors=80),
        ),
        LineProfile(
            file="a.cu",
            line=4,
            kind="shared_read",
            tally=Tally(
                num_requests=2, num_lanes=64, num_bytes=256, num_wavefronts=6, least_wavefronts=2
            ),
        ),
    ),
    bytes_in_flight=4096,
)
ROOFLINE = Roofline(bytes_per_s=1e9, flops_per_s=1e12)


def lines_of(num_lines: int = 5) -> list[str]:
    work = Work(bytes=2000, flops=10)
    return profile_lines(PROFILE, work, ROOFLINE, gpu="g", num_lines=num_lines)


def test_bounds_are_those_of_the_least_and_of_what_is_moved() -> None:
    assert lines_of()[:3] == [
        "  moves 3,000 bytes of at least 2,000, 1.5 times as many; g: 2 us at best, by bytes,"
        " 3 us for what is moved",
        "  shared memory: 6 wavefronts, 3 times the least",
        "  asynchronous copies: up to 4,096 bytes in flight",
    ]


def test_operands_classes_and_lines_are_listed() -> None:
    rows = [" ".join(line.split()) for line in lines_of()[3:] if line]
    assert rows == [
        "operand read written least over minimum",
        "x 3,000 0 2,000 1.5",
        "instructions requests lanes sectors/request over asked conflicts",
        "global_read 10 320 8 2",
        "shared_read 2 64 4",
        "line requests lanes sectors/request over asked conflicts",
        "a.cu:3 global_read 10 320 8 2",
        "a.cu:4 shared_read 2 64 4",
    ]


def test_only_the_costliest_lines_are_kept() -> None:
    rows = [line for line in lines_of(num_lines=1) if "a.cu" in line]
    assert len(rows) == 1
    assert "a.cu:3" in rows[0]
    assert not [line for line in lines_of(num_lines=0) if "line" in line]
