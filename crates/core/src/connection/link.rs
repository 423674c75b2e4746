//! Links: the TCP connections by which the members of a connection between nodes join, leave, and learn that the other
//! job is gone.
//!
//! Each member has a link to the coordinator (in the crate `ferroshmem-port`), a thread of the PE that has accepted.
//! Over it goes little:
//!
//! | from | message |
//! |---|---|
//! | member | who it is, with the token of the connection, and what the others are to know of it |
//! | coordinator | what all have said |
//! | member | `READY` or `APART`: it reaches all others; whether it shares memory with those of its node |
//! | coordinator | `GO` or `APART`: all are ready, and whether all share memory so |
//! | member | `END`: it uses the connection no more, and none of its operations is under way |
//! | coordinator | `END`: no member does |
//!
//! A link that ends before `END` says that its process has. The coordinator looks at those of the other group, and the
//! first member of the other group at its own; members of one job have their launcher for that. If the groups are
//! independent, each member looks at its own link, and the coordinator at all: if one ends, it closes the others.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::IntoRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::sockopt;

use super::Groups;
use super::health::Health;
use super::invitation::{Invitation, JoinRequest, MOST_BYTES, parts};
use crate::failure::fatal::fatal_in_background;

/// A member reaches all others, and shares memory with those of its node.
pub const READY: u8 = 1;
/// All are ready, and share memory so.
pub const GO: u8 = 2;
/// No operation is under way any more.
pub const END: u8 = 3;
/// As `READY` or `GO`, but memory is not shared.
pub const APART: u8 = 4;

/// Time for a member to read or write a message, once it has begun.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of the stack of a thread that reads links.
pub const STACK: usize = 256 << 10;

/// Has the kernel end a link whose other end has been silent, or has acknowledged nothing, for most of `timeout`.
pub fn end_when_silent(stream: &TcpStream, timeout: Option<Duration>) -> io::Result<()> {
    const INTERVAL: Duration = Duration::from_secs(1);

    stream.set_nodelay(true)?;
    let Some(timeout) = timeout else {
        return Ok(());
    };
    let limit = (timeout * 8 / 10).as_millis().try_into();
    sockopt::set_tcp_keepidle(stream, INTERVAL)?;
    sockopt::set_tcp_keepintvl(stream, INTERVAL)?;
    sockopt::set_tcp_user_timeout(stream, limit.unwrap_or(u32::MAX))?;
    sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}

/// How a link of the other group ends the job.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// The routine that has connected the jobs.
    pub routine: &'static str,
    /// Time within which the failure of a node ends the job.
    pub timeout: Option<Duration>,
    /// Whether group 0 has had the launcher start group 1, whose links stay open until their processes end.
    pub spawns: bool,
}

impl Watch {
    /// Ends the job, as a link has ended.
    pub fn lost(&self, link: &io::Error) -> ! {
        /// Time for this job's launcher, if it is this job that has failed first.
        const NOTICE: Duration = Duration::from_millis(500);

        thread::sleep(NOTICE);
        let what = match link.kind() {
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "does not answer",
            _ => "has failed, or has ended without shmemx_group_disconnect",
        };
        fatal_in_background(self.routine, format_args!("the connected job {what}; ended the job"))
    }
}

/// Reads a word, which must be one of two; whether it is the first.
pub fn receive_one(mut link: &TcpStream, words: [u8; 2]) -> io::Result<bool> {
    let mut heard = [0];
    link.read_exact(&mut heard)?;
    match words.contains(&heard[0]) {
        true => Ok(heard[0] == words[0]),
        false => Err(ErrorKind::InvalidData.into()),
    }
}

/// A member's link to the coordinator.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    watch: Watch,
    /// Whether it stays open until this process ends: the launcher has started that for the other group.
    stays: bool,
    /// The coordinator's thread, at the PE that has it; at the first member of the other group, the thread that reads
    /// the link.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// If the groups are independent, the thread that reads the link.
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl Link {
    /// Joins a connection as its member `me`, and says something of it to the others; what all have said.
    pub fn join(
        invitation: &Invitation,
        me: usize,
        info: &[u8],
        watch: Watch,
        coordinator: Option<JoinHandle<()>>,
    ) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let mut stream = TcpStream::connect_timeout(&invitation.coordinator, TIME_LIMIT)?;
        end_when_silent(&stream, watch.timeout)?;
        let request = JoinRequest { member: me as u32, len: info.len() as u32, token: invitation.token };
        let mut bytes = request.to_bytes();
        bytes.extend(info);
        stream.write_all(&bytes)?;
        let mut len = [0; size_of::<u64>()];
        stream.read_exact(&mut len)?;
        let n: usize = invitation.sizes.iter().sum();
        let most = n * (MOST_BYTES + size_of::<u32>());
        let len = usize::try_from(u64::from_le_bytes(len)).ok();
        let len = len.filter(|len| *len <= most);
        let mut all = vec![0; len.ok_or(ErrorKind::InvalidData)?];
        stream.read_exact(&mut all)?;
        let stays = watch.spawns && me >= invitation.sizes[0];
        let link = Self { stream, watch, stays, thread: Mutex::new(coordinator), reader: Mutex::default() };
        Ok((link, parts(&all, n).ok_or(ErrorKind::InvalidData)?))
    }

    /// Says that this member reaches all others, and whether it shares memory with those of its node. Waits until all
    /// do; whether all share memory so.
    pub fn wait_for_all(&self, shares: bool) -> io::Result<bool> {
        (&self.stream).write_all(&[if shares { READY } else { APART }])?;
        receive_one(&self.stream, [GO, APART])
    }

    /// Ends the job when the link ends, if this PE is the one of its group to do so.
    pub(crate) fn watch(&self, groups: &Groups, me: usize) -> io::Result<()> {
        if groups.own == 0 || me != groups.own().start {
            return Ok(());
        }
        let (stream, watch) = (self.stream.try_clone()?, self.watch);
        let read = move || _ = receive_one(&stream, [END; 2]).unwrap_or_else(|e| watch.lost(&e));
        let thread = ferroshmem_platform::thread::spawn("shmem-link", STACK, read)?;
        let mut place = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(thread);
        Ok(())
    }

    /// Notes in `health` when the link ends, of independent groups.
    pub fn outlive(&self, health: Arc<Health>) -> io::Result<()> {
        health.set_link(self.stream.try_clone()?);
        let stream = self.stream.try_clone()?;
        let read = move || match receive_one(&stream, [END; 2]) {
            Ok(_) => health.end(),
            Err(_) => health.fail(),
        };
        let thread = ferroshmem_platform::thread::spawn("shmem-link", STACK, read)?;
        let mut place = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(thread);
        Ok(())
    }

    /// This member uses the connection no more, and none of its operations is under way.
    pub fn leave(&self) {
        match (&self.stream).write_all(&[END]) {
            Err(e) if !self.is_outlived() => self.broken(&e),
            // If it is gone, the thread that reads the link notes that.
            _ => {}
        }
    }

    /// Whether a thread notes in a [`Health`] when the link ends.
    fn is_outlived(&self) -> bool {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.is_some()
    }

    /// Waits until that holds for all members, or if these are independent, until one is gone.
    pub fn wait_for_end(&self) {
        let take = |thread: &Mutex<Option<JoinHandle<()>>>| {
            let mut place = thread.lock().unwrap_or_else(PoisonError::into_inner);
            place.take()
        };
        // A thread that fails ends the process, unless the groups are independent.
        let thread = take(&self.thread).map(JoinHandle::join);
        let reader = take(&self.reader).map(JoinHandle::join);
        match thread.or(reader) {
            Some(_) => {}
            None => _ = receive_one(&self.stream, [END; 2]).map_err(|e| self.broken(&e)),
        }
        if self.stays {
            let _ = self.stream.try_clone().map(IntoRawFd::into_raw_fd);
        }
    }

    /// The link has ended: another PE of this group, or its launcher, ends the job.
    fn broken(&self, link: &io::Error) {
        thread::sleep(TIME_LIMIT);
        self.watch.lost(link);
    }
}
