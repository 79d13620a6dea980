/* Benchmarks after the documented definitions of the OSU micro-benchmarks, written from that documentation, with no
 * line of theirs. `hotlink measure --via mpi` must agree with them.
 *
 *     osu latency   2 ranks: blocking send and receive, there and back; half the round trip
 *     osu bw        2 ranks: windows of 64 non-blocking sends, waited for together; the receiver answers each window
 *     osu bibw      2 ranks: both send and receive a window, waited for together
 *     osu mbw_mr    pairs of ranks, each a stream of windows as in bw; all pairs' bandwidth together
 *     osu allreduce, alltoall, bcast
 *                   all ranks: each operation timed by itself, a barrier between;
 *                   per rank the mean, then the mean of ranks
 *
 * Usage: osu BENCHMARK BYTES SECONDS. Iterations fill about SECONDS after a warm-up of a fifth of them. Prints one
 * number: microseconds, or MB/s (10^6 bytes), for bibw of both ways together. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, DATA = 100, ANSWER = 101 };

static int rank, ranks;
static char *sent, *received;
static MPI_Request requests[2 * WINDOW];

static void *pages(size_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, bytes ? bytes : 1)) {
    fprintf(stderr, "osu: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(memory, 1, bytes);
  return memory;
}

/* The ranks between a pair's two ends are idle. */
static int partner(int pairs) {
  if (rank < pairs) return rank + ranks - pairs;
  return rank >= ranks - pairs ? rank - (ranks - pairs) : -1;
}

static void ping(int bytes) {
  int peer = partner(1);
  if (rank == 0) {
    MPI_Send(sent, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD);
    MPI_Recv(received, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (peer == 0) {
    MPI_Recv(received, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(sent, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD);
  }
}

static void stream(int bytes, int pairs) {
  int peer = partner(pairs), leads = rank < pairs;
  if (peer < 0) return;
  for (int i = 0; i < WINDOW; i++) {
    if (leads) MPI_Isend(sent, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[i]);
    else MPI_Irecv(received, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  if (leads) MPI_Recv(received, 4, MPI_CHAR, peer, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else MPI_Send(sent, 4, MPI_CHAR, peer, ANSWER, MPI_COMM_WORLD);
}

static void both_ways(int bytes) {
  int peer = partner(1);
  if (peer < 0) return;
  for (int i = 0; i < WINDOW; i++) MPI_Irecv(received, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < WINDOW; i++) MPI_Isend(sent, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[WINDOW + i]);
  MPI_Waitall(WINDOW, requests + WINDOW, MPI_STATUSES_IGNORE);
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
}

/* OSU has a program for each operation: nothing but the call is between the clock's readings. */
#define TIMED(call) \
  for (long i = 0; i < iterations; i++) { \
    MPI_Barrier(MPI_COMM_WORLD); \
    double start = MPI_Wtime(); \
    call; \
    time += MPI_Wtime() - start; \
  }

static double collective(const char *name, int bytes, long iterations) {
  double time = 0, all = 0;
  /* As hotlink sums them: doubles. */
  if (!strcmp(name, "allreduce"))
    TIMED(MPI_Allreduce(sent, received, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))
  else if (!strcmp(name, "alltoall"))
    TIMED(MPI_Alltoall(sent, bytes, MPI_CHAR, received, bytes, MPI_CHAR, MPI_COMM_WORLD))
  else TIMED(MPI_Bcast(sent, bytes, MPI_CHAR, 0, MPI_COMM_WORLD))
  time /= iterations;
  MPI_Allreduce(&time, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all / ranks * 1e6;
}

/* The benchmark's number, of that many iterations; on rank 0. */
static double measure(const char *name, int bytes, long iterations) {
  if (!strcmp(name, "allreduce") || !strcmp(name, "alltoall") || !strcmp(name, "bcast"))
    return collective(name, bytes, iterations);
  int pairs = strcmp(name, "mbw_mr") ? 1 : ranks / 2;
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (long i = 0; i < iterations; i++) {
    if (!strcmp(name, "latency")) ping(bytes);
    else if (!strcmp(name, "bibw")) both_ways(bytes);
    else stream(bytes, pairs);
  }
  double time = MPI_Wtime() - start;
  if (!strcmp(name, "latency")) return time / iterations / 2 * 1e6;
  double moved = (double)bytes * WINDOW * iterations * (strcmp(name, "bibw") ? 1 : 2) / 1e6, mean = 0;
  double senders = rank < pairs ? time : 0;
  MPI_Allreduce(&senders, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return pairs * moved / (mean / pairs);
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 4 || ranks < 2) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -n 2 osu BENCHMARK BYTES SECONDS\n");
    MPI_Finalize();
    return 2;
  }
  const char *name = words[1];
  int bytes = atoi(words[2]);
  double seconds = atof(words[3]);
  size_t room = (size_t)bytes * (strcmp(name, "alltoall") ? 1 : ranks);
  if (room < 64) room = 64;
  sent = pages(room);
  received = pages(room);
  memset(sent, 0, room);
  /* As many as fill the time, the same number on every rank. */
  long iterations = 10;
  double start = MPI_Wtime(), took;
  measure(name, bytes, iterations);
  start = MPI_Wtime();
  measure(name, bytes, iterations);
  took = (MPI_Wtime() - start) / iterations;
  iterations = (long)(seconds / (took > 1e-8 ? took : 1e-8)) + 1;
  MPI_Bcast(&iterations, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  measure(name, bytes, iterations / 5 + 1);
  double value = measure(name, bytes, iterations);
  if (rank == 0) printf("%.6g\n", value);
  MPI_Finalize();
  return 0;
}
