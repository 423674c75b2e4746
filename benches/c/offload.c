/* Large copies of a PE with an idle core, on which a worker of the library helps: beside one thread's and two threads'
 * bare copies, how soon the worker begins, and what the copies do to the caches of the PE. */
#include "rounds.h"
#include "copies.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    LARGEST = 64 << 20, /* bytes */
    STRIDE = 2,         /* of packed elements */
    OFFERED = 4 << 20,  /* bytes of a non-blocking put */
    SETTLED = 2000,     /* nanoseconds after which the library's worker polls again */
    ASLEEP = 3000,      /* microseconds after which it sleeps */
};

static char *heap, *local;
static char *cached; /* half of the second-level cache */
static size_t cached_bytes;

static void sleep_us(long us)
{
    const struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

/* Prevents the compiler from removing a copy that the next one overwrites. */
static void observe(void)
{
    __asm__ volatile("" : : : "memory");
}

/* Second thread of the bare copies. Between orders it sleeps, so that the library's worker has the core. */
typedef void part_function(int part);

static struct {
    sem_t order;
    part_function *_Atomic part; /* what it does next, while it is awake */
    atomic_int done, ends;
} helper;

static void *help(void *unused)
{
    for (;;) {
        sem_wait(&helper.order);
        while (!atomic_load_explicit(&helper.ends, memory_order_acquire)) {
            part_function *const part = atomic_load_explicit(&helper.part, memory_order_acquire);
            if (part) {
                atomic_store_explicit(&helper.part, NULL, memory_order_relaxed);
                part(1);
                atomic_store_explicit(&helper.done, 1, memory_order_release);
            }
        }
        atomic_store(&helper.done, 1);
    }
    return unused;
}

static void nothing(int part)
{
    (void)part;
}

static void begin_both(part_function *part)
{
    atomic_store_explicit(&helper.done, 0, memory_order_relaxed);
    atomic_store_explicit(&helper.part, part, memory_order_release);
}

static void end_both(void)
{
    while (!atomic_load_explicit(&helper.done, memory_order_acquire))
        ;
}

/* Does a part on each of two threads. */
static void both(part_function *part)
{
    begin_both(part);
    part(0);
    end_both();
}

/* Wakes the second thread, once the library's worker sleeps. */
static void wake_helper(void)
{
    const double start = now_ns();
    sleep_us(ASLEEP);
    atomic_store(&helper.ends, 0);
    sem_post(&helper.order);
    both(nothing);
    untimed += now_ns() - start;
}

static void let_helper_sleep(void)
{
    const double start = now_ns();
    atomic_store(&helper.done, 0);
    atomic_store(&helper.ends, 1);
    end_both();
    untimed += now_ns() - start;
}

/* The copy that is measured: all of it, or a half by each thread. */
static struct bare whole;

static void copy_half(int part)
{
    const size_t half = series->bytes / 2;
    whole.copy(whole.dest + part * half, whole.source + part * half, half);
}

static void find_best(char *dest, char *source)
{
    static const struct series *known;
    const double start = now_ns();
    if (known != series) {
        known = series;
        char *const dests[] = {dest};
        const char *const sources[] = {source};
        whole = best_copy(dests, sources, 1, series->bytes);
    }
    untimed += now_ns() - start;
}

static void copy_alone(char *dest, char *source, long count)
{
    find_best(dest, source);
    for (long i = 0; i < count; i++)
        whole.copy(whole.dest, whole.source, series->bytes);
}

static void copy_by_both(char *dest, char *source, long count)
{
    find_best(dest, source);
    wake_helper();
    for (long i = 0; i < count; i++)
        both(copy_half);
    let_helper_sleep();
}

static void alone_put(long count) { copy_alone(heap, local, count); }
static void alone_get(long count) { copy_alone(local, heap, count); }
static void both_put(long count) { copy_by_both(heap, local, count); }
static void both_get(long count) { copy_by_both(local, heap, count); }

static void ours_put(long count)
{
    for (long i = 0; i < count; i++)
        shmem_putmem(heap, local, series->bytes, 0);
}

static void ours_get(long count)
{
    for (long i = 0; i < count; i++)
        shmem_getmem(local, heap, series->bytes, 0);
}

/* Packing: elements of 8 bytes, every second one on the other side. */
static void spread(size_t from, size_t to)
{
    const long *const source = (const long *)local;
    long *const dest = (long *)heap;
    for (size_t i = from; i < to; i++)
        dest[STRIDE * i] = source[i];
    observe();
}

static void gather(size_t from, size_t to)
{
    const long *const source = (const long *)heap;
    long *const dest = (long *)local;
    for (size_t i = from; i < to; i++)
        dest[i] = source[STRIDE * i];
    observe();
}

#define LONGS (series->bytes / sizeof(long))
static void spread_half(int part) { spread(part * LONGS / 2, (part + 1) * LONGS / 2); }
static void gather_half(int part) { gather(part * LONGS / 2, (part + 1) * LONGS / 2); }

static void repeat_both(part_function *part, long count)
{
    wake_helper();
    for (long i = 0; i < count; i++)
        both(part);
    let_helper_sleep();
}

static void alone_iput(long count)
{
    for (long i = 0; i < count; i++)
        spread(0, LONGS);
}

static void alone_iget(long count)
{
    for (long i = 0; i < count; i++)
        gather(0, LONGS);
}

static void both_iput(long count) { repeat_both(spread_half, count); }
static void both_iget(long count) { repeat_both(gather_half, count); }

static void ours_iput(long count)
{
    for (long i = 0; i < count; i++)
        shmem_long_iput((long *)heap, (const long *)local, STRIDE, 1, LONGS, 0);
}

static void ours_iget(long count)
{
    for (long i = 0; i < count; i++)
        shmem_long_iget((long *)local, (const long *)heap, 1, STRIDE, LONGS, 0);
}

/* Hand-overs are timed one by one, and their median counts: one interrupt takes longer than all of them. */
enum { HAND_OVERS = 8, WARMING = 100 };
static double times[HAND_OVERS];
static double clock_ns; /* between two readings of the clock */

static void find_clock_ns(void)
{
    clock_ns = 1e9;
    for (int i = 0; i < 1000; i++) {
        const double start = now_ns(), took = now_ns() - start;
        clock_ns = took < clock_ns ? took : clock_ns;
    }
}

static void hand_over(long count, void (*one)(long))
{
    const double begin = now_ns(), before = untimed;
    for (long i = 0; i < count; i++)
        one(i);
    qsort(times, (size_t)count, sizeof *times, ascending);
    const double median = (times[count / 2] + times[(count - 1) / 2]) / 2 - clock_ns;
    untimed = before + (now_ns() - begin) - (double)count * median;
}

/* The first byte that the other thread writes. */
static void await_first_byte(char value)
{
    while (__atomic_load_n(heap, __ATOMIC_ACQUIRE) != value)
        ;
}

static char mark;

static void write_mark(int part)
{
    if (part == 1)
        __atomic_store_n(heap, mark, __ATOMIC_RELEASE);
}

static void spin_ns(double ns)
{
    const double begin = now_ns();
    while (now_ns() - begin < ns)
        ;
}

/* The library's worker polls for a while after its last chunk, and then sleeps. */
static void prepare(int is_awake)
{
    local[0] = ++mark;
    if (is_awake) {
        heap[0] = (char)(mark + 1);
        shmem_putmem_nbi(heap + OFFERED, local + OFFERED, OFFERED, 0);
        shmem_quiet();
        spin_ns(SETTLED);
    } else {
        sleep_us(ASLEEP);
    }
}

static void quiet_untimed(void)
{
    const double start = now_ns();
    shmem_quiet();
    untimed += now_ns() - start;
}

/* Until the worker has written the first byte. */
static void start(int is_awake, long i)
{
    prepare(is_awake);
    const double begin = now_ns();
    shmem_putmem_nbi(heap, local, OFFERED, 0);
    await_first_byte(mark);
    times[i] = now_ns() - begin;
    shmem_quiet();
}

/* Until the call has returned. */
static void call(int is_awake, long i)
{
    prepare(is_awake);
    const double begin = now_ns();
    shmem_putmem_nbi(heap, local, OFFERED, 0);
    times[i] = now_ns() - begin;
    shmem_quiet();
}

static void one_start_awake(long i) { start(1, i); }
static void one_start_asleep(long i) { start(0, i); }
static void one_call_awake(long i) { call(1, i); }
static void one_call_asleep(long i) { call(0, i); }

static void start_awake(long count) { hand_over(count, one_start_awake); }
static void start_asleep(long count) { hand_over(count, one_start_asleep); }
static void call_awake(long count) { hand_over(count, one_call_awake); }
static void call_asleep(long count) { hand_over(count, one_call_asleep); }

/* The same by a thread that polls a word, and by one that sleeps in a semaphore. */
static void one_bare_awake(long i)
{
    mark++;
    spin_ns(SETTLED);
    const double begin = now_ns();
    begin_both(write_mark);
    await_first_byte(mark);
    times[i] = now_ns() - begin;
    end_both();
}

static void bare_awake(long count)
{
    wake_helper();
    hand_over(count, one_bare_awake);
    let_helper_sleep();
}

static void one_bare_asleep(long i)
{
    sleep_us(ASLEEP);
    mark++;
    atomic_store(&helper.ends, 0);
    begin_both(write_mark);
    const double begin = now_ns();
    sem_post(&helper.order);
    await_first_byte(mark);
    times[i] = now_ns() - begin;
    end_both();
    let_helper_sleep();
}

static void bare_asleep(long count) { hand_over(count, one_bare_asleep); }

/* The least that a hand-over and its first byte take: a line that comes to the other core, and one that comes back. */
static struct {
    _Alignas(128) atomic_int there;
    _Alignas(128) atomic_int back;
} lines;

static void answer(int part)
{
    int seen = 0;
    while (part == 1 && seen >= 0) {
        const int there = atomic_load_explicit(&lines.there, memory_order_acquire);
        if (there != seen)
            atomic_store_explicit(&lines.back, seen = there, memory_order_release);
    }
}

static void send(int number)
{
    atomic_store_explicit(&lines.there, number, memory_order_release);
    while (atomic_load_explicit(&lines.back, memory_order_acquire) != number)
        ;
}

static void one_ping(long i)
{
    spin_ns(SETTLED);
    const double begin = now_ns();
    send((int)i + 1);
    times[i] = now_ns() - begin;
}

static void pings(long count)
{
    wake_helper();
    lines.there = lines.back = 0;
    begin_both(answer);
    const double start = now_ns();
    for (int i = 0; i < WARMING; i++)
        send(HAND_OVERS + 1 + i);
    untimed += now_ns() - start;
    hand_over(count, one_ping);
    send(-1);
    end_both();
    let_helper_sleep();
}

/* Short puts, which the calling thread makes, while the worker sleeps or polls. Both are of one process: those of two
 * differ by what pages they have. */
static void short_puts(int is_awake, long count)
{
    enum { WARM = 4 };
    const double start = now_ns();
    if (is_awake)
        spin_ns(1e3 * ASLEEP);
    shmem_putmem_nbi(heap + OFFERED, local + OFFERED, OFFERED, 0);
    shmem_quiet();
    spin_ns(is_awake ? SETTLED : 1e3 * ASLEEP);
    for (int i = 0; i < WARM; i++)
        shmem_putmem(heap, local, series->bytes, 0);
    untimed += now_ns() - start;
    for (long i = 0; i < count; i++)
        shmem_putmem(heap, local, series->bytes, 0);
}

static void puts_asleep(long count) { short_puts(0, count); }
static void puts_awake(long count) { short_puts(1, count); }

/* A loop that lives in the second-level cache, for about as long as a put takes. */
static void sweep(long times)
{
    static volatile unsigned long sink;
    unsigned long sum = 0;
    for (long i = 0; i < times; i++) {
        for (size_t at = 0; at < cached_bytes; at += 64)
            sum += *(const volatile unsigned long *)(cached + at);
    }
    sink = sum;
    (void)sink;
}

enum { SWEEPS = 8 };

/* The state in which both ways begin: the loop's data are in the cache. */
static void warm(void)
{
    const double start = now_ns();
    sleep_us(ASLEEP);
    sweep(2);
    untimed += now_ns() - start;
}

static void sweeps_alone(long count)
{
    for (long i = 0; i < count; i++) {
        warm();
        sweep(SWEEPS);
    }
}

static void sweeps_beside(long count)
{
    for (long i = 0; i < count; i++) {
        warm();
        const double start = now_ns();
        shmem_putmem_nbi(heap, local, OFFERED, 0);
        untimed += now_ns() - start;
        sweep(SWEEPS);
        quiet_untimed();
    }
}

static void sweeps_after(long count)
{
    for (long i = 0; i < count; i++) {
        warm();
        const double start = now_ns();
        shmem_putmem(heap, local, OFFERED, 0);
        untimed += now_ns() - start;
        sweep(SWEEPS);
    }
}

#define SIZES(mib, count)                                                     \
    {"one/put/" #mib "MiB", alone_put, ours_put, count, 0, (size_t)mib << 20}, \
    {"one/get/" #mib "MiB", alone_get, ours_get, count, 0, (size_t)mib << 20}, \
    {"two/put/" #mib "MiB", both_put, ours_put, count, 0, (size_t)mib << 20},  \
    {"two/get/" #mib "MiB", both_get, ours_get, count, 0, (size_t)mib << 20}
/* So few that the worker polls until the last one. */
#define SHORT_PUTS(kib, count)                                                  \
    {"idle/put/" #kib "KiB", puts_asleep, puts_awake, count, 0, (size_t)kib << 10}
#define PACKED(name)                                                             \
    {"one/" #name, alone_##name, ours_##name, 4, 0, 8 << 20},                    \
    {"two/" #name, both_##name, ours_##name, 4, 0, 8 << 20}

static const struct series all[] = {
    SIZES(8, 4),
    SIZES(16, 2),
    SIZES(64, 1),
    PACKED(iput),
    PACKED(iget),
    {"call/awake", bare_awake, call_awake, HAND_OVERS, 0, 0},
    {"call/asleep", bare_asleep, call_asleep, HAND_OVERS, 0, 0},
    {"start/awake", bare_awake, start_awake, HAND_OVERS, 0, 0},
    {"start/asleep", bare_asleep, start_asleep, HAND_OVERS, 0, 0},
    {"line/awake", pings, start_awake, HAND_OVERS, 0, 0},
    SHORT_PUTS(4, 64),
    SHORT_PUTS(16, 32),
    SHORT_PUTS(64, 8),
    {"caches/beside", sweeps_alone, sweeps_beside, 4, 0, 0},
    {"caches/after", sweeps_alone, sweeps_after, 4, 0, 0},
};

int main(void)
{
    shmem_init();
    find_clock_ns();
    const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    cached_bytes = cache > 0 ? (size_t)cache / 2 : 128 << 10;
    cached = aligned_alloc(4096, (cached_bytes + 4095) / 4096 * 4096);
    heap = shmem_align(4096, LARGEST);
    local = aligned_alloc(4096, LARGEST);
    pthread_t thread;
    sem_init(&helper.order, 0, 0);
    if (!heap || !local || !cached || pthread_create(&thread, NULL, help, NULL)) {
        fprintf(stderr, "no memory for buffers of %d bytes, or no thread\n", LARGEST);
        return 1;
    }
    memset(cached, 1, cached_bytes);
    memset(heap, 1, LARGEST);
    memset(local, 2, LARGEST);
    return serve(all, sizeof all / sizeof *all);
}
