//! Counters of calls (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let rows = [
        ("shmemx_counter_read", "uint64_t", "int kind, int quantity", "counter::read({n}, kind, quantity)"),
        ("shmemx_counter_reset", "void", "", "counter::reset({n})"),
    ];
    rows.map(|(name, ret, params, body)| family("", name, Single, ret, params, body).extension()).into()
}
