/* Variadic functions, which Rust cannot define. */

void pshmem_pcontrol(int level, ...) {
    (void)level; /* for tools; the library does nothing (OpenSHMEM 1.6, "Control of Profiling") */
}

void shmem_pcontrol(int level, ...) __attribute__((weak, alias("pshmem_pcontrol")));
