/* The receiver of a long message reads it from the sender's memory, whatever memory that is. For PEs on several nodes.
 *
 * PE 0 calls nothing of the library from its send on until the last PE, which is on another node, has the message. So
 * no data come but what that PE reads: it would wait for ever for fragments. Then PE 0 sends from other pages at the
 * same addresses. */
#include <shmemx.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

enum { MOST = 3 << 20 };

static long arrived;

static unsigned char byte_of(size_t length, size_t i)
{
    return (unsigned char)(length + i + i / 251);
}

static unsigned char *map(void *at)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);
    unsigned char *pages = mmap(at, MOST + 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(pages != MAP_FAILED);
    return pages;
}

int main(void)
{
    /* Ends a PE that waits for ever, with the job. */
    alarm(REPEAT(60, 100));
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    static const size_t lengths[] = {16385, 70001, 1 << 20, MOST};
    unsigned char *source = map(NULL), *dest = malloc(MOST);
    long round = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int again = 0; again < 2; again++) {
            size_t length = lengths[l];
            round++;
            if (me == 0) {
                source = map(source);
                for (size_t i = 0; i < length; i++)
                    source[100 + i] = byte_of(length + (size_t)again, i);
                shmemx_msg_request_t sent;
                shmemx_msg_isend(WORLD, source + 100, length, last, 7, &sent);
                while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) != round)
                    usleep(100);
                shmemx_msg_wait(&sent, NULL);
            } else if (me == last) {
                shmemx_msg_status_t status;
                memset(dest, 0xee, length);
                CHECK(shmemx_msg_recv(WORLD, dest, length, 0, 7, &status) == 0 && status.nbytes == length);
                for (size_t i = 0; i < length; i++)
                    if (dest[i] != byte_of(length + (size_t)again, i)) {
                        CHECK(0, "byte %zu of %zu, the %s time", i, length, again ? "second" : "first");
                        break;
                    }
                shmem_long_p(&arrived, round, 0);
                shmem_quiet();
            }
        }
    shmem_barrier_all();
    munmap(source, MOST + 4096);
    free(dest);
    return finish();
}
