/* Two jobs that join over a socket: the first argument says what this one does, the second is the path at which one
 * listens and the other connects. */
#define _GNU_SOURCE
#include "way.h"

#include <fcntl.h>
#include <shmemx.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROUNDS = 30, TEXT = SHMEMX_MAX_PORT_NAME };

static long sum;

static int meet(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (strncmp(way, "listen", 6) == 0) {
        REQUIRE(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0);
        int accepted = accept(fd, NULL, NULL);
        REQUIRE(accepted >= 0);
        close(fd);
        return accepted;
    }
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        usleep(1000);
    return fd;
}

/* Each group adds to the other's memory. */
static void use(shmemx_group_t group)
{
    int others = shmemx_group_n_pes(group);
    sum = 0;
    shmemx_group_barrier(group);
    for (int i = 0; i < others; i++)
        shmem_long_atomic_add(&sum, 1, shmemx_group_pe(group, i));
    shmemx_group_barrier(group);
    CHECK(sum == others, "%ld", sum);
}

/* The socket is as it was: what is written next is read next. */
static void use_socket(int fd)
{
    char there = 'a', here = 0;
    REQUIRE(write(fd, &there, 1) == 1);
    while (read(fd, &here, 1) != 1)
        ;
    CHECK(here == there);
}

static void refused(int fd)
{
    shmemx_group_t group = (shmemx_group_t)&sum;
    CHECK(shmemx_join(SHMEM_TEAM_WORLD, 0, fd, &group) == -1 && group == SHMEMX_GROUP_INVALID);
    puts("refused");
}

int main(int argc, char **argv)
{
    (void)argc;
    way = argv[1];
    shmem_init();
    int last = shmem_n_pes() - 1, is_root = shmem_my_pe() == last, fd = -1;
    if (is("file") || is("none")) {
        refused(is("none") ? -1 : open("/dev/null", O_RDWR));
        return finish();
    }
    if (is_root)
        fd = meet(argv[2]);
    if (is("listen-refused")) {
        refused(fd);
    } else if (is("connect-words")) {
        char text[TEXT] = "GET / HTTP/1.1";
        REQUIRE(write(fd, text, TEXT) == TEXT && read(fd, text, TEXT) == TEXT);
    } else if (is("connect-gone")) {
        /* The text of a port that no process opens, which the other group waits for. */
        char text[TEXT] = "", host[64], digits[33];
        gethostname(host, sizeof host);
        memset(digits, 'f', 32);
        digits[32] = '\0';
        snprintf(text, TEXT, "ferroshmem-port:%s:%s:%s", host, digits, digits);
        REQUIRE(write(fd, text, TEXT) == TEXT && read(fd, text, TEXT) == TEXT);
        usleep(100000);
    } else if (!is("connect-close")) {
        if (is("connect-late"))
            sleep(1);
        if (is("connect-nonblocking") && is_root)
            fcntl(fd, F_SETFL, O_NONBLOCK);
        for (int i = 0; i < ROUNDS; i++) {
            shmemx_group_t group;
            REQUIRE(shmemx_join(SHMEM_TEAM_WORLD, last, fd, &group) == 0);
            use(group);
            if (is_root)
                use_socket(fd);
            shmemx_group_disconnect(group);
        }
    }
    if (is_root)
        close(fd);
    return finish();
}
