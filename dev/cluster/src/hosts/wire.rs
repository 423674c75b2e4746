//! The protocol of a cluster's sockets: commands with their three streams, and their exit statuses.

use anyhow::{Context, Result, bail};
use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;

/// Names of the applets (see [`super::applets`]).
pub(super) const START: &str = "cluster-start";
pub(super) const SUPERVISOR: &str = "cluster-supervisor";
pub(super) const HOST: &str = "cluster-host";
pub(super) const INIT: &str = "cluster-init";
pub(super) const AGENT: &str = "cluster-agent";
pub(super) const FAULT: &str = "cluster-fault";

/// A command for a host.
#[derive(Debug, Default)]
pub(super) struct RemoteCommand {
    pub folder: OsString,
    /// All variables; `None` for those of the host.
    pub variables: Option<Vec<(OsString, OsString)>>,
    pub words: Vec<OsString>,
}

impl RemoteCommand {
    /// Sends the command and its standard input, output and error.
    pub(super) fn send(&self, host: &UnixStream, streams: [BorrowedFd; 3]) -> Result<()> {
        let mut text = Vec::new();
        let mut field = |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            text.push(0);
        };
        field(self.folder.as_bytes());
        match &self.variables {
            None => field(b"-"),
            Some(variables) => {
                field(variables.len().to_string().as_bytes());
                for (name, value) in variables {
                    field(name.as_bytes());
                    field(value.as_bytes());
                }
            }
        }
        self.words.iter().for_each(|w| field(w.as_bytes()));
        send_files(host, &streams, text.len())?;
        (&mut &*host).write_all(&text)?;
        Ok(())
    }

    /// Receives a command with its streams.
    pub(super) fn receive(host: &UnixStream) -> Result<(Self, Vec<OwnedFd>)> {
        let (files, length) = receive_files(host)?;
        let mut text = vec![0; length];
        (&mut &*host).read_exact(&mut text)?;
        let mut fields = text.split_inclusive(|b| *b == 0).map(|f| OsString::from_vec(f[..f.len() - 1].to_vec()));
        let folder = fields.next().context("no folder")?;
        let count = fields.next().context("no number of variables")?;
        let variables = match count.to_str().and_then(|c| c.parse().ok()) {
            None => None,
            Some(count) => Some(
                (0..count)
                    .map(|_| fields.next().zip(fields.next()).context("too few variables"))
                    .collect::<Result<_>>()?,
            ),
        };
        let command = Self { folder, variables, words: fields.collect() };
        Ok((command, files))
    }
}

/// Sends files with a number.
pub(super) fn send_files(socket: &UnixStream, files: &[BorrowedFd], number: usize) -> Result<()> {
    let raw: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let number = u32::try_from(number)?.to_ne_bytes();
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(&number)],
        &[ControlMessage::ScmRights(&raw)],
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    Ok(())
}

/// Receives up to three files with a number.
pub(super) fn receive_files(socket: &UnixStream) -> Result<(Vec<OwnedFd>, usize)> {
    let mut number = [0; 4];
    let mut parts = [IoSliceMut::new(&mut number)];
    let mut space = cmsg_space!([RawFd; 3]);
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let mut files = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = part {
            // SAFETY: the kernel has just made these descriptors for this process.
            files.extend(raw.iter().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }));
        }
    }
    if message.bytes != number.len() {
        bail!("the other side has closed the connection");
    }
    Ok((files, u32::from_ne_bytes(number) as usize))
}

/// Reads a line; empty at the end of the stream.
pub(super) fn line(from: impl Read) -> Result<String> {
    let mut text = String::new();
    BufReader::with_capacity(1, from).read_line(&mut text)?;
    Ok(text.trim_end().to_owned())
}

/// Waits until a host reports that a command has started; returns its process id there.
pub(super) fn started(host: &UnixStream) -> Result<i32> {
    let text = line(host)?;
    match text.split_once(' ') {
        Some(("pid", pid)) => pid.parse().context("a host sent no process id"),
        Some(("error", error)) => bail!("{error}"),
        _ => bail!("the host has ended"),
    }
}

/// Waits until a host reports that a command has ended; returns its status in the form of wait(2), or
/// `None` if the host is gone.
pub(super) fn ended(host: &UnixStream) -> Result<Option<i32>> {
    let text = line(host)?;
    match text.split_once(' ') {
        Some(("ended", status)) => {
            let status = status.parse();
            Ok(Some(status.context("a host sent no status")?))
        }
        _ => Ok(None),
    }
}
