/* The plug-in's face: MPI_Barrier by LD_PRELOAD, over whichever MPI the process has, also one that an interpreter has
 * loaded locally (RTLD_LOCAL), whose symbols no ordinary lookup finds. No MPI symbol is referenced at link time: the
 * library must load into every process of a job, the launcher's shells included.
 *
 * HOTLINK_BARRIER=off leaves all barriers to the MPI. */
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
static int (*barrier)(void *comm);
static pthread_once_t once = PTHREAD_ONCE_INIT;
unsigned long hl_taken;
uint32_t hl_generation = 1;

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

/* The global scope first: a program not built position-independent holds its own copy of the MPI's variables, which the
 * MPI then uses too (copy relocation); the library's original is dead. */
static void *symbol(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found ? found : dlsym(library, name);
}
void *(*hl_symbol)(const char *name) = symbol;

static int own_wide(void *comm) { return ((int (*)(void *))symbol("PMPI_Barrier"))(comm); }
static int own_int(void *comm) { return ((int (*)(int))symbol("PMPI_Barrier"))((int)(intptr_t)comm); }

static void start(void) {
    const char *set = getenv("HOTLINK_BARRIER");
    int off = set && strcmp(set, "off") == 0;
    library = find_library();
    if (!library) {
        fprintf(stderr, "hotlink: MPI_Barrier was called, but no loaded library defines PMPI_Barrier\n");
        abort();
    }
    if (symbol("ompi_mpi_comm_world")) barrier = off ? own_wide : hl_barrier_openmpi;
    else if (symbol("MPIR_Dup_fn") && !strstr(library_name, "libmpi_abi"))
        barrier = off ? own_int : hl_barrier_mpich;
    else barrier = own_wide; /* an MPI of another binary interface: its own barrier, the handle passed through whole */
}

__attribute__((visibility("default"))) int MPI_Barrier(void *comm) {
    pthread_once(&once, start);
    return barrier(comm);
}

/* How many barriers of this process the plug-in has taken over: lets a test or a user see that it is at work. */
__attribute__((visibility("default"))) unsigned long hotlink_barriers_taken(void) {
    return __atomic_load_n(&hl_taken, __ATOMIC_RELAXED);
}
