//! `--check`: what the PEs find while they run, and how it is said when the job has ended.

use std::ffi::OsString;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use ferroshmem_check::Server;
use ferroshmem_check::finding::{Finding, Kind, Place};
use ferroshmem_check::layout::{header, mode};
use ferroshmem_check::memory::READS;
use ferroshmem_check::race::{OTHER_WRITES, WRITES};
use ferroshmem_check::shared::Shared;
use ferroshmem_config::{CHECK, CHECK_FILE, FABRIC_INTERFACE, inherited};
use ferroshmem_fabric::discovery;
use ferroshmem_platform::mapping::memory_file;
use rustix::io::{FdFlags, fcntl_setfd};

use super::apart::apart;
use super::check_options::{Checks, What};
use super::failure::{Failure, print_line};
use super::options::CommandLine;
use super::peers;
use crate::inspect::Image;
use crate::profile::{Object, Symbols};

/// The exit status where there are findings and the job ended well otherwise; ThreadSanitizer has the same.
const FOUND: u8 = 66;

/// What PEs load before the library.
const PRELOADED: &str = "libshmem-check.so";

/// What is said where no PE was checked.
const NO_PE: &str = "--check=memory and --check=race have seen no PE in shmem_init: they are for programs in C and C++ \
    that are linked with libshmem.so, without -DSHMEM_NATIVE_ONLY; --check=race for those of the crate ferroshmem, too";

/// What is said where memory was to be checked, and PEs have calls of the Rust API.
const NO_MEMORY: &str = "--check=memory has not looked at this program: it is for programs in C and C++ that are \
    linked with libshmem.so, and the crate ferroshmem checks bounds itself";

/// What is said where no race was found, and loads and stores were not looked at.
const NO_RACE: &str = "--check=race has found no race between calls; to have the program's loads and stores looked at, \
    too, compile it with -fsanitize=thread, and link it without that but with -lshmem-accesses";

/// The same where one was found.
const CALLS_ALONE: &str = "--check=race has looked at calls alone, and may find more where the program is compiled \
    with -fsanitize=thread, and linked without that but with -lshmem-accesses";

/// The same two of programs in Rust.
const NO_RACE_OF_RUST: &str = "--check=race has found no race between calls; loads and stores of Rust by raw pointers \
    are not seen, and those of parts in C where these are compiled with -fsanitize=thread, and linked with \
    -lshmem-accesses";
const RUST_CALLS_ALONE: &str = "--check=race has looked at calls alone, and sees loads and stores of parts in C where \
    these are compiled with -fsanitize=thread, and linked with -lshmem-accesses";

/// Findings that are shown.
const SHOWN: usize = 100;

/// A job that is checked.
#[derive(Debug)]
pub(super) struct Session {
    kept: Kept,
}

/// Where it is kept what PEs find.
#[derive(Debug)]
enum Kept {
    /// Nowhere: such findings end the job.
    Nowhere,
    /// In a file that PEs of this host map, which stays open for them.
    File(Shared, #[expect(dead_code, reason = "it is open as long")] File),
    /// Here, where PEs of any host connect.
    Here(Server),
}

impl Session {
    /// Has the PEs of `options` be checked.
    pub(super) fn begin(checks: &Checks, options: &mut CommandLine) -> Result<Self, Failure> {
        let has = |what| checks.0.contains(&what);
        if has(What::Collective) {
            set(options, CHECK.name, &"1".into());
        }
        let modes = [(What::Memory, mode::MEMORY), (What::Race, mode::RACE)];
        let modes = modes.iter().filter(|(what, _)| has(*what));
        let modes = modes.fold(0, |all, (_, mode)| all | mode);
        if modes == 0 {
            return Ok(Self { kept: Kept::Nowhere });
        }
        let preloaded = preloaded()?;
        let failed = |e| Failure::system(format!("cannot make the memory or port that --check needs: {e}"));
        let kept = match options.hosts {
            Some(_) => {
                let server = Server::listen(modes, &addresses()?).map_err(failed)?;
                options.secrets.push((CHECK_FILE.name.into(), server.word().into()));
                Kept::Here(server)
            }
            None => {
                let n_pes = options.sections.iter().map(|s| s.n_pes).sum();
                let file = memory_file(0).map_err(failed)?;
                let shared = Shared::create(&file, modes, n_pes).map_err(failed)?;
                // PEs inherit it.
                fcntl_setfd(&file, FdFlags::empty()).map_err(|e| failed(e.into()))?;
                set(options, CHECK_FILE.name, &file.as_raw_fd().to_string().into());
                Kept::File(shared, file)
            }
        };
        for section in &mut options.sections {
            peers::preload(&mut section.environment, &preloaded);
        }
        Ok(Self { kept })
    }

    /// Runs the job, and says what was found. The status to exit with.
    pub(super) fn run(&self, job: impl FnOnce() -> Result<u8, Failure>) -> Result<u8, Failure> {
        let status = match &self.kept {
            // The job's process becomes a launcher, and this one has threads.
            Kept::Here(server) => apart(job, || server.start()),
            _ => job(),
        };
        let shared = match &self.kept {
            Kept::Nowhere => return status,
            Kept::File(shared, _) => Some(shared),
            Kept::Here(server) => server.shared(),
        };
        let shared = shared.filter(|shared| shared.get(header::CHECKED) != 0);
        match shared {
            Some(shared) => say(shared, status),
            None => {
                let is_launcher = matches!(self.kept, Kept::Here(_));
                // Launchers that could not start a job have said so.
                if matches!(status, Ok(status) if status == 0 || !is_launcher) {
                    print_line(NO_PE);
                }
                status
            }
        }
    }
}

/// Says what PEs have found in a job that has ended with `status`. The status to exit with.
fn say(shared: &Shared, status: Result<u8, Failure>) -> Result<u8, Failure> {
    if shared.get(header::FULL) != 0 {
        print_line(
            "--check=race has had no room for all memory that was accessed, and may have missed races: check with \
                smaller arrays",
        );
    }
    let all = shared.findings();
    let is_race = |(found, _): &(Finding, u64)| found.kind == Kind::Race;
    let (has, is_rust) = (|what| shared.get(header::MODE) & what != 0, shared.get(header::RUST) != 0);
    if has(mode::MEMORY) && is_rust {
        print_line(NO_MEMORY);
    }
    if has(mode::RACE) && shared.get(header::LOADS_AND_STORES) == 0 {
        print_line(match (all.iter().any(is_race), is_rust) {
            (true, false) => CALLS_ALONE,
            (false, false) => NO_RACE,
            (true, true) => RUST_CALLS_ALONE,
            (false, true) => NO_RACE_OF_RUST,
        });
    }
    if all.is_empty() {
        return status;
    }
    let past_end = |zone: &Finding| {
        let is_cause = |found: &Finding| {
            found.kind == Kind::PastEnd && found.detail & READS == 0 && block(found.place) == block(zone.place)
        };
        zone.kind == Kind::RedZoneOverwritten && all.iter().any(|(found, _)| is_cause(found))
    };
    // Of a call that is known.
    let mut all: Vec<_> = all.iter().filter(|(found, _)| !past_end(found)).collect();
    all.sort_by_key(|(found, _)| (found.pe, found.site, found.kind as u64));
    let mut names = Names::new(shared);
    for (found, count) in all.iter().take(SHOWN) {
        print_line(&names.line(found));
        for line in names.details(found, *count) {
            print_line(&format!("  {line}"));
        }
    }
    let more = (all.len() + shared.get(header::LOST) as usize).saturating_sub(SHOWN);
    if more > 0 {
        print_line(&format!("and {more} findings more"));
    }
    status.map(|status| if status == 0 { FOUND } else { status })
}

/// The call that allocated the block that a place is in.
fn block(place: Place) -> Option<u32> {
    match place {
        Place::Block { site, .. } => Some(site),
        _ => None,
    }
}

/// Sets a variable for all PEs.
fn set(options: &mut CommandLine, name: &str, value: &OsString) {
    for section in &mut options.sections {
        section.environment.push((name.into(), value.clone()));
    }
}

/// Addresses of this host by which others may reach it: those of the interface that is chosen for the PEs, if one is.
fn addresses() -> Result<Vec<IpAddr>, Failure> {
    let chosen = inherited(FABRIC_INTERFACE.name.as_ref()).filter(|name| !name.is_empty());
    let found = discovery::addresses(chosen.as_ref().and_then(|name| name.to_str()));
    if found.is_empty() {
        return Err(Failure::system("this host has no network interface by which --check could be reached".to_owned()));
    }
    Ok(found)
}

/// The library that PEs load.
fn preloaded() -> Result<PathBuf, Failure> {
    let library = peers::libraries().join(PRELOADED);
    if !library.is_file() {
        let library = library.display();
        return Err(Failure::usage(format!("--check needs {library}: run oshrun from where it is installed")));
    }
    loadable(library)
}

/// The library, if PEs can load it before others.
fn loadable(library: PathBuf) -> Result<PathBuf, Failure> {
    if !library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Ok(library);
    }
    let library = library.display();
    Err(Failure::usage(format!("--check needs {library}, which no PE can load: install without spaces and colons")))
}

/// Names of places.
struct Names<'a> {
    shared: &'a Shared,
    symbols: Symbols,
    program: Option<(u32, Option<Image>)>,
}

impl<'a> Names<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, symbols: Symbols::default(), program: None }
    }

    /// `shmem_putmem at solve.c:12 (main)`.
    fn call(&mut self, site: u32) -> String {
        let Some((routine, object, address)) = self.shared.site_of(site) else {
            return "a call that there was no room to note".to_owned();
        };
        let path = object.map(|number| self.shared.object_path(number));
        // Calls of the Rust API have a line in place of an address.
        let object = path.map(|path| Object { is_source: path.ends_with(".rs"), path });
        let is_line = object.as_ref().is_some_and(|object| object.is_source);
        // The call is before the address that it returns to.
        let address = if is_line { address } else { address.saturating_sub(1) };
        let place = self.symbols.position(object.as_ref(), address);
        let function = place.function.map(|f| format!(" ({f})"));
        format!("{routine} at {}{}", place.line, function.unwrap_or_default())
    }

    /// `the variable "table"+0x8`, or `byte 8 of the block of 64 bytes that shmem_malloc at ... allocated`.
    fn memory(&mut self, place: Place) -> String {
        match place {
            Place::None => "memory".to_owned(),
            Place::Heap(address) => format!("address {address:#x} of the symmetric heap"),
            Place::Block { offset, size, site } => {
                format!("byte {offset} of the block of {size} bytes of {}", self.call(site))
            }
            Place::Global(object, address) => match self.variable(object, address) {
                Some((name, 0)) => format!("the variable \"{name}\""),
                Some((name, offset)) => format!("the variable \"{name}\"+{offset:#x}"),
                None => format!("the program's variable at {address:#x}"),
            },
        }
    }

    /// The same without the distance.
    fn whole(&mut self, place: Place) -> String {
        match place {
            Place::Block { size, site, .. } => {
                format!("the block of {size} bytes of {}", self.call(site))
            }
            Place::Global(object, address) => match self.variable(object, address) {
                Some((name, _)) => format!("the variable \"{name}\""),
                None => self.memory(place),
            },
            _ => self.memory(place),
        }
    }

    fn variable(&mut self, object: u32, address: u64) -> Option<(String, u64)> {
        if self.program.as_ref().is_none_or(|(of, _)| *of != object) {
            let path = PathBuf::from(self.shared.object_path(object));
            self.program = Some((object, Image::open(&path, &path)));
        }
        let image = self.program.as_ref()?.1.as_ref()?;
        let (name, offset) = image.variable(address)?;
        Some((name.to_owned(), offset))
    }

    /// The line of a finding.
    fn line(&mut self, found: &Finding) -> String {
        let call = self.call(found.site);
        let Finding { pe, target, bytes, .. } = *found;
        let does = if found.detail & READS != 0 { "reads" } else { "writes" };
        let other = found.other.map(|(pe, site)| (pe, self.call(site)));
        let other_call = other.as_ref().map_or("an unknown call", |(_, call)| call);
        let whole = self.whole(found.place);
        match found.kind {
            Kind::PastEnd => {
                format!("PE {pe}: {call} {does} {bytes} bytes past the end of {whole} on PE {target}")
            }
            Kind::BeforeStart => {
                format!("PE {pe}: {call} {does} {bytes} bytes before the start of {whole} on PE {target}")
            }
            Kind::Outside => format!(
                "PE {pe}: {call} {does} {bytes} bytes on PE {target} at {}, where no block is",
                self.memory(found.place)
            ),
            Kind::UseAfterFree => {
                format!("PE {pe}: {call} {does} {bytes} bytes on PE {target} of {whole}, after {other_call}")
            }
            Kind::DoubleFree => format!("PE {pe}: {call} frees {whole} again, after {other_call}"),
            Kind::Uninitialized => format!(
                "PE {pe}: {call} reads {bytes} bytes on PE {target} that nobody has written: {}",
                self.memory(found.place)
            ),
            Kind::RedZoneOverwritten => {
                format!("PE {target}: past the end of {whole}, memory was overwritten before {call}")
            }
            Kind::FreedOverwritten => {
                format!("PE {target}: {whole} was written after {other_call}")
            }
            Kind::SourceChanged => {
                format!("PE {pe}: the source of {call} to PE {target} was changed before {other_call} completed it")
            }
            Kind::SourceUnmapped => {
                format!("PE {pe}: the source of {call} to PE {target} was unmapped before {other_call} completed it")
            }
            Kind::Leak => format!("PE {pe}: {} blocks of {call}, {bytes} bytes, were never freed", found.detail),
            Kind::Race => {
                let (by, other) = other.unwrap_or_default();
                let is_own = by == pe;
                let mut both = [(by, other, found.detail & OTHER_WRITES), (pe, call, found.detail & WRITES)];
                // Which came first says nothing.
                both.sort_by_key(|(pe, ..)| *pe);
                let [(first, call, writes), (second, other, also_writes)] = both;
                let what = match (writes != 0, also_writes != 0) {
                    (true, true) => "both write",
                    (true, false) => "the first writes, and the second reads",
                    (false, _) => "the first reads, and the second writes",
                };
                let whose = if is_own { "its".to_owned() } else { format!("PE {second}'s") };
                format!(
                    "PE {first}'s {call} and {whose} {other} race: {what} {} on PE {target}",
                    self.memory(found.place)
                )
            }
        }
    }

    /// What follows it.
    fn details(&mut self, found: &Finding, count: u64) -> Vec<String> {
        let remedy = match found.kind {
            Kind::PastEnd | Kind::BeforeStart => Some(format!("it begins at {}", self.memory(found.place))),
            Kind::RedZoneOverwritten => Some(format!(
                "the first byte that changed is {}: a store of this PE, or of another by shmem_ptr",
                self.memory(found.place)
            )),
            Kind::UseAfterFree | Kind::FreedOverwritten => Some("a pointer is used that was valid before".to_owned()),
            Kind::Race if found.other.is_some_and(|(pe, _)| pe == found.pe) => Some(
                "nothing orders them: shmem_quiet or a barrier would, or shmem_fence if both are puts, or atomics \
                    without a result"
                    .to_owned(),
            ),
            Kind::Race => Some(
                "nothing orders them: a barrier, or shmem_fence and a signal that the other waits for, or a lock \
                    around both, would"
                    .to_owned(),
            ),
            Kind::SourceChanged | Kind::SourceUnmapped => {
                Some("leave the source as it is until shmem_quiet, or use a blocking put".to_owned())
            }
            _ => None,
        };
        let often = (count > 1).then(|| format!("found {count} times, by one PE or several"));
        remedy.into_iter().chain(often).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_libraries_is_refused_in_their_paths() {
        assert!(loadable("/usr/lib/a.so".into()).is_ok());
        for path in ["/my lib/a.so", "/lib:1/a.so"] {
            assert!(loadable(path.into()).unwrap_err().to_string().contains("install without"), "{path}");
        }
    }
}
