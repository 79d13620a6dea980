/* hotlink's adapter: MPI functions with handles as integers of a pointer's size, as in MPI 5's standard interface, over
 * whatever mpi.h defines them to be. Compiled with the site's mpicc and loaded by dlopen; with the standard library
 * (libmpi_abi.so) it is not needed. Names are MPI's with hl_ before them. Statuses are not asked for. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

typedef intptr_t H;
#define COMM(h) ((MPI_Comm)(h))
#define TYPE(h) ((MPI_Datatype)(h))
#define OP(h) ((MPI_Op)(h))
#define WIN(h) ((MPI_Win)(h))
#define INFO(h) ((MPI_Info)(h))
#define REQUEST(call) \
  do { \
    MPI_Request q; \
    int error = call; \
    *r = (H)q; \
    return error; \
  } while (0)

/* The same numbers as in the standard interface. */
static int source(int s) { return s == -1 ? MPI_ANY_SOURCE : s; }
static int any(int t) { return t == -2 ? MPI_ANY_TAG : t; }

H hl_constant(int which) {
  switch (which) {
    case 0: return (H)MPI_COMM_WORLD;
    case 1: return (H)MPI_BYTE;
    case 2: return (H)MPI_DOUBLE;
    case 3: return (H)MPI_FLOAT;
    case 4: return (H)MPI_INT64_T;
    case 5: return (H)MPI_INT32_T;
    case 6: return (H)MPI_SUM;
    case 7: return (H)MPI_MIN;
    case 8: return (H)MPI_MAX;
    case 9: return (H)MPI_PROD;
    default: return (H)MPI_INFO_NULL;
  }
}

int hl_MPI_Init(void *argc, void *argv) { return MPI_Init(argc, argv); }
int hl_MPI_Finalize(void) { return MPI_Finalize(); }
int hl_MPI_Abort(H c, int code) { return MPI_Abort(COMM(c), code); }
int hl_MPI_Comm_rank(H c, int *rank) { return MPI_Comm_rank(COMM(c), rank); }
int hl_MPI_Comm_size(H c, int *size) { return MPI_Comm_size(COMM(c), size); }
int hl_MPI_Get_library_version(char *text, int *bytes) { return MPI_Get_library_version(text, bytes); }

double hl_MPI_Wtime(void) { return MPI_Wtime(); }

int hl_MPI_Send(const void *b, int n, H t, int to, int tag, H c) { return MPI_Send(b, n, TYPE(t), to, tag, COMM(c)); }
int hl_MPI_Recv(void *b, int n, H t, int from, int tag, H c, void *status) {
  (void)status;
  return MPI_Recv(b, n, TYPE(t), source(from), any(tag), COMM(c), MPI_STATUS_IGNORE);
}
int hl_MPI_Isend(const void *b, int n, H t, int to, int tag, H c, H *r) {
  REQUEST(MPI_Isend(b, n, TYPE(t), to, tag, COMM(c), &q));
}
int hl_MPI_Irecv(void *b, int n, H t, int from, int tag, H c, H *r) {
  REQUEST(MPI_Irecv(b, n, TYPE(t), source(from), any(tag), COMM(c), &q));
}
int hl_MPI_Wait(H *r, void *status) {
  MPI_Request q = (MPI_Request)*r;
  int error = MPI_Wait(&q, MPI_STATUS_IGNORE);
  (void)status;
  *r = (H)q;
  return error;
}
/* All at once: request by request, a library looks for progress between each. Handles of the same size are the requests
 * themselves; smaller ones are packed to the front of the same memory and spread again. */
int hl_MPI_Waitall(int n, H *r, void *statuses) {
  MPI_Request *q = (MPI_Request *)r;
  (void)statuses;
  if (sizeof(MPI_Request) != sizeof(H))
    for (int i = 0; i < n; i++) {
      MPI_Request one = (MPI_Request)r[i];
      memcpy(&q[i], &one, sizeof one);
    }
  int error = MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
  if (sizeof(MPI_Request) != sizeof(H))
    for (int i = n - 1; i >= 0; i--) {
      MPI_Request one;
      memcpy(&one, &q[i], sizeof one);
      r[i] = (H)one;
    }
  return error;
}
/* A window of messages with one rank: all started, then all waited for. `r` has room for as many requests. */
int hl_exchange(void *d, int dn, H dt, int receives, const void *s, int sn, H st, int sends, int peer, int tag, H c, H *r) {
  MPI_Request *q = (MPI_Request *)r;
  int error = MPI_SUCCESS, k = 0;
  for (int i = 0; i < receives && error == MPI_SUCCESS; i++)
    error = MPI_Irecv(d, dn, TYPE(dt), peer, tag, COMM(c), &q[k++]);
  for (int i = 0; i < sends && error == MPI_SUCCESS; i++)
    error = MPI_Isend(s, sn, TYPE(st), peer, tag, COMM(c), &q[k++]);
  return error == MPI_SUCCESS ? MPI_Waitall(k, q, MPI_STATUSES_IGNORE) : error;
}
int hl_MPI_Test(H *r, int *done, void *status) {
  MPI_Request q = (MPI_Request)*r;
  int error = MPI_Test(&q, done, MPI_STATUS_IGNORE);
  (void)status;
  *r = (H)q;
  return error;
}

int hl_MPI_Barrier(H c) { return MPI_Barrier(COMM(c)); }
int hl_MPI_Bcast(void *b, int n, H t, int root, H c) { return MPI_Bcast(b, n, TYPE(t), root, COMM(c)); }
int hl_MPI_Reduce(const void *s, void *d, int n, H t, H op, int root, H c) {
  return MPI_Reduce(s, d, n, TYPE(t), OP(op), root, COMM(c));
}
int hl_MPI_Allreduce(const void *s, void *d, int n, H t, H op, H c) {
  return MPI_Allreduce(s, d, n, TYPE(t), OP(op), COMM(c));
}
int hl_MPI_Reduce_scatter_block(const void *s, void *d, int n, H t, H op, H c) {
  return MPI_Reduce_scatter_block(s, d, n, TYPE(t), OP(op), COMM(c));
}
int hl_MPI_Gather(const void *s, int n, H t, void *d, int m, H u, int root, H c) {
  return MPI_Gather(s, n, TYPE(t), d, m, TYPE(u), root, COMM(c));
}
int hl_MPI_Scatter(const void *s, int n, H t, void *d, int m, H u, int root, H c) {
  return MPI_Scatter(s, n, TYPE(t), d, m, TYPE(u), root, COMM(c));
}
int hl_MPI_Allgather(const void *s, int n, H t, void *d, int m, H u, H c) {
  return MPI_Allgather(s, n, TYPE(t), d, m, TYPE(u), COMM(c));
}
int hl_MPI_Alltoall(const void *s, int n, H t, void *d, int m, H u, H c) {
  return MPI_Alltoall(s, n, TYPE(t), d, m, TYPE(u), COMM(c));
}
int hl_MPI_Alltoallv(const void *s, const int *sn, const int *sd, H t, void *d, const int *dn, const int *dd, H u, H c) {
  return MPI_Alltoallv(s, sn, sd, TYPE(t), d, dn, dd, TYPE(u), COMM(c));
}
int hl_MPI_Ibarrier(H c, H *r) { REQUEST(MPI_Ibarrier(COMM(c), &q)); }
int hl_MPI_Ibcast(void *b, int n, H t, int root, H c, H *r) { REQUEST(MPI_Ibcast(b, n, TYPE(t), root, COMM(c), &q)); }
int hl_MPI_Ireduce(const void *s, void *d, int n, H t, H op, int root, H c, H *r) {
  REQUEST(MPI_Ireduce(s, d, n, TYPE(t), OP(op), root, COMM(c), &q));
}
int hl_MPI_Iallreduce(const void *s, void *d, int n, H t, H op, H c, H *r) {
  REQUEST(MPI_Iallreduce(s, d, n, TYPE(t), OP(op), COMM(c), &q));
}
int hl_MPI_Ireduce_scatter_block(const void *s, void *d, int n, H t, H op, H c, H *r) {
  REQUEST(MPI_Ireduce_scatter_block(s, d, n, TYPE(t), OP(op), COMM(c), &q));
}
int hl_MPI_Igather(const void *s, int n, H t, void *d, int m, H u, int root, H c, H *r) {
  REQUEST(MPI_Igather(s, n, TYPE(t), d, m, TYPE(u), root, COMM(c), &q));
}
int hl_MPI_Iscatter(const void *s, int n, H t, void *d, int m, H u, int root, H c, H *r) {
  REQUEST(MPI_Iscatter(s, n, TYPE(t), d, m, TYPE(u), root, COMM(c), &q));
}
int hl_MPI_Iallgather(const void *s, int n, H t, void *d, int m, H u, H c, H *r) {
  REQUEST(MPI_Iallgather(s, n, TYPE(t), d, m, TYPE(u), COMM(c), &q));
}
int hl_MPI_Ialltoall(const void *s, int n, H t, void *d, int m, H u, H c, H *r) {
  REQUEST(MPI_Ialltoall(s, n, TYPE(t), d, m, TYPE(u), COMM(c), &q));
}
int hl_MPI_Ialltoallv(const void *s, const int *sn, const int *sd, H t, void *d, const int *dn, const int *dd, H u, H c,
                      H *r) {
  REQUEST(MPI_Ialltoallv(s, sn, sd, TYPE(t), d, dn, dd, TYPE(u), COMM(c), &q));
}

int hl_MPI_Type_vector(int n, int block, int stride, H t, H *made) {
  MPI_Datatype q;
  int error = MPI_Type_vector(n, block, stride, TYPE(t), &q);
  *made = (H)q;
  return error;
}
int hl_MPI_Type_commit(H *t) {
  MPI_Datatype q = TYPE(*t);
  int error = MPI_Type_commit(&q);
  *t = (H)q;
  return error;
}

int hl_MPI_Type_free(H *t) {
  MPI_Datatype q = TYPE(*t);
  int error = MPI_Type_free(&q);
  *t = (H)q;
  return error;
}

int hl_MPI_Alloc_mem(MPI_Aint n, H info, void *start) { return MPI_Alloc_mem(n, INFO(info), start); }
int hl_MPI_Free_mem(void *start) { return MPI_Free_mem(start); }
int hl_MPI_Win_allocate(MPI_Aint n, int unit, H info, H c, void *start, H *win) {
  MPI_Win q;
  int error = MPI_Win_allocate(n, unit, INFO(info), COMM(c), start, &q);
  *win = (H)q;
  return error;
}
int hl_MPI_Win_create(void *start, MPI_Aint n, int unit, H info, H c, H *win) {
  MPI_Win q;
  int error = MPI_Win_create(start, n, unit, INFO(info), COMM(c), &q);
  *win = (H)q;
  return error;
}
int hl_MPI_Win_free(H *win) {
  MPI_Win q = WIN(*win);
  int error = MPI_Win_free(&q);
  *win = (H)q;
  return error;
}
int hl_MPI_Win_lock_all(int assert, H win) { return MPI_Win_lock_all(assert, WIN(win)); }
int hl_MPI_Win_unlock_all(H win) { return MPI_Win_unlock_all(WIN(win)); }
int hl_MPI_Win_flush(int rank, H win) { return MPI_Win_flush(rank, WIN(win)); }
int hl_MPI_Put(const void *b, int n, H t, int to, MPI_Aint offset, int m, H u, H win) {
  return MPI_Put(b, n, TYPE(t), to, offset, m, TYPE(u), WIN(win));
}
