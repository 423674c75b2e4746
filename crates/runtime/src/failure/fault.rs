//! Explaining segmentation faults on addresses that come from symmetric memory, or in an operation of the library.
//!
//! The inlined fast path does not check; a put to an address that is not symmetric, or past
//! the end of the heap, faults on the translated address. From that address one can tell
//! whose window it is and which own address it stands for. The kernel does not give an address past the
//! end of the address space; then it is computed from the instruction (`operand.rs`). Which operation it was, and at
//! which source line, `oshrun` says; a fault in none is the program's own, about which nothing is said.

use std::fmt::{self, Write};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

use ferroshmem_core::failure::{debugger, fatal, place};
use ferroshmem_core::job::{self, Attachment};
use ferroshmem_core::memory::{MemoryKind, Origins};
use ferroshmem_core::node::{self, Node};
use ferroshmem_platform::Registers;
use ferroshmem_platform::line::FixedText;
use ferroshmem_platform::mapping::JOB_MEMORY;
use ferroshmem_platform::maps::Mapping;
use ferroshmem_platform::stack;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use super::operand;

/// The signals of faults.
const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];
/// Accesses so near to null are of a member of what a null pointer is to point to.
const NULL: usize = 4096;
/// A fault so near to the stack pointer is for lack of stack, or of the program's own variables.
const NEAR_STACK: u64 = 64 << 10;
/// The code of a fault for which the kernel has no address.
const SI_KERNEL: i32 = 0x80;
/// The code of a fault on memory that is there, but not for such an access.
const SEGV_ACCERR: i32 = 2;

/// Bytes of the stack on which faults are explained: that of signals has 8 KiB in Rust's programs.
const STACK_SIZE: usize = 128 << 10;

/// What was done about the signals before.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// Installs the handlers, for signals that the program has not taken itself. In a program whose main is in Rust, its
/// standard library has, to say that the stack is full: what may be its handler comes after this one.
pub(crate) fn explain_faults() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: zeroed sigactions are valid.
        let before = SIGNALS.map(|signal| unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut old);
            old
        });
        let before = BEFORE.get_or_init(|| before);
        let may_be_rusts = before.iter().all(|old| {
            let flags = old.sa_flags & (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESETHAND);
            old.sa_sigaction == before[0].sa_sigaction && flags == libc::SA_SIGINFO | libc::SA_ONSTACK
        });
        for (signal, old) in SIGNALS.into_iter().zip(before) {
            if old.sa_sigaction != libc::SIG_DFL && !may_be_rusts {
                continue;
            }
            // SAFETY: zeroed sigactions are valid; the handler below is async-signal-safe.
            unsafe {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = handler as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(signal, &raw const new, ptr::null_mut());
            }
        }
    });
}

/// The handler that a signal had before, 0 if it had none.
fn handler_before(signal: i32) -> usize {
    let at = SIGNALS.iter().position(|of| *of == signal);
    let before = at.and_then(|at| Some(BEFORE.get()?[at].sa_sigaction));
    before.filter(|handler| *handler != libc::SIG_DFL).unwrap_or(0)
}

/// Gives the signals back to who had them.
fn restore() {
    for (signal, old) in SIGNALS.into_iter().zip(BEFORE.get().into_iter().flatten()) {
        // SAFETY: sigaction is async-signal-safe; the action was the program's.
        unsafe { libc::sigaction(signal, old, ptr::null_mut()) };
    }
}

/// Prints the explanation, if there is one; on return the instruction faults again, now
/// with the action that was there before, so status and core dump are as without us.
unsafe extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    static HANDLED: AtomicBool = AtomicBool::new(false);
    if HANDLED.swap(true, Ordering::AcqRel) {
        // Another thread's fault ends this process.
        return debugger::leave_to_first();
    }
    // SAFETY: the kernel passes a valid siginfo; for these signals it holds an address.
    let (addr, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    // SAFETY: the kernel passes the context of the thread that the signal interrupts.
    let at = unsafe { Registers::interrupted(context) };
    let of_stack = (addr as u64).abs_diff(at.sp) < NEAR_STACK;
    if !job::joined().is_some_and(Attachment::is_of_this_process) {
        // A child of fork: its fault is no PE's.
    } else if code <= 0 || of_stack {
        debugger::at_failure();
    } else if debugger::is_first_to_fail() {
        // SAFETY: as above.
        let is_write = unsafe { Registers::is_write(context) };
        let fault = Fault { signal, addr, code, at, is_write };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, which nothing else knows.
        if let Ok(stack) = unsafe { mmap_anonymous(ptr::null_mut(), STACK_SIZE, access, MapFlags::PRIVATE) } {
            let stack = ptr::slice_from_raw_parts_mut(stack.cast(), STACK_SIZE);
            // SAFETY: the kernel passes the context; the stack is this thread's alone.
            unsafe { stack::call_on(stack, || report(fault, context)) };
        }
        debugger::run_gdb();
        debugger::let_others_fail();
    } else if let Some(node) = node::current() {
        leave_to_report(node);
    }
    restore();
    if code <= 0 {
        // Sent by a process: no instruction faults again. Blocked until this handler returns.
        // SAFETY: raise is async-signal-safe.
        unsafe { libc::raise(signal) };
    }
}

/// What the kernel says of a fault.
#[derive(Debug, Clone, Copy)]
struct Fault {
    signal: i32,
    addr: usize,
    code: i32,
    at: Registers,
    is_write: Option<bool>,
}

/// Whether another PE has said why the job ends: then nothing is said of this one, by `oshrun` either.
fn leave_to_report(node: &Node) -> bool {
    let is_reported = fatal::is_reported(node.job);
    if is_reported {
        let _ = fatal::claim_report(node.job);
    }
    is_reported
}

/// Prints what is known of a fault, if it is this library's matter: one on an address that comes from symmetric
/// memory, or in one of its operations.
///
/// # Safety
/// `context` is that of the thread which the signal interrupts, as the kernel passes it.
unsafe fn report(mut fault: Fault, context: *mut libc::c_void) {
    let Some(node) = node::current() else { return };
    if leave_to_report(node) {
        return;
    }
    let mut why = FixedText::<384>::new();
    let is_outside = fault.code == SI_KERNEL && fault.addr == 0;
    let explained = if is_outside {
        // SAFETY: the caller promises that `context` is that of the thread which the signal interrupts.
        let addr = unsafe { operand::address(context) }.filter(|addr| !operand::is_canonical(*addr));
        fault.addr = addr.unwrap_or(usize::MAX);
        addr.is_some_and(|addr| explain_origin(node, addr, &mut why) || explain_connected(node, fault, &mut why))
    } else {
        explain_smaller_heap(node, fault.addr, &mut why)
            || explain(node, fault, &mut why)
            || explain_connected(node, fault, &mut why)
    };
    let before = handler_before(fault.signal);
    let answer = place::query(fault.at, before);
    if answer.is_none() && before != 0 {
        // A handler of the program's own.
        return;
    }
    let routine = answer.as_ref().and_then(place::Answer::routine);
    if !explained {
        // In an operation of the library's; else it is the program's own matter.
        if routine.is_none() {
            return;
        }
        explain_nowhere(fault, is_outside, &mut why);
    }
    let place = answer.as_ref().and_then(place::Answer::place);
    let mut line = FixedText::<1536>::new();
    let _ = write_line(&mut line, node, (fault, is_outside), (routine, place, why.as_str()));
    if fatal::claim_report(node.job) {
        let line = line.as_str();
        // SAFETY: write is async-signal-safe; the buffer is live.
        unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
    }
}

/// `ferroshmem: PE 1: shmem_long_p: segmentation fault at 0x800000000 (write): <why>; called at solve.c:12 (main)`.
fn write_line(
    line: &mut impl Write,
    node: &Node,
    (fault, is_outside): (Fault, bool),
    (routine, place, why): (Option<&str>, Option<&str>, &str),
) -> fmt::Result {
    write!(line, "ferroshmem: {}: ", node.job.name_of_pe())?;
    if let Some(routine) = routine {
        write!(line, "{routine}: ")?;
    }
    let what = if fault.signal == libc::SIGBUS { "bus error" } else { "segmentation fault" };
    match fault.addr {
        usize::MAX => write!(line, "{what}")?,
        addr => write!(line, "{what} at {addr:#x}")?,
    }
    if let Some(is_write) = fault.is_write {
        line.write_str(if is_write { " (write)" } else { " (read)" })?;
    }
    let outside = if is_outside { ", past the end of the address space" } else { "" };
    write!(line, "{outside}: {why}; ")?;
    match (place, routine) {
        (Some(place), Some(_)) => writeln!(line, "called at {place}"),
        (Some(place), None) => writeln!(line, "at {place}"),
        _ => writeln!(line, "SHMEM_CHECK=1 names the call"),
    }
}

/// Explains a fault of an operation at an address that says nothing.
fn explain_nowhere(fault: Fault, is_outside: bool, why: &mut impl Write) {
    let _ = match fault.addr {
        addr if addr < NULL => write_null(why, addr).and_then(|()| write!(why, " was passed")),
        _ if is_outside => write!(why, "no PE can have memory there"),
        _ if fault.code == SEGV_ACCERR => write!(why, "the memory there is protected"),
        _ => write!(why, "no PE has memory there"),
    };
}

/// Names the pointer by which an address so near to null was computed.
fn write_null(why: &mut impl Write, addr: usize) -> fmt::Result {
    match addr {
        0 => write!(why, "a null pointer"),
        _ => write!(why, "a null pointer, plus {addr} bytes,"),
    }
}

/// Explains a fault by the own address for which a PE's window has it. A store to the window of a PE that is mapped
/// higher than this one, for an address that is high already, such as one of the stack, is past the end of the address
/// space.
fn explain_origin(node: &Node, addr: usize, why: &mut impl Write) -> bool {
    let origins = node.transport.memory.space.origins(addr);
    let mut kind = [0; 64];
    let Some((index, own, kind)) = mapped_origin(&origins, &mut kind) else {
        return false;
    };
    let pe = node.job.placement.local_pes()[index];
    write!(
        why,
        "the address {own:#x} ({kind}) used for PE {pe} is not symmetric: use shmem_malloc or a global variable"
    )
    .is_ok()
}

/// Explains a fault behind the heap of a PE of another job, which is smaller than this PE's.
fn explain_smaller_heap(node: &Node, addr: usize, why: &mut impl Write) -> bool {
    let space = node.transport.memory.space;
    node.transport.connections.iter().any(|(_, connection)| {
        connection.behind_heap(space, addr).is_some_and(|(pe, own)| {
            write!(
                why,
                "the address {own:#x} used for PE {pe}, which is of another job, is past the end of its symmetric heap \
                    of {} bytes: give that job a larger heap",
                connection.other_heap_size()
            )
            .is_ok()
        })
    })
}

/// Explains a bus error in the symmetric memory of a PE of another job.
fn explain_connected_memory(node: &Node, addr: usize, why: &mut impl Write) -> bool {
    let space = node.transport.memory.space;
    let mut owners = node.transport.connections.iter().filter_map(|(_, connection)| connection.owner(space, addr));
    owners
        .next()
        .is_some_and(|pe| write!(why, "memory of PE {pe}, which is of another job: this node is out of memory").is_ok())
}

/// Explains a fault in the window of a PE of another job.
fn explain_connected(node: &Node, fault: Fault, why: &mut impl Write) -> bool {
    if fault.signal == libc::SIGBUS && explain_connected_memory(node, fault.addr, why) {
        return true;
    }
    let mut kind = [0; 64];
    node.transport.connections.iter().any(|(_, connection)| {
        let origins = connection.origins(fault.addr);
        let found = origins.and_then(|of| mapped_origin(&of, &mut kind));
        let found = found.and_then(|(pe, own, kind)| Some((connection.number_of_other(pe)?, own, kind)));
        found.is_some_and(|(pe, own, kind)| {
            write!(
                why,
                "the address {own:#x} ({kind}) used for PE {pe}, which is of another job, is not symmetric: use \
                    shmem_malloc or a global variable of one program, or shmemx_import"
            )
            .is_ok()
        })
    })
}

fn explain(node: &Node, fault: Fault, why: &mut impl Write) -> bool {
    let space = node.transport.memory.space;
    let (addr, heap) = (fault.addr, space.heap_base()..space.heap_base() + space.heap_size() as usize);
    let world = |index: usize| node.job.placement.local_pes()[index];
    let origins = space.origins(addr);
    if fault.signal == libc::SIGBUS {
        let own = heap.contains(&addr).then_some((node.job.index, addr));
        return own.or_else(|| origins.first_in(&heap)).is_some_and(|(index, _)| {
            write!(why, "memory in the symmetric heap of PE {}: this node is out of memory", world(index)).is_ok()
        });
    }
    for index in 0..node.job.control.n_pes() {
        let (pe, own) = (world(index), origins.of(index));
        let past = own.wrapping_sub(heap.end);
        if past < 1 << 30 {
            let size = space.heap_size();
            return write!(why, "{past} bytes past the end of PE {pe}'s symmetric heap of {size} bytes").is_ok();
        }
        if space.runs_other_program(index) && space.kind(own, 1) == MemoryKind::Globals {
            return write!(why, "PE {pe} runs another program, whose global variables are not symmetric with these")
                .is_ok();
        }
    }
    if let Some((index, own)) = origins.first_in(&(0..NULL)) {
        return write_null(why, own)
            .and_then(|()| {
                let pe = world(index);
                write!(why, " was used for PE {pe}: give symmetric memory, from shmem_malloc or a global variable")
            })
            .is_ok();
    }
    explain_origin(node, addr, why)
}

/// The own address in use for which an address in another PE's window stands: that PE, the address, and what
/// is there. Rather what is not symmetric memory, and the first PE. The kernel's list is read once, however
/// many PEs there are, and without allocating.
fn mapped_origin<'n>(origins: &Origins, name: &'n mut [u8; 64]) -> Option<(usize, usize, &'n str)> {
    let mut best = None;
    let mut len = 0;
    Mapping::each(|mapping| {
        if !mapping.is_readable() {
            return;
        }
        let Some((pe, own)) = origins.first_in(&mapping.range) else {
            return;
        };
        let rank = (mapping.name.starts_with(JOB_MEMORY.as_bytes()), pe);
        if best.is_none_or(|(least, _)| rank < least) {
            best = Some((rank, own));
            len = mapping.name.len().min(name.len());
            name[..len].copy_from_slice(&mapping.name[..len]);
        }
    });
    let ((_, pe), own) = best?;
    let text = std::str::from_utf8(&name[..len]).ok()?;
    let kind = match text {
        "[stack]" => "on the stack",
        "[heap]" => "from malloc",
        "" => "a stack or memory from malloc",
        _ if text.starts_with(JOB_MEMORY) => "in another PE's window",
        file => file,
    };
    Some((pe, own, kind))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What PE 3 of `n_pes` finds for an address of the stack, used for PE 5.
    fn on_the_stack(n_pes: usize) {
        const STRIDE: u64 = 32 << 30;
        let local = 0u8;
        let own = &raw const local as usize;
        let origins = Origins::new(3, n_pes, STRIDE, own + 2 * STRIDE as usize);
        let mut name = [0; 64];
        let (pe, address, _) = mapped_origin(&origins, &mut name).expect("the stack is mapped");
        assert_eq!((pe, address), (5, own));
    }

    /// Reads that this thread has asked the kernel for.
    fn reads() -> u64 {
        let io = fs::read_to_string("/proc/thread-self/io").expect("the kernel counts reads");
        let count = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        count.unwrap().parse().unwrap()
    }

    #[test]
    fn system_calls_do_not_grow_with_the_pes() {
        let of = |n_pes: usize| {
            let before = reads();
            on_the_stack(n_pes);
            reads() - before
        };
        // A page of lines for each read: other tests' threads map memory meanwhile.
        let (few, many) = (of(8), of(4096));
        assert!(many <= few + 4, "{few} reads for 8 PEs, {many} for 4096");
    }

    #[test]
    fn what_is_not_mapped_stands_for_nothing() {
        let origins = Origins::new(0, 2, 1 << 32, 16);
        assert!(mapped_origin(&origins, &mut [0; 64]).is_none());
    }
}
