/* Programs that are wrong in the way that the argument names; the last one is right. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, x[4] = {0}, y;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Win window;
    const char *how = argc > 1 ? argv[1] : "right";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(how, "leaks")) {
        MPI_Type_contiguous(3, MPI_INT, &type);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (rank == 1) {
            MPI_Recv_init(x, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
            MPI_Recv_init(x, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
        }
        MPI_Win_create(x, sizeof x, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    }
    if (!strcmp(how, "mismatch") && rank == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
