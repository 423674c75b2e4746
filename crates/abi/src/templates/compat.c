#define _GNU_SOURCE
#include <complex.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What it needs of the library below, as the headers note it. */
__asm__(".pushsection .note.ferroshmem, \"a\", %note\n\t"
        ".balign 4\n\t"
        ".long 11, 16, 1\n\t"
        ".asciz \"FerroSHMEM\"\n\t"
        ".balign 4\n\t"
        ".long " NEEDS "\n\t"
        ".popsection");

typedef void *shmem_ctx_t;
typedef void *shmem_team_t;

extern int pshmem_my_pe(void);
extern int pshmem_n_pes(void);
extern int pshmemx_msg_send(shmem_team_t team, const void *buf, size_t nbytes, int pe, int tag);
extern int pshmemx_msg_recv(shmem_team_t team, void *buf, size_t nbytes, int pe, int tag, void *status);

#define WORLD ((shmem_team_t)1)

/* The function of a routine that is loaded next: that of a tool, or of the library. It is looked up once. */
#define NEXT(next, name) (__atomic_load_n(&(next), __ATOMIC_RELAXED) ? (next) : ((next) = dlsym(RTLD_NEXT, name)))

/* Active sets, each of which has a work array. */
enum { SETS = 256, WORDS = SETS / 64 };

/* Messages about work arrays; programs of other libraries send none. */
enum { TAG = 0x5e7 };

static struct {
    int start, log_stride, size, index;
} known[SETS];
static int n_known;
static uint64_t used[WORDS] = { 1 };
static long (*arrays)[WORK_ARRAY];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline void make_work_arrays(void)
{
    static void *(*next)(size_t count, size_t size);
    if (arrays == NULL) {
        arrays = NEXT(next, "shmem_calloc")(SETS, sizeof *arrays);
    }
}

static inline void free_work_arrays(void)
{
    static void (*next)(void *ptr);
    if (arrays != NULL) {
        NEXT(next, "shmem_free")(arrays);
        arrays = NULL;
    }
}

/* The first member takes an array that no member uses, and tells the others. The set is one of PEs of the job. */
static int agree(int start, int log_stride, int size)
{
    uint64_t theirs[WORDS], all[WORDS];
    int index = 0;

    if (pshmem_my_pe() != start) {
        pshmemx_msg_send(WORLD, used, sizeof used, start, TAG);
        pshmemx_msg_recv(WORLD, &index, sizeof index, start, TAG, NULL);
        return index;
    }
    for (int w = 0; w < WORDS; w++) {
        all[w] = used[w];
    }
    for (int i = 1; i < size; i++) {
        pshmemx_msg_recv(WORLD, theirs, sizeof theirs, start + (i << log_stride), TAG, NULL);
        for (int w = 0; w < WORDS; w++) {
            all[w] |= theirs[w];
        }
    }
    while (index < SETS && (all[index / 64] >> index % 64 & 1)) {
        index++;
    }
    for (int i = 1; i < size; i++) {
        pshmemx_msg_send(WORLD, &index, sizeof index, start + (i << log_stride), TAG);
    }
    return index;
}

/* The work array of an active set, instead of the program's. What is no set of PEs of the job, with this one, is
 * refused by the routine. */
static inline long *work_array(int start, int log_stride, int size)
{
    int n_pes = pshmem_n_pes(), me = pshmem_my_pe(), i;

    if (log_stride < 0 || log_stride > 30 || size < 1 || start < 0 || me < start || (me - start) % (1 << log_stride)
        || (me - start) >> log_stride >= size || start + ((long)(size - 1) << log_stride) >= n_pes
        || (start == 0 && log_stride == 0 && size == n_pes)) {
        return arrays[0];
    }
    pthread_mutex_lock(&lock);
    for (i = 0; i < n_known; i++) {
        if (known[i].start == start && known[i].log_stride == log_stride && known[i].size == size) {
            break;
        }
    }
    if (i == n_known) {
        int index = agree(start, log_stride, size);
        if (index == SETS) {
            fprintf(stderr, "PE %d: this program uses more than %d active sets\n", me, SETS);
            abort();
        }
        known[n_known].start = start;
        known[n_known].log_stride = log_stride;
        known[n_known].size = size;
        known[n_known++].index = index;
        used[index / 64] |= (uint64_t)1 << index % 64;
    }
    pthread_mutex_unlock(&lock);
    return arrays[known[i].index];
}

/* A value that is none of theirs is none of ours. */
static inline int comparison(int cmp)
{
    static const int theirs[] = COMPARISONS, ours[] = OUR_COMPARISONS;
    for (int i = 0; i < 6; i++) {
        if (theirs[i] == cmp) {
            return ours[i];
        }
    }
    return -1;
}

static inline long options_of(long options)
{
    static const long theirs[] = OPTIONS, ours[] = OUR_OPTIONS;
    long all = 0;
    for (int i = 0; i < 3; i++) {
        if (options & theirs[i]) {
            all |= ours[i];
        }
    }
    return all;
}

/* Of Sandia's and OSSS's extensions. */
double shmemx_wtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}
