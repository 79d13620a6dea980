/* Jacobi's method on a square, rows in blocks over the ranks. Each step exchanges rows with both neighbours, and
 * every tenth step all ranks agree on the change. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int side = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 100, rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int rows = side / ranks + (rank < side % ranks);
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    double *old = calloc((size_t)(rows + 2) * side, sizeof *old), *new = calloc((size_t)(rows + 2) * side, sizeof *new);
    for (int x = 0; rank == 0 && x < side; x++)
        old[x] = new[x] = 1; /* the upper edge is hot */
    double change = 0, start = MPI_Wtime();
    for (int step = 1; step <= steps; step++) {
        MPI_Request requests[4];
        MPI_Irecv(old, side, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(old + (rows + 1) * side, side, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(old + side, side, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(old + rows * side, side, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        double own = 0;
        for (int y = 1; y <= rows; y++)
            for (int x = 1; x < side - 1; x++) {
                int at = y * side + x;
                new[at] = (old[at - 1] + old[at + 1] + old[at - side] + old[at + side]) / 4;
                own += (new[at] - old[at]) * (new[at] - old[at]);
            }
        double *swap = old;
        old = new, new = swap;
        if (step % 10 == 0)
            MPI_Allreduce(&own, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d ranks, %d steps: %.1f us a step, last change %.6f\n", ranks, steps, (MPI_Wtime() - start) / steps * 1e6, change);
    MPI_Finalize();
    return 0;
}
