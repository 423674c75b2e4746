//! PMI-2: `cmd=name;key=value;...` after its length in six characters, each followed by a message in response.
//! A semicolon in a value is doubled; the values that matter here have none.

use super::store::{Session, Store};
use super::wire::Wire;
use crate::Error;
use crate::environment::{PMI_JOBID, PMI_RANK, value};

/// `PMI2_MAX_VALLEN`, with the byte that ends it.
const LONGEST_VALUE: usize = 1023;

#[derive(Debug)]
pub(super) struct Pmi2 {
    wire: Wire,
    /// The server's name of the job.
    job: String,
}

/// A message of the server, without its length.
struct Response(String);

impl Response {
    fn value(&self, key: &str) -> Option<&str> {
        self.0.split(';').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.value(key)?.trim().parse().ok()
    }

    fn unexpected(&self) -> Error {
        Error::UnexpectedResponse { protocol: "PMI-2", response: self.0.clone() }
    }
}

/// Opens the session: the protocol's version, as a line of PMI-1, and then which process this is.
pub(super) fn start(mut wire: Wire) -> Result<Session<Pmi2>, Error> {
    wire.send(b"cmd=init pmi_version=2 pmi_subversion=0\n")?;
    let line = wire.line()?;
    let mut words = line.split_whitespace();
    if !words.any(|word| word == "pmi_version=2") {
        return Err(Error::NoPmi2(line));
    }
    let mut store = Pmi2 { wire, job: String::new() };
    // Slurm needs both variables; Hydra sets only one of them, and refuses an empty value.
    let mut hello = String::from("cmd=fullinit;");
    for (key, variable) in [("pmijobid", &PMI_JOBID), ("pmirank", &PMI_RANK)] {
        if let Some(value) = value(variable) {
            hello += &format!("{key}={value};");
        }
    }
    hello += "threaded=FALSE;";
    let response = store.call(&hello, "fullinit-response")?;
    let numbers = response.number("rank").zip(response.number("size")).filter(|(rank, size)| rank < size);
    let (rank, size) = numbers.ok_or_else(|| response.unexpected())?;
    let response = store.call("cmd=job-getid;", "job-getid-response")?;
    let name = response.value("jobid").ok_or_else(|| response.unexpected())?;
    store.job = name.to_owned();
    Ok(Session { rank, size, store })
}

impl Pmi2 {
    /// Sends a message and returns the response, which is called `expected` and reports success.
    fn call(&mut self, message: &str, expected: &str) -> Result<Response, Error> {
        self.wire.send(&framed(message))?;
        let length = self.wire.bytes(6)?;
        let length = String::from_utf8_lossy(&length).into_owned();
        let Ok(n) = length.trim().parse() else {
            return Err(Error::NoLength(length));
        };
        let got = Response(String::from_utf8_lossy(&self.wire.bytes(n)?).into_owned());
        let right = got.value("cmd") == Some(expected);
        match right && matches!(got.value("rc"), None | Some("0")) {
            true => Ok(got),
            false => Err(got.unexpected()),
        }
    }
}

fn framed(message: &str) -> Vec<u8> {
    format!("{:>6}{message}", message.len()).into_bytes()
}

impl Store for Pmi2 {
    /// Slurm's fence is a barrier; Hydra 4.0 lets the processes of one host return before those of
    /// others call.
    const FENCE_IS_BARRIER: bool = false;

    fn longest_value(&self) -> usize {
        LONGEST_VALUE
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let message = format!("cmd=kvs-put;key={key};value={value};");
        self.call(&message, "kvs-put-response").map(drop)
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.call("cmd=kvs-fence;", "kvs-fence-response").map(drop)
    }

    fn get(&mut self, key: &str) -> Result<String, Error> {
        let message = format!("cmd=kvs-get;jobid={};srcid=-1;key={key};", self.job);
        let response = self.call(&message, "kvs-get-response")?;
        match response.value("found") {
            Some("TRUE") => response.value("value").map(str::to_owned),
            _ => None,
        }
        .ok_or_else(|| response.unexpected())
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.call("cmd=finalize;", "finalize-response").map(drop)
    }

    fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The protocol has no room for a status.
    fn abort_message(_: i32, message: &str) -> Vec<u8> {
        // Below 512 bytes, and without what ends a value.
        let text: String =
            message.chars().map(|c| if c == ';' || c.is_control() { ' ' } else { c }).take(120).collect();
        framed(&format!("cmd=abort;isworld=TRUE;msg={text};"))
    }
}
