//! Point-to-point synchronization: waiting for, and testing, one variable or a set.

use crate::family::{Family, family};
use crate::types::Group::{Amo, Shorts, Single};

const ONE: &str = "TYPE *ivar, int cmp, TYPE cmp_value";
const SET: &str = "TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value";
const SOME: &str = "TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, TYPE cmp_value";
const SET_VECTOR: &str = "TYPE *ivars, size_t nelems, const int *status, int cmp, const TYPE *cmp_values";
const SOME_VECTOR: &str =
    "TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const TYPE *cmp_values";

/// (type-generic name and section, pattern, return type, parameters, body, test)
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("shmem_wait_until", "shmem_{T}_wait_until", "void", ONE, "p2p::wait_until", "WAIT_UNTIL"),
    ("shmem_wait_until_all", "shmem_{T}_wait_until_all", "void", SET, "p2p::wait_until_all", "WAIT_UNTIL_ALL"),
    ("shmem_wait_until_any", "shmem_{T}_wait_until_any", "size_t", SET, "p2p::wait_until_any", "ANY"),
    ("shmem_wait_until_some", "shmem_{T}_wait_until_some", "size_t", SOME, "p2p::wait_until_some", "SOME"),
    ("shmem_wait_until_all_vector", "shmem_{T}_wait_until_all_vector", "void", SET_VECTOR,
     "p2p::wait_until_all_vector", "WAIT_UNTIL_ALL_VECTOR"),
    ("shmem_wait_until_any_vector", "shmem_{T}_wait_until_any_vector", "size_t", SET_VECTOR,
     "p2p::wait_until_any_vector", "ANY_VECTOR"),
    ("shmem_wait_until_some_vector", "shmem_{T}_wait_until_some_vector", "size_t", SOME_VECTOR,
     "p2p::wait_until_some_vector", "SOME_VECTOR"),
    ("shmem_test", "shmem_{T}_test", "int", ONE, "p2p::test", "TEST"),
    ("shmem_test_all", "shmem_{T}_test_all", "int", SET, "p2p::test_all", "TEST_ALL"),
    ("shmem_test_any", "shmem_{T}_test_any", "size_t", SET, "p2p::test_any", "ANY"),
    ("shmem_test_some", "shmem_{T}_test_some", "size_t", SOME, "p2p::test_some", "SOME"),
    ("shmem_test_all_vector", "shmem_{T}_test_all_vector", "int", SET_VECTOR,
     "p2p::test_all_vector", "TEST_ALL_VECTOR"),
    ("shmem_test_any_vector", "shmem_{T}_test_any_vector", "size_t", SET_VECTOR, "p2p::test_any_vector", "ANY_VECTOR"),
    ("shmem_test_some_vector", "shmem_{T}_test_some_vector", "size_t", SOME_VECTOR,
     "p2p::test_some_vector", "SOME_VECTOR"),
];

/// The families.
pub fn all() -> Vec<Family> {
    let row = |group, (generic, pattern, ret, params, body, test): Row| {
        family(generic, pattern, group, ret, params, body).generic(generic).test(test)
    };
    let mut all: Vec<Family> = Vec::new();
    for &standard in ROWS {
        all.push(row(Amo, standard));
        // Deprecated for short and unsigned short, or not in the standard for them at all.
        let short = row(Shorts, standard);
        all.push(match standard.0 {
            "shmem_wait_until" | "shmem_test" => {
                Family { section: "backmatter", generic_listed: false, ..short.deprecated() }
            }
            _ => short.extension(),
        });
    }
    let wait = "p2p::wait_while";
    let old =
        |pattern, group, params, body| family("shmem_wait_until", pattern, group, "void", params, body).deprecated();
    all.extend([
        old("shmem_wait_until", Single, "long *ivar, int cmp, long cmp_value", "p2p::wait_until")
            .test("WAIT_UNTIL_LONG"),
        old("shmem_wait", Single, "long *ivar, long cmp_value", wait).test("WAIT_LONG"),
        old("shmem_{T}_wait", Shorts, "TYPE *ivar, TYPE cmp_value", wait).test("WAIT"),
        old("shmem_{T}_wait", Amo, "TYPE *ivar, TYPE cmp_value", wait).test("WAIT"),
    ]);
    all
}
