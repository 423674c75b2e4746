//! The supervisor of a cluster: PID 1 of a namespace around those of all hosts. It owns the
//! bridge and the other ends of the hosts' links.

use super::relay::Relay;
use super::{NAMES, SHARED, network, wire};
use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio, exit};
use std::thread;

/// Name of the supervisor's socket in the cluster's folder.
const SOCKET: &str = "supervisor";

/// Makes the cluster's namespaces and runs the supervisor in them. Standard input is the connection to
/// the process that makes the cluster.
pub(super) fn start(words: Vec<String>) -> Result<i32> {
    let control = control()?;
    let run = || -> Result<i32> {
        make_namespaces()?;
        let mut supervisor = Command::new("/proc/self/exe").arg0(wire::SUPERVISOR).args(words).spawn()?;
        Ok(supervisor.wait()?.code().unwrap_or(1))
    };
    run().or_else(|error| report(&control, &error))
}

/// Runs the supervisor; `words`: number of hosts, number of the first host's core if each has one. It ends
/// when the process that made the cluster ends.
pub(super) fn supervise(words: &[String]) -> Result<i32> {
    set_pdeathsig(Signal::SIGKILL)?;
    let control = control()?;
    match make(words) {
        Ok((hosts, listener)) => {
            let folder = fs::File::open(SHARED)?;
            wire::send_files(&control, &[folder.as_fd()], 0)?;
            thread::spawn(move || serve(&listener, &hosts));
            // Nothing is ever sent: the read returns when the other side has closed.
            let _ = (&control).read(&mut [0]);
            exit(0)
        }
        Err(error) => report(&control, &error),
    }
}

fn control() -> Result<UnixStream> {
    Ok(UnixStream::from(stdin().as_fd().try_clone_to_owned()?))
}

/// Sends the reason why the cluster could not be made: the length of the text, then the text.
fn report(control: &UnixStream, error: &anyhow::Error) -> Result<i32> {
    let text = format!("{error:#}");
    wire::send_files(control, &[], text.len())?;
    (&mut &*control).write_all(text.as_bytes())?;
    Ok(1)
}

/// Makes namespaces as a superuser, or within a user namespace where this user is one.
fn make_namespaces() -> Result<()> {
    let (user, group) = (Uid::current(), Gid::current());
    let flags =
        CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWPID;
    match unshare(flags) {
        Err(Errno::EPERM) => (),
        result => return result.context("cannot make namespaces"),
    }
    let advice = "cannot make namespaces: run as root, or where unprivileged user namespaces \
                  are allowed (sysctl user.max_user_namespaces; in a container: --privileged)";
    unshare(flags | CloneFlags::CLONE_NEWUSER).context(advice)?;
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))]
    {
        fs::write(format!("/proc/self/{file}"), text).context(advice)?;
    }
    Ok(())
}

/// Makes bridge and hosts.
fn make(words: &[String]) -> Result<(Vec<Child>, UnixListener)> {
    let hosts: usize = words.first().context("expected the number of hosts")?.parse()?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).context("cannot make mounts private")?;
    mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none).context("cannot mount /proc")?;
    mount(Some("cluster"), "/run", Some("tmpfs"), MsFlags::empty(), Some("mode=755")).context("cannot mount /run")?;
    let programs = Path::new(SHARED).join("bin");
    fs::create_dir_all(&programs)?;
    let program = fs::read_link("/proc/self/exe")?;
    for name in [wire::AGENT, wire::FAULT] {
        symlink(&program, programs.join(name))?;
    }
    network::make_bridge()?;
    let hosts = (0..hosts)
        .map(|host| make_host(words, host).with_context(|| format!("host {}", NAMES[host])))
        .collect::<Result<_>>()?;
    Ok((hosts, UnixListener::bind(Path::new(SHARED).join(SOCKET))?))
}

fn make_host(words: &[String], host: usize) -> Result<Child> {
    let mut process = Command::new("/proc/self/exe")
        .arg0(wire::HOST)
        .args([&words[0], &host.to_string()])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = process.stdin.take().context("it has an input")?;
    let mut output = process.stdout.take().context("it has an output")?;
    let failed = "it could not be made: see the line above";
    ensure!(wire::line(&mut output)? == "made", failed);
    network::make_link(NAMES[host], process.id())?;
    input.write_all(b"linked\n")?;
    ensure!(wire::line(&mut output)? == "up", failed);
    Ok(process)
}

/// Requests a change of a link from the supervisor of the cluster in `folder`:
/// `HOST up|down|clear|IMPAIRMENT`.
pub(super) fn request(folder: &Path, what: &str) -> Result<()> {
    let supervisor = UnixStream::connect(folder.join(SOCKET)).context("there is no cluster here")?;
    (&supervisor).write_all(format!("{what}\n").as_bytes())?;
    match wire::line(&supervisor)?.as_str() {
        "done" => Ok(()),
        "" => bail!("the cluster has ended"),
        error => bail!("{error}"),
    }
}

fn serve(listener: &UnixListener, hosts: &[Child]) {
    let mut relays = HashMap::new();
    for client in listener.incoming().flatten() {
        let done = wire::line(&client).and_then(|what| change(&what, hosts.len(), &mut relays));
        let reply = match done {
            Ok(()) => "done\n".to_owned(),
            Err(error) => format!("{error:#}\n"),
        };
        // A client that has ended needs no reply.
        let _ = (&client).write_all(reply.as_bytes());
    }
}

fn change(what: &str, hosts: usize, relays: &mut HashMap<String, Relay>) -> Result<()> {
    let (host, change) = what.split_once(' ').context("expected a host and a change")?;
    ensure!(NAMES[..hosts].contains(&host), "there is no host {host}");
    match change {
        "up" => network::set_link(host, true),
        "down" => network::set_link(host, false),
        "clear" => {
            if let Some(relay) = relays.remove(host) {
                drop(relay);
                network::attach(host)?;
            }
            Ok(())
        }
        impairment => {
            let impairment = impairment.parse()?;
            if let Some(relay) = relays.get(host) {
                relay.set(impairment);
                return Ok(());
            }
            let other = network::detach(host)?;
            let relay = Relay::between([&network::port(host), &other], impairment)?;
            relays.insert(host.to_owned(), relay);
            Ok(())
        }
    }
}
