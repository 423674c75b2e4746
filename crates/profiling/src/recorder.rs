//! A PE's record: the mapped file, and how calls are added to it.

mod collectives;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::panic::Location;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use ferroshmem_platform::mapping::{MapAddress, map_shared};
use ferroshmem_platform::object::{self as code, Object};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use super::call_site::{CallSites, DEPTH};
use super::clock;
use super::inlined::Added;
use super::recorded_call::{RecordedCall, Scope};
use ferroshmem_core::node;
use ferroshmem_core::node::Node;
use ferroshmem_layout::profile::{Kind, Layout, MAGIC, SITES, WORD, event, header, object, peer, site, sizes};

/// Nanoseconds that a short operation takes longer which is a call instead of inlined, and recorded.
const CALL_NS: u64 = 150;
/// Most bytes of one.
const SHORT: usize = 1024;
/// So many nanoseconds, and one in so many of the run, such operations may take in all.
const ALLOWED_NS: u64 = 500_000;
const ALLOWED_SHARE: u64 = 50;
/// So often that is looked at, in operations.
const LOOKED_AT: u64 = 1024;

/// Where a call came from.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallPlace {
    /// This return address; 0: unknown.
    Address(usize),
    /// This line of Rust.
    Source(&'static Location<'static>),
}

/// The record of this PE.
#[derive(Debug)]
pub(super) struct Recorder {
    words: &'static [AtomicU64],
    layout: Layout,
    file: File,
    /// Held while sums are changed: threads may call at the same time.
    busy: AtomicBool,
    pub(super) call_sites: CallSites,
    /// Node of each PE is this one's, bit by bit.
    local: Box<[bool]>,
    me: usize,
    /// Short operations within the node so far.
    short: AtomicU64,
    /// End of the last collective, and the time in routines since.
    last_collective: AtomicU64,
    in_routines: AtomicU64,
    /// The thread that initialised the library.
    main_thread: AtomicU32,
    threads: AtomicU32,
}

/// This thread's number, from 1 on.
fn thread_number(next: &AtomicU32) -> u32 {
    use std::cell::Cell;
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(next.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}

/// Held while sums are changed.
struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Recorder {
    /// `entry` is the address of [`super::begin`].
    pub(super) fn new(node: &Node, folder: &str, trace: Option<u64>, entry: usize) -> io::Result<Self> {
        let layout = Layout::new(node.n_pes, trace.unwrap_or(0));
        let path = Path::new(folder).join(format!("pe.{}", node.me));
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let file = options.truncate(false).open(path)?;
        // Jobs that this one has spawned inherit the variable.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.set_len(0)?;
        let bytes = (layout.events().end * WORD) as u64;
        file.set_len(bytes)?;
        // A store to a page that the disk has no room for would end the process.
        reserve(&file, 0, layout.events().start * WORD)?;
        let len = layout.newest().end * WORD;
        // SAFETY: a new mapping, of the file's first part; the kernel chooses its address.
        let at = unsafe { map_shared(file.as_fd(), 0, len, MapAddress::Anywhere)? };
        // SAFETY: the mapping is page-aligned, has so many words, and stays until the process ends.
        let words = unsafe { std::slice::from_raw_parts(at.cast::<AtomicU64>().cast_const(), layout.newest().end) };
        let placement = &node.job.placement;
        let local = (0..node.n_pes).map(|pe| placement.local_index(pe).is_some());
        let recorder = Self {
            words,
            layout,
            file,
            busy: AtomicBool::new(false),
            call_sites: CallSites::new((entry, DEPTH + 1)),
            local: local.collect(),
            me: node.me,
            short: AtomicU64::new(0),
            last_collective: AtomicU64::new(0),
            in_routines: AtomicU64::new(0),
            main_thread: AtomicU32::new(0),
            threads: AtomicU32::new(0),
        };
        let numbers = [
            (header::PE, node.me),
            (header::N_PES, node.n_pes),
            (header::PID, std::process::id() as usize),
            (header::SITES, layout.sites),
            (header::COLLECTIVES, layout.collectives),
            (header::EVENTS, layout.events),
            (header::EVENTS_ROOM, layout.events),
            (header::NODE, placement.of(node.me).node as usize),
            (header::COLLECTIVES_STEP, 1),
        ];
        for (at, number) in numbers {
            recorder.set(at, number as u64);
        }
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let host = read("/proc/sys/kernel/hostname");
        recorder.set_text(header::HOST, header::HOST_WORDS, host.trim());
        let boot = read("/proc/sys/kernel/random/boot_id");
        recorder.set_text(header::BOOT, header::BOOT_WORDS, boot.trim());
        let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        recorder.set_text(header::COMMAND, header::COMMAND_WORDS, command.trim());
        recorder.set(header::MAGIC, MAGIC);
        Ok(recorder)
    }

    /// The time in the program begins.
    pub(super) fn begin(&self, inlined: u64) {
        let now = clock::now();
        let realtime = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        self.main_thread.store(thread_number(&self.threads), Ordering::Relaxed);
        self.last_collective.store(now, Ordering::Relaxed);
        if self.get(header::BEGIN) == 0 {
            self.set(header::BEGIN, now);
            let realtime = realtime.map_or(0, |time| time.as_nanos() as u64);
            self.set(header::REALTIME, realtime);
        }
        self.set(header::INLINED, inlined);
    }

    /// It ends.
    pub(super) fn end(&self, entered: u64) {
        self.set(header::END_ENTERED, entered);
        self.set(header::END, clock::now());
        self.set(header::THREADS, self.threads.load(Ordering::Relaxed).into());
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Relaxed);
    }

    #[inline]
    fn add_to(&self, at: usize, value: u64) {
        self.set(at, self.get(at).wrapping_add(value));
    }

    fn raise_to(&self, at: usize, value: u64) {
        if value > self.get(at) {
            self.set(at, value);
        }
    }

    fn set_text(&self, at: usize, words: usize, text: &str) {
        let mut bytes = text.as_bytes();
        // The end of a path says more than its start.
        if bytes.len() > words * WORD {
            bytes = &bytes[bytes.len() - words * WORD..];
        }
        for (word, chunk) in bytes.chunks(WORD).enumerate() {
            let mut eight = [0; WORD];
            eight[..chunk.len()].copy_from_slice(chunk);
            self.set(at + word, u64::from_le_bytes(eight));
        }
    }

    fn lock(&self) -> Busy<'_> {
        while self.busy.swap(true, Ordering::Acquire) {
            thread::yield_now();
        }
        Busy(&self.busy)
    }

    /// The site of a call; the last one, with no name, stands for those that there is no room for.
    pub(super) fn site(&self, call: &RecordedCall, place: CallPlace) -> u32 {
        let key = match place {
            CallPlace::Address(address) => address as u64,
            CallPlace::Source(location) => std::ptr::from_ref(location).addr() as u64,
        };
        let name = call.routine.as_ptr().addr() as u64;
        self.find_site((name, key), call.routine, call.kind, Some(place))
    }

    fn find_site(&self, key: (u64, u64), name: &str, kind: Kind, place: Option<CallPlace>) -> u32 {
        let mixed = (key.0 ^ key.1.rotate_left(24)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut index = (mixed >> 32) as usize % SITES;
        for _ in 0..SITES {
            let at = self.layout.sites().start + index * site::WORDS;
            let is_free = self.words[at + site::KIND].load(Ordering::Acquire) == 0;
            if is_free && self.register(at, key, name, kind, place) {
                return index as u32;
            }
            if (self.get(at + site::KEY), self.get(at + site::KEY + 1)) == key {
                return index as u32;
            }
            index = (index + 1) % SITES;
        }
        self.add_to(header::SITES_LOST, 1);
        SITES as u32
    }

    /// Makes a free place this site; not if another thread has taken it.
    #[cold]
    fn register(&self, at: usize, key: (u64, u64), name: &str, kind: Kind, place: Option<CallPlace>) -> bool {
        let _busy = self.lock();
        if self.get(at + site::KIND) != 0 {
            return false;
        }
        self.set(at + site::KEY, key.0);
        self.set(at + site::KEY + 1, key.1);
        let (file, position) = self.position(place);
        self.set(at + site::OBJECT, file);
        self.set(at + site::PLACE, position);
        self.set_text(at + site::NAME, site::NAME_WORDS, name);
        self.words[at + site::KIND].store(kind as u64 + 1, Ordering::Release);
        true
    }

    /// The number of a place's file plus 1, and the position in it; 0 if it is not known.
    fn position(&self, place: Option<CallPlace>) -> (u64, u64) {
        match place {
            Some(CallPlace::Address(address)) if address != 0 => {
                let Some(mut found) = Object::around(address - 1) else {
                    return (0, 0);
                };
                if Some(found.base) == code::program()
                    && let Ok(path) = std::fs::read_link("/proc/self/exe")
                {
                    found.path = path.to_string_lossy().into_owned();
                }
                let position = address - 1 - found.load_address();
                (self.object(&found.path, found.base as u64, false), position as u64)
            }
            Some(CallPlace::Source(location)) => {
                (self.object(location.file(), location.file().as_ptr().addr() as u64, true), location.line().into())
            }
            _ => (0, 0),
        }
    }

    fn object(&self, path: &str, base: u64, is_source: bool) -> u64 {
        for index in 0..object::MOST {
            let at = self.layout.objects().start + index * object::WORDS;
            match self.get(at + object::BASE) {
                0 => {
                    self.set(at + object::IS_SOURCE, is_source.into());
                    self.set_text(at + object::PATH, object::PATH_WORDS, path);
                    self.set(at + object::BASE, base);
                }
                other if other != base => continue,
                _ => {}
            }
            return index as u64 + 1;
        }
        0
    }

    /// Adds a call that has ended. This thread was ready to run without a core for some time before it, and in it.
    pub(super) fn add(
        &self,
        call: &RecordedCall,
        index: u32,
        (begin, end): (u64, u64),
        [core_before, core_in_it]: [u64; 2],
    ) {
        let thread = thread_number(&self.threads);
        let is_main = thread == self.main_thread.load(Ordering::Relaxed);
        let address = self.symmetric(call.address);
        let _busy = self.lock();
        let ns = end.saturating_sub(begin);
        let bytes = call.bytes as u64;
        let at = self.add_counts(call, index);
        self.add_to(at + site::NS, ns);
        self.raise_to(at + site::LONGEST, ns);
        let time = if is_main { header::MAIN_NS } else { header::OTHERS_NS };
        self.add_to(time, ns);
        self.add_to(at + site::CORE_NS, core_in_it);
        if is_main {
            self.add_to(header::CORE_NS, core_before);
        }
        self.set(header::LAST, end);
        let mut subject = 0;
        match call.scope {
            Scope::Pe(pe) => subject = pe as u64 + 1,
            Scope::Team { members, id, root } if call.kind.is_collective() => {
                let (team, sequence) = self.next_collective(members, id);
                subject = sequence << 16 | team;
                let since = self.last_collective.load(Ordering::Relaxed);
                let in_routines = self.in_routines.load(Ordering::Relaxed);
                let computed = begin.saturating_sub(since).saturating_sub(in_routines);
                let site = u64::from(index) | u64::from(root) << 32;
                self.keep_collective([begin, end, subject, site, computed]);
                self.last_collective.store(end, Ordering::Relaxed);
                self.in_routines.store(0, Ordering::Relaxed);
                if call.kind != Kind::Barrier && call.kind != Kind::Free {
                    self.add_size(sizes::COLLECTIVE, bytes);
                }
            }
            _ => {}
        }
        if !call.kind.is_collective() && is_main {
            let before = self.in_routines.load(Ordering::Relaxed);
            self.in_routines.store(before + ns, Ordering::Relaxed);
        }
        if call.kind == Kind::Allocate {
            self.look_at_heap(end);
        }
        if self.layout.events > 0 {
            let site = u64::from(index) | u64::from(thread) << 32;
            let extra = self.symmetric(call.signal);
            self.add_event([begin, end, site, subject, bytes, address, extra]);
        }
    }

    /// Adds what a call has done, and returns the first word of its site.
    fn add_counts(&self, call: &RecordedCall, index: u32) -> usize {
        let bytes = call.bytes as u64;
        let at = self.layout.sites().start + index as usize * site::WORDS;
        self.add_to(at + site::CALLS, 1);
        self.add_to(at + site::BYTES, bytes);
        self.raise_to(at + site::LARGEST, bytes);
        if let Scope::Pe(pe) = call.scope {
            self.add_peer(call, pe, at);
        }
        at
    }

    /// Adds a call if its time is not taken: false if it is.
    #[inline]
    pub(super) fn add_untimed(&self, call: &RecordedCall, index: u32) -> bool {
        let is_untimed = self.get(header::INLINED) == header::COUNTED_ALONE && self.is_short(call);
        if is_untimed {
            let _busy = self.lock();
            let at = self.add_counts(call, index);
            self.add_to(at + site::UNTIMED, 1);
        }
        is_untimed
    }

    /// Whether a program would make this operation without a call, in less time than it takes to ask the clock.
    fn is_short(&self, call: &RecordedCall) -> bool {
        let is_local = match call.scope {
            Scope::Pe(pe) => self.local.get(pe).is_some_and(|is_local| *is_local),
            _ => false,
        };
        is_local && call.bytes <= SHORT && matches!(call.kind, Kind::Put | Kind::Get | Kind::Atomic)
    }

    /// Whether the program makes so many short operations that taking their time costs too much. A trace has all.
    pub(super) fn is_costly(&self, now: u64) -> bool {
        let calls = self.short.load(Ordering::Relaxed);
        let is_looked_at = calls > 0 && calls.is_multiple_of(LOOKED_AT);
        if !is_looked_at || self.layout.events > 0 || self.get(header::INLINED) != 0 {
            return false;
        }
        let elapsed = now.saturating_sub(self.get(header::BEGIN));
        calls.saturating_mul(CALL_NS) > ALLOWED_NS + elapsed / ALLOWED_SHARE
    }

    /// Counts them alone from now on.
    pub(super) fn count_alone(&self, now: u64) {
        self.set(header::COUNTED_AT, now);
        self.set(header::INLINED, header::COUNTED_ALONE);
    }

    /// A word for a symmetric address that is the same on all PEs.
    fn symmetric(&self, address: usize) -> u64 {
        if address == 0 || self.layout.events == 0 {
            return 0;
        }
        let place = node::current().map(|node| node.transport.memory.space.place(address));
        place.unwrap_or(0)
    }

    fn add_size(&self, class: usize, bytes: u64) {
        let bucket = (u64::BITS - bytes.leading_zeros()) as usize;
        let bucket = bucket.min(sizes::BUCKETS - 1);
        let at = self.layout.sizes().start + (class * sizes::BUCKETS + bucket) * 2;
        self.add_to(at, 1);
        self.add_to(at + 1, bytes);
    }

    fn add_peer(&self, call: &RecordedCall, pe: usize, site: usize) {
        /// A put that a PE may wait for.
        const UPDATE: usize = 8;
        /// A put that aggregation is made for.
        const SMALL: usize = 64;

        // PEs of other jobs have no row.
        if pe >= self.layout.n_pes {
            return;
        }
        let peer = self.layout.peers().start + pe * peer::WORDS;
        let bytes = call.bytes;
        let (count, sum, class) = match call.kind {
            Kind::Put | Kind::PutSignal => (peer::PUTS, Some(peer::PUT_BYTES), sizes::PUT),
            Kind::Get => (peer::GETS, Some(peer::GET_BYTES), sizes::GET),
            Kind::Atomic | Kind::Signal => (peer::ATOMICS, None, sizes::ATOMIC),
            Kind::Send => (peer::SENDS, Some(peer::SEND_BYTES), sizes::MESSAGE),
            _ => return,
        };
        self.add_to(peer + count, 1);
        if let Some(sum) = sum {
            self.add_to(peer + sum, bytes as u64);
        }
        self.add_size(class, bytes as u64);
        let is_update = match call.kind {
            Kind::Put => bytes <= UPDATE,
            kind => kind != Kind::Get,
        };
        if is_update {
            self.add_to(peer + peer::UPDATES, 1);
        }
        if self.is_short(call) {
            self.short.store(self.short.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        if !self.local[pe] {
            self.add_to(site + site::INTERNODE, 1);
            if bytes <= SMALL {
                self.add_to(site + site::INTERNODE_SMALL, 1);
            }
        }
        for target in 0..site::TARGETS_MOST {
            let at = site + site::TARGETS + 2 * target;
            match self.get(at) {
                0 => self.set(at, pe as u64 + 1),
                other if other == pe as u64 + 1 => {}
                _ => continue,
            }
            self.add_to(at + 1, 1);
            return;
        }
        self.add_to(site + site::OTHER_TARGETS, 1);
    }

    /// Adds operations that the program has counted itself.
    pub(super) fn add_inlined(&self, added: &Added) {
        let (name, count, sum) = match added.kind {
            Kind::Put => ("puts, inlined", peer::PUTS, Some(peer::PUT_BYTES)),
            Kind::Get => ("gets, inlined", peer::GETS, Some(peer::GET_BYTES)),
            Kind::Quiet => ("quiets, inlined", 0, None),
            Kind::Fence => ("fences, inlined", 0, None),
            Kind::Lock => ("locks set, inlined", 0, None),
            Kind::Unlock => ("locks cleared, inlined", 0, None),
            _ => ("atomics, inlined", peer::ATOMICS, None),
        };
        let index = self.find_site((name.as_ptr().addr() as u64, 2), name, added.kind, None);
        let _busy = self.lock();
        let at = self.layout.sites().start + index as usize * site::WORDS;
        self.add_to(at + site::CALLS, added.operations);
        self.add_to(at + site::UNTIMED, added.operations);
        self.add_to(at + site::BYTES, added.bytes);
        let Some(pe) = added.pe else {
            return;
        };
        let peer = self.layout.peers().start + pe * peer::WORDS;
        self.add_to(peer + count, added.operations);
        if let Some(sum) = sum {
            self.add_to(peer + sum, added.bytes);
        }
        if added.are_updates {
            self.add_to(peer + peer::UPDATES, added.operations);
        }
    }

    fn look_at_heap(&self, now: u64) {
        let Some(node) = node::current() else {
            return;
        };
        let heap = node.transport.memory.heap();
        let used = heap.size() - heap.free_bytes();
        self.set(header::HEAP_SIZE, heap.size());
        if used > self.get(header::HEAP_MOST) {
            self.set(header::HEAP_MOST, used);
            self.set(header::HEAP_MOST_AT, now);
        }
    }

    /// Adds an event to the newest chunk, which goes to the file when it is full: a page of the file that is mapped is
    /// filled with zeros first, and faults, which takes longer than all else of an event.
    fn add_event(&self, record: [u64; event::WORDS]) {
        let total = self.get(header::EVENTS_TOTAL);
        let chunk = self.layout.chunk() as u64;
        let place = total % chunk;
        let at = self.layout.newest().start + place as usize * event::WORDS;
        for (word, value) in self.words[at..at + event::WORDS].iter().zip(record) {
            word.store(value, Ordering::Relaxed);
        }
        if place + 1 == chunk {
            self.write_chunk(total / chunk);
        }
        self.set(header::EVENTS_TOTAL, total + 1);
    }

    /// Writes the newest chunk, with this number, to the ring. Where the disk is full, the ring stays as long as it is.
    #[cold]
    fn write_chunk(&self, number: u64) {
        let chunk = self.layout.chunk() as u64;
        let newest = &self.words[self.layout.newest()];
        // SAFETY: the words are initialised, and change under the lock alone, which this thread holds.
        let bytes = unsafe { std::slice::from_raw_parts(newest.as_ptr().cast::<u8>(), size_of_val(newest)) };
        loop {
            let chunks = self.get(header::EVENTS_ROOM) / chunk;
            if chunks == 0 {
                return;
            }
            let place = number % chunks;
            let at = self.layout.events().start as u64 * WORD as u64 + place * bytes.len() as u64;
            if self.file.write_all_at(bytes, at).is_ok() {
                return;
            }
            self.set(header::EVENTS_ROOM, place * chunk);
        }
    }

    /// The site of a region.
    pub(super) fn region(&self, name: &str, place: Option<&'static Location<'static>>) -> u32 {
        let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let key = name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, hash);
        let place = place.map(CallPlace::Source);
        self.find_site((key, 1), name, Kind::Region, place)
    }

    /// Adds a region that was left.
    pub(super) fn add_region(&self, index: u32, begin: u64, end: u64) {
        let thread = thread_number(&self.threads);
        let _busy = self.lock();
        let ns = end.saturating_sub(begin);
        let at = self.layout.sites().start + index as usize * site::WORDS;
        self.add_to(at + site::CALLS, 1);
        self.add_to(at + site::NS, ns);
        self.raise_to(at + site::LONGEST, ns);
        if self.layout.events > 0 {
            let site = u64::from(index) | u64::from(thread) << 32;
            self.add_event([begin, end, site, self.me as u64 + 1, 0, 0, 0]);
        }
    }
}

/// Takes disk space for a part of the file. A file system that cannot promise it is trusted.
fn reserve(file: &File, start: usize, len: usize) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), start as u64, len as u64) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) | Ok(()) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
