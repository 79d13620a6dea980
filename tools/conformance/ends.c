/* Ends in the way that its argument names. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, ranks, word[2] = {0, 0};
    const char *how = argc > 1 ? argv[1] : "well";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    printf("rank %d of %d\n", rank, ranks);
    fflush(stdout);
    if (!strcmp(how, "deadlock"))
        MPI_Recv(word, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "killed") && rank == 1)
        raise(SIGKILL);
    if (!strcmp(how, "all-left") || (!strcmp(how, "left") && rank == 1))
        return 0;
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (!strcmp(how, "truncated")) {
        if (rank == 0)
            MPI_Send(word, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "missing")) {
        MPI_Comm started;
        MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    }
    if (strcmp(how, "well"))
        MPI_Recv(word, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
