//! Where the PEs' standard output and error go.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use ferroshmem_bootstrap::environment::{self, SLURM_JOB_ID};
use ferroshmem_platform::line::one_line;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::PollFlags;
use nix::unistd::{pipe2, write};
use rustix::stdio::{stderr, stdout};

use super::failure::Failure;
use super::options::CommandLine;
use crate::terminal::error_head;

/// How output is treated.
#[derive(Debug)]
enum Mode {
    /// PEs write to what the supervisor writes to.
    Direct,
    /// Line by line, each with its PE.
    Label,
    /// A pair of files for each PE.
    Files { dir: PathBuf, digits: usize },
    /// One file for each, whose name has its number.
    Named(String),
}

/// The output of all PEs, and the supervisor's own lines.
#[derive(Debug)]
pub(super) struct Output {
    mode: Mode,
    pe_streams: Vec<PeStream>,
    /// Standard output and standard error of the supervisor.
    sinks: [Sink; 2],
    is_lost: bool,
}

/// A pipe from one stream of one PE.
#[derive(Debug)]
struct PeStream {
    pipe: File,
    /// What its lines are marked with.
    label: String,
    sink: usize,
    /// The beginning of a line that is not complete.
    line: Vec<u8>,
    open: bool,
}

/// What is still to be written to one of the supervisor's own streams.
#[derive(Debug, Default)]
struct Sink {
    pending: VecDeque<u8>,
    broken: bool,
}

/// What [`Output::serve`] does once a descriptor is ready.
#[derive(Debug, Clone, Copy)]
pub(super) enum Transfer {
    /// Write to this sink.
    Write(usize),
    /// Read from this stream of a PE.
    Read(usize),
}

/// Bytes that wait to be written to a sink above which no PE's stream is read.
const PENDING_LIMIT: usize = 1 << 20;
/// A line longer than this is cut.
const LINE_LIMIT: usize = 1 << 20;

/// The value of `--output`, if it is the name of a file for each PE: `%t` (Slurm's) or `%r` (Hydra's) stands for the
/// number, and `%j` for that of Slurm's job.
pub(super) fn pattern(value: &Path) -> Result<Option<String>, Failure> {
    let text = value.to_string_lossy();
    if !text.contains('%') {
        return Ok(None);
    }
    let mut pattern = text.replace("%r", "%t");
    if let Some(job) = environment::value(&SLURM_JOB_ID) {
        pattern = pattern.replace("%j", &job);
    }
    let numbers = pattern.matches("%t").count();
    if numbers > 0 && numbers == pattern.matches('%').count() {
        return Ok(Some(pattern));
    }
    Err(Failure::usage(format!(
        "--output \"{text}\": give a name with %t (or %r), the number of the PE, and %j, that of Slurm's job, if there \
            is one; for one file of all PEs, > FILE after the command"
    )))
}

/// Makes the directory of `--output`.
pub(super) fn create(dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir)
        .map_err(|e| Failure::usage(format!("--output \"{}\": cannot create it: {e}", dir.display())))
}

impl Output {
    /// Prepares for `n_pes` PEs.
    pub(super) fn new(options: &CommandLine, n_pes: usize) -> Result<Self, Failure> {
        let mode = match &options.streams.output {
            Some(value) => match pattern(value)? {
                Some(pattern) => Mode::Named(pattern),
                None => {
                    create(value)?;
                    Mode::Files { dir: value.clone(), digits: (n_pes - 1).to_string().len() }
                }
            },
            None if options.streams.label => Mode::Label,
            None => Mode::Direct,
        };
        Ok(Self { mode, pe_streams: Vec::new(), sinks: Default::default(), is_lost: false })
    }

    /// Standard output and error of PE `pe` of job `job`; `None` is the supervisor's own.
    pub(super) fn streams(&mut self, job: u32, pe: usize) -> io::Result<[Option<OwnedFd>; 2]> {
        let label = match job {
            0 => pe.to_string(),
            _ => format!("{job}.{pe}"),
        };
        match &self.mode {
            Mode::Direct => Ok([None, None]),
            Mode::Named(pattern) => {
                let path = PathBuf::from(pattern.replace("%t", &label));
                let file = create_file(&path)?;
                Ok([Some(file.try_clone()?), Some(file)])
            }
            Mode::Label => Ok([Some(self.pipe(&label, 0)?), Some(self.pipe(&label, 1)?)]),
            Mode::Files { dir, digits } => {
                let name = match job {
                    0 => format!("pe.{pe:0digits$}"),
                    _ => format!("job.{job}.pe.{pe}"),
                };
                let file = |kind| create_file(&dir.join(format!("{name}.{kind}")));
                Ok([Some(file("out")?), Some(file("err")?)])
            }
        }
    }

    fn pipe(&mut self, label: &str, sink: usize) -> io::Result<OwnedFd> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        // Only our end: the PE does not expect its output to be non-blocking.
        fcntl(&read, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let pipe = File::from(read);
        self.pe_streams.push(PeStream { pipe, label: label.to_owned(), sink, line: Vec::new(), open: true });
        Ok(write)
    }

    /// A line of the supervisor itself, to standard error.
    pub(super) fn print_line(&mut self, line: &str) {
        self.write("oshrun: ", line);
    }

    /// The same of why a job ends.
    pub(super) fn error(&mut self, line: &str) {
        self.write(&error_head("oshrun"), line);
    }

    fn write(&mut self, head: &str, line: &str) {
        let line = format!("{head}{}\n", one_line(line));
        self.sinks[1].push(line.as_bytes());
    }

    /// What to wait for.
    pub(super) fn transfers(&self) -> impl Iterator<Item = (Transfer, BorrowedFd<'_>, PollFlags)> {
        let writes = self
            .sinks
            .iter()
            .enumerate()
            .filter(|(_, sink)| !sink.pending.is_empty())
            .map(|(i, _)| (Transfer::Write(i), sink_fd(i), PollFlags::POLLOUT));
        let reads = self
            .pe_streams
            .iter()
            .enumerate()
            .filter(|(_, s)| self.sinks[s.sink].pending.len() < PENDING_LIMIT)
            .map(|(i, s)| (Transfer::Read(i), s.pipe.as_fd(), PollFlags::POLLIN));
        writes.chain(reads)
    }

    /// Does transfers whose descriptors are ready: all that [`Self::transfers`] gave since the
    /// last call, or some of them.
    pub(super) fn serve(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        for transfer in transfers {
            match transfer {
                Transfer::Write(i) => {
                    if let Err(e) = self.sinks[i].write(sink_fd(i))
                        && e != Errno::EPIPE
                    {
                        self.is_lost = true;
                        self.print_line(&format!("cannot write the output of the PEs: {}", e.desc()));
                    }
                }
                Transfer::Read(i) => {
                    let stream = &mut self.pe_streams[i];
                    stream.read(&mut self.sinks[stream.sink]);
                }
            }
        }
        // A PE that writes to a closed pipe gets SIGPIPE, as if it wrote to the sink itself.
        self.pe_streams.retain(|s| s.open && !self.sinks[s.sink].broken);
    }

    /// Whether some could not be written, though there may be a reader.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Reads what is left in the pipes after the last PE has ended, and completes unfinished lines.
    pub(super) fn drain(&mut self) {
        for stream in &mut self.pe_streams {
            let sink = &mut self.sinks[stream.sink];
            while stream.read(sink) {}
            stream.finish(sink);
        }
        self.pe_streams.clear();
    }
}

fn create_file(path: &Path) -> io::Result<OwnedFd> {
    File::create(path).map(OwnedFd::from).map_err(|e| io::Error::other(format!("{}: {e}", path.display())))
}

fn sink_fd(sink: usize) -> BorrowedFd<'static> {
    if sink == 0 { stdout() } else { stderr() }
}

impl Sink {
    fn push(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.pending.extend(bytes);
        }
    }

    /// Writes as much as a pipe that polls writable takes without blocking.
    fn write(&mut self, fd: BorrowedFd<'_>) -> nix::Result<()> {
        let (first, _) = self.pending.as_slices();
        match write(fd, &first[..first.len().min(libc::PIPE_BUF)]) {
            Ok(done) => drop(self.pending.drain(..done)),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(e) => {
                self.broken = true;
                self.pending = VecDeque::new();
                return Err(e);
            }
        }
        Ok(())
    }
}

impl PeStream {
    /// Reads once; whether there may be more.
    fn read(&mut self, sink: &mut Sink) -> bool {
        let mut buffer = [0; 16 << 10];
        match self.pipe.read(&mut buffer) {
            Ok(0) => {
                self.finish(sink);
                self.open = false;
            }
            Ok(n) => {
                self.take(&buffer[..n], sink);
                return true;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.open = false,
        }
        false
    }

    /// Hands on the lines that `bytes` completes.
    fn take(&mut self, bytes: &[u8], sink: &mut Sink) {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.line.len() >= LINE_LIMIT {
                self.finish(sink);
            }
        }
    }

    /// Ends the line begun, if there is one.
    fn finish(&mut self, sink: &mut Sink) {
        if self.line.is_empty() {
            return;
        }
        if !self.line.ends_with(b"\n") {
            self.line.push(b'\n');
        }
        sink.push(format!("[{}] ", self.label).as_bytes());
        sink.push(&self.line);
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_whole() {
        let pipe = File::open("/dev/null").unwrap();
        let mut stream = PeStream { pipe, label: "7".to_owned(), sink: 0, line: Vec::new(), open: true };
        let mut sink = Sink::default();
        stream.take(b"one\ntw", &mut sink);
        assert_eq!(sink.pending, b"[7] one\n");
        stream.take(b"o\n\nthree", &mut sink);
        assert_eq!(sink.pending, b"[7] one\n[7] two\n[7] \n");
        stream.finish(&mut sink);
        stream.finish(&mut sink);
        assert!(sink.pending.make_contiguous().ends_with(b"[7] \n[7] three\n"));
    }
}
