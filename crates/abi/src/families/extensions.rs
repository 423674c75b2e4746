//! Extensions whose routines have no types: in `shmemx.h`.

use crate::family::{Family, Status, singles};
use crate::types::Group;

/// Symmetric spaces.
#[rustfmt::skip]
pub fn spaces() -> Vec<Family> {
    singles(Status::Extension, &[
        ["shmemx_space_create", "int",
         "shmem_team_t team, const shmemx_space_config_t *config, long config_mask, shmemx_space_t *new_space",
         "space::create"],
        ["shmemx_space_destroy", "void", "shmemx_space_t space", "space::destroy"],
        ["shmemx_space_malloc", "void *", "shmemx_space_t space, size_t size", "space::malloc"],
        ["shmemx_space_calloc", "void *", "shmemx_space_t space, size_t count, size_t size", "space::calloc"],
        ["shmemx_space_align", "void *", "shmemx_space_t space, size_t alignment, size_t size", "space::align"],
        ["shmemx_space_free", "void", "shmemx_space_t space, void *ptr", "space::free"],
    ])
}

/// Teams of any PEs.
#[rustfmt::skip]
pub fn teams() -> Vec<Family> {
    singles(Status::Extension, &[
        ["shmemx_team_split_color", "int",
         "shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config, long config_mask, \
             shmem_team_t *new_team",
         "team::split_color"],
        ["shmemx_team_split_list", "int",
         "shmem_team_t parent_team, const int *pes, int npes, const shmem_team_config_t *config, long config_mask, \
             shmem_team_t *new_team",
         "team::split_list"],
        ["shmemx_team_split_kind", "int",
         "shmem_team_t parent_team, int kind, const shmem_team_config_t *config, long config_mask, shmem_team_t \
             *new_team",
         "team::split_kind"],
    ])
}

/// Threads that help the library.
pub fn threads() -> Vec<Family> {
    singles(Status::Extension, &[["shmemx_thread_lend", "int", "const int *until, int milliseconds", "threads::lend"]])
}

/// Jobs that grow.
#[rustfmt::skip]
pub fn spawn() -> Vec<Family> {
    singles(Status::Extension, &[
        ["shmemx_spawn", "int",
         "shmem_team_t team, int PE_root, const char *command, int npes, const shmemx_spawn_config_t *config, long \
             config_mask, shmemx_group_t *children",
         "spawn::spawn"],
        ["shmemx_spawn_multiple", "int",
         "shmem_team_t team, int PE_root, int count, char *const *commands, const int *npes, const \
             shmemx_spawn_config_t *configs, const long *config_masks, shmemx_group_t *children",
         "spawn::spawn_multiple"],
        ["shmemx_group_parents", "shmemx_group_t", "", "handles::parents"],
        ["shmemx_group_n_pes", "int", "shmemx_group_t group", "handles::n_pes"],
        ["shmemx_group_pe", "int", "shmemx_group_t group, int pe", "handles::pe"],
        ["shmemx_group_team", "shmem_team_t", "shmemx_group_t group", "handles::team"],
        ["shmemx_group_state", "int", "shmemx_group_t group", "handles::state"],
        ["shmemx_group_disconnect", "int", "shmemx_group_t group", "handles::disconnect"],
        ["shmemx_export", "int", "const char *name, const void *addr, size_t size", "exports::export"],
        ["shmemx_unexport", "int", "const char *name", "exports::unexport"],
        ["shmemx_kernel_call_multiple", "shmemx_request_t",
         "shmemx_group_t group, size_t count, const shmemx_kernel_call_t *calls", "kernels::call_multiple"],
        ["shmemx_kernel_test", "int", "shmemx_request_t request", "kernels::test"],
        ["shmemx_kernel_wait", "int", "shmemx_request_t request", "kernels::wait"],
        ["shmemx_kernel_serve", "int", "", "kernels::serve"],
        ["shmemx_kernel_register", "void", "shmemx_kernel_t *kernel", "kernels::register(kernel)"],
        ["shmemx_import", "void *", "shmemx_group_t group, const char *name, size_t size", "exports::import"],
    ])
}

/// Jobs that go on without PEs that fail.
#[rustfmt::skip]
pub fn resilience() -> Vec<Family> {
    singles(Status::Extension, &[
        ["shmemx_resilient", "int", "", "resilience::resilient"],
        ["shmemx_failures", "uint64_t *", "", "resilience::failures"],
        ["shmemx_pe_state", "int", "int pe", "resilience::pe_state"],
        ["shmemx_team_failed", "int", "shmem_team_t team, int *pes, int npes", "resilience::team_failed"],
        ["shmemx_team_revoke", "int", "shmem_team_t team", "resilience::team_revoke"],
        ["shmemx_team_agree", "int", "shmem_team_t team, int *value", "resilience::team_agree"],
        ["shmemx_team_shrink", "int", "shmem_team_t team, shmem_team_t *new_team", "resilience::team_shrink"],
        ["shmemx_replace", "int", "", "replacement::replace"],
        ["shmemx_restarted", "int", "", "replacement::restarted"],
    ])
}

/// Jobs that connect.
#[rustfmt::skip]
pub fn ports() -> Vec<Family> {
    const PORT: &str = "shmem_team_t team, int PE_root, const char *port, shmemx_group_t *group";

    singles(Status::Extension, &[
        ["shmemx_port_open", "int", "char *port", "port::open"],
        ["shmemx_port_close", "int", "const char *port", "port::close"],
        ["shmemx_port_publish", "int", "const char *name, const char *port", "port::publish"],
        ["shmemx_port_unpublish", "int", "const char *name", "port::unpublish"],
        ["shmemx_port_lookup", "int", "const char *name, int timeout, char *port", "port::lookup"],
        ["shmemx_port_accept", "int", PORT, "port::accept({n}, team, pe_root, port, false, group)"],
        ["shmemx_port_connect", "int", PORT, "port::connect({n}, team, pe_root, port, false, group)"],
        ["shmemx_port_accept_independent", "int", PORT, "port::accept({n}, team, pe_root, port, true, group)"],
        ["shmemx_port_connect_independent", "int", PORT, "port::connect({n}, team, pe_root, port, true, group)"],
        ["shmemx_join", "int", "shmem_team_t team, int PE_root, int fd, shmemx_group_t *group", "port::join"],
    ])
}

/// Non-blocking collectives, those that start many times, one-sided operations, and the requests of all.
#[rustfmt::skip]
pub fn nonblocking() -> Vec<Family> {
    const MEM: &str = "shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_h *request";
    const ONE: &str = "shmemx_req_h *request";
    const SEVERAL: &str = "size_t count, shmemx_req_h *requests";
    const SYNC: &str = "shmem_team_t team, shmemx_req_h *request";
    const BROADCAST: &str =
        "shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, shmemx_req_h *request";
    const STRIDES: &str =
        "shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, shmemx_req_h \
            *request";
    const REDUCE: &str =
        "shmem_team_t team, void *dest, const void *source, size_t nreduce, int datatype, int op, shmemx_req_h \
            *request";
    const SCAN: &str =
        "shmem_team_t team, void *dest, const void *source, size_t nelems, int datatype, int inclusive, shmemx_req_h \
            *request";

    const DISPLACED: &str =
        "shmem_team_t team, void *dest, const void *source, const size_t *displs, size_t nelems, size_t size, int \
            PE_root, shmemx_req_h *request";
    const BLOCKS: &str =
        "shmem_team_t team, void *dest, const size_t *dest_displs, const void *source, const size_t *source_displs, \
            const size_t *counts, size_t size, shmemx_req_h *request";
    const TO_ROOT: &str =
        "shmem_team_t team, void *dest, const void *source, size_t nreduce, int datatype, int op, int PE_root, \
            shmemx_req_h *request";
    const TO_EACH: &str =
        "shmem_team_t team, void *dest, const void *source, size_t nelems, int datatype, int op, shmemx_req_h \
            *request";
    const COUNTS: &str =
        "shmem_team_t team, void *dest, const void *source, const size_t *counts, int datatype, int op, shmemx_req_h \
            *request";
    const SCAN_OP: &str =
        "shmem_team_t team, void *dest, const void *source, size_t nelems, int datatype, int op, int inclusive, \
            shmemx_req_h *request";

    macro_rules! rows {
        ($ending:literal, $is_persistent:literal: $([$name:literal, $params:ident, $body:literal, $end:literal],)*) => {
            [$([concat!("shmemx_", $name, $ending), "int", $params,
                concat!("nonblocking::", $body, "::<", $is_persistent, ">", $end)]),*]
        };
    }
    // Those that begin by their call, or make a request that starts many times.
    macro_rules! forms {
        ($ending:literal, $is_persistent:literal) => {
            rows!($ending, $is_persistent:
                ["sync", SYNC, "sync", ""],
                ["broadcast{T}", BROADCAST, "broadcast", ""],
                ["collect{T}", MEM, "collect", ""],
                ["fcollect{T}", MEM, "fcollect", ""],
                ["alltoall{T}", MEM, "alltoall", ""],
                ["alltoalls{T}", STRIDES, "alltoalls", "({n}, team, dest, source, dst, sst, nelems, 1, request)"],
                ["reduce", REDUCE, "reduce_op", "({n}, team, dest, source, nreduce, operator(datatype, op), request)"],
                ["scan", SCAN, "scan_op",
                 "({n}, team, dest, source, nelems, operator(datatype, SHMEMX_SUM), inclusive, request)"],
                ["op_scan", SCAN_OP, "scan_op",
                 "({n}, team, dest, source, nelems, operator(datatype, op), inclusive, request)"],
                ["gather{T}", BROADCAST, "gather", ""],
                ["scatter{T}", BROADCAST, "scatter", ""],
                ["gatherv{T}", DISPLACED, "gatherv",
                 "({n}, team, dest, source, displs, nelems, size, PE_root, false, request)"],
                ["scatterv{T}", DISPLACED, "gatherv",
                 "({n}, team, dest, source, displs, nelems, size, PE_root, true, request)"],
                ["alltoallv{T}", BLOCKS, "alltoallv",
                 "({n}, team, dest, source, dest_displs, source_displs, counts, size, request)"],
                ["reduce_root", TO_ROOT, "reduce_root",
                 "({n}, team, dest, source, nreduce, operator(datatype, op), PE_root, request)"],
                ["reduce_scatter", TO_EACH, "reduce_scatter",
                 "({n}, team, dest, source, nelems, operator(datatype, op), request)"],
                ["reduce_scatterv", COUNTS, "reduce_scatterv",
                 "({n}, team, dest, source, counts, operator(datatype, op), request)"],
            )
        };
    }

    const PUT: &str = "void *dest, const void *source, size_t nelems, int pe, shmemx_req_h *request";

    const GET_SIGNAL: &str = "void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int \
        sig_op, int pe";
    const GET_SIGNAL_NB: &str = "void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, \
        int sig_op, int pe, shmemx_req_h *request";

    let mut all = singles(Status::Extension, &[forms!("_nb", "false"), forms!("_init", "true")].concat());
    all.extend(singles(Status::Extension, &[
        ["shmemx_{ctx}put{T}_nb", "void", PUT,
         "rma::put_nb({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), pe, request)"],
        ["shmemx_{ctx}get{T}_nb", "void", PUT,
         "rma::get_nb({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), pe, request)"],
        ["shmemx_{ctx}atomic_fetch_op_nb", "void",
         "void *fetch, void *dest, uint64_t value, uint64_t cond, int datatype, int op, int pe, shmemx_req_h *request",
         "amo::fetch_op_nb({n}, {ctx}, fetch, dest, (value, cond), atomic(datatype, op), pe, request)"],
        ["shmemx_{ctx}get{T}_signal", "void", GET_SIGNAL,
         "signal::get_signal({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), sig_addr, signal, sig_op, \
            pe)"],
        ["shmemx_{ctx}get{T}_signal_nb", "void", GET_SIGNAL_NB,
         "signal::get_signal_nb({n}, {ctx}, dest.cast(), source.cast(), bytes(nelems, {size}), sig_addr, signal, \
            sig_op, pe, request)"],
        ["shmemx_{ctx}atomic_fetch_op_signal", "void",
         "void *fetch, void *dest, uint64_t value, uint64_t cond, int datatype, int op, uint64_t *sig_addr, uint64_t \
            signal, int sig_op, int pe",
         "amo::fetch_op_signal({n}, {ctx}, fetch, dest, (value, cond), atomic(datatype, op), (sig_addr, signal, \
            sig_op), pe)"],
        ["shmemx_{ctx}quiet_nb", "void", ONE, "context::quiet_nb({n}, {ctx}, request)"],
        ["shmemx_req_start", "void", ONE, "nonblocking::start"],
        ["shmemx_req_startall", "void", SEVERAL, "nonblocking::startall"],
        ["shmemx_req_test", "int", ONE, "nonblocking::test"],
        ["shmemx_req_wait", "int", ONE, "nonblocking::wait"],
        ["shmemx_req_free", "void", ONE, "nonblocking::free"],
        ["shmemx_req_testany", "size_t", SEVERAL, "nonblocking::testany"],
        ["shmemx_req_testall", "int", SEVERAL, "nonblocking::testall"],
        ["shmemx_req_waitany", "size_t", SEVERAL, "nonblocking::waitany"],
        ["shmemx_req_waitall", "int", SEVERAL, "nonblocking::waitall"],
    ]));
    for family in all.iter_mut().filter(|family| family.pattern.contains("{T}")) {
        family.group = Group::Mem;
    }
    all
}

/// Collectives that MPI has and the standard has not.
#[rustfmt::skip]
pub fn collectives() -> Vec<Family> {
    const ROOT: &str = "shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root";
    const DISPLACED: &str =
        "shmem_team_t team, void *dest, const void *source, const size_t *displs, size_t nelems, size_t size, int \
            PE_root";

    let mut all = singles(Status::Extension, &[
        ["shmemx_gather{T}", "int", ROOT, "collective::gather"],
        ["shmemx_scatter{T}", "int", ROOT, "collective::scatter"],
        ["shmemx_gatherv{T}", "int", DISPLACED,
         "collective::gatherv({n}, team, dest, source, displs, nelems, size, PE_root, false)"],
        ["shmemx_scatterv{T}", "int", DISPLACED,
         "collective::gatherv({n}, team, dest, source, displs, nelems, size, PE_root, true)"],
        ["shmemx_alltoallv{T}", "int",
         "shmem_team_t team, void *dest, const size_t *dest_displs, const void *source, const size_t *source_displs, \
            const size_t *counts, size_t size",
         "collective::alltoallv({n}, team, dest, source, dest_displs, source_displs, counts, size)"],
    ]);
    for family in &mut all {
        family.group = Group::Mem;
    }
    all.extend(singles(Status::Extension, &[
        ["shmemx_reduce", "int",
         "shmem_team_t team, void *dest, const void *source, size_t nreduce, int datatype, int op",
         "collective::reduce_op({n}, team, dest, source, nreduce, operator(datatype, op))"],
        ["shmemx_reduce_root", "int",
         "shmem_team_t team, void *dest, const void *source, size_t nreduce, int datatype, int op, int PE_root",
         "collective::reduce_root({n}, team, dest, source, nreduce, operator(datatype, op), PE_root)"],
        ["shmemx_reduce_scatter", "int",
         "shmem_team_t team, void *dest, const void *source, size_t nelems, int datatype, int op",
         "collective::reduce_scatter({n}, team, dest, source, nelems, operator(datatype, op))"],
        ["shmemx_reduce_scatterv", "int",
         "shmem_team_t team, void *dest, const void *source, const size_t *counts, int datatype, int op",
         "collective::reduce_scatterv({n}, team, dest, source, counts, operator(datatype, op))"],
        ["shmemx_op_scan", "int",
         "shmem_team_t team, void *dest, const void *source, size_t nelems, int datatype, int op, int inclusive",
         "collective::scan_op({n}, team, dest, source, nelems, operator(datatype, op), inclusive)"],
        ["shmemx_op_create", "int", "shmemx_op_function_t *function, int commutative, int *op", "operators::create"],
        ["shmemx_op_free", "void", "int *op", "operators::free"],
    ]));
    all
}

/// Messages.
#[rustfmt::skip]
pub fn messages() -> Vec<Family> {
    const PROBE: &str = "shmem_team_t team, int pe, int tag, shmemx_msg_status_t *status";
    const ONE: &str = "shmemx_msg_request_t *request, shmemx_msg_status_t *status";
    const ANY: &str = "size_t count, shmemx_msg_request_t *requests, shmemx_msg_status_t *status";
    const ALL: &str = "size_t count, shmemx_msg_request_t *requests, shmemx_msg_status_t *statuses";

    singles(Status::Extension, &[
        ["shmemx_msg_send", "int", "shmem_team_t team, const void *buf, size_t nbytes, int pe, int tag",
         "message::send"],
        ["shmemx_msg_recv", "int",
         "shmem_team_t team, void *buf, size_t nbytes, int pe, int tag, shmemx_msg_status_t *status", "message::recv"],
        ["shmemx_msg_isend", "int",
         "shmem_team_t team, const void *buf, size_t nbytes, int pe, int tag, shmemx_msg_request_t *request",
         "message::isend"],
        ["shmemx_msg_irecv", "int",
         "shmem_team_t team, void *buf, size_t nbytes, int pe, int tag, shmemx_msg_request_t *request",
         "message::irecv"],
        ["shmemx_msg_probe", "int", PROBE, "message::probe"],
        ["shmemx_msg_iprobe", "int", PROBE, "message::iprobe"],
        ["shmemx_msg_cancel", "int", "shmemx_msg_request_t *request", "message::cancel"],
        ["shmemx_msg_test", "int", ONE, "message::test"],
        ["shmemx_msg_wait", "int", ONE, "message::wait"],
        ["shmemx_msg_testany", "size_t", ANY, "message::testany"],
        ["shmemx_msg_testall", "int", ALL, "message::testall"],
        ["shmemx_msg_waitany", "size_t", ANY, "message::waitany"],
        ["shmemx_msg_waitall", "int", ALL, "message::waitall"],
    ])
}

/// Streams of items.
#[rustfmt::skip]
pub fn streams() -> Vec<Family> {
    const ONE: &str = "shmemx_stream_t stream";

    singles(Status::Extension, &[
        ["shmemx_stream_create", "int", "shmem_team_t team, size_t item_size, long options, shmemx_stream_t *stream",
         "stream::create"],
        ["shmemx_stream_push", "int", "shmemx_stream_t stream, const void *item, int pe", "stream::push"],
        ["shmemx_stream_push_many", "size_t", "shmemx_stream_t stream, const void *items, size_t nitems, int pe",
         "stream::push_many"],
        ["shmemx_stream_pull", "int", "shmemx_stream_t stream, void *item, int *pe", "stream::pull"],
        ["shmemx_stream_view", "size_t", "shmemx_stream_t stream, const void **items, int *pe",
         "stream::view({n}, stream, items.cast_mut().cast(), pe)"],
        ["shmemx_stream_flush", "void", ONE, "stream::flush"],
        ["shmemx_stream_end", "void", ONE, "stream::end"],
        ["shmemx_stream_wait", "int", ONE, "stream::wait"],
        ["shmemx_stream_done", "int", ONE, "stream::done"],
        ["shmemx_stream_reset", "void", ONE, "stream::reset"],
        ["shmemx_stream_destroy", "void", ONE, "stream::destroy"],
    ])
}

/// Regions of the program's own.
pub fn regions() -> Vec<Family> {
    let begin = ["shmemx_region_begin", "void", "const char *name", "region::begin"];
    singles(Status::Extension, &[begin, ["shmemx_region_end", "void", "", "region::end"]])
}

/// Counters of calls.
pub fn counters() -> Vec<Family> {
    let read = ["shmemx_counter_read", "uint64_t", "int kind, int quantity", "counter::read"];
    singles(Status::Extension, &[read, ["shmemx_counter_reset", "void", "", "counter::reset"]])
}

/// Graphs of neighbours, and exchanges along their edges.
#[rustfmt::skip]
pub fn neighbors() -> Vec<Family> {
    let mut all = singles(Status::Extension, &[
        ["shmemx_graph_create", "int",
         "shmem_team_t team, int nsources, const int *sources, int ndests, const int *dests, shmemx_graph_t *graph",
         "neighbor::graph_create"],
        ["shmemx_cart_create", "int",
         "shmem_team_t team, int ndims, const int *dims, const int *periods, shmemx_graph_t *graph",
         "neighbor::cart_create"],
        ["shmemx_graph_neighbors", "void", "shmemx_graph_t graph, int *sources, int *dests",
         "neighbor::graph_neighbors"],
        ["shmemx_graph_destroy", "void", "shmemx_graph_t graph", "neighbor::graph_destroy"],
        ["shmemx_neighbor_alltoall{T}_init", "int",
         "shmemx_graph_t graph, void *dest, const void *source, size_t nelems, shmemx_req_h *request",
         "neighbor::alltoall"],
        ["shmemx_neighbor_alltoallw_init", "int",
         "shmemx_graph_t graph, const shmemx_blocks_t *dests, const shmemx_blocks_t *sources, shmemx_req_h *request",
         "neighbor::alltoallw"],
    ]);
    for family in all.iter_mut().filter(|family| family.pattern.contains("{T}")) {
        family.group = Group::Mem;
    }
    all
}
