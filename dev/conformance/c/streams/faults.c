/* What goes wrong with streams, by the name of the argument. Each ends the job with one line. */
#include <shmemx.h>
#include <signal.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    shmem_init();
    int me = shmem_my_pe(), item = 5;
    shmemx_stream_t stream = SHMEMX_STREAM_INVALID;
    if (strcmp(way, "size") == 0)
        shmemx_stream_create(WORLD, 0, 0, &stream);
    else if (strcmp(way, "long") == 0)
        shmemx_stream_create(WORLD, 32769, 0, &stream);
    else if (strcmp(way, "options") == 0)
        shmemx_stream_create(WORLD, 4, 8, &stream);
    else if (strcmp(way, "differs") == 0)
        shmemx_stream_create(WORLD, me == 1 ? 8 : 4, 0, &stream);
    else if (strcmp(way, "invalid") == 0)
        shmemx_stream_push(stream, &item, 0);
    shmemx_stream_create(WORLD, sizeof item, 0, &stream);
    shmem_barrier_all();
    if (strcmp(way, "end-twice") == 0) {
        shmemx_stream_end(stream);
        shmemx_stream_end(stream);
    } else if (strcmp(way, "push-after-end") == 0) {
        shmemx_stream_end(stream);
        shmemx_stream_push(stream, &item, 0);
    } else if (strcmp(way, "pe") == 0) {
        shmemx_stream_push(stream, &item, shmem_n_pes());
    } else if (strcmp(way, "destroyed") == 0) {
        shmemx_stream_destroy(stream);
        shmemx_stream_pull(stream, &item, NULL);
    } else if (strcmp(way, "team") == 0) {
        shmem_team_t team;
        shmem_team_split_strided(WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
        shmemx_stream_create(team, 4, 0, &stream);
        shmem_team_destroy(team);
        shmemx_stream_destroy(stream);
    } else if (strcmp(way, "killed") == 0) {
        /* Midway: with items of all PEs under way to it. */
        for (int i = 0; i < 1000000; i++) {
            if (me == 1 && i == 5000)
                raise(SIGKILL);
            while (!shmemx_stream_push(stream, &item, i % shmem_n_pes()))
                while (shmemx_stream_pull(stream, &item, NULL))
                    ;
        }
        shmemx_stream_end(stream);
        while (shmemx_stream_wait(stream))
            shmemx_stream_pull(stream, &item, NULL);
    } else if (strcmp(way, "waits") == 0) {
        /* For the end of a stream that PE 0 never ends: the launcher's time limit ends it. */
        if (me != 0)
            shmemx_stream_end(stream);
        shmemx_stream_wait(stream);
    }
    shmem_finalize();
    return 0;
}
