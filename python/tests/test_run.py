"""Runs, their results and their errors."""

import gc
import subprocess
import tomllib

import numpy
import pytest

import gridrig
from gridrig._run import toml

SHORT = {"workload.window.length": "12h", "run.bounds": False}


def test_results_are_those_of_the_run_directories():
    result = gridrig.run("two-sites", set=SHORT, policies=["round-robin", "free-node"])
    rows = result.summary.to_pylist()
    assert [row["policy"] for row in rows] == ["free-node", "round-robin"]
    jobs = result.jobs.to_pandas()
    assert set(jobs["replication"]) == {"single"}
    for row in rows:
        own = jobs[jobs["policy"] == row["policy"]]
        assert row["jobs_completed"] == len(own) > 10
        assert row["delay_s_mean"] == pytest.approx(own["delay_s"].mean())
    assert len(result.events) > len(result.jobs) == len(jobs)
    assert set(result.hops["policy"].to_pylist()) == {"round-robin", "free-node"}
    assert set(result.series["cluster"].to_pylist()) == {"a1", "b1"}
    compared = result.compare(baseline="round-robin").to_pylist()
    [delay] = [
        it
        for it in compared
        if (it["policy"], it["metric"], it["statistic"]) == ("free-node", "delay_s", "mean")
    ]
    means = {row["policy"]: row["delay_s_mean"] for row in rows}
    assert delay["difference"] == pytest.approx(means["free-node"] - means["round-robin"])
    assert "round-robin" in result.text


def test_without_out_the_files_are_gone_with_the_result(tmp_path):
    result = gridrig.run("two-sites", set=SHORT, policies=["round-robin"])
    folder = result.dir
    assert folder.is_dir()
    del result
    gc.collect()
    assert not folder.parent.exists()
    kept = gridrig.run("two-sites", set=SHORT, policies=["round-robin"], out=tmp_path / "runs")
    assert kept.dir == tmp_path / "runs/two-sites-1"
    assert gridrig.run("two-sites", seed=7, set=SHORT, out=tmp_path, jobs=2).dir.name.endswith("-7")


@pytest.mark.parametrize(
    ("scenario", "overrides", "message"),
    [
        ("two-sites", {"run.seed": "x"}, 'run.seed = "x": expected a whole number'),
        ("two-sites", {"run.policies": ["nope"]}, "nope"),
        ("no.toml", {}, "no.toml"),
    ],
)
def test_a_mistake_is_an_error_with_the_message_of_gridrig(scenario, overrides, message):
    with pytest.raises(gridrig.GridrigError) as caught:
        gridrig.run(scenario, set=overrides)
    assert message in str(caught.value)
    assert "\nerror" not in str(caught.value)
    assert (caught.value.exit_code, caught.value.result) == (2, None)


def test_a_run_that_does_not_hold_what_is_required_is_an_error_with_its_result():
    with pytest.raises(gridrig.GridrigError) as caught:
        gridrig.run("two-sites", set=SHORT | {"run.require": ["delay_s.mean < 0.001"]})
    assert caught.value.exit_code == 99
    assert str(caught.value).startswith("require delay_s.mean < 0.001: missed by round-robin (")
    assert caught.value.result.summary.num_rows == 4


def test_a_name_that_ships_not_is_said_to():
    with pytest.raises(FileNotFoundError, match="three-sites"):
        gridrig.run("three-sites")


def test_values_are_written_as_toml():
    value = {"a b": [1, 2.5, True, 'x"\n\x7fé'], "c": {"d": 1e-7}}
    assert tomllib.loads(f"v = {toml(value)}")["v"] == value


def test_numbers_of_numpy_are_numbers():
    assert toml([numpy.int64(3), numpy.float64(0.5)]) == "[3, 0.5]"


def test_the_version_is_that_of_the_program():
    said = subprocess.run([gridrig.program(), "--version"], capture_output=True, text=True)
    assert said.stdout.split() == ["gridrig", gridrig.__version__]
