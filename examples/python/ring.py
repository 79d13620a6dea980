"""One program twice: between processes of this machine, and on the simulated nodes of a network."""

import numpy as np

import hotlink


def ring(comm: hotlink.Comm) -> float:
    """Passes a block round, and returns the microseconds that it took."""
    block, start = np.full(1 << 16, comm.rank, np.uint8), comm.time()
    right, left = (comm.rank + 1) % comm.ranks, (comm.rank - 1) % comm.ranks
    for _ in range(comm.ranks):
        sent = comm.isend(block.copy(), to=right)
        comm.recv(block, source=left)
        sent.wait()
    assert (block == comm.rank).all(), "after a whole round the block is back"
    return (comm.time() - start) * 1e6


if __name__ == "__main__":
    print("here, us:", [round(time, 1) for time in hotlink.run(ring, ranks=2, via="shm")])
    print("on InfiniBand NDR, us:", [round(time, 1) for time in hotlink.run(ring, ranks=4, via="ib-ndr-fat-tree2")])
