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

/// Reads memory of the process `pid`, wherever it is. False: it is not there, or the system does not let this process
/// read it.
///
/// # Safety
/// `to` is writable for `bytes` bytes.
pub unsafe fn read_memory(pid: i32, to: *mut u8, from: usize, bytes: usize) -> bool {
    /// Of a call, which Linux limits to a page less than 2 GiB.
    const MOST: usize = 1 << 30;

    (0..bytes).step_by(MOST).all(|done| {
        let iov_len = MOST.min(bytes - done);
        let to = libc::iovec { iov_base: to.wrapping_add(done).cast(), iov_len };
        let from = libc::iovec { iov_base: ptr::without_provenance_mut(from + done), iov_len };
        // SAFETY: the caller promises that `to` is writable; the system looks whether `from` is readable.
        let read = unsafe { libc::process_vm_readv(pid, &raw const to, 1, &raw const from, 1, 0) };
        usize::try_from(read).is_ok_and(|read| read == iov_len)
    })
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
        let (from, mut to) = ([7u8; 100], [0u8; 100]);
        let me = std::process::id().cast_signed();
        // SAFETY: both are of this process.
        let mut read = |from: usize| unsafe { read_memory(me, to.as_mut_ptr(), from, 100) };
        if !read(from.as_ptr().expose_provenance()) {
            eprintln!("skipped: the system lets no process read memory so");
            return;
        }
        assert!(!read(8));
        assert_eq!(to, from);
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
