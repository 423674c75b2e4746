/* What the kernel keeps for processes whose groups are over. */
#include "../check.h"

#include <dirent.h>
#include <unistd.h>

/* What the kernel keeps for a process. */
struct kept {
    int files, mappings, threads;
    long pages; /* resident, of no file */
};

static inline int entries(pid_t pid, const char *folder)
{
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, folder);
    DIR *all = opendir(path);
    while (all != NULL && readdir(all) != NULL)
        n++;
    closedir(all);
    return n;
}

static inline struct kept kept(pid_t pid)
{
    struct kept kept = {0, 0, 0, 0};
    kept.files = entries(pid, "fd");
    kept.threads = entries(pid, "task");
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    for (int c; maps != NULL && (c = getc(maps)) != EOF;)
        kept.mappings += c == '\n';
    fclose(maps);
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *statm = fopen(path, "r");
    long resident = 0, shared = 0;
    REQUIRE(statm != NULL && fscanf(statm, "%*d %ld %ld", &resident, &shared) == 2);
    fclose(statm);
    kept.pages = resident - shared;
    return kept;
}

/* A process keeps no more than it did, once PEs of groups that are over have ended; allocators may map and hold a
 * little more. A wait in between may have started the library's idle thread, with a stack and an allocator's arena. */
static inline void not_more(const char *who, pid_t pid, struct kept before)
{
    struct kept now = kept(pid);
    int most = before.mappings + 2;
    for (int i = 0; i < 1000; i++) {
        most = before.mappings + 2 + 4 * (now.threads > before.threads);
        if (now.files <= before.files && now.mappings <= most)
            break;
        usleep(10000);
        now = kept(pid);
    }
    CHECK(now.files <= before.files, "%s: %d descriptors, %d before", who, now.files, before.files);
    CHECK(now.threads <= before.threads + 1, "%s: %d threads, %d before", who, now.threads, before.threads);
    CHECK(now.mappings <= most, "%s: %d mappings, %d before", who, now.mappings, before.mappings);
    CHECK(now.pages <= before.pages + 64, "%s: %ld pages, %ld before", who, now.pages, before.pages);
}
