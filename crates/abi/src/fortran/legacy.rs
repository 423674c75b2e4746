//! The table: families of routines, by what they call. In the names, `{}` stands for what a family's members differ in.

/// How a family is tested: the subroutine of the test program that calls one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// Without an argument that a loop could vary: the test program's own text calls it.
    ByHand,
    /// By the subroutine of this name, with the bytes of an element.
    Bytes(&'static str),
    /// By the subroutine of this name for the type.
    Typed(&'static str),
}

/// A family: Fortran name, C name, what stands for `{}` in each, and the test.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) c: &'static str,
    pub(super) members: &'static [Members],
    pub(super) test: Test,
}

/// What stands for `{}` in the Fortran and in the C name.
type Members = &'static [(&'static str, &'static str)];

/// Types of elements, and their bits.
const WORDS: Members = &[("complex", "64"), ("double", "64"), ("integer", "32"), ("logical", "32"), ("real", "32")];
const CHARACTERS: Members = &[("character", "mem")];
/// Numbers in names are bytes, if they are at most 16; else bits.
const SIZES: Members = &[("4", "32"), ("8", "64"), ("16", "128"), ("32", "32"), ("64", "64"), ("128", "128")];
const BYTES: Members = &[("mem", "mem")];
/// Sizes of the collectives.
const MOVED: Members = &[("4", "32"), ("8", "64"), ("32", "32"), ("64", "64")];
const EXCHANGED: Members = &[("32", "32"), ("64", "64")];
/// Types of atomics and waits.
const INTEGERS: Members = &[("int4", "int32"), ("int8", "int64")];
const REALS: Members = &[("real4", "float"), ("real8", "double")];
/// Types of reductions; REAL16 is by hand.
const BITS: Members = &[("int4", "int"), ("int8", "long")];
const COMPLEX: Members = &[("comp4", "complexf"), ("comp8", "complexd")];
const ONE: Members = &[("", "")];

const fn f(name: &'static str, c: &'static str, members: &'static [Members], test: Test) -> Family {
    Family { name, c, members, test }
}

/// A routine by itself.
const fn one(name: &'static str, c: &'static str) -> Family {
    f(name, c, &[ONE], Test::ByHand)
}

/// The families. What is not here is in `templates/fortran/glue.c`: allocation, locks, texts and REAL16.
#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    f("shmem_{}_put", "shmem_put{}", &[CHARACTERS, WORDS], Test::Bytes("put")),
    f("shmem_put{}", "shmem_put{}", &[SIZES, BYTES], Test::Bytes("put")),
    f("shmem_put", "shmem_put64", &[ONE], Test::Bytes("put")),
    f("shmem_{}_put_nbi", "shmem_put{}_nbi", &[CHARACTERS, WORDS], Test::Bytes("put")),
    f("shmem_put{}_nbi", "shmem_put{}_nbi", &[SIZES, BYTES], Test::Bytes("put")),
    f("shmem_{}_get", "shmem_get{}", &[CHARACTERS, WORDS], Test::Bytes("get")),
    f("shmem_get{}", "shmem_get{}", &[SIZES, BYTES], Test::Bytes("get")),
    f("shmem_get", "shmem_get64", &[ONE], Test::Bytes("get")),
    f("shmem_{}_get_nbi", "shmem_get{}_nbi", &[CHARACTERS, WORDS], Test::Bytes("get")),
    f("shmem_get{}_nbi", "shmem_get{}_nbi", &[SIZES, BYTES], Test::Bytes("get")),
    f("shmem_{}_iput", "shmem_iput{}", &[WORDS], Test::Bytes("iput")),
    f("shmem_iput{}", "shmem_iput{}", &[SIZES], Test::Bytes("iput")),
    f("shmem_{}_iget", "shmem_iget{}", &[WORDS], Test::Bytes("iget")),
    f("shmem_iget{}", "shmem_iget{}", &[SIZES], Test::Bytes("iget")),

    f("shmem_{}_add", "shmem_{}_atomic_add", &[INTEGERS], Test::Typed("add")),
    f("shmem_{}_fadd", "shmem_{}_atomic_fetch_add", &[INTEGERS], Test::Typed("fadd")),
    f("shmem_{}_inc", "shmem_{}_atomic_inc", &[INTEGERS], Test::Typed("inc")),
    f("shmem_{}_finc", "shmem_{}_atomic_fetch_inc", &[INTEGERS], Test::Typed("finc")),
    f("shmem_{}_cswap", "shmem_{}_atomic_compare_swap", &[INTEGERS], Test::Typed("cswap")),
    f("shmem_{}_swap", "shmem_{}_atomic_swap", &[INTEGERS, REALS], Test::Typed("swap")),
    f("shmem_swap", "shmem_int_atomic_swap", &[ONE], Test::ByHand),
    f("shmem_{}_fetch", "shmem_{}_atomic_fetch", &[INTEGERS, REALS], Test::Typed("fetch")),
    f("shmem_{}_set", "shmem_{}_atomic_set", &[INTEGERS, REALS], Test::Typed("set")),

    f("shmem_{}_wait", "shmem_{}_wait", &[INTEGERS], Test::Typed("wait")),
    f("shmem_{}_wait_until", "shmem_{}_wait_until", &[INTEGERS], Test::Typed("wait_until")),
    f("shmem_wait", "shmem_int_wait", &[ONE], Test::ByHand),
    f("shmem_wait_until", "shmem_int_wait_until", &[ONE], Test::ByHand),

    f("shmem_broadcast{}", "shmem_broadcast{}", &[MOVED], Test::Bytes("broadcast")),
    f("shmem_collect{}", "shmem_collect{}", &[MOVED], Test::Bytes("collect")),
    f("shmem_fcollect{}", "shmem_fcollect{}", &[MOVED], Test::Bytes("fcollect")),
    f("shmem_alltoall{}", "shmem_alltoall{}", &[EXCHANGED], Test::Bytes("alltoall")),
    f("shmem_alltoalls{}", "shmem_alltoalls{}", &[EXCHANGED], Test::Bytes("alltoalls")),
    f("shmem_{}_and_to_all", "shmem_{}_and_to_all", &[BITS], Test::Typed("and")),
    f("shmem_{}_or_to_all", "shmem_{}_or_to_all", &[BITS], Test::Typed("or")),
    f("shmem_{}_xor_to_all", "shmem_{}_xor_to_all", &[BITS], Test::Typed("xor")),
    f("shmem_{}_max_to_all", "shmem_{}_max_to_all", &[BITS, REALS], Test::Typed("max")),
    f("shmem_{}_min_to_all", "shmem_{}_min_to_all", &[BITS, REALS], Test::Typed("min")),
    f("shmem_{}_sum_to_all", "shmem_{}_sum_to_all", &[BITS, REALS, COMPLEX], Test::Typed("sum")),
    f("shmem_{}_prod_to_all", "shmem_{}_prod_to_all", &[BITS, REALS, COMPLEX], Test::Typed("prod")),
    one("shmem_barrier", "shmem_barrier"),
    one("shmem_barrier_all", "shmem_barrier_all"),
    one("shmem_fence", "shmem_fence"),
    one("shmem_quiet", "shmem_quiet"),

    one("shmem_init", "shmem_init"),
    one("start_pes", "start_pes"),
    one("shmem_finalize", "shmem_finalize"),
    one("shmem_global_exit", "shmem_global_exit"),
    one("shmem_my_pe", "shmem_my_pe"),
    one("my_pe", "shmem_my_pe"),
    one("shmem_n_pes", "shmem_n_pes"),
    one("num_pes", "shmem_n_pes"),
    one("shmem_info_get_version", "shmem_info_get_version"),
    one("shmem_pe_accessible", "shmem_pe_accessible"),
    one("shmem_addr_accessible", "shmem_addr_accessible"),
    one("shmem_ptr", "shmem_ptr"),
    one("shmem_clear_cache_inv", "shmem_clear_cache_inv"),
    one("shmem_set_cache_inv", "shmem_set_cache_inv"),
    one("shmem_clear_cache_line_inv", "shmem_clear_cache_line_inv"),
    one("shmem_set_cache_line_inv", "shmem_set_cache_line_inv"),
    one("shmem_udcflush", "shmem_udcflush"),
    one("shmem_udcflush_line", "shmem_udcflush_line"),
];

/// A routine.
#[derive(Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    /// The C function.
    pub(super) c: String,
    /// What stands for `{}` in its name.
    pub(super) member: &'static str,
    pub(super) test: Test,
}

/// All routines of the table.
pub(super) fn routines() -> impl Iterator<Item = Routine> {
    FAMILIES.iter().flat_map(|family| {
        family.members.iter().copied().flatten().map(|(member, c)| Routine {
            name: family.name.replace("{}", member),
            c: family.c.replace("{}", c),
            member,
            test: family.test,
        })
    })
}
