//! The command that launchers run instead of `ssh`, and the command that impairs a link by hand.

use super::{NAMES, SHARED, supervisor, wire};
use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Options of `ssh` that have a value.
const WITH_VALUE: &[&str] = &["-l", "-o", "-p", "-F", "-i"];

/// `cluster-agent [ssh's options] HOST COMMAND...`: a shell of the host runs the words, as
/// with `ssh`, with the host's environment in the folder `/`.
pub(super) fn remote_shell(words: Vec<String>) -> Result<i32> {
    let mut words = words.into_iter().peekable();
    while let Some(option) = words.next_if(|w| w.starts_with('-')) {
        if WITH_VALUE.contains(&option.as_str()) {
            words.next();
        }
    }
    let host = words.next().context("expected HOST COMMAND...")?;
    let text = words.collect::<Vec<_>>().join(" ");
    let shell = ["/bin/sh", "-c", &text].map(OsString::from);
    let command = wire::RemoteCommand { folder: "/".into(), variables: None, words: shell.into() };
    let socket = Path::new(SHARED).join(&host);
    let connection = UnixStream::connect(&socket)
        .with_context(|| format!("cannot reach host {host} (hosts are named a, b, ...)"))?;
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    command.send(&connection, [input.as_fd(), output.as_fd(), errors.as_fd()])?;
    wire::started(&connection)?;
    let Some(raw) = wire::ended(&connection)? else {
        // ssh does not notice either that a host was turned off.
        loop {
            nix::unistd::pause();
        }
    };
    Ok(if raw & 0x7f == 0 { raw >> 8 } else { 128 + (raw & 0x7f) })
}

/// `cluster-fault HOST up|down|clear|DELAY_US,LOSS,RATE`.
pub(super) fn fault(words: &[String]) -> Result<i32> {
    let [host, what] = words else {
        bail!(
            "usage: cluster-fault HOST up|down|clear|DELAY_MICROSECONDS,LOSS,BYTES_PER_SECOND (in {})",
            env::var("CLUSTER_HOSTS").unwrap_or_else(|_| NAMES.join(","))
        );
    };
    let folder = Path::new(SHARED);
    supervisor::request(folder, &format!("{host} {what}"))?;
    Ok(0)
}
