/* Programs that are wrong in the way that the argument names; the last one is right. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, x[4] = {0}, y[4], all[64];
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
    if (!strcmp(how, "roots"))
        MPI_Bcast(x, 1, MPI_INT, rank == 1, MPI_COMM_WORLD);
    if (!strcmp(how, "lengths"))
        MPI_Allreduce(x, y, rank == 1 ? 2 : 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "operators"))
        MPI_Reduce(x, y, 3, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "types"))
        MPI_Scan(x, y, 3, rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "gather"))
        MPI_Gather(x, rank == 1 ? 1 : 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "alias")) {
        const int counts[] = {2, 2}, places[] = {0, 2};
        MPI_Gatherv(rank == 0 ? all : x, 2, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "persistent")) {
        MPI_Bcast_init(x, 1, MPI_INT, rank == 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    /* What makes something: of other arguments, or by another function. */
    if (!strcmp(how, "grids")) {
        int dims[] = {rank == 1 ? 1 : 2, 1}, periods[] = {0, 0};
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    }
    if (!strcmp(how, "groups")) {
        MPI_Group world, group;
        int ranks[] = {0, 1};
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, rank == 1 ? 2 : 1, ranks, &group);
        MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    }
    if (!strcmp(how, "made") && rank == 1)
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    else if (!strcmp(how, "made"))
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (long n = 0; !strcmp(how, "numbers") && n < 5000000; n++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    if (!strcmp(how, "cut")) {
        MPI_Type_vector(2, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        if (rank == 1)
            MPI_Send("abcde", 5, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(x, 1, type, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "meets") && rank == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(how, "meets"))
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (!strcmp(how, "mismatch") && rank == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* The same bytes in other units, lengths that may differ, and a part that stays in its place. */
    MPI_Bcast(x, rank == 1 ? 8 : 2, rank == 1 ? MPI_BYTE : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : (void *)x, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_INT, x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Exscan(x, y, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    /* Between two groups the ranks other than the root give no operator. */
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* Each rank makes a communicator of itself, and ranks split by memory or not at all. */
    MPI_Comm own;
    MPI_Group world, alone;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &alone);
    MPI_Comm_create(MPI_COMM_WORLD, alone, &own);
    MPI_Comm_free(&own);
    MPI_Group_free(&alone);
    MPI_Group_free(&world);
    MPI_Comm_split_type(MPI_COMM_WORLD, rank == 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &own);
    if (own != MPI_COMM_NULL)
        MPI_Comm_free(&own);
    if (ranks > 2) {
        MPI_Comm half, both;
        int second = rank > 1;
        MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : 2, 9, &both);
        MPI_Reduce(rank ? x : NULL, y, 1, MPI_INT, second || !rank ? MPI_SUM : MPI_OP_NULL,
                   second ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT, both);
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
