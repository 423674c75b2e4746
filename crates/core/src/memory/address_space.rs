//! The windows: the symmetric memory of every PE of this node as mapped in this process. PEs
//! go by their numbers among those of the node here.

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, ptr};

use ferroshmem_platform::mapping::{self, Advice, MapAddress};
use ferroshmem_platform::memory_policy::MemoryPolicy;

use super::globals::Globals;
use super::layout::{self, Layout};
use super::memkind;
use super::origin::Origins;
use super::window_error::WindowError;
use super::windows::{Mapped, Windows};
use crate::job::Attachment;

/// The mapped symmetric memory of a job.
#[derive(Debug)]
pub struct AddressSpace {
    me: usize,
    n_pes: usize,
    layout: Layout,
    globals: Option<Globals>,
    /// Where PE r's globals are. Empty: at the stride, as the rule says.
    scattered: Vec<usize>,
    /// The others' heaps.
    others_heaps: Mapped,
    /// The others' globals.
    others_globals: Mapped,
    /// PEs that run another executable. Empty: none.
    other_programs: Vec<bool>,
    /// Bytes from the start of this PE's heap that earlier initialisations of the library may have
    /// left written.
    heap_mark: AtomicU64,
    /// Bytes from the start of this PE's heap that core files have.
    dumped: AtomicU64,
    /// The policy of this PE's memory.
    home: MemoryPolicy,
}

/// Memory behind this PE's own that another PE has touched: it used an address that is not symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stray {
    /// Behind the heap.
    Heap {
        /// Bytes past the end.
        past: u64,
        /// Bytes of the heap.
        size: u64,
    },
    /// Behind the globals.
    Globals {
        /// Bytes past the end.
        past: u64,
    },
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heap { past, size } => write!(
                f,
                "another PE accessed this PE's memory {past} bytes past the end of the symmetric heap of {size} bytes"
            ),
            Self::Globals { past } => write!(
                f,
                "another PE accessed this PE's memory {past} bytes past the end of the global variables: it used an \
                    address that is not symmetric, such as one from malloc"
            ),
        }?;
        write!(f, "; SHMEM_CHECK=1 names the call")
    }
}

/// What kind of symmetric memory an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// The symmetric heap.
    Heap,
    /// The executable's global and static variables.
    Globals,
    /// Not symmetric.
    NotSymmetric,
}

/// Added to places in the globals, above any offset.
pub const IN_GLOBALS: u64 = 1 << 62;

/// The place of what is not symmetric.
pub const NOWHERE: u64 = u64::MAX;

/// A place ([`AddressSpace::place`]), for messages.
pub fn show_place(place: u64) -> String {
    match place {
        NOWHERE => "not symmetric".to_owned(),
        IN_GLOBALS.. => format!("byte {} of the global variables", place - IN_GLOBALS),
        _ => format!("byte {place} of the symmetric heap"),
    }
}

/// The offset of the `len` bytes at `addr` in memory at `start` of `size` bytes, if they lie within it.
#[inline]
pub(crate) fn offset_in((start, size): (usize, usize), addr: usize, len: usize) -> Option<usize> {
    let offset = addr.wrapping_sub(start);
    (offset < size && len <= size - offset).then_some(offset)
}

impl AddressSpace {
    /// Maps all heaps, and the others' globals if there are any, at layout candidate `k`.
    pub fn map(job: &Attachment, k: u32, globals: Option<Globals>) -> Result<Self, WindowError> {
        let header = job.control.header();
        let n_pes = job.control.n_pes();
        let mut this = Self {
            me: job.index,
            n_pes,
            layout: layout::candidate(k, header.widest as usize, header.slot_size, header.heap_size),
            globals,
            scattered: Vec::new(),
            others_heaps: Mapped::default(),
            others_globals: Mapped::default(),
            other_programs: Vec::new(),
            heap_mark: AtomicU64::new(0),
            dumped: AtomicU64::new(0),
            home: memkind::home(),
        };
        this.map_heaps(job)?;
        this.map_globals(job)?;
        this.prefer_numa_node();
        Ok(this)
    }

    /// Which memory of each PE is mapped: `len` bytes, PE 0's at `first_offset` in the job's file.
    fn windows(&self, len: usize, first_offset: u64, file_stride: u64) -> Windows {
        Windows {
            me: self.me,
            n_pes: self.n_pes,
            stride: self.layout.stride,
            is_planned: self.layout.is_planned,
            len,
            first_offset,
            file_stride,
        }
    }

    fn heap_windows(&self, job: &Attachment) -> Windows {
        let stride = job.control.header().slot_size;
        let len = self.layout.heap_size as usize;
        self.windows(len, job.control.offsets().heap(0), stride)
    }

    fn globals_windows(&self, job: &Attachment, globals: &Globals) -> Windows {
        let stride = job.control.header().slot_size;
        self.windows(globals.len, job.control.offsets().globals(0), stride)
    }

    fn map_heaps(&mut self, job: &Attachment) -> Result<(), WindowError> {
        if self.layout.heap_size == 0 {
            return Ok(());
        }
        let failed = |e: io::Error| match e.raw_os_error() {
            Some(libc::EEXIST | libc::EINVAL | libc::ENOMEM | libc::EPERM) => WindowError::Taken,
            _ => WindowError::Io("map the symmetric heaps", e),
        };
        let (base, len) = (self.layout.heap_base, self.layout.heap_size as usize);
        let others = self.heap_windows(job).map_around(&job.file, base);
        self.others_heaps = others.map_err(failed)?;
        // My own last: side by side in the file, it would else be joined with the others.
        let (offset, at) = (job.control.offsets().heap(self.me), MapAddress::Exactly(base));
        // SAFETY: not placed over anything.
        let own = unsafe { mapping::map_shared(job.file.as_fd(), offset, len, at) };
        if let Err(e) = own {
            // SAFETY: mapped just above, and not used yet.
            unsafe { self.others_heaps.unmap() };
            return Err(failed(e));
        }
        mapping::advise(base, len, Advice::LinuxHugepage);
        // The kernel would find memory for all of it to write a core file.
        mapping::advise(base, len, Advice::LinuxDontDump);
        Ok(())
    }

    /// Has this PE's memory taken from its NUMA node, also where another PE touches it first.
    fn prefer_numa_node(&mut self) {
        if self.home == MemoryPolicy::FirstTouch {
            return;
        }
        let heap = (self.layout.heap_base, self.layout.heap_size as usize);
        let globals = self.globals.as_ref().map(|g| (g.start, g.len));
        for (at, len) in [Some(heap), globals].into_iter().flatten() {
            if len > 0 && self.home.apply(at, len).is_err() {
                // Memory is where it is touched first.
                self.home = MemoryPolicy::FirstTouch;
                return;
            }
        }
    }

    /// Has core files of this PE contain its heap up to `end`.
    #[inline]
    pub fn dump_heap_to(&self, end: u64) {
        let from = self.dumped.load(Ordering::Relaxed);
        if end > from {
            // Few calls, where blocks are small.
            let to = end.next_multiple_of(mapping::HUGE_PAGE as u64);
            let to = to.min(self.layout.heap_size);
            self.dump_heap(&(from..to));
            self.dumped.store(to, Ordering::Relaxed);
        }
    }

    /// Has core files of this PE contain these bytes of its heap: multiples of the page size.
    pub fn dump_heap(&self, range: &Range<u64>) {
        let at = self.layout.heap_base + range.start as usize;
        mapping::advise(at, (range.end - range.start) as usize, Advice::LinuxDoDump);
    }

    /// Has bytes of this PE's heap that have no memory yet taken from where `policy` says.
    ///
    /// # Errors
    /// As of [`MemoryPolicy::apply`].
    pub fn place_heap(&self, range: &Range<u64>, policy: &MemoryPolicy) -> io::Result<()> {
        let at = self.layout.heap_base + range.start as usize;
        policy.apply(at, (range.end - range.start) as usize)
    }

    /// Gives bytes of this PE's heap the policy of the heap.
    pub fn replace_heap(&self, range: &Range<u64>) {
        // What the kernel has permitted for another policy it permits for this one.
        let _ = self.place_heap(range, &self.home);
    }

    /// Gives the memory of bytes of this PE's heap back to the system: true if they read as zero after.
    pub fn empty_heap(&self, job: &Attachment, range: &Range<u64>) -> bool {
        let offset = job.control.offsets().heap(self.me) + range.start;
        mapping::punch_hole(job.file.as_fd(), offset, range.end - range.start)
    }

    /// Maps the others' globals where the rule has them, or anywhere if some window has no room (an
    /// executable at a low address, for PEs below this one).
    fn map_globals(&mut self, job: &Attachment) -> Result<(), WindowError> {
        let Some(globals) = &self.globals else {
            return Ok(());
        };
        let windows = self.globals_windows(job, globals);
        if let Ok(mapped) = windows.map_around(&job.file, globals.start) {
            self.others_globals = mapped;
            return Ok(());
        }
        let scattered = windows.map_anywhere(&job.file, globals.start);
        (self.scattered, self.others_globals) =
            scattered.map_err(|e| WindowError::Io("map the global variables of the other PEs", e))?;
        Ok(())
    }

    /// Removes the windows of the globals of PEs that run another executable.
    pub fn drop_other_programs(&mut self, strange: impl Fn(usize) -> bool) {
        let Some(globals) = self.globals.clone() else {
            return;
        };
        let runs_other_program = |pe| pe != self.me && strange(pe);
        if !(0..self.n_pes).any(runs_other_program) {
            return;
        }
        self.other_programs = (0..self.n_pes).map(runs_other_program).collect();
        for pe in 0..self.n_pes {
            if self.other_programs[pe] {
                // SAFETY: no symmetric variable is there; the program has not started to use it.
                unsafe { mapping::unmap(self.globals_window(globals.start, pe), globals.len) };
            }
        }
    }

    /// Removes all windows, for another try at other addresses.
    ///
    /// # Safety
    /// Nothing uses them.
    pub unsafe fn unmap(&self) {
        let (base, len) = (self.layout.heap_base, self.layout.heap_size as usize);
        // SAFETY: mapped by this space; the caller promises that nothing uses the windows.
        unsafe {
            self.others_heaps.unmap();
            self.others_globals.unmap();
            if len > 0 {
                mapping::unmap(base, len);
            }
        }
    }

    /// What another PE has touched behind this PE's heap or globals, where a stray access does not fault.
    pub fn stray(&self, job: &Attachment) -> Option<Stray> {
        let heap = || {
            let past = self.heap_windows(job).stray(&job.file)?;
            Some(Stray::Heap { past, size: self.layout.heap_size })
        };
        let globals = || {
            let windows = self.globals_windows(job, self.globals.as_ref()?);
            let past = windows.stray(&job.file)?;
            Some(Stray::Globals { past })
        };
        let in_heap = self.others_heaps.has_gaps().then(heap).flatten();
        in_heap.or_else(|| self.others_globals.has_gaps().then(globals).flatten())
    }

    /// The end of what may be written in this PE's heap when the library is initialised.
    pub fn heap_mark(&self) -> u64 {
        self.heap_mark.load(Ordering::Relaxed)
    }

    /// Keeps the first `mark` bytes of this PE's heap as they are for the next initialisation.
    pub fn keep_heap(&self, mark: u64) {
        self.heap_mark.store(mark, Ordering::Relaxed);
    }

    /// Gives the memory of this PE's heap, of which the first `mark` bytes may be written, back to the system, once all
    /// PEs of the node do so. The last one does it for all: for each piece of memory, the kernel looks through the
    /// mappings of all PEs.
    pub fn give_back_heap(&self, job: &Attachment, mark: u64) {
        self.keep_heap(mark);
        let (header, n) = (job.control.header(), job.control.n_pes());
        let number = header.finalized.fetch_add(1, Ordering::AcqRel).wrapping_add(1) as usize;
        if number.is_multiple_of(n) {
            let offsets = job.control.offsets();
            let (start, end) = (offsets.heap(0), offsets.heap(n));
            let given_back = mapping::punch_hole(job.file.as_fd(), start, end - start);
            header.heaps_given_back.store(given_back.into(), Ordering::Release);
        }
    }

    /// Before the library is initialised again, when all PEs have finalised it: notes whether the heap reads as zero.
    pub fn take_heap_again(&self, job: &Attachment) {
        if job.control.header().heaps_given_back.load(Ordering::Acquire) != 0 {
            self.keep_heap(0);
        }
    }

    /// Writes zeros to `len` bytes of this PE's heap from `offset` on, but not where there is no memory
    /// yet: that reads as zero and shall cost nothing.
    ///
    /// # Safety
    /// The bytes are in the heap, and nothing else uses them.
    pub unsafe fn clear_heap(&self, job: &Attachment, offset: u64, len: u64) {
        /// Fewer bytes are written in less time than the system finds memory among them.
        const SHORT: u64 = 64 << 10;

        let clear = |from: u64, to: u64| {
            let at = self.layout.heap_base + from as usize;
            let at = ptr::with_exposed_provenance_mut::<u8>(at);
            // SAFETY: the caller promises that these bytes of the heap are unused.
            unsafe { ptr::write_bytes(at, 0, (to - from) as usize) };
        };
        if len <= SHORT {
            return clear(offset, offset + len);
        }
        let heap = job.control.offsets().heap(self.me);
        let file = job.file.as_fd();
        mapping::with_memory(file, heap + offset, heap + offset + len, |from, to| {
            clear(from - heap, to - heap);
        });
    }

    /// Puts bytes of this PE's heap on huge pages, and what they share these with.
    ///
    /// # Errors
    /// As of [`mapping::collapse`].
    pub fn collapse_heap(&self, offset: u64, len: u64) -> io::Result<()> {
        const HUGE_PAGE: u64 = mapping::HUGE_PAGE as u64;
        let from = offset / HUGE_PAGE * HUGE_PAGE;
        let to = (offset + len).next_multiple_of(HUGE_PAGE);
        let to = to.min(self.layout.heap_size / HUGE_PAGE * HUGE_PAGE);
        let at = self.layout.heap_base + from as usize;
        // SAFETY: this PE's heap is mapped.
        unsafe { mapping::collapse(at, to.saturating_sub(from) as usize) }
    }

    #[inline]
    fn window(&self, addr: usize, pe: usize) -> usize {
        let distance = (pe as i64 - self.me as i64).wrapping_mul(self.layout.stride as i64);
        addr.wrapping_add(distance as usize)
    }

    #[inline]
    fn globals_window(&self, addr: usize, pe: usize) -> usize {
        match (self.scattered.get(pe), &self.globals) {
            (Some(base), Some(globals)) => base + (addr - globals.start),
            _ => self.window(addr, pe),
        }
    }

    /// What kind of memory the `len` bytes at `addr` are in, on this PE.
    #[inline]
    pub fn kind(&self, addr: usize, len: usize) -> MemoryKind {
        let is_in = |memory| offset_in(memory, addr, len).is_some();
        if is_in((self.layout.heap_base, self.layout.heap_size as usize)) {
            MemoryKind::Heap
        } else if self.globals.as_ref().is_some_and(|g| is_in((g.start, g.len))) {
            MemoryKind::Globals
        } else {
            MemoryKind::NotSymmetric
        }
    }

    /// What kind of memory the `len` bytes at `addr` are in, and how many bytes from its start.
    #[inline]
    pub fn position(&self, addr: usize, len: usize) -> (MemoryKind, usize) {
        let place = self.kind(addr, len);
        let start = match (place, &self.globals) {
            (MemoryKind::Heap, _) => self.layout.heap_base,
            (MemoryKind::Globals, Some(globals)) => globals.start,
            _ => addr,
        };
        (place, addr - start)
    }

    /// A word for an address that is the same on all PEs: its place in the heap or the globals
    /// ([`show_place`]).
    pub fn place(&self, addr: usize) -> u64 {
        match self.position(addr, 1) {
            (MemoryKind::Heap, offset) => offset as u64,
            (MemoryKind::Globals, offset) => IN_GLOBALS | offset as u64,
            (MemoryKind::NotSymmetric, _) => NOWHERE,
        }
    }

    /// The same for bytes that may be in private memory, where it is [`NOWHERE`], as it is in the globals if
    /// another program asks.
    pub fn place_of(&self, addr: usize, len: usize, is_other_program: bool) -> u64 {
        match self.kind(addr, len) {
            MemoryKind::Heap => self.place(addr),
            MemoryKind::Globals if !is_other_program => self.place(addr),
            _ => NOWHERE,
        }
    }

    /// The address of a place on this PE.
    pub fn address(&self, place: u64) -> Option<usize> {
        match place {
            NOWHERE => None,
            IN_GLOBALS.. => Some(self.globals.as_ref()?.start + (place - IN_GLOBALS) as usize),
            _ => Some(self.layout.heap_base + place as usize),
        }
    }

    /// Where PE `pe`'s copy of the `len` bytes at `addr` is, if they are symmetric.
    #[inline]
    pub fn translate(&self, addr: usize, len: usize, pe: usize) -> Option<*mut u8> {
        let there = match self.kind(addr, len) {
            MemoryKind::Heap => self.window(addr, pe),
            MemoryKind::Globals if !self.other_programs.get(pe).copied().unwrap_or(false) => {
                self.globals_window(addr, pe)
            }
            _ => return None,
        };
        Some(ptr::with_exposed_provenance_mut(there))
    }

    /// Whether PE `pe` runs another executable, so that globals are not symmetric with it.
    pub fn runs_other_program(&self, pe: usize) -> bool {
        self.other_programs.get(pe).copied().unwrap_or(false)
    }

    /// Whether any PE runs another executable.
    pub fn any_runs_other_program(&self) -> bool {
        !self.other_programs.is_empty()
    }

    /// For a global variable that does not obey the rule of the stride: where each PE's
    /// globals are, and its offset in them.
    pub fn scattered(&self, addr: usize) -> Option<(&[usize], usize)> {
        let globals = self.globals.as_ref()?;
        let is_scattered = !self.at_stride() && self.kind(addr, 1) == MemoryKind::Globals;
        is_scattered.then(|| (self.scattered.as_slice(), addr - globals.start))
    }

    /// Whether every symmetric address obeys the rule of the stride.
    pub fn at_stride(&self) -> bool {
        self.scattered.is_empty()
    }

    /// log2 of the stride in bytes.
    pub fn log2_stride(&self) -> u32 {
        self.layout.stride.trailing_zeros()
    }

    /// The addresses of all PEs' heaps, and what lies between them.
    pub fn heap_windows_range(&self) -> Range<usize> {
        let last = self.window(self.layout.heap_base, self.n_pes.saturating_sub(1));
        self.window(self.layout.heap_base, 0)..last + self.layout.heap_size as usize
    }

    /// Address of this PE's heap.
    pub fn heap_base(&self) -> usize {
        self.layout.heap_base
    }

    /// Bytes of this PE's heap.
    pub fn heap_size(&self) -> u64 {
        self.layout.heap_size
    }

    /// This PE's globals, if they are symmetric.
    pub fn globals(&self) -> Option<&Globals> {
        self.globals.as_ref()
    }

    /// What `addr` stands for in the windows of all PEs.
    pub fn origins(&self, addr: usize) -> Origins {
        Origins::new(self.me, self.n_pes, self.layout.stride, addr)
    }
}
