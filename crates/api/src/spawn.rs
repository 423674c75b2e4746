//! Jobs that grow (extension): PEs that are started while the job runs.
//!
//! Spawning has the meaning that `MPI_Comm_spawn` gives it. What differs is what follows: memory of the other
//! job is reached by the routines for memory of one's own.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_long};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ferroshmem_config::{self as config, SYMMETRIC_SIZE};
use ferroshmem_core::constants::{
    SPAWN_ALL_FIELDS, SPAWN_ARGV, SPAWN_BIND_TO, SPAWN_CORES, SPAWN_CPUS, SPAWN_ENV, SPAWN_HOST, SPAWN_INDEPENDENT,
    SPAWN_MAP_BY, SPAWN_SHEAP_SIZE, SPAWN_WDIR,
};
use ferroshmem_core::failure::fatal::fatal;
pub use ferroshmem_core::job::service::Program;
use ferroshmem_core::job::service::{self, JobRequest};
use ferroshmem_runtime::{self as runtime, Runtime};

use super::connecting::{Found, GroupError, JobLocation, group_of, return_group, take_numbers};
use super::launched;

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

/// The variable that gives PEs a symmetric heap of so many bytes.
pub fn heap_variable(bytes: usize) -> (OsString, OsString) {
    (SYMMETRIC_SIZE.name.into(), bytes.to_string().into())
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
        fatal(name, format_args!("config_mask = {mask:#x}: give a combination of SHMEMX_SPAWN_*"));
    }
    if mask != 0 && config.is_null() {
        fatal(name, "config is a null pointer, but config_mask is not 0: give a configuration, or the mask 0");
    }
    // No reference to the whole: programs that were compiled before have the first fields alone.
    let is_set = |field: c_long| mask & field & !SPAWN_ALL_FIELDS != 0;
    // SAFETY: the caller promises a string or null.
    let Some(command) = (unsafe { text(command) }) else {
        fatal(name, "command is a null pointer: give a program");
    };
    let mut program = Program { command, n_pes: usize::try_from(n_pes).unwrap_or(0), ..Program::default() };
    // SAFETY: the caller promises that the fields are valid which the mask names.
    let (arguments, environment, directory, heap_size, placement, independent) = unsafe {
        (
            is_set(SPAWN_ARGV).then(|| strings((*config).argv)),
            is_set(SPAWN_ENV).then(|| strings((*config).env)),
            is_set(SPAWN_WDIR).then(|| text((*config).wdir)).flatten(),
            is_set(SPAWN_SHEAP_SIZE).then(|| (*config).sheap_size),
            [
                ("bind_to", is_set(SPAWN_BIND_TO).then(|| text((*config).bind_to)).flatten()),
                ("map_by", is_set(SPAWN_MAP_BY).then(|| text((*config).map_by)).flatten()),
                ("cores", is_set(SPAWN_CORES).then(|| (*config).cores.to_string().into())),
                ("cpus", is_set(SPAWN_CPUS).then(|| text((*config).cpus)).flatten()),
                ("host", is_set(SPAWN_HOST).then(|| text((*config).host)).flatten()),
            ],
            is_set(SPAWN_INDEPENDENT) && (*config).independent != 0,
        )
    };
    for text in environment.unwrap_or_default() {
        // A name that begins with `=` may be inherited, and is none to give.
        let Some(variable) = service::variable(&text).filter(|_| !text.as_bytes().starts_with(b"=")) else {
            fatal(name, format_args!("env has {text:?}: give variables as NAME=VALUE"));
        };
        program.environment.push(variable);
    }
    if let Some(size) = heap_size {
        program.environment.push(heap_variable(size));
    }
    for (option, value) in placement {
        if let Some(value) = value {
            program.place(option, value);
        }
    }
    Program { arguments: arguments.unwrap_or_default(), directory: directory.map(Into::into), independent, ..program }
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
    unsafe { return_group(name, made, children) }
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
            fatal(name, "no program is given: give count of 1 or more, commands and npes");
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
    unsafe { return_group(name, made, children) }
}

/// Starts PEs of `programs`, which are asked for on the root alone, for a team, collectively; the group of them. They
/// may be started by another launcher, which connects jobs as those of different nodes are.
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
        let mut programs = programs();
        let independent = programs.iter().any(|program| program.independent);
        if programs.iter().any(|program| program.independent != independent) {
            return Err("independent is set for some programs alone: they are one job".to_owned());
        }
        let is_by_oshrun = rt.node.job.may_have_service();
        for program in &mut programs {
            let inherited = config::inherited_all().filter(|(name, _)| is_by_oshrun || launched::is_handed_on(name));
            program.environment.splice(0..0, inherited);
            program.directory.get_or_insert_with(|| std::env::current_dir().unwrap_or_else(|_| "/".into()));
        }
        let n_pes = number_of_pes(&programs)?;
        match is_by_oshrun {
            true => request_job(rt, parents, programs, n_pes),
            false => launched::start(name, rt, parents, (&programs, n_pes), independent),
        }
    })
}

/// How many PEs are to be started, if that can be.
fn number_of_pes(programs: &[Program]) -> Result<usize, String> {
    if let Some(none) = programs.iter().find(|program| program.n_pes == 0) {
        return Err(format!("npes of {:?} is not a number of PEs: give 1 or more", none.command));
    }
    if programs.is_empty() {
        return Err("no program is given: give 1 or more".to_owned());
    }
    if programs.iter().flat_map(|program| &program.environment).any(|(name, _)| name.is_empty()) {
        return Err("a variable of the environment has no name".to_owned());
    }
    if let Some(wrong) = programs.iter().flat_map(strings_of).find(|s| has_nul(s)) {
        return Err(format!("{wrong:?} has a NUL byte: no string of a process can"));
    }
    Ok(programs.iter().fold(0, |n_pes, program| n_pes.saturating_add(program.n_pes)))
}

/// Has `oshrun` start a job of `n_pes` PEs for `parents`.
fn request_job(rt: &Runtime, parents: usize, programs: Vec<Program>, n_pes: usize) -> Result<Found, String> {
    let service = rt.node.job.service().map_err(|why| why.to_string())?;
    let header = rt.node.job.control.header();
    let Some(first) = take_numbers(header, &rt.node.job.placement, parents.saturating_add(n_pes)) else {
        return Err("the numbers for PEs of other jobs are used up".to_owned());
    };
    let request = JobRequest { parents, programs };
    let job = service::start(service, &request).map_err(|e| e.to_string())?;
    Ok(Found { location: JobLocation::Local(job), first, group: 0 })
}

fn strings_of(program: &Program) -> impl Iterator<Item = &OsStr> {
    let variables = program.environment.iter().flat_map(|(name, value)| [name, value]);
    let lists = program.arguments.iter().chain(variables).chain(&program.placement).chain([&program.command]);
    lists.map(OsString::as_os_str).chain(program.directory.as_deref().map(Path::as_os_str))
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}
