//! Ports, at which jobs that were started separately connect.
//!
//! A port is a listening socket of the PE that has opened it, with a random name without a path: nothing is left
//! behind; for jobs on other nodes, it listens on TCP, too ([`super::remote_port`]). Its text ([`super::port_name`])
//! has name, address and a secret. Either group asks the kernel for the other's user (`SO_PEERCRED`) before it sends
//! anything. `handshake` has the messages.

use std::fs::File;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};

use ferroshmem_bootstrap::secret::same;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind, connect, listen, recv,
    shutdown, socket_with,
};
use rustix::process::geteuid;

use super::handshake::{CONNECT, DONE, INDEPENDENT, READY, REFUSED, WELCOME};
use super::listener::{Listener, MOST_SILENT};
use super::port_error::PortError;
use super::port_name::{PortName, host};
use super::remote_port::{HELLO_BYTES, RemoteCaller};
use ferroshmem_core::constants::MAX_PORT_NAME;
use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::message::{Message, receive, send};
use ferroshmem_layout::VERSION;

/// Callers that the kernel keeps while none is accepted.
const BACKLOG: i32 = 4096;

pub(super) fn new_socket() -> Result<OwnedFd, Errno> {
    let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
    socket_with(family, SocketType::SEQPACKET, flags, None)
}

/// Waits until a socket that does not block is ready, if that is what `error` means.
fn wait_for(socket: BorrowedFd<'_>, events: PollFlags, error: Errno) -> Result<(), PortError> {
    match error {
        Errno::INTR => Ok(()),
        Errno::AGAIN => {
            let mut fds = [PollFd::from_borrowed_fd(socket, events)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => Ok(()),
                Err(e) => Err(e.into()),
            }
        }
        Errno::PIPE | Errno::CONNRESET => Err(PortError::SocketClosed),
        Errno::NOTSOCK | Errno::BADF => Err(PortError::NoSocket),
        e => Err(e.into()),
    }
}

/// Whether the process at the other end is of this process's user, by the kernel's word.
pub(super) fn is_same_user(socket: BorrowedFd<'_>) -> bool {
    socket_peercred(socket).is_ok_and(|process| process.uid == geteuid())
}

/// A port that this PE has opened.
#[derive(Debug)]
pub struct Port {
    name: PortName,
    /// For jobs of this node, and of others.
    listeners: (Option<OwnedFd>, Option<TcpListener>),
    waiting: Mutex<Waiting>,
}

/// Callers that have said nothing yet, in the order in which they came.
#[derive(Debug, Default)]
struct Waiting {
    /// Jobs of this node.
    silent: Vec<OwnedFd>,
    /// Jobs of others.
    listener: Option<Listener>,
}

/// A job at the port.
#[derive(Debug)]
pub enum AnyCaller {
    /// Of this node.
    Local(Caller),
    /// Of another one.
    Remote(RemoteCaller),
}

impl AnyCaller {
    /// PEs that connect.
    pub fn members(&self) -> usize {
        match self {
            Self::Local(caller) => caller.members,
            Self::Remote(caller) => caller.members,
        }
    }

    /// Whether the jobs are to end independently.
    pub fn is_independent(&self) -> bool {
        match self {
            Self::Local(caller) => caller.independent,
            Self::Remote(caller) => caller.independent,
        }
    }

    /// Refuses it, for this reason.
    pub fn refuse(self, reason: &str) {
        let _: Option<()> = match self {
            Self::Local(caller) => caller.refuse(reason),
            Self::Remote(caller) => caller.refuse(reason),
        };
    }
}

impl Port {
    /// Opens a port: for jobs of this node if it `is_local`, and if there is an address for that, for jobs of others.
    pub fn open(is_local: bool, address: Option<IpAddr>) -> Result<Self, PortError> {
        let (mut name, mut local) = (PortName::new()?, None);
        if is_local {
            let listener = new_socket()?;
            bind(&listener, &name.socket_address()?)?;
            listen(&listener, BACKLOG)?;
            rustix::io::ioctl_fionbio(&listener, true)?;
            local = Some(listener);
        }
        let mut waiting = Waiting::default();
        let remote = address.and_then(|address| TcpListener::bind((address, 0)).ok());
        if let Some(listener) = &remote {
            let listener = Listener::new(listener.try_clone()?, HELLO_BYTES)?;
            name.remote = Some(listener.address()?);
            waiting.listener = Some(listener);
        }
        Ok(Self { name, listeners: (local, remote), waiting: Mutex::new(waiting) })
    }

    /// What others look it up by.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// Exchanges names of ports with the process at the other end of a socket.
    pub fn exchange(&self, socket: BorrowedFd<'_>) -> Result<PortName, PortError> {
        let mut text = [0; MAX_PORT_NAME];
        let name = self.name.to_string();
        text[..name.len()].copy_from_slice(name.as_bytes());
        let mut sent = 0;
        while sent < text.len() {
            let flags = SendFlags::NOSIGNAL;
            match rustix::net::send(socket, &text[sent..], flags) {
                Ok(n) => sent += n,
                Err(e) => wait_for(socket, PollFlags::OUT, e)?,
            }
        }
        let mut received = 0;
        while received < text.len() {
            match recv(socket, &mut text[received..], RecvFlags::empty()) {
                Ok((_, 0)) => return Err(PortError::SocketClosed),
                Ok((_, n)) => received += n,
                Err(e) => wait_for(socket, PollFlags::IN, e)?,
            }
        }
        let end = text.iter().position(|byte| *byte == 0);
        let name = String::from_utf8_lossy(&text[..end.unwrap_or(text.len())]);
        let theirs = PortName::parse(&name).map_err(|_| PortError::NoJoin)?;
        match theirs.host == self.name.host || theirs.remote.is_some() {
            true => Ok(theirs),
            false => Err(PortError::OtherHost { there: theirs.host, here: host() }),
        }
    }

    /// Waits for the next caller that knows the secret; others, of which some may never send anything, do not delay it.
    /// A caller has been announced by the other end of the socket `joined`: it fails if that speaks or ends before.
    pub fn next(&self, joined: Option<BorrowedFd<'_>>) -> Result<AnyCaller, PortError> {
        let mut waiting = self.waiting.lock().unwrap_or_else(|e| e.into_inner());
        let Waiting { silent, listener } = &mut *waiting;
        let local = &self.listeners.0;
        loop {
            let own = silent.iter().chain(local);
            let own = own.map(|fd| PollFd::new(fd, PollFlags::IN));
            let other = joined.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            let remote = listener.iter().flat_map(Listener::fds);
            let mut fds: Vec<_> = own.chain(other).chain(remote).collect();
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                result => result?,
            };
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let (speaks, ready) = ready.split_at(silent.len());
            let (listens, ready) = ready.split_at(local.iter().len());
            let (ends, ready) = ready.split_at(joined.iter().len());
            if let Some(speaks) = speaks.iter().position(|ready| *ready) {
                if let Some(caller) = self.read_caller(silent.remove(speaks)) {
                    return Ok(AnyCaller::Local(caller));
                }
                continue;
            }
            if let (Some(listener), [true]) = (local, listens) {
                // None of the callers that are here says anything.
                if silent.len() == MOST_SILENT {
                    silent.remove(0);
                }
                Self::take_in(listener, silent)?;
                continue;
            }
            if let Some(listener) = listener
                && ready.contains(&true)
            {
                // Closed by another thread.
                let caller = listener.look(ready).map_err(|e| match e.raw_os_error() {
                    Some(libc::EINVAL) => PortError::NotOpen,
                    _ => e.into(),
                })?;
                let caller = caller.and_then(|(s, request)| RemoteCaller::from_request(s, &request, &self.name.secret));
                if let Some(caller) = caller {
                    return Ok(AnyCaller::Remote(caller));
                }
                continue;
            }
            if ends == [true] {
                return Err(PortError::SocketClosed);
            }
        }
    }

    /// No process can connect any more; a thread that waits for callers stops.
    fn close(&self) {
        // Processes that this PE has forked may have the socket, too.
        let (local, remote) = &self.listeners;
        for listener in local.iter().map(AsFd::as_fd).chain(remote.iter().map(AsFd::as_fd)) {
            let _ = shutdown(listener, Shutdown::Both);
        }
    }

    /// Takes in the processes that have connected, as far as there is room.
    fn take_in(listener: &OwnedFd, silent: &mut Vec<OwnedFd>) -> Result<(), PortError> {
        while silent.len() < MOST_SILENT {
            let socket = match accept_with(listener, SocketFlags::CLOEXEC) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                // Closed by another thread.
                Err(Errno::INVAL) => return Err(PortError::NotOpen),
                Err(e) => return Err(e.into()),
            };
            if !is_same_user(socket.as_fd()) {
                continue;
            }
            silent.push(socket);
        }
        Ok(())
    }

    /// What a process says that has connected; None if no caller that knows the secret says it.
    fn read_caller(&self, socket: OwnedFd) -> Option<Caller> {
        // Answered without waiting: a stranger may not read.
        rustix::io::ioctl_fionbio(&socket, true).ok()?;
        let (head, secret, files) = receive(socket.as_fd()).ok()??;
        let caller = Caller {
            members: (head[2] & !INDEPENDENT) as usize,
            independent: head[2] & INDEPENDENT != 0,
            memory: files.into_iter().next()?.into(),
            socket,
        };
        match head {
            [CONNECT, VERSION, _] if same(secret.as_bytes(), self.name.secret.as_bytes()) => Some(caller),
            [CONNECT, VERSION, _] => caller.refuse("the port's text has another secret"),
            [CONNECT, version, _] => caller.refuse(&format!(
                "its FerroSHMEM has job memory of version {VERSION}, and this job's of version {version}: link both \
                    with one FerroSHMEM"
            )),
            _ => None,
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.close();
    }
}

/// The ports that this PE has opened.
#[derive(Debug, Default)]
pub struct Ports(Mutex<Vec<Arc<Port>>>);

impl Ports {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Port>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds a port.
    pub fn add(&self, port: Port) {
        self.all().push(Arc::new(port));
    }

    /// The port of a name.
    pub fn find(&self, name: &PortName) -> Result<Arc<Port>, PortError> {
        let all = self.all();
        let found = all.iter().find(|port| port.name == *name);
        found.cloned().ok_or(PortError::NotOpen)
    }

    /// Closes the port of a name.
    pub fn close(&self, name: &PortName) -> Result<(), PortError> {
        self.find(name)?.close();
        self.all().retain(|port| port.name != *name);
        Ok(())
    }

    /// Closes all.
    pub fn close_all(&self) {
        self.all().drain(..).for_each(|port| port.close());
    }
}

/// A job at the port that is to be accepted.
#[derive(Debug)]
pub struct Caller {
    /// PEs that connect.
    pub members: usize,
    /// Whether the jobs are to end independently.
    pub independent: bool,
    /// The memory of its job.
    pub memory: File,
    socket: OwnedFd,
}

impl Caller {
    /// Refuses it, for this reason; nothing.
    pub fn refuse<T>(self, reason: &str) -> Option<T> {
        let _ = send(self.socket.as_fd(), [REFUSED, 0, 0], reason, &[]);
        None
    }

    /// Offers a connection of this number, by this job's memory, the connection's and a socket for the other
    /// `oshrun`; whether the other group is ready to be connected.
    pub fn offer(&self, number: u32, files: &[BorrowedFd<'_>]) -> bool {
        let socket = self.socket.as_fd();
        let sent = send(socket, [WELCOME, number, 0], "", files);
        sent.is_ok()
            && rustix::io::ioctl_fionbio(socket, false).is_ok()
            && matches!(receive(socket), Ok(Some(([READY, ..], ..))))
    }

    /// Says that the jobs are connected.
    pub fn done(self) {
        // If it is gone, its oshrun says so.
        let _ = send(self.socket.as_fd(), [DONE, 0, 0], "", &[]);
    }
}

/// What the group that accepts offers.
#[derive(Debug)]
pub struct Offer {
    /// The number of the connection.
    pub number: u32,
    /// The memory of the other job, and of the connection.
    pub memory: File,
    /// See [`memory`](Self::memory).
    pub connection: File,
    /// For `oshrun`.
    pub peer: OwnedFd,
    socket: OwnedFd,
}

impl Offer {
    /// Waits at the port of this name for an offer to `members` PEs of the job with this memory, which are to be
    /// `independent` of the other group, or not.
    pub fn wait(name: &PortName, members: usize, independent: bool, memory: BorrowedFd<'_>) -> Result<Self, PortError> {
        let (socket, address) = (new_socket()?, name.socket_address()?);
        match rustix::io::retry_on_intr(|| connect(&socket, &address)) {
            Ok(()) => {}
            Err(Errno::CONNREFUSED) if name.host != host() => {
                let (there, here) = (name.host.clone(), host());
                return Err(PortError::OtherHost { there, here });
            }
            Err(Errno::CONNREFUSED) => return Err(PortError::Closed),
            Err(e) => return Err(e.into()),
        }
        if !is_same_user(socket.as_fd()) {
            return Err(PortError::OtherUser);
        }
        let kind = if independent { INDEPENDENT } else { 0 };
        let request = [CONNECT, VERSION, members as u32 | kind];
        let sent = send(socket.as_fd(), request, &name.secret, &[memory]);
        let answer = match sent.and_then(|()| receive(socket.as_fd())) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => return Err(e.into()),
            Ok(Some(answer)) => answer,
            _ => return Err(PortError::Closed),
        };
        Self::read(answer, socket)
    }

    fn read((head, text, files): Message, socket: OwnedFd) -> Result<Self, PortError> {
        let mut files = files.into_iter();
        match (head[0], files.next(), files.next(), files.next()) {
            (WELCOME, Some(memory), Some(connection), Some(peer)) => {
                Ok(Self { number: head[1], memory: memory.into(), connection: connection.into(), peer, socket })
            }
            (REFUSED, ..) => Err(PortError::Refused(text)),
            _ => Err(PortError::Refused("it answers in another way".to_owned())),
        }
    }

    /// Takes the offer up. The connection's control part is `control`.
    pub fn take(&self, control: &Control) -> Result<(), PortError> {
        let socket = self.socket.as_fd();
        let sent = send(socket, [READY, 0, 0], "", &[]);
        if matches!(sent.and_then(|()| receive(socket)), Ok(Some(([DONE, ..], ..)))) {
            return Ok(());
        }
        // It may have ended after it has agreed: then this job ends with it.
        match control.is_agreed() {
            true => Ok(()),
            false => Err(PortError::Closed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    use std::thread;

    use super::*;
    use crate::port_name::PREFIX;
    use ferroshmem_core::job::message::pair;
    use ferroshmem_platform::mapping::memory_file;

    fn stranger(port: &Port) -> OwnedFd {
        let socket = new_socket().unwrap();
        connect(&socket, &port.name.socket_address().unwrap()).unwrap();
        socket
    }

    fn next(port: &Port) -> Caller {
        match port.next(None).unwrap() {
            AnyCaller::Local(caller) => caller,
            AnyCaller::Remote(caller) => panic!("{caller:?} is local"),
        }
    }

    fn answer(socket: &OwnedFd) -> String {
        let answer = receive(socket.as_fd()).unwrap();
        answer.map_or_else(|| "nothing".to_owned(), |(_, text, _)| text)
    }

    #[test]
    fn strangers_do_not_delay_a_caller() {
        let port = Port::open(true, None).unwrap();
        let silent: Vec<_> = (0..MOST_SILENT + 20).map(|_| stranger(&port)).collect();
        let memory = memory_file(10).unwrap();
        let say = |head, text: &str| {
            let socket = stranger(&port);
            send(socket.as_fd(), head, text, &[memory.as_fd()]).unwrap();
            socket
        };
        let secret = port.name.secret.clone();
        let wrong = say([CONNECT, VERSION, 1], &"0".repeat(32));
        let short = say([CONNECT, VERSION, 1], "");
        let garbage = say([77, VERSION, 1], &secret);
        let old = say([CONNECT, VERSION - 1, 1], &secret);
        let no_memory = stranger(&port);
        send(no_memory.as_fd(), [CONNECT, VERSION, 1], &secret, &[]).unwrap();
        let _right = say([CONNECT, VERSION, 5], &secret);
        let caller = next(&port);
        assert_eq!(caller.members, 5);
        assert_eq!(caller.memory.metadata().unwrap().len(), 10);
        assert!(answer(&wrong).contains("secret") && answer(&short).contains("secret"));
        assert_eq!((answer(&garbage), answer(&no_memory)), ("nothing".into(), "nothing".into()));
        assert!(answer(&old).contains("one FerroSHMEM"));
        assert!(port.waiting.lock().unwrap().silent.len() <= MOST_SILENT);
        // One of them has been slow.
        send(silent[100].as_fd(), [CONNECT, VERSION, 6], &secret, &[memory.as_fd()]).unwrap();
        assert_eq!(next(&port).members, 6);
    }

    #[test]
    fn jobs_meet_or_learn_why_not() {
        let port = Port::open(true, None).unwrap();
        let name = port.name.clone();
        let calling = thread::spawn(move || {
            let memory = memory_file(10).unwrap();
            let wait = || Offer::wait(&name, 3, true, memory.as_fd());
            assert!(matches!(wait(), Err(PortError::Refused(why)) if why == "too many"));
            let offer = wait().unwrap();
            let groups = [1, 3];
            let tuning = ferroshmem_tuning::Tuning::default_for(2);
            let (_file, control) = Control::create_connection(7, groups, true, 2.into(), tuning).unwrap();
            assert_eq!(offer.number, 7);
            offer.take(&control).unwrap();
            // Gone before it is accepted.
            drop(wait());
            assert!(matches!(wait(), Err(PortError::Closed)));
            let other = PortName { host: "x".into(), ..name.clone() };
            let error = Offer::wait(&other, 3, false, memory.as_fd()).unwrap_err();
            assert!(error.to_string().contains("on host x"), "{error}");
        });
        let none: Option<()> = next(&port).refuse("too many");
        assert_eq!(none, None);
        let (mine, theirs) = pair().unwrap();
        let files = [mine.as_fd(), mine.as_fd(), theirs.as_fd()];
        let caller = next(&port);
        assert!(caller.independent && caller.members == 3);
        assert!(caller.offer(7, &files));
        caller.done();
        let caller = next(&port);
        drop(port);
        drop(caller);
        calling.join().unwrap();
    }

    #[test]
    fn sockets_of_other_kinds_are_refused() {
        let name = PortName::new().unwrap();
        let bytes = format!("{PREFIX}-{}", name.address);
        let address = SocketAddr::from_abstract_name(bytes).unwrap();
        let _other = UnixDatagram::bind_addr(&address).unwrap();
        let memory = memory_file(10).unwrap();
        assert!(Offer::wait(&name, 1, false, memory.as_fd()).is_err());
    }
}
