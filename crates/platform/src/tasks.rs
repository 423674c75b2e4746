//! The threads of this process, as the kernel lists them in `/proc/self/task`. Nothing here allocates, except in
//! errors: a thread that is stopped meanwhile may hold the allocator's lock.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::{fmt, io};

use rustix::fs::{CWD, Mode, OFlags, RawDir, SeekFrom};

use super::process;

/// A thread's number and name.
#[derive(Debug, Clone, Copy)]
pub struct ThreadName {
    tid: i32,
    name: [u8; 16],
    len: usize,
}

impl ThreadName {
    /// The name of the thread with a number; empty if it has ended.
    pub(super) fn of(tid: i32) -> Self {
        let mut this = Self { tid, name: [0; 16], len: 0 };
        let mut text = [0; 64];
        if let Ok(comm) = read(tid, "comm", &mut text) {
            let comm = comm.strip_suffix(b"\n").unwrap_or(comm);
            this.len = comm.len().min(this.name.len());
            this.name[..this.len].copy_from_slice(&comm[..this.len]);
        }
        this
    }
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = String::from_utf8_lossy(&self.name[..self.len]);
        write!(f, "thread {} ({:?})", self.tid, name)
    }
}

/// The list of this process's threads.
pub(super) struct Tasks {
    list: OwnedFd,
    is_emulated: OnceCell<bool>,
}

impl Tasks {
    pub(super) fn open() -> io::Result<Tasks> {
        Ok(Tasks { list: open(c"/proc/self/task")?, is_emulated: OnceCell::new() })
    }

    /// Whether there is one thread.
    pub(super) fn is_one(&self) -> io::Result<bool> {
        let mut count = 0;
        self.each_of_process(|_| count += 1)?;
        Ok(count == 1 || self.is_one_beside_emulator()?)
    }

    // Apart, so that the start of a program with one thread touches no page of the stack for it.
    #[cold]
    #[inline(never)]
    fn is_one_beside_emulator(&self) -> io::Result<bool> {
        let mut count = 0;
        if self.is_emulated() {
            self.each(|_| count += 1)?;
        }
        Ok(count == 1)
    }

    /// Whether an emulator runs this process (qemu-user), which has threads of its own.
    pub(super) fn is_emulated(&self) -> bool {
        *self.is_emulated.get_or_init(is_emulated)
    }

    /// Calls `f` with the number of each thread of the program.
    pub(super) fn each(&self, mut f: impl FnMut(i32)) -> io::Result<()> {
        self.each_of_process(|tid| {
            if !(self.is_emulated() && is_emulators(tid)) {
                f(tid);
            }
        })
    }

    fn each_of_process(&self, mut f: impl FnMut(i32)) -> io::Result<()> {
        rustix::fs::seek(&self.list, SeekFrom::Start(0))?;
        let mut entries = [MaybeUninit::uninit(); 1024];
        let mut entries = RawDir::new(&self.list, &mut entries);
        while let Some(entry) = entries.next() {
            // "." and ".." are no numbers.
            let entry = entry?;
            let name = entry.file_name().to_str();
            if let Some(tid) = name.ok().and_then(|name| name.parse().ok()) {
                f(tid);
            }
        }
        Ok(())
    }
}

/// Whether qemu-user runs this process: the kernel names it here, where `/proc/self` has the program's name.
#[cold]
#[inline(never)]
fn is_emulated() -> bool {
    let mut path = [MaybeUninit::uninit(); 4096];
    let path = rustix::fs::readlinkat_raw(CWD, c"/proc/thread-self/exe", &mut path);
    path.is_ok_and(|(path, _)| path.rsplit(|byte| *byte == b'/').next().is_some_and(|name| name.starts_with(b"qemu-")))
}

/// Whether a thread of an emulated process is the emulator's: it blocks all signals, which those of the program never
/// do, as the emulator keeps what they block to itself.
fn is_emulators(tid: i32) -> bool {
    let realtime = u64::MAX << (libc::SIGRTMIN() - 1);
    blocked(tid).is_some_and(|set| set & realtime == realtime)
}

/// The number of the calling thread.
pub(super) fn this_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Whether a thread has ended. The first thread of a process stays in the list as a zombie.
pub(super) fn has_ended(tid: i32) -> bool {
    matches!(state(tid), None | Some(b'Z' | b'X'))
}

/// The letter of a thread's state, as `R` for one that runs or is ready to.
pub(super) fn state(tid: i32) -> Option<u8> {
    let mut text = [0; 512];
    process::state(read(tid, "stat", &mut text).ok()?)
}

/// The signals that a thread blocks, a bit each.
pub(super) fn blocked(tid: i32) -> Option<u64> {
    let mut text = [0; 4096];
    let status = read(tid, "status", &mut text).ok()?;
    let line = status.split(|c| *c == b'\n').find_map(|line| line.strip_prefix(b"SigBlk:"))?;
    u64::from_str_radix(std::str::from_utf8(line).ok()?.trim(), 16).ok()
}

/// Reads the start of `/proc/self/task/TID/FILE`.
fn read<'a>(tid: i32, file: &str, text: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let mut path = [0u8; 64];
    write!(&mut path[..63], "/proc/self/task/{tid}/{file}")?;
    let path = CStr::from_bytes_until_nul(&path).map_err(io::Error::other)?;
    let length = rustix::io::read(open(path)?, &mut *text)?;
    Ok(&text[..length])
}

fn open(path: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
