"""Tests of a client against an emulated cluster: `pytest test_client.py`.

pytest has the fixture as soon as gridrig is installed.
"""

import json
import time
import urllib.request

import pytest


def ask(url: str, job: dict | None = None) -> dict:
    body = None if job is None else json.dumps(job).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_a_job_runs_and_ends(gridrig_emulator):
    jobs = f"{gridrig_emulator.url}/v1/jobs"
    job = ask(jobs, {"processors": 1, "run_time": "100ms"})
    for _ in range(300):
        job = ask(f"{jobs}/{job['id']}")
        if job["state"] == "completed":
            break
        time.sleep(0.1)
    assert job["state"] == "completed"


@pytest.mark.gridrig_emulator(processors=64, options=["--name", "big"])
def test_a_marker_says_what_the_cluster_is_like(gridrig_emulator):
    assert ask(f"{gridrig_emulator.url}/v1/info")["name"] == "big"
