
/* The routines that are no family of several types. */

/* A call of which no result shows that it has come back. */
#define RETURNS(NAME, ...) (F(NAME)(__VA_ARGS__), check(1, #NAME))

static void teams(void) {
    shmem_team_t copy = SHMEM_TEAM_INVALID, x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID, of_ctx;
    shmem_team_config_t config, got;
    shmem_ctx_t team_ctx = SHMEM_CTX_INVALID;
    config.num_contexts = 1;
    int rc = F(shmem_team_split_strided)(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &copy);
    check(rc == 0 && copy != SHMEM_TEAM_INVALID, "shmem_team_split_strided");
    check(F(shmem_team_my_pe)(copy) == me, "shmem_team_my_pe");
    check(F(shmem_team_n_pes)(copy) == n, "shmem_team_n_pes");
    check(F(shmem_team_translate_pe)(copy, to, SHMEM_TEAM_WORLD) == to, "shmem_team_translate_pe");
    got.num_contexts = -1;
    check(F(shmem_team_get_config)(copy, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts >= 0,
          "shmem_team_get_config");
    check(F(shmem_team_ptr)(copy, area, me) == area, "shmem_team_ptr");
    rc = F(shmem_team_create_ctx)(copy, 0, &team_ctx);
    check(rc == 0 && team_ctx != SHMEM_CTX_INVALID, "shmem_team_create_ctx");
    rc = F(shmem_ctx_get_team)(team_ctx, &of_ctx);
    check(rc == 0 && of_ctx == copy, "shmem_ctx_get_team");
    shmem_ctx_destroy(team_ctx);
    RETURNS(shmem_team_destroy, copy);
    rc = F(shmem_team_split_2d)(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y);
    check(rc == 0 && shmem_team_n_pes(x) <= 2 && shmem_team_n_pes(y) <= (n + 1) / 2, "shmem_team_split_2d");
    shmem_team_destroy(x);
    shmem_team_destroy(y);
    rc = F(shmemx_team_split_color)(SHMEM_TEAM_WORLD, me % 2, -me, NULL, 0, &x);
    check(rc == 0 && shmem_team_n_pes(x) == (n + 1 - me % 2) / 2, "shmemx_team_split_color");
    shmem_team_destroy(x);
    int ends[2] = {n - 1, 0};
    rc = F(shmemx_team_split_list)(SHMEM_TEAM_WORLD, ends, n > 1 ? 2 : 1, NULL, 0, &x);
    check(rc == 0 && (me > 0 || shmem_team_my_pe(x) == (n > 1)), "shmemx_team_split_list");
    shmem_team_destroy(x);
    rc = F(shmemx_team_split_kind)(SHMEM_TEAM_WORLD, SHMEMX_TEAM_NODE, NULL, 0, &x);
    check(rc == 0 && shmem_team_n_pes(x) >= 1, "shmemx_team_split_kind");
    shmem_team_destroy(x);
}

static void contexts(void) {
    shmem_ctx_t own = SHMEM_CTX_INVALID;
    shmem_ctx_session_config_t config;
    config.total_ops = 1;
    check(F(shmem_ctx_create)(SHMEM_CTX_PRIVATE, &own) == 0, "shmem_ctx_create");
    RETURNS(shmem_ctx_session_start, own, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    RETURNS(shmem_ctx_session_stop, own);
    RETURNS(shmem_ctx_fence, own);
    RETURNS(shmem_ctx_quiet, own);
    RETURNS(shmem_ctx_pe_quiet, own, &to, 1);
    RETURNS(shmem_ctx_destroy, own);
    RETURNS(shmem_fence, );
    F(shmemx_region_begin)("every prototype");
    F(shmemx_region_end)();
    check(1, "shmemx_region_begin");
    F(shmemx_counter_reset)();
    check(F(shmemx_counter_read)(SHMEMX_COUNTER_PUT, SHMEMX_COUNTER_BYTES) == 0, "shmemx_counter_read");
    RETURNS(shmem_quiet, );
    RETURNS(shmem_pe_quiet, &to, 1);
}

static void memory(void) {
    void *p = F(shmem_malloc)(100);
    check(p != NULL, "shmem_malloc");
    p = F(shmem_realloc)(p, 1000);
    check(p != NULL, "shmem_realloc");
    RETURNS(shmem_free, p);
    p = F(shmem_align)(4096, 10);
    check(p != NULL && (uintptr_t)p % 4096 == 0, "shmem_align");
    shmem_free(p);
    p = F(shmem_malloc_with_hints)(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    check(p != NULL, "shmem_malloc_with_hints");
    shmem_free(p);
    p = F(shmem_calloc)(10, 10);
    check(p != NULL && zero((unsigned char *)p, 100), "shmem_calloc");
    shmem_free(p);
    p = F(shmalloc)(100);
    check(p != NULL, "shmalloc");
    p = F(shrealloc)(p, 200);
    check(p != NULL, "shrealloc");
    RETURNS(shfree, p);
    p = F(shmemalign)(256, 10);
    check(p != NULL && (uintptr_t)p % 256 == 0, "shmemalign");
    shmem_free(p);
}

static void spaces(void) {
    shmemx_space_t space = SHMEMX_SPACE_INVALID;
    shmemx_space_config_t config;
    config.sheap_size = 1 << 16;
    int rc = F(shmemx_space_create)(SHMEM_TEAM_WORLD, &config, SHMEMX_SPACE_SHEAP_SIZE, &space);
    check(rc == 0 && space != SHMEMX_SPACE_INVALID, "shmemx_space_create");
    long *word = (long *)F(shmemx_space_malloc)(space, sizeof *word);
    check(word != NULL, "shmemx_space_malloc");
    *word = -1;
    shmem_barrier_all();
    shmem_long_p(word, me, to);
    shmem_barrier_all();
    check(*word == from, "shmem_long_p to a space");
    void *p = F(shmemx_space_calloc)(space, 10, 10);
    check(p != NULL && zero((unsigned char *)p, 100), "shmemx_space_calloc");
    RETURNS(shmemx_space_free, space, p);
    p = F(shmemx_space_align)(space, 4096, 10);
    check(p != NULL && (uintptr_t)p % 4096 == 0, "shmemx_space_align");
    RETURNS(shmemx_space_destroy, space);
    int until = 1;
    check(F(shmemx_thread_lend)(&until, -1) == 0, "shmemx_thread_lend");
}

/* A job that nothing has been added to; programs of their own add PEs. */
static void groups(void) {
    shmemx_group_t group = F(shmemx_group_parents)();
    check(group == SHMEMX_GROUP_INVALID, "shmemx_group_parents");
    check(F(shmemx_group_n_pes)(group) == -1 && F(shmemx_group_pe)(group, 0) == -1, "shmemx_group_pe");
    check(F(shmemx_group_team)(group) == SHMEM_TEAM_INVALID, "shmemx_group_team");
    check(F(shmemx_group_sync)(group) == -1 && F(shmemx_group_barrier)(group) == -1, "shmemx_group_sync");
    int result = F(shmemx_group_broadcastmem)(group, area, area2, 8, SHMEMX_ROOT);
    check(result == -1, "shmemx_group_broadcastmem");
    result = F(shmemx_group_fcollectmem)(group, area, 8, area2, 8);
    check(result == -1, "shmemx_group_fcollectmem");
    result = F(shmemx_group_alltoallmem)(group, area, 8, area2, 8);
    check(result == -1, "shmemx_group_alltoallmem");
    shmem_ctx_t ctx;
    result = F(shmemx_group_create_ctx)(group, 0, &ctx);
    check(result == -1 && ctx == SHMEM_CTX_INVALID, "shmemx_group_create_ctx");
    check(F(shmemx_group_state)(group) == SHMEMX_GROUP_DISCONNECTED, "shmemx_group_state");
    check(F(shmemx_group_disconnect)(group) == -1, "shmemx_group_disconnect");
    static long exported;
    int rc = F(shmemx_export)("every prototype", &exported, sizeof exported);
    check(rc == 0 && F(shmemx_export)("every prototype", &exported, sizeof exported) == 0, "shmemx_export");
    shmem_barrier_all();
    rc = F(shmemx_unexport)("every prototype");
    check(rc == 0 || rc == -1, "shmemx_unexport");
    check(F(shmemx_import)(group, "every prototype", sizeof exported) == NULL, "shmemx_import");
    rc = F(shmemx_spawn)(SHMEM_TEAM_INVALID, 0, "./none", 1, NULL, 0, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_spawn");
    rc = F(shmemx_spawn_multiple)(SHMEM_TEAM_INVALID, 0, 0, NULL, NULL, NULL, NULL, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_spawn_multiple");
}

/* Ports that nobody connects to; programs of their own meet. */
static void ports(void) {
    char port[SHMEMX_MAX_PORT_NAME];
    shmemx_group_t group;
    check(F(shmemx_port_open)(port) == 0 && strlen(port) > 0, "shmemx_port_open");
    int rc = F(shmemx_port_accept)(SHMEM_TEAM_INVALID, 0, port, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_port_accept");
    rc = F(shmemx_port_connect)(SHMEM_TEAM_INVALID, 0, port, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_port_connect");
    char name[64], found[SHMEMX_MAX_PORT_NAME];
    snprintf(name, sizeof name, "every prototype %d", (int)getpid());
    check(F(shmemx_port_publish)(name, port) == 0, "shmemx_port_publish");
    check(F(shmemx_port_lookup)(name, 0, found) == 0 && strcmp(found, port) == 0, "shmemx_port_lookup");
    check(F(shmemx_port_unpublish)(name) == 0 && F(shmemx_port_lookup)(name, 0, found) == -1, "shmemx_port_unpublish");
    rc = F(shmemx_port_accept_independent)(SHMEM_TEAM_INVALID, 0, port, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_port_accept_independent");
    rc = F(shmemx_port_connect_independent)(SHMEM_TEAM_INVALID, 0, port, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_port_connect_independent");
    check(F(shmemx_port_close)(port) == 0, "shmemx_port_close");
    rc = F(shmemx_join)(SHMEM_TEAM_INVALID, 0, -1, &group);
    check(rc == -1 && group == SHMEMX_GROUP_INVALID, "shmemx_join");
}

/* Kernels of a job that calls none. */
static void nothing(int unused) { (void)unused; }
SHMEMX_KERNEL(nothing, int)

static void kernels(void) {
    shmemx_request_t request = shmemx_kernel_call(SHMEMX_GROUP_INVALID, "nothing", 1);
    check(request == SHMEMX_REQUEST_INVALID, "shmemx_kernel_call");
    request = F(shmemx_kernel_call_multiple)(SHMEMX_GROUP_INVALID, 0, NULL);
    check(request == SHMEMX_REQUEST_INVALID, "shmemx_kernel_call_multiple");
    check(F(shmemx_kernel_test)(request) == 1, "shmemx_kernel_test");
    check(F(shmemx_kernel_wait)(request) == 0, "shmemx_kernel_wait");
    F(shmemx_kernel_register)(NULL);
    check(F(shmemx_kernel_serve)() == -1, "shmemx_kernel_register, shmemx_kernel_serve");
}

/* A stream in which each PE pushes to itself. */
static void streams(void) {
    shmemx_stream_t stream;
    int item = 7, got = 0, pe = -1;
    const void *items;
    check(F(shmemx_stream_create)(SHMEM_TEAM_WORLD, sizeof item, SHMEMX_STREAM_STEADY, &stream) == 0,
          "shmemx_stream_create");
    check(F(shmemx_stream_pull)(stream, &got, &pe) == 0, "shmemx_stream_pull of nothing");
    check(F(shmemx_stream_push)(stream, &item, me) == 1, "shmemx_stream_push");
    check(F(shmemx_stream_wait)(stream) == 1, "shmemx_stream_wait");
    check(F(shmemx_stream_pull)(stream, &got, &pe) == 1 && got == 7 && pe == me, "shmemx_stream_pull");
    int many[3] = {1, 2, 3};
    check(F(shmemx_stream_push_many)(stream, many, 3, me) == 3, "shmemx_stream_push_many");
    F(shmemx_stream_flush)(stream);
    check(F(shmemx_stream_view)(stream, &items, NULL) == 3 && ((const int *)items)[2] == 3,
          "shmemx_stream_flush, shmemx_stream_view");
    check(F(shmemx_stream_done)(stream) == 0, "shmemx_stream_done");
    F(shmemx_stream_end)(stream);
    check(F(shmemx_stream_wait)(stream) == 0 && F(shmemx_stream_done)(stream) == 1, "shmemx_stream_end");
    F(shmemx_stream_reset)(stream);
    check(F(shmemx_stream_push)(stream, &item, me) == 1, "shmemx_stream_reset");
    F(shmemx_stream_destroy)(stream);
}

/* Messages to itself. */
static void messages(void) {
    int value = 5, got = 0;
    shmemx_msg_request_t requests[2];
    shmemx_msg_status_t status;
    F(shmemx_msg_irecv)(SHMEM_TEAM_WORLD, &got, sizeof got, me, 1, &requests[0]);
    check(F(shmemx_msg_test)(&requests[0], NULL) == 0, "shmemx_msg_test");
    check(F(shmemx_msg_cancel)(&requests[0]) == 1, "shmemx_msg_irecv, shmemx_msg_cancel");
    F(shmemx_msg_isend)(SHMEM_TEAM_WORLD, &value, sizeof value, me, 2, &requests[0]);
    check(F(shmemx_msg_wait)(&requests[0], NULL) == 0, "shmemx_msg_isend, shmemx_msg_wait");
    check(F(shmemx_msg_probe)(SHMEM_TEAM_WORLD, me, SHMEMX_ANY_TAG, &status) == 0 && status.tag == 2,
          "shmemx_msg_probe");
    check(F(shmemx_msg_iprobe)(SHMEM_TEAM_WORLD, me, 3, NULL) == 0, "shmemx_msg_iprobe");
    int rc = F(shmemx_msg_recv)(SHMEM_TEAM_WORLD, &got, sizeof got, SHMEMX_ANY_SOURCE, 2, &status);
    check(rc == 0 && got == 5 && status.nbytes == sizeof got, "shmemx_msg_recv");
    F(shmemx_msg_irecv)(SHMEM_TEAM_WORLD, &got, sizeof got, me, 4, &requests[0]);
    F(shmemx_msg_irecv)(SHMEM_TEAM_WORLD, &got, sizeof got, me, 5, &requests[1]);
    check(F(shmemx_msg_testall)(2, requests, NULL) == 0, "shmemx_msg_testall");
    F(shmemx_msg_send)(SHMEM_TEAM_WORLD, &value, sizeof value, me, 5);
    check(F(shmemx_msg_waitany)(2, requests, NULL) == 1, "shmemx_msg_send, shmemx_msg_waitany");
    check(F(shmemx_msg_testany)(2, requests, NULL) == SIZE_MAX, "shmemx_msg_testany");
    F(shmemx_msg_send)(SHMEM_TEAM_WORLD, &value, sizeof value, me, 4);
    check(F(shmemx_msg_waitall)(2, requests, NULL) == 0, "shmemx_msg_waitall");
}

/* Requests that start several times. */
static void persistent(long *all, long *mine) {
    static long source[2], dest[2];
    const size_t size = sizeof(long);
    enum { REQUESTS = 8 };
    shmemx_req_h requests[REQUESTS];
    F(shmemx_sync_init)(SHMEM_TEAM_WORLD, &requests[0]);
    F(shmemx_reduce_init)(SHMEM_TEAM_WORLD, dest, source, 1, SHMEMX_SIGNED + sizeof(long), SHMEMX_SUM, &requests[1]);
    F(shmemx_scan_init)(SHMEM_TEAM_WORLD, &dest[1], source, 1, SHMEMX_SIGNED + sizeof(long), 1, &requests[2]);
    F(shmemx_broadcastmem_init)(SHMEM_TEAM_WORLD, &source[1], source, size, n - 1, &requests[3]);
    F(shmemx_fcollectmem_init)(SHMEM_TEAM_WORLD, all, mine, size, &requests[4]);
    F(shmemx_collectmem_init)(SHMEM_TEAM_WORLD, all + n, mine, size, &requests[5]);
    F(shmemx_alltoallmem_init)(SHMEM_TEAM_WORLD, all, mine, size, &requests[6]);
    F(shmemx_alltoallsmem_init)(SHMEM_TEAM_WORLD, all, mine, 2, 1, 1, &requests[7]);
    for (int round = 1; round <= 3; round++) {
        source[0] = round;
        for (int i = 0; i < 2 * n; i++)
            mine[i] = round * (me + 1);
        F(shmemx_req_startall)(4, requests);
        check(F(shmemx_req_waitall)(4, requests) == 0, "shmemx_sync_init, shmemx_req_startall");
        check(dest[0] == round * n, "shmemx_reduce_init");
        check(dest[1] == round * (me + 1), "shmemx_scan_init");
        check(source[1] == round, "shmemx_broadcastmem_init");
        for (int i = 4; i < REQUESTS; i++) {
            F(shmemx_req_start)(&requests[i]);
            F(shmemx_req_wait)(&requests[i]);
            if (i < 7)
                check(all[n - 1] == round * n, "shmemx_req_start");
        }
        check(all[2 * n - 1] == round * n, "shmemx_collectmem_init");
        check(((unsigned char *)all)[0] == (me % 8 == 0 ? round : 0), "shmemx_alltoallsmem_init");
    }
    for (int i = 0; i < REQUESTS; i++)
        F(shmemx_req_free)(&requests[i]);
}

static void keep_last(void *dest, const void *a, const void *b, size_t count) {
    (void)a;
    memmove(dest, b, count * sizeof(long));
}

/* The same, begun, and by requests that start. */
static void begin_mpi_collectives(long *all, long *mine, int last) {
    static size_t places[64], counts[64];
    const size_t size = sizeof(long);
    const int type = SHMEMX_SIGNED + sizeof(long);
    const shmem_team_t world = SHMEM_TEAM_WORLD;
    for (int i = 0; i < n; i++) {
        places[i] = (size_t)i;
        counts[i] = 1;
    }
    shmemx_req_h request;
#define BEGIN(NAME, OK, ...)                                                                                           \
    do {                                                                                                               \
        for (int i = 0; i < n; i++)                                                                                    \
            all[i] = -1;                                                                                               \
        F(shmem_sync_all)();                                                                                           \
        check(F(NAME)(world, all, __VA_ARGS__, &request) == 0, #NAME);                                                 \
        F(shmemx_req_wait)(&request);                                                                                  \
        check(OK, #NAME);                                                                                              \
    } while (0)
#define START(NAME, OK, ...)                                                                                           \
    do {                                                                                                               \
        check(F(NAME)(world, all, __VA_ARGS__, &request) == 0, #NAME);                                                 \
        for (int round = 0; round < 2; round++) {                                                                      \
            for (int i = 0; i < n; i++)                                                                                \
                all[i] = -1;                                                                                           \
            F(shmem_sync_all)();                                                                                       \
            F(shmemx_req_start)(&request);                                                                             \
            F(shmemx_req_wait)(&request);                                                                              \
            check(OK, #NAME);                                                                                          \
        }                                                                                                              \
        F(shmemx_req_free)(&request);                                                                                  \
    } while (0)
    BEGIN(shmemx_gathermem_nb, me != 0 || all[n - 1] == n - 1, mine, size, 0);
    START(shmemx_gathermem_init, me != 0 || all[n - 1] == n - 1, mine, size, 0);
    BEGIN(shmemx_scattermem_nb, all[0] == n - 1 + 10 * me, mine, size, n - 1);
    START(shmemx_scattermem_init, all[0] == n - 1 + 10 * me, mine, size, n - 1);
    BEGIN(shmemx_gathervmem_nb, me != 0 || all[n - 1] == n - 1, mine, places, 1, size, 0);
    START(shmemx_gathervmem_init, me != 0 || all[n - 1] == n - 1, mine, places, 1, size, 0);
    BEGIN(shmemx_scattervmem_nb, all[0] == n - 1 + 10 * me, mine, places, 1, size, n - 1);
    START(shmemx_scattervmem_init, all[0] == n - 1 + 10 * me, mine, places, 1, size, n - 1);
    BEGIN(shmemx_alltoallvmem_nb, all[n - 1] == n - 1 + 10 * me, places, mine, places, counts, size);
    START(shmemx_alltoallvmem_init, all[n - 1] == n - 1 + 10 * me, places, mine, places, counts, size);
    BEGIN(shmemx_reduce_root_nb, me != 0 || all[0] == n * (n - 1) / 2, mine, 1, type, SHMEMX_SUM, 0);
    START(shmemx_reduce_root_init, me != 0 || all[0] == n * (n - 1) / 2, mine, 1, type, SHMEMX_SUM, 0);
    BEGIN(shmemx_reduce_scatter_nb, all[0] == n - 1 + 10 * me, mine, 1, type, last);
    START(shmemx_reduce_scatter_init, all[0] == n - 1 + 10 * me, mine, 1, type, last);
    BEGIN(shmemx_reduce_scatterv_nb, all[0] == n - 1 + 10 * me, mine, counts, type, last);
    START(shmemx_reduce_scatterv_init, all[0] == n - 1 + 10 * me, mine, counts, type, last);
    BEGIN(shmemx_op_scan_nb, all[0] == (me == 0 ? 0 : me - 1), mine, 1, type, SHMEMX_MAX, 0);
    START(shmemx_op_scan_init, all[0] == (me == 0 ? 0 : me - 1), mine, 1, type, SHMEMX_MAX, 0);
}

/* Collectives of MPI. */
static void mpi_collectives(void) {
    static size_t places[64], counts[64];
    long *all = (long *)shmem_calloc(n, sizeof(long)), *mine = (long *)shmem_calloc(n, sizeof(long));
    const size_t size = sizeof(long);
    for (int i = 0; i < n; i++) {
        mine[i] = me + 10 * i;
        places[i] = (size_t)i;
        counts[i] = 1;
    }
    F(shmemx_gathermem)(SHMEM_TEAM_WORLD, all, mine, size, 0);
    check(me != 0 || all[n - 1] == n - 1, "shmemx_gathermem");
    F(shmemx_scattermem)(SHMEM_TEAM_WORLD, all, mine, size, n - 1);
    check(all[0] == n - 1 + 10 * me, "shmemx_scattermem");
    F(shmemx_gathervmem)(SHMEM_TEAM_WORLD, all, mine, places, 1, size, 0);
    check(me != 0 || all[n - 1] == n - 1, "shmemx_gathervmem");
    F(shmemx_scattervmem)(SHMEM_TEAM_WORLD, all, mine, places, 1, size, n - 1);
    check(all[0] == n - 1 + 10 * me, "shmemx_scattervmem");
    F(shmemx_alltoallvmem)(SHMEM_TEAM_WORLD, all, places, mine, places, counts, size);
    check(all[n - 1] == n - 1 + 10 * me, "shmemx_alltoallvmem");
    const int type = SHMEMX_SIGNED + sizeof(long);
    int op;
    F(shmemx_reduce)(SHMEM_TEAM_WORLD, all, mine, 1, type, SHMEMX_MAX);
    check(all[0] == n - 1, "shmemx_reduce");
    F(shmemx_reduce_root)(SHMEM_TEAM_WORLD, all, mine, 1, type, SHMEMX_SUM, 0);
    check(me != 0 || all[0] == n * (n - 1) / 2, "shmemx_reduce_root");
    check(F(shmemx_op_create)(keep_last, 0, &op) == 0, "shmemx_op_create");
    F(shmemx_reduce_scatter)(SHMEM_TEAM_WORLD, all, mine, 1, type, op);
    check(all[0] == n - 1 + 10 * me, "shmemx_reduce_scatter");
    F(shmemx_reduce_scatterv)(SHMEM_TEAM_WORLD, all, mine, counts, type, op);
    check(all[0] == n - 1 + 10 * me, "shmemx_reduce_scatterv");
    F(shmemx_op_scan)(SHMEM_TEAM_WORLD, all, mine, 1, type, SHMEMX_MAX, 1);
    check(all[0] == me, "shmemx_op_scan");
    begin_mpi_collectives(all, mine, op);
    F(shmemx_op_free)(&op);
    check(op == SHMEMX_OP_INVALID, "shmemx_op_free");
}

/* Operations with requests. */
static void nonblocking(void) {
    static long source[4], dest[4];
    const size_t size = sizeof(long);
    shmemx_req_h requests[8];
    for (int i = 0; i < 4; i++)
        source[i] = 1;
    check(F(shmemx_sync_nb)(SHMEM_TEAM_WORLD, &requests[0]) == 0, "shmemx_sync_nb");
    check(F(shmemx_req_wait)(&requests[0]) == 0 && requests[0] == SHMEMX_REQ_INVALID, "shmemx_req_wait");
    F(shmemx_reduce_nb)(SHMEM_TEAM_WORLD, dest, source, 2, SHMEMX_SIGNED + sizeof(long), SHMEMX_SUM, &requests[0]);
    while (F(shmemx_req_test)(&requests[0]))
        ;
    check(dest[1] == n, "shmemx_reduce_nb, shmemx_req_test");
    F(shmemx_scan_nb)(SHMEM_TEAM_WORLD, dest, source, 1, SHMEMX_SIGNED + sizeof(long), 1, &requests[0]);
    check(F(shmemx_req_waitany)(1, requests) == 0 && dest[0] == me + 1, "shmemx_scan_nb, shmemx_req_waitany");
    F(shmemx_broadcastmem_nb)(SHMEM_TEAM_WORLD, &dest[2], &source[2], size, n - 1, &requests[0]);
    F(shmemx_sync_nb)(SHMEM_TEAM_WORLD, &requests[1]);
    F(shmemx_req_free)(&requests[1]);
    check(requests[1] == SHMEMX_REQ_INVALID, "shmemx_req_free");
    check(F(shmemx_req_waitall)(2, requests) == 0 && dest[2] == 1, "shmemx_broadcastmem_nb, shmemx_req_waitall");
    check(F(shmemx_req_testall)(2, requests) == 0, "shmemx_req_testall");
    check(F(shmemx_req_testany)(2, requests) == SIZE_MAX, "shmemx_req_testany");
    long *all = (long *)shmem_calloc(n, 2 * size), *mine = (long *)shmem_calloc(n, 2 * size);
    for (int i = 0; i < 2 * n; i++)
        mine[i] = me + 1;
    F(shmemx_fcollectmem_nb)(SHMEM_TEAM_WORLD, all, mine, size, &requests[0]);
    F(shmemx_req_wait)(&requests[0]);
    check(all[n - 1] == n, "shmemx_fcollectmem_nb");
    F(shmemx_collectmem_nb)(SHMEM_TEAM_WORLD, all, mine, 2 * size, &requests[0]);
    F(shmemx_req_wait)(&requests[0]);
    check(all[2 * n - 1] == n, "shmemx_collectmem_nb");
    F(shmemx_alltoallmem_nb)(SHMEM_TEAM_WORLD, all, mine, size, &requests[0]);
    F(shmemx_req_wait)(&requests[0]);
    check(all[n - 1] == n && all[0] == 1, "shmemx_alltoallmem_nb");
    F(shmemx_alltoallsmem_nb)(SHMEM_TEAM_WORLD, all, mine, 2, 1, 1, &requests[0]);
    F(shmemx_req_wait)(&requests[0]);
    /* Byte `me` of PE 0. */
    check(((unsigned char *)all)[0] == (me % 8 == 0), "shmemx_alltoallsmem_nb");
    persistent(all, mine);
    mine[0] = me + 1;
    F(shmem_barrier_all)();
    F(shmemx_putmem_nb)(&all[1], mine, size, to, &requests[0]);
    check(F(shmemx_req_wait)(&requests[0]) == 0 && requests[0] == SHMEMX_REQ_INVALID, "shmemx_putmem_nb");
    F(shmemx_atomic_fetch_op_nb)(&dest[2], &all[1], 5, 0, SHMEMX_SIGNED + sizeof(long), SHMEMX_SUM, to, &requests[0]);
    F(shmemx_req_wait)(&requests[0]);
    check(dest[2] == me + 1, "shmemx_atomic_fetch_op_nb");
    F(shmemx_ctx_atomic_fetch_op_nb)(SHMEM_CTX_DEFAULT, &dest[3], &all[1], me + 1, me + 6, SHMEMX_SIGNED + sizeof(long),
                                     SHMEMX_COMPARE_SWAP, to, &requests[0]);
    F(shmemx_req_wait)(&requests[0]);
    check(dest[3] == me + 6, "shmemx_ctx_atomic_fetch_op_nb");
    F(shmemx_ctx_putmem_nb)(SHMEM_CTX_DEFAULT, all, mine, size, to, &requests[0]);
    F(shmemx_ctx_getmem_nb)(SHMEM_CTX_DEFAULT, &dest[0], mine, size, to, &requests[1]);
    F(shmemx_getmem_nb)(&dest[1], mine, size, to, &requests[2]);
    check(F(shmemx_req_waitall)(3, requests) == 0 && dest[0] == to + 1, "shmemx_ctx_putmem_nb, shmemx_ctx_getmem_nb");
    check(dest[1] == to + 1, "shmemx_getmem_nb");
    F(shmem_barrier_all)();
    check(all[0] == from + 1 && all[1] == from + 1, "shmemx_putmem_nb");
    static uint64_t read, fetched;
    F(shmemx_getmem_signal)(dest, mine, size, &read, 1, SHMEM_SIGNAL_ADD, to);
    check(dest[0] == to + 1, "shmemx_getmem_signal");
    F(shmemx_ctx_getmem_signal)(SHMEM_CTX_DEFAULT, &dest[1], mine, size, &read, 1, SHMEM_SIGNAL_ADD, to);
    F(shmemx_getmem_signal_nb)(&dest[2], mine, size, &read, 1, SHMEM_SIGNAL_ADD, to, &requests[0]);
    F(shmemx_ctx_getmem_signal_nb)(SHMEM_CTX_DEFAULT, &dest[3], mine, size, &read, 1, SHMEM_SIGNAL_ADD, to,
                                   &requests[1]);
    F(shmemx_req_waitall)(2, requests);
    check(dest[1] == to + 1 && dest[2] == to + 1 && dest[3] == to + 1, "shmemx_getmem_signal_nb");
    F(shmem_signal_wait_until)(&read, SHMEM_CMP_EQ, 4);
    check(read == 4, "shmemx_ctx_getmem_signal_nb");
    F(shmemx_atomic_fetch_op_signal)(&dest[0], &all[1], 0, 0, SHMEMX_SIGNED + sizeof(long), SHMEMX_FETCH, &fetched, 1,
                                     SHMEM_SIGNAL_ADD, to);
    F(shmemx_ctx_atomic_fetch_op_signal)(SHMEM_CTX_DEFAULT, &dest[1], &all[1], 0, 0, SHMEMX_SIGNED + sizeof(long),
                                         SHMEMX_SUM, &fetched, 1, SHMEM_SIGNAL_ADD, to);
    F(shmem_signal_wait_until)(&fetched, SHMEM_CMP_EQ, 2);
    check(dest[0] == me + 1 && dest[1] == me + 1, "shmemx_atomic_fetch_op_signal, shmemx_ctx_atomic_fetch_op_signal");
    F(shmem_barrier_all)();
    F(shmem_putmem_nbi)(all, &mine[1], size, to);
    F(shmemx_quiet_nb)(&requests[0]);
    F(shmemx_ctx_quiet_nb)(SHMEM_CTX_DEFAULT, &requests[1]);
    check(F(shmemx_req_waitall)(2, requests) == 0, "shmemx_quiet_nb, shmemx_ctx_quiet_nb");
    shmem_free(mine);
    shmem_free(all);
}

/* Graphs of neighbours. */
static void neighbors(void) {
    const int dims[] = {n}, periods[] = {1};
    int sources[2], dests[2], left = (me + n - 1) % n, right = (me + 1) % n;
    long *cells = (long *)shmem_calloc(4, sizeof(long));
    shmemx_graph_t graph = SHMEMX_GRAPH_INVALID;
    shmemx_req_h request;
    check(F(shmemx_cart_create)(SHMEM_TEAM_WORLD, 1, dims, periods, &graph) == 0, "shmemx_cart_create");
    F(shmemx_graph_neighbors)(graph, sources, dests);
    check(sources[0] == left && dests[1] == right, "shmemx_graph_neighbors");
    shmemx_blocks_t halo[] = {{&cells[0], sizeof(long), 1, 0}, {&cells[3], sizeof(long), 1, 0}};
    shmemx_blocks_t own[] = {{&cells[1], sizeof(long), 1, 0}, {&cells[2], sizeof(long), 1, 0}};
    check(F(shmemx_neighbor_alltoallw_init)(graph, halo, own, &request) == 0, "shmemx_neighbor_alltoallw_init");
    for (int round = 0; round < 3; round++) {
        cells[1] = cells[2] = me + round;
        F(shmemx_req_start)(&request);
        F(shmemx_req_wait)(&request);
        check(cells[0] == left + round && cells[3] == right + round, "shmemx_req_start of neighbours");
    }
    F(shmemx_req_free)(&request);
    F(shmemx_graph_destroy)(graph);
    check(F(shmemx_graph_create)(SHMEM_TEAM_WORLD, 1, &left, 1, &right, &graph) == 0, "shmemx_graph_create");
    F(shmemx_neighbor_alltoallmem_init)(graph, cells, &cells[1], sizeof(long), &request);
    cells[1] = 7 * me;
    F(shmemx_req_start)(&request);
    F(shmemx_req_wait)(&request);
    check(cells[0] == 7 * left, "shmemx_neighbor_alltoallmem_init");
    F(shmemx_req_free)(&request);
    RETURNS(shmemx_graph_destroy, graph);
    shmem_free(cells);
}

static void queries(void) {
    int major = 0, minor = 0, provided = -1, initialized = 0;
    char name[SHMEM_MAX_NAME_LEN];
    check(F(shmem_my_pe)() == me && F(_my_pe)() == me, "shmem_my_pe, _my_pe");
    check(F(shmem_n_pes)() == n && F(_num_pes)() == n, "shmem_n_pes, _num_pes");
    F(shmem_info_get_version)(&major, &minor);
    check(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, "shmem_info_get_version");
    F(shmem_info_get_name)(name);
    check(strcmp(name, SHMEM_VENDOR_STRING) == 0, "shmem_info_get_name");
    F(shmem_query_thread)(&provided);
    check(provided >= SHMEM_THREAD_SINGLE && provided <= SHMEM_THREAD_MULTIPLE, "shmem_query_thread");
    F(shmem_query_initialized)(&initialized);
    check(initialized, "shmem_query_initialized");
    check(F(shmem_pe_accessible)(to) == 1, "shmem_pe_accessible");
    check(F(shmem_addr_accessible)(area, to) == 1 && F(shmem_addr_accessible)(&major, to) == 0,
          "shmem_addr_accessible");
    check(F(shmem_ptr)(area, me) == area && F(shmem_ptr)(&major, to) == NULL, "shmem_ptr");
    F(shmem_pcontrol)(1);
    RETURNS(shmem_pcontrol, 2, "more", 3);
    F(shmem_clear_cache_inv)();
    F(shmem_set_cache_inv)();
    F(shmem_clear_cache_line_inv)(area);
    F(shmem_set_cache_line_inv)(area);
    F(shmem_udcflush)();
    F(shmem_udcflush_line)(area);
    check(1, "cache control");
}

static void locks(void) {
    static long lock = 0;
    static int counter;
    for (int i = 0; i < 10; i++) {
        if (i % 2 == 0)
            F(shmem_set_lock)(&lock);
        else
            while (F(shmem_test_lock)(&lock)) continue;
        int value;
        shmem_getmem(&value, &counter, sizeof value, 0);
        value++;
        shmem_putmem(&counter, &value, sizeof value, 0);
        shmem_quiet();
        F(shmem_clear_lock)(&lock);
    }
    shmem_barrier_all();
    check(me != 0 || counter == 10 * n, "shmem_set_lock, shmem_test_lock, shmem_clear_lock");
}

/* No PE fails; dev/conformance/c/resilient is about those that do. Launchers other than oshrun refuse. */
static void resilience(void) {
    int refused = F(shmemx_resilient)(), value = 6 | (me == 0), pes[1];
    check(refused == 0 || refused == -1, "shmemx_resilient");
    check(*F(shmemx_failures)() == 0, "shmemx_failures");
    check(F(shmemx_pe_state)(n - 1) == SHMEMX_PE_ALIVE, "shmemx_pe_state");
    check(F(shmemx_team_failed)(SHMEM_TEAM_WORLD, pes, 1) == 0, "shmemx_team_failed");
    check(F(shmemx_team_agree)(SHMEM_TEAM_WORLD, &value) == 0 && value == (n == 1 ? 7 : 6), "shmemx_team_agree");
    shmem_team_t left = SHMEM_TEAM_INVALID;
    check(F(shmemx_team_shrink)(SHMEM_TEAM_WORLD, &left) == 0, "shmemx_team_shrink");
    check(shmem_team_n_pes(left) == n && shmem_team_sync(left) == 0, "shmemx_team_shrink");
    shmem_barrier_all(); /* One that is in it yet would return by the next call, too. */
    check(F(shmemx_team_revoke)(left) == refused, "shmemx_team_revoke");
    check(refused || shmem_team_sync(left) != 0, "shmemx_team_revoke");
    shmem_team_destroy(left);
    check(refused || F(shmemx_replace)() == 0, "shmemx_replace");
    check(F(shmemx_restarted)() == 0, "shmemx_restarted");
    shmem_barrier_all();
}

int main(void) {
    int provided = -1;
    int rc = F(shmem_init_thread)(SHMEM_THREAD_MULTIPLE, &provided);
    F(start_pes)(0);
    F(shmem_init)();
    set_up();
    check(rc == 0 && provided == SHMEM_THREAD_MULTIPLE, "shmem_init_thread, start_pes, shmem_init");
    teams();
    contexts();
    memory();
    spaces();
    groups();
    ports();
    kernels();
    messages();
    mpi_collectives();
    nonblocking();
    neighbors();
    streams();
    queries();
    locks();
    every_family();
    resilience();
    F(shmem_finalize)();
    check(shmem_my_pe() == me, "shmem_finalize");
    int failed = summary(PROGRAM);
    shmem_barrier_all();
    F(shmem_global_exit)(failed);
}
