/* What goes wrong with messages, by the name of the argument. Each ends the job with one line. */
#include <shmemx.h>
#include <signal.h>
#include <unistd.h>

#include "../check.h"

#define WORLD SHMEM_TEAM_WORLD

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    shmem_init();
    int me = shmem_my_pe(), value = 0;
    shmemx_msg_request_t request, copy;
    shmem_barrier_all();
    if (strcmp(way, "exits") == 0) {
        if (me == 1)
            _exit(0);
        shmemx_msg_recv(WORLD, &value, sizeof value, 1, 4, NULL);
    } else if (strcmp(way, "exits-any") == 0) {
        if (me == 1)
            _exit(0);
        shmemx_msg_recv(WORLD, &value, sizeof value, SHMEMX_ANY_SOURCE, SHMEMX_ANY_TAG, NULL);
    } else if (strcmp(way, "killed") == 0) {
        if (me == 1)
            raise(SIGKILL);
        shmemx_msg_recv(WORLD, &value, sizeof value, 1, 4, NULL);
    } else if (strcmp(way, "killed-receiver") == 0) {
        static char data[1 << 20];
        if (me == 1)
            raise(SIGKILL);
        shmemx_msg_send(WORLD, data, sizeof data, 1, 4);
    } else if (strcmp(way, "tag") == 0) {
        shmemx_msg_send(WORLD, &value, sizeof value, 0, -1);
    } else if (strcmp(way, "any-tag") == 0) {
        shmemx_msg_recv(WORLD, &value, sizeof value, 0, -2, NULL);
    } else if (strcmp(way, "to") == 0) {
        shmemx_msg_send(WORLD, &value, sizeof value, shmem_n_pes(), 0);
    } else if (strcmp(way, "from") == 0) {
        shmemx_msg_recv(WORLD, &value, sizeof value, -2, 0, NULL);
    } else if (strcmp(way, "request") == 0) {
        shmemx_msg_irecv(WORLD, &value, sizeof value, 0, 0, &request);
        copy = request;
        shmemx_msg_cancel(&request);
        shmemx_msg_wait(&copy, NULL);
    } else if (strcmp(way, "team") == 0) {
        shmem_team_t team;
        shmem_team_split_strided(WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
        shmemx_msg_irecv(team, &value, sizeof value, 0, 0, &request);
        shmem_team_destroy(team);
    } else if (strcmp(way, "destroyed") == 0) {
        shmem_team_t team;
        shmem_team_split_strided(WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
        shmem_team_destroy(team);
        shmemx_msg_send(team, &value, sizeof value, 0, 0);
    } else if (strcmp(way, "waits") == 0) {
        /* Each PE for the next: the launcher's time limit ends it. */
        shmemx_msg_recv(WORLD, &value, sizeof value, right_of(me), 6, NULL);
    }
    shmem_finalize();
    return 0;
}
