//! What a process does, seen from outside: where in its program, in which call of the system, on which variable.
//!
//! Nothing runs in the process: a signal handler of the library's would end system calls of the program early, and
//! could not answer while a program blocks signals or is stopped. The kernel says where a thread that sleeps entered it
//! (`/proc/PID/task/TID/syscall`); a thread that runs is halted for some microseconds by `ptrace`. The stack is unwound
//! here, by the tables of the files that are mapped.

mod callee;
mod coroutine;
mod frame;
mod image;
mod stack;
mod thread;

pub(crate) use self::frame::SourcePlace;
pub(crate) use self::image::Image;
pub(crate) use self::stack::{Activity, Call, Inspector, Process, ProcessState};
pub(crate) use self::thread::release;
