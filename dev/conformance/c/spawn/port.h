/* Jobs that connect: the text of a port goes through a file. */
#include "../check.h"

#include <shmemx.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number of this host, from its name: jobs compare them to tell which PEs share a node. */
static inline unsigned this_host(void)
{
    char name[256] = "";
    unsigned sum = 2166136261u;
    REQUIRE(gethostname(name, sizeof name - 1) == 0);
    for (const char *c = name; *c != 0; c++)
        sum = (sum ^ (unsigned char)*c) * 16777619u;
    return sum;
}

/* Writes a text to a file, which appears with it. */
static inline void write_text(const char *file, const char *text)
{
    char other[1024];
    snprintf(other, sizeof other, "%s.%d", file, (int)getpid());
    FILE *out = fopen(other, "w");
    REQUIRE(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
    REQUIRE(rename(other, file) == 0);
}

/* Waits for a file. */
static inline void await_file(const char *file)
{
    struct stat info;
    while (stat(file, &info) != 0)
        usleep(1000);
}

static inline void read_text(const char *file, char *text)
{
    await_file(file);
    FILE *in = fopen(file, "r");
    REQUIRE(in != NULL && fgets(text, SHMEMX_MAX_PORT_NAME, in) != NULL);
    fclose(in);
}

/* The port of the job that accepts, which writes its text to the file. */
static inline void find_port(int accepts, const char *file, char *port)
{
    if (!accepts) {
        read_text(file, port);
        return;
    }
    REQUIRE(shmemx_port_open(port) == 0);
    write_text(file, port);
}

static inline void meet_at(int accepts, const char *port, int root, shmemx_group_t *group)
{
    int status = accepts ? shmemx_port_accept(SHMEM_TEAM_WORLD, root, port, group)
                         : shmemx_port_connect(SHMEM_TEAM_WORLD, root, port, group);
    REQUIRE(status == 0 && *group != SHMEMX_GROUP_INVALID);
}
