"""Workloads: what requests look like and when they arrive.

A workload is columns of lengths, and where its source knows them arrival times and the
ids of shared prompt blocks. It is read from a trace or drawn from distributions, and
turns into the requests that an engine serves.
"""

from experiments.workload.arrivals import ARRIVALS, make_arrivals
from experiments.workload.prefix import prefix_hit_share
from experiments.workload.quantiles import from_quantiles
from experiments.workload.synthetic import SYNTHETIC, alpaca_like, sharegpt_like
from experiments.workload.traces import load_trace
from experiments.workload.workload import Workload, WorkloadError

__all__ = [
    "ARRIVALS",
    "SYNTHETIC",
    "Workload",
    "WorkloadError",
    "alpaca_like",
    "from_quantiles",
    "load_trace",
    "make_arrivals",
    "prefix_hit_share",
    "sharegpt_like",
]
