/* Polling by operations that do not wait: a token goes round, and each PE looks for it in a word of its
 * own. Where PEs outnumber cores, these operations are calls of the library, which gives up the core for
 * them; elsewhere they are inlined. */
#include "check.h"

#include <unistd.h>

enum { ROUNDS = REPEAT(20, 2), WAYS = 5 };

static long token;
static int small;

/* One look at the token of this PE, in one of several ways. */
static long look(int way)
{
    const int me = shmem_my_pe();
    long value;
    switch (way) {
    case 0: return shmem_long_atomic_fetch(&token, me);
    case 1: return shmem_long_g(&token, me);
    case 2: shmem_long_get(&value, &token, 1, me); return value;
    case 3: shmem_getmem(&value, &token, sizeof value, me); return value;
    /* Two words in turn. */
    default: return shmem_int_g(&small, me) == 7 ? 0 : shmem_long_atomic_fetch(&token, me);
    }
}

/* Which operations the library must see. */
static void check_table(void)
{
#ifdef SHMEMI_PES
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    const int is_on = shmemi_native.my_pe != NULL;
    int here = 0;
    for (int pe = 0; pe < n_pes; pe++) {
        const int is_local = shmem_ptr(&token, pe) != NULL, is_set = shmemi_native.tag[pe] != NULL;
        here += is_local;
        if (pe != me)
            CHECK(is_set == (is_on && is_local), "PE %d: %d", pe, is_set);
    }
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (here > cores)
        CHECK(shmemi_native.tag[me] == NULL, "%d PEs on %ld cores", here, cores);
#endif
    CHECK(shmem_ptr(&token, shmem_my_pe()) == &token);
}

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    check_table();
    long next = 0;
    for (int way = 0; way < WAYS; way++) {
        for (int round = 0; round < ROUNDS; round++) {
            next++;
            if (me == 0)
                shmem_long_p(&token, next, right_of(me));
            while (look(way) != next)
                ;
            if (me != 0)
                shmem_long_p(&token, next, right_of(me));
        }
        shmem_barrier_all();
    }
    CHECK(token == WAYS * ROUNDS, "%ld of %d PEs", token, n_pes);
    return finish();
}
