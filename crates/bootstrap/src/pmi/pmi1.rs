//! PMI-1: lines of `cmd=name key=value ...`, each followed by a line in response.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::store::{PARENTS, Session, Store};
use super::wire::Wire;
use crate::environment::{PMI_RANK, PMI_SIZE, Variable, value};
use crate::{Error, Program};

/// Bytes of what orders processes: Hydra ends the job over more than 64 KiB.
const LONGEST_ORDER: usize = 60_000;

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
        self.0.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn number(&self, key: &str) -> Option<usize> {
        self.value(key)?.parse().ok()
    }

    fn unexpected(&self) -> Error {
        Error::UnexpectedResponse { protocol: "PMI-1", response: self.0.clone() }
    }
}

/// Where rank and size of a process come from.
pub(super) enum RankSource<'a> {
    /// From the environment. The process may be `introduced` already, by MPI.
    Environment { rank: usize, size: usize, introduced: bool },
    /// From the server, for the process of this `PMI_ID`.
    Server { id: &'a str },
}

impl RankSource<'_> {
    /// Of a process with a descriptor.
    pub(super) fn of_environment(introduced: bool) -> Result<Self, Error> {
        Ok(Self::Environment { rank: number(&PMI_RANK)?, size: number(&PMI_SIZE)?, introduced })
    }
}

/// Opens the session.
pub(super) fn start(mut wire: Wire, source: &RankSource<'_>) -> Result<Session<Pmi1>, Error> {
    let ((rank, size), introduced) = match *source {
        RankSource::Server { id } => (introduce(&mut wire, id)?, false),
        RankSource::Environment { rank, size, introduced } => ((rank, size), introduced),
    };
    if rank >= size {
        return Err(Error::NoRank);
    }
    let mut store = Pmi1 { wire, space: String::new(), longest_value: 0 };
    if !introduced {
        let response = store.call("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        if response.value("rc").is_some_and(|rc| rc != "0") {
            return Err(response.unexpected());
        }
    }
    let maxes = store.call("cmd=get_maxes", "maxes")?;
    let name = store.call("cmd=get_my_kvsname", "my_kvsname")?;
    store.space = name.value("kvsname").ok_or_else(|| name.unexpected())?.to_owned();
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
    value.parse().map_err(|_| Error::NoNumber { variable: variable.name, value })
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

/// Adds the lines that order processes of one program, which is number `i` of `n`.
///
/// The protocol sets no variables: `env` does, which takes a name with `=` for one.
fn order(message: &mut Vec<u8>, program: &Program<'_>, (i, n): (usize, usize), parents: &str) -> Result<(), Error> {
    let mut words: Vec<&OsStr> = Vec::new();
    if !program.variables.is_empty() {
        words.extend(["/usr/bin/env", "--"].map(OsStr::new));
        words.extend(program.variables.iter().map(|v| v.as_os_str()));
        if program.file.as_os_str().as_bytes().contains(&b'=') {
            words.extend(["/bin/sh", "-c", "exec \"$0\" \"$@\""].map(OsStr::new));
        }
    }
    words.push(program.file.as_os_str());
    words.extend(program.arguments.iter().map(|a| a.as_os_str()));
    let directory = program.directory.as_os_str();
    let all = words.iter().chain([&directory]).chain(&program.hosts);
    if let Some(long) = all.clone().find(|word| word.as_bytes().contains(&b'\n')) {
        return Err(Error::NotStarted(format!("{long:?} has a line break, which no message of PMI-1 can have")));
    }
    let mut put = |key: &str, value: &[u8]| {
        message.extend([key.as_bytes(), b"=", value, b"\n"].concat());
    };
    let number = |n: usize| n.to_string().into_bytes();
    put("mcmd", b"spawn");
    put("nprocs", &number(program.processes));
    put("execname", words[0].as_bytes());
    put("totspawns", &number(n));
    put("spawnssofar", &number(i));
    for (i, word) in words[1..].iter().enumerate() {
        put(&format!("arg{}", i + 1), word.as_bytes());
    }
    put("argcnt", &number(words.len() - 1));
    put("preput_num", b"1");
    put("preput_key_0", PARENTS.as_bytes());
    put("preput_val_0", parents.as_bytes());
    let options = [("wdir", Some(directory)), ("hosts", program.hosts)];
    let options = options.into_iter().filter_map(|(k, v)| Some((k, v?)));
    let options: Vec<_> = options.collect();
    put("info_num", &number(options.len()));
    for (i, (key, value)) in options.into_iter().enumerate() {
        put(&format!("info_key_{i}"), key.as_bytes());
        put(&format!("info_val_{i}"), value.as_bytes());
    }
    message.extend(b"endcmd\n");
    Ok(())
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

    fn start(&mut self, programs: &[Program<'_>], parents: &str) -> Result<bool, Error> {
        let mut message = Vec::new();
        for (i, program) in programs.iter().enumerate() {
            order(&mut message, program, (i + 1, programs.len()), parents)?;
        }
        if message.len() > LONGEST_ORDER {
            return Err(Error::NotStarted(format!(
                "arguments and variables take {} bytes of its message, which has at most {LONGEST_ORDER}",
                message.len()
            )));
        }
        self.wire.send(&message)?;
        let response = Response(self.wire.line()?);
        match (response.value("cmd"), response.value("rc")) {
            (Some("spawn_result"), None | Some("0")) => Ok(true),
            (Some("spawn_result"), Some(_)) => Err(Error::NotStarted(response.0)),
            _ => Err(response.unexpected()),
        }
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    fn order_of(program: &Program<'_>) -> Result<String, Error> {
        let mut message = Vec::new();
        order(&mut message, program, (2, 3), "port")?;
        Ok(String::from_utf8(message).unwrap())
    }

    #[test]
    fn an_order_has_what_the_program_is_given() {
        let arguments = ["two words", ""].map(OsString::from);
        let variables = [OsString::from("A=b = c")];
        let program = Program {
            file: Path::new("/bin/true"),
            arguments: &arguments,
            variables: &[],
            directory: Path::new("/tmp"),
            processes: 4,
            hosts: None,
        };
        let order = order_of(&program).unwrap();
        let expected = "mcmd=spawn\nnprocs=4\nexecname=/bin/true\ntotspawns=3\nspawnssofar=2\narg1=two words\narg2=\n\
            argcnt=2\npreput_num=1\npreput_key_0=ferroshmem-parents\npreput_val_0=port\ninfo_num=1\ninfo_key_0=wdir\n\
            info_val_0=/tmp\nendcmd\n";
        assert_eq!(order, expected);
        let program =
            Program { file: Path::new("/bin/a=b"), variables: &variables, hosts: Some(OsStr::new("a,b")), ..program };
        let order = order_of(&program).unwrap();
        for line in [
            "execname=/usr/bin/env\n",
            "arg1=--\narg2=A=b = c\narg3=/bin/sh\n",
            "arg6=/bin/a=b\narg7=two words\narg8=\nargcnt=8",
            "info_num=2",
            "info_key_1=hosts\ninfo_val_1=a,b\nendcmd\n",
        ] {
            assert!(order.contains(line), "{order}");
        }
        let lines = [OsString::from("two\nlines")];
        let program = Program { arguments: &lines, ..program };
        assert!(order_of(&program).unwrap_err().to_string().contains("line break"));
    }
}
