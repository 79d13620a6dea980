/* Ranks that wait for each other: in receives, in probes or in a ring of long sends. Or one waits in a receive and
 * the others in a barrier. With `threads` another thread of rank 0 sends the awaited message, later than the limit of a
 * rank's wait. With `meets` a thread that may not do so calls while rank 0 waits. `fetches` and `partitions` wait for
 * messages that the library sends for itself. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *late(void *is_early) {
    int x = 1, is_main;
    MPI_Is_thread_main(&is_main);
    if (is_early)
        usleep(300000);
    else
        sleep(3);
    MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "receives";
    int rank, ranks, level, bytes = 1 << 24, is_threads = !strcmp(how, "threads");
    char *out = calloc(1, bytes);
    MPI_Init_thread(&argc, &argv, is_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_threads) {
        pthread_t thread;
        if (rank == 0)
            pthread_create(&thread, NULL, late, NULL);
        if (rank == 1) {
            MPI_Recv(out, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
        }
        if (rank == 0) {
            MPI_Recv(out, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            pthread_join(thread, NULL);
        }
    } else if (!strcmp(how, "meets")) {
        pthread_t thread;
        if (rank == 0)
            pthread_create(&thread, NULL, late, out);
        MPI_Recv(out, 1, MPI_INT, !rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "probes"))
        MPI_Probe(!rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "fetches")) {
        /* A rank that computes forever in a receive answers others; one that waits for a lock that is never given
         * back does not go on. */
        MPI_Win window;
        MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &out, &window);
        if (rank == 0)
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            int one;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Get(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_unlock(0, window);
        }
        MPI_Recv(out, 1, MPI_INT, !rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "partitions")) {
        MPI_Request request;
        MPI_Precv_init(out, 2, 4, MPI_BYTE, !rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "sends"))
        MPI_Send(out, bytes, MPI_BYTE, (rank + 1) % ranks, 5, MPI_COMM_WORLD);
    else if (!strcmp(how, "barrier") && rank)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(how, "tests")) {
        /* Rank 0 tests and sleeps in turn, for longer than a rank may wait; then it sends. */
        MPI_Request request;
        int over = 0, rounds = 300;
        MPI_Irecv(out, 1, MPI_INT, (rank + 1) % ranks, 6, MPI_COMM_WORLD, &request);
        while (rank == 0 && rounds-- > 0) {
            usleep(10000);
            MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        }
        if (rank == 0)
            MPI_Send(out, 1, MPI_INT, ranks - 1, 6, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank > 0)
            MPI_Send(out, 1, MPI_INT, rank - 1, 6, MPI_COMM_WORLD);
    } else if (strcmp(how, "computes"))
        MPI_Recv(out, bytes, MPI_BYTE, (rank + 1) % ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else {
        /* Rank 0 calls nothing for longer than a rank may wait. */
        if (rank == 0)
            sleep(3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
