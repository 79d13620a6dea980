/* The barrier as a collective component of Open MPI 4.1, as H06 had it (slide 20). The take-over is the same
 * (takeover.c), but Open MPI itself chooses it instead of LD_PRELOAD. It sits above the component that would have had
 * the barrier and falls back on it. Of the collectives it offers the barrier only.
 *
 *     mpirun --mca mca_base_component_path DIR:<Open MPI's own> ...     and --mca coll ^hotlink leaves it out again */
#define _GNU_SOURCE
#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "plugin.h"

#include <dlfcn.h>
#include <string.h>

typedef struct {
    mca_coll_base_module_t super;
    mca_coll_base_module_barrier_fn_t previous;
    mca_coll_base_module_t *previous_module;
} module_t;
OBJ_CLASS_DECLARATION(module_t);

static void construct(module_t *m) {
    m->previous = NULL;
    m->previous_module = NULL;
}
static void destruct(module_t *m) {
    if (m->previous_module) OBJ_RELEASE(m->previous_module);
}
OBJ_CLASS_INSTANCE(module_t, mca_coll_base_module_t, construct, destruct);


static int barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module) {
    (void)module;
    return hl_barrier_openmpi(comm);
}

/* What takeover.c knows as the MPI's own barrier: below this component, whose barrier PMPI_Barrier would run. */
static int own_barrier(MPI_Comm comm) {
    if (comm->c_coll->coll_barrier != barrier) return comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
    module_t *m = (module_t *)comm->c_coll->coll_barrier_module;
    return m->previous(comm, m->previous_module);
}

static void *symbol(const char *name) {
    if (strcmp(name, "PMPI_Barrier") == 0) return (void *)own_barrier;
    void *found = dlsym(RTLD_DEFAULT, name); /* a program's copy of a variable goes first, as in front.c */
    static void *library;
    if (!found && !library) library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
    return found ? found : dlsym(library, name);
}
void *(*hl_symbol)(const char *name) = symbol;

HL_COUNTERS

static int enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm) {
    module_t *m = (module_t *)module;
    if (!comm->c_coll->coll_barrier || !comm->c_coll->coll_barrier_module) return OMPI_ERROR;
    m->previous = comm->c_coll->coll_barrier;
    m->previous_module = comm->c_coll->coll_barrier_module;
    OBJ_RETAIN(m->previous_module);
    return OMPI_SUCCESS;
}

static int init_query(bool progress_threads, bool mpi_threads) {
    (void)progress_threads, (void)mpi_threads;
    return OMPI_SUCCESS;
}

static mca_coll_base_module_t *comm_query(struct ompi_communicator_t *comm, int *priority) {
    if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2) return NULL;
    module_t *m = OBJ_NEW(module_t);
    if (!m) return NULL;
    *priority = 95; /* above every component that Open MPI ships but its monitoring */
    m->super.coll_module_enable = enable;
    m->super.coll_barrier = barrier;
    return &m->super;
}

__attribute__((visibility("default"))) mca_coll_base_component_t mca_coll_hotlink_component = {
    .collm_version = {
        MCA_COLL_BASE_VERSION_2_0_0,
        .mca_component_name = "hotlink",
        MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
    },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = comm_query,
};
