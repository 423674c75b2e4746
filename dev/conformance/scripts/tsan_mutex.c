/* Who gets a contended mutex of Rust's standard library gets it in a function of the precompiled
 * library, which ThreadSanitizer does not see: what came before the mutex was given up looks like a
 * race with what comes after. With the linker's --wrap, MUTEX is called by way of this. */
void __tsan_acquire(void *address);
void real(void *mutex) __asm__("__real_" MUTEX);
void wrapped(void *mutex) __asm__("__wrap_" MUTEX);

void wrapped(void *mutex)
{
    real(mutex);
    __tsan_acquire(mutex);
}
