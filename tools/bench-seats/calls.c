/* Many calls of MPI on a simulated fabric: the cost of handing over between processes and the simulator. Usage:
 * calls probe|ring|sum ITERATIONS. Rank 0 prints the most memory that a rank has of its own, in kB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that no other process shares, and that swap holds of it. */
static long own_kb(void)
{
    long sum = 0, value;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_%*[^:]: %ld", &value) == 1)
            sum += value;
    if (file)
        fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size, flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "probe";
    long iterations = argc > 2 ? atol(argv[2]) : 0;
    double mine = rank, all = 0;
    for (long i = 0; i < iterations; i++) {
        if (!strcmp(what, "probe"))
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        else if (!strcmp(what, "ring"))
            MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, &all, 1, MPI_DOUBLE, (rank + size - 1) % size, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    long own = own_kb(), most = 0;
    MPI_Reduce(&own, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", most);
    MPI_Finalize();
    return 0;
}
