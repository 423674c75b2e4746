//! What puts write, as a number: two of one PE that nothing orders do not matter to each other if they write the same.

use super::store::CONTENTS;
use crate::call::{Call, Role};
use crate::own_memory::OwnMemory;
use crate::shared::mixed;

/// Bytes of each source that are compared.
const COMPARED: usize = 1 << 20;

/// Reads sources. Where one cannot be read, it is the library that faults.
#[derive(Debug)]
pub(super) struct Contents(Option<OwnMemory>);

impl Contents {
    pub(super) fn new() -> Self {
        Self(OwnMemory::open().ok())
    }

    /// The number of what a put writes at `at`; 0 if it is not known, as of sources with gaps.
    pub(super) fn of(&mut self, call: &Call, at: usize) -> u32 {
        let source = call.parameters().find(|(_, parameter)| parameter.role == Role::Read);
        let span = source.map(|(number, parameter)| call.span(number, parameter, 1));
        let (Some(span), Some(memory)) = (span.filter(|span| span.count == 1), &mut self.0) else {
            return 0;
        };
        let mut number = mixed(at as u64, span.len as u64);
        let is_mapped = memory.each_piece(span.at..span.at + span.len.min(COMPARED), |piece| {
            for chunk in piece.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                number = mixed(number, u64::from_le_bytes(word));
            }
        });
        if is_mapped { (number as u32 & CONTENTS).max(1) } else { 0 }
    }
}
