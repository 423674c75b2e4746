//! The hooks by which the runtime calls the C API while it initialises, and `SHMEM_NATIVE_ONLY`.

use std::sync::atomic::{AtomicBool, Ordering};

use ferroshmem_api::hooks::{self, Hooks};
use ferroshmem_api::setup;

use crate::{inline_counts, interposition, native, objects};

unsafe extern "C" {
    fn shmemi_line_buffer_stdout();
}

fn line_buffer_stdout() {
    // SAFETY: a C function without preconditions: it changes the stream only before its first use.
    unsafe { shmemi_line_buffer_stdout() }
}

/// Set by programs compiled with `SHMEM_NATIVE_ONLY`.
static NATIVE_REQUIRED: AtomicBool = AtomicBool::new(false);

fn native_required() -> bool {
    NATIVE_REQUIRED.load(Ordering::Relaxed)
}

/// Called by every routine that initialises the library, before it does.
pub(crate) extern "C" fn prepare() {
    hooks::set(Hooks {
        native_changed: native::changed,
        native_added: native::added,
        native_removed: native::removed,
        native_ordered: native::ordered,
        native_resilient: native::resilient,
        native_pending: native::pending,
        native_required,
        inline_counts: inline_counts::counts,
        line_buffer_stdout,
        mismatch: objects::mismatch,
        interposed: interposition::interposed,
    });
    setup::watch_until_initialised();
}

// In a Rust program with parts in C, the Rust API initialises the runtime, which does not depend on
// the C API: so this sets the hooks before `main`. It is linked wherever `shmemi_require_native` is,
// which is in the same object file, and which rustc keeps as it keeps every exported function.
std::arch::global_asm!(
    ".pushsection .init_array,\"aw\"",
    ".p2align 3",
    ".quad {prepare}",
    ".popsection",
    prepare = sym prepare,
);

/// Called before `main`, or when it is loaded, by code compiled with `SHMEM_NATIVE_ONLY`.
#[unsafe(no_mangle)]
extern "C" fn shmemi_require_native() {
    NATIVE_REQUIRED.store(true, Ordering::Relaxed);
    if native::is_on() {
        return;
    }
    native::fault_without_test();
    let mut initialized = 0;
    // SAFETY: the pointer is to a variable, which the routine sets.
    unsafe { setup::query_initialized("shmem_query_initialized", &raw mut initialized) };
    if initialized != 0 {
        setup::require_native("dlopen of code compiled with -DSHMEM_NATIVE_ONLY");
    }
}
