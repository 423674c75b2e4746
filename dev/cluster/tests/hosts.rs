//! The hosts of a rig, what can be done to them, and the launchers in them.

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_cluster::hosts::{
    AGENT, Command, Impairment, Launcher, Order, Placement, Rig, Slurm, roles,
};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command as Local, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs, iter};

/// What a test waits for comes at once; a machine may be busy.
const WATCHDOG: Duration = Duration::from_secs(30);

/// Marks the processes of the test that leaves none behind.
const MARK: &str = "FERROSHMEM_RIG_TEST";

/// The argument by which this program is what [`talk`] says.
const TALK: &str = "--talk";

/// Where a host listens.
const PORT: u16 = 5000;

const PLACEMENTS: [Placement; 4] = [
    placement(3, 2, Order::Block),
    placement(4, 2, Order::Block),
    placement(4, 2, Order::RoundRobin),
    placement(3, 3, Order::Block),
];

const fn placement(pes: usize, hosts: usize, order: Order) -> Placement {
    Placement { pes, hosts, order }
}

fn main() {
    roles::play();
    let words: Vec<String> = env::args().skip(1).collect();
    if let Some((TALK, words)) = words.split_first().map(|(w, rest)| (w.as_str(), rest)) {
        return talk(words).expect("the other host answers");
    }
    let arguments = Arguments::from_args();
    if !arguments.list
        && let Err(error) = Rig::new(1)
    {
        println!("skipped: {error:#}");
        return;
    }
    let mut trials = vec![
        trial("hosts-are-apart", hosts_are_apart),
        trial("hosts-reach-each-other", hosts_reach_each_other),
        trial("ends-are-told", ends_are_told),
        trial("two-rigs-at-once", two_rigs_at_once),
        trial("a-killed-rig-leaves-nothing", killed_rig_leaves_nothing),
        trial("a-host-dies", host_dies),
        trial("a-process-is-killed", process_is_killed),
        trial("a-link-is-cut", link_is_cut),
        trial("a-link-is-slow", link_is_slow),
        trial("a-link-loses-everything", link_loses_everything),
    ];
    for launcher in Launcher::ALL {
        let missing = launcher.check().err();
        if let Some(missing) = &missing {
            println!("note: jobs of {launcher} are not tested: {missing}");
        }
        let run = move || jobs(launcher);
        trials.push(trial(launcher.name(), run).with_ignored_flag(missing.is_some()));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, run: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        run().map_err(|e| Failed::from(format!("{e:#}")))
    })
}

/// Runs a command in a host to its end, which must be good; returns what it printed.
fn output(command: &Command) -> Result<String> {
    let mut process = command.spawn()?;
    match process.wait(WATCHDOG)? {
        Some(status) if status.success() => Ok(process.stdout().trim_end().to_owned()),
        Some(status) => bail!("{status}\n{process}"),
        None => bail!("it hangs\n{process}"),
    }
}

fn shell<'a>(rig: &'a Rig, host: &str, script: &str) -> Command<'a> {
    rig.command(host, ["sh", "-c", script])
}

fn hosts_are_apart() -> Result<()> {
    let rig = Rig::new(2)?;
    let all = |script: &str| -> Result<Vec<String>> {
        rig.hosts()
            .map(|h| output(&shell(&rig, h, script)))
            .collect()
    };
    let distinct = |script: &str| -> Result<()> {
        let said = all(script)?;
        ensure!(
            said[0] != said[1],
            "{script} says the same in both: {said:?}"
        );
        Ok(())
    };
    assert_eq!(all("hostname")?, ["a", "b"]);
    distinct("cat /proc/sys/kernel/random/boot_id")?;
    for namespace in ["net", "uts", "ipc", "pid", "mnt"] {
        distinct(&format!("readlink /proc/self/ns/{namespace}"))?;
    }
    output(&shell(&rig, "a", "touch /dev/shm/mine /run/mine"))?;
    assert_eq!(output(&shell(&rig, "b", "ls /dev/shm"))?, "");
    assert_eq!(output(&shell(&rig, "b", "ls /run"))?, "lock\nrig");
    // Orphans are reaped, and processes of one host are not seen in the other.
    output(&shell(&rig, "a", "(sleep 0.01 &) ; sleep 0.1"))?;
    assert_eq!(rig.left_after(WATCHDOG)?, Vec::<String>::new());
    Ok(())
}

fn hosts_reach_each_other() -> Result<()> {
    let rig = Rig::new(4)?;
    let names: Vec<&str> = rig.hosts().collect();
    for (from, to) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
        let said = output(&shell(&rig, from, &format!("{AGENT} -x {to} hostname")))?;
        assert_eq!(said, *to);
        greet(&rig, from, to, WATCHDOG)?.context("no answer")?;
    }
    Ok(())
}

/// What this program does in hosts: `listen`, or `greet HOST`.
fn talk(words: &[String]) -> Result<()> {
    match words {
        [listen] if listen == "listen" => {
            let listener = TcpListener::bind(("0.0.0.0", PORT))?;
            println!("listens");
            let (mut client, _) = listener.accept()?;
            client.write_all(b"hello\n")?;
        }
        [greet, host] if greet == "greet" => {
            let mut said = String::new();
            TcpStream::connect((host.as_str(), PORT))?.read_to_string(&mut said)?;
            ensure!(said == "hello\n");
        }
        _ => bail!("listen, or greet HOST"),
    }
    Ok(())
}

/// Has a host greet another one; returns how long it took, if there was an answer in time.
fn greet(rig: &Rig, from: &str, to: &str, limit: Duration) -> Result<Option<Duration>> {
    let program = env::current_exe()?.into_os_string();
    let talk = |host, words: &[&str]| {
        let words = [TALK].iter().chain(words).map(OsString::from);
        rig.command(host, iter::once(program.clone()).chain(words))
    };
    let mut listener = talk(to, &["listen"]).spawn()?;
    listener.wait_for("listens", WATCHDOG)?;
    let start = Instant::now();
    let mut client = talk(from, &["greet", to]).spawn()?;
    let status = client.wait(limit)?;
    let took = start.elapsed();
    rig.sweep()?;
    Ok(status.is_some_and(|s| s.success()).then_some(took))
}

fn ends_are_told() -> Result<()> {
    let rig = Rig::new(2)?;
    let mut process = shell(&rig, "b", "echo out; echo err >&2; exit 3").spawn()?;
    let status = process.wait(WATCHDOG)?.context("it hangs")?;
    assert_eq!(status.code(), Some(3));
    assert_eq!(
        (process.stdout(), process.stderr()),
        ("out\n".into(), "err\n".into())
    );
    let mut process = shell(&rig, "b", "kill -TERM $$").spawn()?;
    let status = process.wait(WATCHDOG)?.context("it hangs")?;
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
    let said = output(&shell(&rig, "a", &format!("{AGENT} b 'exit 5'; echo $?")))?;
    assert_eq!(said, "5");

    let error = rig
        .command("a", ["/no/such"])
        .spawn()
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot run /no/such"), "{error}");
    let error = rig.command("x", ["true"]).spawn().unwrap_err().to_string();
    assert_eq!(error, "there is no host x in this rig");
    let error = Rig::new(5).unwrap_err().to_string();
    assert_eq!(error, "a rig has 1 to 4 hosts, not 5");
    Ok(())
}

fn two_rigs_at_once() -> Result<()> {
    let rigs = [Rig::new(2)?, Rig::new(2)?];
    for rig in &rigs {
        greet(rig, "a", "b", WATCHDOG)?.context("no answer")?;
    }
    Ok(())
}

/// Ids of the processes that have a variable of this value.
fn marked(mark: &str) -> BTreeSet<i32> {
    let wanted = format!("{MARK}={mark}");
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    pids.filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            variables.split(|b| *b == 0).any(|v| v == wanted.as_bytes())
        })
        .collect()
}

fn killed_rig_leaves_nothing() -> Result<()> {
    let mark = format!("{}", std::process::id());
    let script = format!("{AGENT} b 'setsid sleep 1000 & sleep 1000' & echo started; sleep 1000");
    let mut rig = Local::new(env!("CARGO_BIN_EXE_hosts"))
        .args(["2", "--", "sh", "-c", &script])
        .env(MARK, &mark)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = [0; 8];
    rig.stdout.take().context("a pipe")?.read_exact(&mut said)?;
    let start = Instant::now();
    // The rig's process, the starter, the keeper, two of each host, and the commands.
    while marked(&mark).len() < 12 {
        ensure!(
            start.elapsed() < WATCHDOG,
            "processes are missing: {:?}",
            marked(&mark)
        );
        sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(rig.id().cast_signed()), Signal::SIGKILL)?;
    rig.wait()?;
    let start = Instant::now();
    while !marked(&mark).is_empty() {
        ensure!(start.elapsed() < WATCHDOG, "left: {:?}", marked(&mark));
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn host_dies() -> Result<()> {
    let rig = Rig::new(2)?;
    let mut process = shell(&rig, "b", "echo started; sleep 1000").spawn()?;
    process.wait_for("started", WATCHDOG)?;
    rig.kill_host("b")?;
    let status = process.wait(WATCHDOG)?.context("it lives")?;
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
    assert_eq!(rig.left_after(WATCHDOG)?, Vec::<String>::new());
    let error = rig.command("b", ["true"]).spawn().unwrap_err().to_string();
    assert_eq!(error, "host b has ended");
    output(&rig.command("a", ["true"])).map(drop)
}

fn process_is_killed() -> Result<()> {
    let rig = Rig::new(1)?;
    let mut process = rig.command("a", ["sleep", "1000"]).spawn()?;
    assert_eq!(rig.left_after(Duration::ZERO)?, ["a: sleep 1000"]);
    rig.kill("a", process.pid(), Signal::SIGINT)?;
    let status = process.wait(WATCHDOG)?.context("it lives")?;
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32));
    Ok(())
}

fn link_is_cut() -> Result<()> {
    let rig = Rig::new(2)?;
    rig.link_down("b")?;
    assert_eq!(greet(&rig, "a", "b", Duration::from_secs(1))?, None);
    rig.link_up("b")?;
    greet(&rig, "a", "b", WATCHDOG)?.context("no answer over a mended link")?;
    Ok(())
}

fn link_is_slow() -> Result<()> {
    let rig = Rig::new(2)?;
    let delay = Duration::from_millis(100);
    let slow = Impairment {
        delay,
        ..Impairment::default()
    };
    rig.impair("b", slow)?;
    let took = greet(&rig, "a", "b", WATCHDOG)?.context("no answer over a slow link")?;
    // Address resolution aside: two packets to connect, one with the answer.
    assert!(took >= 3 * delay, "{took:?}");
    rig.clear("b")?;
    greet(&rig, "a", "b", WATCHDOG)?.context("no answer over a cleared link")?;
    Ok(())
}

fn link_loses_everything() -> Result<()> {
    let rig = Rig::new(2)?;
    let lossy = |loss| Impairment {
        loss,
        ..Impairment::default()
    };
    rig.impair("b", lossy(1.0))?;
    assert_eq!(greet(&rig, "a", "b", Duration::from_secs(1))?, None);
    rig.impair("b", lossy(0.2))?;
    // The kernel asks three times for an address, and gives up.
    for _ in 0..20 {
        if greet(&rig, "a", "b", WATCHDOG)?.is_some() {
            return Ok(());
        }
    }
    bail!("no answer over a lossy link")
}

/// Jobs of `hostname` are where they should be, leave nothing, and tell a bad end.
fn jobs(launcher: Launcher) -> Result<()> {
    let rig = Rig::new(3)?;
    let _slurm = launcher
        .is_slurm()
        .then(|| Slurm::start(&rig))
        .transpose()?;
    let names: Vec<&str> = rig.hosts().collect();
    let job = |place: &Placement, script: &str| {
        let program = ["sh", "-c", script].map(str::to_owned);
        let words = launcher.words(place, &["GREETING"], &program);
        let command = rig.command("a", words).env("GREETING", "hello");
        let variables = launcher.variables().iter();
        variables.fold(command, |c, (name, value)| c.env(name, value))
    };
    // A launcher has the rank in one variable, in which PMIx and PMI differ.
    let script = "echo ${PMIX_RANK:-$PMI_RANK} $(hostname) $GREETING";
    for place in PLACEMENTS {
        let said = output(&job(&place, script))?;
        let mut said: Vec<&str> = said.lines().collect();
        said.sort_unstable();
        let hosts = place.hosts_of_pes();
        let expected = hosts.iter().enumerate();
        let expected: Vec<String> = expected
            .map(|(pe, host)| format!("{pe} {} hello", names[*host]))
            .collect();
        ensure!(said == expected, "{place}: {said:?}");
        let left = rig.left_after(WATCHDOG)?;
        ensure!(left.is_empty(), "{place}: left: {left:?}");
    }
    let mut bad = job(&PLACEMENTS[0], "exit 3").spawn()?;
    let status = bad.wait(WATCHDOG)?.context("it hangs")?;
    ensure!(!status.success(), "the end of {launcher} is a good one");
    Ok(())
}
