//! Single routines: set-up, queries, memory, teams, contexts, ordering and locks.

use crate::family::{Family, Status, family};
use crate::types::Group::Single;

/// (section, pattern, return type, parameters, body)
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn rows(status: Status, rows: &[Row]) -> impl Iterator<Item = Family> {
    rows.iter().map(move |&(section, pattern, ret, params, body)| Family {
        status,
        ..family(section, pattern, Single, ret, params, body)
    })
}

/// Set-up, exit and queries.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let mut all: Vec<Family> = rows(Status::Current, &[
        ("shmem_init", "shmem_init", "void", "", "{ startup::prepare(); setup::init({n}) }"),
        ("shmem_init_thread", "shmem_init_thread", "int", "int requested, int *provided",
         "{ startup::prepare(); setup::init_thread({n}, requested, provided) }"),
        ("shmem_finalize", "shmem_finalize", "void", "", "setup::finalize({n})"),
        ("shmem_query_thread", "shmem_query_thread", "void", "int *provided", "setup::query_thread({n}, provided)"),
        ("shmem_query_initialized", "shmem_query_initialized", "void", "int \
            *initialized", "setup::query_initialized({n}, initialized)"),
        ("shmem_info_get_version", "shmem_info_get_version", "void", "int *major, int \
            *minor", "setup::info_get_version({n}, major, minor)"),
        ("shmem_info_get_name", "shmem_info_get_name", "void", "char *name", "setup::info_get_name({n}, name)"),
        ("shmem_pe_accessible", "shmem_pe_accessible", "int", "int pe", "setup::pe_accessible({n}, pe)"),
        ("shmem_addr_accessible", "shmem_addr_accessible", "int", "const void *addr, int \
            pe", "setup::addr_accessible({n}, addr, pe)"),
        ("shmem_ptr", "shmem_ptr", "void *", "const void *dest, int pe", "setup::ptr({n}, dest, pe)"),
        ("shmem_pcontrol", "shmem_pcontrol", "void", "int level, ...", ""),
    ]).collect();
    all.extend([
        family("shmem_my_pe", "shmem_my_pe", Single, "int", "", "setup::my_pe({n})").inline("MY_PE"),
        family("shmem_n_pes", "shmem_n_pes", Single, "int", "", "setup::n_pes({n})").inline("N_PES"),
        family("shmem_global_exit", "shmem_global_exit", Single, "void", "int status",
               "setup::global_exit({n}, status)"),
    ]);
    all.extend(rows(Status::Deprecated, &[
        ("start_pes", "start_pes", "void", "int npes", "{ startup::prepare(); setup::start_pes({n}, npes) }"),
        ("backmatter", "_my_pe", "int", "", "setup::my_pe({n})"),
        ("backmatter", "_num_pes", "int", "", "setup::n_pes({n})"),
    ]));
    // Removed from the standard in 1.5; memory is coherent, so they do nothing.
    all.extend(rows(Status::Extension, &[
        ("", "shmem_clear_cache_inv", "void", "", "{}"),
        ("", "shmem_set_cache_inv", "void", "", "{}"),
        ("", "shmem_clear_cache_line_inv", "void", "void *dest", "_ = dest"),
        ("", "shmem_set_cache_line_inv", "void", "void *dest", "_ = dest"),
        ("", "shmem_udcflush", "void", "", "{}"),
        ("", "shmem_udcflush_line", "void", "void *dest", "_ = dest"),
    ]));
    all
}

/// Memory management.
#[rustfmt::skip]
pub fn memory() -> Vec<Family> {
    let mut all: Vec<Family> = rows(Status::Current, &[
        ("shmem_malloc", "shmem_malloc", "void *", "size_t size", "memory::malloc({n}, size)"),
        ("shmem_free", "shmem_free", "void", "void *ptr", "memory::free({n}, ptr)"),
        ("shmem_realloc", "shmem_realloc", "void *", "void *ptr, size_t size", "memory::realloc({n}, ptr, size)"),
        ("shmem_align", "shmem_align", "void *", "size_t alignment, size_t size", "memory::align({n}, alignment, \
            size)"),
        ("shmem_malloc_hints", "shmem_malloc_with_hints", "void *", "size_t size, long \
            hints", "memory::malloc_with_hints({n}, size, hints)"),
        ("shmem_calloc", "shmem_calloc", "void *", "size_t count, size_t size", "memory::calloc({n}, count, size)"),
    ]).collect();
    all.extend(rows(Status::Deprecated, &[
        ("backmatter", "shmalloc", "void *", "size_t size", "memory::malloc({n}, size)"),
        ("backmatter", "shfree", "void", "void *ptr", "memory::free({n}, ptr)"),
        ("backmatter", "shrealloc", "void *", "void *ptr, size_t size", "memory::realloc({n}, ptr, size)"),
        ("backmatter", "shmemalign", "void *", "size_t alignment, size_t size", "memory::align({n}, alignment, size)"),
    ]));
    all
}

/// Team management.
#[rustfmt::skip]
pub fn teams() -> Vec<Family> {
    rows(Status::Current, &[
        ("shmem_team_my_pe", "shmem_team_my_pe", "int", "shmem_team_t team", "team::my_pe({n}, team)"),
        ("shmem_team_n_pes", "shmem_team_n_pes", "int", "shmem_team_t team", "team::n_pes({n}, team)"),
        ("shmem_team_get_config", "shmem_team_get_config", "int",
         "shmem_team_t team, long config_mask, shmem_team_config_t *config", "team::get_config({n}, team, config_mask, \
             config)"),
        ("shmem_team_translate_pe", "shmem_team_translate_pe", "int",
         "shmem_team_t src_team, int src_pe, shmem_team_t dest_team", "team::translate_pe({n}, src_team, src_pe, \
             dest_team)"),
        ("shmem_team_split_strided", "shmem_team_split_strided", "int",
         "shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config, long \
             config_mask, shmem_team_t *new_team",
         "team::split_strided({n}, parent_team, start, stride, size, config, config_mask, new_team)"),
        ("shmem_team_split_2d", "shmem_team_split_2d", "int",
         "shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t \
             *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team",
         "team::split_2d({n}, parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, \
             yaxis_team)"),
        ("shmem_team_destroy", "shmem_team_destroy", "void", "shmem_team_t team", "team::destroy({n}, team)"),
        ("shmem_team_ptr", "shmem_team_ptr", "void *", "shmem_team_t team, const void *dest, int pe", "team::ptr({n}, \
            team, dest, pe)"),
        ("shmem_team_create_ctx", "shmem_team_create_ctx", "int",
         "shmem_team_t team, long options, shmem_ctx_t *ctx", "team::create_ctx({n}, team, options, ctx)"),
    ]).collect()
}

/// Contexts and sessions.
#[rustfmt::skip]
pub fn contexts() -> Vec<Family> {
    rows(Status::Current, &[
        ("shmem_ctx_create", "shmem_ctx_create", "int", "long options, shmem_ctx_t *ctx", "context::create({n}, \
            options, ctx)"),
        ("shmem_ctx_destroy", "shmem_ctx_destroy", "void", "shmem_ctx_t ctx", "context::destroy({n}, ctx)"),
        ("shmem_ctx_get_team", "shmem_ctx_get_team", "int", "shmem_ctx_t ctx, shmem_team_t \
            *team", "context::get_team({n}, ctx, team)"),
        ("shmem_ctx_session_start", "shmem_ctx_session_start", "void",
         "shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask",
         "context::session_start({n}, ctx, options, config, config_mask)"),
        ("shmem_ctx_session_stop", "shmem_ctx_session_stop", "void", "shmem_ctx_t ctx", "context::session_stop({n}, \
            ctx)"),
    ]).collect()
}

/// Memory ordering and locks.
#[rustfmt::skip]
pub fn ordering() -> Vec<Family> {
    let mut all = vec![
        family("shmem_fence", "shmem_{ctx}fence", Single, "void", "", "context::fence({n}, {ctx})").inline("FENCE"),
        family("shmem_quiet", "shmem_{ctx}quiet", Single, "void", "", "context::quiet({n}, {ctx})").inline("QUIET"),
    ];
    all.extend(rows(Status::Current, &[
        ("shmem_pe_quiet", "shmem_{ctx}pe_quiet", "void", "const int *target_pes, size_t \
            npes", "context::pe_quiet({n}, {ctx}, target_pes, npes)"),
    ]));
    all.extend([
        family("shmem_lock", "shmem_clear_lock", Single, "void", "long *lock", "lock::clear({n}, \
            lock)").inline("CLEAR_LOCK"),
        family("shmem_lock", "shmem_set_lock", Single, "void", "long *lock", "lock::set({n}, lock)").inline("SET_LOCK"),
        family("shmem_lock", "shmem_test_lock", Single, "int", "long *lock", "lock::test({n}, lock)"),
    ]);
    all
}
