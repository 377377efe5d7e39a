"""An agent that learns where to send jobs: a table of what actions are worth in few states.

It is told of each job when that has ended, and then knows what its decision was worth. Wants the
extra `gym`. Trains for some seconds.
"""

import gymnasium
import numpy as np

import gridrig

# The shipped trace in less than a third of the time: the clusters are often full.
LOAD = {"workload.scale.arrival": 200, "workload.window.length": "3d"}
EPISODES = 12


class Values:
    """What decisions were worth on average: minus the wait, by state and action."""

    def __init__(self) -> None:
        self.mean = np.zeros((8, 2))
        self.count = np.zeros((8, 2))

    def learn(self, place: tuple[int, int], worth: float) -> None:
        self.count[place] += 1
        self.mean[place] += (worth - self.mean[place]) / self.count[place]


def state(observation: dict) -> int:
    """Where the job would start at once, and where fewer jobs wait."""
    candidates, (processors, _) = observation["candidates"], observation["request"]
    (own_free, own_queued), (peer_free, peer_queued) = candidates[:2]
    bits = own_free >= processors, peer_free >= processors, own_queued <= peer_queued
    return sum(2**place for place, bit in enumerate(bits) if bit)


def episode(env: gymnasium.Env, values: Values, explore: float, seed: int) -> float:
    """One run; answers the mean wait of its jobs."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    decided: dict[int, tuple[int, int]] = {}
    waits, over = [], False
    while not over:
        here = state(observation)
        action = int(rng.integers(2) if rng.random() < explore else values.mean[here].argmax())
        # A job that is asked about again was refused: the last decision counts.
        decided[info["job"]] = here, action
        observation, _, over, _, info = env.step(action)
        for job in info["ended"]:
            waits.append(job.wait_s)
            if job.job in decided:
                values.learn(decided[job.job], -job.wait_s)
    return float(np.mean(waits))


def main() -> None:
    with gridrig.Environment("two-sites", set=LOAD, columns=["free", "queued"]) as env:
        values = Values()
        at_random = np.mean([episode(env, Values(), explore=1.0, seed=seed) for seed in range(3)])
        for number in range(EPISODES):
            wait = episode(env, values, explore=max(0.1, 1 - number / 8), seed=number)
            print(f"episode {number}: mean wait {wait:.1f} s")
        trained = episode(env, values, explore=0.0, seed=0)
    print(f"mean wait at random {at_random:.1f} s, trained {trained:.1f} s")
    if trained > at_random / 2:
        raise SystemExit("it has learned little")


if __name__ == "__main__":
    main()
