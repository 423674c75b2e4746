//! Jobs that connect: ports, connections of jobs that were started separately, strangers, and what may go wrong.

mod names;

use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::guide;
use ferroshmem_conformance::job::{Outcome, Running, shell_status};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool;
use ferroshmem_conformance::{Build, Compiler, Job, Suite};
use ferroshmem_core::job::message::{receive, send};
use ferroshmem_layout::VERSION;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept, bind, connect, listen, socket};

/// How the two jobs behave, and their PEs (0: without a launcher).
const PAIRS: [(&str, usize, &str, usize); 12] = [
    ("accept", 1, "connect", 1),
    ("accept", 3, "connect", 2),
    ("accept-late", 2, "connect", 2),
    ("accept", 2, "connect-late", 2),
    ("accept", 1, "connect", 7),
    ("accept", 16, "connect", 16),
    ("accept-part", 5, "connect-part", 5),
    ("accept-twice", 2, "connect-twice", 2),
    ("accept", 2, "connect-disconnect", 1),
    ("accept", 0, "connect", 2),
    ("accept", 3, "connect", 0),
    ("accept", 0, "connect", 0),
];

/// How the job that accepts fails, its status, how many lines it prints, and words of the one line of the other job,
/// which ends with the same status.
const FAILURES: [(&str, i32, usize, &str); 5] = [
    ("accept-crash", 139, 1, "was killed by SIGSEGV"),
    ("accept-exit-3", 3, 1, "exited with status 3"),
    ("accept-global-exit", 9, 0, "ended its job with status 9"),
    ("accept-misuse", 1, 1, "ended its job with status 1"),
    ("accept-leave", 0, 0, "without shmemx_group_disconnect"),
];

/// How a job joins one that listens, and the PEs of both.
const JOINS: [(&str, usize, usize); 4] =
    [("connect", 1, 1), ("connect", 3, 5), ("connect-late", 2, 1), ("connect-nonblocking", 1, 2)];

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    for (first, n, second, m) in PAIRS {
        suite.add(format!("meet::{first}-{n}+{second}-{m}"), move |s| {
            let meeting = Meeting::new(s)?;
            let accepting = meeting.start(first, n, &[])?;
            let connecting = meeting.start(second, m, &[])?;
            well(connecting)?;
            well(accepting)
        });
    }
    for (n, m) in [(1, 1), (3, 4)] {
        suite.add(format!("memory::{n}+{m}"), move |s| memory(s, n, m));
    }
    for pes in [2, 5] {
        suite.add(format!("self::{pes}pe"), move |s| well(Meeting::new(s)?.start("self", pes, &[])?));
    }
    for (second, n, m) in JOINS {
        suite.add(format!("join::listen-{n}+{second}-{m}"), move |s| {
            let meeting = Meeting::of(s, "join")?;
            let listening = meeting.start("listen", n, &[])?;
            well(meeting.start(second, m, &[])?)?;
            well(listening)
        });
    }
    for (second, words) in [
        ("connect-close", "the other end of the socket is closed"),
        ("connect-gone", "the other end of the socket is closed"),
        ("connect-words", "does not call shmemx_join"),
    ] {
        suite.add(format!("join::refused::{second}"), move |s| {
            let meeting = Meeting::of(s, "join")?;
            let listening = meeting.start("listen-refused", 1, &[])?;
            well(meeting.start(second, 1, &[])?)?;
            with_line(listening, 0, words)
        });
    }
    for way in ["file", "none"] {
        suite.add(format!("join::refused::{way}"), move |s| {
            let meeting = Meeting::of(s, "join")?;
            with_line(meeting.start(way, 2, &[])?, 0, "is not that of a socket")
        });
    }
    suite.add("guide::shop".into(), guide);
    suite.add("rounds::one-after-the-other".into(), rounds);
    suite.add("many::8-at-once".into(), many);
    for (way, status, lines, words) in FAILURES {
        suite.add(format!("fails::{way}"), move |s| fails(s, way, status, lines, words));
    }
    suite.add("fails::in-a-chain".into(), chain);
    suite.add("fails::killed".into(), killed);
    suite.add("fails::while-accepting".into(), ends_while_accepting);
    suite.add("fails::while-connecting".into(), ends_while_connecting);
    names::add(&mut suite);
    suite.add("stranger::to-a-port".into(), strangers);
    suite.add("stranger::another-user".into(), another_user);
    suite.add("refused::texts".into(), refused_texts);
    suite.add("refused::closed".into(), closed);
    suite.add("refused::another-version".into(), another_version);
    suite.run();
}

/// A file for the text of a port, or a path to listen at, and the program.
struct Meeting<'s> {
    setting: &'s Setting,
    program: PathBuf,
    file: PathBuf,
}

impl<'s> Meeting<'s> {
    fn new(setting: &'s Setting) -> Result<Self> {
        Self::of(setting, "meet")
    }

    fn of(setting: &'s Setting, program: &str) -> Result<Self> {
        let build = Build::new(&format!("spawn/{program}.c"), Compiler::Gcc);
        let program = build.run(&setting.prefix, &setting.cache)?;
        fs::create_dir_all(&setting.scratch)?;
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = setting.scratch.join(format!("port-{count}"));
        let _ = fs::remove_file(&file);
        Ok(Self { setting, program, file })
    }

    fn start(&self, way: &str, pes: usize, more: &[&str]) -> Result<Running> {
        let file = self.file.to_string_lossy();
        let job = Job::new(pes, &self.program).args(&[way, &file]).args(more);
        Running::start(&job, &self.setting.prefix, &self.setting.scratch)
    }

    /// Waits for the text of the port.
    fn text(&self) -> Result<String> {
        while !self.file.exists() {
            thread::sleep(Duration::from_millis(2));
        }
        Ok(fs::read_to_string(&self.file)?)
    }
}

fn end(job: Running) -> Result<Outcome> {
    let outcome = job.finish(Duration::from_secs(60))?;
    ensure!(!outcome.hung && outcome.left == 0, "hangs\n{outcome}");
    Ok(outcome)
}

/// The job ends well, and prints no line.
fn well(job: Running) -> Result<()> {
    end(job)?.ended_saying(Some(0), &[])
}

/// The job ends with this status, and with one line of these words.
fn with_line(job: Running, status: i32, words: &str) -> Result<()> {
    end(job)?.ended_saying(Some(status), &[words])
}

/// Every kind of operation, as between parents and children.
fn memory(s: &Setting, n: usize, m: usize) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let program = s.compile("spawn/memory.c", &["-DMEET"])?;
    let meeting = Meeting { program, ..meeting };
    let connecting = meeting.start("connect", m, &[])?;
    well(meeting.start("accept", n, &[])?)?;
    well(connecting)
}

/// The program in `docs/spawn.md` prints what is said there.
fn guide(s: &Setting) -> Result<()> {
    let guide = guide::page("spawn.md")?;
    let (_, section) = guide.split_once("## Jobs that connect").context("no section")?;
    let compiled = guide::compile(s, section, "shop")?;
    let shop = Running::start(&Job::new(2, &compiled), &s.prefix, &s.scratch)?;
    while !shop.stdout_so_far().ends_with('\n') {
        thread::sleep(Duration::from_millis(2));
    }
    let port = shop.stdout_so_far();
    let customers = Job::new(3, &compiled).args(&[port.trim()]);
    well(Running::start(&customers, &s.prefix, &s.scratch)?)?;
    let outcome = end(shop)?;
    let printed = outcome.stdout.lines().last().unwrap_or_default();
    ensure!(section.contains(&format!("`{printed}`")), "{outcome}");
    Ok(())
}

fn rounds(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept-rounds", 2, &["200"])?;
    let connecting = meeting.start("connect-rounds", 1, &["200"])?;
    well(connecting)?;
    well(accepting)?;
    nothing_left(&meeting)
}

fn many(s: &Setting) -> Result<()> {
    const JOBS: usize = 8;

    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept-many", 1, &["8"])?;
    let connecting: Vec<_> = (0..JOBS).map(|_| meeting.start("connect", 1, &[])).collect::<Result<_>>()?;
    connecting.into_iter().try_for_each(well)?;
    well(accepting)
}

fn fails(s: &Setting, way: &str, status: i32, lines: usize, words: &str) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let accepting = meeting.start(way, 2, &[])?;
    let connecting = meeting.start("connect-wait", 1, &[])?;
    let outcome = end(accepting)?;
    ensure!(shell_status(outcome.status) == status, "{outcome}");
    ensure!(outcome.stderr.lines().count() == lines, "{outcome}");
    // A job that leaves without a failure has no status for the other.
    with_line(connecting, status.max(1), words)
}

/// A job that fails ends the one that it has met, and that ends another one, by the same line.
fn chain(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let middle = meeting.start("accept-many", 1, &["2"])?;
    let last = meeting.start("connect-wait", 1, &[])?;
    let first = meeting.start("connect-crash", 1, &[])?;
    with_line(first, 139, "oshrun: PE 0")?;
    with_line(middle, 139, "oshrun: a connected job has failed: PE 0")?;
    with_line(last, 139, "oshrun: a connected job has failed: PE 0")
}

/// The `oshrun` of one job is killed with all of its processes.
fn killed(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept-idle", 1, &[])?;
    let connecting = meeting.start("connect-tell", 1, &[])?;
    connecting.wait_for_output("connected");
    accepting.kill_supervisor()?;
    with_line(connecting, 1, "a connected job has failed: it is gone")?;
    end(accepting)?;
    nothing_left(&meeting)
}

/// No socket has the name of the port any more.
fn nothing_left(meeting: &Meeting<'_>) -> Result<()> {
    let address = fields(&meeting.text()?).0;
    let sockets = fs::read_to_string("/proc/net/unix")?;
    ensure!(!sockets.contains(&address), "the port's socket is left");
    Ok(())
}

fn ends_while_accepting(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept-never", 1, &[])?;
    let connecting = meeting.start("connect-refused", 1, &[])?;
    meeting.text()?;
    connecting.wait_for_output("connecting");
    kill(accepting.pid(), Signal::SIGKILL)?;
    with_line(connecting, 0, "the port is closed")?;
    end(accepting)?;
    nothing_left(&meeting)
}

fn ends_while_connecting(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept-late", 1, &[])?;
    let gone = meeting.start("connect-refused", 1, &[])?;
    gone.wait_for_output("connecting");
    kill(gone.pid(), Signal::SIGKILL)?;
    end(gone)?;
    let connecting = meeting.start("connect", 2, &[])?;
    well(accepting)?;
    well(connecting)
}

/// The fields of the text of a port: host, address, and secret.
fn fields(text: &str) -> (String, String) {
    let fields: Vec<&str> = text.split(':').collect();
    (fields[2].to_owned(), fields[3].to_owned())
}

/// The text of a port on another host; each time of another port, since trials run beside each other.
fn a_text() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);

    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let secret = "0123456789abcdef".repeat(2);
    format!("ferroshmem-port:here:{process:016x}{number:016x}:{secret}")
}

fn unix_socket() -> Result<OwnedFd> {
    let (kind, flags) = (SockType::SeqPacket, SockFlag::SOCK_CLOEXEC);
    Ok(socket(AddressFamily::Unix, kind, flags, None)?)
}

fn address_of(text: &str) -> Result<UnixAddr> {
    let name = format!("ferroshmem-port-{}", fields(text).0);
    Ok(UnixAddr::new_abstract(name.as_bytes())?)
}

/// Connects to an address as no job does.
fn connected(address: &UnixAddr) -> Result<OwnedFd> {
    let socket = unix_socket()?;
    connect(socket.as_raw_fd(), address)?;
    Ok(socket)
}

/// Listens at an address.
fn listener(address: &UnixAddr) -> Result<OwnedFd> {
    let socket = unix_socket()?;
    bind(socket.as_raw_fd(), address)?;
    listen(&socket, Backlog::new(5)?)?;
    Ok(socket)
}

fn stranger(text: &str) -> Result<OwnedFd> {
    connected(&address_of(text)?)
}

/// Silence, garbage, wrong secrets and other versions delay no caller, and print nothing on the side of the port.
fn strangers(s: &Setting) -> Result<()> {
    const HELLO: u32 = 0x7368_6d31;

    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept", 2, &[])?;
    let text = meeting.text()?;
    let secret = fields(&text).1;
    let silent: Vec<_> = (0..300).map(|_| stranger(&text)).collect::<Result<_>>()?;
    let memory = fs::File::open("/dev/null")?;
    let say = |head: [u32; 3], secret: &str| -> Result<String> {
        let socket = stranger(&text)?;
        send(socket.as_fd(), head, secret, &[memory.as_fd()])?;
        let answer = receive(socket.as_fd())?;
        Ok(answer.map_or_else(String::new, |(_, text, _)| text))
    };
    ensure!(say([HELLO, VERSION, 1], "")?.contains("secret"));
    ensure!(say([HELLO, VERSION, 1], &"0".repeat(32))?.contains("secret"));
    ensure!(say([HELLO, VERSION + 1, 1], &secret)?.contains("one FerroSHMEM"));
    ensure!(say([HELLO, VERSION, 0], &secret)?.contains("0 PEs want to connect"));
    ensure!(say([HELLO, VERSION, 5000], &secret)?.contains("5000 PEs want to connect"));
    ensure!(say([HELLO, VERSION, 1], &secret)?.contains("memory"));
    ensure!(say([0, VERSION, 1], &"garbage".repeat(500))?.is_empty());
    well(meeting.start("connect", 1, &[])?)?;
    drop(silent);
    well(accepting)
}

/// Calls with the rights of another user, in a thread of its own.
fn as_another_user<T: Send>(call: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    const NOBODY: libc::c_long = 65_534;

    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            // SAFETY: the system call changes the user of this thread alone, which ends soon.
            let done = unsafe { libc::syscall(libc::SYS_setresuid, -1, NOBODY, -1) };
            ensure!(done == 0, "the user cannot be changed");
            call()
        });
        thread.join().expect("the thread does not panic")
    })
}

fn another_user(s: &Setting) -> Result<()> {
    tool::root()?;
    let meeting = Meeting::new(s)?;
    let accepting = meeting.start("accept", 1, &[])?;
    let text = meeting.text()?;
    let their = as_another_user(|| stranger(&text))?;
    let answer = receive(their.as_fd())?;
    ensure!(answer.is_none(), "another user is answered: {answer:?}");
    well(meeting.start("connect", 1, &[])?)?;
    well(accepting)?;
    // The port of another user.
    let text = a_text();
    let _socket = as_another_user(|| listener(&address_of(&text)?))?;
    refused(&meeting, 2, &text, "belongs to another user")
}

/// A job that connects to the port of this text is refused, on all PEs, with one line.
fn refused(meeting: &Meeting<'_>, pes: usize, text: &str, words: &str) -> Result<()> {
    let job = Job::new(pes, &meeting.program).args(&["connect-to", text]);
    let (prefix, scratch) = (&meeting.setting.prefix, &meeting.setting.scratch);
    let outcome = end(Running::start(&job, prefix, scratch)?)?;
    let all = outcome.stdout.matches("refused").count() == pes.max(1);
    ensure!(all, "not all PEs go on\n{outcome}");
    outcome.ended_saying(Some(0), &[words])
}

fn refused_texts(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    refused(&meeting, 2, "no port", "is not the text of a port")?;
    refused(&meeting, 1, "", "is not the text of a port")?;
    refused(&meeting, 2, &a_text(), "the port is on host here")?;
    let accepting = meeting.start("accept", 1, &[])?;
    let text = meeting.text()?;
    let secret = fields(&text).1;
    let wrong = text.replace(&secret, &"f".repeat(32));
    refused(&meeting, 2, &wrong, "the port's text has another secret")?;
    well(meeting.start("connect", 1, &[])?)?;
    well(accepting)?;
    refused(&meeting, 1, &text, "the port is closed")
}

/// A port that is closed while another job waits at it.
fn closed(s: &Setting) -> Result<()> {
    let meeting = Meeting::new(s)?;
    let go = meeting.file.with_extension("go");
    let accepting = meeting.start("accept-close", 1, &[&go.to_string_lossy()])?;
    let connecting = meeting.start("connect-refused", 2, &[])?;
    connecting.wait_for_output("connecting");
    fs::write(&go, "go")?;
    with_line(connecting, 0, "the port is closed")?;
    let outcome = end(accepting)?;
    ensure!(shell_status(outcome.status) == 0, "{outcome}");
    ensure!(outcome.stderr.matches("has not opened the port").count() == 2, "{outcome}");
    Ok(())
}

/// The job at the port refuses, as one of another version does.
fn another_version(s: &Setting) -> Result<()> {
    const REFUSED: u32 = 3;

    let (meeting, text) = (Meeting::new(s)?, a_text());
    let port = listener(&address_of(&text)?)?;
    let answering = thread::spawn(move || -> Result<()> {
        use std::os::fd::FromRawFd;
        // SAFETY: opened by the call, and nothing else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(accept(port.as_raw_fd())?) };
        receive(socket.as_fd())?.context("no hello")?;
        send(socket.as_fd(), [REFUSED, 0, 0], "another version", &[])?;
        Ok(())
    });
    refused(&meeting, 2, &text, "the other job refuses: another version")?;
    answering.join().expect("the thread does not panic")
}
