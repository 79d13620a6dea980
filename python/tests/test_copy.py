"""`hotlink.run(copy=...)`: every route moves the same bytes, and a wrong one is refused."""

from pathlib import Path

import numpy as np
import pytest

import hotlink

ROUTES = ["auto", "ring", "stream", "system", "halves"]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_moves_the_same_bytes(route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def program(comm: hotlink.Comm) -> float:
        array = np.arange(100_000.0) * (1 + comm.rank)
        into = np.empty_like(array)
        if comm.rank == 0:
            comm.send(array, to=1)
            comm.recv(into, source=1)
        else:
            comm.recv(into, source=0)
            comm.send(into, to=0)
        assert np.array_equal(into, np.arange(100_000.0))
        return float(into[-1])

    assert hotlink.run(program, ranks=2, limit=60, copy=route) == [99_999.0] * 2


def test_wrong_routes_are_named() -> None:
    with pytest.raises(hotlink.InputError, match="copy: `fast`; allowed: auto, ring"):
        hotlink.run(hotlink.Comm.barrier, ranks=2, copy="fast")
    with pytest.raises(hotlink.InputError, match="via='tcp'"):
        hotlink.run(hotlink.Comm.barrier, ranks=2, via="tcp", copy="ring")
