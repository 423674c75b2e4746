//! What PEs ask the supervisor for: another job, the memory of jobs that they are connected with, and replacements.

use std::os::fd::{AsFd, AsRawFd};

use ferroshmem_core::job::service::{self, JobRequest, Received, Reply, Request};

use super::Supervisor;
use crate::launch::binding::Load;
use crate::launch::connected::Connected;
use crate::launch::failure::Failure;
use crate::launch::job::Job;

impl Supervisor {
    /// Answers the requests of a job's PEs.
    pub(super) fn serve(&mut self, index: usize) {
        while let Some(service) = &self.jobs[index].service {
            match service::next(service.as_fd()) {
                Ok(Some(received)) => self.answer(index, received),
                Ok(None) => return,
                Err(e) => {
                    let line = format!("a request of a PE cannot be read: {e}");
                    self.jobs[index].print_line(&mut self.output, &line);
                }
            }
        }
    }

    pub(super) fn answer(&mut self, index: usize, Received { request, reply }: Received) {
        match request {
            Request::Job(request) => match self.start_requested(index, &request) {
                Ok(number) => self.hand_over(index, number, reply),
                Err(failure) => reply.refused(&failure.to_string()),
            },
            Request::Memory { job_number } => self.hand_over(index, job_number, reply),
            Request::Replace(survivor) => self.replace(index, survivor, reply),
            Request::Watch(job) => match Connected::with_peer(job, self.jobs[index].number) {
                Ok(connected) => {
                    self.connections.push(connected);
                    reply.done();
                }
                Err(e) => reply.refused(&e.to_string()),
            },
        }
    }

    /// Starts a job for PEs of the one at `index`; its number.
    pub(super) fn start_requested(&mut self, index: usize, request: &JobRequest) -> Result<u32, Failure> {
        let by = &self.jobs[index];
        let mut load = Load::new();
        for running in &self.jobs {
            running.job.bindings.add_to(&mut load);
        }
        let job = Job::requested(&by.job, request, &load)?;
        let number = self.next_number;
        let independent = request.programs.iter().any(|program| program.independent);
        let connected = Connected::new(&job, number, by.number, request.parents, independent)?;
        let is_independent = independent || by.independent;
        let parents = [connected.memory.as_raw_fd(), by.memory.as_raw_fd()];
        // Before: PEs may fail while others are started.
        self.connections.push(connected);
        let started = self.start(job, Some(parents), is_independent);
        if let (Ok(()), Some(job)) = (&started, self.jobs.last_mut()) {
            job.watch_initialization();
            let memory = job.memory.try_clone().ok().filter(|_| independent);
            if let Some(connected) = self.connections.last_mut() {
                connected.started = memory;
            }
        } else if let Some(connected) = self.connections.pop() {
            connected.end();
        }
        started.map(|()| number)
    }

    /// Gives the memory of job `number`, or of the one that has connected, and of the connection with it, to a PE of
    /// the job at `index` that is to be connected.
    pub(super) fn hand_over(&self, index: usize, number: u32, reply: Reply) {
        let (by, is_it) = (self.jobs[index].number, |c: &&Connected| c.number == number);
        let connected = self.connections.iter().filter(is_it).find(|c| c.is_of(by));
        let memory = connected.and_then(|c| match &c.peer {
            Some(peer) => Some(&peer.memory),
            None => {
                let job = self.jobs.iter().find(|job| job.number == number);
                job.map(|job| &job.memory).or(c.started.as_ref())
            }
        });
        match memory.zip(connected) {
            Some((memory, connected)) => {
                reply.started(number, memory.as_fd(), connected.memory.as_fd());
            }
            None => {
                let gone = self.gone.iter().find(|(job, ..)| *job == number);
                let why = gone.map(|(_, pe, missing)| format!("PE {pe} of it exited with status 0 without {missing}"));
                let why = why.unwrap_or_else(|| "it has ended".to_owned());
                reply.refused(&format!("job {number} cannot be reached: {why}"));
            }
        }
    }
}
