"""The decisions of one run, each asked of who iterates: the carrier of environments.

gridrig starts `_relay.py` for each broker, which passes lines on over a local socket in a folder
that only this user can enter.
"""

from __future__ import annotations

import json
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ._policy import PROTOCOL
from ._program import GridrigError, end, program

# An address of a local socket has to be shorter.
LONGEST_PATH = 100
# How often it is looked whether gridrig has ended.
LOOK_S = 0.02


class Outcome(NamedTuple):
    """What became of a job."""

    job: int
    domain: str
    """Whose broker had it first."""
    candidate: int
    """Whom that broker sent it to at last."""
    state: str
    asked_s: float
    """When that broker first asked about it: in its first cycle there."""
    start_s: float | None
    finish_s: float | None

    @property
    def wait_s(self) -> float:
        """From there to its start; 0 if it never ran."""
        return 0.0 if self.start_s is None else self.start_s - self.asked_s


@dataclass
class Broker:
    """A broker that asks."""

    domain: str
    index: int
    names: list[str]


class Decision(NamedTuple):
    """One job of one cycle of one broker, as docs/own-policy.md has them."""

    broker: Broker
    cycle: dict[str, Any]
    request: dict[str, Any]


class Line(NamedTuple):
    """What a broker says, and how it is answered."""

    broker: Broker
    message: dict[str, Any]
    answer: Callable[[dict[str, Any]], None]


def decisions(
    words_for: Callable[[dict[str, Any]], list[str]],
    columns: list[str],
    timeout: str,
    brokers: list[Broker],
    heard: list[Outcome],
) -> Generator[Decision, int, None]:
    """Runs gridrig with the words for a policy; is sent the position of a candidate each time.

    `brokers` gets those that ask, `heard` the jobs whose end has become known: at the end all
    others too, by the run's job table. However it ends, no process and no file is left behind.
    """
    folder = Path(tempfile.mkdtemp(prefix="gridrig-"))
    address = folder / "socket"
    relay = [sys.executable, "-I", "-S", str(Path(__file__).with_name("_relay.py"))]
    policy = {"name": "agent", "exec": [*relay, str(address)], "timeout": timeout}
    process = None
    with selectors.DefaultSelector() as selector:
        try:
            if len(str(address)) > LONGEST_PATH:
                raise ValueError(f"{address}: too long for a socket (expected a shorter TMPDIR)")
            listener = socket.socket(socket.AF_UNIX)
            selector.register(listener, selectors.EVENT_READ)
            listener.bind(str(address))
            listener.listen()
            with open(folder / "stderr", "w") as stderr:
                process = subprocess.Popen(
                    [program(), *words_for(policy), "--json", "--out", str(folder / "runs")],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    text=True,
                )
            asked: dict[int, Outcome] = {}
            for line in _lines(selector, process, columns, brokers):
                yield from _cycle(line, asked, heard)
            if process.wait() != 0:
                raise GridrigError(process.returncode, (folder / "stderr").read_text())
            heard += _others(folder / "runs", asked)
        finally:
            for key in list(selector.get_map().values()):
                _hang_up(selector, key)
            if process is not None:
                end(process)
            shutil.rmtree(folder, ignore_errors=True)


def _hang_up(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    selector.unregister(key.fileobj)
    connection = key.fileobj
    assert isinstance(connection, socket.socket)
    with suppress(OSError):
        # Processes that were forked off may have copies.
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _lines(
    selector: selectors.BaseSelector,
    process: subprocess.Popen[str],
    columns: list[str],
    brokers: list[Broker],
) -> Iterator[Line]:
    """What brokers say after the first line, until gridrig has ended."""
    while True:
        # In this order: what was said before the end is still there.
        over = process.poll() is not None
        ready = selector.select(LOOK_S)
        if over and not ready:
            return
        for key, _ in ready:
            assert isinstance(key.fileobj, socket.socket)
            if key.data is None:
                connection, _ = key.fileobj.accept()
                lines = connection.makefile("rb")
                broker = _greet(connection, lines, columns, brokers)
                selector.register(connection, selectors.EVENT_READ, (broker, lines))
                continue
            broker, lines = key.data
            text = lines.readline()
            if text:
                yield Line(broker, json.loads(text), partial(_say, key.fileobj))
            else:
                lines.close()
                _hang_up(selector, key)


def _say(connection: socket.socket, message: dict[str, Any]) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n")


def _greet(
    connection: socket.socket, lines: Any, columns: list[str], brokers: list[Broker]
) -> Broker:
    hello = json.loads(lines.readline())
    names = [it["name"] for it in hello["candidates"]]
    broker = Broker(hello["domain"], len(brokers), names)
    if any(it.domain == broker.domain for it in brokers):
        lines.close()
        connection.close()
        raise ValueError(f"domain {broker.domain} begins again (expected one replication)")
    brokers.append(broker)
    _say(connection, {"protocol": PROTOCOL, "columns": columns})
    return broker


def _cycle(
    line: Line, asked: dict[int, Outcome], heard: list[Outcome]
) -> Generator[Decision, int, None]:
    """The decisions of a cycle; a job that only one candidate may have needs none."""
    broker, cycle, answer = line
    for told in cycle["ended"]:
        own = asked.get(told["job"])
        # A job that was forwarded ends at each of its brokers.
        if own is not None and own.domain == broker.domain:
            heard.append(asked.pop(own.job)._replace(**told))
    answers = []
    for request in cycle["requests"]:
        possible = request["candidates"]
        chosen = possible[0]
        if len(possible) > 1:
            chosen = yield Decision(broker, cycle, request)
        answers.append(chosen)
        job, now = request["job"], cycle["now_s"]
        own = asked.setdefault(job, Outcome(job, broker.domain, chosen, "", now, None, None))
        if own.domain == broker.domain:
            asked[job] = own._replace(candidate=chosen)
    answer({"answers": answers})


def _others(runs: Path, asked: dict[int, Outcome]) -> Iterator[Outcome]:
    """What became of the jobs whose end nobody was told: a broker asks when jobs wait."""
    from pyarrow import parquet

    [file] = runs.glob("*/*/*/jobs.parquet")
    names = ["job_id", "state", "start_ns", "finish_ns"]
    table = parquet.ParquetFile(file).read(columns=names)
    for job, state, *times in zip(*(table[name].to_pylist() for name in names), strict=True):
        if job in asked:
            start, finish = (None if it is None else it / 1e9 for it in times)
            yield asked[job]._replace(state=state, start_s=start, finish_s=finish)
