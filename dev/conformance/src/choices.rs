//! The algorithms of collectives, as jobs are forced to use them.

use ferroshmem_config as config;
use ferroshmem_tuning::{Choice, Collective};

/// One choice for each collective.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    number: usize,
}

impl Choices {
    /// Choices such that each algorithm of each collective is in one of them at least: as many
    /// as the collective with the most algorithms has.
    pub fn all() -> impl Iterator<Item = Self> {
        let most = Collective::ALL.map(|c| c.choices().len()).into_iter().max();
        (0..most.unwrap_or(0)).map(|number| Self { number })
    }

    fn of(self, collective: Collective, pes: usize) -> Choice {
        let all = collective.choices();
        // Each number of PEs has other barriers with the same algorithms.
        let shift = if collective == Collective::Barrier { pes } else { 0 };
        all[(self.number + shift) % all.len()]
    }

    /// The environment that forces them at a number of PEs.
    pub fn environment(self, pes: usize) -> impl Iterator<Item = (&'static str, String)> {
        let force = move |c: Collective| (config::algorithm(c).name, self.of(c, pes).to_string());
        Collective::ALL.into_iter().map(force)
    }

    /// A name for tests: choices differ in those for reductions or barriers.
    pub fn name(self, pes: usize) -> String {
        let [reduce, barrier] = [Collective::Reduce, Collective::Barrier].map(|c| self.of(c, pes));
        format!("{reduce}+{barrier}")
    }
}
