//! What happens around the runtime's initialisation: hooks, and `SHMEM_NATIVE_ONLY`.

use std::sync::atomic::{AtomicBool, Ordering};

use ferroshmem_core::api::hooks::{self, Hooks};
use ferroshmem_core::api::setup;

use crate::{interposition, native};

unsafe extern "C" {
    fn shmemi_line_buffer_stdout();
}

fn line_buffer_stdout() {
    // SAFETY: changes the stream only while it has no buffer yet.
    unsafe { shmemi_line_buffer_stdout() }
}

/// Set by programs compiled with `SHMEM_NATIVE_ONLY`.
static NATIVE_REQUIRED: AtomicBool = AtomicBool::new(false);

/// Called by every routine that initialises the library, before it does.
pub(crate) fn prepare() {
    hooks::set(Hooks {
        native_changed: native::changed,
        line_buffer_stdout,
        interposed: interposition::interposed,
    });
}

/// Called by every routine that initialises the library, after it has.
pub(crate) fn ready(name: &'static str) {
    if NATIVE_REQUIRED.load(Ordering::Relaxed) {
        setup::require_native(name);
    }
}

/// Called before `main`, or when it is loaded, by code compiled with `SHMEM_NATIVE_ONLY`.
#[unsafe(no_mangle)]
extern "C" fn shmemi_require_native() {
    NATIVE_REQUIRED.store(true, Ordering::Relaxed);
    if native::is_on() {
        return;
    }
    native::fault_without_test();
    let mut initialized = 0;
    // SAFETY: a place for the answer.
    unsafe { setup::query_initialized("shmem_query_initialized", &mut initialized) };
    if initialized != 0 {
        setup::require_native("dlopen of code compiled with -DSHMEM_NATIVE_ONLY");
    }
}
