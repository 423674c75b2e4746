//! What PEs ask `oshrun` for while their job runs: to start PEs, for the memory of the jobs that it has
//! started for them, to watch jobs that they connect with, and to replace PEs that have failed.
//!
//! The PEs of a job inherit one end of a socket, whose other end the supervisor reads. A request is one
//! message with the descriptor of a socket for the reply, so that PEs may ask at the same time.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ferroshmem_platform::mapping;
use rustix::io::Errno;

use super::message::{Message, pair, receive, send};

/// PEs to be started, which all run one program: what `oshrun`'s command line or a spawn asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// The program, as a shell would find it.
    pub command: OsString,
    /// Number of PEs.
    pub n_pes: usize,
    /// What follows the command in `argv`.
    pub arguments: Vec<OsString>,
    /// Variables, name and value, beside those of the launcher. Of several of one name, the last one counts.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory to run in, if it is not that of who asks.
    pub directory: Option<PathBuf>,
    /// Of a spawn: where they run, as `NAME=VALUE`. Of several programs, those that give an option give the same.
    pub placement: Vec<OsString>,
    /// Of a spawn: whether the end of one of the two jobs is not the other's. Alike for all programs of a job.
    pub independent: bool,
}

/// A job to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// Number of the PEs that ask for it.
    pub parents: usize,
    /// Its programs, whose PEs are numbered in this order.
    pub programs: Vec<Program>,
}

/// What a PE asks for.
#[derive(Debug)]
pub enum Request {
    /// A job.
    Job(JobRequest),
    /// The memory of a job that this one has started, or has connected with, for one more PE.
    Memory {
        /// The number of that job, or of the connection with it.
        job_number: u32,
    },
    /// To end the jobs of both groups of a connection when one of them fails.
    Watch(ConnectedJob),
    /// To answer once all numbers of the job are taken: by PEs that live and ask for this, and by processes that are
    /// started for the others, and ask, too.
    Replace(Survivor),
}

/// A job that this one connects with, as `oshrun` is told of it.
#[derive(Debug)]
pub struct ConnectedJob {
    /// The number of the connection with it.
    pub number: u32,
    /// The group of the connection that this job is.
    pub group: usize,
    /// The memory of its PEs.
    pub memory: File,
    /// The memory of the connection with it.
    pub connection: File,
    /// A socket, whose other end its `oshrun` has.
    pub peer: OwnedFd,
}

/// A PE that asks for replacements of others.
#[derive(Debug)]
pub struct Survivor {
    /// Its number.
    pub pe: usize,
    /// The PEs' end of the service, for the replacements.
    pub service: OwnedFd,
    /// The blocks of its symmetric heap, which the replacements have, too.
    pub blocks: File,
}

/// A job that was started or connected, as PEs that are connected with it see it.
#[derive(Debug)]
pub struct StartedJob {
    /// Its number, or of a job that has connected that of the connection.
    pub job_number: u32,
    /// The memory of its PEs.
    pub memory: File,
    /// The memory of the connection with it.
    pub connection: File,
}

/// Why there is no job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// `oshrun` refused, for this reason.
    #[error("{0}")]
    Refused(String),
    /// `oshrun` could not be asked.
    #[error("oshrun does not answer: {0}")]
    Broken(#[from] io::Error),
}

impl From<Errno> for ServiceError {
    fn from(error: Errno) -> Self {
        Self::Broken(error.into())
    }
}

const JOB: u32 = 1;
const MEMORY: u32 = 2;
const STARTED: u32 = 3;
const REFUSED: u32 = 4;
const WATCH: u32 = 5;
const DONE: u32 = 6;
const REPLACE: u32 = 7;

/// The first number of connections between jobs that were not started one by the other: numbers of jobs are less.
pub const FIRST_CONNECTED: u32 = 1 << 31;
/// The first number of connections with jobs on other nodes.
pub const FIRST_REMOTE: u32 = FIRST_CONNECTED | 1 << 30;

/// The two ends of a service: the supervisor's, which does not block, and the PEs'.
///
/// # Errors
/// Of the system.
pub fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let (supervisor, pes) = pair()?;
    rustix::io::ioctl_fionbio(&supervisor, true)?;
    Ok((supervisor, pes))
}

/// Has `oshrun` start a job.
///
/// # Errors
/// If it refuses, or cannot be asked.
pub fn start(service: BorrowedFd<'_>, request: &JobRequest) -> Result<StartedJob, ServiceError> {
    let bytes = request.encode();
    let mut text = mapping::memory_file(bytes.len() as u64)?;
    text.write_all(&bytes)?;
    started(exchange(service, [JOB, 0, 0], &[text.as_fd()])?)
}

/// Gets the memory of a job that this one has started, or has connected with.
///
/// # Errors
/// As of [`start`].
pub fn memory(service: BorrowedFd<'_>, job_number: u32) -> Result<StartedJob, ServiceError> {
    started(exchange(service, [MEMORY, job_number, 0], &[])?)
}

/// Has `oshrun` watch a job that this one connects with.
///
/// # Errors
/// As of [`start`].
pub fn watch(service: BorrowedFd<'_>, job: &ConnectedJob) -> Result<(), ServiceError> {
    let files = [job.memory.as_fd(), job.connection.as_fd(), job.peer.as_fd()];
    done(exchange(service, [WATCH, job.number, job.group as u32], &files)?)
}

/// Has `oshrun` start replacements for the PEs that have failed, once all others ask for it: PE `pe` does. `blocks`:
/// those of its heap.
///
/// # Errors
/// As of [`start`].
pub fn replace(service: BorrowedFd<'_>, pe: usize, blocks: &[u64]) -> Result<(), ServiceError> {
    let file = words_file(blocks)?;
    done(exchange(service, [REPLACE, pe as u32, 0], &[service, file.as_fd()])?)
}

fn done((head, ..): Message) -> Result<(), ServiceError> {
    match head {
        [DONE, ..] => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
    }
}

/// A memory file of these words.
fn words_file(words: &[u64]) -> io::Result<File> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut file = mapping::memory_file(bytes.len() as u64)?;
    file.write_all(&bytes)?;
    Ok(file)
}

/// The words of such a file.
///
/// # Errors
/// Of the system.
pub fn read_words(file: &File) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let words = bytes.chunks_exact(size_of::<u64>());
    Ok(words.map(|word| u64::from_ne_bytes(std::array::from_fn(|i| word[i]))).collect())
}

/// The answer to a request that is not refused.
fn exchange(service: BorrowedFd<'_>, head: [u32; 3], files: &[BorrowedFd<'_>]) -> Result<Message, ServiceError> {
    let (mine, theirs) = pair()?;
    send(service, head, "", &[&[theirs.as_fd()], files].concat())?;
    drop(theirs);
    match receive(mine.as_fd())? {
        None => Err(io::Error::from(io::ErrorKind::ConnectionReset).into()),
        Some(([REFUSED, ..], reason, _)) => Err(ServiceError::Refused(reason)),
        Some(answer) => Ok(answer),
    }
}

fn started((head, _, files): Message) -> Result<StartedJob, ServiceError> {
    let mut files = files.into_iter().map(File::from);
    match (head[0], files.next(), files.next()) {
        (STARTED, Some(memory), Some(connection)) => Ok(StartedJob { job_number: head[1], memory, connection }),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
    }
}

/// A request that the supervisor has received, and is to answer.
#[derive(Debug)]
pub struct Received {
    /// The request.
    pub request: Request,
    /// To whom the answer goes.
    pub reply: Reply,
}

/// Where the answer to a request goes.
#[derive(Debug)]
pub struct Reply(OwnedFd);

/// Takes the next request; None if there is none.
///
/// # Errors
/// What a PE has sent is no request: it gets no answer but the end of the socket.
pub fn next(service: BorrowedFd<'_>) -> io::Result<Option<Received>> {
    let Some((head, _, files)) = receive(service)? else {
        return Ok(None);
    };
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    let mut files = files.into_iter();
    let reply = files.next().ok_or_else(wrong)?;
    let request = match (head[0], files.next()) {
        (JOB, Some(text)) => {
            let mut text = File::from(text);
            let mut bytes = Vec::new();
            text.rewind()?;
            text.read_to_end(&mut bytes)?;
            Request::Job(JobRequest::decode(&bytes).ok_or_else(wrong)?)
        }
        (MEMORY, None) => Request::Memory { job_number: head[1] },
        (REPLACE, Some(service)) => {
            Request::Replace(Survivor { pe: head[1] as usize, service, blocks: files.next().ok_or_else(wrong)?.into() })
        }
        (WATCH, Some(memory)) => Request::Watch(ConnectedJob {
            number: head[1],
            group: usize::from(head[2] != 0),
            memory: memory.into(),
            connection: files.next().ok_or_else(wrong)?.into(),
            peer: files.next().ok_or_else(wrong)?,
        }),
        _ => return Err(wrong()),
    };
    let reply = Reply(reply);
    Ok(Some(Received { request, reply }))
}

impl Reply {
    /// Gives the memory of job `job_number`, and that of the connection with it.
    pub fn started(self, job_number: u32, memory: BorrowedFd<'_>, connection: BorrowedFd<'_>) {
        let files = [memory, connection];
        // A PE that has ended meanwhile needs no answer.
        let _ = send(self.0.as_fd(), [STARTED, job_number, 0], "", &files);
    }

    /// Says that what was asked for is done.
    pub fn done(self) {
        let _ = send(self.0.as_fd(), [DONE, 0, 0], "", &[]);
    }

    /// Refuses, for this reason.
    pub fn refused(self, reason: &str) {
        let _ = send(self.0.as_fd(), [REFUSED, 0, 0], reason, &[]);
    }
}

/// Name and value of `NAME=VALUE`. A name has a character or more, and the first one may be `=`, as `std::env` reads
/// it.
pub fn variable(text: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    let end = 1 + bytes.get(1..)?.iter().position(|byte| *byte == b'=')?;
    Some((OsStr::from_bytes(&bytes[..end]).to_owned(), OsStr::from_bytes(&bytes[end + 1..]).to_owned()))
}

impl Program {
    /// The environment as `NAME=VALUE`.
    pub fn variables(&self) -> Vec<OsString> {
        let pair = |(name, value): &(OsString, OsString)| [name.as_os_str(), value].join(OsStr::new("="));
        self.environment.iter().map(pair).collect()
    }

    /// Gives an option of the placement: `bind_to`, `map_by`, `cores`, `cpus` or `host`.
    pub fn place(&mut self, option: &str, value: impl AsRef<OsStr>) {
        let mut option = OsString::from(format!("{option}="));
        self.placement.retain(|given| !given.as_bytes().starts_with(option.as_bytes()));
        option.push(value);
        self.placement.push(option);
    }
}

impl JobRequest {
    /// As strings that end in NUL, which no string of a command line holds.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |field: &[u8]| {
            bytes.extend_from_slice(field);
            bytes.push(0);
        };
        let number = |n: usize| n.to_string().into_bytes();
        put(&number(self.parents));
        put(&number(self.programs.len()));
        for program in &self.programs {
            put(&number(program.n_pes));
            put(&number(program.independent.into()));
            put(program.command.as_bytes());
            put(program.directory.as_ref().map_or(&[], |directory| directory.as_os_str().as_bytes()));
            for list in [&program.arguments, &program.variables(), &program.placement] {
                put(&number(list.len()));
                for item in list {
                    put(item.as_bytes());
                }
            }
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let request = Self::read(&mut fields)?;
        fields.next().is_none().then_some(request)
    }

    fn read<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        fn number<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<usize> {
            std::str::from_utf8(fields.next()?).ok()?.parse().ok()
        }
        fn text<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<OsString> {
            Some(OsString::from_vec(fields.next()?.to_vec()))
        }
        fn list<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<Vec<OsString>> {
            (0..number(fields)?).map(|_| text(fields)).collect()
        }
        let parents = number(fields)?;
        let programs = (0..number(fields)?).map(|_| {
            Some(Program {
                n_pes: number(fields)?,
                independent: number(fields)? != 0,
                command: text(fields)?,
                directory: Some(text(fields)?).filter(|directory| !directory.is_empty()).map(Into::into),
                arguments: list(fields)?,
                environment: list(fields)?.iter().map(|text| variable(text)).collect::<Option<_>>()?,
                placement: list(fields)?,
            })
        });
        let programs = programs.collect::<Option<_>>()?;
        Some(Self { parents, programs })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn request() -> JobRequest {
        let text = |words: &[&str]| words.iter().map(OsString::from).collect();
        let program = Program {
            command: "./worker".into(),
            n_pes: 3,
            arguments: text(&["", "-x", "a b"]),
            environment: vec![("A".into(), "1".into()), ("B".into(), "".into())],
            directory: Some("/tmp".into()),
            placement: text(&["bind_to=core"]),
            independent: true,
        };
        JobRequest {
            parents: 2,
            programs: vec![
                program,
                Program { command: OsString::from_vec(vec![0xff, b'x']), n_pes: 1, ..Program::default() },
            ],
        }
    }

    #[test]
    fn requests_come_back() {
        let bytes = request().encode();
        assert_eq!(JobRequest::decode(&bytes), Some(request()));
        for end in 0..bytes.len() {
            assert_eq!(JobRequest::decode(&bytes[..end]), None, "{end}");
        }
        let longer = [&bytes[..], b"1\0"].concat();
        assert_eq!(JobRequest::decode(&longer), None);
        assert_eq!(JobRequest::decode(b"1\x0099999999999\0"), None);
    }

    /// Waits for the next request.
    fn served(supervisor: &OwnedFd) -> Received {
        loop {
            if let Some(received) = next(supervisor.as_fd()).unwrap() {
                return received;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn a_job_is_asked_for_and_answered() {
        let (supervisor, pes) = open().unwrap();
        assert!(next(supervisor.as_fd()).unwrap().is_none());
        let asking = thread::spawn(move || {
            let refused = start(pes.as_fd(), &request()).unwrap_err();
            assert_eq!(refused.to_string(), "no such program");
            let started = start(pes.as_fd(), &request()).unwrap();
            assert_eq!(started.job_number, 7);
            assert_eq!(started.memory.metadata().unwrap().len(), 10);
            assert_eq!(started.connection.metadata().unwrap().len(), 20);
            memory(pes.as_fd(), 7).unwrap();
            let broken = memory(pes.as_fd(), 8).unwrap_err();
            assert!(matches!(broken, ServiceError::Broken(_)), "{broken}");
        });
        let first = served(&supervisor);
        assert!(matches!(&first.request, Request::Job(job) if *job == request()));
        first.reply.refused("no such program");
        let file = |len| mapping::memory_file(len).unwrap();
        let (job, connection) = (file(10), file(20));
        for number in [0, 7] {
            let received = served(&supervisor);
            match &received.request {
                Request::Job(_) => assert_eq!(number, 0),
                Request::Memory { job_number } => assert_eq!(*job_number, number),
                Request::Watch(_) | Request::Replace(_) => unreachable!("not asked for"),
            }
            received.reply.started(7, job.as_fd(), connection.as_fd());
        }
        drop(served(&supervisor));
        asking.join().unwrap();
        assert!(next(supervisor.as_fd()).unwrap().is_none());
    }

    #[test]
    fn survivors_hand_their_blocks_over() {
        let (supervisor, pes) = open().unwrap();
        let asking = thread::spawn(move || {
            replace(pes.as_fd(), 5, &[7, 1 << 40]).unwrap();
            let refused = replace(pes.as_fd(), 6, &[]).unwrap_err();
            assert_eq!(refused.to_string(), "no");
        });
        for (pe, blocks) in [(5, vec![7, 1 << 40]), (6, Vec::new())] {
            let Received { request: Request::Replace(survivor), reply } = served(&supervisor) else { unreachable!() };
            assert_eq!((survivor.pe, read_words(&survivor.blocks).unwrap()), (pe, blocks));
            if pe == 5 { reply.done() } else { reply.refused("no") }
        }
        asking.join().unwrap();
    }
}
