//! The hosts of a cluster, faults of hosts and links, and the launchers on them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command as Local, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs, iter};

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_cluster::hosts::{
    AGENT, Cluster, Command, Distribution, Impairment, Launcher, Placement, Slurm, applets,
};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What a test waits for comes at once; a machine may be busy.
const WATCHDOG: Duration = Duration::from_secs(30);

/// Marks the processes of the test that leaves none behind.
const MARK: &str = "FERROSHMEM_CLUSTER_TEST";

/// The argument by which this program is what [`talk`] says.
const TALK: &str = "--talk";

/// Where a host listens.
const PORT: u16 = 5000;

const PLACEMENTS: [Placement; 4] = [
    placement(3, 2, Distribution::Block),
    placement(4, 2, Distribution::Block),
    placement(4, 2, Distribution::RoundRobin),
    placement(3, 3, Distribution::Block),
];

const fn placement(pes: usize, hosts: usize, distribution: Distribution) -> Placement {
    Placement { pes, hosts, distribution }
}

fn main() {
    applets::dispatch();
    let words: Vec<String> = env::args().skip(1).collect();
    if let Some((TALK, words)) = words.split_first().map(|(w, rest)| (w.as_str(), rest)) {
        return talk(words).expect("the other host answers");
    }
    let arguments = Arguments::from_args();
    if !arguments.list
        && let Err(error) = Cluster::new(1)
    {
        println!("skipped: {error:#}");
        return;
    }
    let mut trials = vec![
        trial("hosts-are-apart", hosts_are_apart),
        trial("hosts-reach-each-other", hosts_reach_each_other),
        trial("statuses-are-reported", statuses_are_reported),
        trial("hosts-have-cores", hosts_have_cores),
        trial("two-clusters-at-once", two_rigs_at_once),
        trial("a-killed-cluster-leaves-nothing", killed_cluster_leaves_nothing),
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
    Trial::test(name, move || run().map_err(|e| Failed::from(format!("{e:#}"))))
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

fn shell<'a>(cluster: &'a Cluster, host: &str, script: &str) -> Command<'a> {
    cluster.command(host, ["sh", "-c", script])
}

fn hosts_are_apart() -> Result<()> {
    let cluster = Cluster::new(2)?;
    let all = |script: &str| -> Result<Vec<String>> {
        cluster.hosts().map(|h| output(&shell(&cluster, h, script))).collect()
    };
    let distinct = |script: &str| -> Result<()> {
        let printed = all(script)?;
        ensure!(printed[0] != printed[1], "{script} says the same in both: {printed:?}");
        Ok(())
    };
    assert_eq!(all("hostname")?, ["a", "b"]);
    distinct("cat /proc/sys/kernel/random/boot_id")?;
    for namespace in ["net", "uts", "ipc", "pid", "mnt"] {
        distinct(&format!("readlink /proc/self/ns/{namespace}"))?;
    }
    output(&shell(&cluster, "a", "touch /dev/shm/mine /run/mine"))?;
    assert_eq!(output(&shell(&cluster, "b", "ls /dev/shm"))?, "");
    assert_eq!(output(&shell(&cluster, "b", "ls /run"))?, "cluster\nlock");
    // Orphans are reaped, and processes of one host are not seen in the other.
    output(&shell(&cluster, "a", "(sleep 0.01 &) ; sleep 0.1"))?;
    assert_eq!(cluster.remaining_after(WATCHDOG)?, Vec::<String>::new());
    Ok(())
}

fn hosts_reach_each_other() -> Result<()> {
    let cluster = Cluster::new(4)?;
    let names: Vec<&str> = cluster.hosts().collect();
    for (from, to) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
        let printed = output(&shell(&cluster, from, &format!("{AGENT} -x {to} hostname")))?;
        assert_eq!(printed, *to);
        greet(&cluster, from, to, WATCHDOG)?.context("no answer")?;
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
            let mut printed = String::new();
            TcpStream::connect((host.as_str(), PORT))?.read_to_string(&mut printed)?;
            ensure!(printed == "hello\n");
        }
        _ => bail!("listen, or greet HOST"),
    }
    Ok(())
}

/// Has a host greet another one; returns how long it took, if there was an answer in time.
fn greet(cluster: &Cluster, from: &str, to: &str, limit: Duration) -> Result<Option<Duration>> {
    let program = env::current_exe()?.into_os_string();
    let talk = |host, words: &[&str]| {
        let words = [TALK].iter().chain(words).map(OsString::from);
        cluster.command(host, iter::once(program.clone()).chain(words))
    };
    let mut listener = talk(to, &["listen"]).spawn()?;
    listener.wait_for("listens", WATCHDOG)?;
    let start = Instant::now();
    let mut client = talk(from, &["greet", to]).spawn()?;
    let status = client.wait(limit)?;
    let took = start.elapsed();
    cluster.sweep()?;
    Ok(status.is_some_and(|s| s.success()).then_some(took))
}

fn statuses_are_reported() -> Result<()> {
    let cluster = Cluster::new(2)?;
    let mut process = shell(&cluster, "b", "echo out; echo err >&2; exit 3").spawn()?;
    let status = process.wait(WATCHDOG)?.context("it hangs")?;
    assert_eq!(status.code(), Some(3));
    assert_eq!((process.stdout(), process.stderr()), ("out\n".into(), "err\n".into()));
    let mut process = shell(&cluster, "b", "kill -TERM $$").spawn()?;
    let status = process.wait(WATCHDOG)?.context("it hangs")?;
    assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
    let printed = output(&shell(&cluster, "a", &format!("{AGENT} b 'exit 5'; echo $?")))?;
    assert_eq!(printed, "5");

    let error = cluster.command("a", ["/no/such"]).spawn().unwrap_err().to_string();
    assert!(error.starts_with("cannot run /no/such"), "{error}");
    let error = cluster.command("x", ["true"]).spawn().unwrap_err().to_string();
    assert_eq!(error, "there is no host x in this cluster");
    let error = Cluster::new(5).unwrap_err().to_string();
    assert_eq!(error, "a cluster has 1 to 4 hosts, not 5");
    Ok(())
}

fn hosts_have_cores() -> Result<()> {
    let cores = |cluster: &Cluster, host| {
        output(&shell(cluster, host, "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status"))
    };
    let (all, some) = (Cluster::new(1)?, Cluster::with_cores(2)?);
    let [a, b] = [cores(&some, "a")?, cores(&some, "b")?];
    ensure!(a.trim().parse::<usize>().is_ok(), "host a has {a}");
    let alone = cores(&all, "a")?.trim().parse::<usize>().is_ok();
    ensure!((a == b) == alone, "the hosts have {a} and {b}");
    Ok(())
}

fn two_rigs_at_once() -> Result<()> {
    let clusters = [Cluster::new(2)?, Cluster::new(2)?];
    for cluster in &clusters {
        greet(cluster, "a", "b", WATCHDOG)?.context("no answer")?;
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

fn killed_cluster_leaves_nothing() -> Result<()> {
    let mark = format!("{}", std::process::id());
    let script = format!("{AGENT} b 'setsid sleep 1000 & sleep 1000' & echo started; sleep 1000");
    let mut cluster = Local::new(env!("CARGO_BIN_EXE_hosts"))
        .args(["2", "--", "sh", "-c", &script])
        .env(MARK, &mark)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = [0; 8];
    cluster.stdout.take().context("a pipe")?.read_exact(&mut line)?;
    let start = Instant::now();
    // The cluster's process, the starter, the supervisor, two of each host, and the commands.
    while marked(&mark).len() < 12 {
        ensure!(start.elapsed() < WATCHDOG, "processes are missing: {:?}", marked(&mark));
        sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(cluster.id().cast_signed()), Signal::SIGKILL)?;
    cluster.wait()?;
    let start = Instant::now();
    while !marked(&mark).is_empty() {
        ensure!(start.elapsed() < WATCHDOG, "left: {:?}", marked(&mark));
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn host_dies() -> Result<()> {
    let cluster = Cluster::new(2)?;
    let mut process = shell(&cluster, "b", "echo started; sleep 1000").spawn()?;
    process.wait_for("started", WATCHDOG)?;
    cluster.kill_host("b")?;
    let status = process.wait(WATCHDOG)?.context("it lives")?;
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
    assert_eq!(cluster.remaining_after(WATCHDOG)?, Vec::<String>::new());
    let error = cluster.command("b", ["true"]).spawn().unwrap_err().to_string();
    assert_eq!(error, "host b has ended");
    output(&cluster.command("a", ["true"])).map(drop)
}

fn process_is_killed() -> Result<()> {
    let cluster = Cluster::new(1)?;
    let mut process = cluster.command("a", ["sleep", "1000"]).spawn()?;
    assert_eq!(cluster.remaining_after(Duration::ZERO)?, ["a: sleep 1000"]);
    cluster.kill("a", process.pid(), Signal::SIGINT)?;
    let status = process.wait(WATCHDOG)?.context("it lives")?;
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32));
    Ok(())
}

fn link_is_cut() -> Result<()> {
    let cluster = Cluster::new(2)?;
    cluster.link_down("b")?;
    assert_eq!(greet(&cluster, "a", "b", Duration::from_secs(1))?, None);
    cluster.link_up("b")?;
    greet(&cluster, "a", "b", WATCHDOG)?.context("no answer over a mended link")?;
    Ok(())
}

fn link_is_slow() -> Result<()> {
    let cluster = Cluster::new(2)?;
    let delay = Duration::from_millis(100);
    let slow = Impairment { delay, ..Impairment::default() };
    cluster.impair("b", slow)?;
    let took = greet(&cluster, "a", "b", WATCHDOG)?.context("no answer over a slow link")?;
    // Address resolution aside: two packets to connect, one with the answer.
    assert!(took >= 3 * delay, "{took:?}");
    cluster.clear("b")?;
    greet(&cluster, "a", "b", WATCHDOG)?.context("no answer over a cleared link")?;
    Ok(())
}

fn link_loses_everything() -> Result<()> {
    let cluster = Cluster::new(2)?;
    let lossy = |loss| Impairment { loss, ..Impairment::default() };
    cluster.impair("b", lossy(1.0))?;
    assert_eq!(greet(&cluster, "a", "b", Duration::from_secs(1))?, None);
    cluster.impair("b", lossy(0.2))?;
    // The kernel sends three ARP requests, and gives up.
    for _ in 0..20 {
        if greet(&cluster, "a", "b", WATCHDOG)?.is_some() {
            return Ok(());
        }
    }
    bail!("no answer over a lossy link")
}

/// Jobs of `hostname` are where they should be, leave nothing, and tell a bad end.
fn jobs(launcher: Launcher) -> Result<()> {
    let cluster = Cluster::new(3)?;
    let _slurm = launcher.is_slurm().then(|| Slurm::start(&cluster)).transpose()?;
    let names: Vec<&str> = cluster.hosts().collect();
    let job = |place: &Placement, script: &str| {
        let program = ["sh", "-c", script].map(str::to_owned);
        let words = launcher.words(place, &["GREETING"], &program);
        let command = cluster.command("a", words).env("GREETING", "hello");
        let variables = launcher.variables().iter();
        variables.fold(command, |c, (name, value)| c.env(name, value))
    };
    // A launcher has the rank in one variable, in which PMIx and PMI differ.
    let script = "echo ${PMIX_RANK:-$PMI_RANK} $(hostname) $GREETING";
    for place in PLACEMENTS {
        let printed = output(&job(&place, script))?;
        let mut printed: Vec<&str> = printed.lines().collect();
        printed.sort_unstable();
        let hosts = place.hosts_of_pes();
        let expected = hosts.iter().enumerate();
        let expected: Vec<String> = expected.map(|(pe, host)| format!("{pe} {} hello", names[*host])).collect();
        ensure!(printed == expected, "{place}: {printed:?}");
        let left = cluster.remaining_after(WATCHDOG)?;
        ensure!(left.is_empty(), "{place}: left: {left:?}");
    }
    let mut bad = job(&PLACEMENTS[0], "exit 3").spawn()?;
    let status = bad.wait(WATCHDOG)?.context("it hangs")?;
    ensure!(!status.success(), "the end of {launcher} is a good one");
    Ok(())
}
