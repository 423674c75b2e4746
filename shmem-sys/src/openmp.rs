//! The function by which a run-time of OpenMP finds a tool (OpenMP 5.0, `ompt_start_tool`).

use std::ffi::{c_char, c_uint};

use ferroshmem_core::offload::openmp::{self, Tool};

/// The tool that lets threads take part in large copies, that of another library, or null: one is to be looked for.
#[unsafe(no_mangle)]
extern "C" fn shmemi_start_tool(version: c_uint, runtime: *const c_char) -> *const Tool {
    // SAFETY: the run-time gives a C string.
    unsafe { openmp::start_tool(version, runtime) }
}

// Weak, so that a tool of the program's own takes its place.
std::arch::global_asm!(
    ".weak ompt_start_tool",
    ".type ompt_start_tool, %function",
    ".set ompt_start_tool, shmemi_start_tool",
);
