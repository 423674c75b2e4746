/* Programs whose first argument says what they do. */
#include "../check.h"

static const char *way;

static inline int is(const char *name)
{
    return strcmp(way, name) == 0;
}

static inline int has(const char *words)
{
    return strstr(way, words) != NULL;
}
