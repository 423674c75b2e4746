
/* Symmetric memory and neighbours, once the library is initialised. */
static void set_up(void) {
    me = shmem_my_pe();
    n = shmem_n_pes();
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    area = (unsigned char *)shmem_malloc(64 * (size_t)n * N);
    area2 = (unsigned char *)shmem_malloc(64 * (size_t)n * N);
    signal_word = (uint64_t *)shmem_calloc(1, sizeof *signal_word);
    for (size_t i = 0; i < SHMEM_SYNC_SIZE; i++) p_sync[i] = SHMEM_SYNC_VALUE;
    if (area == NULL || area2 == NULL || signal_word == NULL
        || shmem_ctx_create(0, &ctx) != 0) {
        fprintf(stderr, "PE %d: cannot set up the test\n", me);
        shmem_global_exit(2);
    }
}

/* Sums up over all PEs and tells PE 0's reader; 0 if nothing failed. */
static int summary(const char *what) {
    static long mine[2], all[2];
    mine[0] = calls;
    mine[1] = failures;
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2);
    if (me == 0)
        printf("%s: %ld checks on each of %d PEs: %ld passed, %ld failed\n", what, calls, n,
               all[0] - all[1], all[1]);
    fflush(stdout);
    return all[1] != 0;
}
