"""Fixtures of pytest, which finds them by itself where gridrig is installed."""

from collections.abc import Iterator

import pytest

from gridrig._emulator import Emulator, emulator


def pytest_configure(config: pytest.Config) -> None:
    """Tells pytest of the marker."""
    config.addinivalue_line(
        "markers", "gridrig_emulator(**options): what the fixture gridrig_emulator is started with"
    )


@pytest.fixture
def gridrig_emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulated cluster for one test, of four processors where no marker says otherwise."""
    marker = request.node.get_closest_marker("gridrig_emulator")
    with emulator(**(marker.kwargs if marker else {})) as running:
        yield running
