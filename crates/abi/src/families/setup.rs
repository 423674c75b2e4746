//! Single routines: set-up, queries, memory, teams, contexts, ordering and locks.

use crate::family::{Family, Status, family, singles};
use crate::types::Group::Single;

/// Set-up, exit and queries.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let mut all = singles(Status::Current, &[
        ["shmem_init", "void", "", "{ startup::prepare(); setup::init({n}) }"],
        ["shmem_init_thread", "int", "int requested, int *provided",
         "{ startup::prepare(); setup::init_thread({n}, requested, provided) }"],
        ["shmem_finalize", "void", "", "setup::finalize"],
        ["shmem_query_thread", "void", "int *provided", "setup::query_thread"],
        ["shmem_query_initialized", "void", "int *initialized", "setup::query_initialized"],
        ["shmem_info_get_version", "void", "int *major, int *minor", "setup::info_get_version"],
        ["shmem_info_get_name", "void", "char *name", "setup::info_get_name"],
        ["shmem_pe_accessible", "int", "int pe", "setup::pe_accessible"],
        ["shmem_addr_accessible", "int", "const void *addr, int pe", "setup::addr_accessible"],
        ["shmem_ptr", "void *", "const void *dest, int pe", "setup::ptr"],
        ["shmem_pcontrol", "void", "int level, ...", ""],
    ]);
    all.extend([
        family("shmem_my_pe", "shmem_my_pe", Single, "int", "", "setup::my_pe").inline("MY_PE"),
        family("shmem_n_pes", "shmem_n_pes", Single, "int", "", "setup::n_pes").inline("N_PES"),
        family("shmem_global_exit", "shmem_global_exit", Single, "void", "int status", "setup::global_exit"),
        family("start_pes", "start_pes", Single, "void", "int npes",
               "{ startup::prepare(); setup::start_pes({n}, npes) }").deprecated(),
    ]);
    all.extend(singles(Status::Deprecated, &[
        ["_my_pe", "int", "", "setup::my_pe"],
        ["_num_pes", "int", "", "setup::n_pes"],
    ]));
    // Removed from the standard in 1.5; memory is coherent, so they do nothing.
    all.extend(singles(Status::Extension, &[
        ["shmem_clear_cache_inv", "void", "", "{}"],
        ["shmem_set_cache_inv", "void", "", "{}"],
        ["shmem_clear_cache_line_inv", "void", "void *dest", "_ = dest"],
        ["shmem_set_cache_line_inv", "void", "void *dest", "_ = dest"],
        ["shmem_udcflush", "void", "", "{}"],
        ["shmem_udcflush_line", "void", "void *dest", "_ = dest"],
    ]));
    all
}

/// Memory management.
#[rustfmt::skip]
pub fn memory() -> Vec<Family> {
    let mut all = singles(Status::Current, &[
        ["shmem_malloc", "void *", "size_t size", "memory::malloc"],
        ["shmem_free", "void", "void *ptr", "memory::free"],
        ["shmem_realloc", "void *", "void *ptr, size_t size", "memory::realloc"],
        ["shmem_align", "void *", "size_t alignment, size_t size", "memory::align"],
    ]);
    all.push(family("shmem_malloc_hints", "shmem_malloc_with_hints", Single, "void *", "size_t size, long hints",
                    "memory::malloc_with_hints"));
    all.extend(singles(Status::Current, &[
        ["shmem_calloc", "void *", "size_t count, size_t size", "memory::calloc"],
    ]));
    all.extend(singles(Status::Deprecated, &[
        ["shmalloc", "void *", "size_t size", "memory::malloc"],
        ["shfree", "void", "void *ptr", "memory::free"],
        ["shrealloc", "void *", "void *ptr, size_t size", "memory::realloc"],
        ["shmemalign", "void *", "size_t alignment, size_t size", "memory::align"],
    ]));
    all
}

/// Team management.
#[rustfmt::skip]
pub fn teams() -> Vec<Family> {
    singles(Status::Current, &[
        ["shmem_team_my_pe", "int", "shmem_team_t team", "team::my_pe"],
        ["shmem_team_n_pes", "int", "shmem_team_t team", "team::n_pes"],
        ["shmem_team_get_config", "int", "shmem_team_t team, long config_mask, shmem_team_config_t *config",
         "team::get_config"],
        ["shmem_team_translate_pe", "int", "shmem_team_t src_team, int src_pe, shmem_team_t dest_team",
         "team::translate_pe"],
        ["shmem_team_split_strided", "int",
         "shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config, long \
             config_mask, shmem_team_t *new_team",
         "team::split_strided"],
        ["shmem_team_split_2d", "int",
         "shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t \
             *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team",
         "team::split_2d"],
        ["shmem_team_destroy", "void", "shmem_team_t team", "team::destroy"],
        ["shmem_team_ptr", "void *", "shmem_team_t team, const void *dest, int pe", "team::ptr"],
        ["shmem_team_create_ctx", "int", "shmem_team_t team, long options, shmem_ctx_t *ctx", "team::create_ctx"],
    ])
}

/// Contexts and sessions.
#[rustfmt::skip]
pub fn contexts() -> Vec<Family> {
    singles(Status::Current, &[
        ["shmem_ctx_create", "int", "long options, shmem_ctx_t *ctx", "context::create"],
        ["shmem_ctx_destroy", "void", "shmem_ctx_t ctx", "context::destroy"],
        ["shmem_ctx_get_team", "int", "shmem_ctx_t ctx, shmem_team_t *team", "context::get_team"],
        ["shmem_ctx_session_start", "void",
         "shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask",
         "context::session_start"],
        ["shmem_ctx_session_stop", "void", "shmem_ctx_t ctx", "context::session_stop"],
    ])
}

/// Memory ordering and locks.
#[rustfmt::skip]
pub fn ordering() -> Vec<Family> {
    vec![
        family("shmem_fence", "shmem_{ctx}fence", Single, "void", "", "context::fence").inline("FENCE"),
        family("shmem_quiet", "shmem_{ctx}quiet", Single, "void", "", "context::quiet").inline("QUIET"),
        family("shmem_pe_quiet", "shmem_{ctx}pe_quiet", Single, "void", "const int *target_pes, size_t npes",
               "context::pe_quiet"),
        family("shmem_lock", "shmem_clear_lock", Single, "void", "long *lock", "lock::clear").inline("CLEAR_LOCK"),
        family("shmem_lock", "shmem_set_lock", Single, "void", "long *lock", "lock::set").inline("SET_LOCK"),
        family("shmem_lock", "shmem_test_lock", Single, "int", "long *lock", "lock::test"),
    ]
}
