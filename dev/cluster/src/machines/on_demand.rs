//! Machines for several tests.

use anyhow::Result;

use super::{Job, Machines, Outcome, Setup};

/// Machines that are booted when they are needed first, and again after some were lost.
#[derive(Default)]
pub struct OnDemand(Option<Machines>);

impl OnDemand {
    /// Runs a job in the machines of [`Setup::in_target`].
    ///
    /// # Errors
    /// If machines cannot be booted, or are lost.
    pub fn run(&mut self, job: &Job) -> Result<Outcome> {
        let machines = match self.0.take() {
            Some(machines) => self.0.insert(machines),
            None => self.0.insert(Machines::boot(&Setup::in_target()?)?),
        };
        let outcome = machines.run(job);
        if outcome.is_err() {
            self.0 = None;
        }
        outcome
    }
}
