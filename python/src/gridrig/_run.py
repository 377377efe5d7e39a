"""Runs, and their results as Arrow tables."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _policy
from ._policy import Policy
from ._program import GridrigError, call

if TYPE_CHECKING:
    import pyarrow

# The text of a policy, a policy of Python, or a table with name and exec.
AnyPolicy = str | Policy | Mapping[str, Any]


def resource(path: str) -> Path:
    """A file that comes with this package, such as `traces/ctc-like.swf.gz`."""
    file = Path(__file__).parent / "data" / path
    if not file.is_file():
        raise FileNotFoundError(
            f"{path} does not come with gridrig (expected a file in {file.parent})"
        )
    return file


def toml(value: object) -> str:
    """A value as it stands in a scenario."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, Policy):
        return toml(value.entry())
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(str(k))} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "[" + ", ".join(toml(it) for it in value) + "]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def words_of(
    scenario: str | PathLike[str],
    overrides: Mapping[str, object],
    policies: Iterable[AnyPolicy] | None,
    seed: int | None,
) -> list[str]:
    """The words behind `gridrig run`."""
    path = str(scenario)
    if not Path(path).exists() and re.fullmatch(r"[\w-]+", path):
        path = str(resource(f"resources/scenarios/{path}.toml"))
    overrides = dict(overrides)
    if policies is not None:
        overrides["run.policies"] = list(policies)
    words = ["run", path]
    for key, value in overrides.items():
        words += ["--set", f"{key}={toml(value)}"]
    return words if seed is None else [*words, "--seed", str(int(seed))]


def run(
    scenario: str | PathLike[str],
    *,
    set: Mapping[str, object] | None = None,
    policies: Iterable[AnyPolicy] | None = None,
    seed: int | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int = 1,
    options: Sequence[str] = (),
) -> Result:
    """Runs a scenario: a file, or the name of one that comes with this package.

    `set` overrides keys, `policies` is `run.policies`, `seed` is `run.seed`. The run directories
    go to `out`; without it they are gone with the result. So many `jobs` run at a time, and
    `options` are more words for `gridrig run`. Raises GridrigError where gridrig has an error.
    """
    if _policy.loading:
        raise RuntimeError(
            "gridrig.run: called by a file that is read for its policy (expected the call below "
            "`if __name__ == '__main__':`)"
        )
    words = words_of(scenario, set or {}, policies, seed)
    place = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="gridrig-"))
    result = None
    try:
        done = call([*words, "--out", str(place), "-j", str(jobs), *options])
        where = re.findall(r"^written: (.*?)(?: and \d+ more)?$", done.stderr, re.MULTILINE)
        if where:
            # OUT/SCENARIO-SEED/POLICY/rNNN
            result = Result(Path(where[-1]).parents[1], done.stdout)
        if done.returncode != 0:
            raise GridrigError(done.returncode, done.stderr, result)
        if result is None:
            raise ValueError(f"no run was written (expected options without --no-out): {options}")
        return result
    finally:
        if out is None and result is not None:
            weakref.finalize(result, shutil.rmtree, place, ignore_errors=True)
        elif out is None:
            shutil.rmtree(place, ignore_errors=True)


class Result:
    """The runs in a folder of run directories, as Arrow tables.

    Every table has a column `policy` and a column `replication`; docs/run-directory.md has the
    others. `dir` is the folder and `text` what `gridrig run` has printed.
    """

    def __init__(self, dir: str | PathLike[str], text: str = "") -> None:
        self.dir = Path(dir)
        self.text = text

    def __repr__(self) -> str:
        return f"<gridrig.Result {self.dir}: {len(self.manifests)} runs>"

    @cached_property
    def manifests(self) -> dict[Path, dict[str, Any]]:
        """The manifest of each run directory."""
        files = sorted(self.dir.rglob("manifest.json"))
        return {file.parent: json.loads(file.read_text()) for file in files}

    @cached_property
    def summary(self) -> pyarrow.Table:
        """A row for each run, with every figure: `delay_s_mean`, `jobs_completed`, ..."""
        import pyarrow

        rows = [_labels(*it) | dict(_figures(it[1]["summary"])) for it in self.manifests.items()]
        names = dict.fromkeys(name for row in rows for name in row)
        return pyarrow.table({name: [row.get(name) for row in rows] for name in names})

    @cached_property
    def jobs(self) -> pyarrow.Table:
        """A row for each job."""
        return self.table("jobs")

    @cached_property
    def hops(self) -> pyarrow.Table:
        """A row for each visit of a job to a broker."""
        return self.table("hops")

    @cached_property
    def series(self) -> pyarrow.Table:
        """The load of each cluster over time."""
        return self.table("series")

    @cached_property
    def events(self) -> pyarrow.Table:
        """The event log."""
        return self.table("events")

    def table(self, name: str) -> pyarrow.Table:
        """One table of all runs."""
        import pyarrow
        from pyarrow import parquet

        tables = []
        for dir, manifest in self.manifests.items():
            table = parquet.ParquetFile(dir / f"{name}.parquet").read()
            table = table.replace_schema_metadata()
            for place, (column, value) in enumerate(_labels(dir, manifest).items()):
                values = pyarrow.repeat(pyarrow.scalar(value), len(table))
                table = table.add_column(place, column, values)
            tables.append(table)
        return pyarrow.concat_tables(tables, promote_options="default")

    def compare(self, baseline: str | None = None) -> pyarrow.Table:
        """`gridrig compare`: a row for each policy, metric and statistic."""
        import pyarrow

        words = ["compare", str(self.dir), "--json"]
        done = call(words if baseline is None else [*words, "--baseline", baseline])
        if done.returncode != 0:
            raise GridrigError(done.returncode, done.stderr)
        rows = [
            {"policy": policy["name"], "role": policy["role"], "metric": metric, "statistic": name}
            | dict(_figures(figures))
            for policy in json.loads(done.stdout)["policies"]
            for metric, statistics in policy["metrics"].items()
            for name, figures in statistics.items()
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return pyarrow.table({name: [row.get(name) for row in rows] for name in names})


def _labels(dir: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """What tells a run from the others."""
    return {
        "policy": manifest["policy"] or dir.parent.name,
        "replication": manifest["study"]["key"],
    }


def _figures(document: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """All values that are no list, each with its path as `gridrig sweep merge` writes it."""
    for key, value in document.items():
        name = re.sub("[ -]", "_", prefix + key)
        if isinstance(value, Mapping):
            yield from _figures(value, f"{name}_")
        elif not isinstance(value, list) and name not in ("policy", "replication"):
            yield name, value
