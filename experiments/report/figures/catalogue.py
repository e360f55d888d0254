"""The table of all figures: file, caption, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from experiments.report.figures.breakdown import draw_breakdown
from experiments.report.figures.holes import draw_holes
from experiments.report.figures.sweep import draw_block_size, draw_watermark
from experiments.report.figures.timeline import draw_batch, draw_utilisation
from experiments.report.results import Results
from experiments.report.style import drawing_style, to_png


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureKind:
    """One figure: its file, how to draw it, and how to read it.

    draw: returns None where the results hold nothing to draw.
    """

    number: str
    filename: str
    title: str
    caption: str
    draw: Callable[[Results], Figure | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFigure:
    """A figure as it is written: PNG bytes and the regime that they state."""

    kind: FigureKind
    png: bytes
    regime: str


FIGURES = (
    FigureKind(
        number="F1",
        filename="f1_breakdown.png",
        title="Where the KV pool goes",
        caption="Mean share of each slot class over seeds; whiskers are one standard deviation"
        " of the class that ends there. Black ticks, where drawn, are the ends of the classes"
        " printed in the paper's Figure 2. A high token share is worth its mean batch and costs"
        " its preemptions, so both stand beside the bar.",
        draw=draw_breakdown,
    ),
    FigureKind(
        number="F2",
        filename="f2_utilisation_over_time.png",
        title="KV utilisation over time",
        caption="Slot classes of the first seed, averaged into equal bins of simulated time. The"
        " dark bar above a panel marks the interval in which requests wait: only there is a"
        " slot that holds no token a wasted one. Dashed lines enclose the window measured in F1."
        " All arms serve the same requests, so one that wastes less is done sooner.",
        draw=draw_utilisation,
    ),
    FigureKind(
        number="F3",
        filename="f3_batch_and_preemptions.png",
        title="Batch size and preemptions over time",
        caption="Requests that run at once, and preemptions since the start, in the first seed."
        " Reserved arms never preempt: they hold in advance what they may need.",
        draw=draw_batch,
    ),
    FigureKind(
        number="F5",
        filename="f5_block_size.png",
        title="Block size",
        caption="The unfilled part of a request's last block, half a block on average, grows"
        " with the block; kernel and copy costs, not shown here, speak against the smallest.",
        draw=draw_block_size,
    ),
    FigureKind(
        number="F12",
        filename="f12_external_fragmentation.png",
        title="External fragmentation",
        caption="Contiguous allocators only. The index is 0 while all free slots form one run"
        " and nears 1 as they scatter. Below: free runs by length, time-weighted mean count in the"
        " measured window; runs shorter than the next request cannot be used.",
        draw=draw_holes,
    ),
    FigureKind(
        number="F13",
        filename="f13_watermark.png",
        title="Watermark",
        caption="Keeping blocks free at admission costs token share and saves preemptions."
        " Utilisation near 100 % at saturation is bought with recomputed work, so the two"
        " curves belong together.",
        draw=draw_watermark,
    ),
)


def draw_all(results: Results) -> list[DrawnFigure]:
    """Draw every figure that the results hold data for. Equal results give equal bytes."""
    drawn: list[DrawnFigure] = []
    with drawing_style():
        for kind in FIGURES:
            figure = kind.draw(results)
            if figure is not None:
                regime = str(figure.get_label())
                drawn.append(DrawnFigure(kind=kind, png=to_png(figure), regime=regime))
    return drawn
