//! Faults, and what the error message must contain.

use crate::ending::Status;

/// `SHMEM_CHECK=1`.
pub(crate) const CHECKED: &[(&str, &str)] = &[("SHMEM_CHECK", "1")];

/// A misuse by PE 1 of 2, and the words that its one line must have.
pub(crate) struct Misuse {
    pub case: &'static str,
    pub env: &'static [(&'static str, &'static str)],
    pub words: &'static [&'static str],
}

pub(crate) const fn always(case: &'static str, words: &'static [&'static str]) -> Misuse {
    Misuse { case, env: &[], words }
}

pub(crate) const fn checked(case: &'static str, words: &'static [&'static str]) -> Misuse {
    Misuse { case, env: CHECKED, words }
}

/// Misuses by PE 1 of so many PEs that windows are not mapped one by one: PE 18 finds them when it ends.
pub(crate) const STRAYS: &[Misuse] = &[
    always("put_private_far", &["PE 18", "shmem_finalize", "global variables", "malloc"]),
    Misuse {
        case: "put_past_heap_far",
        env: &[("SHMEM_SYMMETRIC_SIZE", "64m")],
        words: &["PE 18", "shmem_finalize", "past the end", "67108864"],
    },
];

pub(crate) const MISUSES: &[Misuse] = &[
    always("put_pe", &["PE 1", "shmem_int_put", "PE 2"]),
    always("put_negative_pe", &["PE 1", "shmem_int_put", "-1"]),
    always("put_far_pe", &["PE 1", "shmem_putmem", "1073741824"]),
    always("get_pe", &["PE 1", "shmem_getmem", "7"]),
    always("p_pe", &["PE 1", "shmem_int_p", "2"]),
    always("g_pe", &["PE 1", "shmem_int_g", "-7"]),
    always("iput_pe", &["PE 1", "shmem_int_iput", "2"]),
    always("nbi_pe", &["PE 1", "shmem_int_put_nbi", "2"]),
    always("amo_pe", &["PE 1", "shmem_int_atomic_fetch_add", "2"]),
    always("inc_pe", &["PE 1", "shmem_int_atomic_inc", "-2"]),
    always("signal_pe", &["PE 1", "shmem_signal_set", "2"]),
    always("put_signal_pe", &["PE 1", "shmem_int_put_signal", "2"]),
    always("ctx_pe", &["PE 1", "shmem_ctx_int_p", "2"]),
    always("psync_unset", &["shmem_int_sum_to_all", "pSync at 0x", "is -1", "SHMEM_SYNC_VALUE"]),
    always("signal_op", &["PE 1", "shmem_int_put_signal", "12345"]),
    always("wait_cmp", &["PE 1", "shmem_int_wait_until", "77"]),
    always("test_cmp", &["PE 1", "shmem_int_test", "-3"]),
    always("wait_any_cmp", &["PE 1", "shmem_int_wait_until_any", "99"]),
    always("signal_cmp", &["PE 1", "shmem_signal_wait_until", "1000"]),
    always("start_started", &["PE 1", "shmemx_req_start", "has started", "shmemx_req_wait"]),
    always("free_started", &["PE 1", "shmemx_req_free", "has started", "shmemx_req_wait"]),
    always("start_other", &["PE 1", "shmemx_req_start", "not persistent", "_init"]),
    always("start_freed", &["PE 1", "shmemx_req_start", "is freed", "_init"]),
    always("start_without_team", &["shmemx_req_start", "the team of the request is destroyed"]),
    always("init_private", &["PE 1", "shmemx_reduce_init", "dest = 0x", "symmetric"]),
    always("list_out_of_range", &["PE 1", "shmemx_team_split_list", "pes[1] = 2 is out of range", "PEs 0 to 1"]),
    always("list_negative", &["PE 1", "shmemx_team_split_list", "pes[0] = -1 is out of range", "PEs 0 to 1"]),
    always("list_twice", &["PE 1", "shmemx_team_split_list", "pes[2] = 1 is also pes[0]", "name each PE once"]),
    always("list_null", &["PE 1", "shmemx_team_split_list", "pes is a null pointer", "give a list"]),
    always("list_of_fewer", &["PE 1", "shmemx_team_split_list", "npes = -3 is negative", "give the number"]),
    always("kind_of_none", &["PE 1", "shmemx_team_split_kind", "kind = 4 is none", "SHMEMX_TEAM_CACHE"]),
    checked("mismatch_list", &["PE 1", "shmemx_team_split_list", "pes[0] is 0 here, but 1 on PE 0", "the same"]),
    checked("mismatch_kind", &["PE 1", "shmemx_team_split_kind", "kind is 1 here, but 0 on PE 0", "the same"]),
    always("graph_one_end", &["shmemx_graph_create", "dests", "sources", "both of its ends"]),
    always("graph_pe", &["PE 1", "shmemx_graph_create", "sources[0] is 2", "from 0 to 1"]),
    always("cart_size", &["PE 1", "shmemx_cart_create", "[2, 2]", "the team's size"]),
    always("neighbor_bytes", &["shmemx_neighbor_alltoallmem_init", "4 bytes", "8 bytes", "the same"]),
    always("neighbor_private", &["PE 1", "shmemx_neighbor_alltoallmem_init", "dest", "symmetric"]),
    always("graph_in_use", &["PE 1", "shmemx_graph_destroy", "1 requests", "shmemx_req_free"]),
    always("graph_destroyed", &["PE 1", "shmemx_neighbor_alltoallmem_init", "no graph", "destroyed"]),
    checked("put_private", &["PE 1", "shmem_int_put", "0x", "symmetric"]),
    checked("put_wild", &["PE 1", "shmem_int_put", "0x10000", "symmetric"]),
    checked("put_beyond_globals", &["PE 1", "shmem_putmem", "1099511627776"]),
    checked("put_beyond_heap", &["PE 1", "shmem_putmem", "0x"]),
    // Without checks: a fault on an address of a PE's window is explained, another one is reported.
    always("put_private", &["PE 1", "segmentation fault", "0x", "not symmetric"]),
    always("p_stack", &["PE 1", "segmentation fault", "0x", "not symmetric"]),
    Misuse {
        case: "put_past_heap",
        env: &[("SHMEM_SYMMETRIC_SIZE", "64m")],
        words: &["PE 1", "segmentation fault", "0x", "past the end"],
    },
    always("put_wild", &["PE 1", "segmentation fault"]),
    always("put_beyond_heap", &["PE 1", "segmentation fault"]),
    always("double_free", &["shmem_free", "0x"]),
    always("free_foreign", &["shmem_free", "0x"]),
    always("free_middle", &["shmem_free", "0x"]),
    always("realloc_freed", &["shmem_realloc", "0x"]),
    checked("clear_free_lock", &["PE 1", "shmem_clear_lock", "0x"]),
    always("before_init", &["shmem_barrier_all", "shmem_init"]),
    always("malloc_before_init", &["shmem_malloc", "shmem_init"]),
    always("put_before_init", &["shmem_int_put", "shmem_init"]),
    always("after_finalize", &["shmem_malloc", "shmem_finalize"]),
    always("put_after_finalize", &["shmem_int_put", "shmem_finalize"]),
    always("reduce_wraps", &["shmem_int_sum_reduce", "reach past the end", "fewer elements"]),
    always("fcollect_wraps", &["shmem_int_fcollect", "reach past the end", "fewer elements"]),
    always("alltoalls_wraps", &["shmem_int_alltoalls", "reach past the end", "fewer elements"]),
    checked("align_3", &["shmem_align", "alignment = 3", "power of two"]),
    checked("mismatch_routine", &["PE 0", "PE 1", "shmem_int_broadcast", "shmem_int_sum_reduce"]),
    checked("mismatch_count", &["PE 0", "PE 1", "shmem_int_broadcast", "8", "12"]),
    checked("mismatch_root", &["PE 0", "PE 1", "shmem_int_broadcast"]),
    checked("mismatch_malloc", &["PE 0", "PE 1", "shmem_malloc", "100", "200"]),
    checked("mismatch_free", &["PE 0", "PE 1", "shmem_free", "0x"]),
    checked("mismatch_nreduce", &["PE 0", "PE 1", "shmem_int_sum_reduce", "nreduce", "2", "3"]),
    checked("mismatch_operator", &["PE 0", "PE 1", "shmem_int_sum_reduce", "shmem_int_max_reduce", "another operator"]),
    checked("mismatch_type", &["PE 0", "PE 1", "shmem_int_sum_reduce", "shmem_uint_sum_reduce", "another type"]),
    checked("mismatch_barrier", &["PE 0", "PE 1", "shmem_barrier_all", "shmem_int_sum_reduce"]),
    checked(
        "mismatch_dest",
        &["PE 0", "PE 1", "shmem_int_sum_reduce", "dest is byte", "of the symmetric heap", "same"],
    ),
    checked("mismatch_source", &["PE 0", "PE 1", "shmem_int_alltoall", "source is byte", "global variables", "same"]),
    checked("mismatch_dest_on_set", &["PE 0", "PE 1", "shmem_int_sum_to_all", "dest is byte", "same"]),
    checked("mismatch_on_set", &["PE 0", "PE 1", "shmem_int_sum_to_all", "nreduce", "2", "3"]),
    checked("mismatch_root_on_set", &["PE 0", "PE 1", "shmem_broadcast32", "PE_root", "0", "1"]),
    checked("overlap_reduce", &["shmem_int_sum_reduce", "overlap"]),
    checked("overlap_broadcast", &["shmem_int_broadcast", "overlap"]),
    checked("overlap_collect", &["shmem_int_collect", "overlap"]),
    checked("overlap_fcollect", &["shmem_int_fcollect", "overlap"]),
    checked("overlap_alltoall", &["shmem_int_alltoall", "overlap"]),
    checked("overlap_alltoalls", &["shmem_int_alltoalls", "overlap"]),
    checked("overlap_scan", &["shmem_int_sum_exscan", "overlap"]),
    checked("overlap_on_set", &["shmem_int_sum_to_all", "overlap"]),
    always("root_out_of_range", &["shmem_int_broadcast", "2"]),
    always("active_set_out_of_range", &["shmem_barrier", "3"]),
];

/// A way for PE 1 of 3 to end while others wait: status of the job, words of its line.
/// No words: nothing is to be said.
pub(crate) struct Death {
    pub way: &'static str,
    pub status: Status,
    pub words: &'static [&'static str],
}

pub(crate) const DEATHS: &[Death] = &[
    Death { way: "segfault", status: Status::Is(139), words: &["PE 1", "segmentation fault"] },
    Death { way: "abort", status: Status::Is(134), words: &["PE 1", "SIGABRT"] },
    Death { way: "exit3", status: Status::Is(3), words: &["PE 1", "status 3"] },
    Death { way: "exit0", status: Status::Is(1), words: &["PE 1", "shmem_finalize", "shmem_barrier_all"] },
    // Whose waits have ended while the others' have not.
    Death {
        way: "exit0_beside_threads",
        status: Status::Is(1),
        words: &["PE 1", "shmem_finalize", "shmem_barrier_all"],
    },
    Death { way: "killed", status: Status::Is(137), words: &["PE 1", "SIGKILL"] },
    Death { way: "raise_segv", status: Status::Is(139), words: &["PE 1", "SIGSEGV"] },
    Death { way: "kill_bus", status: Status::Is(135), words: &["PE 1", "SIGBUS"] },
    Death { way: "raise_after_finalize", status: Status::Is(139), words: &["PE 1", "SIGSEGV"] },
    Death {
        way: "stack_put",
        status: Status::Is(139),
        words: &["PE 1", "on the stack", "used for PE 2", "not symmetric"],
    },
    Death {
        way: "stack_putmem",
        status: Status::Is(139),
        words: &["PE 1", "on the stack", "used for PE 2", "not symmetric"],
    },
    Death { way: "killed_in_barrier", status: Status::Is(137), words: &["PE 1", "SIGKILL"] },
    // Another PE that ends meanwhile does not count as the cause.
    Death { way: "ends_slowly", status: Status::Is(139), words: &["PE 1", "SIGSEGV"] },
    Death { way: "leaves_a_child", status: Status::Is(5), words: &["PE 1", "status 5"] },
    Death { way: "global_exit7", status: Status::Is(7), words: &[] },
    Death { way: "global_exit0", status: Status::Is(0), words: &[] },
];

/// A value of `SHMEM_SYMMETRIC_SIZE` that is refused.
pub(crate) const BAD_SIZES: &[&str] =
    &["", "ten", "10x", "-5", "1.2.3", "0x100", "999999999t", "500t", "99999999999999999999"];

/// Name, and the options given to the launcher.
pub(crate) const BAD_OPTIONS: &[(&str, &[&str])] = &[
    ("no-pes", &["-n", "0"]),
    ("too-many-pes", &["-n", "100000"]),
    ("far-too-many-pes", &["-n", "99999999999999999999"]),
    ("pes-not-a-number", &["-n", "abc"]),
    ("negative-pes", &["-n", "-3"]),
];
