//! What is known of the PEs of a job: who accessed what last, and what each PE knew as it synchronised.
//!
//! PEs change it by steps. On one host they do so in the file that they share; on several, `oshrun` does it for them
//! (`remote`), so steps have a form in words.

use std::sync::atomic::AtomicU64;

use super::arrivals::Arrivals;
use super::clock::Clock;
use super::published::Published;
use super::shadow::{Access, Cell, Shadow};
use super::sync_objects::{Lookup, SyncObjects};
use crate::layout::race::Layout;
use crate::members::Members;
use crate::remote::words::{Reader, Writer};
use crate::span::Span;

/// From whom the members of a collective learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    All,
    Root(usize),
    Before,
}

/// The highest number for what a put writes: its steps have as many bits for it.
pub(super) const CONTENTS: u32 = (1 << 24) - 1;

/// A step of a PE. Addresses are those that all PEs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Memory of PE `pe` was accessed by a call.
    Access { pe: usize, span: Span, access: Access, contents: u32, site: u32 },
    /// Others see what the PE does now, and learn what it knew in this epoch.
    Publish { epoch: u32 },
    /// Others may see that a variable has changed.
    Release { pe: usize, at: u64 },
    /// The PE has seen a variable that others release.
    AcquireObject { pe: usize, at: u64 },
    /// The same, and who has written its bytes.
    Acquire { pe: usize, at: u64, len: usize },
    /// The PE may have learned from any.
    AcquireAll,
    /// The PE enters a collective of a team.
    Enter { team: Members, number: u64 },
    /// It leaves it.
    Leave { team: Members, number: u64, from: From },
    /// Nobody has accessed this memory.
    Clear { pe: usize, at: u64, len: usize },
}

/// An access that conflicts with the new one of call `site` at an address of PE `pe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    pub site: u32,
    pub access: Access,
    pub old: Cell,
    pub pe: usize,
    pub at: u64,
}

/// What steps have found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub conflicts: Vec<Conflict>,
    /// Something was lost for want of room.
    pub lacked_room: bool,
}

/// What is known.
#[derive(Debug)]
pub(crate) struct Store {
    n_pes: usize,
    published: Published,
    arrivals: Arrivals,
    objects: SyncObjects,
    shadow: Shadow,
}

impl Store {
    /// Of `n_pes` PEs, in the words of the shared file for races.
    pub(crate) fn new(n_pes: usize, words: &'static [AtomicU64]) -> Self {
        let layout = Layout::new(n_pes);
        Self {
            n_pes,
            published: Published::new(&layout, words),
            arrivals: Arrivals::new(&layout, words),
            objects: SyncObjects::new(&layout, words),
            shadow: Shadow::new(&words[layout.index.clone()], &words[layout.shadow.clone()]),
        }
    }

    /// A PE that knows what its clock says takes a step.
    pub(super) fn take(&self, me: usize, clock: &mut Clock, step: &Step, found: &mut Found) {
        match *step {
            Step::Access { pe, span, access, contents, site } => {
                let new = Cell { epoch: clock.epoch(), pe: me, access, bytes: 0, contents, site };
                let first = found.conflicts.len();
                let conflicts = &mut found.conflicts;
                let mut conflict = |old: Cell, at: u64| {
                    if !conflicts[first..].iter().any(|other| other.old.site == old.site) {
                        conflicts.push(Conflict { site, access, old, pe, at });
                    }
                };
                let had_room =
                    span.blocks().all(|(at, len)| self.shadow.access((pe, at as u64, len), new, clock, &mut conflict));
                found.lacked_room |= !had_room;
            }
            Step::Publish { epoch } => self.published.publish(me, epoch, clock.components()),
            Step::Release { pe, at } => {
                found.lacked_room |= !self.objects.release(pe, at, clock.components());
            }
            Step::AcquireObject { pe, at } => self.acquire_object(me, clock, (pe, at)),
            Step::Acquire { pe, at, len } => {
                self.acquire_object(me, clock, (pe, at));
                for cell in self.shadow.seen((pe, at, len), me) {
                    clock.acquire(self.published.at(cell.pe, cell.epoch));
                }
            }
            Step::AcquireAll => self.acquire_all(me, clock),
            Step::Enter { team, number } => self.arrivals.enter(me, &team, number, clock.components()),
            Step::Leave { team, number, from } => self.leave(me, clock, (team, number), from),
            Step::Clear { pe, at, len } => self.shadow.clear((pe, at, len)),
        }
    }

    /// Learns what those knew who released a variable; what all know, if that is lost.
    fn acquire_object(&self, me: usize, clock: &mut Clock, (pe, at): (usize, u64)) {
        match self.objects.lookup(pe, at) {
            Lookup::Released(known) => clock.acquire(known),
            Lookup::Never => {}
            Lookup::NoRoom => self.acquire_all(me, clock),
        }
    }

    fn acquire_all(&self, me: usize, clock: &mut Clock) {
        for pe in (0..self.n_pes).filter(|pe| *pe != me) {
            clock.acquire(self.published.now(pe));
        }
    }

    fn leave(&self, me: usize, clock: &mut Clock, (team, number): (Members, u64), from: From) {
        let mut learn_from = |pe| {
            let arrival = self.arrivals.of(pe, &team, number);
            clock.acquire(arrival.unwrap_or_else(|| self.published.now(pe)));
        };
        match from {
            From::All => team.pes().filter(|pe| *pe != me).for_each(learn_from),
            From::Before => team.pes().take_while(|pe| *pe != me).for_each(learn_from),
            From::Root(root) if root != me => learn_from(root),
            From::Root(_) => {}
        }
    }
}

impl Step {
    /// Whether it may be taken later, with the next one that may not.
    pub(super) fn can_wait(&self) -> bool {
        matches!(self, Self::Access { .. } | Self::Clear { .. })
    }

    /// Its form in words, as long for each step.
    pub(super) fn write(&self, to: &mut Writer) {
        let of = |kind, words: [u64; 6]| (kind, words);
        let (kind, words): (u64, _) = match *self {
            Self::Access { pe, span, access, contents, site } => {
                let kind_and_site = access.number() | u64::from(site) << 8 | u64::from(contents) << 40;
                let [at, len, stride, count] = [span.at, span.len, span.stride as usize, span.count].map(|w| w as u64);
                of(1, [pe as u64, at, len, stride, count, kind_and_site])
            }
            Self::Publish { epoch } => of(2, [epoch.into(), 0, 0, 0, 0, 0]),
            Self::Release { pe, at } => of(3, [pe as u64, at, 0, 0, 0, 0]),
            Self::AcquireObject { pe, at } => of(4, [pe as u64, at, 0, 0, 0, 0]),
            Self::Acquire { pe, at, len } => of(5, [pe as u64, at, len as u64, 0, 0, 0]),
            Self::AcquireAll => of(6, [0; 6]),
            Self::Enter { team, number } => {
                let [start, stride, size] = team.words();
                of(7, [start, stride, size, number, 0, 0])
            }
            Self::Leave { team, number, from } => {
                let [start, stride, size] = team.words();
                let from = match from {
                    From::All => 0,
                    From::Before => 1,
                    From::Root(root) => root as u64 + 2,
                };
                of(8, [start, stride, size, number, from, 0])
            }
            Self::Clear { pe, at, len } => of(9, [pe as u64, at, len as u64, 0, 0, 0]),
        };
        to.word(kind);
        to.words(words);
    }

    /// From these words; None if they are no step of a job of `n_pes` PEs.
    pub(super) fn read(from: &mut Reader<'_>, n_pes: usize) -> Option<Self> {
        let kind = from.word()?;
        let mut words = [0; 6];
        for word in &mut words {
            *word = from.word()?;
        }
        let [a, b, c, d, e, f] = words;
        let pe = || usize::try_from(a).ok().filter(|pe| *pe < n_pes);
        let team = || Members::of_words([a, b, c], n_pes);
        Some(match kind {
            1 => Self::Access {
                pe: pe()?,
                span: Span { at: b as usize, len: c as usize, stride: d as isize, count: e as usize },
                access: Access::numbered(f & 0xff),
                contents: (f >> 40) as u32,
                site: (f >> 8) as u32,
            },
            2 => Self::Publish { epoch: a as u32 },
            3 => Self::Release { pe: pe()?, at: b },
            4 => Self::AcquireObject { pe: pe()?, at: b },
            5 => Self::Acquire { pe: pe()?, at: b, len: c as usize },
            6 => Self::AcquireAll,
            7 => Self::Enter { team: team()?, number: d },
            8 => Self::Leave {
                team: team()?,
                number: d,
                from: match e {
                    0 => From::All,
                    1 => From::Before,
                    root => From::Root(usize::try_from(root - 2).ok().filter(|root| *root < n_pes)?),
                },
            },
            9 => Self::Clear { pe: pe()?, at: b, len: c as usize },
            _ => return None,
        })
    }
}

impl Found {
    pub(super) fn write(&self, to: &mut Writer) {
        to.word(self.lacked_room.into());
        to.word(self.conflicts.len() as u64);
        for Conflict { site, access, old, pe, at } in &self.conflicts {
            to.word((*site).into());
            to.word(access.number());
            to.words(old.words());
            to.word(*pe as u64);
            to.word(*at);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let lacked_room = from.word()? != 0;
        let conflicts = (0..from.word()?).map(|_| {
            Some(Conflict {
                site: from.word()? as u32,
                access: Access::numbered(from.word()?),
                old: Cell::from_words([from.word()?, from.word()?])?,
                pe: from.word()? as usize,
                at: from.word()?,
            })
        });
        Some(Self { conflicts: conflicts.collect::<Option<_>>()?, lacked_room })
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::Via;
    use super::*;

    #[test]
    fn steps_are_read_as_they_were_written() {
        let team = Members::of(5, -2, 3, 6).unwrap();
        let span = Span { at: 1 << 46, len: 8, stride: -16, count: 3 };
        let steps = [
            Step::Access { pe: 2, span, access: Access::Put(Via::DEFAULT), contents: CONTENTS, site: u32::MAX },
            Step::Publish { epoch: 7 },
            Step::Release { pe: 1, at: 64 },
            Step::AcquireObject { pe: 5, at: 72 },
            Step::Acquire { pe: 3, at: 80, len: 4 },
            Step::AcquireAll,
            Step::Enter { team, number: 9 },
            Step::Leave { team, number: 9, from: From::Root(1) },
            Step::Leave { team, number: 9, from: From::Before },
            Step::Clear { pe: 0, at: 8, len: 100 },
        ];
        let mut writer = Writer::default();
        for step in steps {
            step.write(&mut writer);
        }
        let words = writer.finish();
        let mut reader = Reader::new(&words);
        for step in steps {
            assert_eq!(Step::read(&mut reader, 6), Some(step));
        }
        assert_eq!(Step::read(&mut reader, 6), None);
        // Of a PE that the job does not have.
        assert_eq!(Step::read(&mut Reader::new(&words), 2), None);
    }

    #[test]
    fn what_was_found_is_read_as_it_was_written() {
        let old = Cell { epoch: 3, pe: 1, access: Access::Write, bytes: 0xf0, contents: 9, site: 12 };
        let conflict = Conflict { site: 11, access: Access::Read, old, pe: 1, at: 4096 };
        let found = Found { conflicts: vec![conflict, Conflict { at: 8, ..conflict }], lacked_room: true };
        let mut writer = Writer::default();
        found.write(&mut writer);
        let words = writer.finish();
        assert_eq!(Found::read(&mut Reader::new(&words)), Some(found));
        assert_eq!(Found::read(&mut Reader::new(&words[..9])), None);
    }
}
