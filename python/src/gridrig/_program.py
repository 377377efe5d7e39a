"""The program of this package: where it is, how it is called and ended."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._run import Result

# What gridrig gets to write what it has, when it is asked to end.
TO_END_S = 10


class GridrigError(RuntimeError):
    """gridrig has ended with an error, which is the text of this one.

    `exit_code` is 2 for a mistake in what was asked, 1 for a run that failed and 99 for one that
    misses what `run.require` says, `stderr` all that was said, and `result` what such runs have
    written nevertheless.
    """

    def __init__(self, exit_code: int, stderr: str, result: Result | None = None) -> None:
        said, found, message = f"\n{stderr}".rpartition("\nerror: ")
        if not found:
            missed = [line for line in stderr.splitlines() if line.startswith("require ")]
            message = "\n".join(missed) or stderr
        super().__init__(message.strip() or f"gridrig ended with exit code {exit_code}")
        self.exit_code = exit_code
        self.stderr = stderr
        self.result = result
        if "Traceback (most recent call last)" in said:
            # That of a policy, which ran in a process of its own.
            self.add_note(said.strip())


def program() -> str:
    """The path of the program `gridrig`."""
    places = [sysconfig.get_path("scripts")]
    places.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    # `pip install --target`
    places.append(str(Path(__file__).parents[1] / "bin"))
    for place in places:
        file = Path(place) / "gridrig"
        if file.is_file():
            return str(file)
    found = shutil.which("gridrig")
    if found is None:
        raise FileNotFoundError(f"the program gridrig is not in {', '.join(places)} nor in PATH")
    return found


def call(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs gridrig to its end, and ends it if the caller is interrupted."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [program(), *words], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )
    try:
        stdout, stderr = process.communicate()
    except BaseException:
        end(process)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def end(process: subprocess.Popen[str]) -> None:
    """Asks it to end, then ends it; does nothing if it has ended."""
    process.terminate()
    try:
        process.wait(TO_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
