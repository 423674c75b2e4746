//! Atomic memory operations, fetching, non-fetching and non-blocking, with their old names.

use crate::family::{Family, family};
use crate::types::Group::{Amo, BitAmo, ExtAmo};

const FETCH: &str = "const TYPE *source, int pe";
const FETCH_NBI: &str = "TYPE *fetch, const TYPE *source, int pe";
const UNARY: &str = "TYPE *dest, int pe";
const UNARY_NBI: &str = "TYPE *fetch, TYPE *dest, int pe";
const BINARY: &str = "TYPE *dest, TYPE value, int pe";
const BINARY_NBI: &str = "TYPE *fetch, TYPE *dest, TYPE value, int pe";
const CSWAP: &str = "TYPE *dest, TYPE cond, TYPE value, int pe";
const CSWAP_NBI: &str = "TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe";

/// `shmem_atomic_<name>`: types, return type, parameters, call of the runtime, and the macro
/// that defines it inline and the one that tests it.
macro_rules! op {
    ($name:literal, $group:expr, $ret:literal, $params:expr, $body:literal, $macro:literal) => {
        family(concat!("shmem_atomic_", $name), concat!("shmem_{ctx}{T}_atomic_", $name), $group, $ret, $params, $body)
            .generic(concat!("shmem_atomic_", $name))
            .inline($macro)
            .test($macro)
    };
}

/// A routine, and the same under the name that it had before OpenSHMEM 1.4.
fn with_old_name(family: Family, pattern: &'static str, generic: &'static str) -> [Family; 2] {
    let old = Family { pattern, ..family.clone() };
    [family, old.generic(generic).deprecated()]
}

/// The families.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let mut all = Vec::new();
    all.extend(with_old_name(
        op!("fetch", ExtAmo, "TYPE", FETCH, "amo::fetch", "ATOMIC_FETCH"),
        "shmem_{T}_fetch", "shmem_fetch"));
    all.extend(with_old_name(
        op!("set", ExtAmo, "void", BINARY, "amo::set", "ATOMIC_SET"),
        "shmem_{T}_set", "shmem_set"));
    all.extend(with_old_name(
        op!("compare_swap", Amo, "TYPE", CSWAP, "amo::compare_swap", "ATOMIC_COMPARE_SWAP"),
        "shmem_{T}_cswap", "shmem_cswap"));
    all.extend(with_old_name(
        op!("swap", ExtAmo, "TYPE", BINARY, "amo::swap", "ATOMIC_SWAP"),
        "shmem_{T}_swap", "shmem_swap"));
    all.extend(with_old_name(
        op!("fetch_inc", Amo, "TYPE", UNARY, "amo::fetch_inc", "ATOMIC_FETCH_INC"),
        "shmem_{T}_finc", "shmem_finc"));
    all.extend(with_old_name(
        op!("inc", Amo, "void", UNARY, "amo::inc", "ATOMIC_INC"),
        "shmem_{T}_inc", "shmem_inc"));
    all.extend(with_old_name(
        op!("fetch_add", Amo, "TYPE", BINARY, "amo::fetch_add", "ATOMIC_FETCH_ADD"),
        "shmem_{T}_fadd", "shmem_fadd"));
    all.extend(with_old_name(
        op!("add", Amo, "void", BINARY, "amo::add", "ATOMIC_ADD"),
        "shmem_{T}_add", "shmem_add"));
    all.extend([
        op!("and", BitAmo, "void", BINARY, "amo::and", "ATOMIC_AND"),
        op!("or", BitAmo, "void", BINARY, "amo::or", "ATOMIC_OR"),
        op!("xor", BitAmo, "void", BINARY, "amo::xor", "ATOMIC_XOR"),
        op!("fetch_and", BitAmo, "TYPE", BINARY, "amo::fetch_and", "ATOMIC_FETCH_AND"),
        op!("fetch_or", BitAmo, "TYPE", BINARY, "amo::fetch_or", "ATOMIC_FETCH_OR"),
        op!("fetch_xor", BitAmo, "TYPE", BINARY, "amo::fetch_xor", "ATOMIC_FETCH_XOR"),
        op!("fetch_nbi", ExtAmo, "void", FETCH_NBI, "amo::fetch_nbi", "ATOMIC_FETCH_NBI"),
        op!("compare_swap_nbi", Amo, "void", CSWAP_NBI, "amo::compare_swap_nbi", "ATOMIC_COMPARE_SWAP_NBI"),
        op!("swap_nbi", ExtAmo, "void", BINARY_NBI, "amo::swap_nbi", "ATOMIC_SWAP_NBI"),
        op!("fetch_inc_nbi", Amo, "void", UNARY_NBI, "amo::fetch_inc_nbi", "ATOMIC_FETCH_INC_NBI"),
        op!("fetch_add_nbi", Amo, "void", BINARY_NBI, "amo::fetch_add_nbi", "ATOMIC_FETCH_ADD_NBI"),
        op!("fetch_and_nbi", BitAmo, "void", BINARY_NBI, "amo::fetch_and_nbi", "ATOMIC_FETCH_AND_NBI"),
        op!("fetch_or_nbi", BitAmo, "void", BINARY_NBI, "amo::fetch_or_nbi", "ATOMIC_FETCH_OR_NBI"),
        op!("fetch_xor_nbi", BitAmo, "void", BINARY_NBI, "amo::fetch_xor_nbi", "ATOMIC_FETCH_XOR_NBI"),
    ]);
    all
}
