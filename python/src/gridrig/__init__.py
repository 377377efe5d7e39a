"""gridrig in Python: runs, policies of your own, environments for agents, emulated clusters.

The program `gridrig` comes with this package and does the work; docs/python.md says how.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from ._emulator import Emulator, emulator
from ._policy import HOLD, Ended, Hello, Policy, Request, View, policy, reject
from ._program import GridrigError, program
from ._run import Result, resource, run

if TYPE_CHECKING:
    from ._decisions import Outcome
    from ._environment import Environment, minus_wait

__version__ = version("gridrig")
__all__ = [
    "HOLD",
    "Emulator",
    "Ended",
    "Environment",
    "GridrigError",
    "Hello",
    "Outcome",
    "Policy",
    "Request",
    "Result",
    "View",
    "emulator",
    "minus_wait",
    "policy",
    "program",
    "reject",
    "resource",
    "run",
]


def __getattr__(name: str) -> object:
    # These need Gymnasium, which not everybody has.
    if name in ("Environment", "Outcome", "minus_wait"):
        from . import _environment

        return getattr(_environment, name)
    raise AttributeError(f"module 'gridrig' has no attribute {name!r}")
