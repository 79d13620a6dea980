/* Says what time goes by, by the clocks of the system and of MPI: sleeps, and a message. */
#include <mpi.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double clock_of(clockid_t id) {
    struct timespec time;
    clock_gettime(id, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int argc, char **argv) {
    struct timeval day;
    struct timespec pause = {0, 250000};
    double begun, wall;
    int rank, word = 0, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        return fprintf(stderr, "thread level %d on a simulated fabric\n", level), 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    begun = MPI_Wtime(), wall = clock_of(CLOCK_MONOTONIC);
    if (rank == 0) {
        sleep(5);
        usleep(1000);
        nanosleep(&pause, NULL);
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    gettimeofday(&day, NULL);
    printf("rank %d: %.6f s by MPI_Wtime, %.6f s by clock_gettime, %.3f and %.3f and %ld in the day\n", rank,
           MPI_Wtime() - begun, clock_of(CLOCK_MONOTONIC) - wall, clock_of(CLOCK_REALTIME),
           day.tv_sec + 1e-6 * day.tv_usec, (long)time(NULL));
    MPI_Finalize();
    return 0;
}
