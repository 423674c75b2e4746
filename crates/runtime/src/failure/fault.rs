//! Explaining segmentation faults on addresses that come from symmetric memory.
//!
//! The inlined fast path does not check; a put to an address that is not symmetric, or past
//! the end of the heap, faults on the translated address. From that address one can tell
//! whose window it is and which own address it stands for. The kernel does not give an address past the
//! end of the address space; then it is computed from the instruction (`operand.rs`).

use std::fmt::{self, Write};
use std::sync::Once;

use ferroshmem_core::failure::{debugger, fatal};
use ferroshmem_core::memory::{MemoryKind, Origins};
use ferroshmem_core::node::{self, Node};
use ferroshmem_platform::mapping::JOB_MEMORY;
use ferroshmem_platform::maps::Mapping;

use super::operand;

/// Installs the handlers, for signals that the program has not taken itself.
pub(crate) fn explain_faults() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        for signal in [libc::SIGSEGV, libc::SIGBUS] {
            // SAFETY: zeroed sigactions are valid; the handler below is async-signal-safe.
            unsafe {
                let mut old: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut old);
                if old.sa_sigaction != libc::SIG_DFL {
                    continue;
                }
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = handler as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
                libc::sigaction(signal, &raw const new, std::ptr::null_mut());
            }
        }
    });
}

/// Text without allocation: a handler may not allocate.
struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let n = s.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Prints the explanation, if there is one; on return the instruction faults again, now
/// with the default action (`SA_RESETHAND`), so status and core dump are as without us.
unsafe extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; for these signals it holds an address.
    let (addr, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    if code > 0 {
        // SAFETY: the kernel passes the context of the thread that the signal interrupts.
        unsafe { say(signal, (addr, code), context) };
    }
    debugger::at_failure();
    if code <= 0 {
        // Sent by a process: no instruction faults again. Blocked until this handler returns.
        // SAFETY: raise is async-signal-safe.
        unsafe { libc::raise(signal) };
    }
}

/// Prints the explanation of a fault at an address, if there is one.
///
/// # Safety
/// `context` is that of the thread which the signal interrupts, as the kernel passes it.
unsafe fn say(signal: i32, (addr, code): (usize, i32), context: *mut libc::c_void) {
    let Some(node) = node::current() else { return };
    // Where all PEs crash at once, one explains.
    if fatal::is_reported(node.job) {
        let _ = fatal::claim_report(node.job);
        return;
    }
    let mut line = Line { bytes: [0; 512], len: 0 };
    let said = if code == SI_KERNEL && addr == 0 {
        // SAFETY: the caller promises that `context` is that of the thread which the signal interrupts.
        let addr = unsafe { operand::address(context) };
        let outside = addr.filter(|addr| !operand::is_canonical(*addr));
        outside.map_or(Ok(false), |addr| {
            Ok(explain_outside(node, signal, addr, &mut line)? || explain_connected(node, signal, addr, &mut line)?)
        })
    } else {
        explain_smaller_heap(node, addr, &mut line)
            .and_then(|said| Ok(said || explain(node, signal, addr, &mut line)?))
            .and_then(|said| Ok(said || explain_connected(node, signal, addr, &mut line)?))
    };
    if said.is_ok_and(|said| said) && fatal::claim_report(node.job) {
        // SAFETY: write is async-signal-safe; the buffer is live.
        unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
    }
}

/// The code of a fault for which the kernel has no address.
const SI_KERNEL: i32 = 0x80;
/// Explains a fault past the end of the address space. A store to the window of a PE that is mapped higher
/// than this one, for an address that is high already, such as one of the stack, is there.
fn explain_outside(node: &Node, signal: i32, addr: usize, line: &mut Line) -> Result<bool, fmt::Error> {
    let space = node.transport.memory.space;
    let mut kind = [0; 64];
    if let Some((index, own, kind)) = mapped_origin(&space.origins(addr), &mut kind) {
        let what = if signal == libc::SIGBUS { "bus error" } else { "segmentation fault" };
        let me = node.job.name_of_pe();
        let pe = node.job.placement.local_pes()[index];
        writeln!(
            line,
            "ferroshmem: {me}: {what} at {addr:#x}, past the end of the address space: the address {own:#x} ({kind}) \
                used for PE {pe} is not symmetric: use shmem_malloc or a global variable; SHMEM_CHECK=1 names the call"
        )?;
        return Ok(true);
    }
    Ok(false)
}

/// Explains a fault behind the heap of a PE of another job, which is smaller than this PE's.
fn explain_smaller_heap(node: &Node, addr: usize, line: &mut Line) -> Result<bool, fmt::Error> {
    let space = node.transport.memory.space;
    for (_, connection) in node.transport.connections.iter() {
        if let Some((pe, own)) = connection.behind_heap(space, addr) {
            writeln!(
                line,
                "ferroshmem: {}: segmentation fault at {addr:#x}: the address {own:#x} used for PE {pe}, which is of \
                    another job, is past the end of its symmetric heap of {} bytes: give that job a larger heap; \
                    SHMEM_CHECK=1 names the call",
                node.job.name_of_pe(),
                connection.other_heap_size()
            )?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Explains a bus error in the symmetric memory of a PE of another job.
fn explain_connected_memory(node: &Node, addr: usize, line: &mut Line) -> Result<bool, fmt::Error> {
    let space = node.transport.memory.space;
    for (_, connection) in node.transport.connections.iter() {
        if let Some(pe) = connection.owner(space, addr) {
            writeln!(
                line,
                "ferroshmem: {}: bus error at {addr:#x} in the symmetric memory of PE {pe}, which is of another job: \
                    this node is out of memory",
                node.job.name_of_pe()
            )?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Explains a fault in the window of a PE of another job.
fn explain_connected(node: &Node, signal: i32, addr: usize, line: &mut Line) -> Result<bool, fmt::Error> {
    let what = if signal == libc::SIGBUS { "bus error" } else { "segmentation fault" };
    if signal == libc::SIGBUS && explain_connected_memory(node, addr, line)? {
        return Ok(true);
    }
    let mut kind = [0; 64];
    for (_, connection) in node.transport.connections.iter() {
        let origins = connection.origins(addr);
        let Some((pe, own, kind)) = origins.and_then(|of| mapped_origin(&of, &mut kind)) else {
            continue;
        };
        let Some(pe) = connection.number_of_other(pe) else {
            continue;
        };
        writeln!(
            line,
            "ferroshmem: {}: {what} at {addr:#x}: the address {own:#x} ({kind}) used for PE {pe}, which is of another \
                job, is not symmetric: use shmem_malloc or a global variable of one program, or shmemx_import; \
                SHMEM_CHECK=1 names the call",
            node.job.name_of_pe()
        )?;
        return Ok(true);
    }
    Ok(false)
}

fn explain(node: &Node, signal: i32, addr: usize, line: &mut Line) -> Result<bool, fmt::Error> {
    let space = node.transport.memory.space;
    if signal == libc::SIGBUS {
        let heap = space.heap_base()..space.heap_base() + space.heap_size() as usize;
        let own = heap.contains(&addr).then_some((node.job.index, addr));
        let owner = own.or_else(|| space.origins(addr).first_in(&heap));
        let Some((index, _)) = owner else {
            return Ok(false);
        };
        let pe = node.job.placement.local_pes()[index];
        writeln!(
            line,
            "ferroshmem: {}: bus error at {addr:#x} in the symmetric heap of PE {pe}: this node is out of memory",
            node.job.name_of_pe()
        )?;
        return Ok(true);
    }
    let advice = "SHMEM_CHECK=1 names the call";
    let world = |index: usize| node.job.placement.local_pes()[index];
    let origins = space.origins(addr);
    for index in 0..node.job.control.n_pes() {
        let (pe, own) = (world(index), origins.of(index));
        let past = own.wrapping_sub(space.heap_base() + space.heap_size() as usize);
        if past < 1 << 30 {
            writeln!(
                line,
                "ferroshmem: {}: segmentation fault at {addr:#x}: {past} bytes past the end of PE {pe}'s symmetric \
                    heap of {} bytes; {advice}",
                node.job.name_of_pe(),
                space.heap_size()
            )?;
            return Ok(true);
        }
        if space.runs_other_program(index) && space.kind(own, 1) == MemoryKind::Globals {
            writeln!(
                line,
                "ferroshmem: {}: segmentation fault at {addr:#x}: PE {pe} runs another program, whose global variables \
                    are not symmetric with these; {advice}",
                node.job.name_of_pe()
            )?;
            return Ok(true);
        }
    }
    let mut kind = [0; 64];
    if let Some((index, own, kind)) = mapped_origin(&origins, &mut kind) {
        let pe = world(index);
        writeln!(
            line,
            "ferroshmem: {}: segmentation fault at {addr:#x}: the address {own:#x} ({kind}) used for PE {pe} is not \
                symmetric: use shmem_malloc or a global variable; {advice}",
            node.job.name_of_pe()
        )?;
        return Ok(true);
    }
    Ok(false)
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
