/* A program that is not linked against the library but loads it, as an interpreter does: the heap
 * works, the program's own globals are left alone. Argument: the library's path. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static int global = 5;

static void *library;

static void *routine(const char *name)
{
    void *address = dlsym(library, name);
    if (address == NULL) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return address;
}

#define ROUTINE(result, name, ...) result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))routine(#name)

int main(int argc, char **argv)
{
    if (argc != 2 || (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) {
        fprintf(stderr, "cannot load the library: %s\n", dlerror());
        return 1;
    }
    ROUTINE(void, shmem_init, void);
    ROUTINE(void, shmem_finalize, void);
    ROUTINE(int, shmem_my_pe, void);
    ROUTINE(int, shmem_n_pes, void);
    ROUTINE(void *, shmem_malloc, size_t);
    ROUTINE(void, shmem_free, void *);
    ROUTINE(void, shmem_barrier_all, void);
    ROUTINE(void, shmem_int_put, int *, const int *, size_t, int);
    ROUTINE(void, shmem_int_p, int *, int, int);
    ROUTINE(int, shmem_int_g, const int *, int);
    ROUTINE(int, shmem_int_atomic_fetch_inc, int *, int);
    ROUTINE(void *, shmem_ptr, const void *, int);
    ROUTINE(int, shmem_addr_accessible, const void *, int);
    ROUTINE(void, pshmem_barrier_all, void);
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n, bad = 0;
    int *words = shmem_malloc(4 * sizeof *words);
    if (words == NULL)
        return 1;
    words[0] = words[1] = words[2] = words[3] = 0;
    shmem_barrier_all();
    shmem_int_put(words, (int[]){me, me + 1}, 2, to);
    shmem_int_p(&words[2], me + 2, to);
    shmem_int_atomic_fetch_inc(&words[3], 0);
    pshmem_barrier_all();
    bad |= words[0] != from || words[1] != from + 1 || words[2] != from + 2;
    bad |= shmem_int_g(&words[3], 0) != n;
    bad |= *(int *)shmem_ptr(words, to) != me;
    bad |= shmem_addr_accessible(words, to) != 1;
    bad |= shmem_addr_accessible(&global, to) != 0 || shmem_ptr(&global, to) != NULL;
    bad |= global != 5;
    if (bad)
        fprintf(stderr, "PE %d: wrong: %d %d %d\n", me, words[0], words[1], words[2]);
    shmem_barrier_all();
    shmem_free(words);
    shmem_finalize();
    return bad;
}
