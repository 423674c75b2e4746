//! The stack of a process: which line of the user's program it is at.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use ferroshmem_platform::Registers;
#[cfg(target_arch = "riscv64")]
use framehop::aarch64::{CacheAarch64 as CacheNative, UnwinderAarch64 as UnwinderNative};
#[cfg(not(target_arch = "riscv64"))]
use framehop::{CacheNative, UnwinderNative};
use framehop::{FrameAddress, MayAllocateDuringUnwind, Module, Unwinder};
use nix::unistd::Pid;

use super::callee::callee;
#[cfg(target_arch = "x86_64")]
use super::coroutine::resumer;
use super::frame::{SourcePlace, is_library_file};
use super::image::{Image, Line};
use super::thread::{self, Entry, HaltError, Mapping, Memory};

/// Most frames of a stack that are looked at. framehop finds no caller on RISC-V.
const MOST_FRAMES: usize = if cfg!(target_arch = "riscv64") { 1 } else { 200 };
/// Bytes of a stack that are copied, while its thread cannot change it: the library's frames and the user's first one.
const COPIED: usize = 64 << 10;
/// How often a thread that wakes all the time is looked at.
const LOOKS: usize = 20;
/// Bytes of the vDSO, at most.
const VDSO: usize = 64 << 10;

/// What a process does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Activity {
    /// It runs, or would if a core were free.
    Runs,
    /// It sleeps in a system call: its name, and the file that it is for.
    Sleeps(String, Option<PathBuf>),
    /// A debugger has it.
    Traced,
    /// It is not known: the system does not let it be seen.
    Hidden,
    /// It has ended.
    Gone,
}

/// What was seen of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessState {
    /// What it does.
    pub activity: Activity,
    /// At which place of the user's program, if that could be found.
    pub place: Option<SourcePlace>,
}

/// The innermost place of the user's program on a stack.
#[derive(Default)]
struct Found<'a> {
    place: Option<SourcePlace>,
    /// Whether there are frames of the library below it.
    through_library: bool,
    /// The function of the last of them that has a name in the program's file: an operation that is expanded there, or
    /// one of a library that is linked in.
    routine: Option<String>,
    /// The last of them in the library's own file, and the address in it.
    entry: Option<(&'a Part, u64)>,
    /// Where the call of the library returns to.
    returns_to: u64,
}

/// A call of the library, or a place of the program that is in none.
#[derive(Debug)]
pub(crate) struct Call {
    /// The routine, where its name is known; None if the thread is in none.
    pub routine: Option<String>,
    /// Where it was called; else where the thread is.
    pub place: SourcePlace,
}

/// Looks at processes; keeps what it has read of files.
#[derive(Default)]
pub(crate) struct Inspector {
    images: HashMap<(String, u64), Option<Rc<Image>>>,
    vdso: Option<Rc<Image>>,
}

/// A process, as its memory is mapped now.
pub(crate) struct Process {
    pid: Pid,
    memory: Option<Memory>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    parts: Vec<Part>,
    cache: RefCell<CacheNative<MayAllocateDuringUnwind>>,
}

/// A thread's registers, and its stack at that moment.
struct Snapshot {
    registers: Registers,
    stack: Vec<u8>,
}

/// Code that is mapped.
struct Part {
    range: Range<u64>,
    /// How far above its own addresses the file is loaded.
    bias: u64,
    image: Rc<Image>,
    is_library: bool,
}

impl Inspector {
    /// Reads what a process has mapped. A process that has ended has nothing.
    pub(crate) fn process(&mut self, pid: Pid) -> Process {
        let mappings = thread::mappings(pid);
        let memory = Memory::of(pid);
        let mut unwinder = UnwinderNative::new();
        let mut parts = Vec::new();
        for mapping in mappings.iter().filter(|m| m.is_executable) {
            let is_vdso = mapping.path == Path::new("[vdso]");
            let image = if is_vdso { self.vdso(mapping, memory.as_ref()) } else { self.image(pid, mapping) };
            let Some(image) = image else { continue };
            let Some(bias) = image.bias(mapping.range.start, mapping.offset) else {
                continue;
            };
            unwinder.add_module(Module::new(image.name.clone(), mapping.range.clone(), bias, image.unwinding()));
            parts.push(Part {
                range: mapping.range.clone(),
                bias,
                is_library: is_vdso || is_library_file(&image.name),
                image,
            });
        }
        Process { pid, memory, unwinder, parts, cache: RefCell::new(CacheNative::new()) }
    }

    fn image(&mut self, pid: Pid, mapping: &Mapping) -> Option<Rc<Image>> {
        let read = || {
            // The program's own file can be read even if it was deleted or replaced since.
            let own = PathBuf::from(format!("/proc/{pid}/exe"));
            let is_own = fs::read_link(&own).is_ok_and(|path| path == mapping.path);
            let file = if is_own { &own } else { &mapping.path };
            let name = mapping.path.to_string_lossy();
            let name = name.trim_end_matches(" (deleted)");
            let is_same = || {
                use std::os::unix::fs::MetadataExt;
                fs::metadata(file).is_ok_and(|m| m.ino() == mapping.file.1)
            };
            // Another file of the name has other lines.
            (is_own || is_same()).then(|| Image::open(file, Path::new(name)))?
        };
        let entry = self.images.entry(mapping.file.clone());
        entry.or_insert_with(|| read().map(Rc::new)).clone()
    }

    /// The code that the kernel maps into each process.
    fn vdso(&mut self, mapping: &Mapping, memory: Option<&Memory>) -> Option<Rc<Image>> {
        if self.vdso.is_none() {
            let len = (mapping.range.end - mapping.range.start) as usize;
            let bytes = memory?.read_up_to(mapping.range.start, len.min(VDSO));
            self.vdso = Image::parse(&bytes[..], Path::new(""), &mapping.path).map(Rc::new);
        }
        self.vdso.clone()
    }
}

impl Process {
    /// What the process does; `waits`: in a routine of the library.
    pub(crate) fn look(&self, waits: bool) -> ProcessState {
        let threads = thread::threads(self.pid);
        let mut first = None;
        for tid in threads {
            let (sight, through_library) = self.look_at(tid, waits);
            let is_wanted = match waits {
                true => through_library,
                false => sight.activity == Activity::Runs,
            };
            if is_wanted && sight.place.is_some() {
                return sight;
            }
            first.get_or_insert(sight);
        }
        first.unwrap_or(ProcessState { activity: Activity::Gone, place: None })
    }

    /// What a thread does, and whether the place was found through frames of the library.
    fn look_at(&self, tid: Pid, waits: bool) -> (ProcessState, bool) {
        let sight = |activity, place| ProcessState { activity, place };
        let state = thread::state(self.pid, tid);
        if matches!(state, None | Some(b'Z' | b'X')) {
            return (sight(Activity::Gone, None), false);
        }
        let mut activity = Activity::Runs;
        if state != Some(b'R')
            && let Some((entry, snapshot)) = self.asleep(tid)
        {
            activity = match entry.call {
                Some((number, argument)) => {
                    let (name, takes_file) = system_call(number);
                    let file = takes_file.then(|| self.file(argument)).flatten();
                    Activity::Sleeps(name, file)
                }
                None => Activity::Runs,
            };
            let found = self.find(&snapshot, waits);
            let found = (found.place, found.through_library);
            let is_stopped = matches!(state, Some(b'T' | b't'));
            let may_halt = waits && is_restarted(&entry) && !is_stopped;
            if found.0.is_some() || !may_halt {
                return (sight(activity, found.0), found.1);
            }
        }
        match thread::halt(self.pid, tid, |registers| self.snapshot(registers)) {
            Ok(snapshot) => {
                let found = self.find(&snapshot, waits);
                (sight(activity, found.place), found.through_library)
            }
            Err(HaltError::Gone) => (sight(activity, None), false),
            Err(HaltError::Traced) => (sight(Activity::Traced, None), false),
            Err(HaltError::Refused) => (sight(Activity::Hidden, None), false),
        }
    }

    fn snapshot(&self, registers: Registers) -> Snapshot {
        let stack = self.memory.as_ref();
        let stack = stack.map(|memory| memory.read_up_to(registers.sp, COPIED));
        Snapshot { registers, stack: stack.unwrap_or_default() }
    }

    /// Where a thread sleeps, and its stack there, if it did so for as long as it took to copy it.
    fn asleep(&self, tid: Pid) -> Option<(Entry, Snapshot)> {
        for _ in 0..LOOKS {
            let before = thread::switches(self.pid, tid);
            let entry = thread::entry(self.pid, tid)?;
            let snapshot = self.snapshot(entry.registers);
            if thread::switches(self.pid, tid) == before && thread::entry(self.pid, tid) == Some(entry) {
                return Some((entry, snapshot));
            }
        }
        None
    }

    /// The file behind a descriptor.
    fn file(&self, descriptor: u64) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/fd/{}", self.pid, descriptor as i32)).ok()
    }

    /// The call of the library that a thread with these registers is in, whose stack does not change meanwhile.
    pub(crate) fn call(&self, registers: Registers) -> Option<Call> {
        let found = self.find(&Snapshot { registers, stack: Vec::new() }, false);
        let exported = || {
            let (part, own) = found.entry?;
            let called = || {
                let memory = self.memory.as_ref()?;
                let at = callee(found.returns_to, |at, len| memory.read_up_to(at, len))?;
                part.range.contains(&at).then(|| part.image.exported(at.wrapping_sub(part.bias))).flatten()
            };
            Some(match part.image.exported(own).or_else(called) {
                // What the expanded operations call.
                Some(name) if name.starts_with("shmemi_copy") => "a put or get".to_owned(),
                Some(name) => name,
                None => part.image.name.clone(),
            })
        };
        let routine = found.through_library.then(|| found.routine.or_else(exported)).flatten();
        Some(Call { routine, place: found.place? })
    }

    /// Whether a function is the handler of faults by which Rust's standard library says that the stack is full.
    pub(crate) fn is_of_full_stack(&self, function: u64) -> bool {
        let part = self.parts.iter().find(|p| p.range.contains(&function));
        let lines = part.map(|part| part.image.lines(function.wrapping_sub(part.bias)));
        let is_it = |line: &Line| line.name().starts_with("std::") && line.name().contains("stack_overflow");
        lines.is_some_and(|lines| lines.iter().any(is_it))
    }

    /// The innermost place of the user's program on a stack; of one that `waits`, the one that has called the library:
    /// below that may be crates that the library uses.
    fn find(&self, snapshot: &Snapshot, waits: bool) -> Found<'_> {
        let mut found = Found::default();
        let mut cache = self.cache.borrow_mut();
        let registers = snapshot.registers;
        let mut read = |address: u64| {
            let at = address.wrapping_sub(registers.sp) as usize;
            let copied = at.checked_add(8).and_then(|end| snapshot.stack.get(at..end));
            let copied = copied.and_then(|bytes| bytes.try_into().ok());
            let bytes = copied.or_else(|| self.memory.as_ref()?.read(address)).ok_or(())?;
            Ok(u64::from_ne_bytes(bytes))
        };
        let from = unwind_registers(registers);
        let mut at = from;
        let mut next = Some(FrameAddress::from_instruction_pointer(registers.pc));
        for _ in 0..MOST_FRAMES {
            let Some(frame) = next else {
                break;
            };
            next = self.caller(frame, &mut at, &mut cache, &mut read);
            // A return address belongs to the call before it.
            let address = frame.address_for_lookup();
            let Some(part) = self.parts.iter().find(|p| p.range.contains(&address)) else {
                continue;
            };
            let own = address.wrapping_sub(part.bias);
            if part.is_library {
                if part.image.name.starts_with("libshmem") {
                    found.through_library = true;
                    (found.routine, found.entry) = (None, Some((part, own)));
                }
                continue;
            }
            let mut lines = part.image.lines(own);
            if lines.is_empty() {
                lines.push(Line::default());
            }
            let is_called = lines.last().is_some_and(Line::is_of_library);
            for line in lines {
                if line.is_of_library() {
                    found.through_library = true;
                    found.routine = Some(line.routine().to_owned());
                }
                if is_called || line.is_below_user() {
                    continue;
                }
                let place = SourcePlace { line, object: (part.image.name.clone(), own) };
                if !waits || found.through_library {
                    found.place = Some(place);
                    found.returns_to = address + 1;
                    return found;
                }
                found.place.get_or_insert(place);
            }
        }
        found
    }

    /// The caller of a frame, with whose registers `at`.
    fn caller(
        &self,
        frame: FrameAddress,
        at: &mut <UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind> as Unwinder>::UnwindRegs,
        cache: &mut CacheNative<MayAllocateDuringUnwind>,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> Option<FrameAddress> {
        #[cfg(target_arch = "x86_64")]
        let pointer = at.bp();
        let caller = self.unwinder.unwind_frame(frame, at, cache, read).ok().flatten()?;
        // By its frame pointer: it may be the first function of a coroutine.
        #[cfg(target_arch = "x86_64")]
        if at.sp() == pointer.wrapping_add(16)
            && let Some((pc, sp, fp)) = resumer(pointer, read)
        {
            *at = unwind_registers(Registers { pc, sp, fp, lr: 0 });
            return FrameAddress::from_return_address(pc);
        }
        FrameAddress::from_return_address(caller)
    }

    /// What an address of the program's variables is called: `flags+0x8`.
    pub(crate) fn variable(&self, address: u64) -> Option<String> {
        self.parts.iter().find_map(|part| {
            let own = address.wrapping_sub(part.bias);
            if part.range.contains(&address) || !part.image.contains(own) {
                return None;
            }
            Some(match part.image.variable(own) {
                Some((name, 0)) => format!("\"{name}\""),
                Some((name, offset)) => format!("\"{name}\"+{offset:#x}"),
                None => format!("{}+{own:#x}", part.image.name),
            })
        })
    }

    /// The integer of so many bytes at an address, without sign.
    pub(crate) fn word(&self, address: u64, bytes: u32) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        Some(match bytes {
            2 => u16::from_ne_bytes(memory.read(address)?).into(),
            4 => u32::from_ne_bytes(memory.read(address)?).into(),
            _ => u64::from_ne_bytes(memory.read(address)?),
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn unwind_registers(r: Registers) -> framehop::x86_64::UnwindRegsX86_64 {
    framehop::x86_64::UnwindRegsX86_64::new(r.pc, r.sp, r.fp)
}

/// Programs may sign return addresses in the bits that no address has.
#[cfg(not(target_arch = "x86_64"))]
fn unwind_registers(r: Registers) -> framehop::aarch64::UnwindRegsAarch64 {
    use framehop::aarch64::{PtrAuthMask, UnwindRegsAarch64};
    UnwindRegsAarch64::new_with_ptr_auth_mask(PtrAuthMask(u64::MAX >> 16), r.lr, r.sp, r.fp)
}

/// Whether the system call goes on by itself after its thread was halted.
fn is_restarted(entry: &Entry) -> bool {
    let calls = [libc::SYS_futex, libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_sched_yield];
    entry.call.is_some_and(|(number, _)| calls.contains(&number))
}

/// The name of a system call that may take long, and whether its first argument is a file.
fn system_call(number: i64) -> (String, bool) {
    const FILES: [(i64, &str); 20] = [
        (libc::SYS_read, "read"),
        (libc::SYS_write, "write"),
        (libc::SYS_readv, "readv"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_pread64, "pread"),
        (libc::SYS_pwrite64, "pwrite"),
        (libc::SYS_ioctl, "ioctl"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_flock, "flock"),
        (libc::SYS_fsync, "fsync"),
        (libc::SYS_fdatasync, "fdatasync"),
        (libc::SYS_accept, "accept"),
        (libc::SYS_accept4, "accept"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_recvfrom, "recv"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_sendto, "send"),
        (libc::SYS_sendmsg, "sendmsg"),
        (libc::SYS_epoll_pwait, "epoll_wait"),
        (libc::SYS_sendfile, "sendfile"),
    ];
    const OTHERS: [(i64, &str); 15] = [
        (libc::SYS_futex, "futex"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_clock_nanosleep, "nanosleep"),
        (libc::SYS_ppoll, "poll"),
        (libc::SYS_pselect6, "select"),
        (libc::SYS_wait4, "wait"),
        (libc::SYS_waitid, "wait"),
        (libc::SYS_rt_sigsuspend, "sigsuspend"),
        (libc::SYS_rt_sigtimedwait, "sigwait"),
        (libc::SYS_openat, "open"),
        (libc::SYS_msgrcv, "msgrcv"),
        (libc::SYS_semtimedop, "semop"),
        (libc::SYS_semop, "semop"),
        (libc::SYS_sched_yield, "sched_yield"),
        (libc::SYS_io_getevents, "io_getevents"),
    ];
    #[cfg(target_arch = "x86_64")]
    const OLD: [(i64, &str); 5] = [
        (libc::SYS_poll, "poll"),
        (libc::SYS_select, "select"),
        (libc::SYS_pause, "pause"),
        (libc::SYS_epoll_wait, "epoll_wait"),
        (libc::SYS_open, "open"),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD: [(i64, &str); 0] = [];
    let find = |all: &[(i64, &'static str)]| {
        let found = all.iter().find(|(n, _)| *n == number);
        found.map(|(_, name)| (*name).to_owned())
    };
    match find(&FILES) {
        Some(name) => (name, true),
        None => {
            let name = find(&OTHERS).or_else(|| find(&OLD));
            (name.unwrap_or_else(|| format!("system call {number}")), false)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_that_sleeps_and_one_that_is_gone() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let mut inspector = Inspector::default();
        let sleeps = Activity::Sleeps("nanosleep".to_owned(), None);
        while inspector.process(pid).look(false).activity != sleeps {}
        // The frames below main are the C library's.
        let place = inspector.process(pid).look(false).place;
        assert!(place.is_some_and(|place| place.to_string().contains("sleep")));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(inspector.process(pid).look(false).activity, Activity::Gone);
        assert_eq!(system_call(99_999), ("system call 99999".to_owned(), false));
    }
}
