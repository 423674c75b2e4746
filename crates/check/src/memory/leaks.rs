//! Blocks that are never freed, and that the program can no longer free.

use super::blocks::Block;
use super::{FILLED, Memory, reach};
use crate::call::Call;
use crate::finding::{Finding, Kind};
use crate::hidden::Hidden;
use crate::job::ThisPe;

impl Memory {
    /// Reports blocks of the same calls of which the program has no pointer any more: of one alone, it may be meant to
    /// last.
    pub(super) fn leaks(&self, job: &ThisPe, call: &Call) {
        let mut live: Vec<(Hidden, Block)> = {
            let blocks = self.blocks();
            let own = blocks.live().filter(|(_, block)| block.space.is_none());
            own.collect()
        };
        live.sort_by_key(|(_, block)| (block.site, block.stack));
        let is_same = |(_, a): &(Hidden, Block), (_, b): &(Hidden, Block)| (a.site, a.stack) == (b.site, b.stack);
        let several = live.chunk_by(is_same).filter(|same| same.len() > 1);
        let suspects: Vec<_> = several.flatten().map(|(start, block)| (*start, block.size)).collect();
        if suspects.is_empty() {
            return;
        }
        let contents = live.iter().map(|(start, block)| {
            let start = start.address();
            start..start + block.size.min(FILLED)
        });
        let others = contents.chain([job.globals.range.clone()]);
        let stack = std::ptr::from_ref(call).addr();
        let lost = reach::unreachable(&suspects, others, stack);
        live.retain(|(start, _)| lost.contains(start));
        for same in live.chunk_by(is_same) {
            job.records.report(&Finding {
                bytes: same.iter().map(|(_, block)| block.size as u64).sum(),
                detail: same.len() as u64,
                ..job.finding(Kind::Leak, same[0].1.site)
            });
        }
    }
}
