"""An emulated cluster as long as a `with` block lasts."""

from __future__ import annotations

import json
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike

from ._program import GridrigError, end, program


@dataclass(frozen=True)
class Emulator:
    """A running emulator."""

    url: str
    """Where it listens."""
    pid: int


@contextmanager
def emulator(
    *,
    processors: int | None = 4,
    resources: str | PathLike[str] | None = None,
    discipline: str | None = None,
    faces: Iterable[str] = (),
    slurm_bin: str | PathLike[str] | None = None,
    options: Iterable[str] = (),
) -> Iterator[Emulator]:
    """Starts `gridrig emulator` on a free port of the loopback interface and ends it afterwards.

    `resources` describes its nodes in XML instead of a number of `processors`, `slurm_bin` is a
    folder for the commands of Slurm, `faces` are interfaces of other systems (`arc`, `bes`), and
    `options` more words for the command.
    """
    words = [program(), "emulator", "--listen", "127.0.0.1:0", *options]
    given = {
        "--processors": processors if resources is None else None,
        "--resources": resources,
        "--discipline": discipline,
        "--slurm-bin": slurm_bin,
    }
    for word, value in given.items():
        words += [] if value is None else [word, str(value)]
    for face in faces:
        words += ["--face", face]
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                process.wait()
                stderr.seek(0)
                raise GridrigError(process.returncode, stderr.read())
            url = json.loads(line)["listening"]
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            direct.open(f"{url}/v1/info", timeout=30).close()
            yield Emulator(url, process.pid)
        finally:
            end(process)
