/* A program whose code says where branches may lead (BTI), which the processor checks. The linker marks the program if
 * all that it is linked with is marked, as inlined operations are. The program brings its own start, as that of some C
 * libraries is not marked. */
#include "check.h"

#include <setjmp.h>
#include <shmemx.h>
#include <signal.h>

__asm__(".globl _start\n_start: bti c\n"
        "mov x29, #0\n mov x30, #0\n mov x5, x0\n ldr x1, [sp]\n add x2, sp, #8\n mov x6, sp\n"
        "adrp x0, main\n add x0, x0, :lo12:main\n mov x3, #0\n mov x4, #0\n bl __libc_start_main\n"
        ".globl unmarked\nunmarked: ret\n");
extern void unmarked(void);

static sigjmp_buf back;

static void caught(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static int is_checked(void)
{
    void (*volatile call)(void) = unmarked;
    signal(SIGILL, caught);
    if (sigsetjmp(back, 1))
        return 1;
    call();
    return 0;
}

/* The library calls it. */
static void add(void *into, const void *first, const void *second, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((long *)into)[i] = ((const long *)first)[i] + ((const long *)second)[i];
}

static long word, source[2], sums[2];

int main(void)
{
    shmem_init();
    CHECK(is_checked(), "the processor does not check");
    int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, op;
    shmem_long_atomic_inc(&word, to);
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    CHECK(shmem_long_atomic_swap(&word, 5, me) == 1 && shmem_long_g(&word, me) == 5);
    source[0] = me;
    source[1] = 1;
    CHECK(shmemx_op_create(add, 1, &op) == 0);
    CHECK(shmemx_reduce(SHMEM_TEAM_WORLD, sums, source, 2, SHMEMX_OPAQUE + sizeof(long), op) == 0);
    CHECK(sums[0] == n * (n - 1) / 2 && sums[1] == n, "%ld, %ld", sums[0], sums[1]);
    return finish();
}
