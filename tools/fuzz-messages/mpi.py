"""Runs random message-passing programs under mpi4py, and adds what each receive got.

Usage: mpiexec -n 4 python mpi.py PROGRAMS RESULTS

PROGRAMS comes from ``fuzz_messages --out``: a JSON object a line. RESULTS is the same with ``there`` added, for
``fuzz_messages --judge``. The steps are those of `hotlink_fuzz::Step`.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

GUARD, UNTOUCHED, NO_TAG = 32, 0xA5, 32_000
MASK, GAMMA = (1 << 64) - 1, 0x9E3779B97F4A7C15
WORLD = MPI.COMM_WORLD


def message_key(seed: int, source: int, number: int) -> int:
    """The key of a message's contents: as `hotlink_fuzz::message_key`."""
    z = ((seed ^ source << 48 ^ number << 16) + GAMMA) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def contents(key: int, size: int) -> np.ndarray:
    words = np.arange((size + 7) // 8, dtype=np.uint64) * np.uint64(GAMMA) + np.uint64(key)
    return words.view(np.uint8)[:size]


def runs(form: dict, size: int) -> np.ndarray:
    """The bytes of a message of `bytes` bytes, relative to the form's offset, in order."""
    block = form["block"]
    at = np.arange(size)
    return at if block == 0 else at // block * form["stride"] + at % block


def block_of(form: dict, size: int) -> dict:
    """The form for a message or room of `bytes` bytes: in a row if its blocks do not fit."""
    whole = form["block"] > 0 and size % form["block"] == 0
    return form if whole else {**form, "block": 0}


class Rank:
    """One rank's part of one program."""

    def __init__(self, comm: MPI.Intracomm, script: dict) -> None:
        self.comm, self.script = comm, script
        self.places: dict[int, np.ndarray] = {}
        self.open: dict[int, tuple[MPI.Request, tuple | None]] = {}
        self.persistent: dict[int, MPI.Prequest] = {}
        self.seen: list[dict] = []
        self.sends = 0
        self.types: list[MPI.Datatype] = []
        for kind, step in self.steps():
            if kind in ("send", "recv"):
                size = step["bytes" if kind == "send" else "room"]
                form = block_of(step["form"], size)
                extent = int(runs(form, size)[-1]) + 1 if size else 0
                place, need = form["place"], form["offset"] + extent + GUARD
                if place not in self.places or len(self.places[place]) < need:
                    self.places[place] = np.zeros(need, np.uint8)

    def steps(self):
        for step in self.script["ranks"][self.comm.rank]:
            yield next(iter(step.items()))

    def buffer(self, form: dict, size: int) -> list:
        array, offset = self.places[form["place"]], form["offset"]
        form = block_of(form, size)
        if size == 0 or form["block"] == 0:
            return [array[offset : offset + size], size, MPI.BYTE]
        kind = MPI.BYTE.Create_vector(size // form["block"], form["block"], form["stride"]).Commit()
        self.types.append(kind)
        return [array[offset:], 1, kind]

    def play(self) -> list[dict]:
        for kind, step in self.steps():
            getattr(self, kind)(step)
        for request in self.persistent.values():
            request.Free()
        for kind in self.types:
            kind.Free()
        return self.seen

    def send(self, step: dict) -> None:
        form, size = step["form"], step["bytes"]
        data = contents(message_key(self.script["seed"], self.comm.rank, self.sends), size)
        self.sends += 1
        self.places[form["place"]][form["offset"] + runs(block_of(form, size), size)] = data
        letter = {"Standard": "", "Restricted": "s", "Postal": "b"}[step["mode"]]
        self.post(step["how"], letter + "send", self.buffer(form, size), step["to"], step["tag"], None)

    def recv(self, step: dict) -> None:
        form, room = step["form"], step["room"]
        array, offset = self.places[form["place"]], form["offset"]
        layout = runs(block_of(form, room), room)
        array[offset - GUARD : offset + (int(layout[-1]) + 1 if room else 0) + GUARD] = UNTOUCHED
        self.seen.append({})
        landing = (len(self.seen) - 1, form, room)
        source = MPI.ANY_SOURCE if step["from"] is None else step["from"]
        tag = MPI.ANY_TAG if step["tag"] is None else step["tag"]
        if step["probe"]:
            status = MPI.Status()
            self.comm.Probe(source, tag, status)
            source, tag = status.source, status.tag
        self.post(step["how"], "recv", self.buffer(form, room), source, tag, landing)

    def post(self, how, name: str, buffer: list, peer: int, tag: int, landing: tuple | None) -> None:
        """Blocking, as a request, or as a start of a persistent request."""
        if how == "blocking":
            status = MPI.Status()
            if landing is None:
                getattr(self.comm, name.capitalize())(buffer, peer, tag)
            else:
                self.comm.Recv(buffer, peer, tag, status)
                self.look(landing, status)
            return
        if "request" in how:
            number, request = how["request"], getattr(self.comm, "I" + name)(buffer, peer, tag)
        else:
            number, which = how["persistent"]
            if which not in self.persistent:
                self.persistent[which] = getattr(self.comm, name.capitalize() + "_init")(buffer, peer, tag)
            request = self.persistent[which]
            request.Start()
        self.open[number] = (request, landing)

    def look(self, landing: tuple | None, status: MPI.Status) -> None:
        if landing is None:
            return
        number, form, room = landing
        size, offset = status.Get_count(MPI.BYTE), form["offset"]
        layout = runs(block_of(form, room), room)
        about = self.places[form["place"]][offset - GUARD : offset + (int(layout[-1]) + 1 if room else 0) + GUARD]
        data = about[GUARD + layout[:size]]
        prefix = int.from_bytes(data[:8].tobytes(), "little")
        due = np.full(len(about), UNTOUCHED, np.uint8)
        due[GUARD + layout[:size]] = contents(prefix, size) if size >= 8 else data
        damage = None if (due == about).all() else f"{int((due != about).sum())} bytes differ"
        told = {"Ok": {"from": status.source, "tag": status.tag, "bytes": size}}
        self.seen[number] = {"status": told, "truncated": None, "prefix": prefix, "damage": damage}

    def wait(self, step: dict) -> None:
        """Every kind of wait ends all of the requests."""
        chosen = [self.open.pop(number) for number in step["requests"]]
        requests, landings = [one[0] for one in chosen], [one[1] for one in chosen]
        statuses, how = [MPI.Status() for _ in chosen], step["how"]
        if how in ("each", "cancelled"):
            for request, status in zip(requests, statuses, strict=True):
                request.Wait(status)
        elif how == "test":
            for request, status in zip(requests, statuses, strict=True):
                while not request.Test(status):
                    pass
        elif how == "all":
            MPI.Request.Waitall(requests, statuses)
        elif how == "test_all":
            while not MPI.Request.Testall(requests, statuses):
                pass
        elif how in ("any", "test_any"):
            self.wait_any(requests, statuses, tests=how == "test_any")
        else:
            self.wait_some(requests, statuses, tests=how == "test_some")
        for landing, status in zip(landings, statuses, strict=True):
            self.look(landing, status)

    def wait_any(self, requests: list, statuses: list, tests: bool) -> None:
        left = len(requests)
        while left:
            status = MPI.Status()
            if tests:
                place, over = MPI.Request.Testany(requests, status)
            else:
                place, over = MPI.Request.Waitany(requests, status), True
            if over and place != MPI.UNDEFINED:
                statuses[place], left = status, left - 1

    def wait_some(self, requests: list, statuses: list, tests: bool) -> None:
        left = len(requests)
        while left:
            some = [MPI.Status() for _ in requests]
            places = (MPI.Request.Testsome if tests else MPI.Request.Waitsome)(requests, some)
            for place, status in zip(places or [], some, strict=False):
                statuses[place], left = status, left - 1

    def iprobe(self, step: dict) -> None:
        self.comm.Iprobe(
            MPI.ANY_SOURCE if step["from"] is None else step["from"],
            MPI.ANY_TAG if step["tag"] is None else step["tag"],
        )

    def pause(self, step: dict) -> None:
        for _ in range(step["turns"]):
            if step["polls"]:
                self.comm.Iprobe(MPI.ANY_SOURCE, NO_TAG)
        time.sleep(0)

    def free(self, step: dict) -> None:
        """Memory is Python's here."""

    def collective(self, step) -> None:
        if step == "barrier":
            self.comm.Barrier()
            return
        name, value = next(iter(step.items()))
        rank, ranks = self.comm.rank, self.comm.size
        if name == "bcast":
            root, size = value
            due = contents(self.script["seed"] ^ root, size)
            data = due.copy() if rank == root else np.zeros(size, np.uint8)
            self.comm.Bcast(data, root)
            assert (data == due).all()
        elif name == "allreduce":
            total = np.empty(value, np.int64)
            self.comm.Allreduce(np.arange(value, dtype=np.int64) + rank, total)
            assert (total == np.arange(value) * ranks + ranks * (ranks - 1) // 2).all()
        else:
            words, others = np.arange(value, dtype=np.int64), np.arange(ranks, dtype=np.int64)[:, None]
            data = np.empty((ranks, value), np.int64)
            self.comm.Alltoall(np.ascontiguousarray((rank << 40) + (others << 20) + words), data)
            assert (data == (others << 40) + (rank << 20) + words).all()


def main(programs: str, results: str) -> None:
    MPI.Attach_buffer(np.empty(64 << 20, np.uint8))
    comms = {size: WORLD.Split(0 if WORLD.rank < size else MPI.UNDEFINED) for size in range(2, WORLD.size + 1)}
    lines = []
    with open(programs) as file:
        for text in file:
            line = json.loads(text)
            comm = comms[len(line["script"]["ranks"])]
            seen = Rank(comm, line["script"]).play() if comm != MPI.COMM_NULL else None
            there = WORLD.gather(seen)
            if WORLD.rank == 0:
                lines.append(json.dumps({**line, "there": [one for one in there if one is not None]}) + "\n")
    if WORLD.rank == 0:
        with open(results, "w") as file:
            file.writelines(lines)
    MPI.Detach_buffer()


if __name__ == "__main__":
    main(*sys.argv[1:])
