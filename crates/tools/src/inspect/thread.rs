//! A thread of another process: its registers, and the memory and the files that its process has mapped.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferroshmem_platform::{Registers, process};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::unistd::Pid;
use rustix::process::{WaitId, WaitIdOptions};

/// Most threads of a process that are looked at.
const MOST_THREADS: usize = 64;
/// How long a thread may take to halt: one that waits for a disk does not.
const HALT: Duration = Duration::from_secs(2);

/// What the kernel says of a thread that sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The number of the system call, and its first argument; None: it was interrupted in the program.
    pub call: Option<(i64, u64)>,
    /// Where it entered the kernel.
    pub registers: Registers,
}

/// The threads of a process, its first one first.
pub(super) fn threads(pid: Pid) -> Vec<Pid> {
    let mut all = vec![pid];
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    let mut others: Vec<i32> = numbers.filter(|tid| *tid != pid.as_raw()).collect();
    others.sort_unstable();
    others.truncate(MOST_THREADS);
    all.extend(others.into_iter().map(Pid::from_raw));
    all
}

/// The letter of a thread's state, as `R`.
pub(super) fn state(pid: Pid, tid: Pid) -> Option<u8> {
    process::state(&fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
}

/// Where a thread that does not run entered the kernel; None while it runs, or if the kernel does not say.
pub(super) fn entry(pid: Pid, tid: Pid) -> Option<Entry> {
    Entry::parse(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?)
}

/// How often a thread has left its core: as long as this is the same, one that sleeps has not done anything in between.
pub(super) fn switches(pid: Pid, tid: Pid) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let counts = text.lines().filter_map(|line| {
        let (name, count) = line.split_once(':')?;
        name.ends_with("voluntary_ctxt_switches").then(|| count.trim().parse::<u64>().ok())?
    });
    Some(counts.sum())
}

impl Entry {
    /// Reads `NUMBER ARGUMENT... SP PC`, or `-1 SP PC`.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let number: i64 = words.next()?.parse().ok()?;
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let numbers: Option<Vec<u64>> = words.map(hex).collect();
        let numbers = numbers?;
        let [.., sp, pc] = *numbers else { return None };
        let call = (number >= 0).then(|| (number, numbers[0]));
        let registers = Registers { pc, sp, fp: 0, lr: 0 };
        Some(Self { call, registers })
    }
}

/// Why a thread's registers cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HaltError {
    /// The system does not allow it.
    Refused,
    /// A debugger has the process.
    Traced,
    /// The thread has ended, or does not halt.
    Gone,
}

/// Halts a thread, for as long as it takes to read its registers and `copy` its stack. It goes on as if nothing had
/// been: also a system call that it was about to enter is carried out.
pub(super) fn halt<T>(pid: Pid, tid: Pid, copy: impl FnOnce(Registers) -> T) -> Result<T, HaltError> {
    ptrace::seize(tid, ptrace::Options::empty()).map_err(|e| match e {
        Errno::EPERM if process::is_traced(pid.as_raw()) => HaltError::Traced,
        Errno::EPERM | Errno::EACCES | Errno::ENOSYS => HaltError::Refused,
        _ => HaltError::Gone,
    })?;
    let registers = match ptrace::interrupt(tid) {
        Ok(()) if has_halted(tid) => ptrace::getregs(tid).ok(),
        _ => None,
    };
    let copied = registers.map(|registers| copy(registers_of(registers)));
    // A thread that has not halted yet is let go by `release`, when it does.
    let _ = ptrace::detach(tid, None);
    copied.ok_or(HaltError::Gone)
}

/// Lets a child go that has halted after [`halt`] gave it up.
pub(crate) fn release(pid: Pid) {
    let _ = ptrace::detach(pid, None);
}

/// Waits until the thread has halted. That it has ended is left for the supervisor to learn.
fn has_halted(tid: Pid) -> bool {
    let begin = Instant::now();
    let Some(id) = rustix::process::Pid::from_raw(tid.as_raw()) else {
        return false;
    };
    let peek = WaitIdOptions::STOPPED
        | WaitIdOptions::EXITED
        | WaitIdOptions::NOWAIT
        | WaitIdOptions::NOHANG
        | WaitIdOptions::from_bits_retain(libc::__WALL as u32);
    loop {
        match rustix::process::waitid(WaitId::Pid(id), peek) {
            Ok(Some(status)) if status.stopped() || status.trapped() => {
                let take = (peek & !WaitIdOptions::EXITED) & !WaitIdOptions::NOWAIT;
                return matches!(rustix::process::waitid(WaitId::Pid(id), take), Ok(Some(_)));
            }
            Ok(None) if begin.elapsed() < HALT => sleep(Duration::from_micros(50)),
            _ => return false,
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn registers_of(r: libc::user_regs_struct) -> Registers {
    Registers { pc: r.rip, sp: r.rsp, fp: r.rbp, lr: 0 }
}

#[cfg(target_arch = "aarch64")]
fn registers_of(r: libc::user_regs_struct) -> Registers {
    Registers { pc: r.pc, sp: r.sp, fp: r.regs[29], lr: r.regs[30] }
}

#[cfg(target_arch = "riscv64")]
fn registers_of(r: libc::user_regs_struct) -> Registers {
    Registers { pc: r.pc, sp: r.sp, fp: r.s0, lr: r.ra }
}

/// The memory of a process.
#[derive(Debug)]
pub(super) struct Memory(File);

impl Memory {
    pub(super) fn of(pid: Pid) -> Option<Self> {
        File::open(format!("/proc/{pid}/mem")).ok().map(Self)
    }

    /// Reads as many bytes.
    pub(super) fn read<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }

    /// Reads up to `len` bytes, as far as they are mapped.
    pub(super) fn read_up_to(&self, address: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut done = 0;
        while done < len {
            match self.0.read_at(&mut bytes[done..], address + done as u64) {
                Ok(n) if n > 0 => done += n,
                _ => break,
            }
        }
        bytes.truncate(done);
        bytes
    }
}

/// A line of the kernel's list of what a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub range: Range<u64>,
    /// What is mapped begins so far into the file.
    pub offset: u64,
    pub is_executable: bool,
    /// Device and inode of the file, as the kernel prints them.
    pub file: (String, u64),
    /// The name of the file, or as `[vdso]`.
    pub path: PathBuf,
}

/// What a process has mapped of files.
pub(super) fn mappings(pid: Pid) -> Vec<Mapping> {
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(Mapping::parse).collect()
}

impl Mapping {
    fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let trimmed = rest.trim_start_matches(' ');
            let (word, after) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
            rest = after;
            word
        };
        let (range, access, offset) = (word(), word(), word());
        let (device, inode) = (word().to_owned(), word().parse().ok()?);
        let path = rest.trim_start_matches(' ');
        let (start, end) = range.split_once('-')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        (!path.is_empty()).then_some(Self {
            range: hex(start)?..hex(end)?,
            offset: hex(offset)?,
            is_executable: access.as_bytes().get(2) == Some(&b'x'),
            file: (device, inode),
            path: path.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let asleep = "230 0x0 0x1 0x7ffd0 0x7ffd1 0x0 0x0 0x7ffd8 0x7f46\n";
        let entry = Entry::parse(asleep).unwrap();
        assert_eq!(entry.call, Some((230, 0)));
        assert_eq!((entry.registers.sp, entry.registers.pc), (0x7ffd8, 0x7f46));
        let stopped = Entry::parse("-1 0x10 0x20").unwrap();
        assert_eq!((stopped.call, stopped.registers.pc), (None, 0x20));
        assert_eq!(Entry::parse("running\n"), None);
        let line = "7f00-7f80 r-xp 00001000 08:01 77   /a b/c (deleted)";
        let mapping = Mapping::parse(line).unwrap();
        assert_eq!((mapping.range, mapping.offset), (0x7f00..0x7f80, 0x1000));
        assert!(mapping.is_executable);
        assert_eq!(mapping.path.to_str(), Some("/a b/c (deleted)"));
        assert_eq!(Mapping::parse("7f00-7f80 rw-p 00000000 00:00 0 "), None);
        assert_eq!(Mapping::parse(""), None);
    }

    fn start(script: &str) -> (Child, Pid) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        (child, pid)
    }

    #[test]
    fn a_thread_that_runs_is_halted_and_goes_on() {
        const HALTS: usize = 100;
        let folder = tempfile::tempdir().unwrap();
        let end = folder.path().join("end");
        let (mut child, pid) = start(&format!("until [ -e '{}' ]; do :; done; exit 7", end.display()));
        let mut halted = 0;
        while let Ok(registers) = halt(pid, pid, |registers| registers) {
            assert!(registers.pc != 0 && registers.sp != 0);
            halted += 1;
            if halted == HALTS {
                fs::write(&end, "").unwrap();
            }
        }
        // It ends also where a halt has failed.
        fs::write(&end, "").unwrap();
        assert!(halted >= HALTS);
        // How it ended is not lost.
        assert_eq!(child.wait().unwrap().code(), Some(7));
        assert_eq!(halt(pid, pid, |_| ()), Err(HaltError::Gone));
    }

    #[test]
    fn a_process_sleeps_in_the_kernel() {
        let (mut child, pid) = start("exec sleep 1000");
        let call = loop {
            if let Some(entry) = entry(pid, pid)
                && entry.call.is_some_and(|(n, _)| n == libc::SYS_clock_nanosleep)
            {
                break entry;
            }
        };
        assert!(Memory::of(pid).unwrap().read::<8>(call.registers.sp).is_some());
        assert!(mappings(pid).iter().any(|m| m.range.contains(&call.registers.pc)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(mappings(pid).is_empty());
    }
}
