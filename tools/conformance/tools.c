/* The tools interface: its counts match the events, and wrong handles and numbers are reported. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); failed++; } } while (0)

static int failed;

static int pvar(const char *name, int class) {
    int index = -1;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    return index;
}

int main(int argc, char **argv) {
    int n, provided, rank, index = -1;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    MPI_T_cvar_handle eager;
    unsigned long long value = 7;
    CHECK(MPI_T_cvar_get_index("hotlink_eager_bytes", &index) == MPI_SUCCESS && index == 0);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &eager, &n) == MPI_SUCCESS && n == 1);
    CHECK(MPI_T_cvar_read(eager, &value) == MPI_T_ERR_NOT_ACCESSIBLE);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_T_cvar_read(eager, &value) == MPI_SUCCESS && value > 7);
    CHECK(MPI_T_cvar_write(eager, &value) == MPI_T_ERR_CVAR_SET_NEVER);
    CHECK(MPI_T_cvar_handle_free(&eager) == MPI_SUCCESS && eager == MPI_T_CVAR_HANDLE_NULL);

    /* Names round trip, and are cut where there is no room. */
    CHECK(MPI_T_pvar_get_num(&n) == MPI_SUCCESS && n > 10);
    for (int i = 0; i < n; i++) {
        char name[64], few[4];
        int length = sizeof name, short_length = sizeof few, class, verbosity, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum names;
        CHECK(MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &names, NULL, NULL, &bind, &readonly,
                                  &continuous, &atomic) == MPI_SUCCESS);
        CHECK(length == (int)strlen(name) + 1 && type == MPI_UNSIGNED_LONG_LONG && names == MPI_T_ENUM_NULL);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && continuous && readonly == (class != MPI_T_PVAR_CLASS_COUNTER));
        CHECK(pvar(name, class) == i);
        CHECK(MPI_T_pvar_get_info(i, few, &short_length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
              MPI_SUCCESS);
        CHECK(short_length == length && strlen(few) == 3 && !strncmp(few, name, 3));
    }
    CHECK(MPI_T_pvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_get_index("no such", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_T_ERR_INVALID_NAME);

    /* Ten short messages to itself, received from the last on: nine came before their receives, of four bytes each. */
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle sent, early, most;
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS && MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
    index = pvar("hotlink_eager", MPI_T_PVAR_CLASS_COUNTER);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &sent, &n) == MPI_SUCCESS && n == 1);
    index = pvar("hotlink_unexpected", MPI_T_PVAR_CLASS_COUNTER);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &early, &n) == MPI_SUCCESS);
    index = pvar("hotlink_kept_bytes_max", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &most, &n) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, most) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_start(session, sent) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(other, sent, &value) == MPI_T_ERR_INVALID_HANDLE);
    MPI_Request requests[10];
    int data[10], got;
    for (int i = 0; i < 10; i++) {
        data[i] = i;
        MPI_Isend(&data[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 9; i >= 0; i--) {
        MPI_Recv(&got, 1, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == i);
    }
    MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    CHECK(MPI_T_pvar_read(session, sent, &value) == MPI_SUCCESS && value == 10);
    CHECK(MPI_T_pvar_readreset(session, early, &value) == MPI_SUCCESS && value == 9);
    CHECK(MPI_T_pvar_read(session, early, &value) == MPI_SUCCESS && value == 0);
    CHECK(MPI_T_pvar_read(session, most, &value) == MPI_SUCCESS && value == 36);
    value = 100;
    CHECK(MPI_T_pvar_write(session, early, &value) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, early, &value) == MPI_SUCCESS && value == 100);
    CHECK(MPI_T_pvar_readreset(session, most, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK(MPI_T_pvar_handle_free(session, &early) == MPI_SUCCESS && early == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_read(session, sent, &value) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_read(other, sent, &value) == MPI_T_ERR_INVALID_HANDLE);

    int cvars, pvars, below, all[64], length = 0;
    CHECK(MPI_T_category_get_num(&n) == MPI_SUCCESS && n == 1);
    CHECK(MPI_T_category_get_info(0, NULL, &length, NULL, NULL, &cvars, &pvars, &below) == MPI_SUCCESS);
    CHECK(length == (int)sizeof "hotlink_messages" && below == 0);
    CHECK(MPI_T_category_get_index("hotlink_messages", &index) == MPI_SUCCESS && index == 0);
    CHECK(MPI_T_category_get_pvars(0, 64, all) == MPI_SUCCESS && all[pvars - 1] == pvars - 1);
    CHECK(MPI_T_category_get_cvars(1, 64, all) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_num(&n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_T_source_get_num(&n) == MPI_SUCCESS && n == 0);
    CHECK(MPI_T_event_get_index("any", &index) == MPI_T_ERR_INVALID_NAME);
    MPI_Finalize();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    printf("%d failures\n", failed);
    return failed != 0;
}
