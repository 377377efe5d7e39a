"""Policies in Python."""

import subprocess
import sys

import pytest

import gridrig

SHORT = {"workload.window.length": "12h", "run.bounds": False}

BEGIN = """
import gridrig

@gridrig.policy(columns=["queued_30s"])
def fewest(view, request):
    print("no answer")
    return min(request.candidates, key=lambda it: view["queued_30s"][it])
"""


@gridrig.policy(columns=["queued_30s"])
def fewest(view, request):
    return min(request.candidates, key=lambda it: view["queued_30s"][it])


@gridrig.policy
class Alternating:
    """Rejects the fifth job, holds the third once, and answers with names."""

    def __init__(self, hello):
        self.names = [it["name"] for it in hello.candidates]
        self.held = False

    def __call__(self, view, request):
        if request.job == 4:
            return gridrig.reject("the fifth")
        if request.job == 2 and not self.held:
            self.held = True
            return gridrig.HOLD
        return self.names[request.candidates[request.job % len(request.candidates)]]


@gridrig.policy
def nothing(view, request):
    """Forgets to answer."""


@gridrig.policy
def failing(view, request):
    raise ZeroDivisionError("in my policy")


def bytes_of(folder, policy):
    files = sorted((folder / policy / "r000").glob("*.parquet"))
    return {file.name: file.read_bytes() for file in files}


def test_the_same_rule_in_python_gives_the_same_bytes():
    built_in = "queue-length(tie=first)"
    result = gridrig.run("two-sites", policies=[built_in, fewest], options=["--check-determinism"])
    own = bytes_of(result.dir, "fewest")
    assert len(own) == 4
    assert own == bytes_of(result.dir, "queue-length-tie-first-")
    [manifest] = [it for it in result.manifests.values() if it["policy"] == "fewest"]
    assert __file__ in manifest["policy_sha256"]


def test_a_class_holds_and_rejects_and_names():
    result = gridrig.run("two-sites", set=SHORT, policies=[Alternating])
    jobs = {job["job_id"]: job for job in result.jobs.to_pylist()}
    assert (jobs[4]["state"], jobs[4]["reason"]) == ("rejected", "policy-rejected")
    assert jobs[2]["dispatch_ns"] > jobs[2]["broker_arrival_ns"]
    assert {job["cluster"] for job in jobs.values()} == {"a1", "b1", None}


def test_a_scenario_starts_a_module_or_a_file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(BEGIN)
    (tmp_path / "part").mkdir()
    (tmp_path / "part/__init__.py").write_text("")
    (tmp_path / "part/inner.py").write_text("from . import other\n" + BEGIN)
    (tmp_path / "part/other.py").write_text("")
    (tmp_path / "program.py").write_text(BEGIN + "\nif __name__ == '__main__': fewest.serve()")
    python = [sys.executable, "-m", "gridrig.policy"]
    programs = {
        "module": [*python, "mine:fewest"],
        "file": [*python, "mine.py", "fewest"],
        "package": [*python, "part/inner.py", "fewest"],
        "program": [sys.executable, "program.py"],
    }
    monkeypatch.chdir(tmp_path)
    own = [{"name": name, "exec": words} for name, words in programs.items()]
    result = gridrig.run("two-sites", set=SHORT, policies=[fewest, *own])
    expected = bytes_of(result.dir, "fewest")
    for name in programs:
        assert bytes_of(result.dir, name) == expected, name


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (nothing, "policy nothing answered None for job 0 (expected the position"),
        (failing, "ZeroDivisionError: in my policy"),
    ],
)
def test_a_mistake_in_a_policy_is_shown_with_the_error(policy, said):
    with pytest.raises(gridrig.GridrigError, match=f"policy {policy.name} of domain a") as caught:
        gridrig.run("two-sites", set=SHORT, policies=[policy])
    assert caught.value.exit_code == 1
    assert said in caught.value.__notes__[0]


def test_a_policy_that_is_in_no_file_is_refused():
    @gridrig.policy
    def inner(view, request):
        return 0

    with pytest.raises(ValueError, match=r"inner: .*expected a function or class at the top level"):
        gridrig.run("two-sites", policies=[inner])


def test_a_file_that_runs_while_it_is_read_does_not_start_itself_again(tmp_path):
    (tmp_path / "mine.py").write_text(BEGIN + "gridrig.run('two-sites', policies=[fewest])\n")
    done = subprocess.run(
        [sys.executable, tmp_path / "mine.py"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "expected the call below `if __name__ == '__main__':`" in done.stderr


def test_a_target_that_is_no_policy_is_said():
    for words in (["os:getcwd"], ["a", "b", "c"]):
        done = subprocess.run(
            [sys.executable, "-m", "gridrig.policy", *words], capture_output=True, text=True
        )
        assert done.returncode == 1
        assert "expected one made by @gridrig.policy" in done.stderr or "usage" in done.stderr
