//! Steps that a PE has `oshrun` take, and how `oshrun` takes them: a word that is 0 and a clock, which the steps after
//! it are taken with.

use super::clock::Clock;
use super::store::{Found, Step, Store};
use crate::remote::Connection;
use crate::remote::words::{Reader, Writer};

/// Begins a clock: no step does.
const CLOCK: u64 = 0;
/// Words that wait at most.
const MOST: usize = 8192;

/// Steps that wait for the next one that cannot.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    steps: Writer,
    /// The clock as it was written last: epoch and components.
    clock: (u32, Vec<u64>),
}

impl Waiting {
    /// Has `oshrun` take steps; what all steps since the last answer have found.
    pub(super) fn take(&mut self, connection: &Connection, clock: &mut Clock, steps: &[Step]) -> Found {
        if clock.epoch() != self.clock.0 || clock.components() != self.clock.1 {
            self.clock = (clock.epoch(), clock.components().to_vec());
            self.steps.word(CLOCK);
            write(clock, &mut self.steps);
        }
        for step in steps {
            step.write(&mut self.steps);
        }
        if self.steps.len() < MOST && steps.iter().all(Step::can_wait) {
            return Found::default();
        }
        let answer = connection.steps(&self.steps.finish()).unwrap_or_default();
        let mut reader = Reader::new(&answer);
        // Without an answer, the job ends.
        if read(clock, &mut reader).is_some() {
            self.clock = (clock.epoch(), clock.components().to_vec());
        }
        Found::read(&mut reader).unwrap_or_default()
    }
}

fn write(clock: &Clock, to: &mut Writer) {
    to.word(clock.epoch().into());
    to.words(clock.components().iter().copied());
}

fn read(clock: &mut Clock, from: &mut Reader<'_>) -> Option<()> {
    let epoch = from.word()? as u32;
    let known: Option<Vec<u64>> = clock.components().iter().map(|_| from.word()).collect();
    clock.set(epoch, &known?);
    Some(())
}

/// The steps of a PE, as `oshrun` takes them.
#[derive(Debug)]
pub(crate) struct Steps {
    me: usize,
    n_pes: usize,
    clock: Clock,
}

impl Steps {
    pub(crate) fn new(me: usize, n_pes: usize) -> Self {
        Self { me, n_pes, clock: Clock::new(me, n_pes) }
    }

    /// Takes the steps of a message, and writes the answer. None if they are none.
    pub(crate) fn take(&mut self, store: &Store, from: &mut Reader<'_>, to: &mut Writer) -> Option<()> {
        let mut found = Found::default();
        while from.has_more() {
            if from.peek() == Some(CLOCK) {
                from.word();
                read(&mut self.clock, from)?;
                continue;
            }
            let step = Step::read(from, self.n_pes)?;
            store.take(self.me, &mut self.clock, &step, &mut found);
        }
        write(&self.clock, to);
        found.write(to);
        Some(())
    }
}
