//! Each access to some memory, whatever instruction makes it: the memory is protected, so that an access faults, and
//! mapped a second time elsewhere. The handler notes the access and goes on at a copy of the instruction, which
//! accesses the second mapping (`stub.rs`). Where there can be none, it lets this one instruction through, by a trap
//! after it, and protects the memory again: that takes ten times as long.
//!
//! An instruction that reads and writes, as an atomic does, counts as a write. One that touches several lines is
//! noted with the first.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use ferroshmem_platform::Registers;
use ferroshmem_platform::mapping::{self, MapAddress};

use super::stub;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// An access of one PE.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Access {
    pub(crate) address: usize,
    pub(crate) pe: u32,
    pub(crate) is_write: bool,
    /// Number of the call that it belongs to; 0 if it is not counted.
    pub(crate) call: u32,
}

/// From a place in traced memory to the same place of the second mapping.
const DISTANCE: usize = (1_usize << 44).wrapping_neg();
/// Most ranges, and most pages that one instruction touches.
const MOST: usize = 4;
/// Most accesses.
const CAPACITY: usize = 1 << 24;

static RANGES: [[AtomicUsize; 2]; MOST] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; MOST];
static OPEN: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static LOG: AtomicPtr<Access> = AtomicPtr::new(std::ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);
static OVERFLOWN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Number of the PE, and of its call.
    static ACCESSOR: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// From now on the calling thread's accesses are PE `pe`'s, in the call of this number; 0: they do not count.
pub(crate) fn accesses_of(pe: usize, call: usize) {
    ACCESSOR.set((pe as u32, call as u32));
    stub::set_distance(DISTANCE);
}

/// Notes an access of the calling thread.
pub(crate) fn note(address: usize, is_write: bool) {
    let (pe, call) = ACCESSOR.get();
    let access = Access { address, pe, is_write, call };
    let length = LENGTH.fetch_add(1, Ordering::Relaxed);
    if length < CAPACITY {
        // SAFETY: within the log.
        unsafe { LOG.load(Ordering::Relaxed).add(length).write(access) };
    } else {
        OVERFLOWN.store(true, Ordering::Relaxed);
    }
}

fn is_traced(address: usize) -> bool {
    RANGES.iter().any(|[start, end]| (start.load(Ordering::Relaxed)..end.load(Ordering::Relaxed)).contains(&address))
}

fn protect(range: Range<usize>, protection: c_int) {
    let address = std::ptr::with_exposed_provenance_mut(range.start);
    // SAFETY: whole pages that the test gave to be traced.
    let failed = unsafe { libc::mprotect(address, range.len(), protection) };
    assert_eq!(failed, 0, "mprotect");
}

const OPENED: c_int = libc::PROT_READ | libc::PROT_WRITE;
/// In the flags of the processor: a trap after one instruction.
const TRAP: i64 = 1 << 8;

type Previous = MaybeUninit<libc::sigaction>;

unsafe extern "C" fn on_access(_: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives both.
    let (address, is_write, context) = unsafe {
        let is_write = Registers::is_write(context);
        ((*info).si_addr().addr(), is_write, &mut *context.cast::<libc::ucontext_t>())
    };
    if !is_traced(address) {
        // A fault of another kind: it comes again, and ends the process.
        // SAFETY: the default action.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    }
    let registers = &mut context.uc_mcontext.gregs;
    note(address, is_write == Some(true));
    let instruction = registers[libc::REG_RIP as usize] as usize;
    // SAFETY: the instruction has accessed traced memory; simulated PEs run one at a time.
    if let Some(copy) = unsafe { stub::of(instruction) } {
        registers[libc::REG_RIP as usize] = copy as i64;
        return;
    }
    let page = address & !(PAGE - 1);
    let open = OPEN.iter().find(|open| open.load(Ordering::Relaxed) == 0);
    open.expect("an instruction of few pages").store(page, Ordering::Relaxed);
    protect(page..page + PAGE, OPENED);
    registers[libc::REG_EFL as usize] |= TRAP;
}

unsafe extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    for open in &OPEN {
        let page = open.swap(0, Ordering::Relaxed);
        if page != 0 {
            protect(page..page + PAGE, libc::PROT_NONE);
        }
    }
    // SAFETY: the kernel gives it.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP;
}

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void);

fn handle(signal: c_int, handler: Handler) -> Previous {
    let mut previous = Previous::uninit();
    // SAFETY: zero bytes are an action; the handler has the type that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(signal, &raw const action, previous.as_mut_ptr()), 0);
    }
    previous
}

/// The pages of `range` that hold anything.
fn used_pages(range: &Range<usize>) -> impl Iterator<Item = usize> {
    let words = |page: usize| {
        let first = std::ptr::with_exposed_provenance::<u64>(page);
        // SAFETY: a page of memory that the test gave to be traced, and that no other thread uses now.
        unsafe { std::slice::from_raw_parts(first, PAGE / size_of::<u64>()) }
    };
    range.clone().step_by(PAGE).filter(move |page| words(*page).iter().any(|word| *word != 0))
}

/// Puts shared memory of the same content in the place of `range`, and maps it at [`DISTANCE`], too.
fn map_twice(range: &Range<usize>) {
    let file = mapping::memory_file(range.len() as u64).expect("memory");
    let second = MapAddress::Exactly(range.start.wrapping_add(DISTANCE));
    let page = |at| std::ptr::with_exposed_provenance_mut::<u8>(at);
    // SAFETY: what is replaced has been copied; the second mapping is where there is room.
    unsafe {
        mapping::map_shared(file.as_fd(), 0, range.len(), second).expect("room");
        for at in used_pages(range) {
            page(at).copy_to(page(at.wrapping_add(DISTANCE)), PAGE);
        }
        let over = MapAddress::Over(range.start);
        mapping::map_shared(file.as_fd(), 0, range.len(), over).expect("the memory to be traced");
    }
}

/// Puts private memory of the same content in the place of `range`.
fn map_once(range: &Range<usize>) {
    protect(range.clone(), OPENED);
    let page = |at| std::ptr::with_exposed_provenance_mut::<u8>(at);
    let used: Vec<_> = used_pages(range).collect();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: what is replaced is in the second mapping, too, which ends here.
    unsafe {
        let at = libc::mmap(page(range.start).cast(), range.len(), OPENED, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        for at in used {
            page(at.wrapping_add(DISTANCE)).copy_to(page(at), PAGE);
        }
        mapping::unmap(range.start.wrapping_add(DISTANCE), range.len());
    }
}

/// One trace at a time: the handlers are the process's.
pub(crate) struct Trace {
    ranges: Vec<Range<usize>>,
    previous: [Previous; 2],
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Trace {
    /// Traces accesses to `ranges`, which are whole pages.
    pub(crate) fn begin(ranges: &[Range<usize>]) -> Self {
        let alone = ALONE.lock().unwrap();
        assert!(ranges.len() <= MOST);
        let bytes = CAPACITY * size_of::<Access>();
        if LOG.load(Ordering::Relaxed).is_null() {
            let (protection, flags) = (OPENED, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
            // SAFETY: new memory.
            let log = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
            assert_ne!(log, libc::MAP_FAILED);
            LOG.store(log.cast(), Ordering::Relaxed);
        }
        LENGTH.store(0, Ordering::Relaxed);
        stub::prepare();
        let previous = [handle(libc::SIGSEGV, on_access), handle(libc::SIGTRAP, on_trap)];
        for (i, range) in ranges.iter().enumerate() {
            assert!(range.start % PAGE == 0 && range.end % PAGE == 0);
            RANGES[i][1].store(range.end, Ordering::Relaxed);
            RANGES[i][0].store(range.start, Ordering::Relaxed);
            map_twice(range);
            protect(range.clone(), libc::PROT_NONE);
        }
        Self { ranges: ranges.to_vec(), previous, _alone: alone }
    }

    /// The accesses, in their order.
    pub(crate) fn end(self) -> Vec<Access> {
        for (i, range) in self.ranges.iter().enumerate() {
            map_once(range);
            RANGES[i][1].store(0, Ordering::Relaxed);
        }
        for (signal, previous) in [libc::SIGSEGV, libc::SIGTRAP].into_iter().zip(&self.previous) {
            // SAFETY: the action that `begin` has replaced.
            unsafe { libc::sigaction(signal, previous.as_ptr(), std::ptr::null_mut()) };
        }
        assert!(!OVERFLOWN.load(Ordering::Relaxed), "too many accesses");
        let length = LENGTH.load(Ordering::Relaxed);
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts(LOG.load(Ordering::Relaxed), length) }.to_vec()
    }
}
