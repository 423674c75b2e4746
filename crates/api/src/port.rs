//! Jobs that connect (extension): ports, at which jobs that were started separately become connected.
//!
//! The meaning is that of MPI's `MPI_Open_port`, `MPI_Publish_name`, `MPI_Lookup_name`, `MPI_Comm_accept`,
//! `MPI_Comm_connect` and `MPI_Comm_join`. The group that follows
//! is one as [`spawn`](super::spawn) gives.

use std::ffi::{CStr, OsString, c_char, c_int};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ferroshmem_core::connection::link::Watch;
use ferroshmem_fabric::{Config, discovery};
use ferroshmem_port::coordinator::Coordinator;
use ferroshmem_port::names;
use ferroshmem_port::port::{AnyCaller, Caller, Offer, Port};

use super::connecting::{Found, GroupError, JobLocation, group_of, return_group, take_numbers};
use ferroshmem_core::constants::MAX_PORT_NAME;
use ferroshmem_core::failure::fatal::{fatal, warn};
use ferroshmem_core::hooks;
use ferroshmem_core::internode::fabric_config;
use ferroshmem_core::job::control::Control;
use ferroshmem_core::job::message::pair;
use ferroshmem_core::job::service::{self, ConnectedJob, FIRST_CONNECTED, FIRST_REMOTE, StartedJob};
use ferroshmem_core::wait::WaitReason;
use ferroshmem_core::wait::record::Recorder;
use ferroshmem_layout::{MAX_PES, WaitKind};
pub use ferroshmem_port::port_error::PortError;
use ferroshmem_port::port_name::PortName;
use ferroshmem_port::remote_port::{RemoteCaller, RemoteOffer};
use ferroshmem_runtime::{self as runtime, Runtime};

/// The text of a port.
///
/// # Safety
/// `port` is a string or null.
unsafe fn text_of(name: &str, port: *const c_char) -> String {
    if port.is_null() {
        fatal(name, "port is a null pointer: give the text of a port");
    }
    // SAFETY: the caller promises a string.
    let bytes = unsafe { CStr::from_ptr(port) }.to_bytes();
    OsString::from_vec(bytes.to_vec()).to_string_lossy().into_owned()
}

/// Writes the text of a port where there is room for [`MAX_PORT_NAME`] bytes.
///
/// # Safety
/// There is.
unsafe fn write_text(text: &str, port: *mut c_char) {
    let len = text.len().min(MAX_PORT_NAME - 1);
    // SAFETY: the caller promises that `port` has room for the longest name.
    unsafe {
        port.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len);
        port.add(len).write(0);
    }
}

/// 0, or -1 and a line.
fn status(name: &str, result: Result<(), PortError>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(why) => {
            warn(name, &why.to_string());
            -1
        }
    }
}

/// The name of a port.
///
/// # Safety
/// `service` is a string or null.
unsafe fn name_of<'a>(name: &str, service: *const c_char) -> &'a [u8] {
    if service.is_null() {
        fatal(name, "name is a null pointer: give the name of a port");
    }
    // SAFETY: the caller promises a string.
    unsafe { CStr::from_ptr(service) }.to_bytes()
}

/// Opens a port of this PE and writes its text: 0, or -1 and a line.
///
/// # Safety
/// `port` has room for `SHMEMX_MAX_PORT_NAME` bytes.
pub unsafe fn open(name: &'static str, port: *mut c_char) -> c_int {
    let opened = open_port(name);
    // SAFETY: the caller promises that `port` has room for the longest name.
    status(name, opened.map(|text| unsafe { write_text(&text, port) }))
}

/// Opens a port of this PE, for jobs on other nodes as well; its text.
///
/// # Errors
/// Of the system.
pub fn open_port(name: &str) -> Result<String, PortError> {
    let rt = runtime::get(name);
    let port = open_for(rt)?;
    let text = port.name().to_string();
    rt.ports.add(port);
    Ok(text)
}

/// Opens a port, for jobs on other nodes as well.
pub(crate) fn open_for(rt: &Runtime) -> Result<Port, PortError> {
    Port::open(rt.node.job.may_have_service(), address(rt))
}

/// Where jobs on other nodes reach this PE.
fn address(rt: &Runtime) -> Option<IpAddr> {
    discovery::address(rt.node.settings.fabric.interface.as_deref())
}

/// Closes a port of this PE: 0, or -1 and a line.
///
/// # Safety
/// `port` is a string.
pub unsafe fn close(name: &'static str, port: *const c_char) -> c_int {
    // SAFETY: the caller promises that the names are C strings.
    let text = unsafe { text_of(name, port) };
    status(name, close_port(name, &text))
}

/// Closes a port of this PE, and unpublishes its names.
///
/// # Errors
/// If it is none.
pub fn close_port(name: &str, text: &str) -> Result<(), PortError> {
    let rt = runtime::get(name);
    let port = PortName::parse(text)?;
    rt.ports.close(&port)?;
    rt.names.forget(&port);
    Ok(())
}

/// Publishes a port by a name for other jobs of this user: 0, or -1 and a line.
///
/// # Safety
/// `service` and `port` are strings.
pub unsafe fn publish(name: &'static str, service: *const c_char, port: *const c_char) -> c_int {
    // SAFETY: the caller promises that the names are C strings.
    let (service, text) = unsafe { (name_of(name, service), text_of(name, port)) };
    status(name, publish_port(name, service, &text))
}

/// Publishes a port by a name, as long as this PE runs.
///
/// # Errors
/// If it is no name, it is taken, or the text is none of a port.
pub fn publish_port(name: &str, service: &[u8], text: &str) -> Result<(), PortError> {
    let rt = runtime::get(name);
    let folder = rt.node.settings.name_directory.as_deref();
    let shared = folder.and_then(|folder| Some((folder, address(rt)?)));
    rt.names.publish(service, PortName::parse(text)?, shared)
}

/// Unpublishes a name that this PE has published: 0, or -1 and a line.
///
/// # Safety
/// `service` is a string.
pub unsafe fn unpublish(name: &'static str, service: *const c_char) -> c_int {
    // SAFETY: the caller promises that `service` is a C string.
    let service = unsafe { name_of(name, service) };
    status(name, runtime::get(name).names.unpublish(service))
}

/// Writes the text of the port that is published by a name, for which it waits up to so many milliseconds, or with -1
/// as long as it takes: 0, or -1 if there is none, or -1 and a line.
///
/// # Safety
/// `service` is a string; `port` has room for `SHMEMX_MAX_PORT_NAME` bytes.
pub unsafe fn lookup(name: &'static str, service: *const c_char, timeout: c_int, port: *mut c_char) -> c_int {
    // SAFETY: the caller promises that `service` is a C string.
    let service = unsafe { name_of(name, service) };
    let limit = u64::try_from(timeout).ok().map(Duration::from_millis);
    match look_up_port(name, service, limit) {
        Ok(Some(text)) => {
            // SAFETY: the caller promises that `port` has room for the longest name.
            unsafe { write_text(&text, port) };
            0
        }
        Ok(None) => -1,
        Err(why) => status(name, Err(why)),
    }
}

/// The text of the port that is published by a name, for which it waits up to `limit`, or as long as it takes.
///
/// # Errors
/// If it is no name, or a process of another user has taken it.
pub fn look_up_port(name: &str, service: &[u8], limit: Option<Duration>) -> Result<Option<String>, PortError> {
    let rt = runtime::get(name);
    let _shown = Recorder::start(&WaitReason::at(WaitKind::Connection, name, 0));
    let found = names::look_up(service, limit, rt.node.settings.name_directory.as_deref())?;
    Ok(found.map(|port| port.to_string()))
}

macro_rules! at_port {
    ($($(#[$doc:meta])* $name:ident by $connected:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// On the root, `port` is a string; `group` can be written.
        pub unsafe fn $name(
            name: &'static str,
            team: usize,
            root: c_int,
            port: *const c_char,
            independent: bool,
            group: *mut usize,
        ) -> c_int {
            // SAFETY: as the caller promises; called on the root alone.
            let text = || unsafe { text_of(name, port) };
            let made = $connected(name, team, root, independent, text);
            // SAFETY: the caller promises that `group` is writable.
            unsafe { return_group(name, made, group) }
        }
    )*};
}

at_port! {
    /// Connects a team with the next that connects to a port, which the root has opened, collectively: 0, or -1 on all
    /// members, of which the root says why. `independent`: the end of one job is not the other's.
    accept by accept_at;
    /// Connects a team with one that accepts at a port, collectively: as [`accept`].
    connect by connect_to;
}

/// Connects a team with the next that connects to a port, whose text counts on the root, collectively; the group.
///
/// # Errors
/// If the root cannot accept any. On all members.
pub fn accept_at(
    name: &'static str,
    team: usize,
    root: c_int,
    independent: bool,
    text: impl FnOnce() -> String,
) -> Result<usize, GroupError> {
    let rt = runtime::get(name);
    group_of(name, rt, team, root, |members| {
        let accepted = PortName::parse(&text()).and_then(|port| {
            let port = rt.ports.find(&port)?;
            accept_one(name, rt, &port, members, Expected::new(independent), None)
        });
        accepted.map_err(|why| why.to_string())
    })
}

/// Connects a team with one that accepts at a port, whose text counts on the root, collectively; the group.
///
/// # Errors
/// If the root cannot connect. On all members.
pub fn connect_to(
    name: &'static str,
    team: usize,
    root: c_int,
    independent: bool,
    text: impl FnOnce() -> String,
) -> Result<usize, GroupError> {
    let rt = runtime::get(name);
    group_of(name, rt, team, root, |members| {
        let port = PortName::parse(&text());
        let connected = port.and_then(|port| connect_at(rt, &port, members, independent));
        connected.map_err(|why| why.to_string())
    })
}

/// Connects a team with that of the PE at the other end of a socket, collectively: as [`accept`]. `fd` counts on the
/// root.
///
/// # Safety
/// `group` can be written.
pub unsafe fn join(name: &'static str, team: usize, root: c_int, fd: c_int, group: *mut usize) -> c_int {
    let made = join_over(name, team, root, fd);
    // SAFETY: the caller promises that `group` is writable.
    unsafe { return_group(name, made, group) }
}

/// Connects a team with that of the PE at the other end of a socket, which counts on the root, collectively; the group.
///
/// # Errors
/// If the root cannot join the other. On all members.
pub fn join_over(name: &'static str, team: usize, root: c_int, fd: RawFd) -> Result<usize, GroupError> {
    let rt = runtime::get(name);
    group_of(name, rt, team, root, |members| join_one(name, rt, fd, members).map_err(|why| why.to_string()))
}

/// Exchanges the texts of two ports over a socket: the PE whose text comes first in the alphabet accepts the other.
fn join_one(name: &'static str, rt: &Runtime, fd: RawFd, members: usize) -> Result<Found, PortError> {
    if fd < 0 {
        return Err(PortError::NoSocket);
    }
    // SAFETY: not negative; borrowed for this call, in which system calls fail if it is not open.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    let port = open_for(rt)?;
    let theirs = port.exchange(socket)?;
    if port.name().to_string() < theirs.to_string() {
        accept_one(name, rt, &port, members, Expected::Job, Some(socket))
    } else {
        connect_at(rt, &theirs, members, false)
    }
}

/// What job may connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// One that is not independent.
    Job,
    /// One that is.
    Independent,
    /// The one that the launcher has been told to start, which is independent or not.
    Started(bool),
}

impl Expected {
    fn new(independent: bool) -> Self {
        if independent { Self::Independent } else { Self::Job }
    }
}

/// Accepts the next caller for `members` PEs, as long as the other end of the socket `joined` is silent.
pub(crate) fn accept_one(
    name: &'static str,
    rt: &Runtime,
    port: &Port,
    members: usize,
    expected: Expected,
    joined: Option<BorrowedFd<'_>>,
) -> Result<Found, PortError> {
    let independent = [Expected::Independent, Expected::Started(true)].contains(&expected);
    loop {
        let caller = port.next(joined)?;
        let most = MAX_PES - members;
        if caller.members() == 0 || caller.members() > most {
            let n = caller.members();
            caller.refuse(&format!("{n} PEs want to connect, and 1 to {most} can"));
            continue;
        }
        // Those that the launcher has started learn it from the invitation.
        let knows = !matches!(expected, Expected::Started(_));
        if knows && caller.is_independent() != independent {
            let kind = if independent { "_independent" } else { "" };
            caller.refuse(&format!("it calls shmemx_port_accept{kind}: call shmemx_port_connect{kind}"));
            continue;
        }
        let accepted = match caller {
            AnyCaller::Local(caller) => offer(rt, caller, members)?,
            AnyCaller::Remote(caller) => {
                let spawns = !knows;
                offer_remote(name, rt, port, caller, (members, spawns, independent))?
            }
        };
        if let Some(accepted) = accepted {
            return Ok(accepted);
        }
    }
}

/// That operations of this program reach other nodes, or why they do not.
pub(crate) fn check_remote(rt: &Runtime) -> Result<(), PortError> {
    if hooks::get().is_some_and(|hooks| (hooks.native_required)()) {
        let why = "a program compiled with -DSHMEM_NATIVE_ONLY cannot reach";
        return Err(PortError::NotFromHere(why));
    }
    if rt.node.transport.atomics_by_fabric() {
        let why = "cannot be reached where atomics are not a CPU's: set SHMEM_FABRIC to \"tcp\"";
        return Err(PortError::NotFromHere(why));
    }
    let config = Config { sets_environment: false, ..fabric_config(&rt.node.settings.fabric) };
    Ok(discovery::check(&config)?)
}

/// Invites the job of a caller to a coordinator of its connection; None if it is gone.
fn offer_remote(
    name: &'static str,
    rt: &Runtime,
    port: &Port,
    caller: RemoteCaller,
    (members, spawns, independent): (usize, bool, bool),
) -> Result<Option<Found>, PortError> {
    if let Err(e) = check_remote(rt) {
        let _: Option<()> = caller.refuse(&e.to_string());
        return Err(e);
    }
    let sizes = [members, caller.members];
    let number = FIRST_REMOTE | PortName::random_number()?;
    let (address, _) = port.name().remote().ok_or(PortError::NotOpen)?;
    let coordinator = Coordinator::open(address.ip(), number, sizes, independent)?;
    let invitation = coordinator.invitation().clone();
    if !caller.offer(&invitation) {
        return Ok(None);
    }
    let first = numbers(rt, members + sizes[1])?;
    let watch = Watch { routine: name, timeout: rt.node.settings.fabric_timeout, spawns };
    let coordinator = coordinator.start(caller.done()?, watch)?;
    let location = JobLocation::Remote { invitation, coordinator: Some(coordinator), sign: None };
    Ok(Some(Found { location, first, group: 0 }))
}

/// Offers a connection; None if the caller is gone.
fn offer(rt: &Runtime, caller: Caller, members: usize) -> Result<Option<Found>, PortError> {
    let job = rt.node.job;
    let service = job.service()?;
    match Control::open(&caller.memory) {
        Ok(control) => drop(Mapped(control)),
        Err(e) => return Ok(caller.refuse(&PortError::Memory(e).to_string())),
    }
    let header = job.control.header();
    let cores = header.node_cores();
    let number = FIRST_CONNECTED | PortName::random_number()?;
    let groups = [members, caller.members];
    let (connection, control) = Control::create_connection(number, groups, caller.independent, cores, header.tuning)?;
    let mapped = Mapped(control);
    let (mine, theirs) = pair()?;
    let other = watched(service, number, 0, [caller.memory.as_fd(), connection.as_fd()], mine)?;
    let files = [job.file.as_fd(), connection.as_fd(), theirs.as_fd()];
    if !caller.offer(number, &files) {
        return Ok(None);
    }
    drop(theirs);
    let first = numbers(rt, members + caller.members)?;
    mapped.0.header().agreed.store(1, Ordering::Release);
    caller.done();
    Ok(Some(found(other, first)))
}

/// Takes an offer up at a port for `members` PEs; as [`accept_one`].
pub(crate) fn connect_at(rt: &Runtime, port: &PortName, members: usize, independent: bool) -> Result<Found, PortError> {
    let job = rt.node.job;
    let remote = port.remote();
    if let (Some(remote), false) = (remote, job.may_have_service()) {
        return connect_remote(rt, remote, members, independent);
    }
    let offer = Offer::wait(port, members, independent, job.file.as_fd());
    let offer = match (offer, remote) {
        // The port is of this host, as far as its name tells, and no other one can be reached.
        (Err(PortError::Closed), Some(_)) if check_remote(rt).is_err() => return Err(PortError::Closed),
        (Err(PortError::Closed | PortError::OtherHost { .. }), Some(remote)) => {
            return connect_remote(rt, remote, members, independent);
        }
        (offer, _) => offer?,
    };
    let service = job.service()?;
    let control = Control::open(&offer.connection).map_err(PortError::Memory)?;
    let control = Mapped(control);
    drop(Mapped(Control::open(&offer.memory).map_err(PortError::Memory)?));
    let first = numbers(rt, control.0.n_pes())?;
    let files = [offer.memory.as_fd(), offer.connection.as_fd()];
    let peer = offer.peer.try_clone()?;
    let other = watched(service, offer.number, 1, files, peer)?;
    offer.take(&control.0)?;
    Ok(found(other, first))
}

/// Takes an offer up at a port of another node, which has this address and secret; as [`connect_at`].
fn connect_remote(
    rt: &Runtime,
    port: (SocketAddr, &str),
    members: usize,
    independent: bool,
) -> Result<Found, PortError> {
    check_remote(rt)?;
    let offer = RemoteOffer::wait(port, members, independent)?;
    let invitation = offer.invitation.clone();
    let first = numbers(rt, invitation.sizes.iter().sum())?;
    let location = JobLocation::Remote { invitation, coordinator: None, sign: Some(offer.take()?) };
    Ok(Found { location, first, group: 1 })
}

/// Has `oshrun` watch the other job, by its memory and that of the connection.
fn watched(
    service: BorrowedFd<'_>,
    number: u32,
    group: usize,
    [memory, connection]: [BorrowedFd<'_>; 2],
    peer: OwnedFd,
) -> Result<ConnectedJob, PortError> {
    let job = ConnectedJob {
        number,
        group,
        memory: memory.try_clone_to_owned()?.into(),
        connection: connection.try_clone_to_owned()?.into(),
        peer,
    };
    service::watch(service, &job).map_err(|e| PortError::NotWatched(e.to_string()))?;
    Ok(job)
}

fn found(other: ConnectedJob, first: usize) -> Found {
    Found {
        location: JobLocation::Local(StartedJob {
            job_number: other.number,
            memory: other.memory,
            connection: other.connection,
        }),
        first,
        group: other.group,
    }
}

fn numbers(rt: &Runtime, n: usize) -> Result<usize, PortError> {
    let job = rt.node.job;
    let first = take_numbers(job.control.header(), &job.placement, n);
    first.ok_or(PortError::NoNumbers)
}

/// A control part that is mapped for a while.
struct Mapped(Control);

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped for this object, which nothing borrows from any more.
        unsafe { self.0.unmap() };
    }
}
