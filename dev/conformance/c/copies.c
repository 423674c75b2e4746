/* Copies of 4 KiB to 64 MiB (of 2 PEs; of others fewer, to save time), which may go past the caches: every alignment of
 * both sides, sizes beside powers of two, overlapping arrays on one PE, and data that is there when a flag, a signal, a
 * barrier or an atomic says so. */
#include "check.h"

enum { GUARD = 128, FILL = 0xEE };

/* Bytes of the longest copy: every PE has two arrays of that length. */
static size_t longest(void)
{
#ifdef BRIEF
    return (size_t)1 << 20;
#else
    const int n = shmem_n_pes();
    return (size_t)(n == 2 ? 64 : n < 5 ? 9 : 5) << 20;
#endif
}

static const size_t offsets[] = {0, 1, 63, 64, 65};
enum { OFFSETS = sizeof offsets / sizeof *offsets };

/* The word that is at `i` in the array of PE `pe` in round `round`. */
static uint64_t word_of(int pe, uint64_t round, size_t i)
{
    return ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u + round * 1000003u + (uint64_t)pe * 31u;
}

static void fill(unsigned char *array, size_t bytes, int pe, uint64_t round)
{
    size_t i = 0;
    for (; (i + 1) * 8 <= bytes; i++) {
        const uint64_t word = word_of(pe, round, i);
        memcpy(array + i * 8, &word, 8);
    }
    const uint64_t last = word_of(pe, round, i);
    memcpy(array + i * 8, &last, bytes % 8);
}

/* Words of `array` that differ from what `fill` writes. */
static size_t differences(const unsigned char *array, size_t bytes, int pe, uint64_t round)
{
    size_t wrong = 0, i = 0;
    for (; (i + 1) * 8 <= bytes; i++) {
        uint64_t word;
        memcpy(&word, array + i * 8, 8);
        wrong += word != word_of(pe, round, i);
    }
    const uint64_t last = word_of(pe, round, i);
    return wrong + (memcmp(array + i * 8, &last, bytes % 8) != 0);
}

static int guarded(const unsigned char *start, size_t bytes)
{
    int whole = 1;
    for (int i = 1; i <= GUARD; i++)
        whole &= start[-i] == FILL && start[bytes + (size_t)i - 1] == FILL;
    return whole;
}

enum form { PUT, PUT_NBI, PUT64, PUT_SIGNAL, GET, GET_NBI, FORMS };
static const char *const form_names[] = {"put", "put_nbi", "put64", "put_signal", "get", "get_nbi"};

/* One copy of `bytes` bytes from `from` bytes into the source to `to` bytes into the dest. */
static void one(unsigned char *dest, unsigned char *source, size_t bytes, size_t to, size_t from,
                enum form form)
{
    static uint64_t signal_word;
    static uint64_t round;
    const int me = shmem_my_pe(), right = right_of(me), left = left_of(me);
    unsigned char *const d = dest + GUARD + to, *const s = source + from;
    const int writer = form < GET ? left : right;
    round++;
    memset(d - GUARD, FILL, GUARD);
    memset(d + bytes, FILL, GUARD);
    memset(d, 0, bytes < 64 ? bytes : 64);
    fill(s, bytes, me, round);
    shmem_barrier_all();
    switch (form) {
    case PUT: shmem_putmem(d, s, bytes, right); break;
    case PUT_NBI: shmem_putmem_nbi(d, s, bytes, right); break;
    case PUT64: shmem_put8(d, s, bytes, right); break;
    case PUT_SIGNAL:
        shmem_putmem_signal(d, s, bytes, &signal_word, 1, SHMEM_SIGNAL_ADD, right);
        break;
    case GET: shmem_getmem(d, s, bytes, right); break;
    default: shmem_getmem_nbi(d, s, bytes, right); shmem_quiet();
    }
    if (form == PUT_SIGNAL) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
        signal_word = 0;
    } else if (form < GET) {
        shmem_barrier_all();
    }
    const size_t wrong = differences(d, bytes, writer, round);
    CHECK(wrong == 0, "%s of %zu bytes from %zu to %zu: %zu words differ", form_names[form], bytes,
          from, to, wrong);
    CHECK(guarded(d, bytes), "%s of %zu bytes from %zu to %zu: a byte too many", form_names[form],
          bytes, from, to);
    shmem_barrier_all();
}

static void alignments(unsigned char *dest, unsigned char *source)
{
    static const size_t sizes[] = {4096, 65536};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int to = 0; to < OFFSETS; to++)
            for (int from = 0; from < OFFSETS; from++)
                for (int form = 0; form < FORMS; form++) {
                    const size_t bytes = sizes[s] + (size_t)((to * 31 + from * 7 + form) % 130) - 65;
                    one(dest, source, bytes, offsets[to], offsets[from], (enum form)form);
                }
}

/* Twice as long each time, and a little more or less. */
static void lengths(unsigned char *dest, unsigned char *source)
{
    static const int beside[] = {0, 1, -1, 63, 64, 65, -65};
    int turn = 0;
    for (size_t size = 128 << 10; size <= longest(); size *= 2)
        for (int k = 0; k < (size <= 1 << 20 ? 7 : 2); k++, turn++) {
            size_t bytes = size + (size_t)beside[(turn + k) % 7];
            if (bytes > longest())
                bytes = longest();
            one(dest, source, bytes, offsets[turn % OFFSETS], offsets[turn / 2 % OFFSETS],
                (enum form)(turn % FORMS));
        }
}

/* A copy within one PE, to which the library's own functions give the meaning of memmove. */
static void overlaps(unsigned char *array)
{
    static const size_t sizes[] = {4097, 65536, 1000003, (size_t)8 << 20};
    static const size_t distances[] = {0, 1, 63, 64, 65, 4096, 65000};
    const int me = shmem_my_pe();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof distances / sizeof *distances; k++)
            for (int up = 0; up < 2; up++) {
                const size_t bytes = sizes[s], distance = distances[k];
                if (bytes + distance > longest())
                    continue;
                unsigned char *const from = array + GUARD + (up ? 0 : distance);
                unsigned char *const to = array + GUARD + (up ? distance : 0);
                fill(from, bytes, me, s * 100 + k);
                if ((s + k) % 2)
                    shmem_getmem(to, from, bytes, me);
                else
                    shmem_putmem(to, from, bytes, me);
                const size_t wrong = differences(to, bytes, me, s * 100 + k);
                CHECK(wrong == 0, "%zu bytes, %zu %s: %zu words differ", bytes, distance,
                      up ? "up" : "down", wrong);
            }
    shmem_barrier_all();
}

/* The neighbour looks at the last bytes first, which arrive last. */
static void ordering(unsigned char *dest, unsigned char *source)
{
    static uint64_t flag, credit;
    const int me = shmem_my_pe(), right = right_of(me), left = left_of(me);
    const size_t most = longest() < (size_t)4 << 20 ? longest() : (size_t)4 << 20;
    flag = credit = 0;
    shmem_barrier_all();
    /* Between two neighbours, however many other pairs do the same beside them. */
    const uint64_t rounds = REPEAT(shmem_n_pes() < 5 ? 400 : 100, 8);
    for (uint64_t round = 1; round <= rounds; round++) {
        const size_t words = (most >> (round % 10)) / 8;
        uint64_t *const from = (uint64_t *)(void *)source, *const to = (uint64_t *)(void *)dest;
        for (size_t i = 0; i < words; i += 8)
            from[i] = round;
        from[words - 1] = round;
        shmem_put64(to, from, words, right);
        switch (round % 4) {
        case 0:
            shmem_fence();
            shmem_uint64_p(&flag, round, right);
            break;
        case 1:
            shmem_fence();
            shmem_uint64_atomic_set(&flag, round, right);
            break;
        case 2:
            shmem_quiet();
            shmem_uint64_atomic_add(&flag, 1, right);
            break;
        default:
            shmem_put64_signal(to, from, words, &flag, round, SHMEM_SIGNAL_SET, right);
        }
        shmem_uint64_wait_until(&flag, SHMEM_CMP_GE, round);
        CHECK(to[words - 1] == round, "round %d: the last of %zu words is of round %d", (int)round,
              words, (int)to[words - 1]);
        size_t old = 0;
        for (size_t i = (words - 1) / 8 * 8 + 8; i >= 8; i -= 8)
            old += to[i - 8] != round;
        CHECK(old == 0, "round %d: %zu lines of %zu words are old", (int)round, old, words);
        shmem_uint64_atomic_inc(&credit, left);
        shmem_uint64_wait_until(&credit, SHMEM_CMP_GE, round);
    }
    shmem_barrier_all();
}

/* The collectives that copy, over long blocks that begin anywhere. */
static void collectives(unsigned char *dest, unsigned char *source)
{
    static const size_t sizes[] = {4099, 300001, ((size_t)4 << 20) + 65};
    const int me = shmem_my_pe(), n = shmem_n_pes();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int k = 0; k < OFFSETS; k++) {
            size_t bytes = sizes[s];
            if (bytes * (size_t)n > longest())
                bytes = longest() / (size_t)n;
            unsigned char *const d = dest + GUARD + offsets[k];
            unsigned char *const from = source + offsets[(k + 1) % OFFSETS];
            const size_t all = bytes * (size_t)n;
            const uint64_t round = 50000 + s * 10 + (uint64_t)k;

            fill(from, bytes, me, round);
            memset(d, 0, bytes);
            shmem_barrier_all();
            shmem_broadcastmem(SHMEM_TEAM_WORLD, d, from, bytes, n - 1);
            CHECK(differences(d, bytes, n - 1, round) == 0, "broadcast of %zu bytes", bytes);

            memset(d - GUARD, FILL, GUARD);
            memset(d + all, FILL, GUARD);
            shmem_barrier_all();
            shmem_fcollectmem(SHMEM_TEAM_WORLD, d, from, bytes);
            for (int pe = 0; pe < n; pe++)
                CHECK(differences(d + bytes * (size_t)pe, bytes, pe, round) == 0,
                      "fcollect of %zu bytes, block of PE %d", bytes, pe);
            CHECK(guarded(d, all), "fcollect of %zu bytes", bytes);

            const size_t mine = bytes - (size_t)(me % 3);
            memset(d, 0, all);
            shmem_barrier_all();
            shmem_collectmem(SHMEM_TEAM_WORLD, d, from, mine);
            size_t at = 0;
            for (int pe = 0; pe < n; pe++) {
                const size_t theirs = bytes - (size_t)(pe % 3);
                CHECK(differences(d + at, theirs, pe, round) == 0,
                      "collect of %zu bytes, block of PE %d", bytes, pe);
                at += theirs;
            }

            for (int pe = 0; pe < n; pe++)
                fill(from + bytes * (size_t)pe, bytes, me * 64 + pe, round);
            memset(d, 0, all);
            shmem_barrier_all();
            shmem_alltoallmem(SHMEM_TEAM_WORLD, d, from, bytes);
            for (int pe = 0; pe < n; pe++)
                CHECK(differences(d + bytes * (size_t)pe, bytes, pe * 64 + me, round) == 0,
                      "alltoall of %zu bytes, block of PE %d", bytes, pe);
            shmem_barrier_all();
        }
}

int main(void)
{
    shmem_init();
    const size_t room = longest() + 2 * GUARD + 65 + 64;
    unsigned char *const dest = shmem_align(4096, room), *const source = shmem_align(4096, room);
    REQUIRE(dest != NULL && source != NULL, "two arrays of %zu bytes", room);
    alignments(dest, source);
    lengths(dest, source);
    overlaps(dest);
    ordering(dest, source);
    collectives(dest, source);
    shmem_free(source);
    shmem_free(dest);
    return finish();
}
