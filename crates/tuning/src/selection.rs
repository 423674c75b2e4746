//! How a job chooses its algorithms.

use std::sync::{Arc, Mutex};

use super::algorithm::Algorithm;
use super::collective::Collective;
use super::costs::{Costs, sizes};
use super::decision_table::{DecisionTable, Source, Steps};
use super::forced::Forced;
use super::shape::Shape;
use super::tuning::Tuning;

/// Where the choices of a collective come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Forced by the user.
    Forced,
    /// Measured with this number of PEs.
    Measured(usize),
    /// The cost model.
    Model,
}

/// The facts that determine all choices of a job.
#[derive(Debug)]
pub struct Selection(Arc<Facts>);

#[derive(Debug)]
struct Facts {
    forced: Forced,
    tuning: Tuning,
    /// PEs of the job.
    pes: usize,
    /// Cores that they may use.
    cores: usize,
    /// Steps determined so far, with the collective and the shape of the team.
    known: Mutex<Vec<(Collective, Shape, Steps)>>,
}

impl Selection {
    /// The selection of a job of `pes` PEs on `cores` cores.
    pub fn new(forced: Forced, tuning: Tuning, pes: usize, cores: usize) -> Self {
        Self(Arc::new(Facts { forced, tuning, pes, cores, known: Mutex::default() }))
    }

    /// What the user forces for a collective.
    pub fn forced_for(&self, collective: Collective) -> Option<Algorithm> {
        let forced = self.0.forced.of(collective);
        forced.map(|choice| choice.algorithm)
    }

    /// The decision table of a team of this shape.
    pub fn decisions(&self, shape: impl Into<Shape>) -> DecisionTable {
        DecisionTable::new(self.0.clone(), shape.into())
    }

    /// Where the choices of `collective` in a team of `size` come from.
    pub fn origin(&self, collective: Collective, size: usize) -> Origin {
        let facts = &self.0;
        if facts.forced.of(collective).is_some() {
            return Origin::Forced;
        }
        match facts.tuning.rules_for(size, facts.pes, facts.cores) {
            Some(rules) if rules.steps[collective as usize].choose(0).is_some() => Origin::Measured(rules.pes as usize),
            _ => Origin::Model,
        }
    }
}

impl Source for Facts {
    fn steps(&self, collective: Collective, shape: Shape) -> Steps {
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        let of = |(c, s, _): &&(_, _, _)| (*c, *s) == (collective, shape);
        if let Some((_, _, steps)) = known.iter().find(of) {
            return *steps;
        }
        let steps = self.determine(collective, shape);
        known.push((collective, shape, steps));
        steps
    }
}

impl Facts {
    fn determine(&self, collective: Collective, shape: Shape) -> Steps {
        let size = shape.size;
        let rules = self.tuning.rules_for(size, self.pes, self.cores);
        let measured = rules.map(|r| &r.steps[collective as usize]);
        let forced = self.forced.of(collective);
        let costs = Costs::new(
            self.tuning.parameters,
            shape,
            self.cores,
            self.pes > self.cores,
            self.forced.of(Collective::Barrier),
        );
        let exists = |choice, n| costs.time(collective, choice, n).is_finite();
        Steps::new(sizes(collective, size).into_iter().map(|n| {
            let chosen = forced.filter(|c| exists(*c, n)).or_else(|| measured?.choose(n).filter(|c| exists(*c, n)));
            (n, chosen.unwrap_or_else(|| costs.best(collective, n)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::EAGER;
    use super::super::algorithm::{Algorithm, Choice};
    use super::*;

    fn model(cores: usize, pes: usize, forced: Forced) -> Selection {
        Selection::new(forced, Tuning::default_for(cores), pes, cores)
    }

    #[test]
    fn small_is_eager_and_large_is_shared() {
        for (cores, pes) in [(2, 2), (2, 16), (2, 64), (64, 64), (64, 16)] {
            let decisions = model(cores, pes, Forced::default()).decisions(pes);
            let reduce = |n| decisions.choose(Collective::Reduce, n).algorithm;
            assert_ne!(reduce(8), Algorithm::Slices, "{pes} on {cores}");
            let large = reduce(8 << 20);
            // Between two members these three do the same.
            let same = pes == 2 && large == Algorithm::RecursiveDoubling;
            assert!(
                same || matches!(large, Algorithm::Slices | Algorithm::Rabenseifner),
                "{large:?} for {pes} on {cores}"
            );
            let fcollect = |n| decisions.choose(Collective::Fcollect, n).algorithm;
            assert_eq!(fcollect(8), Algorithm::Eager, "{pes} on {cores}");
            assert_ne!(fcollect(1 << 20), Algorithm::Eager);
        }
    }

    #[test]
    fn crowded_cores_take_the_central_barrier() {
        let barrier = |cores, pes| {
            let decisions = model(cores, pes, Forced::default()).decisions(pes);
            decisions.choose(Collective::Barrier, 0).algorithm
        };
        assert_eq!(barrier(2, 2), Algorithm::Dissemination);
        assert_eq!(barrier(64, 64), Algorithm::Dissemination);
        assert_eq!(barrier(2, 4), Algorithm::Central);
        assert_eq!(barrier(2, 64), Algorithm::Central);
    }

    #[test]
    fn forced_choices_hold_where_they_exist() {
        for collective in Collective::ALL {
            let everywhere = |choice: &&Choice| choice.algorithm != Algorithm::Sockets;
            for choice in collective.choices().iter().filter(everywhere) {
                let forced = Forced::default().with(collective, *choice);
                for pes in [1, 2, 3, 64, 4096] {
                    let selection = model(2, pes, forced);
                    let decisions = selection.decisions(pes);
                    assert_eq!(selection.origin(collective, pes), Origin::Forced);
                    let limit = collective.eager_limit(pes);
                    for n in [0, 1, limit, limit + 1, 3 * EAGER, 1 << 30] {
                        let chosen = decisions.choose(collective, n);
                        if choice.algorithm != Algorithm::Eager || (n <= limit && limit > 0) {
                            assert_eq!(chosen, *choice, "{collective:?} {n} at {pes}");
                        } else if n > limit {
                            assert_ne!(chosen.algorithm, Algorithm::Eager, "{n} at {pes}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn eager_keeps_its_limit() {
        for pes in [1, 2, 3, 5, 16, 64, 4096] {
            let decisions = model(2, pes, Forced::default()).decisions(pes);
            for collective in Collective::ALL {
                let limit = collective.eager_limit(pes);
                for n in [limit + 1, limit + 7, 2 * limit + 1, 1 << 20] {
                    let choice = decisions.choose(collective, n);
                    assert_ne!(choice.algorithm, Algorithm::Eager, "{collective:?} {n} {pes}");
                }
            }
        }
    }

    #[test]
    fn measured_rules_come_before_the_model() {
        let mut tuning = Tuning::default_for(2);
        let flat = Choice::direct(Algorithm::Flat);
        tuning.rules[0].pes = 2;
        tuning.rules[0].steps[Collective::Reduce as usize] = Steps::new([(usize::MAX, flat)]);
        let selection = Selection::new(Forced::default(), tuning, 2, 2);
        let decisions = selection.decisions(2);
        assert_eq!(decisions.choose(Collective::Reduce, 8), flat);
        assert_eq!(decisions.choose(Collective::Reduce, 8 << 20), flat);
        let origin = |c| selection.origin(c, 2);
        assert_eq!(origin(Collective::Reduce), Origin::Measured(2));
        assert_eq!(origin(Collective::Scan), Origin::Model);
    }

    #[test]
    fn teams_on_several_sockets_follow_them() {
        let shape = |size, sockets| Shape { size, sockets, widest: size / sockets };
        let sockets = Choice::direct(Algorithm::Sockets);
        for (size, count) in [(4, 2), (8, 2), (8, 4), (16, 2), (64, 2), (128, 2), (256, 8)] {
            let decisions = model(size, size, Forced::default()).decisions(shape(size, count));
            for (collective, bytes) in [
                (Collective::Barrier, 0),
                (Collective::Reduce, 8),
                (Collective::Reduce, 1 << 20),
                (Collective::Broadcast, 8),
                (Collective::Broadcast, 1 << 20),
                (Collective::Fcollect, 1 << 20),
            ] {
                let chosen = decisions.choose(collective, bytes);
                assert_eq!(chosen, sockets, "{collective:?} of {bytes} bytes, {size} on {count}");
            }
        }
        // Where PEs outnumber cores, switches decide.
        let crowded = model(2, 16, Forced::default()).decisions(shape(16, 2));
        assert_eq!(crowded.choose(Collective::Barrier, 0).algorithm, Algorithm::Central);
        // What is forced holds, but on one socket.
        let forced = Forced::default().with(Collective::Barrier, sockets);
        let selection = model(2, 16, forced);
        assert_eq!(selection.decisions(shape(16, 2)).choose(Collective::Barrier, 0), sockets);
        let one = selection.decisions(16);
        assert_eq!(one.choose(Collective::Barrier, 0).algorithm, Algorithm::Central);
        assert_ne!(one.choose(Collective::Reduce, 8).algorithm, Algorithm::Slices);
    }

    #[test]
    fn choices_are_determined_once_and_when_they_are_needed() {
        let selection = model(2, 64, Forced::default());
        let known = || selection.0.known.lock().unwrap().len();
        let tables = [selection.decisions(64), selection.decisions(64)];
        assert_eq!(known(), 0);
        for (i, collective) in Collective::ALL.into_iter().enumerate() {
            let [first, second] = tables.each_ref().map(|table| table.steps(collective));
            assert_eq!(first, second);
            assert_eq!(known(), i + 1);
        }
    }
}
