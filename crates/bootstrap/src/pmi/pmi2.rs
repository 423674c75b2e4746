//! PMI-2: `cmd=name;key=value;...` after its length in six characters, each answered by one.
//! A semicolon in a value is doubled; the values that matter here have none.

use super::wire::Wire;
use super::{Session, Store};
use crate::Error;

/// `PMI2_MAX_VALLEN`, with the byte that ends it.
const LONGEST_VALUE: usize = 1023;

#[derive(Debug)]
pub(super) struct Pmi2 {
    wire: Wire,
    /// The server's name of the job.
    job: String,
}

/// A message of the server's, without its length.
struct Answer(String);

impl Answer {
    fn value(&self, key: &str) -> Option<&str> {
        self.0
            .split(';')
            .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.value(key)?.trim().parse().ok()
    }

    fn unexpected(&self) -> Error {
        Error::new(format!(
            "the launcher answered a message of PMI-2 by {:?}",
            self.0
        ))
    }
}

/// Says hello: which protocol, as a line of PMI-1, and then who I am.
pub(super) fn start(mut wire: Wire) -> Result<Session<Pmi2>, Error> {
    wire.send(b"cmd=init pmi_version=2 pmi_subversion=0\n")?;
    let line = wire.line()?;
    let mut words = line.split_whitespace();
    if !words.any(|word| word == "pmi_version=2") {
        return Err(Error::new(format!(
            "the launcher does not speak PMI-2 ({line:?})"
        )));
    }
    let mut store = Pmi2 {
        wire,
        job: String::new(),
    };
    // Slurm wants both names, Hydra sets one of them only and takes no empty value.
    let mut hello = String::from("cmd=fullinit;");
    for (key, variable) in [("pmijobid", "PMI_JOBID"), ("pmirank", "PMI_RANK")] {
        if let Ok(value) = std::env::var(variable) {
            hello += &format!("{key}={value};");
        }
    }
    hello += "threaded=FALSE;";
    let answer = store.ask(&hello, "fullinit-response")?;
    let place = answer.number("rank").zip(answer.number("size"));
    let (rank, size) = place.ok_or_else(|| answer.unexpected())?;
    let answer = store.ask("cmd=job-getid;", "job-getid-response")?;
    let name = answer.value("jobid").ok_or_else(|| answer.unexpected())?;
    store.job = name.to_owned();
    Ok(Session { rank, size, store })
}

impl Pmi2 {
    /// Sends a message and returns the answer, which is of this name and reports success.
    fn ask(&mut self, message: &str, answer: &str) -> Result<Answer, Error> {
        self.wire.send(&framed(message))?;
        let length = self.wire.bytes(6)?;
        let length = String::from_utf8_lossy(&length).into_owned();
        let n = length.trim().parse().map_err(|_| {
            Error::new(format!(
                "the launcher answered a message of PMI-2 by {length:?}, which is no length"
            ))
        })?;
        let got = Answer(String::from_utf8_lossy(&self.wire.bytes(n)?).into_owned());
        let right = got.value("cmd") == Some(answer);
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
    /// Slurm's is; Hydra 4.0 lets the processes of one host go on before those of others come.
    const FENCE_IS_BARRIER: bool = false;

    fn longest_value(&self) -> usize {
        LONGEST_VALUE
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let message = format!("cmd=kvs-put;key={key};value={value};");
        self.ask(&message, "kvs-put-response").map(drop)
    }

    fn fence(&mut self) -> Result<(), Error> {
        self.ask("cmd=kvs-fence;", "kvs-fence-response").map(drop)
    }

    fn get(&mut self, key: &str) -> Result<String, Error> {
        let message = format!("cmd=kvs-get;jobid={};srcid=-1;key={key};", self.job);
        let answer = self.ask(&message, "kvs-get-response")?;
        match answer.value("found") {
            Some("TRUE") => answer.value("value").map(str::to_owned),
            _ => None,
        }
        .ok_or_else(|| answer.unexpected())
    }

    fn finalize(&mut self) -> Result<(), Error> {
        self.ask("cmd=finalize;", "finalize-response").map(drop)
    }

    fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The protocol has no room for a status.
    fn abort_message(_: i32, message: &str) -> Vec<u8> {
        // Below 512 bytes, and without what ends a value.
        let text: String = message
            .chars()
            .map(|c| if c == ';' || c.is_control() { ' ' } else { c })
            .take(120)
            .collect();
        framed(&format!("cmd=abort;isworld=TRUE;msg={text};"))
    }
}
