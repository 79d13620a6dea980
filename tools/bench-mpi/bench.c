/* The benchmarks of `hotlink measure` under any MPI:
 *
 * - half round trip (source rewritten before each send, or not, in ordinary memory or MPI's own), barrier, message
 *   rate;
 * - words put at a stride (MPI_Put with a vector type) into ordinary memory and into an allocated window;
 * - words received at a stride, alltoallv from MPI's own memory and from ordinary memory;
 * - overlap at sender and receiver.
 *
 * With four ranks it runs only the barrier. It prints medians of samples, one line each: "WHAT SIZE STRIDE MEDIAN_US"
 * (overlap: a share). Usage: bench SECONDS PART. SECONDS is the most for each point. PART is short, 65536, 1048576 or
 * 16777216 (bytes), strides or exchange. tools/bench-mpi/run compiles it with each MPI's flags. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 101, WARMUP = 3, WINDOW = 64 };
static int rank, ranks;
static double budget_s = 0.3;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *us, int n) {
    qsort(us, n, sizeof *us, ascending);
    return us[n / 2];
}

static void report(const char *what, long size, long stride, double value) {
    if (rank == 0) {
        printf("%s %ld %ld %.5f\n", what, size, stride, value);
        fflush(stdout);
    }
}

static char *filled(long size) {
    char *block;
    if (posix_memalign((void **)&block, 4096, size + 8))
        abort();
    memset(block, 1, size + 8);
    return block;
}

static char *allocated(long size) {
    char *block;
    MPI_Alloc_mem(size, MPI_INFO_NULL, &block);
    memset(block, 1, size);
    return block;
}

/* Samples until there are enough or time is up; rank 0 decides for all. */
static double samples(void (*once)(void *), void *what, int inner) {
    static double us[SAMPLES];
    double begin = MPI_Wtime();
    int n = 0;
    for (int s = -WARMUP; s < SAMPLES; s++) {
        int more = n < 5 || MPI_Wtime() - begin < budget_s;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!more)
            break;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < inner; i++)
            once(what);
        double time = (MPI_Wtime() - start) * 1e6 / inner;
        if (s >= 0)
            us[n++] = time;
    }
    return median(us, n);
}

struct pair { char *there, *back, *fresh; long size; };

static void pingpong(void *what) {
    struct pair *p = what;
    if (rank == 0) {
        if (p->fresh)
            memcpy(p->there, p->fresh, p->size);
        MPI_Send(p->there, p->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(p->back, p->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(p->back, p->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (p->fresh)
            memcpy(p->there, p->fresh, p->size);
        MPI_Send(p->there, p->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void barrier(void *what) {
    (void)what;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void window(void *what) {
    struct pair *p = what;
    MPI_Request requests[WINDOW];
    if (rank == 0) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(p->there, p->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(p->back, p->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

struct strided { char *row, *spread; long words; MPI_Datatype vector; MPI_Win win; };

static void put(void *what) {
    struct strided *s = what;
    if (rank == 0) {
        MPI_Put(s->row, s->words, MPI_DOUBLE, 1, 0, 1, s->vector, s->win);
        MPI_Win_flush(1, s->win);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        /* Waiting in the library lets it help with the put. */
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

static void unpack(void *what) {
    struct strided *s = what;
    if (rank == 0) {
        MPI_Send(s->row, s->words, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(s->spread, 1, s->vector, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

/* Puts into the memory of `s->win`, which this frees. */
static void puts_into(struct strided *s, const char *what, long size, long stride) {
    MPI_Win_lock_all(0, s->win);
    report(what, size, stride, samples(put, s, 1));
    MPI_Win_unlock_all(s->win);
    MPI_Win_free(&s->win);
}

static void strides(long size, long stride) {
    struct strided s = { .words = size / 8 };
    long extent = s.words * stride * 8;
    char *segment;
    s.row = filled(size);
    s.spread = filled(extent);
    MPI_Type_vector(s.words, 1, stride, MPI_DOUBLE, &s.vector);
    MPI_Type_commit(&s.vector);
    report("unpack", size, stride, samples(unpack, &s, 1));
    MPI_Win_create(s.spread, extent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &s.win);
    puts_into(&s, "put", size, stride);
    MPI_Win_allocate(extent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &segment, &s.win);
    memset(segment, 1, extent);
    puts_into(&s, "put-segment", size, stride);
    MPI_Type_free(&s.vector);
    free(s.row);
    free(s.spread);
}

struct all { char *out, *in; int *counts, *places; };

static void alltoallv(void *what) {
    struct all *a = what;
    MPI_Alltoallv(a->out, a->counts, a->places, MPI_BYTE, a->in, a->counts, a->places, MPI_BYTE, MPI_COMM_WORLD);
}

static void spin(double us) {
    for (double end = MPI_Wtime() + us * 1e-6; MPI_Wtime() < end;)
        ;
}

struct overlap { char *block; long size; int sends; double work_us; };

static void overlap(void *what) {
    struct overlap *o = what;
    MPI_Request request;
    if (rank == 0) {
        if (o->sends)
            MPI_Isend(o->block, o->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(o->block, o->size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        spin(o->work_us);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (o->sends)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1 && o->sends) {
        MPI_Recv(o->block, o->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Send(o->block, o->size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

static void overlaps(long size, int sends) {
    struct overlap o = { filled(size), size, sends, 0 };
    double alone = samples(overlap, &o, 1);
    MPI_Bcast(&alone, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    o.work_us = alone;
    double both = samples(overlap, &o, 1), hidden = (2 * alone - both) / alone;
    report(sends ? "overlap-sender" : "overlap-receiver", size, 1, hidden < 0 ? 0 : hidden > 1 ? 1 : hidden);
    free(o.block);
}

static void messages(long size, int is_short) {
    struct pair p = { filled(size), filled(size), NULL, size };
    struct pair own = { allocated(size), allocated(size), NULL, size };
    int inner = size < 4096 ? 500 : size < 1 << 20 ? 20 : 1;
    report("pingpong", size, 1, samples(pingpong, &p, inner) / 2);
    p.fresh = own.fresh = filled(size);
    report("pingpong-rewritten", size, 1, samples(pingpong, &p, inner) / 2);
    own.fresh = NULL;
    report("pingpong-segment", size, 1, samples(pingpong, &own, inner) / 2);
    own.fresh = p.fresh;
    report("pingpong-segment-rewritten", size, 1, samples(pingpong, &own, inner) / 2);
    if (is_short)
        report("rate", size, 1, samples(window, &p, 10) / WINDOW);
    MPI_Free_mem(own.there), MPI_Free_mem(own.back);
    free(p.there), free(p.back), free(p.fresh);
}

static void exchange(long size) {
    int counts[] = { size, size }, places[] = { 0, size };
    struct all a = { allocated(2 * size), allocated(2 * size), counts, places };
    report("alltoallv", size, 1, samples(alltoallv, &a, 1));
    MPI_Free_mem(a.out), MPI_Free_mem(a.in);
    a.out = filled(2 * size), a.in = filled(2 * size);
    report("alltoallv-private", size, 1, samples(alltoallv, &a, 1));
    free(a.out), free(a.in);
    overlaps(size, 1);
    overlaps(size, 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 3)
        return fprintf(stderr, "usage: bench SECONDS PART\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    budget_s = atof(argv[1]);
    const char *part = argv[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_short = !strcmp(part, "short");
    if (is_short)
        report(ranks == 2 ? "barrier" : "barrier-crowded", 0, 1, samples(barrier, NULL, ranks == 2 ? 100 : 5));
    if (ranks == 2) {
        if (!strcmp(part, "strides"))
            for (long stride = 2; stride <= 64; stride = stride == 2 ? 8 : stride * 8)
                strides(1 << 20, stride);
        else if (!strcmp(part, "exchange"))
            exchange(1 << 20);
        else
            messages(is_short ? 8 : atol(part), is_short);
    }
    MPI_Finalize();
    return 0;
}
