//! Names of ports, by which the jobs of a user find them.
//!
//! A name is a listening socket whose address, without a path, has the user's number and the name. The kernel gives an
//! address to one process alone, and frees it when that process ends, however it does: there are no stale names, and
//! nothing is left behind. A thread of the PE that has published the name writes the port's text to each process of
//! the same user that connects. Either group asks the kernel for the other's user, so that a process of another user
//! that takes the address first gets no secret and gives no port.
//!
//! Where users name a folder that hosts share, the name is there as well ([`ferroshmem_bootstrap::name_file`]).

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferroshmem_bootstrap::name_file::{NameFile, Publication};
use ferroshmem_bootstrap::responder::Responder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{SocketAddrUnix, bind, connect, listen};
use rustix::process::geteuid;

use super::port::{is_same_user, new_socket};
use super::port_error::{MOST_NAME, PortError};
use super::port_name::PortName;
use ferroshmem_core::job::message::{receive, send};

/// The number of the one message.
const TEXT: u32 = 0x7368_6d32;
/// Processes that the kernel keeps while none is answered.
const BACKLOG: i32 = 4096;
/// A thread that has published a name answers within this time, unless its process is stopped.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Time for that in a lookup whose limit is less.
const ANSWERS_SOON: Duration = Duration::from_secs(1);
/// The first and the longest time between two looks for a name that is not published, and the longest where each asks a
/// server of files.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(20), Duration::from_millis(100)];

fn address_of(name: &[u8]) -> Result<SocketAddrUnix, PortError> {
    if !(1..=MOST_NAME).contains(&name.len()) {
        return Err(PortError::Name);
    }
    let mut address = format!("ferroshmem-name-{}-", geteuid().as_raw()).into_bytes();
    address.extend_from_slice(name);
    Ok(SocketAddrUnix::new_abstract_name(&address)?)
}

/// A name that this PE has published.
#[derive(Debug)]
struct Published {
    name: Box<[u8]>,
    port: PortName,
    /// For jobs of other hosts, which ends first.
    _shared: Option<Publication>,
    /// For those of this one.
    _own: Responder,
}

impl Published {
    fn new(name: &[u8], port: PortName, shared: Option<(&str, IpAddr)>) -> Result<Self, PortError> {
        let address = address_of(name)?;
        let listener = new_socket()?;
        bind(&listener, &address).map_err(|e| match e {
            Errno::ADDRINUSE => taken(&address),
            e => e.into(),
        })?;
        // Either all jobs find the name or none does: before it listens, those of this host do not.
        let shared = shared.filter(|_| port.remote().is_some());
        let text = port.to_string();
        let shared = shared
            .map(|(folder, address)| Publication::new(NameFile::new(folder, name), &text, &port.address, address));
        let shared = shared.transpose()?;
        listen(&listener, BACKLOG)?;
        let answer = move |socket: OwnedFd| {
            if is_same_user(socket.as_fd()) {
                // One that is gone needs no answer.
                let _ = send(socket.as_fd(), [TEXT, 0, 0], &text, &[]);
            }
        };
        Ok(Self { name: name.into(), port, _shared: shared, _own: Responder::start(listener, Box::new(answer))? })
    }
}

/// Who has an address.
fn taken(address: &SocketAddrUnix) -> PortError {
    let asked = new_socket().and_then(|socket| {
        connect(&socket, address)?;
        socket_peercred(&socket)
    });
    match asked {
        Ok(process) if process.uid != geteuid() => PortError::NameOfOtherUser,
        Ok(process) => PortError::NameTaken(format!("process {} has published it", process.pid.as_raw_nonzero())),
        // Not listening yet, or no longer.
        Err(_) => PortError::NameTaken("another process publishes it".to_owned()),
    }
}

/// The port of a name, whose process is to answer within a time; None if no process publishes it.
fn query(address: &SocketAddrUnix, within: Duration) -> Result<Option<PortName>, PortError> {
    let socket = new_socket()?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    match connect(&socket, address) {
        Ok(()) => {}
        // None, or more processes ask than the kernel keeps.
        Err(Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => return Ok(None),
        Err(e) => return Err(e.into()),
    }
    if !is_same_user(socket.as_fd()) {
        return Err(PortError::NameOfOtherUser);
    }
    let end = Instant::now() + within;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(&socket, PollFlags::IN)];
        match poll(&mut fds, left.as_ref()) {
            Ok(0) => return Err(PortError::NoAnswer),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    match receive(socket.as_fd())? {
        Some(([TEXT, ..], text, _)) => PortName::parse(&text).map(Some),
        // Ended, or unpublished meanwhile.
        _ => Ok(None),
    }
}

/// The port that a process of this user has published by a name, on this host or in a `folder` that others share. Waits
/// for that until `limit` is over, or as long as it takes; None if no process does so. A process that does is to answer
/// within the limit, or `ANSWERS_SOON`.
pub fn look_up(name: &[u8], limit: Option<Duration>, folder: Option<&str>) -> Result<Option<PortName>, PortError> {
    let address = address_of(name)?;
    let file = folder.map(|folder| NameFile::new(folder, name));
    let longest = PAUSES[if file.is_some() { 2 } else { 1 }];
    let end = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut pause = PAUSES[0];
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let within = left.map_or(ANSWERS_WITHIN, |left| left.clamp(ANSWERS_SOON, ANSWERS_WITHIN));
        let mut found = query(&address, within)?;
        if let (None, Some(file)) = (&found, &file) {
            found = file.look_up(within)?.map(|text| PortName::parse(&text)).transpose()?;
        }
        if found.is_some() {
            return Ok(found);
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(None);
        }
        sleep(left.map_or(pause, |left| left.min(pause)));
        pause = longest.min(2 * pause);
    }
}

/// The names that this PE has published.
#[derive(Debug, Default)]
pub struct Names(Mutex<Vec<Published>>);

impl Names {
    fn all(&self) -> MutexGuard<'_, Vec<Published>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Publishes a port by a name; also in a folder that other hosts share, for whose jobs this PE answers at an
    /// address.
    pub fn publish(&self, name: &[u8], port: PortName, shared: Option<(&str, IpAddr)>) -> Result<(), PortError> {
        let published = Published::new(name, port, shared)?;
        self.all().push(published);
        Ok(())
    }

    /// Unpublishes a name.
    pub fn unpublish(&self, name: &[u8]) -> Result<(), PortError> {
        let mut all = self.all();
        let found = all.iter().position(|published| *published.name == *name);
        all.remove(found.ok_or(PortError::NotPublished)?);
        Ok(())
    }

    /// Unpublishes the names of a port.
    pub fn forget(&self, port: &PortName) {
        self.all().retain(|published| published.port != *port);
    }

    /// Unpublishes all.
    pub fn forget_all(&self) {
        self.all().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Option<Duration> = Some(Duration::ZERO);

    fn port(digit: &str) -> PortName {
        let digits = digit.repeat(32);
        PortName::parse(&format!("ferroshmem-port:here:{digits}:{digits}")).unwrap()
    }

    /// A name that no other test has.
    fn name_of(test: &str) -> Vec<u8> {
        format!("{test}-{}", std::process::id()).into_bytes()
    }

    #[test]
    fn names_are_found_until_they_are_unpublished() {
        let (names, name) = (Names::default(), name_of("found"));
        assert_eq!(look_up(&name, NONE, None).unwrap(), None);
        for round in ["1", "2", "3"] {
            names.publish(&name, port(round), None).unwrap();
            assert_eq!(look_up(&name, NONE, None).unwrap(), Some(port(round)));
            names.unpublish(&name).unwrap();
            assert_eq!(look_up(&name, NONE, None).unwrap(), None);
        }
        assert!(matches!(names.unpublish(&name), Err(PortError::NotPublished)));
        let other = name_of("other");
        names.publish(&name, port("4"), None).unwrap();
        names.publish(&other, port("5"), None).unwrap();
        names.forget(&port("4"));
        assert_eq!(look_up(&name, NONE, None).unwrap(), None);
        assert_eq!(look_up(&other, NONE, None).unwrap(), Some(port("5")));
        names.forget_all();
        assert_eq!(look_up(&other, NONE, None).unwrap(), None);
    }

    #[test]
    fn a_name_is_published_once() {
        let (names, name) = (Names::default(), name_of("once"));
        names.publish(&name, port("1"), None).unwrap();
        let again = Names::default().publish(&name, port("2"), None).unwrap_err();
        let mine = format!("process {}", std::process::id());
        assert!(again.to_string().contains(&mine), "{again}");
        assert_eq!(look_up(&name, NONE, None).unwrap(), Some(port("1")));
    }

    #[test]
    fn a_lookup_waits() {
        let (names, name) = (Names::default(), name_of("waits"));
        std::thread::scope(|scope| {
            let waits: Vec<_> = (0..20).map(|_| scope.spawn(|| look_up(&name, None, None).unwrap())).collect();
            assert_eq!(look_up(&name, Some(PAUSES[1]), None).unwrap(), None);
            names.publish(&name, port("7"), None).unwrap();
            for wait in waits {
                assert_eq!(wait.join().unwrap(), Some(port("7")));
            }
        });
    }

    #[test]
    fn names_have_any_bytes_but_not_any_number() {
        let names = Names::default();
        for wrong in [&b""[..], &[b'x'; MOST_NAME + 1]] {
            assert!(matches!(look_up(wrong, NONE, None), Err(PortError::Name)));
            let published = names.publish(wrong, port("1"), None);
            assert!(matches!(published, Err(PortError::Name)));
        }
        let mut long = name_of("/any: \u{e9}\n");
        long.resize(MOST_NAME, 0xff);
        names.publish(&long, port("1"), None).unwrap();
        assert_eq!(look_up(&long, NONE, None).unwrap(), Some(port("1")));
    }

    #[test]
    fn processes_that_do_not_read_delay_no_lookup() {
        let (names, name) = (Names::default(), name_of("silent"));
        names.publish(&name, port("1"), None).unwrap();
        let address = address_of(&name).unwrap();
        let silent = || {
            let socket = new_socket().unwrap();
            connect(&socket, &address).unwrap();
            socket
        };
        let _silent: Vec<_> = (0..300).map(|_| silent()).collect();
        assert_eq!(look_up(&name, NONE, None).unwrap(), Some(port("1")));
    }

    #[test]
    fn what_is_no_publication_is_none() {
        // An address that is taken, of a process that does not listen.
        let name = name_of("deaf");
        let deaf = new_socket().unwrap();
        bind(&deaf, &address_of(&name).unwrap()).unwrap();
        assert_eq!(look_up(&name, NONE, None).unwrap(), None);
        let names = Names::default();
        let taken = names.publish(&name, port("1"), None).unwrap_err();
        assert!(matches!(taken, PortError::NameTaken(_)), "{taken}");
        drop(deaf);
        names.publish(&name, port("1"), None).unwrap();
    }
}
