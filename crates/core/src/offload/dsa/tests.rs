//! Copies by a model of the device, and queues of a model of the driver's files.

use std::collections::HashSet;
use std::fs;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::copy::{DeviceCopy, Progress};
use super::descriptor::Descriptor;
use super::discovery::{Files, Refusal};
use super::model::{Counter, Happenings, LARGEST_TRANSFER, MOST_OF_BATCH, Model};
use super::queue::{Limits, Queue};

const PAGE: usize = 4096;
const LIMITS: Limits = Limits {
    transfer: LARGEST_TRANSFER,
    batch: MOST_OF_BATCH,
    entries: None,
    to_cache: true,
};
const NO_BATCHES: Limits = Limits { batch: 0, ..LIMITS };

/// A queue of a model, which stays: copies refer to it as long as the process lives.
fn queue(happenings: impl Happenings, limits: Limits) -> (&'static Queue, Counter) {
    let model = Model::new(happenings);
    let counter = model.counter();
    let queue = Queue::new("model".to_owned(), Box::new(model), limits);
    (Box::leak(Box::new(queue)), counter)
}

/// Random numbers, the same in each run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Two arrays and where a copy begins in each.
struct Arrays {
    source: Vec<u8>,
    dest: Vec<u8>,
    from: usize,
    to: usize,
    bytes: usize,
}

impl Arrays {
    fn new(draws: &mut Draws, bytes: usize) -> Self {
        let (from, to) = (draws.below(5_000), draws.below(5_000));
        let seed = draws.below(1 << 20);
        let room = bytes + 10_000;
        Self {
            source: (0..room).map(|i| (((i + seed) * 31) >> 3) as u8).collect(),
            dest: vec![0xee; room],
            from,
            to,
            bytes,
        }
    }

    fn begin(&mut self, queue: &'static Queue) -> Option<DeviceCopy> {
        let (dest, source) = (self.dest.as_mut_ptr(), self.source.as_ptr());
        // SAFETY: both arrays have room, and live until the copy is complete.
        unsafe { DeviceCopy::begin(queue, dest.add(self.to), source.add(self.from), self.bytes) }
    }

    /// Only the bytes that were to be copied are, as they were.
    fn check(&self) {
        let end = self.to + self.bytes;
        assert!(self.dest[self.to..end] == self.source[self.from..self.from + self.bytes]);
        let around = self.dest[..self.to].iter().chain(&self.dest[end..]);
        assert!(around.copied().all(|byte| byte == 0xee));
    }
}

/// Looks until the copy is complete.
fn complete(copy: &mut DeviceCopy, may_copy: bool) {
    loop {
        match copy.poll(may_copy) {
            Progress::Complete => return,
            Progress::Running => std::thread::yield_now(),
            Progress::Silent => panic!("the model does not answer"),
        }
    }
}

/// Nothing happens.
struct Calm;
impl Happenings for Calm {}

#[test]
fn a_device_makes_copies_of_all_sizes_without_the_processor() {
    for limits in [LIMITS, NO_BATCHES] {
        let (queue, counter) = queue(Calm, limits);
        assert_eq!(queue.test(), Ok(()));
        let mut draws = Draws(1);
        let chunk = 256 << 10;
        for bytes in [
            1,
            63,
            4096,
            chunk,
            chunk + 1,
            3 * chunk + 77,
            20 * chunk + 5,
        ] {
            let before = counter.counts();
            let mut arrays = Arrays::new(&mut draws, bytes);
            let mut copy = arrays.begin(queue).expect("there is room");
            complete(&mut copy, false);
            arrays.check();
            let after = counter.counts();
            // The first chunk ends where a line begins.
            let chunks = after.copies - before.copies;
            assert!(chunks.abs_diff(bytes.div_ceil(chunk)) <= 1);
            let has_batches = limits.batch > 1 && chunks > 1;
            assert_eq!(after.batches > before.batches, has_batches);
        }
    }
}

/// All that may happen, at random. A page that was missing is there once it has been reported `resistance` times.
struct Moods {
    draws: Mutex<Draws>,
    reported: Mutex<HashSet<(usize, bool)>>,
    /// One of so many submissions finds no room.
    busy: usize,
    /// One of so many pages is missing.
    missing: usize,
    /// Missing pages stay missing.
    for_ever: bool,
}

impl Happenings for Moods {
    fn is_busy(&self, waiting: usize) -> bool {
        waiting >= 64 || self.draws.lock().unwrap().below(self.busy) == 0
    }

    fn is_missing(&self, page: usize, to_write: bool) -> bool {
        let is_unlucky =
            (page / PAGE).wrapping_mul(2_654_435_761) >> 7 & 0xffff < 0x10000 / self.missing;
        is_unlucky && (self.reported.lock().unwrap().insert((page, to_write)) || self.for_ever)
    }
}

#[test]
fn copies_are_whole_whatever_pages_are_missing_and_however_busy_the_queue_is() {
    let mut draws = Draws(2);
    for round in 0..60 {
        let moods = Moods {
            draws: Mutex::new(Draws(round)),
            reported: Mutex::default(),
            busy: [1 << 30, 16, 2, 1][round as usize % 4],
            missing: [1 << 14, 40, 3][round as usize % 3],
            for_ever: round % 5 == 0,
        };
        let limits = Limits {
            entries: (round % 2 == 0).then_some(1 + round as u32 % 5),
            batch: if round % 7 < 4 { MOST_OF_BATCH } else { 0 },
            transfer: if round % 4 == 3 {
                4096
            } else {
                LARGEST_TRANSFER
            },
            to_cache: round % 3 == 0,
        };
        let (queue, _) = queue(moods, limits);
        let mut under_way = Vec::new();
        for _ in 0..4 {
            let bytes = 1 + draws.below([100, 30_000, 1_200_000][draws.0 as usize % 3]);
            let mut arrays = Arrays::new(&mut draws, bytes);
            // Where it takes none, the caller copies.
            if let Some(copy) = arrays.begin(queue) {
                under_way.push((copy, arrays));
            }
        }
        while !under_way.is_empty() {
            let at = draws.below(under_way.len());
            let may_copy = draws.below(3) > 0;
            match under_way[at].0.poll(may_copy) {
                Progress::Complete => under_way.swap_remove(at).1.check(),
                Progress::Running => {}
                Progress::Silent => panic!("the model does not answer"),
            }
        }
    }
}

/// A device that finds no room until it is told.
struct Full(Arc<AtomicBool>);
impl Happenings for Full {
    fn is_busy(&self, _: usize) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[test]
fn a_full_queue_leaves_copies_to_the_caller_and_pieces_to_who_waits() {
    let is_full = Arc::new(AtomicBool::new(true));
    let (queue, counter) = queue(Full(is_full.clone()), NO_BATCHES);
    let mut draws = Draws(3);
    let mut arrays = Arrays::new(&mut draws, 2 << 20);
    assert!(arrays.begin(queue).is_none());
    is_full.store(false, Ordering::Release);
    let mut copy = arrays.begin(queue).expect("there is room");
    complete(&mut copy, false);
    arrays.check();
    assert!(counter.counts().copies >= 8);
}

/// A dedicated queue says nothing: who submits counts.
#[test]
fn a_dedicated_queue_has_never_more_descriptors_than_entries() {
    struct Bounded(Arc<AtomicUsize>);
    impl Happenings for Bounded {
        fn is_busy(&self, waiting: usize) -> bool {
            self.0.fetch_max(waiting + 1, Ordering::AcqRel);
            false
        }
    }
    let most = Arc::new(AtomicUsize::new(0));
    let limits = Limits {
        entries: Some(3),
        ..NO_BATCHES
    };
    let (queue, _) = queue(Bounded(most.clone()), limits);
    let mut draws = Draws(4);
    let mut arrays = [
        Arrays::new(&mut draws, 5 << 20),
        Arrays::new(&mut draws, 3 << 20),
    ];
    let mut copies: Vec<_> = arrays.iter_mut().filter_map(|a| a.begin(queue)).collect();
    assert!(!copies.is_empty());
    let begun = copies.len();
    for copy in &mut copies {
        complete(copy, true);
    }
    arrays[..begun].iter().for_each(Arrays::check);
    assert!(most.load(Ordering::Acquire) <= 3);
}

/// Ends descriptors from a number on with a status.
struct Failing {
    from: u32,
    status: u8,
    batches_alone: bool,
    executed: AtomicU32,
}

impl Happenings for Failing {
    fn error(&self, descriptor: &Descriptor) -> Option<u8> {
        let is_batch = descriptor.opcode_flags >> 24 == 1;
        if self.batches_alone && !is_batch {
            return None;
        }
        let number = self.executed.fetch_add(1, Ordering::AcqRel);
        (number >= self.from).then_some(self.status)
    }
}

#[test]
fn after_an_error_the_processor_copies_and_the_queue_is_left() {
    for status in [0x10, 0x11, 0x13, 0x1a, 0x1c, 0x83] {
        for from in [0, 3] {
            let failing = Failing {
                from,
                status,
                batches_alone: false,
                executed: AtomicU32::new(0),
            };
            let (queue, _) = queue(failing, NO_BATCHES);
            let mut arrays = Arrays::new(&mut Draws(5), 3 << 20);
            let mut copy = arrays.begin(queue).expect("it does not know yet");
            complete(&mut copy, true);
            arrays.check();
            // A missing page is no error of the device.
            assert_eq!(queue.is_lost(), status != 0x83);
            assert_eq!(arrays.begin(queue).is_none(), status != 0x83);
        }
    }
}

#[test]
fn a_device_that_takes_no_batches_is_given_single_copies() {
    for status in [0x10, 0x14, 0x06, 0x05] {
        let failing = Failing {
            from: 0,
            status,
            batches_alone: true,
            executed: AtomicU32::new(0),
        };
        let (queue, counter) = queue(failing, LIMITS);
        let mut arrays = Arrays::new(&mut Draws(6), 3 << 20);
        let mut copy = arrays.begin(queue).expect("there is room");
        complete(&mut copy, false);
        arrays.check();
        assert!(!queue.is_lost());
        assert_eq!(queue.batch() > 1, status < 0x10);
        assert!(counter.counts().copies >= 12);
    }
}

/// Pages that really are not there: those that the kernel has not given to this process.
struct Absent(File);

impl Absent {
    fn new() -> Option<Self> {
        let this = Self(File::open("/proc/self/pagemap").ok()?);
        let here = 0u8;
        // Where the map says nothing, there is nothing to test.
        this.is_present((&raw const here).addr()).then_some(this)
    }

    /// Bit 63 of a page's word (Linux's `Documentation/admin-guide/mm/pagemap.rst`).
    fn is_present(&self, address: usize) -> bool {
        let mut word = [0; 8];
        let at = (address / PAGE * 8) as u64;
        self.0.read_exact_at(&mut word, at).is_ok() && u64::from_ne_bytes(word) >> 63 != 0
    }
}

impl Happenings for Absent {
    fn is_missing(&self, page: usize, _: bool) -> bool {
        !self.is_present(page)
    }
}

#[test]
fn pages_that_were_never_touched_are_made_present_for_the_device() {
    const BYTES: usize = 1 << 20;
    let Some(absent) = Absent::new() else {
        eprintln!("skipped: /proc/self/pagemap does not say which pages are present");
        return;
    };
    let (queue, counter) = queue(absent, NO_BATCHES);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which stays.
    let fresh = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, -1, 0) };
    assert_ne!(fresh, libc::MAP_FAILED);
    let source: Vec<u8> = (0..BYTES).map(|i| ((i * 7) >> 2) as u8).collect();
    // SAFETY: both arrays are of so many bytes and stay.
    let copy = unsafe { DeviceCopy::begin(queue, fresh.cast(), source.as_ptr(), BYTES) };
    complete(&mut copy.expect("there is room"), false);
    // SAFETY: mapped above, and no thread writes it any more.
    let copied = unsafe { std::slice::from_raw_parts(fresh.cast::<u8>(), BYTES) };
    assert!(copied == source);
    // Once for each chunk, not for each page.
    assert!(
        (1..=16).contains(&counter.counts().faults),
        "{:?}",
        counter.counts()
    );
}

/// A copy is not taken for complete before the device says so.
#[test]
fn a_copy_that_a_device_has_begun_is_under_way_until_it_writes_the_record() {
    struct Held(Arc<(Mutex<bool>, Condvar)>);
    impl Happenings for Held {
        fn executes(&self) {
            let mut is_held = self.0.0.lock().unwrap();
            while *is_held {
                is_held = self.0.1.wait(is_held).unwrap();
            }
        }
    }
    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    let (queue, _) = queue(Held(gate.clone()), LIMITS);
    let mut arrays = Arrays::new(&mut Draws(7), 1 << 20);
    let mut copy = arrays.begin(queue).expect("there is room");
    for _ in 0..100 {
        assert_eq!(copy.poll(true), Progress::Running);
    }
    *gate.0.lock().unwrap() = false;
    gate.1.notify_all();
    complete(&mut copy, true);
    arrays.check();
}

/// The driver's files of a node, in a folder.
struct Node(tempfile::TempDir);

impl Node {
    fn new() -> Self {
        let node = Self(tempfile::tempdir().unwrap());
        fs::create_dir(node.0.path().join("dev")).unwrap();
        fs::create_dir(node.0.path().join("facts")).unwrap();
        node
    }

    fn fact(&self, of: &str, name: &str, value: &str) {
        let folder = self.0.path().join("facts").join(of);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), format!("{value}\n")).unwrap();
    }

    fn refusal(&self) -> String {
        let (queues, facts) = (self.0.path().join("dev"), self.0.path().join("facts"));
        let files = Files {
            queues: &queues,
            facts: &facts,
        };
        files
            .open_any(7)
            .expect_err("no device is here")
            .to_string()
    }
}

#[test]
fn it_is_said_why_no_queue_is_used() {
    let node = Node::new();
    assert!(node.refusal().starts_with("this node has no such device"));
    node.fact("dsa0", "pasid_enabled", "0");
    assert!(node.refusal().starts_with("PASID is off"));
    node.fact("dsa2", "pasid_enabled", "1");
    assert!(node.refusal().starts_with("no queue is given to programs"));
    // A file that is no device is not written to.
    let queue = node.0.path().join("dev/wq2.0");
    fs::write(&queue, "").unwrap();
    assert!(node.refusal().ends_with("wq2.0: no work queue"));
    assert_eq!(fs::read(&queue).unwrap(), b"");
    node.fact("wq2.0", "mode", "shared");
    node.fact("dsa2", "pasid_enabled", "0");
    assert!(node.refusal().starts_with("PASID is off"));
    fs::remove_file(&queue).unwrap();
    let missing = Files::here().open(Path::new("/nonexistent/wq0.0"));
    assert!(matches!(missing, Err(Refusal::Io { .. })));
}

/// What takes bytes and does not answer is no device.
#[test]
fn a_queue_that_does_not_answer_is_not_used() {
    let (read, write) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&write));
    let refused = Files::here()
        .open(Path::new(&path))
        .expect_err("no process reads");
    assert!(
        refused.to_string().ends_with("it does not answer"),
        "{refused}"
    );
    drop(read);
}
