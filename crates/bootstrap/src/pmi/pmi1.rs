//! PMI-1: lines of `cmd=name key=value ...`, each answered by one.

use std::env;

use super::wire::Wire;
use super::{Session, Store};
use crate::Error;

#[derive(Debug)]
pub(super) struct Pmi1 {
    wire: Wire,
    /// The name of the job's keys and values.
    space: String,
    longest_value: usize,
}

/// A line of the server's, taken apart.
struct Answer(String);

impl Answer {
    fn value(&self, key: &str) -> Option<&str> {
        self.0
            .split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.value(key)?.parse().ok()
    }

    fn unexpected(&self) -> Error {
        Error::new(format!(
            "the launcher answered a message of PMI-1 by {:?}",
            self.0
        ))
    }
}

/// How a process learns which one it is.
pub(super) enum Place<'a> {
    /// The launcher said so in its environment: rank and size.
    Known(usize, usize),
    /// The server says so to one that names itself by `PMI_ID`.
    Asked(&'a str),
}

impl Place<'_> {
    /// Of a process with a descriptor.
    pub(super) fn of_environment() -> Result<Self, Error> {
        Ok(Self::Known(variable("PMI_RANK")?, variable("PMI_SIZE")?))
    }
}

/// Says hello.
pub(super) fn start(mut wire: Wire, place: &Place) -> Result<Session<Pmi1>, Error> {
    let (rank, size) = match *place {
        Place::Asked(id) => introduce(&mut wire, id)?,
        Place::Known(rank, size) => (rank, size),
    };
    let mut store = Pmi1 {
        wire,
        space: String::new(),
        longest_value: 0,
    };
    let answer = store.ask(
        "cmd=init pmi_version=1 pmi_subversion=1",
        "response_to_init",
    )?;
    if answer.value("rc").is_some_and(|rc| rc != "0") {
        return Err(answer.unexpected());
    }
    let maxes = store.ask("cmd=get_maxes", "maxes")?;
    let name = store.ask("cmd=get_my_kvsname", "my_kvsname")?;
    store.space = name
        .value("kvsname")
        .ok_or_else(|| name.unexpected())?
        .to_owned();
    // Servers and MPICH's own client read lines into buffers of 1024 bytes, so what a value may
    // have is less: 128 bytes are more than the rest of a put.
    store.longest_value = maxes
        .number("vallen_max")
        .map(|n| n.min(1024).saturating_sub(128 + store.space.len()))
        .filter(|n| *n >= 32)
        .ok_or_else(|| maxes.unexpected())?;
    Ok(Session { rank, size, store })
}

/// The first words at a port: who I am, and the answers who that is.
fn introduce(wire: &mut Wire, id: &str) -> Result<(usize, usize), Error> {
    wire.send(format!("cmd=initack pmiid={id}\n").as_bytes())?;
    let (mut rank, mut size) = (None, None);
    // initack, then size, rank and debug in lines of their own.
    for _ in 0..4 {
        let answer = Answer(wire.line()?);
        match answer.value("cmd") {
            Some("initack" | "set") => {}
            _ => return Err(answer.unexpected()),
        }
        rank = rank.or(answer.number("rank"));
        size = size.or(answer.number("size"));
    }
    rank.zip(size)
        .ok_or_else(|| Error::new("the launcher's server at PMI_PORT tells no rank and size"))
}

fn variable(name: &str) -> Result<usize, Error> {
    let value = env::var(name).unwrap_or_default();
    value.parse().map_err(|_| {
        Error::new(format!(
            "the launcher set PMI_FD, but {name}=\"{value}\" is no number"
        ))
    })
}

impl Pmi1 {
    /// Sends a line and returns the answer, which is of this name.
    fn ask(&mut self, line: &str, answer: &str) -> Result<Answer, Error> {
        self.wire.send(format!("{line}\n").as_bytes())?;
        let got = Answer(self.wire.line()?);
        match got.value("cmd") == Some(answer) {
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
        let answer = self.ask(&line, "put_result")?;
        match answer.value("rc") {
            None | Some("0") => Ok(()),
            _ => Err(answer.unexpected()),
        }
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    fn get(&mut self, key: &str) -> Result<String, Error> {
        let line = format!("cmd=get kvsname={} key={key}", self.space);
        let answer = self.ask(&line, "get_result")?;
        match answer.value("rc") {
            None | Some("0") => answer.value("value").map(str::to_owned),
            _ => None,
        }
        .ok_or_else(|| answer.unexpected())
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.ask("cmd=finalize", "finalize_ack").map(drop)
    }

    fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The protocol has no room for a message.
    fn abort_message(status: i32, _: &str) -> Vec<u8> {
        format!("cmd=abort exitcode={status}\n").into_bytes()
    }
}
