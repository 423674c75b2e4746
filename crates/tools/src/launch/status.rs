//! What the PEs have counted of their calls: each moment, on SIGUSR1, in files and by HTTP.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ferroshmem_core::job::control::Control;
use ferroshmem_profiling::totals::{GROUPS, Totals, scaled, sum};

use super::failure::{Failure, print_line};
use super::status_options::StatusPlan;
use crate::whole_file;

/// Time between two writings of a file of metrics.
const WRITTEN: Duration = Duration::from_secs(1);
/// How long a reader of metrics may take.
const READ_LIMIT: Duration = Duration::from_millis(200);

/// The number of a job, and where its PEs count.
pub(super) type Counting<'a> = (u32, &'a Control);

/// Shows what PEs have counted.
#[derive(Debug)]
pub(super) struct Status {
    plan: StatusPlan,
    listener: Option<TcpListener>,
    /// What was shown last of each job, by its number.
    shown: HashMap<u32, Totals>,
    shown_at: Instant,
    written_at: Instant,
    /// A file that could not be written was reported.
    is_reported: bool,
}

impl Status {
    pub(super) fn new(plan: StatusPlan) -> Result<Self, Failure> {
        let listen = |address| {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            io::Result::Ok(listener)
        };
        let listener = plan.address.map(|address| {
            listen(address).map_err(|e| Failure::usage(format!("--metrics {address}: {e}: give a port that is free")))
        });
        for file in &plan.files {
            whole_file::write(file, "").map_err(|e| Failure::usage(cannot_write(file, &e)))?;
        }
        Ok(Self {
            plan,
            listener: listener.transpose()?,
            shown: HashMap::new(),
            shown_at: Instant::now(),
            written_at: Instant::now(),
            is_reported: false,
        })
    }

    /// When something is due next.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let shown = self.plan.period.map(|period| self.shown_at + period);
        let written = (!self.plan.files.is_empty()).then_some(self.written_at + WRITTEN);
        shown.into_iter().chain(written).min()
    }

    /// Does what is due; the lines to print, each with the number of its job.
    pub(super) fn act(&mut self, now: Instant, jobs: &[Counting<'_>]) -> Vec<(u32, String)> {
        if !self.plan.files.is_empty() && now >= self.written_at + WRITTEN {
            self.written_at = now;
            self.write(jobs);
        }
        let Some(period) = self.plan.period else {
            return Vec::new();
        };
        if now < self.shown_at + period {
            return Vec::new();
        }
        let seconds = (now - self.shown_at).as_secs_f64();
        self.shown_at = now;
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        let lines = jobs.iter().map(|(number, control)| {
            let totals = Totals::of(control);
            let before = self.shown.insert(*number, totals).unwrap_or_default();
            (*number, format!("{host}: {}", totals.rates(&before, seconds)))
        });
        lines.collect()
    }

    /// Writes the files, of all `jobs`.
    pub(super) fn write(&mut self, jobs: &[Counting<'_>]) {
        if self.plan.files.is_empty() {
            return;
        }
        let text = metrics(jobs);
        for file in &self.plan.files {
            if let Err(e) = whole_file::write(file, &text)
                && !std::mem::replace(&mut self.is_reported, true)
            {
                print_line(&cannot_write(file, &e));
            }
        }
    }

    /// Where readers of metrics connect.
    pub(super) fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Answers one who has connected.
    pub(super) fn serve(&self, jobs: &[Counting<'_>]) {
        if let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            // What one reader does wrong is no matter of the job.
            let _ = answer(stream, jobs);
        }
    }
}

fn answer(mut stream: std::net::TcpStream, jobs: &[Counting<'_>]) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(READ_LIMIT))?;
    stream.set_write_timeout(Some(READ_LIMIT))?;
    let mut request = [0; 2048];
    let read = stream.read(&mut request)?;
    let is_get = request[..read].starts_with(b"GET /");
    let (status, text) = match is_get {
        true => ("200 OK", metrics(jobs)),
        false => ("405 Method Not Allowed", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: \
            close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}

fn cannot_write(file: &Path, error: &io::Error) -> String {
    format!(
        "cannot write \"{}\": {error}: make room there, or give --metrics a file in another directory",
        file.display()
    )
}

/// Whether some PE of the job counts.
fn counts(control: &Control) -> bool {
    (0..control.n_pes()).any(|pe| control.pe_block(pe).counters.are_on.load(Relaxed) != 0)
}

/// What each PE of a job has counted, in words; empty where none counts.
pub(super) fn counted(control: &Control) -> Vec<String> {
    /// Most PEs that have a line each.
    const MOST: usize = 64;

    if !counts(control) {
        return Vec::new();
    }
    let line = |pe: usize| {
        let counters = &control.pe_block(pe).counters;
        let mut line = format!("PE {pe} has made");
        for (name, kinds) in GROUPS {
            let count = sum(kinds, |kind| counters.of(kind));
            if count.operations > 0 {
                let operations = scaled(count.operations as f64);
                let _ = write!(line, " {operations}{name}", operations = spaced(&operations));
                if count.bytes > 0 {
                    let _ = write!(line, " ({}B)", scaled(count.bytes as f64));
                }
                let _ = write!(line, " in {:.3} s,", count.ns as f64 / 1e9);
            }
        }
        match line.strip_suffix(',') {
            Some(line) => line.to_owned(),
            None => format!("{line} no calls"),
        }
    };
    (0..control.n_pes().min(MOST)).map(line).collect()
}

/// With a space after it, once.
fn spaced(number: &str) -> String {
    format!("{} ", number.trim_end())
}

/// The text that Prometheus reads.
fn metrics(jobs: &[Counting<'_>]) -> String {
    let mut text = String::new();
    for (name, help, value) in [
        ("shmem_operations_total", "Calls that have ended.", 0),
        ("shmem_bytes_total", "Bytes that the PE moved by them.", 1),
        ("shmem_seconds_total", "Time in them.", 2),
    ] {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for (number, control) in jobs {
            for pe in 0..control.n_pes() {
                let counters = &control.pe_block(pe).counters;
                for (kind, kinds) in GROUPS {
                    let count = sum(kinds, |kind| counters.of(kind));
                    let value = match value {
                        0 => count.operations.to_string(),
                        1 => count.bytes.to_string(),
                        _ => format!("{:.9}", count.ns as f64 / 1e9),
                    };
                    let _ = writeln!(text, "{name}{{job=\"{number}\",pe=\"{pe}\",kind=\"{kind}\"}} {value}");
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::WouldBlock;
    use std::net::TcpStream;

    use super::*;

    /// Each may take its time, and the PEs are watched in between.
    #[test]
    fn readers_are_served_one_at_a_time() {
        let plan = StatusPlan { address: Some(([127, 0, 0, 1], 0).into()), ..StatusPlan::default() };
        let status = Status::new(plan).unwrap();
        let listener = status.listener.as_ref().unwrap();
        let [_silent, mut other] = [0; 2].map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        other.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        status.serve(&[]);
        assert_eq!(other.set_nonblocking(true).and_then(|()| other.read(&mut [0])).unwrap_err().kind(), WouldBlock);
        status.serve(&[]);
        other.set_nonblocking(false).unwrap();
        let mut answer = String::new();
        other.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}
