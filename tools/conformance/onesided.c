/* One-sided calls: every kind of window and of epoch. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("rank %d: line %d: %s\n", rank, __LINE__, #x); failed++; } } while (0)
enum { WORDS = 64, ROUNDS = 50 };

int main(int argc, char **argv) {
    int rank, ranks, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Win win;
    long *base, mine[WORDS], got[WORDS];
    MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < WORDS; i++) { base[i] = 1000 * rank; mine[i] = 100 * rank + i; got[i] = -1; }
    /* Nothing may be reached before an epoch. */
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(MPI_Put(mine, 1, MPI_LONG, right, 0, 1, MPI_LONG, win) == MPI_ERR_RMA_SYNC);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(mine, 1, MPI_LONG, right, WORDS, 1, MPI_LONG, win) == MPI_ERR_RMA_RANGE);
    /* Calls that give a request are for epochs of locks. */
    MPI_Request none = MPI_REQUEST_NULL;
    CHECK(MPI_Rput(mine, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, &none) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Rget(got, 1, MPI_LONG, right, 0, 1, MPI_LONG, win, &none) == MPI_ERR_RMA_SYNC);
    for (int n = 1; n < 3; n++) {
        CHECK(MPI_Raccumulate(mine, n, MPI_LONG, right, 0, n, MPI_LONG, MPI_SUM, win, &none) == MPI_ERR_RMA_SYNC);
        CHECK(MPI_Rget_accumulate(mine, n, MPI_LONG, got, n, MPI_LONG, right, 0, n, MPI_LONG, MPI_SUM, win, &none)
              == MPI_ERR_RMA_SYNC);
    }
    CHECK(MPI_Rput(mine, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, win, &none) == MPI_SUCCESS);
    MPI_Wait(&none, MPI_STATUS_IGNORE);
    /* Every second word goes there, and a column comes back. */
    MPI_Datatype column;
    MPI_Type_vector(WORDS / 2, 1, 2, MPI_LONG, &column);
    MPI_Type_commit(&column);
    MPI_Put(mine, 1, column, right, 0, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < WORDS; i++) CHECK(base[i] == (i % 2 ? 1000 * rank : 100 * left + i));
    MPI_Win_fence(0, win);
    MPI_Get(got, WORDS / 2, MPI_LONG, right, 0, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < WORDS / 2; i++) CHECK(got[i] == 100 * rank + 2 * i);
    /* All add to rank 0. */
    MPI_Win_fence(0, win);
    if (rank == 0) memset(base, 0, WORDS * sizeof(long));
    MPI_Win_fence(0, win);
    for (int round = 0; round < ROUNDS; round++) MPI_Accumulate(mine, WORDS, MPI_LONG, 0, 0, WORDS, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    long all = 100L * ranks * (ranks - 1) / 2;
    if (rank == 0) for (int i = 0; i < WORDS; i++) CHECK(base[i] == ROUNDS * (all + ranks * i));
    MPI_Barrier(MPI_COMM_WORLD);
    /* A counter under locks: each number is given once. */
    long one = 1, seen = 0, last = -1, before;
    if (rank == 0) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); base[0] = 0; MPI_Win_unlock(0, win); }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(before > last);
        last = before; seen += before;
    }
    MPI_Win_unlock_all(win);
    long sum, total = (long)ranks * ROUNDS;
    MPI_Allreduce(&seen, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == total * (total - 1) / 2);
    /* An exclusive lock around what is not atomic. */
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        before++;
        MPI_Put(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); CHECK(base[0] == 2 * total); MPI_Win_unlock(0, win); }
    MPI_Barrier(MPI_COMM_WORLD);
    /* One of all swaps its rank in. */
    long free_word = 2 * total, name = -1 - rank, found;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Compare_and_swap(&name, &free_word, &found, MPI_LONG, 0, 0, win);
    MPI_Win_unlock(0, win);
    int won = found == free_word, winners;
    MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(winners == 1);
    /* Post, start, complete, wait: to the right. */
    MPI_Group group, to, from;
    MPI_Win_get_group(win, &group);
    MPI_Group_incl(group, 1, &right, &to);
    MPI_Group_incl(group, 1, &left, &from);
    for (long round = 0; round < ROUNDS; round++) {
        long word = 7 * rank + round;
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        CHECK(MPI_Rput(&word, 1, MPI_LONG, right, 5, 1, MPI_LONG, win, &none) == MPI_ERR_RMA_SYNC);
        MPI_Put(&word, 1, MPI_LONG, right, 5, 1, MPI_LONG, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(base[5] == 7 * left + round);
    }
    /* While the target computes and calls nothing, puts arrive. */
    base[6] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks > 1 && rank == 0) {
        while (((volatile long *)base)[6] != 9) { }
    } else if (rank == 1) {
        long nine = 9;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&nine, 1, MPI_LONG, 0, 6, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Requests. */
    MPI_Request request;
    MPI_Win_lock_all(0, win);
    MPI_Rput(&name, 1, MPI_LONG, right, 8, 1, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush_all(win);
    MPI_Rget(&found, 1, MPI_LONG, right, 8, 1, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(found == name);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Rows of numbers in place: the old values come back, then they are other ones. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    for (int i = 0; i < WORDS; i++) mine[i] = i;
    MPI_Put(mine, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, win);
    MPI_Win_flush(right, win);
    MPI_Rget_accumulate(mine, WORDS, MPI_LONG, got, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, MPI_PROD, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < WORDS; i++) CHECK(got[i] == i);
    MPI_Raccumulate(mine, WORDS - 1, MPI_LONG, right, 1, WORDS - 1, MPI_LONG, MPI_REPLACE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Accumulate(mine, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, got, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, MPI_NO_OP, win);
    MPI_Win_flush(right, win);
    for (int i = 0; i < WORDS; i++) CHECK(got[i] == (i ? i - 1 : 0));
    long most[WORDS];
    for (int i = 0; i < WORDS; i++) mine[i] = 5;
    MPI_Get_accumulate(mine, WORDS / 2, MPI_LONG, got, WORDS / 2, MPI_LONG, right, 1, WORDS / 2, MPI_LONG, MPI_MAX, win);
    MPI_Get(most, WORDS, MPI_LONG, right, 0, WORDS, MPI_LONG, win);
    MPI_Win_unlock(right, win);
    for (int i = 0; i < WORDS / 2; i++) CHECK(got[i] == i && most[i + 1] == (i > 5 ? i : 5));
    /* An operator that does not take these. */
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    double real[2] = {0, 0};
    CHECK(MPI_Accumulate(real, 2, MPI_DOUBLE, right, 0, 2, MPI_DOUBLE, MPI_BAND, win) == MPI_ERR_OP);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    /* Memory of the program's own, all kinds of operations, from all ranks at once. */
    static struct { long counter, sum[WORDS], word; struct { double value; int place; } best; } own;
    MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    own.counter = 0; own.word = -7; own.best.value = -1; own.best.place = -1;
    memset(own.sum, 0, sizeof own.sum);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Aint sums = (char *)own.sum - (char *)&own, at_word = (char *)&own.word - (char *)&own,
             at_best = (char *)&own.best - (char *)&own;
    for (int i = 0; i < WORDS; i++) mine[i] = i + 1;
    MPI_Win_lock_all(0, win);
    seen = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Accumulate(mine, 1, column, 0, sums, 1, column, MPI_SUM, win);
        MPI_Win_flush(0, win);
        seen += before;
    }
    struct { double value; int place; } mark = {rank, rank};
    MPI_Accumulate(&mark, 1, MPI_DOUBLE_INT, 0, at_best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    long was = -7;
    MPI_Compare_and_swap(&name, &was, &found, MPI_LONG, 0, at_word, win);
    MPI_Win_unlock_all(win);
    won = found == was;
    MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&seen, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(winners == 1 && sum == total * (total - 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(own.counter == total && own.best.value == ranks - 1 && own.best.place == ranks - 1 && own.word < 0);
        for (int i = 0; i < WORDS; i++) CHECK(own.sum[i] == (i % 2 ? 0 : total * (i + 1)));
    }
    /* What is packed there and back, and a word that is neither, under a lock that one has alone. */
    MPI_Win_fence(0, win);
    MPI_Put(mine, WORDS, MPI_LONG, right, sums, WORDS, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPI_Get(got, WORDS / 2, MPI_LONG, left, sums, 1, column, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < WORDS; i++) CHECK(own.sum[i] == i + 1);
    for (int i = 0; i < WORDS / 2; i++) CHECK(got[i] == 2 * i + 1);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        before++;
        MPI_Put(&before, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) { MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); CHECK(own.counter == 2 * total); MPI_Win_unlock(0, win); }
    for (long round = 0; round < ROUNDS; round++) {
        long word = 7 * rank + round;
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(&word, 1, MPI_LONG, right, at_word, 1, MPI_LONG, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(own.word == 7 * left + round);
    }
    own.word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks > 1 && rank == 0) {
        while (((volatile long *)&own.word)[0] != 9) { }
    } else if (rank == 1) {
        long nine = 9;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&nine, 1, MPI_LONG, 0, at_word, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    /* What another rank has of it is not memory of this one. */
    MPI_Aint size; int unit; void *its;
    MPI_Win_shared_query(win, right, &size, &unit, &its);
    CHECK(ranks == 1 ? its == (void *)&own : size == 0 && !its);
    MPI_Win_free(&win);
    /* Memory that was attached later, by its address. */
    long *far = malloc(sizeof(long)), *ends = malloc(ranks * sizeof(long));
    MPI_Aint at, *places = malloc(ranks * sizeof(MPI_Aint));
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, far, sizeof(long));
    MPI_Get_address(far, &at);
    MPI_Allgather(&at, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    MPI_Put(&name, 1, MPI_LONG, right, places[right], 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(*far == -1 - left);
    MPI_Win_detach(win, far);
    /* A fetch from memory that is no longer attached is reported at the end of the epoch. */
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    int gone = MPI_Get(&name, 1, MPI_LONG, right, places[right], 1, MPI_LONG, win);
    if (gone == MPI_SUCCESS) gone = MPI_Win_flush(right, win);
    CHECK(gone == MPI_ERR_RMA_RANGE);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    /* Memory that all see, where ranks share it; an error that says so where they do not. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Win_allocate_shared(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    CHECK(code == MPI_SUCCESS || code == MPI_ERR_RMA_SHARED);
    if (code == MPI_SUCCESS) {
        MPI_Win_lock_all(0, win);
        *base = name;
        MPI_Win_sync(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        for (int i = 0; i < ranks; i++) {
            MPI_Aint size; int unit; long *its;
            MPI_Win_shared_query(win, i, &size, &unit, &its);
            CHECK(size == sizeof(long) && unit == sizeof(long) && *its == -1 - i);
        }
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
    free(far); free(ends); free(places);
    MPI_Type_free(&column); MPI_Group_free(&group); MPI_Group_free(&to); MPI_Group_free(&from);
    int sum_failed;
    MPI_Allreduce(&failed, &sum_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d failures\n", sum_failed);
    MPI_Finalize();
    return failed;
}
