/* MPI_Barrier taken over: the ranks of one node meet at flags in shared memory (hotlink_barrier.h), one rank per node
 * goes on to the others by the MPI's own barrier. Compiled once per MPI binary interface; HL_BARRIER names the entry.
 *
 * A communicator is taken over from its (HOTLINK_BARRIER_AFTER + 1)-th barrier, default 4th: the set-up is collective
 * and costs more than a short-lived communicator would gain. Until then, and wherever the set-up cannot be had on
 * every rank (intercommunicators, one rank, no shared memory), the MPI's own barrier runs. State hangs on the
 * communicator as an attribute, so that freeing the one frees the other; duplicates start anew. */
#define _GNU_SOURCE
#include <mpi.h>

#include "../barrier/hotlink_barrier.h"
#include "plugin.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The MPI's functions, looked up at run time (front.c says why). */
#define FUNCTIONS(X) X(Barrier) X(Comm_test_inter) X(Comm_size) X(Comm_rank) X(Comm_split) X(Comm_split_type) \
    X(Comm_free) X(Comm_create_keyval) X(Comm_set_attr) X(Comm_get_attr) X(Comm_call_errhandler) \
    X(Bcast) X(Allreduce) X(Grequest_start) X(Grequest_complete) X(Request_free) X(Test)
#define DECLARE(f) __typeof__(PMPI_##f) *f;
static struct { FUNCTIONS(DECLARE) } mpi;

/* Predefined handles: numbers in MPICH, addresses of the library's variables in Open MPI. */
#ifdef OPEN_MPI
#define HANDLE(type, name, constant) ((type)hl_symbol(name))
#else
#define HANDLE(type, name, constant) (constant)
#endif
static MPI_Comm comm_null;
static MPI_Info info_null;
static MPI_Datatype type_int, type_byte;
static MPI_Op op_min;

enum { OWN = 0, WAITING = 1, TAKEN = 2 };
#define DEATH_CHECK_NS 200000000ull

struct state {
    int mode, calls, ranks, leader, watch;
    struct hlb barrier;
    MPI_Comm leaders; /* one rank per node; comm_null on one node or off a leader */
    int several_nodes;
    struct hlb_flags *flags;
    size_t bytes;
    int32_t *pids;
    MPI_Comm comm;
    MPI_Request idle; /* never completes: testing it drives the MPI's progress */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval, usable, after = 3, node_size; /* node_size: tests split one machine into nodes of so many ranks */
static __thread __attribute__((tls_model("initial-exec"))) struct { MPI_Comm comm; struct state *state; uint32_t generation; } cache;

static int no_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

static int release(MPI_Comm comm, int key, void *value, void *extra) {
    struct state *s = value;
    (void)comm, (void)key, (void)extra;
    __atomic_fetch_add(&hl_generation, 1, __ATOMIC_SEQ_CST);
    if (s->mode == TAKEN) {
        mpi.Grequest_complete(s->idle);
        mpi.Request_free(&s->idle);
    }
    if (s->flags) munmap(s->flags, s->bytes);
    if (s->leaders != comm_null) mpi.Comm_free(&s->leaders);
    free(s);
    return MPI_SUCCESS;
}

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

static void start(void) {
    usable = 1;
#define LOOK_UP(f) usable &= (mpi.f = (__typeof__(PMPI_##f) *)hl_symbol("PMPI_" #f)) != NULL;
    FUNCTIONS(LOOK_UP)
    comm_null = HANDLE(MPI_Comm, "ompi_mpi_comm_null", MPI_COMM_NULL);
    info_null = HANDLE(MPI_Info, "ompi_mpi_info_null", MPI_INFO_NULL);
    type_int = HANDLE(MPI_Datatype, "ompi_mpi_int", MPI_INT);
    type_byte = HANDLE(MPI_Datatype, "ompi_mpi_byte", MPI_BYTE);
    op_min = HANDLE(MPI_Op, "ompi_mpi_op_min", MPI_MIN);
    after = number("HOTLINK_BARRIER_AFTER", 3);
    node_size = number("HOTLINK_BARRIER_NODE_SIZE", 0);
    usable = usable && mpi.Comm_create_keyval(no_copy, release, &keyval, NULL) == MPI_SUCCESS;
}

static int query_idle(void *extra, MPI_Status *status) {
    (void)extra, (void)status;
    return MPI_SUCCESS;
}
static int free_idle(void *extra) { (void)extra; return MPI_SUCCESS; }
static int cancel_idle(void *extra, int complete) { (void)extra, (void)complete; return MPI_SUCCESS; }

/* ---- set-up: collective over the communicator ------------------------------------------------------------------ */

/* The node's shared memory: its first rank makes it and tells the name; it is unlinked once all have it. */
static void map_memory(struct state *s, MPI_Comm node, int ranks, int rank, char name[64]) {
    static uint32_t serial;
    size_t pids_at = (hlb_flags_bytes(ranks) + HLB_LINE - 1) / HLB_LINE * HLB_LINE;
    int file = -1;
    s->bytes = pids_at + sizeof(int32_t) * (size_t)ranks;
    if (rank == 0) {
        snprintf(name, 64, "/hotlink-%d-%u-%llx", (int)getpid(), __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED),
                 (unsigned long long)hlb_now_ns());
        file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
        if (file >= 0 && posix_fallocate(file, 0, (off_t)s->bytes) != 0) {
            close(file);
            shm_unlink(name);
            file = -1;
        }
        if (file < 0) name[0] = 0;
    }
    mpi.Bcast(name, 64, type_byte, 0, node);
    if (rank != 0 && name[0]) file = shm_open(name, O_RDWR, 0);
    if (file < 0) return;
    void *memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return;
    s->flags = memory;
    s->pids = (int32_t *)((char *)memory + pids_at);
    s->pids[rank] = (int32_t)getpid();
}

static int pid_is_gone(int32_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

static void set_up(struct state *s, MPI_Comm comm) {
    int rank, node_ranks, node_rank, good, all_good;
    char name[64] = "";
    MPI_Comm node;
    s->mode = OWN;
    mpi.Comm_size(comm, &s->ranks);
    mpi.Comm_rank(comm, &rank);
    if (node_size > 0) mpi.Comm_split(comm, rank / node_size, rank, &node);
    else mpi.Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, info_null, &node);
    mpi.Comm_size(node, &node_ranks);
    mpi.Comm_rank(node, &node_rank);
    if (node_ranks <= HLB_MAX_RANKS) map_memory(s, node, node_ranks, node_rank, name);
    good = s->flags && hlb_flags_attach(&s->barrier, s->flags, node_ranks, node_rank) == 0;
    int mine[2] = {good, node_ranks}, least[2];
    mpi.Allreduce(mine, least, 2, type_int, op_min, comm);
    all_good = least[0];
    if (node_rank == 0 && name[0]) shm_unlink(name);
    mpi.Comm_free(&node);
    s->several_nodes = least[1] < s->ranks;
    /* Ranks alone on their nodes gain nothing. */
    if (!all_good || (least[1] == 1 && node_size == 0 && s->several_nodes)) {
        if (s->flags) munmap(s->flags, s->bytes);
        s->flags = NULL;
        return;
    }
    s->leader = node_rank == 0;
    if (s->several_nodes) mpi.Comm_split(comm, s->leader ? 0 : MPI_UNDEFINED, rank, &s->leaders);
    s->watch = 1; /* where processes see one another (no separate pid namespaces), a dead one is noticed */
    for (int k = 0; k < node_ranks; k++) s->watch &= !pid_is_gone(s->pids[k]);
    mpi.Grequest_start(query_idle, free_idle, cancel_idle, NULL, &s->idle);
    s->mode = TAKEN;
}

/* The communicator's state; NULL where the MPI's own barrier must run. */
static struct state *look_up(MPI_Comm comm) {
    uint32_t generation = __atomic_load_n(&hl_generation, __ATOMIC_ACQUIRE);
    if (cache.generation == generation && cache.comm == comm) return cache.state;
    struct state *s = NULL;
    int found = 0, inter = 0;
    pthread_once(&once, start);
    if (!usable || comm == comm_null || mpi.Comm_get_attr(comm, keyval, &s, &found) != MPI_SUCCESS) return NULL;
    if (!found) {
        int ranks;
        if (mpi.Comm_test_inter(comm, &inter) != MPI_SUCCESS || mpi.Comm_size(comm, &ranks) != MPI_SUCCESS) return NULL;
        if (!(s = calloc(1, sizeof *s))) {
            mpi.Comm_call_errhandler(comm, MPI_ERR_NO_MEM); /* the others count on us: no way on alone */
            return NULL;
        }
        s->leaders = comm_null;
        s->comm = comm;
        s->mode = inter || ranks < 2 ? OWN : WAITING;
        if (mpi.Comm_set_attr(comm, keyval, s) != MPI_SUCCESS) {
            free(s);
            return NULL;
        }
    }
    if (s->mode == WAITING && s->calls++ >= after) set_up(s, comm);
    if (s->mode != WAITING) { /* settled: no further look-up until some state is deleted */
        cache.comm = comm;
        cache.state = s;
        cache.generation = __atomic_load_n(&hl_generation, __ATOMIC_ACQUIRE);
    }
    return s;
}

/* ---- the barrier ----------------------------------------------------------------------------------------------- */

/* While a rank waits, the MPI goes on: others may need this rank's half of a rendezvous before they can arrive, and
 * one-sided operations on its memory wait for it. */
static void progress(void *context) {
    struct state *s = context;
    int flag;
    mpi.Test(&s->idle, &flag, MPI_STATUS_IGNORE);
}

static int meet(struct state *s) {
    hlb_enter(&s->barrier);
    while (hlb_wait(&s->barrier, DEATH_CHECK_NS, progress, s) != 0)
        for (int k = 0; s->watch && k < s->barrier.ranks; k++)
            if (pid_is_gone(s->pids[k]) && !hlb_released(&s->barrier)) {
                fprintf(stderr, "hotlink: MPI_Barrier: process %d of this node is gone\n", (int)s->pids[k]);
                mpi.Comm_call_errhandler(s->comm, MPI_ERR_OTHER); /* aborts unless the program chose otherwise */
                return MPI_ERR_OTHER;
            }
    return MPI_SUCCESS;
}

int HL_BARRIER(void *handle) {
    MPI_Comm comm = (MPI_Comm)(intptr_t)handle;
    struct state *s = look_up(comm);
    if (!s || s->mode != TAKEN) return mpi.Barrier ? mpi.Barrier(comm) : MPI_ERR_OTHER;
    int error = meet(s);
    if (!error && s->several_nodes) {
        if (s->leader) error = mpi.Barrier(s->leaders);
        if (!error) error = meet(s);
    }
    __atomic_fetch_add(&hl_taken, 1, __ATOMIC_RELAXED);
    if (s->barrier.naps) __atomic_store_n(&hl_naps, s->barrier.naps, __ATOMIC_RELAXED);
    return error;
}
