/* libshmem-accesses.so: loads and stores of code that is compiled with -fsanitize=thread, which calls these functions,
 * and linked with this library in place of that of ThreadSanitizer. Atomics of the processor are made as the code asks,
 * and not looked at. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* In libshmem-check.so, which oshrun --check has the PEs load. */
void shmemi_check_load_or_store(uintptr_t at, size_t bytes, int writes, uintptr_t site)
    __attribute__((weak));

static void look_at(uintptr_t at, size_t bytes, int writes, uintptr_t site)
{
    if (shmemi_check_load_or_store != NULL)
        shmemi_check_load_or_store(at, bytes, writes, site);
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

#define ACCESS(name, bytes, writes)                                                                \
    void name(void *at);                                                                           \
    void name(void *at)                                                                            \
    {                                                                                              \
        look_at((uintptr_t)at, bytes, writes, CALLER);                          \
    }
#define SIZE(bytes)                                                                                \
    ACCESS(__tsan_read##bytes, bytes, 0)                                                           \
    ACCESS(__tsan_write##bytes, bytes, 1)                                                          \
    ACCESS(__tsan_unaligned_read##bytes, bytes, 0)                                                 \
    ACCESS(__tsan_unaligned_write##bytes, bytes, 1)                                                \
    ACCESS(__tsan_volatile_read##bytes, bytes, 0)                                                  \
    ACCESS(__tsan_volatile_write##bytes, bytes, 1)                                                 \
    ACCESS(__tsan_unaligned_volatile_read##bytes, bytes, 0)                                        \
    ACCESS(__tsan_unaligned_volatile_write##bytes, bytes, 1)                                       \
    ACCESS(__tsan_read_write##bytes, bytes, 1)                                                     \
    ACCESS(__tsan_unaligned_read_write##bytes, bytes, 1)

SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)

#define RANGE(name, writes)                                                                        \
    void name(void *at, size_t bytes);                                                             \
    void name(void *at, size_t bytes)                                                              \
    {                                                                                              \
        look_at((uintptr_t)at, bytes, writes, CALLER);                          \
    }
RANGE(__tsan_read_range, 0)
RANGE(__tsan_write_range, 1)

/* Nothing to do. */
void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
void __tsan_vptr_read(void **at);
void __tsan_vptr_read(void **at)
{
    (void)at;
}
void __tsan_vptr_update(void **at, void *value);
void __tsan_vptr_update(void **at, void *value)
{
    (void)at, (void)value;
}

/* clang calls these in place of the C library's. */
void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    look_at((uintptr_t)from, bytes, 0, CALLER);
    look_at((uintptr_t)to, bytes, 1, CALLER);
    return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    look_at((uintptr_t)from, bytes, 0, CALLER);
    look_at((uintptr_t)to, bytes, 1, CALLER);
    return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes);
void *__tsan_memset(void *to, int value, size_t bytes)
{
    look_at((uintptr_t)to, bytes, 1, CALLER);
    return memset(to, value, bytes);
}

/* gcc leaves these to the C library, whose own these stand before. Calls by the program's own code are looked at. */
static struct {
    void *(*copy)(void *, const void *, size_t);
    void *(*move)(void *, const void *, size_t);
    void *(*set)(void *, int, size_t);
    /* Where the program's code is. */
    uintptr_t start, end;
} of_program;

static int find_program(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            of_program.start = object->dlpi_addr + part->p_vaddr;
            of_program.end = of_program.start + part->p_memsz;
        }
    }
    /* The program is the first. */
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    of_program.copy = (void *(*)(void *, const void *, size_t))dlsym(RTLD_NEXT, "memcpy");
    of_program.move = (void *(*)(void *, const void *, size_t))dlsym(RTLD_NEXT, "memmove");
    of_program.set = (void *(*)(void *, int, size_t))dlsym(RTLD_NEXT, "memset");
    dl_iterate_phdr(find_program, NULL);
}

/* With whether it writes: a runtime that the program contains may do it as well. */
#define BY_FUNCTION 2

static int is_of_program(uintptr_t caller)
{
    return of_program.start <= caller && caller < of_program.end;
}

static void look_at_copy(void *to, const void *from, size_t bytes, uintptr_t caller)
{
    if (is_of_program(caller)) {
        look_at((uintptr_t)from, bytes, BY_FUNCTION, caller);
        look_at((uintptr_t)to, bytes, BY_FUNCTION | 1, caller);
    }
}

/* Bytes one after the other, from the last one on where they overlap; before the constructor has run. */
static void *copied(void *to, const void *from, size_t bytes)
{
    volatile char *t = to;
    const volatile char *f = from;
    int is_down = (uintptr_t)to > (uintptr_t)from;
    for (size_t i = 0; i < bytes; i++) {
        size_t at = is_down ? bytes - 1 - i : i;
        t[at] = f[at];
    }
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    look_at_copy(to, from, bytes, CALLER);
    return of_program.copy ? of_program.copy(to, from, bytes) : copied(to, from, bytes);
}

void *memmove(void *to, const void *from, size_t bytes)
{
    look_at_copy(to, from, bytes, CALLER);
    return of_program.move ? of_program.move(to, from, bytes) : copied(to, from, bytes);
}

void *memset(void *to, int value, size_t bytes)
{
    if (is_of_program(CALLER)) look_at((uintptr_t)to, bytes, BY_FUNCTION | 1, CALLER);
    if (of_program.set) return of_program.set(to, value, bytes);
    for (volatile char *t = to; bytes > 0; bytes--)
        *t++ = (char)value;
    return to;
}

/* The order that is asked for may be a variable: the strongest one serves. */
#define ATOMIC(bits, type)                                                                         \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                           \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                            \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                    \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                     \
    {                                                                                              \
        (void)order;                                                                               \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                              \
    UPDATE(bits, type, exchange, exchange_n)                                                       \
    UPDATE(bits, type, fetch_add, fetch_add)                                                       \
    UPDATE(bits, type, fetch_sub, fetch_sub)                                                       \
    UPDATE(bits, type, fetch_and, fetch_and)                                                       \
    UPDATE(bits, type, fetch_or, fetch_or)                                                         \
    UPDATE(bits, type, fetch_xor, fetch_xor)                                                       \
    UPDATE(bits, type, fetch_nand, fetch_nand)                                                     \
    COMPARE(bits, type, strong, 0)                                                                 \
    COMPARE(bits, type, weak, 1)                                                                   \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type old, type value,       \
                                                    int order, int failed);                        \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type old, type value,       \
                                                    int order, int failed)                         \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        __atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
        return old;                                                                                \
    }
#define UPDATE(bits, type, name, operation)                                                        \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                   \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                    \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_##operation(at, value, __ATOMIC_SEQ_CST);                                  \
    }
#define COMPARE(bits, type, name, weak)                                                            \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *old, type value,    \
                                                      int order, int failed);                      \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *at, type *old, type value,    \
                                                      int order, int failed)                       \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        return __atomic_compare_exchange_n(at, old, value, weak, __ATOMIC_SEQ_CST,                 \
                                           __ATOMIC_SEQ_CST);                                      \
    }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
