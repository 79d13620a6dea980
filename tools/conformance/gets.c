/* Ranks that read windows under locks, and so wait for each other, with many idle windows. On a simulated fabric the
 * number of turns shows whether a rank really waits. One rank takes some locks again and again, several ranks share
 * some, and some lie within others. Other programs wait for what another rank stores, by calls of every kind. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
#define ROUNDS 100
#define WINDOWS 100

int main(void) {
    int rank, mine[4] = {1, 2, 3, 4}, got[4], failed = 0;
    MPI_Win win, idle[WINDOWS];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < WINDOWS; i++) MPI_Win_create(mine, sizeof mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &idle[i]);
    for (int i = 0; i < ROUNDS; i++) {
        got[2] = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(got, 4, MPI_INT, 0, 0, 4, MPI_INT, win);
        MPI_Win_unlock(0, win);
        failed += got[2] != 3;
    }
    // Whoever reads its own memory until another has written there leaves the other its turn.
    int one = 1, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    do {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        MPI_Get(got, 1, MPI_INT, rank, 3, 1, MPI_INT, win);
        MPI_Win_unlock(rank, win);
    } while (rank == 0 && ranks > 1 && got[0] == 4);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    int two = 2;
    MPI_Win_lock_all(0, win);
    if (rank == 1) MPI_Put(&two, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    do {
        MPI_Get(got, 1, MPI_INT, rank, 3, 1, MPI_INT, win);
        MPI_Win_flush(rank, win);
    } while (rank == 0 && ranks > 1 && got[0] != two);
    MPI_Win_unlock_all(win);
    // Who shares the lock is not kept out by one that waits to have it alone: the holder waits for the first.
    int three = 3;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(got, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        failed += got[0] != three;
    }
    if (rank == 1) {
        usleep(1000);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&three, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    if (rank == 0) {
        do {
            MPI_Get(got, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
        } while (ranks > 1 && got[0] != three);
        MPI_Win_unlock_all(win);
    }
    // Locks within locks, in one order for all ranks: the second is not held before the first.
    for (int i = 0; i < 20; i++) {
        int first = (i + rank) % ranks;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, idle[0]);
        MPI_Get(got, 1, MPI_INT, first, 1, 1, MPI_INT, win);
        MPI_Get(got + 1, 1, MPI_INT, 0, 8, 1, MPI_INT, idle[0]);
        MPI_Win_flush(first, win);
        MPI_Win_unlock(0, idle[0]);
        MPI_Win_unlock(first, win);
        failed += got[0] != 2 || got[1] != 3;
    }
    // Calls that wait for nothing, again and again, until another rank has stored something.
    for (int how = 0; how < 5 && ranks > 1; how++) {
        int four = 4 + how, name;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        if (rank == 1) MPI_Put(&four, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
        MPI_Request request;
        if (rank == 0) do {
            switch (how) {
            case 0: MPI_Rget(got, 1, MPI_INT, 0, 3, 1, MPI_INT, win, &request); break;
            case 1: MPI_Rput(&name, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request); break;
            case 2: MPI_Ibarrier(MPI_COMM_SELF, &request); break;
            case 3: MPI_Isend(&name, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request); break;
            default: MPI_Comm_rank(MPI_COMM_WORLD, &name); request = MPI_REQUEST_NULL;
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            got[0] = ((volatile int *)mine)[3];
        } while (got[0] != four);
        MPI_Win_unlock_all(win);
    }
    for (int i = 0; i < WINDOWS; i++) MPI_Win_free(&idle[i]);
    MPI_Win_free(&win);
    MPI_Finalize();
    printf("%d failures\n", failed);
    return failed != 0;
}
