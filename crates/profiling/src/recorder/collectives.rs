//! A sample of collectives, of which all members keep the same.

use ferroshmem_layout::profile::{collective, header, team};

use super::Recorder;

/// Whether the collective of this number is kept where one of `step` is: the same on all members. Not every
/// `step`-th, as programs repeat sequences of collectives.
fn is_kept(sequence: u64, step: u64) -> bool {
    let mixed = (sequence.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) & (step - 1) == 0
}

impl Recorder {
    /// The place of the team, and the number of its collective that has just ended.
    pub(super) fn next_collective(&self, (start, stride, size): (i32, i32, u32), id: u64) -> (u64, u64) {
        let key = [start as u64, stride as u64, size.into(), id];
        for index in 0..team::MOST {
            let at = self.layout.teams().start + index * team::WORDS;
            if self.get(at + team::SIZE) == 0 {
                for (word, value) in key.into_iter().enumerate() {
                    self.set(at + word, value);
                }
            }
            if (0..4).all(|word| self.get(at + word) == key[word]) {
                let sequence = self.get(at + team::CALLS);
                self.set(at + team::CALLS, sequence + 1);
                return (index as u64, sequence);
            }
        }
        (u64::from(u16::MAX), 0)
    }

    pub(super) fn keep_collective(&self, record: [u64; collective::WORDS]) {
        let team = record[collective::SEQUENCE] & u64::from(u16::MAX);
        let sequence = record[collective::SEQUENCE] >> 16;
        let step = self.get(header::COLLECTIVES_STEP);
        if team == u64::from(u16::MAX) || !is_kept(sequence, step) {
            return;
        }
        if self.get(header::COLLECTIVES_KEPT) == self.layout.collectives as u64 {
            self.thin_out(step * 2);
            if !is_kept(sequence, step * 2) {
                return;
            }
        }
        let kept = self.get(header::COLLECTIVES_KEPT);
        if kept < self.layout.collectives as u64 {
            let at = self.layout.collectives().start + kept as usize * collective::WORDS;
            for (word, value) in record.into_iter().enumerate() {
                self.set(at + word, value);
            }
            self.set(header::COLLECTIVES_KEPT, kept + 1);
        }
    }

    /// Drops about half of the collectives.
    #[cold]
    fn thin_out(&self, step: u64) {
        let start = self.layout.collectives().start;
        let mut kept = 0;
        for index in 0..self.layout.collectives {
            let from = start + index * collective::WORDS;
            if !is_kept(self.get(from + collective::SEQUENCE) >> 16, step) {
                continue;
            }
            let to = start + kept * collective::WORDS;
            for word in 0..collective::WORDS {
                self.set(to + word, self.get(from + word));
            }
            kept += 1;
        }
        self.set(header::COLLECTIVES_STEP, step);
        self.set(header::COLLECTIVES_KEPT, kept as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_collectives_are_nested_and_mixed() {
        for step in [1, 2, 4, 64] {
            let kept = (0..100_000).filter(|s| is_kept(*s, step)).collect::<Vec<_>>();
            let share = kept.len() as f64 * step as f64 / 100_000.0;
            assert!((0.9..1.1).contains(&share), "{share} of one in {step}");
            // Both halves of a loop of two collectives are seen.
            let even = kept.iter().filter(|s| *s % 2 == 0).count() as f64;
            assert!((0.3..0.7).contains(&(even / kept.len() as f64)));
            assert!((0..1000).all(|s| !is_kept(s, 2 * step) || is_kept(s, step)));
        }
    }
}
