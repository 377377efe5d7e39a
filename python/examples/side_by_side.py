"""Several environments at a time, each a process of its own with a run of its own.

Wants the extra `gym`.
"""

from functools import partial

import gymnasium
import numpy as np

import gridrig

COUNT = 4


def day(number: int) -> gridrig.Environment:
    """The environment of one day of the trace."""
    window = {"workload.window.start": f"{number}d", "workload.window.length": "1d"}
    return gridrig.Environment("two-sites", set={"workload.scale.arrival": 200} | window)


def main() -> None:
    envs = gymnasium.vector.AsyncVectorEnv([partial(day, number) for number in range(COUNT)])
    try:
        observations, _ = envs.reset(seed=1)
        total, episodes = np.zeros(COUNT), 0
        # A run that is over is followed by the next.
        while episodes < COUNT:
            free = observations["candidates"][:, :, 0]
            observations, rewards, over, _, _ = envs.step(free.argmax(axis=1))
            total += rewards
            episodes += int(over.sum())
        print(f"{COUNT} environments side by side: {episodes} runs, rewards {total}")
    finally:
        envs.close()


if __name__ == "__main__":
    main()
