static long __attribute__((noinline, noclone)) look(const volatile long *word) {
    for (int i = 0; i < 100000000; i++) if (*word) break;
    return *word;
}
