"""mpi4py loads its MPI locally, where no preloaded library sees its symbols; the barrier is taken over all the same."""

import ctypes

from mpi4py import MPI

comm = MPI.COMM_WORLD
for _ in range(100):
    comm.Barrier()
for _ in range(10):
    copy = comm.Dup()
    for _ in range(10):
        copy.Barrier()
    copy.Free()
try:
    MPI.COMM_NULL.Barrier()
except MPI.Exception:
    pass
else:
    raise SystemExit("a barrier on COMM_NULL must be an error")
process = ctypes.CDLL(None)
try:
    process.PMPI_Barrier
    where = "globally"
except AttributeError:
    where = "locally"
taken = process.hotlink_barriers_taken()
assert taken == 96 + 10 * 6, f"{taken} barriers taken over"
if comm.rank == 0:
    print(f"mpi4py, MPI loaded {where}: passed, {taken} barriers taken over")
