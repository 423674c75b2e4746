/* Caches and memory of a node, read from Linux. */
#include "machine.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_line(char *line, int size, const char *format, ...)
{
    char path[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    bool good = fgets(line, size, file) != NULL;
    fclose(file);
    return good;
}

/* Bytes of the last-level cache of a CPU, if the CPU is the first of those that share it. Sizes are
 * written like "2048K". */
static size_t cache_first_at(int cpu)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s";
    size_t bytes = 0;
    int level_of_bytes = 0;
    char line[256];
    for (int index = 0; read_line(line, sizeof line, folder, cpu, index, "level"); index++) {
        int level = 0, sharer = -1;
        size_t kib = 0;
        if (sscanf(line, "%d", &level) != 1 || level <= level_of_bytes)
            continue;
        if (!read_line(line, sizeof line, folder, cpu, index, "size")
            || sscanf(line, "%zuK", &kib) != 1
            || !read_line(line, sizeof line, folder, cpu, index, "shared_cpu_list")
            || sscanf(line, "%d", &sharer) != 1)
            continue;
        level_of_bytes = level;
        bytes = sharer == cpu ? kib << 10 : 0;
    }
    return bytes;
}

size_t machine_cache(void)
{
    size_t bytes = 0;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus; cpu++)
        bytes += cache_first_at(cpu);
    if (bytes == 0) { /* no sysfs: one instance, by the C library */
        long level3 = sysconf(_SC_LEVEL3_CACHE_SIZE), level2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
        bytes = level3 > 0 ? (size_t)level3 : level2 > 0 ? (size_t)level2 : 0;
    }
    return bytes;
}

/* Memory that the container of this process may still use. */
static size_t memory_of_container(void)
{
    unsigned long long limit, used;
    char line[64];
    if (!read_line(line, sizeof line, "/sys/fs/cgroup/memory.max")
        || sscanf(line, "%llu", &limit) != 1 /* "max": no limit */
        || !read_line(line, sizeof line, "/sys/fs/cgroup/memory.current")
        || sscanf(line, "%llu", &used) != 1)
        return SIZE_MAX;
    return limit > used ? (size_t)(limit - used) : 0;
}

size_t machine_memory(void)
{
    size_t kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    size_t container = memory_of_container();
    return kib << 10 < container ? kib << 10 : container;
}
