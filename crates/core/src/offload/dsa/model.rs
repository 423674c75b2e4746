//! A model of the device in software: a thread that executes descriptors as the specification says, and meets what a device meets.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use super::descriptor::{Descriptor, Record, flags, opcode, status};
use super::portal::{Portal, Submitted};

const PAGE: usize = 4096;

/// What a device meets.
pub(super) trait Happenings: Send + Sync + 'static {
    /// Whether it has no room for a descriptor.
    fn is_busy(&self, waiting: usize) -> bool {
        waiting >= 64
    }

    /// Whether a page is missing.
    fn is_missing(&self, _page: usize, _to_write: bool) -> bool {
        false
    }

    /// With which error a descriptor ends, that is none of the model's own.
    fn error(&self, _descriptor: &Descriptor) -> Option<u8> {
        None
    }

    /// Called before a descriptor is executed.
    fn executes(&self) {}
}

/// The device.
pub(super) struct Model {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    line: Mutex<Line>,
    changed: Condvar,
    happenings: Box<dyn Happenings>,
    copies: AtomicUsize,
    batches: AtomicUsize,
    faults: AtomicUsize,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Descriptor>,
    is_closed: bool,
}

/// What a model has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub copies: usize,
    pub batches: usize,
    pub faults: usize,
}

/// Reads what a model has done.
#[derive(Clone)]
pub(super) struct Counter(Arc<Shared>);

impl Counter {
    pub(super) fn counts(&self) -> Counts {
        let load = |count: &AtomicUsize| count.load(Ordering::Acquire);
        Counts {
            copies: load(&self.0.copies),
            batches: load(&self.0.batches),
            faults: load(&self.0.faults),
        }
    }
}

impl Model {
    pub(super) fn new(happenings: impl Happenings) -> Self {
        let shared = Arc::new(Shared {
            line: Mutex::default(),
            changed: Condvar::new(),
            happenings: Box::new(happenings),
            copies: AtomicUsize::new(0),
            batches: AtomicUsize::new(0),
            faults: AtomicUsize::new(0),
        });
        let device = shared.clone();
        let thread = std::thread::spawn(move || device.run());
        let thread = Some(thread);
        Self { shared, thread }
    }

    pub(super) fn counter(&self) -> Counter {
        Counter(self.shared.clone())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.line.lock().unwrap().is_closed = true;
        self.shared.changed.notify_all();
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Portal for Model {
    fn submit(&self, descriptor: &Descriptor) -> Submitted {
        let mut line = self.shared.line.lock().unwrap();
        if self.shared.happenings.is_busy(line.waiting.len()) {
            return Submitted::Busy;
        }
        line.waiting.push_back(*descriptor);
        self.shared.changed.notify_all();
        Submitted::Accepted
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut line = self.line.lock().unwrap();
            let descriptor = loop {
                if let Some(descriptor) = line.waiting.pop_front() {
                    break descriptor;
                }
                if line.is_closed {
                    return;
                }
                line = self.changed.wait(line).unwrap();
            };
            drop(line);
            self.happenings.executes();
            match (descriptor.opcode_flags >> 24) as u8 {
                opcode::BATCH => self.batch(&descriptor),
                _ => {
                    self.copy(&descriptor);
                }
            }
        }
    }

    /// What the device refuses of any descriptor.
    fn refusal(descriptor: &Descriptor) -> Option<u8> {
        const FLAGS: u32 = flags::RECORD_VALID | flags::RECORD_WANTED | flags::TO_CACHE;
        const BAD_OPCODE: u8 = 0x10;
        const INVALID_FLAGS: u8 = 0x11;
        const RESERVED_NOT_ZERO: u8 = 0x12;

        let opcode = (descriptor.opcode_flags >> 24) as u8;
        if !matches!(opcode, opcode::BATCH | opcode::MEMMOVE) {
            return Some(BAD_OPCODE);
        }
        if descriptor.opcode_flags & 0xff_ffff & !FLAGS != 0 {
            return Some(INVALID_FLAGS);
        }
        let is_zero = descriptor.space == 0
            && descriptor.interrupt == 0
            && descriptor.reserved == 0
            && descriptor.operands == [0; 3];
        (!is_zero).then_some(RESERVED_NOT_ZERO)
    }

    fn record(descriptor: &Descriptor) -> &Record {
        let record = descriptor.record as usize;
        // Such a descriptor has no record to say so in.
        assert!(record != 0 && record.is_multiple_of(32));
        let record = std::ptr::with_exposed_provenance::<Record>(record);
        // SAFETY: who submits keeps the record until it is written.
        let record = unsafe { &*record };
        assert_eq!(record.status(), status::NONE, "the record is not cleared");
        record
    }

    fn batch(&self, batch: &Descriptor) {
        const COUNT_OUT_OF_RANGE: u8 = 0x14;
        const LIST_NOT_ALIGNED: u8 = 0x18;

        let record = Self::record(batch);
        let refusal = Self::refusal(batch)
            .or((!(2..=MOST_OF_BATCH).contains(&batch.count)).then_some(COUNT_OUT_OF_RANGE))
            .or((!batch.source.is_multiple_of(64)).then_some(LIST_NOT_ALIGNED));
        if let Some(refusal) = refusal.or(self.happenings.error(batch)) {
            return record.write(refusal, 0, 0);
        }
        self.batches.fetch_add(1, Ordering::AcqRel);
        let list = std::ptr::with_exposed_provenance::<Descriptor>(batch.source as usize);
        // Engines take them in no order.
        let succeeded = (0..batch.count as usize).rev().filter(|&at| {
            // SAFETY: who submits keeps the list until the record is written.
            self.copy(unsafe { &*list.add(at) })
        });
        let all = succeeded.count() == batch.count as usize;
        let status = if all {
            status::SUCCESS
        } else {
            status::BATCH_FAIL
        };
        record.write(status, batch.count, 0);
    }

    /// Executes a copy; whether all of it.
    fn copy(&self, descriptor: &Descriptor) -> bool {
        const SIZE_OUT_OF_RANGE: u8 = 0x13;

        let record = Self::record(descriptor);
        let out_of_range = descriptor.count == 0 || descriptor.count > LARGEST_TRANSFER;
        let refusal = Self::refusal(descriptor)
            .or(out_of_range.then_some(SIZE_OUT_OF_RANGE))
            .or(self.happenings.error(descriptor));
        if let Some(refusal) = refusal {
            record.write(refusal, 0, 0);
            return false;
        }
        self.copies.fetch_add(1, Ordering::AcqRel);
        let (mut source, mut dest) = (descriptor.source as usize, descriptor.dest as usize);
        let end = source + descriptor.count as usize;
        while source < end {
            for (address, to_write) in [(source, false), (dest, true)] {
                if self.happenings.is_missing(address / PAGE * PAGE, to_write) {
                    self.faults.fetch_add(1, Ordering::AcqRel);
                    let write = if to_write { status::WRITE } else { 0 };
                    let copied = source as u64 - descriptor.source;
                    record.write(status::PAGE_FAULT | write, copied as u32, address as u64);
                    return false;
                }
            }
            let in_page = |address: usize| PAGE - address % PAGE;
            let bytes = in_page(source).min(in_page(dest)).min(end - source);
            // SAFETY: who submits promises the arrays until the record is written.
            unsafe {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(dest);
                to.copy_from(std::ptr::with_exposed_provenance(source), bytes);
            }
            source += bytes;
            dest += bytes;
        }
        record.write(status::SUCCESS, 0, 0);
        true
    }
}

/// Descriptors of a batch.
pub(super) const MOST_OF_BATCH: u32 = 8;
/// Bytes of a copy.
pub(super) const LARGEST_TRANSFER: u32 = 2 << 20;
