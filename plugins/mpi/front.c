/* The plug-in's face: MPI_Barrier by LD_PRELOAD, over whichever MPI the process has. That may be one that an
 * interpreter has loaded locally (RTLD_LOCAL), whose symbols no ordinary lookup finds. No MPI symbol is referenced at
 * link time: the library must load into every process of a job, the launcher's shells included.
 *
 * HOTLINK_BARRIER=off leaves all barriers to the MPI, always takes over without asking whether that pays. */
#define _GNU_SOURCE
#include "plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library; /* the MPI's */
static char library_name[4096];
static int (*barrier)(void *comm); /* set last: NULL until the MPI was looked up */
static void *(*f2c)(int);          /* NULL where a communicator's number is its handle */
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct names { char *name[1024]; int count; };

static int collect(struct dl_phdr_info *info, size_t size, void *context) {
    struct names *names = context;
    (void)size;
    if (info->dlpi_name[0] && names->count < 1024) names->name[names->count++] = strdup(info->dlpi_name);
    return 0;
}

/* The first loaded library that defines PMPI_Barrier. The names are collected first: opening within the iteration
 * could deadlock on the loader's lock. */
static void *find_library(void) {
    struct names names = {.count = 0};
    void *found = NULL;
    dl_iterate_phdr(collect, &names);
    for (int k = 0; k < names.count; k++) {
        void *handle = found ? NULL : dlopen(names.name[k], RTLD_LAZY | RTLD_NOLOAD);
        if (handle && dlsym(handle, "PMPI_Barrier")) {
            found = handle;
            snprintf(library_name, sizeof library_name, "%s", names.name[k]);
        }
        else if (handle) dlclose(handle);
        free(names.name[k]);
    }
    return found;
}

/* The global scope first. A program not built position-independent holds its own copy of the MPI's variables, which
 * the MPI then uses too (copy relocation). The library's original is dead. */
static void *symbol(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : dlsym(library, name);
}
void *(*hl_symbol)(const char *name) = symbol;

static void *own_barrier;
static int own_wide(void *comm) { return ((int (*)(void *))own_barrier)(comm); }
static int own_int(void *comm) { return ((int (*)(int))own_barrier)((int)(intptr_t)comm); }

/* MPI's binary interfaces, and how each barrier of the MPI's own is called. The standard ABI's library is known by its
 * name: it may hold an MPI's own symbols too. */
static void choose(void) {
    int (*taken_over)(void *) = NULL, (*own)(void *) = own_wide;
    if (strstr(library_name, "libmpi_abi")) taken_over = hl_barrier_abi;
    else if (symbol("ompi_mpi_comm_world")) taken_over = hl_barrier_openmpi;
    else if (symbol("MPIR_Dup_fn")) {
        taken_over = hl_barrier_mpich;
        own = own_int;
    }
    own_barrier = symbol("PMPI_Barrier");
    if (own == own_wide && !(f2c = (void *(*)(int))symbol("PMPI_Comm_f2c")))
        f2c = (void *(*)(int))symbol("PMPI_Comm_fromint"); /* the standard ABI */
    const char *set = getenv("HOTLINK_BARRIER");
    const int off = set && strcmp(set, "off") == 0;
    if (!off && !taken_over)
        fprintf(stderr, "hotlink: %s: this plug-in was built without its binary interface: barriers stay its own\n", library_name);
    __atomic_store_n(&barrier, !off && taken_over ? taken_over : own, __ATOMIC_RELEASE);
}

static void start(void) {
    library = find_library();
    if (!library) {
        fprintf(stderr, "hotlink: MPI_Barrier was called, but no loaded library defines PMPI_Barrier\n");
        abort();
    }
    choose();
}

__attribute__((visibility("default"))) int MPI_Barrier(void *comm) {
    if (!__atomic_load_n(&barrier, __ATOMIC_ACQUIRE)) pthread_once(&once, start);
    return barrier(comm);
}

/* Fortran's entries, in the spellings of compilers and of module mpi_f08, where a communicator is a structure of one
 * integer. An MPI's Fortran library may call its own barrier past the entry above. */
static void fortran(const int *comm, int *error) {
    if (!__atomic_load_n(&barrier, __ATOMIC_ACQUIRE)) pthread_once(&once, start);
    int result = barrier(f2c ? f2c(*comm) : (void *)(intptr_t)*comm);
    if (error) *error = result;
}
#define FORTRAN(name) \
    __attribute__((visibility("default"))) void name(const int *comm, int *error) { fortran(comm, error); }
FORTRAN(mpi_barrier) FORTRAN(mpi_barrier_) FORTRAN(mpi_barrier__) FORTRAN(MPI_BARRIER)
FORTRAN(mpi_barrier_f08) FORTRAN(mpi_barrier_f08_)

HL_COUNTERS
