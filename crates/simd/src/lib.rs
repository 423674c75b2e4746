//! The element loops of collectives: folding arrays with an operator, and copying. The crate knows pointers, lengths
//! and the processor (`platform`); it knows nothing of PEs, jobs or symmetric memory.
//!
//! From the bottom: operators ([`ops`]), vector registers (`vector`, and those of x86-64 in
//! `registers`), the choice of registers at run time (`level`), which method of copying is used
//! (`method`), copies past the caches (`copy`),
//! what an operator computes of two registers (`combine`), folds of many arrays (`fold`), sums
//! without rounding errors (`exact`, `superaccumulator`), and at the top which types an operator
//! reduces (`reduce`; numbers of 16 bits in `half`).
//!
//! [`Reduce::fold`] reads each source once. It takes as many sources at a time as the processor's
//! prefetchers follow, and keeps partial results in the first-level cache. The loop is written
//! once for all types and operators, and compiled for each kind of vector registers.

mod combine;
mod copy;
mod exact;
mod fold;
mod half;
mod level;
mod location;
mod method;
pub mod ops;
mod reduce;
mod registers;
mod superaccumulator;
#[cfg(test)]
mod tests;
mod vector;

pub use copy::{
    copy, copy_chunk, copy_part, count_chunked, large_from, non_temporal_threshold_for, non_temporal_threshold_of,
    past_caches, set_non_temporal_threshold, stream, try_methods,
};
pub use fold::{Dests, Sources};
pub use half::{Bf16, F16};
pub use level::Level;
pub use location::Located;
pub use ops::Complex;
pub use reduce::{CombineFn, Operator, Reduce};
