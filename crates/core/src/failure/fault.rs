//! Explaining segmentation faults on addresses that come from symmetric memory.
//!
//! The inlined fast path does not check; a put to an address that is not symmetric, or past
//! the end of the heap, faults on the translated address. From that address one can tell
//! whose window it is and which own address it stands for. The kernel does not give an address past the
//! end of the address space; then it is computed from the instruction (`operand.rs`).

use std::fmt::{self, Write};
use std::sync::Once;

use super::fatal;
use super::operand;
use crate::memory::MemoryKind;
use crate::runtime::{self, Runtime};

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
    if code <= 0 {
        // Sent by a process: no instruction faults again. Blocked until this handler returns.
        // SAFETY: raise is async-signal-safe.
        unsafe { libc::raise(signal) };
        return;
    }
    let Some(rt) = runtime::current() else { return };
    let mut line = Line {
        bytes: [0; 512],
        len: 0,
    };
    let said = if code == SI_KERNEL && addr == 0 {
        // SAFETY: the kernel passes the context of the thread that the signal interrupts.
        let addr = unsafe { operand::address(context) };
        let outside = addr.filter(|addr| !operand::is_canonical(*addr));
        outside.map_or(Ok(false), |addr| {
            explain_outside(rt, signal, addr, &mut line)
        })
    } else {
        explain(rt, signal, addr, &mut line)
    };
    if said.is_ok_and(|said| said) && fatal::is_first(rt.node.job) {
        // SAFETY: write is async-signal-safe; the buffer is live.
        unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.len) };
    }
}

/// The code of a fault for which the kernel has no address.
const SI_KERNEL: i32 = 0x80;
/// Explains a fault past the end of the address space. A store to the window of a PE that is mapped higher
/// than this one, for an address that is high already, such as one of the stack, is there.
fn explain_outside(
    rt: &Runtime,
    signal: i32,
    addr: usize,
    line: &mut Line,
) -> Result<bool, fmt::Error> {
    let space = rt.node.transport.memory.space;
    for (index, own) in space.origins(addr) {
        let mut kind = [0; 64];
        if index == rt.node.job.index || !operand::is_canonical(own) {
            continue;
        }
        let Some(kind) = mapped_as(own, &mut kind) else {
            continue;
        };
        let what = if signal == libc::SIGBUS {
            "bus error"
        } else {
            "segmentation fault"
        };
        let (me, pe) = (rt.node.me, rt.node.job.placement.local_pes()[index]);
        writeln!(
            line,
            "ferroshmem: PE {me}: {what} at {addr:#x}, past the end of the address space: the address {own:#x} ({kind}) used for PE {pe} is not symmetric: use shmem_malloc or a global variable; SHMEM_CHECK=1 names the call"
        )?;
        return Ok(true);
    }
    Ok(false)
}

fn explain(rt: &Runtime, signal: i32, addr: usize, line: &mut Line) -> Result<bool, fmt::Error> {
    let space = rt.node.transport.memory.space;
    if signal == libc::SIGBUS {
        let owner = space
            .origins(addr)
            .find(|(_, own)| space.kind(*own, 1) == MemoryKind::Heap);
        let Some((index, _)) = owner else {
            return Ok(false);
        };
        let pe = rt.node.job.placement.local_pes()[index];
        writeln!(
            line,
            "ferroshmem: PE {}: bus error at {addr:#x} in the symmetric heap of PE {pe}: this node is out of memory",
            rt.node.me
        )?;
        return Ok(true);
    }
    let advice = "SHMEM_CHECK=1 names the call";
    let world = |index: usize| rt.node.job.placement.local_pes()[index];
    for (index, own) in space.origins(addr) {
        let pe = world(index);
        let past = own.wrapping_sub(space.heap_base() + space.heap_size() as usize);
        if past < 1 << 30 {
            writeln!(
                line,
                "ferroshmem: PE {}: segmentation fault at {addr:#x}: {past} bytes past the end of PE {pe}'s symmetric heap of {} bytes; {advice}",
                rt.node.me,
                space.heap_size()
            )?;
            return Ok(true);
        }
        if space.runs_other_program(index) && space.kind(own, 1) == MemoryKind::Globals {
            writeln!(
                line,
                "ferroshmem: PE {}: segmentation fault at {addr:#x}: PE {pe} runs another program, whose global variables are not symmetric with these; {advice}",
                rt.node.me
            )?;
            return Ok(true);
        }
    }
    for (index, own) in space.origins(addr) {
        if index == rt.node.job.index {
            continue;
        }
        let pe = world(index);
        let mut kind = [0u8; 64];
        if let Some(kind) = mapped_as(own, &mut kind) {
            writeln!(
                line,
                "ferroshmem: PE {}: segmentation fault at {addr:#x}: the address {own:#x} ({kind}) used for PE {pe} is not symmetric: use shmem_malloc or a global variable; {advice}",
                rt.node.me
            )?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is mapped at `addr`, by the kernel's list; read without allocating.
fn mapped_as(addr: usize, name: &mut [u8; 64]) -> Option<&str> {
    // SAFETY: open, read and close are async-signal-safe; the buffer is live.
    let fd = unsafe {
        libc::open(
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    if fd < 0 {
        return None;
    }
    let mut buffer = [0u8; 4096];
    let mut line = [0u8; 256];
    let mut len = 0;
    let mut found = None;
    'read: loop {
        // SAFETY: as above.
        let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        let Ok(n) = usize::try_from(n) else { break };
        if n == 0 {
            break;
        }
        for &b in &buffer[..n] {
            if b == b'\n' {
                if let Some(what) = what_if_within(&line[..len], addr) {
                    let n = what.len().min(name.len());
                    name[..n].copy_from_slice(&what[..n]);
                    found = Some(n);
                    break 'read;
                }
                len = 0;
            } else if len < line.len() {
                line[len] = b;
                len += 1;
            }
        }
    }
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
    let n = found?;
    let text = std::str::from_utf8(&name[..n]).ok()?;
    Some(match text {
        "[stack]" => "on the stack",
        "[heap]" => "from malloc",
        "" => "a stack or memory from malloc",
        "/memfd:ferroshmem" | "/memfd:ferroshmem (deleted)" => "in another PE's window",
        file => file,
    })
}

/// The name at the end of a line of `/proc/self/maps`, if the line's range holds `addr`.
fn what_if_within(line: &[u8], addr: usize) -> Option<&[u8]> {
    let mut fields = line.split(|b| *b == b' ').filter(|f| !f.is_empty());
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let (from, to) = range.split_once('-')?;
    let from = usize::from_str_radix(from, 16).ok()?;
    let to = usize::from_str_radix(to, 16).ok()?;
    (from..to)
        .contains(&addr)
        .then(|| fields.nth(4).unwrap_or(b""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read() {
        let line = b"7ffd1000-7ffd3000 rw-p 00000000 00:00 0                  [stack]";
        assert_eq!(what_if_within(line, 0x7ffd_2fff), Some(&b"[stack]"[..]));
        assert_eq!(what_if_within(line, 0x7ffd_3000), None);
        let anonymous = b"1000-2000 rw-p 00000000 00:00 0 ";
        assert_eq!(what_if_within(anonymous, 0x1800), Some(&b""[..]));
    }

    #[test]
    fn the_stack_is_known() {
        let local = 0u8;
        let mut name = [0; 64];
        assert!(mapped_as(&raw const local as usize, &mut name).is_some());
        assert_eq!(mapped_as(16, &mut name), None);
    }
}
