//! Threads that help the library (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

/// All.
pub fn all() -> Vec<Family> {
    let lend = family(
        "",
        "shmemx_thread_lend",
        Single,
        "int",
        "const int *until, int milliseconds",
        "threads::lend({n}, until, milliseconds)",
    );
    vec![lend.extension()]
}
