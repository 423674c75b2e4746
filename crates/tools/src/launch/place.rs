//! Where in its program a thread has called the library, for a PE that is about to end.

use std::ffi::OsString;

use ferroshmem_core::job::adoption::PLACE;
use ferroshmem_platform::Registers;
use ferroshmem_platform::line::one_line;
use nix::unistd::Pid;

use super::failure::Failure;
use crate::inspect::{Call, Inspector};

/// Prints routine and place, a line each, if `arguments` ask for that; nothing if the place is not known.
pub(super) fn run(arguments: &[OsString]) -> Option<Result<u8, Failure>> {
    let [only] = arguments else {
        return None;
    };
    let words = only.to_str()?.strip_prefix(PLACE)?;
    let numbers: Option<Vec<u64>> = words.split(',').map(|n| n.parse().ok()).collect();
    let Some([pid, pc, sp, fp, lr, handler]) = numbers.as_deref() else {
        return Some(Err(Failure::usage(format!("{PLACE}{words} is for the library alone"))));
    };
    let registers = Registers { pc: *pc, sp: *sp, fp: *fp, lr: *lr };
    let process = Inspector::default().process(Pid::from_raw(*pid as i32));
    let is_explained = *handler == 0 || process.is_of_full_stack(*handler);
    let call = is_explained.then(|| process.call(registers)).flatten();
    let answer = call.map(|Call { routine, place }| {
        let routine = routine.unwrap_or_default();
        format!("{}\n{}\n", one_line(&routine), one_line(&place.to_string()))
    });
    Some(Err(Failure::Answer(answer.unwrap_or_default())))
}
