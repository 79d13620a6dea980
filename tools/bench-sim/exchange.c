/* The program that bench-sim runs under SMPI. In an exchange each rank sends BYTES to every other, all posted at once,
 * in shift order. A ping-pong is COUNT messages of BYTES between ranks 0 and 1.
 *
 *     exchange BYTES | pingpong BYTES COUNT
 *
 * Rank 0 prints the simulated microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void exchange(int rank, int ranks, int bytes, char *out, char *in) {
    MPI_Request *requests = malloc(2 * (size_t)ranks * sizeof *requests);
    int n = 0;
    for (int k = 1; k < ranks; k++)
        MPI_Irecv(in, bytes, MPI_BYTE, (rank + ranks - k) % ranks, 0, MPI_COMM_WORLD, &requests[n++]);
    for (int k = 1; k < ranks; k++)
        MPI_Isend(out, bytes, MPI_BYTE, (rank + k) % ranks, 0, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

static void pingpong(int rank, int bytes, int count, char *out, char *in) {
    for (int i = 0; i < count && rank < 2; i++) {
        if (i % 2 == rank)
            MPI_Send(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bytes = argc > 2 ? atoi(argv[2]) : 65536;
    char *out = calloc(1, (size_t)bytes), *in = malloc((size_t)bytes);
    double start = MPI_Wtime();
    if (argc > 3 && strcmp(argv[1], "pingpong") == 0)
        pingpong(rank, bytes, atoi(argv[3]), out, in);
    else
        exchange(rank, ranks, bytes, out, in);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.3f\n", (MPI_Wtime() - start) * 1e6);
    MPI_Finalize();
    return 0;
}
