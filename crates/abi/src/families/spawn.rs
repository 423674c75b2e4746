//! Jobs that grow (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let rows = [
        ("shmemx_spawn", "int",
         "shmem_team_t team, int PE_root, const char *command, int npes, const shmemx_spawn_config_t *config, long \
             config_mask, shmemx_group_t *children",
         "spawn::spawn({n}, team, pe_root, command, npes, config, config_mask, children)"),
        ("shmemx_spawn_multiple", "int",
         "shmem_team_t team, int PE_root, int count, char *const *commands, const int *npes, const \
             shmemx_spawn_config_t *configs, const long *config_masks, shmemx_group_t *children",
         "spawn::spawn_multiple({n}, team, pe_root, count, commands, npes, configs, config_masks, children)"),
        ("shmemx_group_parents", "shmemx_group_t", "", "handles::parents({n})"),
        ("shmemx_group_n_pes", "int", "shmemx_group_t group", "handles::n_pes({n}, group)"),
        ("shmemx_group_pe", "int", "shmemx_group_t group, int pe", "handles::pe({n}, group, pe)"),
        ("shmemx_group_team", "shmem_team_t", "shmemx_group_t group", "handles::team({n}, group)"),
        ("shmemx_group_state", "int", "shmemx_group_t group", "handles::state({n}, group)"),
        ("shmemx_group_disconnect", "int", "shmemx_group_t group", "handles::disconnect({n}, group)"),
        ("shmemx_export", "int", "const char *name, const void *addr, size_t size", "exports::export({n}, name, addr, \
            size)"),
        ("shmemx_unexport", "int", "const char *name", "exports::unexport({n}, name)"),
        ("shmemx_kernel_call_multiple", "shmemx_request_t",
         "shmemx_group_t group, size_t count, const shmemx_kernel_call_t *calls",
         "kernels::call_multiple({n}, group, count, calls)"),
        ("shmemx_kernel_test", "int", "shmemx_request_t request", "kernels::test({n}, request)"),
        ("shmemx_kernel_wait", "int", "shmemx_request_t request", "kernels::wait({n}, request)"),
        ("shmemx_kernel_serve", "int", "", "kernels::serve({n})"),
        ("shmemx_kernel_register", "void", "shmemx_kernel_t *kernel", "kernels::register(kernel)"),
        ("shmemx_import", "void *", "shmemx_group_t group, const char *name, size_t size",
         "exports::import({n}, group, name, size)"),
    ];
    rows.map(|(name, ret, params, body)| family("", name, Single, ret, params, body).extension()).into()
}
