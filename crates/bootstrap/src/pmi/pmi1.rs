//! PMI-1: lines of `cmd=name key=value ...`, each followed by a line in response.

use super::store::{Session, Store};
use super::wire::Wire;
use crate::Error;
use crate::environment::{PMI_RANK, PMI_SIZE, Variable, value};

#[derive(Debug)]
pub(super) struct Pmi1 {
    wire: Wire,
    /// The name of the job's keys and values.
    space: String,
    longest_value: usize,
}

/// A line of the server.
struct Response(String);

impl Response {
    fn value(&self, key: &str) -> Option<&str> {
        self.0
            .split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.value(key)?.parse().ok()
    }

    fn unexpected(&self) -> Error {
        Error::UnexpectedResponse {
            protocol: "PMI-1",
            response: self.0.clone(),
        }
    }
}

/// Where rank and size of a process come from.
pub(super) enum RankSource<'a> {
    /// From the environment.
    Environment { rank: usize, size: usize },
    /// From the server, for the process of this `PMI_ID`.
    Server { id: &'a str },
}

impl RankSource<'_> {
    /// Of a process with a descriptor.
    pub(super) fn of_environment() -> Result<Self, Error> {
        Ok(Self::Environment {
            rank: number(&PMI_RANK)?,
            size: number(&PMI_SIZE)?,
        })
    }
}

/// Opens the session.
pub(super) fn start(mut wire: Wire, source: &RankSource<'_>) -> Result<Session<Pmi1>, Error> {
    let (rank, size) = match *source {
        RankSource::Server { id } => introduce(&mut wire, id)?,
        RankSource::Environment { rank, size } => (rank, size),
    };
    let mut store = Pmi1 {
        wire,
        space: String::new(),
        longest_value: 0,
    };
    let response = store.call(
        "cmd=init pmi_version=1 pmi_subversion=1",
        "response_to_init",
    )?;
    if response.value("rc").is_some_and(|rc| rc != "0") {
        return Err(response.unexpected());
    }
    let maxes = store.call("cmd=get_maxes", "maxes")?;
    let name = store.call("cmd=get_my_kvsname", "my_kvsname")?;
    store.space = name
        .value("kvsname")
        .ok_or_else(|| name.unexpected())?
        .to_owned();
    // Servers and MPICH's own client read lines into buffers of 1024 bytes, which hold the rest of
    // a put, too: less than 128 bytes and the name of the space.
    store.longest_value = maxes
        .number("vallen_max")
        .map(|n| n.min(1024).saturating_sub(128 + store.space.len()))
        .filter(|n| *n >= 32)
        .ok_or_else(|| maxes.unexpected())?;
    Ok(Session { rank, size, store })
}

/// The first messages at a port: this process gives its id, the server rank and size.
fn introduce(wire: &mut Wire, id: &str) -> Result<(usize, usize), Error> {
    wire.send(format!("cmd=initack pmiid={id}\n").as_bytes())?;
    let (mut rank, mut size) = (None, None);
    // initack, then size, rank and debug in lines of their own.
    for _ in 0..4 {
        let response = Response(wire.line()?);
        match response.value("cmd") {
            Some("initack" | "set") => {}
            _ => return Err(response.unexpected()),
        }
        rank = rank.or(response.number("rank"));
        size = size.or(response.number("size"));
    }
    rank.zip(size).ok_or(Error::NoRank)
}

fn number(variable: &'static Variable) -> Result<usize, Error> {
    let value = value(variable).unwrap_or_default();
    value.parse().map_err(|_| Error::NoNumber {
        variable: variable.name,
        value,
    })
}

impl Pmi1 {
    /// Sends a line and returns the response, which is called `expected`.
    fn call(&mut self, line: &str, expected: &str) -> Result<Response, Error> {
        self.wire.send(format!("{line}\n").as_bytes())?;
        let got = Response(self.wire.line()?);
        match got.value("cmd") == Some(expected) {
            true => Ok(got),
            false => Err(got.unexpected()),
        }
    }
}

impl Store for Pmi1 {
    const FENCE_IS_BARRIER: bool = true;

    fn longest_value(&self) -> usize {
        self.longest_value
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let line = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        let response = self.call(&line, "put_result")?;
        match response.value("rc") {
            None | Some("0") => Ok(()),
            _ => Err(response.unexpected()),
        }
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.call("cmd=barrier_in", "barrier_out").map(drop)
    }

    fn get(&mut self, key: &str) -> Result<String, Error> {
        let line = format!("cmd=get kvsname={} key={key}", self.space);
        let response = self.call(&line, "get_result")?;
        match response.value("rc") {
            None | Some("0") => response.value("value").map(str::to_owned),
            _ => None,
        }
        .ok_or_else(|| response.unexpected())
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.call("cmd=finalize", "finalize_ack").map(drop)
    }

    fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The protocol has no room for a message.
    fn abort_message(status: i32, _: &str) -> Vec<u8> {
        format!("cmd=abort exitcode={status}\n").into_bytes()
    }
}
