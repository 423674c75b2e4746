//! Jobs without progress: when they are noticed, and what is said of their PEs.

use std::time::{Duration, Instant};

use super::{Supervisor, TIMED_OUT};
use crate::launch::hang::Hang;
use crate::launch::report::Report;
use crate::launch::running::RunningJob;
use crate::launch::shutdown::Shutdown;

impl Supervisor {
    pub(super) fn check_progress(&mut self, now: Instant) -> Option<(Hang, Duration)> {
        let jobs = &self.jobs;
        let seen = || {
            let each = jobs.iter().map(RunningJob::progress);
            each.fold(jobs.len() as u64, |sum, word| sum.rotate_left(9) ^ word)
        };
        let longest_wait = || {
            let waits: Option<Vec<_>> = jobs.iter().map(RunningJob::waits).collect();
            waits?.into_iter().flatten().max()
        };
        self.hangs.check(now, seen, longest_wait)
    }

    /// No PE has made progress for `silent`.
    pub(super) fn hangs(&mut self, hang: Hang, silent: Duration) {
        let seconds = silent.as_secs_f64();
        let reports: Vec<Report> = self.jobs.iter().map(RunningJob::report).collect();
        if reports.iter().any(Report::waits_for_user) {
            self.hangs.reset();
            return;
        }
        match hang {
            Hang::Hint => {
                self.output.print_line(&format!(
                    "no PE has made progress for {seconds:.0} s; the job goes on (--hang-timeout SECONDS ends such \
                        jobs, --hang-hint none says nothing)"
                ));
                self.print_reports(&reports);
            }
            Hang::End => {
                let line = format!("no PE has made progress for {seconds:.1} s (--hang-timeout); ended the job");
                self.output.error(&line);
                self.print_reports(&reports);
                self.end(Shutdown::now(TIMED_OUT), &line);
            }
        }
    }

    pub(super) fn report(&mut self) {
        let reports: Vec<Report> = self.jobs.iter().map(RunningJob::report).collect();
        self.print_reports(&reports);
    }

    /// Prints the reports of all jobs.
    pub(super) fn print_reports(&mut self, reports: &[Report]) {
        for (job, report) in self.jobs.iter().zip(reports) {
            for line in report.lines() {
                job.print_line(&mut self.output, line);
            }
        }
    }
}
