#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("rank %d: line %d: %s\n", rank, __LINE__, #x); failed++; } } while (0)
static void concat(void *in, void *inout, int *len, MPI_Datatype *type) {
    int *a = in, *b = inout;
    for (int i = 0; i < *len; i++) { int d = 1; while (d <= b[i]) d *= 10; b[i] = a[i] * d + b[i]; }
}
int main(int argc, char **argv) {
    int rank, ranks, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int n = 0; n < 300000; n = n ? n * 7 : 1) {
        int *a = malloc(4 * n + 4), *b = malloc(4 * n + 4);
        for (int i = 0; i < n; i++) { a[i] = rank * 1000003 + i; b[i] = -1; }
        MPI_Request r[2]; MPI_Status s[2];
        MPI_Irecv(b, n, MPI_INT, left, 5, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(a, n, MPI_INT, right, 5, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, s);
        int c; MPI_Get_count(&s[0], MPI_INT, &c); CHECK(c == n && s[0].MPI_SOURCE == left && s[0].MPI_TAG == 5);
        for (int i = 0; i < n; i++) if (b[i] != left * 1000003 + i) { CHECK(0); break; }
        MPI_Sendrecv(a, n, MPI_INT, right, 1, b, n, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s[0]);
        CHECK(s[0].MPI_TAG == 1);
        free(a); free(b);
    }
    double x = rank + 1, y = 0; MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); CHECK(y == ranks * (ranks + 1) / 2);
    char cx = (char)(rank + 1), cy = 0; MPI_Allreduce(&cx, &cy, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD); CHECK(cy == ranks * (ranks + 1) / 2);
    long lx = 1L << rank, ly = 0; MPI_Allreduce(&lx, &ly, 1, MPI_LONG, MPI_BOR, MPI_COMM_WORLD); CHECK(ly == (1L << ranks) - 1);
    MPI_Op op; MPI_Op_create(concat, 0, &op); int d = rank + 1, e = 0, want = 0;
    for (int i = 1; i <= ranks; i++) want = want * 10 + i;
    for (int root = 0; root < ranks; root++) { e = 0; MPI_Reduce(&d, &e, 1, MPI_INT, op, root, MPI_COMM_WORLD); if (rank == root) CHECK(e == want); }
    MPI_Request q; e = 0; MPI_Iallreduce(&d, &e, 1, MPI_INT, op, MPI_COMM_WORLD, &q); int e2 = rank == 0 ? 77 : 0; MPI_Request q2; MPI_Ibcast(&e2, 1, MPI_INT, 0, MPI_COMM_WORLD, &q2);
    MPI_Wait(&q2, MPI_STATUS_IGNORE); MPI_Wait(&q, MPI_STATUS_IGNORE); CHECK(e == want && e2 == 77);
    MPI_Op_free(&op);
    MPI_Comm sub; MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &sub); int sr, ss; MPI_Comm_rank(sub, &sr); MPI_Comm_size(sub, &ss);
    int v = rank, *all = malloc(4 * ranks); MPI_Allgather(&v, 1, MPI_INT, all, 1, MPI_INT, sub);
    for (int i = 1; i < ss; i++) CHECK(all[i] < all[i - 1]); CHECK(all[sr] == rank);
    MPI_Barrier(sub); MPI_Comm_free(&sub); CHECK(sub == MPI_COMM_NULL);
    MPI_Datatype col; MPI_Type_vector(10, 1, 10, MPI_INT, &col); MPI_Type_commit(&col); int m[100], w[10];
    for (int i = 0; i < 100; i++) m[i] = i + 1000 * rank;
    MPI_Sendrecv(m + 3, 1, col, right, 9, w, 10, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 10; i++) CHECK(w[i] == 10 * i + 3 + 1000 * left);
    MPI_Type_free(&col);
    int bad = MPI_SUCCESS; MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); bad = MPI_Send(&v, 1, MPI_INT, ranks + 3, 0, MPI_COMM_WORLD); CHECK(bad == MPI_ERR_RANK);
    if (rank == 0) { char t[8192]; int l; MPI_Get_library_version(t, &l); printf("%s\n", t); }
    // What a request's call finds wrong goes to the handler of the communicator that it is about.
    MPI_Comm apart; MPI_Comm_dup(MPI_COMM_WORLD, &apart); MPI_Comm_set_errhandler(apart, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); int wide[4] = {0}; MPI_Request cut;
    MPI_Irecv(&v, 1, MPI_INT, left, 6, apart, &cut); MPI_Send(wide, 4, MPI_INT, right, 6, apart);
    CHECK(MPI_Wait(&cut, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    MPI_Irecv(&v, 1, MPI_INT, left, 6, apart, &cut); MPI_Send(wide, 4, MPI_INT, right, 6, apart);
    CHECK(MPI_Waitall(1, &cut, MPI_STATUSES_IGNORE) == MPI_ERR_IN_STATUS); MPI_Comm_free(&apart);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm none; bad = MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none, MPI_ERRCODES_IGNORE); CHECK(bad == MPI_ERR_UNSUPPORTED_OPERATION);
    // Ranks that share memory can have a window of it. On a simulated fabric they are those of a node, and can not.
    char host[MPI_MAX_PROCESSOR_NAME] = "", *hosts = malloc((size_t)ranks * sizeof host); int length, mates = 0, shared;
    MPI_Get_processor_name(host, &length); MPI_Comm node;
    MPI_Allgather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) mates += !strcmp(hosts + i * sizeof host, host);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node); MPI_Comm_size(node, &shared);
    int *mine, unit, *its, names = 0, members = 0; MPI_Win win; MPI_Aint bytes; MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    bad = MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
    CHECK(bad == MPI_SUCCESS || (bad == MPI_ERR_RMA_SHARED && shared == mates && !strncmp(host, "node", 4)));
    if (bad == MPI_SUCCESS) {
        MPI_Win_fence(0, win); *mine = 1 + rank; MPI_Win_fence(0, win);
        for (int i = 0; i < shared; i++) { MPI_Win_shared_query(win, i, &bytes, &unit, &its); names += *its; }
        rank++; MPI_Allreduce(&rank, &members, 1, MPI_INT, MPI_SUM, node); rank--; CHECK(names == members); MPI_Win_free(&win);
    }
    MPI_Comm_free(&node); free(hosts);
    // Two at a time, which half of the ranks begin in the other order: each gets a number that the other did not take.
    MPI_Comm twins[2], made[2]; MPI_Request both[2]; int same;
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &twins[i]);
    for (int i = 0; i < 2; i++) MPI_Comm_idup(twins[(i + rank) % 2], &made[(i + rank) % 2], &both[i]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) { MPI_Comm_compare(made[i], twins[i], &same); CHECK(same == MPI_CONGRUENT); MPI_Barrier(made[i]); }
    for (int i = 0; i < 2; i++) { MPI_Comm_free(&made[i]); MPI_Comm_free(&twins[i]); }
    // One rank's communicators, made while all agree on another: those wait for it, and it goes on.
    MPI_Comm whole, alone; MPI_Request by_all, by_one; int agreed = 0;
    MPI_Comm_idup(MPI_COMM_WORLD, &whole, &by_all);
    while (!agreed) {
        MPI_Comm_idup(MPI_COMM_SELF, &alone, &by_one); MPI_Wait(&by_one, MPI_STATUS_IGNORE); MPI_Comm_free(&alone);
        MPI_Test(&by_all, &agreed, MPI_STATUS_IGNORE);
    }
    MPI_Comm_compare(whole, MPI_COMM_WORLD, &same); CHECK(same == MPI_CONGRUENT); MPI_Comm_free(&whole);
    // Parts that this rank itself has not sent yet: the question does not wait for them.
    int sent = 7, got = 0, here; MPI_Request parts[2];
    MPI_Psend_init(&sent, 1, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &parts[0]);
    MPI_Precv_init(&got, 1, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &parts[1]);
    MPI_Start(&parts[1]); MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) { MPI_Parrived(parts[1], 0, &here); CHECK(!here); }
    MPI_Start(&parts[0]); MPI_Pready(0, parts[0]); MPI_Waitall(2, parts, MPI_STATUSES_IGNORE); CHECK(got == 7);
    for (int i = 0; i < 2; i++) MPI_Request_free(&parts[i]);
    // Pairs that have names, and what is only alike in memory. Nothing for a rank may be of no type.
    MPI_Datatype pair; MPI_Type_get_value_index(MPI_LONG, MPI_INT, &pair); CHECK(pair == MPI_LONG_INT);
    MPI_Type_get_value_index(MPI_LONG_LONG, MPI_INT, &pair); CHECK(pair == MPI_DATATYPE_NULL);
    int counts[64] = {0}, places[64] = {0}, come = -1; MPI_Datatype types[64]; MPI_Request each = MPI_REQUEST_NULL;
    for (int i = 0; i < 64; i++) types[i] = MPI_DATATYPE_NULL;
    counts[rank] = 1; types[rank] = MPI_INT;
    MPI_Alltoallw(&rank, counts, places, types, &come, counts, places, types, MPI_COMM_WORLD); CHECK(come == rank); come = -1;
    MPI_Ialltoallw(&rank, counts, places, types, &come, counts, places, types, MPI_COMM_WORLD, &each);
    MPI_Wait(&each, MPI_STATUS_IGNORE); CHECK(come == rank); counts[rank] = 0; types[rank] = MPI_DATATYPE_NULL;
    MPI_Alltoallw_init(&rank, counts, places, types, &come, counts, places, types, MPI_COMM_WORLD, MPI_INFO_NULL, &each);
    MPI_Start(&each); MPI_Wait(&each, MPI_STATUS_IGNORE); MPI_Request_free(&each); counts[rank] = 1;
    CHECK(MPI_Alltoallw(&rank, counts, places, types, &come, counts, places, types, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    MPI_Comm line; MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &(int){0}, 0, &line); MPI_Aint far[2] = {0, 0};
    counts[0] = counts[1] = 0; types[0] = types[1] = MPI_DATATYPE_NULL;
    CHECK(!MPI_Neighbor_alltoallw(&rank, counts, far, types, &come, counts, far, types, line)); MPI_Comm_free(&line);
    int one = failed, total; MPI_Reduce(&one, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d failures\n", total);
    MPI_Finalize();
    return failed;
}
