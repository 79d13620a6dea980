"""A site's own network from its dumps: its bandwidth, the cost of failures, better places for a job, better tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath

from hotlink import _core
from hotlink.questions import Capacities, Method, Size, _result, analyze, as_json
from hotlink.result import Result

Path = str | PathLike[str]


@dataclass(frozen=True)
class SiteFabric:
    """A network of cables and, where there are any, forwarding tables; see `load_fabric`.

    It holds the files' names, not their content: each question reads them again. ``name`` stands wherever a fabric's
    name is asked for. Shares in records are of the usual host link: 1 means that every host sends at that rate.
    """

    name: str
    nodes: int

    def fail(self, *parts: str) -> SiteFabric:
        """The network after some parts failed, tables as they are.

        A part is ``"leaf1 port 5"``, ``"leaf1 port 5 -> spine0 port 3"``, the name of a switch or a host, or
        ``"random:3"`` (three cables between switches; ``"random:3:7"`` for another seed).
        """
        return _opened("".join([self.name, *(f"+fail:{part}" for part in parts)]))

    def rerouted(self) -> SiteFabric:
        """The network with balanced up*/down* tables in place of its own."""
        return _opened(f"{self.name}+reroute")

    def inspect(self, *, samples: int = 200, seed: int = 1) -> Result:
        """One record: shares of all-to-all, of the cables' bound, of permutations and shifts; what is wrong."""
        asked = {"fabric": self.name, "samples": samples, "seed": seed}
        return _result("inspect", _core.site("inspect", as_json(asked)), **asked)

    def analyze(
        self,
        *,
        traffic: str = "all-to-all",
        capacities: Capacities = "measured",
        method: Method = "load",
        size: Size = "1MiB",
        samples: int = 100,
        seed: int = 1,
        links: bool = False,
    ) -> Result:
        """As `hotlink.analyze` on this network; ``hotlink.simulate(..., fabric=site.name)`` simulates on it.

        Pairs without a route are left out, counted (``unreachable_pairs``) and named (``unreachable``).
        """
        return analyze(
            self.name,
            traffic=traffic,
            capacities=capacities,
            method=method,
            size=size,
            samples=samples,
            seed=seed,
            links=links,
        )

    def failures(self) -> Result:
        """Every single cable between switches and every switch, the costliest first, behind a record of the whole."""
        return _result("failures", _core.site("failures", as_json({"fabric": self.name})), fabric=self.name)

    def groups(self) -> Result:
        """From each switch with hosts, the share of all-to-all to those of each other (``shares``, in this order)."""
        return _result("groups", _core.site("groups", as_json({"fabric": self.name})), fabric=self.name)

    def place(self, hosts: str | Iterable[str], *, samples: int = 200, seed: int = 1) -> Result:
        """A job on these hosts, in order of its ranks: where it is, better ranks for rings, best and random places.

        ``hosts`` is a Slurm host list (``"node[001-016]"``), ``"@file"``, or several names.
        """
        listed = hosts if isinstance(hosts, str) else ",".join(hosts)
        asked = {"fabric": self.name, "hosts": listed, "samples": samples, "seed": seed}
        return _result("place", _core.site("place", as_json(asked)), **asked)

    def keep(self, out: Path) -> SiteFabric:
        """Write the network as one binary file, which loads much faster than its dumps; the network of that file.

        The command's ``hotlink fabric ... --keep``.
        """
        _core.site_keep(as_json({"fabric": self.name}), fspath(out))
        return load_fabric(out)

    def reroute(self, out: Path | None = None, *, samples: int = 200, seed: int = 1) -> Result:
        """The bandwidth of its tables and of balanced ones; with ``out`` these are written as OpenSM loads them."""
        file = None if out is None else fspath(out)
        asked = {"fabric": self.name, "samples": samples, "seed": seed}
        return _result("reroute", _core.site_reroute(as_json(asked), file), **asked, out=file)


def load_fabric(*files: Path) -> SiteFabric:
    """A site's network from its dumps: one file with cables, and one with forwarding tables if there is one.

    Files are recognised by their content, whatever they are called. Raises `InputError`, which names file and line.

    >>> import hotlink
    >>> site = hotlink.load_fabric("ibnetdiscover.txt", "opensm-lfts.dump")  # doctest: +SKIP
    >>> site.failures()[1]["failed"]  # doctest: +SKIP
    'spine0'
    """
    if not files:
        raise _core.InputError("files: must be one, or several")
    return _opened("+".join(fspath(file) for file in files))


def _opened(name: str) -> SiteFabric:
    return SiteFabric(name, _core.site_nodes(as_json({"fabric": name})))
