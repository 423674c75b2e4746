//! Symmetric spaces (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let rows = [
        ("shmemx_space_create", "int",
         "shmem_team_t team, const shmemx_space_config_t *config, long config_mask, shmemx_space_t *new_space",
         "space::create({n}, team, config, config_mask, new_space)"),
        ("shmemx_space_destroy", "void", "shmemx_space_t space", "space::destroy({n}, space)"),
        ("shmemx_space_malloc", "void *", "shmemx_space_t space, size_t size", "space::malloc({n}, space, size)"),
        ("shmemx_space_calloc", "void *", "shmemx_space_t space, size_t count, size_t size",
         "space::calloc({n}, space, count, size)"),
        ("shmemx_space_align", "void *", "shmemx_space_t space, size_t alignment, size_t size",
         "space::align({n}, space, alignment, size)"),
        ("shmemx_space_free", "void", "shmemx_space_t space, void *ptr", "space::free({n}, space, ptr)"),
    ];
    rows.map(|(name, ret, params, body)| family("", name, Single, ret, params, body).extension()).into()
}
