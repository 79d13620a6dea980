/* The preparation of a communicator's barrier: which ranks share a node, the memory in which they meet, the device
 * between nodes. Part of takeover.c, which is compiled once per MPI binary interface. All of it is collective.
 *
 * Memory is made once for a group of processes and used by all communicators of that group, one slot each. So a
 * duplicate costs no more than the reduction that decides about it. */
#define SLOTS 16
#define KEPT 8   /* groups whose memory is kept */
#define IDLES 32 /* idle requests that are kept */
#define JOIN_LIMIT_NS 60000000000ull

struct arena { /* in shared memory, zero at its start; then a slot of flags for each communicator */
    uint32_t users[SLOTS]; /* ranks that still use the slot */
    int32_t broken[SLOTS]; /* the device between nodes failed */
    int32_t pids[HLB_MAX_RANKS];
};
struct node { /* the ranks of a communicator's group on this node */
    MPI_Group group;
    struct arena *arena;
    size_t bytes;
    int ranks, rank, kept, watch, id; /* id: the same for all ranks of this memory, for no other */
};

static struct node *kept[KEPT];
static int kept_count, idle_count;
static MPI_Request idle_requests[IDLES];
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
static struct hlb_session device;
static int device_here, device_claimed;

static size_t slot_bytes(int ranks) { return (hlb_flags_bytes(ranks) + HLB_LINE - 1) / HLB_LINE * HLB_LINE; }
static size_t slots_at(void) { return (sizeof(struct arena) + HLB_LINE - 1) / HLB_LINE * HLB_LINE; }

/* ---- the memory of a node's ranks ---------------------------------------------------------------------------------- */

static struct node *new_node(int file, int id, int ranks, int rank) {
    struct node *n = calloc(1, sizeof *n);
    size_t bytes = slots_at() + SLOTS * slot_bytes(ranks);
    void *memory = MAP_FAILED;
    if (n && file >= 0) memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) {
        free(n);
        return NULL;
    }
    n->arena = memory;
    n->bytes = bytes;
    n->ranks = ranks;
    n->rank = rank;
    n->id = id;
    n->group = group_null;
    n->arena->pids[rank] = (int32_t)getpid();
    return n;
}

static void free_node(struct node *n) {
    if (!n || n->kept) return;
    munmap(n->arena, n->bytes);
    if (n->group != group_null) mpi.Group_free(&n->group);
    free(n);
}

/* A name that no other memory has had: three numbers, so that a reduction can carry it. The last distinguishes
 * memory. */
static void name_of(char name[64], const int numbers[3]) {
    snprintf(name, 64, "/hotlink-%x-%x-%x", (unsigned)numbers[0], (unsigned)numbers[1], (unsigned)numbers[2]);
}
/* Makes memory for that many ranks, its first slot taken. */
static int make_memory(int ranks, int numbers[3]) {
    static int serial;
    uint32_t users = (uint32_t)ranks;
    char name[64];
    numbers[0] = (int)getpid();
    numbers[1] = __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
    numbers[2] = (int)(hlb_now_ns() & 0x3fffffff);
    name_of(name, numbers);
    int file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file >= 0 && (posix_fallocate(file, 0, (off_t)(slots_at() + SLOTS * slot_bytes(ranks))) != 0
                      || pwrite(file, &users, sizeof users, 0) != (ssize_t)sizeof users)) {
        close(file);
        shm_unlink(name);
        file = -1;
    }
    return file;
}
static int open_memory(const int numbers[3]) {
    char name[64];
    name_of(name, numbers);
    return shm_open(name, O_RDWR, 0);
}

/* The memory that this communicator's group made before. */
static struct node *find_kept(MPI_Group group) {
    struct node *found = NULL;
    pthread_mutex_lock(&keeping);
    for (int k = 0; k < kept_count && !found; k++) {
        int result;
        mpi.Group_compare(group, kept[k]->group, &result);
        if (result == MPI_IDENT) found = kept[k];
    }
    pthread_mutex_unlock(&keeping);
    return found;
}
static void keep(struct node *n, MPI_Group *group) {
    pthread_mutex_lock(&keeping);
    if (kept_count < KEPT) {
        n->kept = 1;
        n->group = *group;
        *group = group_null;
        kept[kept_count++] = n;
    }
    pthread_mutex_unlock(&keeping);
}

static int take_slot(struct node *n) {
    for (int k = 0; k < SLOTS; k++) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&n->arena->users[k], &none, (uint32_t)n->ranks, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return k;
    }
    return -1;
}

/* Joins a slot. It rests where its last users left it, all at the same barrier. */
static int join_slot(struct hlb *b, struct node *n, int slot) {
    struct hlb_flags *f = (struct hlb_flags *)((char *)n->arena + slots_at() + (size_t)slot * slot_bytes(n->ranks));
    int error = hlb_flags_attach(b, f, n->ranks, n->rank);
    b->epoch = hlb_flags_rest(f, n->ranks, n->rank);
    b->awake = 1;
    return error;
}

static int pid_is_gone(int32_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

/* Where processes see one another (no separate pid namespaces), a dead one is noticed. */
static void watch_all(struct node *n) {
    n->watch = 1;
    for (int k = 0; k < n->ranks; k++) n->watch &= !pid_is_gone(n->arena->pids[k]);
}

/* ---- driving the MPI's progress ------------------------------------------------------------------------------------ */

static int query_idle(void *extra, MPI_Status *status) {
    (void)extra, (void)status;
    return MPI_SUCCESS;
}
static int free_idle(void *extra) { (void)extra; return MPI_SUCCESS; }
static int cancel_idle(void *extra, int complete) { (void)extra, (void)complete; return MPI_SUCCESS; }

/* A request that never completes: testing it drives the MPI's progress. */
static void take_idle(MPI_Request *idle) {
    pthread_mutex_lock(&keeping);
    int one = idle_count > 0;
    if (one) *idle = idle_requests[--idle_count];
    pthread_mutex_unlock(&keeping);
    if (!one) mpi.Grequest_start(query_idle, free_idle, cancel_idle, NULL, idle);
}
static void return_idle(MPI_Request *idle) {
    pthread_mutex_lock(&keeping);
    int room = idle_count < IDLES;
    if (room) idle_requests[idle_count++] = *idle;
    pthread_mutex_unlock(&keeping);
    if (room) return;
    mpi.Grequest_complete(*idle);
    mpi.Request_free(idle);
}

/* ---- the device between nodes ---------------------------------------------------------------------------------------- */

/* Which of the daemon's ports is this node's; where nodes are pretended, they are numbered over the whole job. */
static int claim_port(int pretended) {
    char host[64] = "", node[108];
    int world_rank = 0, error = 0;
    pthread_mutex_lock(&keeping);
    if (!device_claimed) {
        gethostname(host, sizeof host - 1);
        mpi.Comm_rank(comm_world, &world_rank);
        snprintf(node, sizeof node, "%s/%d", host, pretended > 0 ? world_rank / pretended : 0);
        const char *port = getenv("HOTLINK_BARRIER_PORT");
        error = hlb_device_claim(&device, node, port && *port ? (uint32_t)atoi(port) : HLB_ANY_PORT);
        device_claimed = error == 0;
    }
    pthread_mutex_unlock(&keeping);
    return error;
}

/* One rank of each node: the first has a group of their ports made, all join it. Returns the group, or -1: no device, or
 * no group that is free. */
static int join_device(MPI_Comm leaders, int pretended, struct hlb *across, int *owner) {
    int rank, ranks, group = -1, error = 0;
    uint32_t made = 0;
    mpi.Comm_rank(leaders, &rank);
    mpi.Comm_size(leaders, &ranks);
    int port = device_here && claim_port(pretended) == 0;
    int told[2] = {port ? (int)(1u << device.port) : 0, !port}, all[2];
    mpi.Allreduce(told, all, 2, type_int, op_bor, leaders);
    *owner = 0;
    if (all[1] || __builtin_popcount((unsigned)all[0]) != ranks) return -1;
    if (rank == 0 && hlb_device_group(&device, (uint32_t)all[0], &made) == 0) group = (int)made, *owner = 1;
    mpi.Bcast(&group, 1, type_int, 0, leaders);
    if (group < 0) return -1;
    error = hlb_device_join(&device, (uint32_t)group, across, JOIN_LIMIT_NS);
    int good = error == 0, all_good;
    mpi.Allreduce(&good, &all_good, 1, type_int, op_min, leaders);
    if (all_good) return group;
    if (good) hlb_device_leave(&device, across);
    if (*owner) hlb_device_ungroup(&device, (uint32_t)group);
    return *owner = 0, -1;
}
