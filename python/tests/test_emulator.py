"""Emulated clusters as long as they are wanted."""

import json
import subprocess
import urllib.error
import urllib.request

import psutil
import pytest

import gridrig


def test_it_answers_in_the_block_and_is_gone_behind_it():
    with gridrig.emulator(processors=8, discipline="fcfs") as cluster:
        assert cluster.url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{cluster.url}/v1/info") as answer:
            assert "clock" in json.load(answer)
    assert not psutil.pid_exists(cluster.pid)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{cluster.url}/v1/info")


def test_it_is_gone_behind_an_exception():
    with pytest.raises(ZeroDivisionError), gridrig.emulator() as cluster:
        raise ZeroDivisionError
    assert not psutil.pid_exists(cluster.pid)


def test_commands_of_slurm_and_faces(tmp_path):
    with gridrig.emulator(slurm_bin=tmp_path / "bin", faces=["bes"]) as cluster:
        assert b"definitions" in urllib.request.urlopen(f"{cluster.url}/services/bes?wsdl").read()
        said = subprocess.run([tmp_path / "bin/sinfo", "-h"], capture_output=True, text=True)
        assert "compute" in said.stdout


def test_what_cannot_be_started_says_why():
    with (
        pytest.raises(gridrig.GridrigError, match="nope") as caught,
        gridrig.emulator(discipline="nope"),
    ):
        raise AssertionError("it was started")
    assert caught.value.exit_code == 2
