//! A PMI-1 server, through which the PEs of a job exchange addresses.
//!
//! Clients connect to a port (`PMI_PORT`) and send their ids (`PMI_ID`); then each sends lines
//! of `cmd=name key=value ...`, each of which, but for the last ones, gets one line in reply. Protocol facts from
//! `src/pmi` and `src/pm/hydra` of MPICH.

mod space;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use space::{Entered, Space};

/// Name of the job's keys and values.
const SPACE: &str = "kvs";
/// Limits of keys and values in bytes, with the terminating byte, as with Hydra.
const KEY: usize = 64;
const VALUE: usize = 1024;
/// Longer than any line of the protocol's.
const LINE: u64 = 4096;

type Abort = Box<dyn Fn(usize, i32) + Send + Sync>;

/// The server of a job; clones share it.
#[derive(Clone)]
pub struct Server {
    size: usize,
    space: Arc<Mutex<Space<TcpStream>>>,
    abort: Arc<Abort>,
}

impl Server {
    /// A server for `size` PEs, which calls `abort` with rank and status when a PE aborts the job.
    pub fn new(size: usize, abort: impl Fn(usize, i32) + Send + Sync + 'static) -> Self {
        Self { size, space: Arc::new(Mutex::new(Space::new(size))), abort: Arc::new(Box::new(abort)) }
    }

    /// Serves PEs that connect, until all have finalized or lost their connections.
    pub fn listen(&self, listener: &TcpListener) {
        let threads: Vec<_> = listener
            .incoming()
            .take(self.size)
            .flatten()
            .map(|stream| {
                let server = self.clone();
                thread::spawn(move || server.serve(stream))
            })
            .collect();
        for thread in threads {
            // A thread that panicked has printed its reason.
            let _ = thread.join();
        }
    }

    /// Serves a PE until it has finalized, breaks the protocol or is gone.
    fn serve(&self, stream: TcpStream) -> Option<()> {
        // Requests are short and wait for their replies.
        stream.set_nodelay(true).ok()?;
        let mut answers = stream.try_clone().ok()?;
        let mut requests = BufReader::new(stream);
        let rank = self.introduce(&mut requests, &mut answers)?;
        loop {
            let line = read_line(&mut requests)?;
            let request = Request::parse(&line);
            match self.answer(rank, &request, &answers)? {
                Answer::Line(line) => answers.write_all(line.as_bytes()).ok()?,
                Answer::Later => {}
                Answer::Last(line) => return answers.write_all(line.as_bytes()).ok(),
            }
        }
    }

    /// Reads the id of the PE and replies with its rank and the size of the job.
    fn introduce(&self, from: &mut impl BufRead, to: &mut impl Write) -> Option<usize> {
        let line = read_line(from)?;
        let hello = Request::parse(&line);
        let rank = hello.value("pmiid")?.parse().ok()?;
        if hello.value("cmd") != Some("initack") || rank >= self.size {
            return None;
        }
        let size = self.size;
        let lines = format!("cmd=initack rc=0\ncmd=set size={size}\ncmd=set rank={rank}\ncmd=set debug=0\n");
        to.write_all(lines.as_bytes()).ok()?;
        Some(rank)
    }

    /// The reply to a request; `None` to a line outside the protocol.
    fn answer(&self, rank: usize, request: &Request, stream: &TcpStream) -> Option<Answer> {
        let line = match request.value("cmd")? {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n".to_owned(),
            "get_maxes" => {
                format!("cmd=maxes kvsname_max=256 keylen_max={KEY} vallen_max={VALUE} rc=0\n")
            }
            "get_appnum" => "cmd=appnum appnum=0 rc=0\n".to_owned(),
            "get_universe_size" => format!("cmd=universe_size size={} rc=0\n", self.size),
            "get_my_kvsname" => format!("cmd=my_kvsname kvsname={SPACE} rc=0\n"),
            "put" => self.put(request)?,
            "get" => self.get(request)?,
            "barrier_in" => {
                let entered = self.space().enter(stream.try_clone().ok()?);
                if let Entered::Last(all) = entered {
                    release(all);
                }
                return Some(Answer::Later);
            }
            "finalize" => return Some(Answer::Last("cmd=finalize_ack rc=0\n".to_owned())),
            "abort" => {
                let status = request.value("exitcode").and_then(|s| s.parse().ok());
                (self.abort)(rank, status.unwrap_or(1));
                return Some(Answer::Later);
            }
            _ => return None,
        };
        Some(Answer::Line(line))
    }

    fn put(&self, request: &Request) -> Option<String> {
        let (key, value) = (request.value("key")?, request.value("value")?);
        let fits = key.len() < KEY && value.len() < VALUE;
        let new = fits && self.space().put(key, value);
        let result = match (fits, new) {
            (false, _) => "rc=-1 msg=too_long",
            (true, false) => "rc=-1 msg=duplicate_key",
            (true, true) => "rc=0 msg=success",
        };
        Some(format!("cmd=put_result {result}\n"))
    }

    fn get(&self, request: &Request) -> Option<String> {
        let key = request.value("key")?;
        Some(match self.space().get(key) {
            Some(value) => format!("cmd=get_result rc=0 msg=success value={value}\n"),
            None => "cmd=get_result rc=-1 msg=key_not_found value=unknown\n".to_owned(),
        })
    }

    fn space(&self) -> MutexGuard<'_, Space<TcpStream>> {
        self.space.lock().unwrap_or_else(|e| e.into_inner())
    }
}

enum Answer {
    Line(String),
    /// No reply now.
    Later,
    /// A reply, after which the connection ends.
    Last(String),
}

/// Releases all PEs from the barrier. PEs that are gone need no release.
fn release(all: Vec<TcpStream>) {
    for mut stream in all {
        let _ = stream.write_all(b"cmd=barrier_out rc=0\n");
    }
}

/// A line without its terminator; `None` at the end of the stream.
fn read_line(from: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    from.take(LINE).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(str::to_owned)
}

/// A line, taken apart.
struct Request<'a>(HashMap<&'a str, &'a str>);

impl<'a> Request<'a> {
    fn parse(line: &'a str) -> Self {
        Self(line.split(' ').filter_map(|w| w.split_once('=')).collect())
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }
}

#[cfg(test)]
mod tests;
