"""Runs as environments of Gymnasium: an agent decides where each job goes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ._decisions import Broker, Decision, Outcome, decisions
from ._run import words_of

Observation = dict[str, Any]
# An episode is one run, and none that fails because of what the agent has decided.
NEEDS = {"run.bounds": False, "run.require": []}
# What no column comes near.
MOST = 1e18


def minus_wait(ended: Sequence[Outcome]) -> float:
    """The reward that an environment has by default: minus the waits of the jobs that ended."""
    return -sum(it.wait_s for it in ended)


class Environment(gymnasium.Env[Observation, np.int64]):
    """A run of a scenario in which each step is a decision about one job.

    An action is the position of a candidate, as in docs/own-policy.md. An observation has
    `candidates` (a row for each, with the `columns`; -1 where one is not known), `request`
    (processors, and the estimate in seconds), `possible` (1 for candidates that may have the job)
    and `domain` (whose broker asks, by its place in `domains`). An action that is not possible is
    taken as the first that is. Jobs that only one candidate may have are sent there without a
    step.

    `reward` makes a number of the jobs whose end has become known since the step before; in the
    last step these are all that are left. `info` has `job`, `now_s`, `ended` and `action_mask`.
    """

    def __init__(
        self,
        scenario: str | PathLike[str],
        *,
        set: Mapping[str, object] | None = None,
        columns: Iterable[str] = ("free", "queued", "utilization_30s"),
        reward: Callable[[Sequence[Outcome]], float] = minus_wait,
        timeout: str = "1d",
    ) -> None:
        self.columns = list(columns)
        self.reward = reward
        self._scenario = scenario
        self._overrides = NEEDS | dict(set or {})
        self._timeout = timeout
        self._end: Callable[[], object] | None = None
        self._at: Decision | None = None
        # Which candidates there are only a run can tell.
        self._begin(None)
        self.close()
        if not self._brokers:
            raise ValueError(f"{scenario}: no broker asks (expected a scenario with domains)")
        self.domains = [it.domain for it in self._brokers]
        self.candidates = {it.domain: it.names for it in self._brokers}
        count = max(len(it.names) for it in self._brokers)
        shape = (count, len(self.columns))
        self._last = np.zeros(shape, np.float32)
        self.action_space = spaces.Discrete(count)
        self.observation_space = spaces.Dict(
            candidates=spaces.Box(-MOST, MOST, shape, np.float32),
            request=spaces.Box(0, MOST, (2,), np.float32),
            possible=spaces.MultiBinary(count),
            domain=spaces.Discrete(len(self.domains)),
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts a run, with this seed or the next random one."""
        super().reset(seed=seed)
        self.close()
        self._last = np.zeros_like(self._last)
        self._begin(int(self.np_random.integers(1 << 31)) if seed is None else seed)
        return self._observation(), self._info([])

    def step(self, action: int | np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Sends the job to a candidate and goes on to the next decision."""
        if self._at is None:
            raise RuntimeError("Environment.step: no run goes on (expected reset() before)")
        possible = self._at.request["candidates"]
        chosen = int(action)
        try:
            self._at = self._run.send(chosen if chosen in possible else possible[0])
        except StopIteration:
            self._at = None
        ended = list(self._heard)
        self._heard.clear()
        over = self._at is None
        return self._observation(), float(self.reward(ended)), over, False, self._info(ended)

    def close(self) -> None:
        """Ends the run and all its processes."""
        if self._end is not None:
            self._end()
        self._at = self._end = None

    def _begin(self, seed: int | None) -> None:
        # The run knows nothing of this object, which could not be forgotten otherwise.
        scenario, overrides = self._scenario, self._overrides

        def words(policy: dict[str, Any]) -> list[str]:
            return words_of(scenario, overrides, [policy], seed)

        self._brokers: list[Broker] = []
        self._heard: list[Outcome] = []
        self._run: Generator[Decision, int, None] = decisions(
            words, self.columns, self._timeout, self._brokers, self._heard
        )
        # Also when this is forgotten, or Python ends.
        self._end = weakref.finalize(self, self._run.close)
        # There may be nothing to decide: no job, or one candidate for each.
        self._at = next(self._run, None)

    def _observation(self) -> Observation:
        request, domain = np.zeros(2, np.float32), 0
        if self._at is not None:
            broker, cycle, job = self._at
            self._last = np.zeros_like(self._last)
            for place, column in enumerate(self.columns):
                values = [-1.0 if it is None else it for it in cycle["candidates"][column]]
                self._last[: len(values), place] = values
            request[:] = job["processors"], job["estimate_s"]
            domain = broker.index
        return {
            "candidates": self._last.copy(),
            "request": request,
            "possible": self._mask(),
            "domain": np.int64(domain),
        }

    def _mask(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        mask = np.zeros(len(self._last), np.int8)
        if self._at is not None:
            mask[self._at.request["candidates"]] = 1
        return mask

    def _info(self, ended: list[Outcome]) -> dict[str, Any]:
        at = self._at
        return {
            "job": -1 if at is None else at.request["job"],
            "now_s": -1.0 if at is None else at.cycle["now_s"],
            "ended": ended,
            "action_mask": self._mask(),
        }
