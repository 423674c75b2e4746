/* Jobs that connect by the name of a port: the first argument says which one this is and what it does, the second is
 * the name. */
#include "way.h"

#include <shmemx.h>
#include <unistd.h>

static long sum;

/* Each group adds to the other's memory. */
static void use(shmemx_group_t group)
{
    int others = shmemx_group_n_pes(group), is_near = has("-near");
    for (int i = 0; i < others && (is_near || has("-far")); i++)
        CHECK((shmem_ptr(&sum, shmemx_group_pe(group, i)) != NULL) == is_near, "PE %d", i);
    for (int i = 0; i < others; i++)
        shmem_long_atomic_inc(&sum, shmemx_group_pe(group, i));
    shmemx_group_barrier(group);
    CHECK(sum >= others, "%ld", sum);
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

/* Accepts so many jobs that look for the name, each of them twice. */
static void publish(const char *name, int jobs)
{
    char port[SHMEMX_MAX_PORT_NAME];
    int is_root = shmem_my_pe() == 0;
    if (is_root) {
        REQUIRE(shmemx_port_open(port) == 0);
        REQUIRE(shmemx_port_publish(name, port) == 0);
        say("published");
    }
    for (int i = 0; i < 2 * jobs; i++) {
        shmemx_group_t group;
        REQUIRE(shmemx_port_accept(SHMEM_TEAM_WORLD, 0, port, &group) == 0);
        use(group);
        shmemx_group_disconnect(group);
    }
    if (is_root)
        REQUIRE(shmemx_port_unpublish(name) == 0);
}

static void look_up(const char *name)
{
    for (int i = 0; i < 2; i++) {
        char port[SHMEMX_MAX_PORT_NAME];
        shmemx_group_t group;
        if (shmem_my_pe() == 0)
            REQUIRE(shmemx_port_lookup(name, i == 0 ? -1 : 60000, port) == 0);
        REQUIRE(shmemx_port_connect(SHMEM_TEAM_WORLD, 0, port, &group) == 0);
        use(group);
        shmemx_group_disconnect(group);
    }
}

/* Finds a name, whose port closes before it accepts. */
static void look_up_refused(const char *name)
{
    char port[SHMEMX_MAX_PORT_NAME];
    shmemx_group_t group;
    REQUIRE(shmemx_port_lookup(name, -1, port) == 0);
    say("connecting");
    CHECK(shmemx_port_connect(SHMEM_TEAM_WORLD, 0, port, &group) == -1);
    CHECK(shmemx_port_lookup(name, 0, port) == -1);
}

/* The end of a port, of either job, is that of its names. */
static void ends(const char *name)
{
    char ports[2][SHMEMX_MAX_PORT_NAME], found[SHMEMX_MAX_PORT_NAME], other[80];
    snprintf(other, sizeof other, "%s other", name);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 2; i++)
            REQUIRE(shmemx_port_open(ports[i]) == 0);
        REQUIRE(shmemx_port_publish(name, ports[0]) == 0 && shmemx_port_publish(other, ports[1]) == 0);
        CHECK(shmemx_port_lookup(name, 0, found) == 0 && strcmp(found, ports[0]) == 0, "%s", found);
        REQUIRE(shmemx_port_close(ports[0]) == 0);
        CHECK(shmemx_port_lookup(name, 0, found) == -1);
        CHECK(shmemx_port_lookup(other, 0, found) == 0 && strcmp(found, ports[1]) == 0, "%s", found);
        REQUIRE(shmemx_port_publish(name, ports[1]) == 0);
        CHECK(shmemx_port_lookup(name, 0, found) == 0 && strcmp(found, ports[1]) == 0, "%s", found);
        REQUIRE(shmemx_port_unpublish(other) == 0 && shmemx_port_lookup(other, 5, found) == -1);
        REQUIRE(shmemx_port_close(ports[1]) == 0 && shmemx_port_lookup(name, 0, found) == -1);
    }
}

int main(int argc, char **argv)
{
    char port[SHMEMX_MAX_PORT_NAME];
    const char *name = argv[2];
    way = argv[1];
    shmem_init();
    if (is("publish") || is("publish-late")) {
        if (is("publish-late"))
            sleep(1);
        publish(name, argc > 3 ? atoi(argv[3]) : 1);
    } else if (is("look-up") || is("look-up-late") || is("look-up-near") || is("look-up-far")) {
        if (is("look-up-late"))
            sleep(1);
        look_up(name);
    } else if (is("look-up-refused")) {
        look_up_refused(name);
    } else if (is("ends")) {
        ends(name);
    } else if (is("absent")) {
        CHECK(shmemx_port_lookup(name, 0, port) == -1);
        CHECK(shmemx_port_lookup(name, 30, port) == -1);
    } else if (is("hold")) {
        REQUIRE(shmemx_port_open(port) == 0 && shmemx_port_publish(name, port) == 0);
        printf("process %d has ", getpid());
        say("published");
        for (;;)
            pause();
    } else if (is("taken")) {
        REQUIRE(shmemx_port_open(port) == 0);
        CHECK(shmemx_port_publish(name, port) == -1);
    } else if (is("look-up-stopped")) {
        /* Ends the job if the lookup takes much longer than its limit. */
        alarm(8);
        CHECK(shmemx_port_lookup(name, 1000, port) == -1);
        alarm(0);
    } else if (is("look-up-taken")) {
        CHECK(shmemx_port_lookup(name, 0, port) == -1);
    } else if (is("wrong-text")) {
        CHECK(shmemx_port_publish(name, "no port") == -1);
    } else if (is("wrong-name")) {
        CHECK(shmemx_port_lookup("", 0, port) == -1);
    } else if (is("not-published")) {
        CHECK(shmemx_port_unpublish(name) == -1);
    } else if (is("null")) {
        shmemx_port_unpublish(NULL);
    } else {
        REQUIRE(!"a way");
    }
    return finish();
}
