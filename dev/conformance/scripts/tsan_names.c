/* gcc's ThreadSanitizer runtime lacks three names that rustc's instrumentation calls; its memcpy,
 * memmove and memset are checked as well. */
#include <string.h>

void *__tsan_memcpy(void *dest, const void *source, size_t n);
void *__tsan_memmove(void *dest, const void *source, size_t n);
void *__tsan_memset(void *dest, int byte, size_t n);

void *__tsan_memcpy(void *dest, const void *source, size_t n)
{
    return memcpy(dest, source, n);
}

void *__tsan_memmove(void *dest, const void *source, size_t n)
{
    return memmove(dest, source, n);
}

void *__tsan_memset(void *dest, int byte, size_t n)
{
    return memset(dest, byte, n);
}
