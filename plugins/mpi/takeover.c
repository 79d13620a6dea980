/* MPI_Barrier taken over. The ranks of one node meet at flags in shared memory (hotlink_barrier.h). One rank per
 * node goes on to the others by a barrier device (hotlink_device.h) or, where there is none, by the MPI's own barrier.
 * Compiled once per MPI binary interface; HL_BARRIER names the entry.
 *
 * A communicator's first barriers (HOTLINK_BARRIER_AFTER, default 3) are the MPI's own, and timed. A reduction in place
 * of the next decides, with every rank, whether it is taken over. Where this process knows the cost of the preparation
 * and its gain, the gain must pay within PAYS_WITHIN barriers. Otherwise it is tried, timed, and kept if it is quicker
 * (HOTLINK_BARRIER=always: without asking).
 *
 * Where some rank cannot prepare (intercommunicators, one rank, no shared memory), the MPI's own barrier runs. State
 * hangs on the communicator as an attribute, so that freeing the one frees the other; duplicates start anew. */
#define _GNU_SOURCE
#include <mpi.h>

#include "../barrier/hotlink_device.h"
#include "plugin.h"

#include <fcntl.h>
#include <signal.h>

/* The MPI's functions, looked up at run time (front.c says why). */
#define FUNCTIONS(X) X(Barrier) X(Comm_test_inter) X(Comm_size) X(Comm_rank) X(Comm_split) X(Comm_split_type) \
    X(Comm_free) X(Comm_group) X(Comm_create_keyval) X(Comm_set_attr) X(Comm_get_attr) X(Comm_call_errhandler) \
    X(Group_compare) X(Group_free) X(Bcast) X(Allreduce) X(Grequest_start) X(Grequest_complete) X(Request_free) X(Test)
#define DECLARE(f) __typeof__(PMPI_##f) *f;
static struct { FUNCTIONS(DECLARE) } mpi;

/* Predefined handles: numbers in MPICH, addresses of the library's variables in Open MPI. */
#ifdef OPEN_MPI
#define HANDLE(type, name, constant) ((type)hl_symbol(name))
#else
#define HANDLE(type, name, constant) (constant)
#endif
static MPI_Comm comm_null, comm_world;
static MPI_Group group_null;
static MPI_Info info_null;
static MPI_Datatype type_int;
static MPI_Op op_min, op_bor;

#include "setup.h"

enum { OWN = 0, WAITING = 1, TRIED = 2, TAKEN = 3 };
#define DEATH_CHECK_NS 200000000ull
#define PAYS_WITHIN 100 /* barriers */
#define TRIAL 4         /* barriers that are timed once taken over; the first finds cold caches and does not count */
#define COSTS 32        /* sizes of communicators whose costs are remembered */

struct state {
    int mode, calls, ranks, leader, several_nodes, slot, group, owner, pretended, failed, kind;
    struct hlb barrier, across;
    MPI_Comm leaders; /* one rank per node; comm_null on one node or off a leader */
    struct node *node;
    MPI_Comm comm;
    MPI_Request idle;
    uint64_t own_ns, taken_ns, set_up_ns; /* the quickest barrier of each, and the cost of the preparation */
    struct hl_tally tally;
};

/* The cost to this process of taken-over communicators of that many ranks: in new memory, or in memory that their
 * group had. */
enum kind { NEW_MEMORY, KEPT_MEMORY };
static struct costs { int ranks, kind; uint64_t taken_ns, set_up_ns; } costs[COSTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int keyval, usable, always, after = 3, node_size; /* node_size: pretend nodes of that many ranks */
static int seen_nodes; /* a communicator had several nodes: no longer try whether all ranks share memory */
static __thread __attribute__((tls_model("initial-exec"))) struct { MPI_Comm comm; struct state *state; uint32_t generation; } cache;

static int no_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

/* Gives up what the take-over holds. A slot in which a barrier failed is not used again. */
static void let_go(struct state *s) {
    if (s->group >= 0) {
        hlb_device_leave(&device, &s->across);
        if (s->owner) hlb_device_ungroup(&device, (uint32_t)s->group);
    }
    if (s->mode >= TRIED) return_idle(&s->idle);
    if (s->node && s->slot >= 0 && !s->failed) __atomic_fetch_sub(&s->node->arena->users[s->slot], 1, __ATOMIC_SEQ_CST);
    free_node(s->node);
    if (s->leaders != comm_null) mpi.Comm_free(&s->leaders);
    s->node = NULL;
    s->leaders = comm_null;
    s->group = -1;
    s->mode = OWN;
}

static int release(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)extra;
    __atomic_fetch_add(&hl_generation, 1, __ATOMIC_SEQ_CST);
    let_go(value);
    hl_tally_close(&((struct state *)value)->tally);
    free(value);
    return MPI_SUCCESS;
}

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

static void start(void) {
    const char *set = getenv("HOTLINK_BARRIER");
    usable = 1;
#define LOOK_UP(f) usable &= (mpi.f = (__typeof__(PMPI_##f) *)hl_symbol("PMPI_" #f)) != NULL;
    FUNCTIONS(LOOK_UP)
    comm_null = HANDLE(MPI_Comm, "ompi_mpi_comm_null", MPI_COMM_NULL);
    comm_world = HANDLE(MPI_Comm, "ompi_mpi_comm_world", MPI_COMM_WORLD);
    group_null = HANDLE(MPI_Group, "ompi_mpi_group_null", MPI_GROUP_NULL);
    info_null = HANDLE(MPI_Info, "ompi_mpi_info_null", MPI_INFO_NULL);
    type_int = HANDLE(MPI_Datatype, "ompi_mpi_int", MPI_INT);
    op_min = HANDLE(MPI_Op, "ompi_mpi_op_min", MPI_MIN);
    op_bor = HANDLE(MPI_Op, "ompi_mpi_op_bor", MPI_BOR);
    device_here = hlb_device_attach(&device) == 0;
    after = number("HOTLINK_BARRIER_AFTER", 3);
    always = after == 0 || (set && strcmp(set, "always") == 0);
    node_size = number("HOTLINK_BARRIER_NODE_SIZE", device_here ? (int)device.facts.ranks_per_node : 0);
    usable = usable && mpi.Comm_create_keyval(no_copy, release, &keyval, NULL) == MPI_SUCCESS;
}

/* ---- preparation: collective over the communicator ------------------------------------------------------------- */

/* All ranks on one node, by memory that rank 0 made and named in the reduction before. */
static int set_up_near(struct state *s, int rank, const int names[3], struct node *known, int slot, MPI_Group *group) {
    struct node *n = known;
    if (!n) n = new_node(open_memory(names), names[2], s->ranks, rank);
    int good = n != NULL && join_slot(&s->barrier, n, slot) == 0, all_good;
    if (known) all_good = good; /* mapped before, by every rank */
    else mpi.Allreduce(&good, &all_good, 1, type_int, op_min, s->comm);
    if (!all_good) return free_node(known ? NULL : n), 0;
    if (!known) {
        watch_all(n);
        keep(n, group);
    }
    s->node = n;
    s->slot = slot;
    return 1;
}

/* Any nodes: those that the MPI knows, or pretended ones. */
static int set_up_far(struct state *s, int rank) {
    int ranks, node_rank, world_rank, names[3] = {0}, least[2];
    MPI_Comm node;
    mpi.Comm_rank(comm_world, &world_rank);
    if (s->pretended > 0) mpi.Comm_split(s->comm, world_rank / s->pretended, rank, &node);
    else mpi.Comm_split_type(s->comm, MPI_COMM_TYPE_SHARED, rank, info_null, &node);
    mpi.Comm_size(node, &ranks);
    mpi.Comm_rank(node, &node_rank);
    int file = node_rank == 0 && ranks <= HLB_MAX_RANKS ? make_memory(ranks, names) : -1;
    mpi.Bcast(names, 3, type_int, 0, node);
    if (node_rank != 0 && ranks <= HLB_MAX_RANKS) file = open_memory(names);
    struct node *n = new_node(file, names[2], ranks, node_rank);
    int mine[2] = {n && join_slot(&s->barrier, n, 0) == 0, ranks};
    mpi.Allreduce(mine, least, 2, type_int, op_min, s->comm);
    if (node_rank == 0 && names[0]) {
        char name[64];
        name_of(name, names);
        shm_unlink(name);
    }
    mpi.Comm_free(&node);
    if (!least[0]) return free_node(n), 0;
    s->node = n;
    s->slot = 0;
    s->several_nodes = least[1] < s->ranks;
    s->leader = node_rank == 0;
    if (!s->several_nodes) return 1;
    seen_nodes = 1;
    watch_all(n);
    mpi.Comm_split(s->comm, s->leader ? 0 : MPI_UNDEFINED, rank, &s->leaders);
    if (s->leader) s->group = join_device(s->leaders, s->pretended, &s->across, &s->owner);
    /* Ranks alone on their nodes gain by a device only. */
    int gain = least[1] > 1 || s->pretended > 0 || !s->leader || s->group >= 0, all_gain;
    mpi.Allreduce(&gain, &all_gain, 1, type_int, op_min, s->comm);
    return all_gain;
}

static const struct costs *costs_of(int ranks, int kind) {
    for (int k = 0; k < COSTS; k++)
        if (costs[k].ranks == ranks && costs[k].kind == kind) return &costs[k];
    return NULL;
}
static int pays(uint64_t own_ns, uint64_t taken_ns, uint64_t set_up_ns) {
    return own_ns > taken_ns && (own_ns - taken_ns) * PAYS_WITHIN >= set_up_ns;
}

/* In place of a barrier, which the reduction is: no rank has its result before all have taken part. */
static int consider(struct state *s) {
    enum { SIZE, MINUS_SIZE, FAVOUR, KNOWN, MINUS_KNOWN, NEAR, SLOT, NAME, ITEMS = NAME + 3 };
    int rank, mine[ITEMS], all[ITEMS], file = -1, reserved = -1;
    MPI_Group group;
    uint64_t begin = hlb_now_ns();
    mpi.Comm_rank(s->comm, &rank);
    mpi.Comm_group(s->comm, &group);
    mine[SIZE] = node_size;
    mine[MINUS_SIZE] = -node_size;
    mine[NEAR] = node_size == 0 && !seen_nodes && s->ranks <= HLB_MAX_RANKS;
    struct node *known = mine[NEAR] ? find_kept(group) : NULL;
    const struct costs *c = costs_of(s->ranks, known ? KEPT_MEMORY : NEW_MEMORY);
    mine[FAVOUR] = always ? TAKEN : !c ? TRIED : pays(s->own_ns, c->taken_ns, c->set_up_ns) ? TAKEN : OWN;
    mine[KNOWN] = known ? known->id : -1;
    mine[MINUS_KNOWN] = -mine[KNOWN];
    for (int k = SLOT; k < ITEMS; k++) mine[k] = INT_MAX;
    if (rank == 0 && mine[NEAR] && mine[FAVOUR] != OWN) {
        if (known) mine[SLOT] = reserved = take_slot(known);
        else mine[SLOT] = (file = make_memory(s->ranks, &mine[NAME])) < 0 ? -1 : 0;
    }
    int error = mpi.Allreduce(mine, all, ITEMS, type_int, op_min, s->comm);
    int wanted = !error && all[FAVOUR] != OWN, taken = 0;
    int same = all[KNOWN] >= 0 && all[KNOWN] == -all[MINUS_KNOWN]; /* every rank keeps the same memory */
    int near = wanted && all[NEAR] && all[SLOT] >= 0 && all[SLOT] < SLOTS && (same || all[NAME] != INT_MAX);
    s->pretended = all[SIZE] == -all[MINUS_SIZE] ? all[SIZE] : 0; /* else the ranks disagree */
    if (reserved >= 0 && !(near && same)) __atomic_store_n(&known->arena->users[reserved], 0, __ATOMIC_SEQ_CST);
    s->mode = wanted ? all[FAVOUR] : OWN;
    s->kind = near && same ? KEPT_MEMORY : NEW_MEMORY;
    if (wanted) take_idle(&s->idle);
    if (near) taken = set_up_near(s, rank, &all[NAME], same ? known : NULL, all[SLOT], &group);
    if (wanted && !taken) taken = set_up_far(s, rank);
    if (taken && s->pretended > 0) { /* the others' nodes are on these cores too, and the device */
        s->barrier.settled = 1;
        s->barrier.oversubscribed = hlb_guess_oversubscribed(s->ranks + device_here);
    }
    if (wanted && !taken) let_go(s);
    if (file >= 0) {
        char name[64];
        close(file);
        name_of(name, &mine[NAME]);
        shm_unlink(name);
    }
    if (group != group_null) mpi.Group_free(&group);
    s->set_up_ns = hlb_now_ns() - begin;
    s->set_up_ns -= s->set_up_ns < s->own_ns ? s->set_up_ns : s->own_ns; /* a barrier was due */
    s->calls = 0;
    return error;
}

/* ---- the barrier ----------------------------------------------------------------------------------------------- */

/* While a rank waits, the MPI goes on. Others may need this rank's half of a rendezvous before they can arrive, and
 * one-sided operations on its memory wait for it. */
static void progress(void *context) {
    struct state *s = context;
    int flag;
    mpi.Test(&s->idle, &flag, MPI_STATUS_IGNORE);
}

static int fail(struct state *s, const char *why, int pid) {
    fprintf(stderr, "hotlink: MPI_Barrier: ");
    fprintf(stderr, why, pid);
    fputc('\n', stderr);
    s->failed = 1;
    mpi.Comm_call_errhandler(s->comm, MPI_ERR_OTHER); /* aborts unless the program chose otherwise */
    return MPI_ERR_OTHER;
}

static int meet_soon(struct state *s) {
    hlb_enter_by(&s->barrier, hlb_flags_write);
    return hlb_soon_by(&s->barrier, hlb_flags_read);
}

static int meet_late(struct state *s) {
    while (hlb_wait(&s->barrier, DEATH_CHECK_NS, progress, s) != 0)
        for (int k = 0; s->node->watch && k < s->node->ranks; k++)
            if (pid_is_gone(s->node->arena->pids[k]) && !hlb_released(&s->barrier))
                return fail(s, "process %d of this node is gone", (int)s->node->arena->pids[k]);
    return MPI_SUCCESS;
}

static int meet(struct state *s) { return meet_soon(s) ? MPI_SUCCESS : meet_late(s); }

static int meet_across(struct state *s) {
    if (s->group < 0) return mpi.Barrier(s->leaders);
    hlb_enter(&s->across);
    while (hlb_wait(&s->across, DEATH_CHECK_NS, progress, s) != 0) {
        int lost = hlb_device_lost(&device, &s->across);
        if (lost && !hlb_released(&s->across)) {
            __atomic_store_n(&s->node->arena->broken[s->slot], 1, __ATOMIC_SEQ_CST);
            return fail(s, lost == EPIPE ? "a node's rank died" : "the barrier device's daemon is gone", 0);
        }
    }
    __atomic_fetch_add(&hl_across, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

/* What long waits did, for tests: reads, and progress between them. */
static void tell(struct hlb *b) {
    if (b->idles == 0 && b->naps == 0) return;
    __atomic_fetch_add(&hl_reads, b->reads, __ATOMIC_RELAXED);
    __atomic_fetch_add(&hl_idles, b->idles, __ATOMIC_RELAXED);
    __atomic_fetch_add(&hl_naps, b->naps, __ATOMIC_RELAXED);
    b->reads = b->idles = b->naps = 0;
}

static int meet_all(struct state *s) {
    int error = meet(s);
    if (!error && s->several_nodes) {
        if (s->leader) error = meet_across(s);
        int met = meet(s); /* also after an error, which the node's others then see */
        if (!error) error = met;
        if (!error && !s->leader && __atomic_load_n(&s->node->arena->broken[s->slot], __ATOMIC_SEQ_CST))
            error = fail(s, "the barrier device failed", 0);
    }
    hl_count(&s->tally);
    tell(&s->barrier);
    tell(&s->across);
    return error;
}

static void note_least(uint64_t *least, uint64_t begin) {
    uint64_t took = hlb_now_ns() - begin;
    if (*least == 0 || took < *least) *least = took > 0 ? took : 1;
}

/* The barriers before the take-over, and those of its trial. The reduction at its end is the next barrier. */
static int timed_barrier(struct state *s) {
    uint64_t begin = hlb_now_ns();
    int error;
    if (s->mode == WAITING) {
        if (s->calls >= after) return consider(s);
        error = mpi.Barrier(s->comm);
        note_least(&s->own_ns, begin);
        s->calls++;
        return error;
    }
    if (s->calls++ < TRIAL) {
        error = meet_all(s);
        if (s->calls > 1) note_least(&s->taken_ns, begin);
        return error;
    }
    int mine = s->taken_ns < s->own_ns, all; /* the preparation is paid: the quicker barrier wins */
    error = mpi.Allreduce(&mine, &all, 1, type_int, op_min, s->comm);
    pthread_mutex_lock(&keeping);
    for (int k = 0; k < COSTS; k++)
        if ((costs[k].ranks == s->ranks && costs[k].kind == s->kind) || costs[k].ranks == 0) {
            costs[k] = (struct costs){s->ranks, s->kind, s->taken_ns, s->set_up_ns};
            break;
        }
    pthread_mutex_unlock(&keeping);
    s->mode = TAKEN;
    if (!all) let_go(s);
    return error;
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
        s->ranks = ranks;
        s->group = s->slot = -1;
        s->mode = inter || ranks < 2 ? OWN : WAITING;
        if (mpi.Comm_set_attr(comm, keyval, s) != MPI_SUCCESS) {
            free(s);
            return NULL;
        }
        hl_tally_open(&s->tally);
    }
    cache.comm = comm;
    cache.state = s;
    cache.generation = generation;
    return s;
}

int HL_BARRIER(void *handle) {
    MPI_Comm comm = (MPI_Comm)(intptr_t)handle;
    struct state *s = look_up(comm);
    if (!s || s->mode == OWN) return mpi.Barrier ? mpi.Barrier(comm) : MPI_ERR_OTHER;
    if (s->mode != TAKEN) return timed_barrier(s);
    if (s->several_nodes) return meet_all(s);
    hl_count(&s->tally);
    if (meet_soon(s)) return MPI_SUCCESS;
    int error = meet_late(s);
    tell(&s->barrier);
    return error;
}
