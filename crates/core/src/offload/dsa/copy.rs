//! A copy that a device makes: cut into chunks, submitted in batches, and watched until all chunks are done.

use std::time::{Duration, Instant};

use super::descriptor::{Descriptor, Outcome, Record, flags, status};
use super::portal::Submitted;
use super::queue::Queue;
use crate::kernel;
use crate::offload::transfer::Cut;
use crate::platform::mapping;

/// Bytes of a chunk: so many that submitting it is nothing beside copying it, and so few that several engines of a device share a
/// copy, and that the processor copies one in a moment.
const CHUNK: usize = 256 << 10;

/// How often a chunk is given to the device, before the processor copies what is left.
const TRIES: u8 = 4;

/// How long a device may be silent. One that has a copy to make and writes no record in this time never will.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// Where a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// To be submitted.
    Waiting,
    /// The device has it.
    Submitted,
    /// The device has it, as a part of a batch, whose record comes after its own.
    InBatch,
    /// The processor is to copy it.
    OfProcessor,
    Done,
}

/// What is left of a part of the arrays.
#[derive(Debug)]
struct Chunk {
    dest: *mut u8,
    source: *const u8,
    bytes: u32,
    tries: u8,
    state: State,
}

/// A batch that the device has.
#[derive(Debug)]
struct Batch {
    first: usize,
    count: usize,
    is_open: bool,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Complete,
    Running,
    /// The device has not answered for [`LONGEST_SILENCE`].
    Silent,
}

/// A copy under way. The device reads descriptors and writes records until it is complete: it is not dropped before.
#[derive(Debug)]
pub(crate) struct DeviceCopy {
    queue: &'static Queue,
    bytes: usize,
    chunks: Box<[Chunk]>,
    /// By chunk.
    records: Box<[Record]>,
    /// By chunk; of batches, which the device reads from here.
    descriptors: Box<[Descriptor]>,
    batches: Vec<Batch>,
    /// By batch.
    batch_records: Box<[Record]>,
    /// Chunks before it are done.
    first: usize,
    flags: u32,
    silence: Silence,
}

// SAFETY: the pointers are to the arrays of a non-blocking operation, which any thread may complete.
unsafe impl Send for DeviceCopy {}

impl DeviceCopy {
    /// Begins a copy; None: the device takes none now.
    ///
    /// # Safety
    /// `dest` is writable and `source` readable for `bytes` bytes, and they do not overlap, until the copy is complete.
    pub(crate) unsafe fn begin(
        queue: &'static Queue,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
    ) -> Option<Self> {
        let cut = Cut::of_chunks(
            dest.addr(),
            bytes,
            CHUNK.min(queue.limits().transfer as usize),
        );
        let chunk = |number| {
            let range = cut.range(number);
            Chunk {
                dest: dest.wrapping_add(range.start),
                source: source.wrapping_add(range.start),
                bytes: range.len() as u32,
                tries: 0,
                state: State::Waiting,
            }
        };
        let chunks: Box<[Chunk]> = (0..cut.count()).map(chunk).collect();
        let records = |count| Box::from_iter((0..count).map(|_| Record::empty()));
        let stays = queue.limits().to_cache && !kernel::past_caches(bytes);
        let batch = queue.batch();
        let mut copy = Self {
            queue,
            bytes,
            records: records(chunks.len()),
            descriptors: Box::default(),
            batches: Vec::new(),
            batch_records: records(chunks.len().div_ceil(batch.max(1))),
            chunks,
            first: 0,
            flags: if stays { flags::TO_CACHE } else { 0 },
            silence: Silence::begin(),
        };
        if batch > 1 {
            copy.descriptors = (0..copy.chunks.len())
                .map(|at| copy.descriptor(at))
                .collect();
        }
        copy.submit_all(batch).then_some(copy)
    }

    /// Submits all chunks, as far as there is room; whether there is any.
    fn submit_all(&mut self, batch: usize) -> bool {
        for first in (0..self.chunks.len()).step_by(batch) {
            let count = batch.min(self.chunks.len() - first);
            let is_accepted = match count {
                1 => {
                    self.submit(first);
                    self.chunks[first].state == State::Submitted
                }
                _ => self.submit_batch(first, count),
            };
            if !is_accepted {
                return first > 0;
            }
        }
        true
    }

    fn descriptor(&self, at: usize) -> Descriptor {
        let Chunk {
            dest,
            source,
            bytes,
            ..
        } = self.chunks[at];
        Descriptor::copy(dest, source, bytes, self.flags, &self.records[at])
    }

    fn submit_batch(&mut self, first: usize, count: usize) -> bool {
        let record = &self.batch_records[self.batches.len()];
        let batch = Descriptor::batch(&self.descriptors[first..first + count], record);
        if self.queue.submit(&batch) != Submitted::Accepted {
            return false;
        }
        for chunk in &mut self.chunks[first..first + count] {
            chunk.state = State::InBatch;
        }
        self.batches.push(Batch {
            first,
            count,
            is_open: true,
        });
        true
    }

    /// Submits a chunk. Where there is no room, it stays as it is.
    fn submit(&mut self, at: usize) {
        self.records[at].clear();
        let submitted = self.queue.submit(&self.descriptor(at));
        let chunk = &mut self.chunks[at];
        match submitted {
            Submitted::Accepted => chunk.state = State::Submitted,
            Submitted::Busy => {}
            Submitted::Refused => chunk.state = State::OfProcessor,
        }
    }

    /// Looks what the device has done, and gives it what is left. Where it takes nothing, and `may_copy`, the calling thread copies a
    /// chunk itself.
    pub(crate) fn poll(&mut self, mut may_copy: bool) -> Progress {
        let mut has_moved = self.look_at_batches();
        for at in self.first..self.chunks.len() {
            if self.chunks[at].state == State::Submitted {
                let outcome = self.records[at].outcome(self.chunks[at].bytes);
                if outcome != Outcome::Running {
                    self.queue.completed();
                    self.judge(at, outcome);
                    has_moved = true;
                }
            }
            if self.chunks[at].state == State::Waiting {
                self.submit(at);
                has_moved |= self.chunks[at].state != State::Waiting;
            }
            let state = self.chunks[at].state;
            if may_copy && matches!(state, State::Waiting | State::OfProcessor) {
                self.copy(at);
                (may_copy, has_moved) = (false, true);
            }
            if at == self.first && self.chunks[at].state == State::Done {
                self.first += 1;
            }
        }
        if self.first == self.chunks.len() {
            return Progress::Complete;
        }
        let is_silent = self.silence.is_long(has_moved) && self.is_at_device();
        if is_silent {
            Progress::Silent
        } else {
            Progress::Running
        }
    }

    fn is_at_device(&self) -> bool {
        let at_device = |chunk: &Chunk| matches!(chunk.state, State::Submitted | State::InBatch);
        self.chunks.iter().any(at_device)
    }

    /// Takes the chunks of batches that are complete out of them; whether there were any.
    fn look_at_batches(&mut self) -> bool {
        let mut has_moved = false;
        for number in 0..self.batches.len() {
            let Batch {
                first,
                count,
                is_open,
            } = self.batches[number];
            let status = self.batch_records[number].status() & status::MASK;
            if !is_open || status == status::NONE {
                continue;
            }
            has_moved = true;
            self.batches[number].is_open = false;
            self.queue.completed();
            if status > status::BATCH_PAGE_FAULT {
                self.queue.lose_batches();
            }
            for at in first..first + count {
                match self.records[at].outcome(self.chunks[at].bytes) {
                    // The device has come to an end before it.
                    Outcome::Running => self.try_again(at),
                    outcome => self.judge(at, outcome),
                }
            }
        }
        has_moved
    }

    /// The device has done with a chunk.
    fn judge(&mut self, at: usize, outcome: Outcome) {
        let chunk = &mut self.chunks[at];
        match outcome {
            Outcome::Running => {}
            Outcome::Done => chunk.state = State::Done,
            Outcome::Stopped { copied, writing } => {
                chunk.dest = chunk.dest.wrapping_add(copied as usize);
                chunk.source = chunk.source.wrapping_add(copied as usize);
                chunk.bytes -= copied;
                let side = if writing {
                    chunk.dest.cast_const()
                } else {
                    chunk.source
                };
                let is_there = mapping::populate(side, chunk.bytes as usize, writing);
                self.try_again(at);
                if !is_there {
                    // The processor meets what is wrong with the memory, and the program hears of it.
                    self.chunks[at].state = State::OfProcessor;
                }
            }
            Outcome::Failed(status) => {
                chunk.state = State::OfProcessor;
                self.queue
                    .lose(&format!("a copy ended with status {status:#x}"));
            }
        }
    }

    /// Gives a chunk to the device once more, unless it was given often.
    fn try_again(&mut self, at: usize) {
        let chunk = &mut self.chunks[at];
        chunk.tries += 1;
        chunk.state = match (chunk.bytes, chunk.tries) {
            (0, _) => State::Done,
            (_, ..TRIES) => State::Waiting,
            _ => State::OfProcessor,
        };
    }

    fn copy(&mut self, at: usize) {
        let chunk = &mut self.chunks[at];
        // SAFETY: the caller of `begin` promises the arrays, of which this is a part that the device does not have.
        unsafe { kernel::copy_chunk(chunk.dest, chunk.source, chunk.bytes as usize, self.bytes) };
        chunk.state = State::Done;
    }
}

/// For how long a device has not answered, while a thread looked.
#[derive(Debug)]
struct Silence {
    last: Instant,
    length: Duration,
}

impl Silence {
    fn begin() -> Self {
        Self {
            last: Instant::now(),
            length: Duration::ZERO,
        }
    }

    /// Whether it is too long, after a look at what `has_moved`. Time in which no thread looked, because the program computed or
    /// the process was stopped, counts little.
    fn is_long(&mut self, has_moved: bool) -> bool {
        const LONGEST_STEP: Duration = Duration::from_millis(100);

        let now = Instant::now();
        self.length += (now - self.last).min(LONGEST_STEP);
        self.last = now;
        if has_moved {
            self.length = Duration::ZERO;
        }
        self.length > LONGEST_SILENCE
    }
}
