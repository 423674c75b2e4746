//! Jobs that connect (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let rows = [
        ("shmemx_port_open", "char *port", "port::open({n}, port)"),
        ("shmemx_port_close", "const char *port", "port::close({n}, port)"),
        ("shmemx_port_publish", "const char *name, const char *port", "port::publish({n}, name, port)"),
        ("shmemx_port_unpublish", "const char *name", "port::unpublish({n}, name)"),
        ("shmemx_port_lookup", "const char *name, int timeout, char *port", "port::lookup({n}, name, timeout, port)"),
        ("shmemx_port_accept", "shmem_team_t team, int PE_root, const char *port, shmemx_group_t *group",
         "port::accept({n}, team, pe_root, port, false, group)"),
        ("shmemx_port_connect", "shmem_team_t team, int PE_root, const char *port, shmemx_group_t *group",
         "port::connect({n}, team, pe_root, port, false, group)"),
        ("shmemx_port_accept_independent", "shmem_team_t team, int PE_root, const char *port, shmemx_group_t *group",
         "port::accept({n}, team, pe_root, port, true, group)"),
        ("shmemx_port_connect_independent", "shmem_team_t team, int PE_root, const char *port, shmemx_group_t *group",
         "port::connect({n}, team, pe_root, port, true, group)"),
        ("shmemx_join", "shmem_team_t team, int PE_root, int fd, shmemx_group_t *group",
         "port::join({n}, team, pe_root, fd, group)"),
    ];
    rows.map(|(name, params, body)| family("", name, Single, "int", params, body).extension()).into()
}
