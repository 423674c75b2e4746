/* The program offload.c beside a model of a copy engine: a thread that executes what the library writes to the work queue that
 * SHMEM_DSA names, a pipe. Layouts and codes are those of linux/idxd.h; what a device meets comes at random: pages that are
 * missing, pauses in which the queue fills. */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "../offload.c"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dsa_descriptor {
    uint32_t space, flags_opcode;
    uint64_t record, source, dest;
    uint32_t bytes;
    uint16_t interrupt, reserved;
    uint64_t operands[3];
};

static int dsa_pipe[2];
static unsigned dsa_copies, dsa_faults;

static void dsa_complete(uint64_t *record, unsigned status, uint32_t bytes, uint64_t fault)
{
    __atomic_store_n(&record[1], fault, __ATOMIC_RELAXED);
    __atomic_store_n(&record[0], (uint64_t)bytes << 32 | status, __ATOMIC_RELEASE);
}

static void dsa_execute(const struct dsa_descriptor *d, unsigned chance)
{
    enum { MEMMOVE = 3, RECORD = 0x0c, SUCCESS = 1, FAULT = 3, INVALID = 0x11, WRITE = 0x80 };
    uint64_t *record = (uint64_t *)(uintptr_t)d->record;
    if (d->flags_opcode != ((uint32_t)MEMMOVE << 24 | RECORD) || d->space || d->interrupt ||
        d->reserved || d->record % 32 || record[0] != 0) {
        dsa_complete(record, INVALID, 0, 0);
        return;
    }
    __atomic_add_fetch(&dsa_copies, 1, __ATOMIC_RELAXED);
    uint64_t bytes = d->bytes;
    int writing = chance / 8 % 2;
    if (chance % 8 == 0 && bytes > 64) {
        uint64_t begin = writing ? d->dest : d->source;
        uint64_t page = (begin + chance % bytes) / 4096 * 4096;
        bytes = page > begin ? page - begin : 0;
    }
    memmove((void *)(uintptr_t)d->dest, (const void *)(uintptr_t)d->source, bytes);
    if (bytes == d->bytes) {
        dsa_complete(record, SUCCESS, 0, 0);
        return;
    }
    dsa_faults++;
    dsa_complete(record, FAULT | (writing ? WRITE : 0), (uint32_t)bytes,
                 (writing ? d->dest : d->source) + bytes);
}

static void *dsa_run(void *unused)
{
    struct dsa_descriptor d;
    unsigned chance = 1;
    while (read(dsa_pipe[0], &d, sizeof d) == sizeof d) {
        chance = chance * 1664525u + 1013904223u;
        if (chance >> 8 & 1 && (chance >> 9) % 16 == 0)
            usleep(300);
        dsa_execute(&d, chance >> 8);
    }
    return unused;
}

__attribute__((constructor)) static void dsa_begin(void)
{
    static char path[64];
    pthread_t thread;
    if (pipe2(dsa_pipe, O_CLOEXEC) != 0 || fcntl(dsa_pipe[1], F_SETPIPE_SZ, 4096) < 0 ||
        pthread_create(&thread, NULL, dsa_run, NULL) != 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", dsa_pipe[1]);
    setenv("SHMEM_DSA", path, 1);
}

/* The library's test of the queue is a copy, too. */
__attribute__((destructor)) static void dsa_end(void)
{
    if (__atomic_load_n(&dsa_copies, __ATOMIC_RELAXED) < 10 || dsa_faults == 0) {
        fprintf(stderr, "the copy engine has made %u copies and met %u missing pages\n", dsa_copies,
                dsa_faults);
        _exit(1);
    }
}
