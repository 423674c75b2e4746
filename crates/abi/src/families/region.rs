//! Regions of the program's own (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let rows = [
        ("shmemx_region_begin", "void", "const char *name", "region::begin({n}, name)"),
        ("shmemx_region_end", "void", "", "region::end({n})"),
    ];
    rows.map(|(name, ret, params, body)| family("", name, Single, ret, params, body).extension()).into()
}
