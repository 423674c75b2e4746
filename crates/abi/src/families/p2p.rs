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
    ("shmem_wait_until", "shmem_{T}_wait_until", "void", ONE,
     "p2p::wait_until({n}, ivar, cmp, cmp_value)", "WAIT_UNTIL"),
    ("shmem_wait_until_all", "shmem_{T}_wait_until_all", "void", SET,
     "p2p::wait_until_all({n}, ivars, nelems, status, cmp, cmp_value)", "WAIT_UNTIL_ALL"),
    ("shmem_wait_until_any", "shmem_{T}_wait_until_any", "size_t", SET,
     "p2p::wait_until_any({n}, ivars, nelems, status, cmp, cmp_value)", "ANY"),
    ("shmem_wait_until_some", "shmem_{T}_wait_until_some", "size_t", SOME,
     "p2p::wait_until_some({n}, ivars, nelems, indices, status, cmp, cmp_value)", "SOME"),
    ("shmem_wait_until_all_vector", "shmem_{T}_wait_until_all_vector", "void", SET_VECTOR,
     "p2p::wait_until_all_vector({n}, ivars, nelems, status, cmp, cmp_values)", "WAIT_UNTIL_ALL_VECTOR"),
    ("shmem_wait_until_any_vector", "shmem_{T}_wait_until_any_vector", "size_t", SET_VECTOR,
     "p2p::wait_until_any_vector({n}, ivars, nelems, status, cmp, cmp_values)", "ANY_VECTOR"),
    ("shmem_wait_until_some_vector", "shmem_{T}_wait_until_some_vector", "size_t", SOME_VECTOR,
     "p2p::wait_until_some_vector({n}, ivars, nelems, indices, status, cmp, cmp_values)", "SOME_VECTOR"),
    ("shmem_test", "shmem_{T}_test", "int", ONE,
     "p2p::test({n}, ivar, cmp, cmp_value)", "TEST"),
    ("shmem_test_all", "shmem_{T}_test_all", "int", SET,
     "p2p::test_all({n}, ivars, nelems, status, cmp, cmp_value)", "TEST_ALL"),
    ("shmem_test_any", "shmem_{T}_test_any", "size_t", SET,
     "p2p::test_any({n}, ivars, nelems, status, cmp, cmp_value)", "ANY"),
    ("shmem_test_some", "shmem_{T}_test_some", "size_t", SOME,
     "p2p::test_some({n}, ivars, nelems, indices, status, cmp, cmp_value)", "SOME"),
    ("shmem_test_all_vector", "shmem_{T}_test_all_vector", "int", SET_VECTOR,
     "p2p::test_all_vector({n}, ivars, nelems, status, cmp, cmp_values)", "TEST_ALL_VECTOR"),
    ("shmem_test_any_vector", "shmem_{T}_test_any_vector", "size_t", SET_VECTOR,
     "p2p::test_any_vector({n}, ivars, nelems, status, cmp, cmp_values)", "ANY_VECTOR"),
    ("shmem_test_some_vector", "shmem_{T}_test_some_vector", "size_t", SOME_VECTOR,
     "p2p::test_some_vector({n}, ivars, nelems, indices, status, cmp, cmp_values)", "SOME_VECTOR"),
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
    let wait = "p2p::wait_while({n}, ivar, cmp_value)";
    let old =
        |pattern, group, params, body| family("shmem_wait_until", pattern, group, "void", params, body).deprecated();
    all.extend([
        old(
            "shmem_wait_until",
            Single,
            "long *ivar, int cmp, long cmp_value",
            "p2p::wait_until({n}, ivar, cmp, cmp_value)",
        )
        .test("WAIT_UNTIL_LONG"),
        old("shmem_wait", Single, "long *ivar, long cmp_value", wait).test("WAIT_LONG"),
        old("shmem_{T}_wait", Shorts, "TYPE *ivar, TYPE cmp_value", wait).test("WAIT"),
        old("shmem_{T}_wait", Amo, "TYPE *ivar, TYPE cmp_value", wait).test("WAIT"),
    ]);
    all
}
