/* Half round trip, put at a stride and barrier under any MPI, as `hotlink measure` has them: medians of samples, one
 * line each: "WHAT SIZE STRIDE MEDIAN_US". Compiled by tools/bench-mpi/run with each MPI's own mpicc. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 101 };
static int rank;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, long size, long stride, double *us) {
    qsort(us, SAMPLES, sizeof *us, ascending);
    if (rank == 0)
        printf("%s %ld %ld %.4f\n", what, size, stride, us[SAMPLES / 2]);
}

static void pingpong(long size) {
    char *there = malloc(size), *back = malloc(size);
    memset(there, 1, size);
    memset(back, 0, size);
    int inner = size < 4096 ? 100 : size < 1 << 20 ? 10 : 1;
    double us[SAMPLES];
    for (int s = -10; s < SAMPLES; s++) {
        double start = MPI_Wtime();
        for (int i = 0; i < inner; i++) {
            if (rank == 0) {
                MPI_Send(there, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(back, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == 1) {
                MPI_Recv(back, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(there, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
        }
        if (s >= 0)
            us[s] = (MPI_Wtime() - start) * 1e6 / inner / 2;
    }
    report("pingpong", size, 1, us);
    free(there);
    free(back);
}

static void barrier(void) {
    double us[SAMPLES];
    for (int s = -10; s < SAMPLES; s++) {
        double start = MPI_Wtime();
        for (int i = 0; i < 20; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        if (s >= 0)
            us[s] = (MPI_Wtime() - start) * 1e6 / 20;
    }
    report("barrier", 0, 1, us);
}

/* Words received at a stride: the vector datatype on the receiving side, answered by an empty message. */
static void strided(long size, long stride) {
    long words = size / 8;
    char *row = malloc(size), *spread = malloc(words * stride * 8);
    memset(row, 1, size);
    memset(spread, 1, words * stride * 8);
    MPI_Datatype vector;
    MPI_Type_vector(words, 1, stride, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    double us[SAMPLES];
    for (int s = -5; s < SAMPLES; s++) {
        double start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(row, words, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(spread, 1, vector, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
        if (s >= 0)
            us[s] = (MPI_Wtime() - start) * 1e6;
    }
    report("strided", size, stride, us);
    MPI_Type_free(&vector);
    free(row);
    free(spread);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long sizes[] = {8, 65536, 1 << 20, 16 << 20}, strides[] = {1, 2, 8, 64};
    for (int i = 0; i < 4; i++)
        pingpong(sizes[i]);
    barrier();
    for (int i = 0; i < 4; i++)
        strided(1 << 20, strides[i]);
    MPI_Finalize();
    return 0;
}
