"""Runs as environments of Gymnasium."""

import os
import subprocess
import sys
import tempfile
import time
import warnings

import gymnasium
import numpy
import psutil
import pytest
from gymnasium.utils.env_checker import check_env

import gridrig

SHORT = {"workload.window.length": "12h"}


def make():
    return gridrig.Environment("two-sites", set=SHORT)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """Each test leaves neither processes nor files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert children() == []
    assert list(tmp_path.iterdir()) == []


def children():
    return psutil.Process().children(recursive=True)


def are_gone(processes):
    """Whether they end: those of a process that has ended are nobody's children."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    return alive == []


def episode(env, seed, action):
    observation, info = env.reset(seed=seed)
    seen, rewards, ended, over = [observation], [], [], False
    while not over:
        observation, reward, over, cut, info = env.step(action(observation))
        assert env.observation_space.contains(observation)
        assert not cut
        seen.append(observation)
        rewards.append(reward)
        ended += info["ended"]
    return seen, rewards, ended


def test_gymnasium_finds_nothing_wrong():
    with make() as env, warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


def test_an_episode_is_the_run_of_the_policy_that_decides_alike(tmp_path):
    with make() as env:
        seen, rewards, ended = episode(env, 1, lambda _: 0)
        again = episode(env, 1, lambda _: 0)
    assert rewards == again[1]
    assert str(seen) == str(again[0])
    assert not seen[-1]["possible"].any()
    result = gridrig.run(
        "two-sites", set=SHORT | {"run.bounds": False}, policies=["local-only(tie=first)"]
    )
    jobs = {job["job_id"]: job for job in result.jobs.to_pylist()}
    # Each job ends once, with the times of the run; only one candidate is no decision.
    assert sorted(it.job for it in ended) == sorted(jobs)
    assert len(seen) == len(jobs) + 1
    for it in ended:
        job = jobs[it.job]
        assert (it.start_s, it.state) == (pytest.approx(job["start_ns"] / 1e9), "completed")
        assert 0 <= it.wait_s <= job["wait_s"] + 1e-9
    assert sum(rewards) == pytest.approx(-sum(it.wait_s for it in ended))
    del result


def test_a_forwarded_job_counts_once_and_the_reward_is_ones_own():
    with gridrig.Environment("two-sites", set=SHORT, reward=len, columns=["queued"]) as env:
        assert env.candidates == {"a": ["a1", "b"], "b": ["b1", "a"]}
        _, rewards, ended = episode(env, 1, lambda _: 1)
    assert len({it.job for it in ended}) == len(ended) == sum(rewards)
    assert {(it.domain, it.candidate) for it in ended} == {("a", 1)}


def test_closing_in_the_middle_leaves_nothing():
    env = make()
    env.reset(seed=1)
    started = children()
    assert len(started) == 3
    env.close()
    assert are_gone(started)
    with pytest.raises(RuntimeError, match="expected reset"):
        env.step(0)
    env.close()


def test_an_environment_that_is_forgotten_leaves_nothing():
    env = make()
    env.reset(seed=1)
    started = children()
    del env
    assert are_gone(started)


@pytest.mark.parametrize("end", ["", "raise ValueError", "os.kill(os.getpid(), 9)"])
def test_a_program_that_ends_anyhow_leaves_no_process(tmp_path, end):
    code = f"""
import gridrig, os, psutil
env = gridrig.Environment("two-sites", set={SHORT!r})
env.reset()
print(*(it.pid for it in psutil.Process().children(recursive=True)), flush=True)
{end}
"""
    # Who is killed cannot tidy up.
    folder = tmp_path.parent if "kill" in end else tmp_path
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
    )
    pids = [int(it) for it in done.stdout.split()]
    assert len(pids) == 3, done.stderr
    until = time.monotonic() + 10
    while any(psutil.pid_exists(it) for it in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(psutil.pid_exists(it) for it in pids)


def test_a_program_that_is_killed_ends_the_episode_with_its_error():
    with make() as env:
        env.reset(seed=1)
        [run] = [it for it in children() if it.name() == "gridrig"]
        run.kill()
        with pytest.raises(gridrig.GridrigError):
            for _ in range(100):
                env.step(0)


def test_what_gridrig_refuses_is_an_error():
    with pytest.raises(gridrig.GridrigError, match="expected a whole number") as caught:
        gridrig.Environment("two-sites", set={"run.seed": "x"})
    assert caught.value.exit_code == 2
    with pytest.raises(gridrig.GridrigError, match="columns"):
        gridrig.Environment("two-sites", columns=["nope"])
    replicate = {"run.replicate": {"over": "broker-phase", "count": 2}}
    with make() as env, pytest.raises(ValueError, match="expected one replication"):
        env = gridrig.Environment("two-sites", set=SHORT | replicate)
        episode(env, 1, lambda _: 0)


@pytest.mark.parametrize(
    "vector", [gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv]
)
def test_environments_run_side_by_side(vector):
    envs = vector([make] * 3)
    try:
        _, infos = envs.reset(seed=5)
        assert list(infos["job"]) == [0, 0, 0]
        episodes = numpy.zeros(3)
        for _ in range(80):
            _, rewards, over, _, infos = envs.step(numpy.zeros(3, int))
            assert len(set(rewards)) == 1
            episodes += over
        assert episodes.min() >= 1
    finally:
        envs.close()
