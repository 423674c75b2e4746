//! How jobs end before their PEs do: which jobs, with which status, and why.

use std::time::Instant;

use super::Supervisor;
use crate::launch::connected::Connected;
use crate::launch::running::RunningJob;
use crate::launch::shutdown::Shutdown;

impl Supervisor {
    /// The number of a job and the line for a PE that waits for one of it that has exited, if there is such. An
    /// independent job waits for PEs of its own alone.
    pub(super) fn deadlock_between_jobs(&self) -> Option<(u32, String)> {
        let all = self.gone.iter().flat_map(|gone| {
            let needed = move |c: &&Connected| c.needs(gone.0, gone.1);
            let connections = self.connections.iter().filter(needed);
            connections.map(move |connected| (gone, connected))
        });
        all.into_iter().find_map(|(&(number, exited, missing), c)| {
            let waits = |job: &RunningJob| Some((job.number, job.waits_for_connection(c.number)?));
            let may_wait = |job: &&RunningJob| job.shutdown.is_none() && (!c.is_independent() || job.number == number);
            let mut jobs = self.jobs.iter().filter(may_wait);
            let (waiting_job, (waiting, routine)) = jobs.find_map(waits)?;
            // A PE may find it, too: one line is enough.
            let mut ending = self.jobs.iter().filter(may_wait).filter(|job| c.is_of(job.number));
            if !ending.all(|job| job.claim_report()) {
                return None;
            }
            let line = format!(
                "PE {exited} of job {number} exited with status 0 without {missing} while PE {waiting} of job \
                    {waiting_job} waits in {routine}; ended the job{}",
                if c.is_independent() { "" } else { "s" }
            );
            Some((number, line))
        })
    }

    /// Begins to shut the job down, or hastens a shutdown begun: the first cause stays the cause.
    /// Jobs that these are connected with end, too, with the line `why`.
    pub(super) fn end(&mut self, shutdown: Shutdown, why: &str) {
        if self.shutdown.is_none() {
            self.status = shutdown.status;
        }
        self.end_all(shutdown, why);
    }

    /// The same; the exit status is known.
    pub(super) fn end_all(&mut self, shutdown: Shutdown, why: &str) {
        match &mut self.shutdown {
            Some(begun) => begun.merge(&shutdown),
            None => {
                for connected in &self.connections {
                    connected.notify_end(shutdown.status, why);
                    self.jobs.iter().for_each(|job| connected.fail(job.number));
                }
                self.shutdown = Some(shutdown);
            }
        }
        self.act(Instant::now());
    }

    /// Ends the job of number `number`, and those that it is connected with and that are not independent.
    pub(super) fn end_job(&mut self, number: u32, shutdown: Shutdown, why: &str) {
        let mut all = vec![number];
        let mut next = 0;
        while let Some(job) = all.get(next).copied() {
            let bound = self.connections.iter().filter_map(|c| c.bound_to(job));
            let new: Vec<u32> = bound.filter(|job| !all.contains(job)).collect();
            all.extend(new);
            next += 1;
        }
        let ends = |job: &&RunningJob| all.contains(&job.number);
        if self.jobs.iter().filter(ends).any(|job| !job.independent) {
            self.status = shutdown.status;
        }
        if self.shutdown.is_some() || self.jobs.iter().all(|job| all.contains(&job.number)) {
            return self.end_all(shutdown, why);
        }
        for connected in &self.connections {
            if all.iter().any(|job| connected.is_of(*job)) {
                connected.notify_end(shutdown.status, why);
                for job in &all {
                    connected.fail(*job);
                }
            }
        }
        for job in &mut self.jobs {
            if all.contains(&job.number) {
                match &mut job.shutdown {
                    Some(begun) => begun.merge(&shutdown),
                    none => *none = Some(shutdown.clone()),
                }
            }
        }
        self.act(Instant::now());
    }
}
