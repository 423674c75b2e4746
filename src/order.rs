//! Ordering and completion of this PE's operations (standard, "Memory Ordering Routines").
#![allow(unsafe_code)]

use std::panic::Location;
use std::sync::atomic::{self, Ordering::AcqRel, Ordering::SeqCst};

use ferroshmem_api::check::Concerns;
use ferroshmem_api::constants::CTX_DEFAULT;
use ferroshmem_api::context;
use ferroshmem_api::record::{self, Kind, Record};
use ferroshmem_core::offload;

use crate::init;
use crate::pe::Pe;

/// Whether operations may be under way when their method has returned: to other nodes, or copies that workers make of
/// non-blocking puts and gets, as where calls are recorded.
pub(crate) fn may_be_pending() -> bool {
    init::reaches_other_nodes() || offload::has_pending()
}

/// Begins to record a call, if calls are.
#[inline]
#[track_caller]
pub(crate) fn record(name: &'static str, kind: Kind, context: usize) -> Option<Record> {
    record::begin((name, Location::caller()), kind, Concerns::Context(context), 0, 0)
}

/// Orders this PE's puts, signals and atomics to each PE before its later ones.
pub(crate) fn fence(name: &'static str) {
    if may_be_pending() {
        context::fence(name, CTX_DEFAULT);
    }
    atomic::fence(SeqCst);
}

/// Ends copies of a context that workers make, before this PE updates a signal: the signal comes after them.
pub(crate) fn end_copies(name: &'static str, context: usize) {
    if offload::has_pending() {
        context::fence(name, context);
    }
}

/// Completes this PE's operations of a context.
pub(crate) fn quiet(name: &'static str, context: usize) {
    if may_be_pending() {
        context::quiet(name, context);
    }
    atomic::fence(SeqCst);
}

/// Completes this PE's puts to some PEs.
pub(crate) fn quiet_pes(pes: &[Pe]) {
    if may_be_pending() {
        let numbers = Vec::from_iter(pes.iter().map(|pe| pe.number() as i32));
        let (start, n) = (numbers.as_ptr(), numbers.len());
        // SAFETY: a vector of `n` numbers.
        unsafe { context::pe_quiet("Handle::quiet_pes", CTX_DEFAULT, start, n) };
    }
    atomic::fence(SeqCst);
}

/// Completes all operations of this PE, whichever context issued them: before memory is used in another way. That no
/// copy is under way is read in no order: the fence acquires what workers have stored.
pub(crate) fn quiet_all(name: &'static str) {
    if may_be_pending() {
        context::quiet_all(name);
    }
    atomic::fence(AcqRel);
}
