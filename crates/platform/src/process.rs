//! What the kernel says of a process, or of a thread, in its line `/proc/PID/stat`.

use std::fs;
use std::ptr;
use std::str::SplitAsciiWhitespace;

/// The fields of the line that follow the program's name: the state, the parent, and so on. The name, in
/// parentheses, may hold any character.
pub fn fields(line: &[u8]) -> Option<SplitAsciiWhitespace<'_>> {
    let name_end = line.iter().rposition(|c| *c == b')')?;
    let fields = std::str::from_utf8(&line[name_end + 1..]).ok()?;
    Some(fields.split_ascii_whitespace())
}

/// The letter of the state, as `R` for a process that runs or is ready to.
pub fn state(line: &[u8]) -> Option<u8> {
    fields(line)?.next()?.bytes().next()
}

/// The state of the process `pid`; none if there is no such process.
pub fn state_of(pid: i32) -> Option<u8> {
    state(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether the process `pid` has begun to end: its memory and files may be closed before its parent can wait for it.
pub fn is_ending(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/stat")).is_ok_and(|line| ends(&line))
}

fn ends(line: &[u8]) -> bool {
    /// Linux's PF_EXITING (include/linux/sched.h).
    const EXITING: u32 = 4;

    let flags = || fields(line)?.nth(6)?.parse::<u32>().ok();
    matches!(state(line), Some(b'Z' | b'X')) || flags().is_some_and(|flags| flags & EXITING != 0)
}

/// The processor time of a process and of the children that it has waited for, in ticks: the sum of utime,
/// stime, cutime and cstime.
pub fn ticks(line: &[u8]) -> Option<u64> {
    let mut times = fields(line)?.skip(11);
    let mut sum = 0;
    for _ in 0..4 {
        sum += times.next()?.parse::<u64>().ok()?;
    }
    Some(sum)
}

/// Reads memory of the process `pid`, wherever it is: where to, from which address, and how many bytes. False: not all
/// is there, or the system does not let this process read it.
///
/// # Safety
/// Each part is writable for its bytes.
pub unsafe fn read_memory<const N: usize>(pid: i32, parts: [(*mut u8, usize, usize); N]) -> bool {
    let to = parts.map(|(to, _, bytes)| libc::iovec { iov_base: to.cast(), iov_len: bytes });
    let from = parts.map(|(_, at, bytes)| libc::iovec { iov_base: ptr::without_provenance_mut(at), iov_len: bytes });
    let n = N as libc::c_ulong;
    // SAFETY: the caller promises that the parts are writable; the system looks whether there is something to read.
    let read = unsafe { libc::process_vm_readv(pid, to.as_ptr(), n, from.as_ptr(), n, 0) };
    usize::try_from(read).is_ok_and(|read| read == parts.iter().map(|part| part.2).sum())
}

/// Whether a debugger, or another tracer, is attached to the process `pid`.
pub fn is_traced(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|pid| pid.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_where_it_is_there() {
        let (from, mut to) = ([7u8, 8, 9], [0u8; 3]);
        let (me, at) = (std::process::id().cast_signed(), from.as_ptr().expose_provenance());
        // SAFETY: both are of this process.
        let mut read = |last| unsafe {
            let to = to.as_mut_ptr();
            read_memory(me, [(to.add(2), at, 1), (to, last, 2)])
        };
        if !read(at + 1) {
            println!("skipped: the system lets no process read memory so");
            return;
        }
        assert!(!read(8));
        assert_eq!(to, [8, 9, 7]);
    }

    #[test]
    fn the_name_may_hold_anything() {
        let line = b"7 (a (\xff) c) Z 1 7 7 0 -1 4 0 0 0 0 10 2 300 40 20 0 1 0 5 0 0";
        assert_eq!(state(line), Some(b'Z'));
        assert_eq!(fields(line).and_then(|mut f| f.nth(1)), Some("1"));
        assert_eq!(ticks(line), Some(352));
        assert_eq!(ticks(b"7 (sh) R 1 7 7 0 -1 4 0 0 0 0 10 2"), None);
        assert_eq!(state(b"12 (sh"), None);
        assert!(ends(line) && ends(b"7 (sh) R 1 7 7 0 -1 4194564 0"));
        assert!(!ends(b"7 (sh) R 1 7 7 0 -1 4194560 0") && !ends(b"12 (sh"));
    }
}
