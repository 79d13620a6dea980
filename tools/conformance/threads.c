/* Threads of a rank in virtual time: each waits, sends, computes, polls or sleeps while the other runs. The two
 * ranks print the times that they see; they are the same at every run. Words make it wrong: `deadlock`, `spin`. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, other, failures, words[8];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile int flag;

static void check(int good, const char *what) {
    if (good)
        return;
    failures++;
    fprintf(stderr, "rank %d: %s\n", rank, what);
}

static void *run(void *(*work)(void *)) {
    pthread_t *thread = malloc(sizeof *thread);
    pthread_create(thread, NULL, work, NULL);
    return thread;
}

static void join(void *thread) {
    pthread_join(*(pthread_t *)thread, NULL);
    free(thread);
}

static void receive(int tag) {
    MPI_Recv(&words[tag], 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(int tag) {
    MPI_Send(&tag, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
}

static void *receives(void *unused) {
    receive(1);
    return unused;
}

/* Takes longer than any nap of those that wait: they must not go on meanwhile. */
static void *computes(void *unused) {
    struct timespec begun, now;
    double time = MPI_Wtime();
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        if (!flag)
            begun = now, flag = 1;
    } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < 50);
    check(MPI_Wtime() == time, "time went on while a thread computed");
    send(2);
    return unused;
}

static void *polls(void *unused) {
    int found = 0, looks = 0;
    double time = MPI_Wtime();
    for (; !found; looks++)
        MPI_Iprobe(other, 3, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    receive(3);
    time = MPI_Wtime() - time;
    check(time > 50e-6 && time < 500e-6, "a message of 50 us took another time");
    printf("rank %d polls %d times\n", rank, looks);
    return unused;
}

static void *sleeps(void *unused) {
    double time = MPI_Wtime();
    usleep(2000);
    check(MPI_Wtime() - time > 0.00199 && MPI_Wtime() - time < 0.0021, "a sleep of 2 ms took another time");
    return unused;
}

static void *signals(void *request) {
    pthread_mutex_lock(&lock);
    while (flag != 2)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static int query(void *unused, MPI_Status *status) {
    (void)unused;
    MPI_Status_set_cancelled(status, 0);
    return MPI_Status_set_elements(status, MPI_INT, 0);
}

static int nothing(void *unused) { return (void)unused, MPI_SUCCESS; }
static int never(void *unused, int complete) { return (void)unused, (void)complete, MPI_SUCCESS; }

static void *waits(void *unused) {
    MPI_Ssend(&rank, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
    return unused;
}

static void *spins(void *unused) {
    while (!flag)
        ;
    return unused;
}

static void *numbers(void *unused) {
    int i, sum, one = 1;
    MPI_Comm copy;
    for (i = 0; i < 20; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
        check(sum == 1, "a sum over one rank");
        MPI_Comm_free(&copy);
    }
    return unused;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    int level, query_level;
    void *thread;
    double time;
    MPI_Request request;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Query_thread(&query_level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(word, "level"))
        return printf("serialized: %d\n", level == MPI_THREAD_SERIALIZED), MPI_Finalize(), 0;
    check(level == MPI_THREAD_MULTIPLE && query_level == level, "the thread level");
    other = 1 - rank;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(word, "deadlock")) {
        thread = run(waits);
        receive(6);
        join(thread);
    }
    if (!strcmp(word, "spin")) {
        thread = rank == 0 ? run(spins) : NULL;
        receive(6);
        join(thread);
    }
    /* One is blocked in a receive while the other sends. */
    thread = run(receives);
    if (rank == 0)
        send(0);
    else
        receive(0);
    send(1);
    join(thread);
    check(words[1] == 1, "a message beside another");
    time = MPI_Wtime();
    /* One computes, then sends, while the other is blocked. */
    flag = 0;
    thread = run(computes);
    receive(2);
    join(thread);
    check(MPI_Wtime() - time < 500e-6, "computing took time");
    /* One polls while the other sleeps and sends. */
    MPI_Barrier(MPI_COMM_WORLD);
    thread = run(polls);
    usleep(50);
    send(3);
    join(thread);
    /* Both sleep side by side, and one is blocked meanwhile. */
    time = MPI_Wtime();
    thread = run(sleeps);
    usleep(1000);
    if (rank == 0)
        send(4), receive(5);
    else
        receive(4), send(5);
    check(MPI_Wtime() - time < 0.0011, "a thread waited for another's sleep");
    join(thread);
    check(MPI_Wtime() - time > 0.00199 && MPI_Wtime() - time < 0.0021, "sleeps side by side");
    /* One sleeps on a condition, the other waits for what the first does then. */
    MPI_Grequest_start(query, nothing, never, NULL, &request);
    {
        pthread_t completes;
        MPI_Request same = request;
        pthread_create(&completes, NULL, signals, &same);
        pthread_mutex_lock(&lock);
        flag = 2;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pthread_join(completes, NULL);
    }
    /* Collectives of several threads. */
    thread = run(numbers);
    numbers(NULL);
    join(thread);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of 2: %.6f us\n", rank, MPI_Wtime() * 1e6);
    MPI_Reduce(rank ? &failures : MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", failures);
    MPI_Finalize();
    return failures != 0;
}
