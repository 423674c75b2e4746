//! What a device reads and writes: descriptors and completion records. Layouts and codes are those of Linux's `linux/idxd.h`, and of Intel's
//! "Data Streaming Accelerator Architecture Specification" (document 341204), chapter "Descriptor Formats".

use std::sync::atomic::AtomicU64;

use crate::offload::chunks::Counter;

/// What a descriptor asks for (`enum dsa_opcode`).
pub mod opcode {
    /// Executes an array of descriptors.
    pub const BATCH: u8 = 1;
    /// Copies bytes.
    pub const MEMMOVE: u8 = 3;
}

/// Flags of a descriptor (`IDXD_OP_FLAG_*`). Block on fault is among those that are never set: a device that waits for a page of one
/// process keeps others waiting.
pub mod flags {
    /// The address of the completion record is valid.
    pub const RECORD_VALID: u32 = 0x0004;
    /// A completion record is wanted also where all went well.
    pub const RECORD_WANTED: u32 = 0x0008;
    /// The data go to the last-level cache instead of to memory.
    pub const TO_CACHE: u32 = 0x0100;
}

/// Values of a record's status (`enum dsa_completion_status`).
pub mod status {
    /// Not complete.
    pub const NONE: u8 = 0;
    /// All is done.
    pub const SUCCESS: u8 = 1;
    /// A page is not there, so the rest is not done.
    pub const PAGE_FAULT: u8 = 3;
    /// Not all descriptors of a batch succeeded.
    pub const BATCH_FAIL: u8 = 5;
    /// A page of the batch's array is not there.
    pub const BATCH_PAGE_FAULT: u8 = 6;
    /// The bits that tell what happened (`DSA_COMP_STATUS_MASK`).
    pub const MASK: u8 = 0x7f;
    /// Set if a write met the page that is not there (`DSA_COMP_STATUS_WRITE`).
    pub const WRITE: u8 = 0x80;
}

/// An order for the device (`struct dsa_hw_desc`). The device wants an array of them to begin at a multiple of 64 bytes.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// The address space and the privilege. Who submits from a program leaves both 0: processor, driver or queue know them.
    pub space: u32,
    /// The opcode in the upper byte, flags below.
    pub opcode_flags: u32,
    /// Address of the completion record.
    pub record: u64,
    /// Where bytes come from; of a batch, where its descriptors are.
    pub source: u64,
    /// Where bytes go.
    pub dest: u64,
    /// Number of bytes; of a batch, of descriptors.
    pub count: u32,
    /// Which interrupt is raised; none is asked for.
    pub interrupt: u16,
    /// 0.
    pub reserved: u16,
    /// Operands of other operations; 0.
    pub operands: [u64; 3],
}

impl Descriptor {
    fn new(opcode: u8, flags: u32, record: &Record) -> Self {
        let flags = flags | flags::RECORD_VALID | flags::RECORD_WANTED;
        Self {
            space: 0,
            opcode_flags: u32::from(opcode) << 24 | flags,
            record: std::ptr::from_ref(record).expose_provenance() as u64,
            source: 0,
            dest: 0,
            count: 0,
            interrupt: 0,
            reserved: 0,
            operands: [0; 3],
        }
    }

    /// Copies `bytes` bytes.
    pub fn copy(dest: *mut u8, source: *const u8, bytes: u32, flags: u32, record: &Record) -> Self {
        Self {
            source: source.expose_provenance() as u64,
            dest: dest.expose_provenance() as u64,
            count: bytes,
            ..Self::new(opcode::MEMMOVE, flags, record)
        }
    }

    /// Executes others, in any order.
    pub fn batch(descriptors: &[Descriptor], record: &Record) -> Self {
        Self {
            source: descriptors.as_ptr().expose_provenance() as u64,
            count: descriptors.len() as u32,
            ..Self::new(opcode::BATCH, 0, record)
        }
    }
}

/// What has become of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The device has not written the record.
    Running,
    /// All is done.
    Done,
    /// So many bytes at the beginning are copied.
    Stopped {
        /// Bytes.
        copied: u32,
        /// Whether the page that is missing was to be written.
        writing: bool,
    },
    /// The device refuses, with this status.
    Failed(u8),
}

/// What the device writes when a descriptor is complete (`struct dsa_completion_record`): in its first word the status, the
/// result and, in the upper half, the number of bytes that are copied; in its second the address that is not there.
///
/// The thread that submits clears the record before. The device writes it once for each descriptor, after the data that the same
/// traffic class carries; the driver, which writes it where the record's page was missing, writes the status last. So who sees a status sees the
/// data and the rest of the record, and who clears the record after that, before it submits anew, never takes the old status for a new one.
#[repr(C, align(32))]
#[derive(Debug)]
pub struct Record<C = AtomicU64> {
    words: [C; 4],
}

impl Record {
    /// Of nothing.
    pub const fn empty() -> Self {
        Self::over([const { AtomicU64::new(0) }; 4])
    }
}

impl<C: Counter> Record<C> {
    /// Over four words.
    pub const fn over(words: [C; 4]) -> Self {
        Self { words }
    }

    /// Before a descriptor is submitted.
    pub fn clear(&self) {
        self.words[0].store(0);
    }

    /// The status; 0: the device has not written it.
    #[inline]
    pub fn status(&self) -> u8 {
        self.words[0].load() as u8
    }

    /// What has become of a copy of `bytes` bytes.
    pub fn outcome(&self, bytes: u32) -> Outcome {
        let first = self.words[0].load();
        let status = first as u8;
        match status & status::MASK {
            status::NONE => Outcome::Running,
            status::SUCCESS => Outcome::Done,
            status::PAGE_FAULT => {
                // Where the copy went from the end, which only arrays that overlap need, it begins anew.
                let from_end = first >> 8 & 1 != 0;
                let copied = if from_end { 0 } else { (first >> 32) as u32 };
                if copied > bytes {
                    return Outcome::Failed(status);
                }
                Outcome::Stopped {
                    copied,
                    writing: status & status::WRITE != 0,
                }
            }
            _ => Outcome::Failed(status),
        }
    }

    /// What the device does. `fault` is the address that is not there.
    pub fn write(&self, status: u8, copied: u32, fault: u64) {
        self.words[1].store(fault);
        self.words[0].store(u64::from(copied) << 32 | u64::from(status));
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use super::*;

    /// As `linux/idxd.h` has them; there they are packed structures.
    #[test]
    fn layouts_are_those_of_the_driver() {
        assert_eq!(
            (size_of::<Descriptor>(), align_of::<Descriptor>()),
            (64, 64)
        );
        assert_eq!((size_of::<Record>(), align_of::<Record>()), (32, 32));
        assert_eq!(offset_of!(Descriptor, opcode_flags), 4);
        assert_eq!(offset_of!(Descriptor, record), 8);
        assert_eq!(offset_of!(Descriptor, source), 16);
        assert_eq!(offset_of!(Descriptor, dest), 24);
        assert_eq!(offset_of!(Descriptor, count), 32);
        assert_eq!(offset_of!(Descriptor, interrupt), 36);
        assert_eq!(offset_of!(Descriptor, operands), 40);
    }

    #[test]
    fn a_descriptor_asks_for_a_record_and_never_blocks_on_faults() {
        let record = Record::empty();
        let mut byte = 0u8;
        let copy = Descriptor::copy(&raw mut byte, &raw const byte, 7, flags::TO_CACHE, &record);
        assert_eq!(copy.opcode_flags, 0x0300_010c);
        assert_eq!(copy.count, 7);
        let batch = Descriptor::batch(&[copy, copy], &record);
        assert_eq!(batch.opcode_flags, 0x0100_000c);
        assert_eq!(batch.count, 2);
    }

    #[test]
    fn a_record_says_what_has_become_of_a_copy() {
        let record = Record::empty();
        assert_eq!(record.outcome(100), Outcome::Running);
        record.write(status::SUCCESS, 0, 0);
        assert_eq!(record.outcome(100), Outcome::Done);
        record.write(status::PAGE_FAULT | status::WRITE, 40, 4096);
        let stopped = |copied, writing| Outcome::Stopped { copied, writing };
        assert_eq!(record.outcome(100), stopped(40, true));
        record.write(status::PAGE_FAULT, 100, 4096);
        assert_eq!(record.outcome(100), stopped(100, false));
        record.write(status::PAGE_FAULT, 101, 4096);
        assert_eq!(record.outcome(100), Outcome::Failed(3));
        Counter::store(&record.words[0], 40 << 32 | 1 << 8 | 3);
        assert_eq!(record.outcome(100), stopped(0, false));
        record.write(0x13, 0, 0);
        assert_eq!(record.outcome(100), Outcome::Failed(0x13));
        record.clear();
        assert_eq!(record.outcome(100), Outcome::Running);
    }
}
