//! Jobs that grow (extension): PEs that are started while the job runs, the connection with them, and objects
//! that jobs lend each other.
//!
//! Spawning has the meaning that `MPI_Comm_spawn` gives it. What differs is what follows: memory of the other
//! job is reached by the routines for memory of one's own.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_long, c_void};
use std::fmt::Display;
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crate::config::{self, SYMMETRIC_SIZE};
pub use crate::connection::exports::ExportError;
use crate::connection::exports::Exported;
use crate::connection::link::Invitation;
use crate::connection::{Connection, Role};
use crate::constants::{
    GROUP_CONNECTED, GROUP_DISCONNECTED, GROUP_FAILED, GROUP_INVALID, SPAWN_ALL_FIELDS, SPAWN_ARGV,
    SPAWN_BIND_TO, SPAWN_CORES, SPAWN_CPUS, SPAWN_ENV, SPAWN_HOST, SPAWN_INDEPENDENT, SPAWN_MAP_BY,
    SPAWN_SHEAP_SIZE, SPAWN_WDIR, TEAM_INVALID,
};
use crate::failure::fatal::{fatal, warn};
use crate::group::Group;
use crate::job;
use crate::job::region::{Header, MAX_PES};
use crate::job::service::{self, FIRST_REMOTE, JobRequest, ProgramRequest, StartedJob};
use crate::lifecycle::connections::{self, connect, join};
use crate::memory::MemoryKind;
use crate::runtime::{self, Runtime};
use crate::team::Team;

/// `shmemx_spawn_config_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SpawnConfig {
    /// Arguments after the command, ended by a null pointer.
    pub argv: *const *const c_char,
    /// Variables as `NAME=VALUE`, ended by a null pointer, beside those of the PE that asks.
    pub env: *const *const c_char,
    /// The directory to run in.
    pub wdir: *const c_char,
    /// Bytes of symmetric heap of each PE.
    pub sheap_size: usize,
    /// As `oshrun --bind-to`.
    pub bind_to: *const c_char,
    /// As `oshrun --map-by`.
    pub map_by: *const c_char,
    /// Cores of each PE.
    pub cores: usize,
    /// The CPUs that the PEs may use.
    pub cpus: *const c_char,
    /// The host to start on.
    pub host: *const c_char,
    /// Not 0: the end of one job is not the other's.
    pub independent: c_int,
}

/// Bytes of a configuration without the fields that have been added.
const FIRST_FIELDS: usize = std::mem::offset_of!(SpawnConfig, bind_to);

/// The strings of a list that a null pointer ends.
///
/// # Safety
/// The list is valid, or null.
unsafe fn strings(list: *const *const c_char) -> Vec<OsString> {
    if list.is_null() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for i in 0.. {
        // SAFETY: the caller promises a list that a null pointer ends.
        let Some(text) = (unsafe { text(*list.add(i)) }) else {
            break;
        };
        all.push(text);
    }
    all
}

/// A string; None for a null pointer.
///
/// # Safety
/// `text` is a string or null.
unsafe fn text(text: *const c_char) -> Option<OsString> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises a string.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    Some(OsStr::from_bytes(bytes).to_owned())
}

/// What the root asks for of one program.
///
/// # Safety
/// `command` is a string or null; `config` is valid, as far as `mask` names its fields, or null.
unsafe fn program(
    name: &str,
    command: *const c_char,
    n_pes: c_int,
    config: *const SpawnConfig,
    mask: c_long,
) -> Program {
    let added = SPAWN_BIND_TO | SPAWN_MAP_BY | SPAWN_CORES | SPAWN_CPUS | SPAWN_HOST;
    let known = SPAWN_ARGV | SPAWN_ENV | SPAWN_WDIR | SPAWN_SHEAP_SIZE | SPAWN_INDEPENDENT | added;
    if mask & !known != 0 {
        fatal(
            name,
            format_args!("config_mask = {mask:#x}: give a combination of SHMEMX_SPAWN_*"),
        );
    }
    if mask != 0 && config.is_null() {
        fatal(
            name,
            "config is a null pointer, but config_mask is not 0: give a configuration, or the mask 0",
        );
    }
    // No reference to the whole: programs that were compiled before have the first fields alone.
    let is_set = |field: c_long| mask & field & !SPAWN_ALL_FIELDS != 0;
    // SAFETY: the caller promises that the fields are valid which the mask names.
    let (command, arguments, environment, wdir, heap_size, placement, independent) = unsafe {
        (
            text(command),
            is_set(SPAWN_ARGV).then(|| strings((*config).argv)),
            is_set(SPAWN_ENV).then(|| strings((*config).env)),
            is_set(SPAWN_WDIR).then(|| text((*config).wdir)),
            is_set(SPAWN_SHEAP_SIZE).then(|| (*config).sheap_size),
            Placement {
                bind_to: is_set(SPAWN_BIND_TO)
                    .then(|| text((*config).bind_to))
                    .flatten(),
                map_by: is_set(SPAWN_MAP_BY)
                    .then(|| text((*config).map_by))
                    .flatten(),
                cores: is_set(SPAWN_CORES).then(|| (*config).cores),
                cpus: is_set(SPAWN_CPUS).then(|| text((*config).cpus)).flatten(),
                host: is_set(SPAWN_HOST).then(|| text((*config).host)).flatten(),
            },
            is_set(SPAWN_INDEPENDENT) && (*config).independent != 0,
        )
    };
    let environment = environment.unwrap_or_default();
    let Some(command) = command else {
        fatal(name, "command is a null pointer: give a program");
    };
    if let Some(wrong) = environment.iter().find(|v| !v.as_bytes().contains(&b'=')) {
        fatal(
            name,
            format_args!("env has {wrong:?}: give variables as NAME=VALUE"),
        );
    }
    Program {
        command,
        n_pes: usize::try_from(n_pes).unwrap_or(0),
        arguments: arguments.unwrap_or_default(),
        environment,
        directory: wdir.flatten().map(Into::into),
        heap_size,
        placement,
        independent,
    }
}

/// PEs of one program that are to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program, as a shell would find it.
    pub command: OsString,
    /// Number of PEs.
    pub n_pes: usize,
    /// Arguments after the command.
    pub arguments: Vec<OsString>,
    /// Variables as `NAME=VALUE`, beside those of the PE that asks.
    pub environment: Vec<OsString>,
    /// The directory to run in; that of the PE that asks if there is none.
    pub directory: Option<PathBuf>,
    /// Bytes of symmetric heap of each PE, if they are not to be as ever.
    pub heap_size: Option<usize>,
    /// Whether the end of one job is not the other's.
    pub independent: bool,
    /// Where they run.
    pub placement: Placement,
}

/// Where PEs that are started run: as the PEs of this job, if nothing is given. Of several programs in one spawn, those
/// that say something say the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// What each PE is bound to, as `oshrun --bind-to` names it.
    pub bind_to: Option<OsString>,
    /// The order in which PEs are given cores, as `oshrun --map-by` names it.
    pub map_by: Option<OsString>,
    /// Cores of each PE, if there are so many.
    pub cores: Option<usize>,
    /// The CPUs that the PEs may use, as `0-3,8`.
    pub cpus: Option<OsString>,
    /// The host to start on.
    pub host: Option<OsString>,
}

impl Placement {
    /// As `NAME=VALUE`.
    fn options(self) -> Vec<OsString> {
        let cores = self.cores.map(|cores| cores.to_string().into());
        let options = [
            ("bind_to=", self.bind_to),
            ("map_by=", self.map_by),
            ("cores=", cores),
            ("cpus=", self.cpus),
            ("host=", self.host),
        ];
        let given = options.into_iter().filter_map(|(name, value)| {
            let mut option = OsString::from(name);
            option.push(value?);
            Some(option)
        });
        given.collect()
    }
}

impl Program {
    fn request(self) -> ProgramRequest {
        let mut environment = self.environment;
        if let Some(size) = self.heap_size {
            environment.push(format!("{}={size}", SYMMETRIC_SIZE.name).into());
        }
        let inherited = config::inherited_all().map(|(mut pair, value)| {
            pair.push("=");
            pair.push(value);
            pair
        });
        ProgramRequest {
            command: self.command,
            n_pes: self.n_pes,
            arguments: self.arguments,
            environment: inherited.chain(environment).collect(),
            directory: self
                .directory
                .or_else(|| std::env::current_dir().ok())
                .unwrap_or_else(|| "/".into()),
            placement: self.placement.options(),
        }
    }
}

/// Starts `n_pes` PEs of a program for a team, collectively: 0, or -1 on all members, of which the root says
/// why.
///
/// # Safety
/// On the root, `command` is a string and `config` valid, with the fields that `mask` names, or null;
/// `children` is valid.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn spawn(
    name: &'static str,
    team: usize,
    root: c_int,
    command: *const c_char,
    n_pes: c_int,
    config: *const SpawnConfig,
    mask: c_long,
    children: *mut usize,
) -> c_int {
    // SAFETY: as the caller promises; called on the root alone.
    let programs = || unsafe { vec![program(name, command, n_pes, config, mask)] };
    let made = spawn_for(name, team, root, programs);
    // SAFETY: the caller promises that the result can be written.
    unsafe { give(name, made, children) }
}

/// As [`spawn`], of `count` programs, whose PEs are numbered in their order.
///
/// # Safety
/// On the root, as [`spawn`] for each element of the arrays; `configs` and `masks` may be null. `children` is
/// valid.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn spawn_multiple(
    name: &'static str,
    team: usize,
    root: c_int,
    count: c_int,
    commands: *const *const c_char,
    n_pes: *const c_int,
    configs: *const SpawnConfig,
    masks: *const c_long,
    children: *mut usize,
) -> c_int {
    let programs = || {
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 || commands.is_null() || n_pes.is_null() {
            fatal(
                name,
                "no program is given: give count of 1 or more, commands and npes",
            );
        }
        // SAFETY: the caller promises an array of `count` elements, or null.
        let mask = |i: usize| unsafe { if masks.is_null() { 0 } else { *masks.add(i) } };
        let has_all = (0..count).any(|i| mask(i) & SPAWN_ALL_FIELDS != 0);
        let size = [FIRST_FIELDS, size_of::<SpawnConfig>()][usize::from(has_all)];
        let each = (0..count).map(|i| {
            // Null, if that is what is given.
            let config = configs.wrapping_byte_add(if configs.is_null() { 0 } else { i * size });
            // SAFETY: the caller promises arrays of `count` elements.
            unsafe { program(name, *commands.add(i), *n_pes.add(i), config, mask(i)) }
        });
        each.collect()
    };
    let made = spawn_for(name, team, root, programs);
    // SAFETY: the caller promises that the result can be written.
    unsafe { give(name, made, children) }
}

/// Writes the group: 0, or -1 and `SHMEMX_GROUP_INVALID` if there is none, of which the root says why.
///
/// # Safety
/// `result` can be written.
pub(super) unsafe fn give(
    name: &str,
    made: Result<usize, GroupError>,
    result: *mut usize,
) -> c_int {
    if let Err(GroupError::Refused(why)) = &made {
        warn(name, why);
    }
    let status = if made.is_ok() { 0 } else { -1 };
    // SAFETY: the caller promises that it can be written.
    unsafe { result.write(made.unwrap_or(GROUP_INVALID)) };
    status
}

/// Why there is no group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// On the root: what has failed.
    #[error("{0}")]
    Refused(String),
    /// On the other members.
    #[error("it has failed on PE {0}, which knows why")]
    OnRoot(usize),
    /// There is no such team.
    #[error("there is no such team")]
    NoTeam,
}

/// Starts PEs of `programs`, which are asked for on the root alone, for a team, collectively; the group of them.
///
/// # Errors
/// If they cannot be started. On all members.
pub fn spawn_for(
    name: &'static str,
    team: usize,
    root: c_int,
    programs: impl FnOnce() -> Vec<Program>,
) -> Result<usize, GroupError> {
    let rt = runtime::get(name);
    group_of(name, rt, team, root, |parents| {
        let programs = programs();
        let independent = programs.iter().any(|program| program.independent);
        if programs
            .iter()
            .any(|program| program.independent != independent)
        {
            return Err("independent is set for some programs alone: they are one job".to_owned());
        }
        let programs = programs.into_iter().map(Program::request).collect();
        ask(rt, parents, programs, independent)
    })
}

/// How a team is connected with a job.
pub(super) enum Way {
    /// It is on this node.
    Local(StartedJob),
    /// It is on others.
    Remote {
        invitation: Invitation,
        /// The thread of the hub, at the PE that has it.
        hub: Option<JoinHandle<()>>,
        /// By which that knows that this PE lives, which has none.
        sign: Option<TcpStream>,
    },
}

/// A job that a root has found for its team.
pub(super) struct Found {
    /// The job.
    pub way: Way,
    /// The number of the first member of the connection.
    pub first: usize,
    /// The side of the team in the connection.
    pub side: usize,
}

/// The group that a team gets collectively. `ask` is called on the root, with the number of members.
pub(super) fn group_of(
    name: &'static str,
    rt: &'static Runtime,
    team: usize,
    root: c_int,
    ask: impl FnOnce(usize) -> Result<Found, String>,
) -> Result<usize, GroupError> {
    /// Where the side is in the word that the root publishes: numbers of PEs have 31 bits.
    const SIDE: u32 = 31;

    let team = rt.teams.find(name, team).ok_or(GroupError::NoTeam)?;
    refuse_team_of_connection(name, team);
    let group = Group::of_team(&rt.node, name, team);
    let root = match usize::try_from(root) {
        Ok(root) if root < group.size => root,
        _ => fatal(
            name,
            format_args!(
                "PE_root = {root} is out of range: give 0 to {}",
                group.size - 1
            ),
        ),
    };
    let mut way = None;
    let mut refused = None;
    let mut word = 0;
    if group.me == root {
        match ask(group.size) {
            Ok(found) => {
                let number = match &found.way {
                    Way::Local(job) => job.job_number,
                    Way::Remote { invitation, .. } => invitation.number,
                };
                let place = (found.side as u64) << SIDE | found.first as u64;
                word = u64::from(number) << 32 | place;
                way = Some(found.way);
            }
            Err(why) => refused = Some(why),
        }
    }
    let word = from_root(&group, root, word);
    if word == 0 {
        return Err(refused.map_or(GroupError::OnRoot(group.pe(root)), GroupError::Refused));
    }
    let (number, place) = ((word >> 32) as u32, word as u32);
    let role = Role {
        side: (place >> SIDE) as usize,
        index: group.me,
        first: (place & !(1 << SIDE)) as usize,
        reproducible: rt.node.settings.reproducible,
        runs_kernels: false,
    };
    if number < FIRST_REMOTE {
        let job = match way {
            Some(Way::Local(job)) => job,
            _ => memory_of(name, rt, number),
        };
        return connect(name, rt, &job, role).map_err(|why| match group.me == root {
            true => GroupError::Refused(why.to_string()),
            false => GroupError::OnRoot(group.pe(root)),
        });
    }
    let (mut words, mut hub, mut alive) = ([0; Invitation::WORDS], None, None);
    if let Some(Way::Remote {
        invitation,
        hub: thread,
        sign,
    }) = way
    {
        (words, hub, alive) = (invitation.to_words(), thread, sign);
    }
    let words = words.map(|word| from_root(&group, root, word));
    let invitation = Invitation::from_words(number, words);
    let handle = join(name, rt, &invitation, role, hub);
    drop(alive);
    Ok(handle)
}

/// What the root gives to all members.
fn from_root(group: &Group<'_>, root: usize, word: u64) -> u64 {
    if group.size == 1 {
        return word;
    }
    let epoch = group.epoch();
    epoch.publish(word);
    epoch.synchronise();
    // No member publishes for the epoch after next before this PE has entered the next one.
    epoch.published(root)
}

/// Has the launcher start a job for `parents` PEs.
fn ask(
    rt: &Runtime,
    parents: usize,
    programs: Vec<ProgramRequest>,
    independent: bool,
) -> Result<Found, String> {
    if let Some(none) = programs.iter().find(|program| program.n_pes == 0) {
        return Err(format!(
            "npes of {:?} is not a number of PEs: give 1 or more",
            none.command
        ));
    }
    if programs.is_empty() {
        return Err("no program is given: give 1 or more".to_owned());
    }
    if let Some(wrong) = programs.iter().flat_map(strings_of).find(|s| has_nul(s)) {
        return Err(format!(
            "{wrong:?} has a NUL byte: no string of a process can"
        ));
    }
    let service = rt.node.job.service().map_err(|why| why.to_string())?;
    let n_pes: usize = programs.iter().map(|program| program.n_pes).sum();
    let header = rt.node.job.control.header();
    let Some(first) = take_numbers(header, &rt.node.job.placement, parents + n_pes) else {
        return Err("the numbers for PEs of other jobs are used up".to_owned());
    };
    let request = JobRequest {
        parents,
        programs,
        independent,
    };
    let job = service::start(service, &request).map_err(|e| e.to_string())?;
    Ok(Found {
        way: Way::Local(job),
        first,
        side: 0,
    })
}

fn strings_of(program: &ProgramRequest) -> impl Iterator<Item = &OsStr> {
    let lists = program.arguments.iter().chain(&program.environment);
    let directory = program.directory.as_os_str();
    lists
        .chain(&program.placement)
        .map(OsString::as_os_str)
        .chain([&*program.command, directory])
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

/// Takes `n` numbers in a row for the members of a connection, the first of which is returned.
///
/// Inlined operations find a PE by the low 12 bits of its number: those of this job's PEs are left out. Each node of a job
/// has numbers of its own to give.
pub(super) fn take_numbers(header: &Header, placement: &job::Placement, n: usize) -> Option<usize> {
    let own = placement.n_pes();
    let each = (i32::MAX as usize - own) / placement.nodes();
    let node = placement.of(placement.local_pes()[0] as usize).node as usize;
    let (begin, last) = (own + node * each, own + (node + 1) * each);
    let mut next = header.next_pe.load(Ordering::Relaxed);
    loop {
        let mut first = (next as usize).max(begin);
        let place = first % MAX_PES;
        if place < own && first >= MAX_PES {
            first += own - place;
        } else if place + n > MAX_PES {
            first += MAX_PES - place + own;
        }
        let end = u32::try_from(first + n)
            .ok()
            .filter(|end| *end as usize <= last)?;
        let taken =
            header
                .next_pe
                .compare_exchange(next, end, Ordering::Relaxed, Ordering::Relaxed);
        match taken {
            Ok(_) => return Some(first),
            Err(seen) => next = seen,
        }
    }
}

/// The memory of a job that another member has had started.
fn memory_of(name: &str, rt: &Runtime, job_number: u32) -> StartedJob {
    let service = rt.node.job.service();
    let service = service.unwrap_or_else(|why| fatal(name, why));
    service::memory(service, job_number).unwrap_or_else(|e| fatal(name, e))
}

/// The group of the PEs that have started this job; `SHMEMX_GROUP_INVALID` if there are none, or they are
/// disconnected.
pub fn parents(name: &'static str) -> usize {
    runtime::get(name).parents.load(Ordering::Relaxed)
}

/// Whether this PE is in a group that is not disconnected.
pub fn has_groups(name: &'static str) -> bool {
    let connections = &runtime::get(name).node.transport.connections;
    connections.iter().next().is_some()
}

/// The connection that a handle names; None for `SHMEMX_GROUP_INVALID`. Another handle that names none ends
/// the job.
pub(super) fn find(
    name: &str,
    rt: &'static Runtime,
    group: usize,
) -> Option<(&'static Team, &'static Connection)> {
    if group == GROUP_INVALID {
        return None;
    }
    let team = rt.teams.get(group);
    let found = team.and_then(|team| Some((team, team.connection.as_deref()?)));
    if found.is_none() {
        fatal(
            name,
            format_args!("{group:#x} is not a live group: was it disconnected?"),
        );
    }
    found
}

/// Number of PEs of a group; -1 for `SHMEMX_GROUP_INVALID`.
pub fn n_pes(name: &'static str, group: usize) -> c_int {
    let found = find(name, runtime::get(name), group);
    found.map_or(-1, |(_, connection)| connection.others().len() as c_int)
}

/// The number by which this PE's job reaches PE `pe` of a group; -1 for `SHMEMX_GROUP_INVALID`, or if the group
/// has no such PE.
pub fn pe(name: &'static str, group: usize, pe: c_int) -> c_int {
    let Some((_, connection)) = find(name, runtime::get(name), group) else {
        return -1;
    };
    let others = connection.others();
    match usize::try_from(pe) {
        Ok(pe) if pe < others.len() => (connection.first + others.start + pe) as c_int,
        _ => -1,
    }
}

/// Whether this PE is of the side that has started the other, or has accepted it.
pub fn is_first_side(name: &'static str, group: usize) -> bool {
    let found = find(name, runtime::get(name), group);
    found.is_some_and(|(_, connection)| connection.sides.own == 0)
}

/// The team of the members of both sides; `SHMEM_TEAM_INVALID` for `SHMEMX_GROUP_INVALID`.
pub fn team(name: &'static str, group: usize) -> usize {
    match find(name, runtime::get(name), group) {
        None => TEAM_INVALID,
        Some((_, connection)) if connection.remote().is_some() => {
            warn(
                name,
                "the group's PEs are on other nodes: there is no team of both sides; use the routines for groups",
            );
            TEAM_INVALID
        }
        Some((team, _)) => team.handle(),
    }
}

/// Ends a group, collectively over both sides: 0, or -1 if the other side has failed before, or for
/// `SHMEMX_GROUP_INVALID`.
pub fn disconnect(name: &'static str, group: usize) -> c_int {
    let rt = runtime::get(name);
    match find(name, rt, group) {
        Some((_, connection)) if connections::disconnect(name, rt, group, connection) => 0,
        _ => -1,
    }
}

/// Whether a group is connected, has failed, or is disconnected, as handles are that never named a group.
pub fn state(name: &'static str, group: usize) -> c_int {
    let team = runtime::get(name).teams.get(group);
    match team.and_then(|team| team.connection.as_deref()) {
        None => GROUP_DISCONNECTED,
        Some(connection) if connection.has_failed() => GROUP_FAILED,
        Some(_) => GROUP_CONNECTED,
    }
}

/// Ends the job over a routine that a team of two jobs cannot be given.
pub(crate) fn refuse_team_of_connection(name: &str, team: &Team) {
    if team.connection.is_some() {
        fatal(
            name,
            "the team is that of a group, with PEs of two jobs: give a team of this job",
        );
    }
}

/// The name of an object.
///
/// # Safety
/// `object` is a string or null.
unsafe fn object_name<'a>(name: &str, object: *const c_char) -> &'a [u8] {
    if object.is_null() {
        fatal(name, "name is a null pointer: give the name of an object");
    }
    // SAFETY: the caller promises a string.
    unsafe { CStr::from_ptr(object) }.to_bytes()
}

/// Lets PEs of other jobs import the `size` bytes at `addr`, which are symmetric, by a name: 0, or -1 and a
/// line.
///
/// # Safety
/// `object` is a string.
pub unsafe fn export(
    name: &'static str,
    object: *const c_char,
    addr: *const c_void,
    size: usize,
) -> c_int {
    // SAFETY: as the caller promises.
    let object = unsafe { object_name(name, object) };
    done(name, object, export_as(name, object, addr, size, 0))
}

/// As [`export`], of elements that `tag` describes, which is 0 for memory.
///
/// # Errors
/// If the name is no name or stands for another object, or there is no room.
pub fn export_as(
    name: &'static str,
    object: &[u8],
    addr: *const c_void,
    size: usize,
    tag: u64,
) -> Result<(), ExportError> {
    let rt = runtime::get(name);
    let space = rt.node.transport.memory.space;
    if space.kind(addr.addr(), size) == MemoryKind::NotSymmetric {
        fatal(
            name,
            format_args!(
                "addr = {addr:?}: {size} bytes are not symmetric memory: use shmem_malloc or a global variable"
            ),
        );
    }
    let exported = Exported {
        place: space.place(addr.expose_provenance()),
        size: size as u64,
        tag,
    };
    rt.node.job.control.exports().add(object, exported)
}

/// Ends the export of a name: 0, or -1 and a line.
///
/// # Safety
/// `object` is a string.
pub unsafe fn unexport(name: &'static str, object: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    let object = unsafe { object_name(name, object) };
    if end_export(name, object) { 0 } else { -1 }
}

/// Ends the export of a name; whether there was one.
pub fn end_export(name: &'static str, object: &[u8]) -> bool {
    let exports = runtime::get(name).node.job.control.exports();
    exports.remove(object)
}

fn done(name: &str, object: &[u8], result: Result<(), impl Display>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(why) => {
            let object = String::from_utf8_lossy(object);
            warn(name, &format!("\"{object}\": {why}"));
            -1
        }
    }
}

/// The address by which this PE names an object that a group has exported, for routines that are given the
/// group's PEs: a null pointer if it has none of this name, or of another number of bytes.
///
/// # Safety
/// `object` is a string.
pub unsafe fn import(
    name: &'static str,
    group: usize,
    object: *const c_char,
    size: usize,
) -> *mut c_void {
    // SAFETY: as the caller promises.
    let object = unsafe { object_name(name, object) };
    match import_as(name, group, object, size, None) {
        Ok(addr) => ptr::with_exposed_provenance_mut(addr),
        Err(ImportError::Missing) => ptr::null_mut(),
        Err(why) => {
            let object = String::from_utf8_lossy(object);
            warn(name, &format!("\"{object}\" {why}"));
            ptr::null_mut()
        }
    }
}

/// Why an object cannot be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The group has none of this name.
    #[error("is not exported")]
    Missing,
    /// It has another number of bytes.
    #[error("has {size} bytes, not {asked}")]
    Size {
        /// Its bytes.
        size: u64,
        /// The bytes asked for.
        asked: usize,
    },
    /// It has other elements.
    #[error("has elements of another type, or is shared in another way")]
    Tag,
    /// Its memory is not the heap, nor globals of the same program.
    #[error("is in memory that is not shared")]
    NotShared,
}

/// As [`import`], if the elements are those that `tag` describes.
///
/// # Errors
/// If there is no such object.
pub fn import_as(
    name: &'static str,
    group: usize,
    object: &[u8],
    size: usize,
    tag: Option<u64>,
) -> Result<usize, ImportError> {
    let rt = runtime::get(name);
    let (_, connection) = find(name, rt, group).ok_or(ImportError::Missing)?;
    let found = connection.exported(object);
    let found = found.ok_or(ImportError::Missing)?;
    if tag.is_some_and(|tag| tag != found.tag) {
        return Err(ImportError::Tag);
    }
    if found.size != size as u64 {
        return Err(ImportError::Size {
            size: found.size,
            asked: size,
        });
    }
    let space = rt.node.transport.memory.space;
    let addr = connection.address_of(space, found.place, found.size);
    addr.ok_or(ImportError::NotShared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Tuning;
    use crate::config::HeapSettings;
    use crate::job::control::Control;
    use crate::job::plan::Plan;
    use crate::platform::Machine;

    #[test]
    fn numbers_leave_out_the_elements_of_the_job() {
        for own in [1, 3, 100, 4096] {
            let machine = Machine::here();
            let plan = Plan::new(own, &machine, HeapSettings { size: None }).unwrap();
            let tuning = Tuning::default_for(2);
            let (_file, control) = Control::create(&plan, own, own, 2, tuning, 0).unwrap();
            let placement = job::Placement::one_node(own);
            let mut end = own;
            for n in [1, 7, 1500, 1500, 1500, 3, 4095] {
                let first = take_numbers(control.header(), &placement, n).unwrap();
                assert!(first >= end, "{own} {n}");
                end = first + n;
                if own + n <= MAX_PES {
                    let numbers = first..end;
                    assert!(numbers.clone().all(|pe| pe % MAX_PES >= own), "{own} {n}");
                }
            }
        }
    }
}
