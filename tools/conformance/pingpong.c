/* Half the round trip of messages between two ranks, after a warm-up: size in bytes and microseconds, a line each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 10

int main(int argc, char **argv) {
    static const int sizes[] = {8, 1 << 10, 1 << 16, 1 << 20};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buffer = calloc(1, 1 << 20);
    for (int s = 0; s < 4; s++) {
        double start = 0;
        for (int round = -2; round < ROUNDS; round++) {
            if (round == 0)
                start = MPI_Wtime();
            if (rank == 0) {
                MPI_Send(buffer, sizes[s], MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(buffer, sizes[s], MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(buffer, sizes[s], MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(buffer, sizes[s], MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
        }
        if (rank == 0)
            printf("%d %.4g\n", sizes[s], (MPI_Wtime() - start) / ROUNDS / 2 * 1e6);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
