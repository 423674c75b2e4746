//! Atomic memory operations, fetching, non-fetching and non-blocking, with their old names.

use crate::family::{Family, family};
use crate::types::Group::{self, Amo, BitAmo, ExtAmo};

const FETCH: &str = "const TYPE *source, int pe";
const FETCH_NBI: &str = "TYPE *fetch, const TYPE *source, int pe";
const UNARY: &str = "TYPE *dest, int pe";
const UNARY_NBI: &str = "TYPE *fetch, TYPE *dest, int pe";
const BINARY: &str = "TYPE *dest, TYPE value, int pe";
const BINARY_NBI: &str = "TYPE *fetch, TYPE *dest, TYPE value, int pe";
const CSWAP: &str = "TYPE *dest, TYPE cond, TYPE value, int pe";
const CSWAP_NBI: &str = "TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe";

/// One operation: names (standard section and type-generic name, pattern, type), parameters,
/// Rust body, and the macros that define it inline and test it.
struct Op {
    generic: &'static str,
    pattern: &'static str,
    group: Group,
    ret: &'static str,
    params: &'static str,
    body: &'static str,
    inline: &'static str,
}

impl Op {
    fn family(&self) -> Family {
        family(
            self.generic,
            self.pattern,
            self.group,
            self.ret,
            self.params,
            self.body,
        )
        .generic(self.generic)
        .inline(self.inline)
        .test(self.inline)
    }

    /// The same operation under the name that it had before OpenSHMEM 1.4.
    fn old(&self, pattern: &'static str, generic: &'static str) -> Family {
        Family {
            pattern,
            ..self.family()
        }
        .generic(generic)
        .deprecated()
    }
}

/// The families.
pub fn all() -> Vec<Family> {
    let op = |generic, pattern, group, ret, params, body, inline| Op {
        generic,
        pattern,
        group,
        ret,
        params,
        body,
        inline,
    };
    let set = op(
        "shmem_atomic_set",
        "shmem_{ctx}{T}_atomic_set",
        ExtAmo,
        "void",
        BINARY,
        "amo::set({n}, {ctx}, dest, value, pe)",
        "ATOMIC_SET",
    );
    let fetch = op(
        "shmem_atomic_fetch",
        "shmem_{ctx}{T}_atomic_fetch",
        ExtAmo,
        "TYPE",
        FETCH,
        "amo::fetch({n}, {ctx}, source, pe)",
        "ATOMIC_FETCH",
    );
    let fetch_nbi = op(
        "shmem_atomic_fetch_nbi",
        "shmem_{ctx}{T}_atomic_fetch_nbi",
        ExtAmo,
        "void",
        FETCH_NBI,
        "*fetch = amo::fetch({n}, {ctx}, source, pe)",
        "ATOMIC_FETCH_NBI",
    );
    let swap = op(
        "shmem_atomic_swap",
        "shmem_{ctx}{T}_atomic_swap",
        ExtAmo,
        "TYPE",
        BINARY,
        "amo::swap({n}, {ctx}, dest, value, pe)",
        "ATOMIC_SWAP",
    );
    let swap_nbi = op(
        "shmem_atomic_swap_nbi",
        "shmem_{ctx}{T}_atomic_swap_nbi",
        ExtAmo,
        "void",
        BINARY_NBI,
        "*fetch = amo::swap({n}, {ctx}, dest, value, pe)",
        "ATOMIC_SWAP_NBI",
    );
    let cswap = op(
        "shmem_atomic_compare_swap",
        "shmem_{ctx}{T}_atomic_compare_swap",
        Amo,
        "TYPE",
        CSWAP,
        "amo::compare_swap({n}, {ctx}, dest, cond, value, pe)",
        "ATOMIC_COMPARE_SWAP",
    );
    let cswap_nbi = op(
        "shmem_atomic_compare_swap_nbi",
        "shmem_{ctx}{T}_atomic_compare_swap_nbi",
        Amo,
        "void",
        CSWAP_NBI,
        "*fetch = amo::compare_swap({n}, {ctx}, dest, cond, value, pe)",
        "ATOMIC_COMPARE_SWAP_NBI",
    );
    let inc = op(
        "shmem_atomic_inc",
        "shmem_{ctx}{T}_atomic_inc",
        Amo,
        "void",
        UNARY,
        "amo::fetch_inc({n}, {ctx}, dest, pe)",
        "ATOMIC_INC",
    );
    let fetch_inc = op(
        "shmem_atomic_fetch_inc",
        "shmem_{ctx}{T}_atomic_fetch_inc",
        Amo,
        "TYPE",
        UNARY,
        "amo::fetch_inc({n}, {ctx}, dest, pe)",
        "ATOMIC_FETCH_INC",
    );
    let fetch_inc_nbi = op(
        "shmem_atomic_fetch_inc_nbi",
        "shmem_{ctx}{T}_atomic_fetch_inc_nbi",
        Amo,
        "void",
        UNARY_NBI,
        "*fetch = amo::fetch_inc({n}, {ctx}, dest, pe)",
        "ATOMIC_FETCH_INC_NBI",
    );
    let add = op(
        "shmem_atomic_add",
        "shmem_{ctx}{T}_atomic_add",
        Amo,
        "void",
        BINARY,
        "amo::fetch_add({n}, {ctx}, dest, value, pe)",
        "ATOMIC_ADD",
    );
    let fetch_add = op(
        "shmem_atomic_fetch_add",
        "shmem_{ctx}{T}_atomic_fetch_add",
        Amo,
        "TYPE",
        BINARY,
        "amo::fetch_add({n}, {ctx}, dest, value, pe)",
        "ATOMIC_FETCH_ADD",
    );
    let fetch_add_nbi = op(
        "shmem_atomic_fetch_add_nbi",
        "shmem_{ctx}{T}_atomic_fetch_add_nbi",
        Amo,
        "void",
        BINARY_NBI,
        "*fetch = amo::fetch_add({n}, {ctx}, dest, value, pe)",
        "ATOMIC_FETCH_ADD_NBI",
    );
    let bitwise = [
        op(
            "shmem_atomic_and",
            "shmem_{ctx}{T}_atomic_and",
            BitAmo,
            "void",
            BINARY,
            "amo::fetch_and({n}, {ctx}, dest, value, pe)",
            "ATOMIC_AND",
        ),
        op(
            "shmem_atomic_fetch_and",
            "shmem_{ctx}{T}_atomic_fetch_and",
            BitAmo,
            "TYPE",
            BINARY,
            "amo::fetch_and({n}, {ctx}, dest, value, pe)",
            "ATOMIC_FETCH_AND",
        ),
        op(
            "shmem_atomic_fetch_and_nbi",
            "shmem_{ctx}{T}_atomic_fetch_and_nbi",
            BitAmo,
            "void",
            BINARY_NBI,
            "*fetch = amo::fetch_and({n}, {ctx}, dest, value, pe)",
            "ATOMIC_FETCH_AND_NBI",
        ),
        op(
            "shmem_atomic_or",
            "shmem_{ctx}{T}_atomic_or",
            BitAmo,
            "void",
            BINARY,
            "amo::fetch_or({n}, {ctx}, dest, value, pe)",
            "ATOMIC_OR",
        ),
        op(
            "shmem_atomic_fetch_or",
            "shmem_{ctx}{T}_atomic_fetch_or",
            BitAmo,
            "TYPE",
            BINARY,
            "amo::fetch_or({n}, {ctx}, dest, value, pe)",
            "ATOMIC_FETCH_OR",
        ),
        op(
            "shmem_atomic_fetch_or_nbi",
            "shmem_{ctx}{T}_atomic_fetch_or_nbi",
            BitAmo,
            "void",
            BINARY_NBI,
            "*fetch = amo::fetch_or({n}, {ctx}, dest, value, pe)",
            "ATOMIC_FETCH_OR_NBI",
        ),
        op(
            "shmem_atomic_xor",
            "shmem_{ctx}{T}_atomic_xor",
            BitAmo,
            "void",
            BINARY,
            "amo::fetch_xor({n}, {ctx}, dest, value, pe)",
            "ATOMIC_XOR",
        ),
        op(
            "shmem_atomic_fetch_xor",
            "shmem_{ctx}{T}_atomic_fetch_xor",
            BitAmo,
            "TYPE",
            BINARY,
            "amo::fetch_xor({n}, {ctx}, dest, value, pe)",
            "ATOMIC_FETCH_XOR",
        ),
        op(
            "shmem_atomic_fetch_xor_nbi",
            "shmem_{ctx}{T}_atomic_fetch_xor_nbi",
            BitAmo,
            "void",
            BINARY_NBI,
            "*fetch = amo::fetch_xor({n}, {ctx}, dest, value, pe)",
            "ATOMIC_FETCH_XOR_NBI",
        ),
    ];
    let mut all = vec![
        fetch.family(),
        fetch.old("shmem_{T}_fetch", "shmem_fetch"),
        set.family(),
        set.old("shmem_{T}_set", "shmem_set"),
        cswap.family(),
        cswap.old("shmem_{T}_cswap", "shmem_cswap"),
        swap.family(),
        swap.old("shmem_{T}_swap", "shmem_swap"),
        fetch_inc.family(),
        fetch_inc.old("shmem_{T}_finc", "shmem_finc"),
        inc.family(),
        inc.old("shmem_{T}_inc", "shmem_inc"),
        fetch_add.family(),
        fetch_add.old("shmem_{T}_fadd", "shmem_fadd"),
        add.family(),
        add.old("shmem_{T}_add", "shmem_add"),
    ];
    all.extend(bitwise.iter().map(Op::family));
    let nbi = [fetch_nbi, cswap_nbi, swap_nbi, fetch_inc_nbi, fetch_add_nbi];
    all.extend(nbi.iter().map(Op::family));
    all
}
