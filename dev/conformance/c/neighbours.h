/* Which PEs are on this PE's node, asked of the system rather than of the library. */
#ifndef CONFORMANCE_NEIGHBOURS_H
#define CONFORMANCE_NEIGHBOURS_H

#include "check.h"

#include <unistd.h>

enum { NEIGHBOURS_MOST = 64, NEIGHBOURS_NAME = 64 };

static char neighbours_hosts[NEIGHBOURS_MOST][NEIGHBOURS_NAME];

/* Collective; to be called before is_near. */
static void find_neighbours(void)
{
    int me = shmem_my_pe();
    char host[NEIGHBOURS_NAME] = "";
    REQUIRE(shmem_n_pes() <= NEIGHBOURS_MOST);
    REQUIRE(gethostname(host, sizeof host - 1) == 0);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        shmem_char_put(neighbours_hosts[me], host, sizeof host, pe);
    shmem_barrier_all();
}

static int is_near(int pe)
{
    return strcmp(neighbours_hosts[pe], neighbours_hosts[shmem_my_pe()]) == 0;
}

__attribute__((unused)) static int number_near(void)
{
    int number = 0;
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        number += is_near(pe);
    return number;
}

#endif
