"""Policies of one's own: functions and classes as programs that gridrig asks line by line."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import operator
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar, overload

PROTOCOL: Final = "gridrig.policy.1"

HOLD: Final = "hold"
"""The job waits and is asked about again in the next cycle."""

Answer = int | str | dict[str, str]

loading = False
"""Whether this process reads a file for its policy, and is to run nothing."""


def reject(why: str) -> dict[str, str]:
    """The job is turned away, for a reason in words."""
    return {"reject": why}


@dataclass(frozen=True)
class Hello:
    """What is known from the beginning: who asks, and about which candidates."""

    policy: str
    seed: int
    domain: str
    candidates: list[dict[str, Any]]


@dataclass(frozen=True)
class Ended:
    """A job that was sent from here and has ended."""

    job: int
    candidate: int
    state: str
    start_s: float | None
    finish_s: float | None


@dataclass(frozen=True)
class Request:
    """A job that waits, and the positions of the candidates that may have it."""

    job: int
    processors: int
    estimate_s: float
    candidates: list[int]
    data_kib: int = 0
    components: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class View:
    """What the broker believes at the beginning of a cycle.

    `view["free"]` is a column: a value for each candidate.
    """

    hello: Hello
    now_s: float
    columns: dict[str, list[Any]]
    ended: list[Ended]

    def __getitem__(self, column: str) -> list[Any]:
        return self.columns[column]


Decide = Callable[[View, Request], Answer]
T = TypeVar("T")


def _of(kind: type[T], document: dict[str, Any]) -> T:
    """Later versions of the protocol may say more."""
    return kind(**{name: document[name] for name in kind.__annotations__ if name in document})


class Policy:
    """A forwarding policy, as `@gridrig.policy` makes it."""

    def __init__(
        self,
        decide: Decide | type,
        name: str | None,
        columns: Iterable[str] | None,
        timeout: str | None,
    ) -> None:
        functools.update_wrapper(self, decide, updated=())
        self.decide = decide
        self.name = name or decide.__name__
        self.columns = None if columns is None else list(columns)
        self.timeout = timeout

    def __call__(self, *args: Any) -> Any:
        return self.decide(*args)

    def entry(self) -> dict[str, Any]:
        """It as an element of `run.policies`."""
        try:
            file = inspect.getsourcefile(self.decide)
        except TypeError:
            file = None
        if file is None or not Path(file).is_file() or "." in self.decide.__qualname__:
            raise ValueError(
                f"policy {self.name}: gridrig starts it as a program of its own (expected a "
                "function or class at the top level of a file)"
            )
        words = [sys.executable, "-m", "gridrig.policy", os.path.abspath(file)]
        entry = {"name": self.name, "exec": [*words, self.decide.__qualname__]}
        return entry if self.timeout is None else entry | {"timeout": self.timeout}

    def serve(self) -> None:
        """Answers gridrig on standard input and output until there is nothing more to ask.

        What the policy prints goes to standard error.
        """
        with os.fdopen(os.dup(1), "w") as answers:
            os.dup2(2, 1)
            self._answer(sys.stdin, answers)

    def _answer(self, lines: TextIO, answers: TextIO) -> None:
        def say(message: dict[str, Any]) -> None:
            print(json.dumps(message), file=answers, flush=True)

        hello = _of(Hello, json.loads(next(lines)))
        decide = self.decide(hello) if isinstance(self.decide, type) else self.decide
        wanted = {} if self.columns is None else {"columns": self.columns}
        say({"protocol": PROTOCOL} | wanted)
        for line in lines:
            cycle = json.loads(line)
            ended = [_of(Ended, it) for it in cycle["ended"]]
            view = View(hello, cycle["now_s"], cycle["candidates"], ended)
            requests = (_of(Request, it) for it in cycle["requests"])
            say({"answers": [self._checked(decide(view, it), it) for it in requests]})

    def _checked(self, answer: Any, request: Request) -> Answer:
        if isinstance(answer, str | dict):
            return answer
        try:
            # Those of numpy among them.
            return operator.index(answer)
        except TypeError:
            raise TypeError(
                f"policy {self.name} answered {answer!r} for job {request.job} (expected the "
                "position or the name of a candidate, gridrig.HOLD or gridrig.reject(why))"
            ) from None


@overload
def policy(decide: Decide | type) -> Policy: ...


@overload
def policy(
    *,
    name: str | None = None,
    columns: Iterable[str] | None = None,
    timeout: str | None = None,
) -> Callable[[Decide | type], Policy]: ...


def policy(
    decide: Decide | type | None = None,
    *,
    name: str | None = None,
    columns: Iterable[str] | None = None,
    timeout: str | None = None,
) -> Policy | Callable[[Decide | type], Policy]:
    """Makes a policy of a function `(view, request)`, or of a class that is made with the Hello
    of a broker and called so.

    The answer is a candidate (its position or name), HOLD, or `reject(why)`. `columns` are those
    that are wanted (default: all), `timeout` is how long one answer may take, such as `"10s"`.
    """
    if decide is not None:
        return Policy(decide, name, columns, timeout)
    return lambda decide: Policy(decide, name, columns, timeout)


def load(target: str, name: str) -> Policy:
    """The policy of this name in a module or in a file, which may be part of a package."""
    global loading
    loading = True
    if target.endswith(".py"):
        file = Path(target).resolve()
        parts, place = [file.stem], file.parent
        while (place / "__init__.py").is_file():
            parts, place = [place.name, *parts], place.parent
        target = ".".join(it for it in parts if it != "__init__")
        sys.path.insert(0, str(place))
    found = getattr(importlib.import_module(target), name, None)
    if not isinstance(found, Policy):
        raise SystemExit(f"{target}: {name} is no policy (expected one made by @gridrig.policy)")
    return found


def main(words: Sequence[str]) -> None:
    """`python -m gridrig.policy`"""
    words = words[0].rsplit(":", 1) if len(words) == 1 else words
    if len(words) != 2:
        raise SystemExit("usage: python -m gridrig.policy MODULE:POLICY | FILE.py POLICY")
    load(*words).serve()
