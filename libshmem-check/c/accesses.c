/* libshmem-accesses.so: loads and stores of code that is compiled with -fsanitize=thread, which calls these functions, and linked
 * with this library in place of that of ThreadSanitizer. Atomics of the processor are made as the code asks, and not looked at. */
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
