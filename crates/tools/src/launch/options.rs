//! The command line of `oshrun`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, ValueEnum};
use ferroshmem_config::{self as config, HANG_HINT, HANG_TIMEOUT};
use ferroshmem_core::job::service::Program;

use super::check_options::{CheckArgs, Checks};
use super::completions::Completions;
use super::debugging::{Debugger, DebuggingArgs};
use super::failure::Failure;
use super::help::{DETAILS, PROGRAMS, STREAMS, USAGE, summary};
use super::hosts::launch::HostLaunch;
use super::hosts::list::check_room;
use super::hosts::options::{Destination, HostOptions};
use super::peers::{self, Peer};
use super::profiling::{Asked, Profiling, ProfilingArgs, SavedRecords};
use super::program;
use super::status_options::{StatusArgs, StatusPlan};
use super::values::{HintTime, cores, count, microseconds, seconds, seconds_or_none};
use super::words::{divide, variable};
use crate::terminal::columns;

/// Which cores a PE may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Binding {
    /// A share of the cores each, if the PEs fit: one, or as many as it has threads, or all, evenly.
    Auto,
    /// One hardware thread each; in turn where PEs outnumber them.
    Hwthread,
    /// One core each; in turn where PEs outnumber cores.
    Core,
    /// The cores of one last-level cache.
    L3cache,
    /// The cores of one NUMA node.
    Numa,
    /// The cores of one socket.
    Socket,
    /// Every core that oshrun may use.
    None,
}

/// In which order PEs are given cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mapping {
    /// Next to each other: on one cache, then on one NUMA node, then on one socket.
    Compact,
    /// As far from each other as there is room.
    Spread,
}

/// Which PE reads standard input; the others find it empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// This one.
    Pe(usize),
    /// None.
    None,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pe(pe) => write!(f, "{pe}"),
            Self::None => f.write_str("none"),
        }
    }
}

/// Options of each program.
#[derive(Debug, Args)]
#[command(next_help_heading = PROGRAMS)]
struct SectionArgs {
    /// Number of PEs; without it, one for each core that oshrun may use, or each slot of the hosts
    #[arg(short = 'n', long = "np", alias = "n", value_name = "N", value_parser = count, allow_negative_numbers = true)]
    n_pes: Option<usize>,
    /// Sets a variable for the PEs, or checks that it is set: they inherit the whole environment
    #[arg(short = 'x', value_name = "VAR[=VALUE]")]
    variables: Vec<OsString>,
    /// Runs the PEs in this directory
    #[arg(long, alias = "wd", value_name = "DIR")]
    wdir: Option<PathBuf>,
}

/// What PEs write and read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = STREAMS)]
pub(super) struct StreamArgs {
    /// Marks each line of output with the number of its PE
    #[arg(long)]
    pub label: bool,
    /// Writes the output of PE i to DIR/pe.i.out and DIR/pe.i.err, or to one file where %t stands for i
    #[arg(long, value_name = "DIR|NAME.%t", conflicts_with = "label")]
    pub output: Option<PathBuf>,
    /// The PE that reads standard input: its number, or none
    #[arg(long, value_name = "PE", value_parser = input, default_value = "0")]
    pub stdin: Input,
    /// Shows what is started, and how it ends
    #[arg(short, long, overrides_with = "verbose")]
    pub verbose: bool,
}

/// When a job ends, or is looked at.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Time limits")]
pub(super) struct TimeArgs {
    /// Ends the job after this time (fractions allowed), and shows what each PE waited for
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,
    /// Ends the job if a PE has waited, and none has made progress, for this time, and shows what each PE does
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub hang_timeout: Option<Duration>,
    /// Shows that, and lets the job go on, after this time without progress; none: never
    #[arg(
        long, value_name = "SECONDS", value_parser = seconds_or_none, default_value = "60",
        allow_negative_numbers = true
    )]
    pub hang_hint: HintTime,
    /// Ends the job if PEs that it has spawned neither come to shmem_init nor use a core for this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60", allow_negative_numbers = true)]
    pub spawn_timeout: Duration,
}

/// Which cores PEs have.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Cores")]
pub(super) struct CoreArgs {
    /// Where PEs outnumber cores, a PE that another waits for gets the core after this time: for programs that look at
    /// memory in loops of their own
    #[arg(long, value_name = "MICROSECONDS", value_parser = microseconds, allow_negative_numbers = true)]
    pub time_slice: Option<Duration>,
    /// What each PE is bound to
    #[arg(long, value_name = "WHAT", value_enum, default_value = "auto")]
    pub bind_to: Binding,
    /// The order in which PEs are given cores
    #[arg(long, value_name = "ORDER", value_enum, default_value = "compact")]
    pub map_by: Mapping,
    /// Cores of each PE, for --bind-to auto or core; without it, as many as its threads by OMP_NUM_THREADS
    #[arg(long, value_name = "N", value_parser = cores)]
    pub cores: Option<usize>,
    /// Shows what each PE is bound to, or why PEs are not bound
    #[arg(long)]
    pub report_bindings: bool,
}

/// Runs an OpenSHMEM program on the PEs of this node, or of several hosts
#[derive(Debug, Parser)]
#[command(name = "oshrun", version, override_usage = USAGE, after_help = DETAILS, term_width = columns())]
struct FirstArgs {
    #[command(flatten)]
    section: SectionArgs,
    #[command(flatten)]
    streams: StreamArgs,
    #[command(flatten)]
    times: TimeArgs,
    #[command(flatten)]
    placement: CoreArgs,
    /// Prints what a shell reads to complete command lines of oshrun, and runs nothing
    #[arg(long, value_name = "SHELL", value_enum)]
    generate: Option<Completions>,
    /// As -x, for the programs of all sections
    #[arg(long, hide = true)]
    global_variable: Vec<OsString>,
    /// Runs programs that were compiled for another OpenSHMEM library; those whose files name it are found without
    #[arg(long, value_name = "LIBRARY", value_enum, help_heading = PROGRAMS)]
    compat: Option<Peer>,
    #[command(flatten)]
    profiling: ProfilingArgs,
    #[command(flatten)]
    check: CheckArgs,
    #[command(flatten)]
    debugging: DebuggingArgs,
    #[command(flatten)]
    status: StatusArgs,
    #[command(flatten)]
    hosts: HostOptions,
}

#[derive(Debug, Parser)]
#[command(name = "oshrun", override_usage = USAGE, disable_help_flag = true)]
struct LaterArgs {
    #[command(flatten)]
    section: SectionArgs,
}

/// The command line.
#[derive(Debug)]
pub(super) struct CommandLine {
    /// The programs, at least one.
    pub sections: Vec<Program>,
    /// What PEs write and read.
    pub streams: StreamArgs,
    /// When the job ends, or is looked at.
    pub times: TimeArgs,
    /// Which cores PEs have.
    pub placement: CoreArgs,
    /// The CPUs that the PEs may use, if not all that `oshrun` may.
    pub cpus: Option<BTreeSet<usize>>,
    /// What is to be shown of the job afterwards.
    pub profiling: Option<Profiling>,
    /// What is to be checked.
    pub checks: Option<Checks>,
    /// What is shown of the PEs' counters.
    pub status: StatusPlan,
    /// Debuggers that are started beside PEs.
    pub debugger: Option<Debugger>,
    /// What PEs load that translates for programs of another OpenSHMEM, if that is said.
    pub translator: Option<PathBuf>,
    /// Variables of PEs on other hosts that no command line may show.
    pub secrets: Vec<(OsString, OsString)>,
    /// How the job is started on other hosts, if it is.
    pub hosts: Option<HostLaunch>,
}

impl CommandLine {
    /// Has programs that were compiled for another library load what translates: those of which it is said, and on
    /// other hosts those whose file is here, too, and says so. Here, each is looked at before it runs.
    pub(super) fn translate(&mut self) {
        for section in &mut self.sections {
            let found = match (&self.translator, &self.hosts) {
                (Some(library), _) => Some(library.clone()),
                (None, Some(_)) => program::translator(section),
                (None, None) => None,
            };
            if let Some(library) = found {
                peers::translate(&mut section.environment, &library);
            }
        }
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub(super) enum Request {
    /// To run a job.
    Job(Box<CommandLine>),
    /// To show what an earlier one recorded.
    SavedRecords(SavedRecords),
}

fn input(text: &str) -> Result<Input, String> {
    match text.parse() {
        Ok(pe) => Ok(Input::Pe(pe)),
        Err(_) if text == "none" => Ok(Input::None),
        Err(_) => Err("give the number of a PE, or none; PE 0 reads what < FILE after the command names".to_owned()),
    }
}

/// Reads the command line of a job, without the name of `oshrun` itself. `cores` is the number of
/// PEs where none is given.
pub(super) fn parse(arguments: Vec<OsString>, cores: usize) -> Result<CommandLine, Failure> {
    match read(arguments, cores)? {
        Request::Job(options) => Ok(*options),
        Request::SavedRecords(_) => Err(Failure::usage("--profile-from runs no job")),
    }
}

/// Reads any command line.
pub(super) fn read(arguments: Vec<OsString>, cores: usize) -> Result<Request, Failure> {
    let mut groups = arguments.split(|a| a == ":");
    let (options, command) = divide::<FirstArgs>(groups.next().unwrap_or_default())?;
    if options.iter().any(|o| o == "-h") {
        return Err(Failure::Answer(summary()));
    }
    let mut first = FirstArgs::try_parse_from(options).map_err(|e| from_clap(&e))?;
    if let Some(shell) = first.generate {
        return Err(Failure::Answer(shell.script(&mut FirstArgs::command())));
    }
    first.placement.bind_to = first.placement.binding()?;
    let hang = first.times.hang_variables();
    let rest: Vec<_> = groups.collect();
    let profiling = match first.profiling.read()? {
        Asked::Job(profiling) => profiling,
        Asked::SavedRecords(kept) if rest.is_empty() && command.is_empty() => {
            return Ok(Request::SavedRecords(kept));
        }
        Asked::SavedRecords(_) => {
            let line = "--profile-from shows what an earlier job recorded: give no program";
            return Err(Failure::usage(line));
        }
    };
    if rest.is_empty() && command.is_empty() {
        return Err(Failure::usage("no program given: see oshrun --help"));
    }
    let destination = first.hosts.destination()?;
    let default = match &destination {
        Destination::ThisHost(slots) => Some(slots.unwrap_or(cores)),
        Destination::Hosts(launch) => launch.default_pes(),
    };
    let default = default.filter(|_| rest.is_empty());
    let mut sections = vec![section(first.section, command, default)?];
    for group in rest {
        let (options, command) = divide::<LaterArgs>(group)?;
        let later = LaterArgs::try_parse_from(options).map_err(|e| from_clap(&e))?;
        sections.push(section(later.section, command, None)?);
    }
    let global = first.global_variable.iter().map(|v| variable(v));
    let global = global.collect::<Result<Vec<_>, _>>()?;
    for section in &mut sections {
        // What a section sets itself comes last, which counts.
        section.environment.splice(0..0, global.iter().cloned());
    }
    let on_hosts = matches!(destination, Destination::Hosts(_));
    if on_hosts {
        for section in &mut sections {
            add_unset(section, &hang);
        }
    }
    let n_pes: usize = sections.iter().map(|s| s.n_pes).sum();
    let status = first.status.read(on_hosts)?;
    let (debugger, mut variables) = first.debugging.read(n_pes, on_hosts)?;
    variables.extend(status.variables(on_hosts));
    for (name, value) in variables {
        for section in &mut sections {
            let pair = (name.into(), value.clone().into());
            section.environment.push(pair);
        }
    }
    if debugger.is_some() {
        // It is the debugger's.
        first.streams.stdin = Input::None;
    }
    if let Destination::ThisHost(Some(slots)) = destination {
        check_room(slots, n_pes)?;
    }
    if let Input::Pe(pe) = first.streams.stdin
        && pe >= n_pes
    {
        let line = format!("--stdin {pe}: there are PEs 0 to {}", n_pes - 1);
        return Err(Failure::usage(line));
    }
    let options = CommandLine {
        sections,
        streams: first.streams,
        times: first.times,
        placement: first.placement,
        cpus: None,
        profiling,
        checks: first.check.read(),
        debugger,
        status,
        translator: first.compat.map(Peer::only_translator).transpose()?,
        secrets: Vec::new(),
        hosts: match destination {
            Destination::Hosts(launch) => Some(launch),
            Destination::ThisHost(_) => None,
        },
    };
    Ok(Request::Job(Box::new(options)))
}

impl CoreArgs {
    /// What PEs are bound to, where the number of their cores may be given.
    fn binding(&self) -> Result<Binding, Failure> {
        match (self.cores, self.bind_to) {
            (None, binding) => Ok(binding),
            (Some(_), Binding::Auto | Binding::Core) => Ok(Binding::Auto),
            (Some(_), _) => Err(Failure::usage(
                "--cores N is for --bind-to auto or core: other bindings say how many cores there are",
            )),
        }
    }
}

impl TimeArgs {
    /// Variables by which PEs of other hosts watch for hangs themselves, in whole seconds: no oshrun watches them.
    fn hang_variables(&self) -> Vec<(&'static str, u64)> {
        let whole = |limit: Option<Duration>| limit.map_or(0, |l| l.as_secs_f64().ceil() as u64);
        let limits = [(HANG_HINT.name, whole(self.hang_hint.0), 60), (HANG_TIMEOUT.name, whole(self.hang_timeout), 0)];
        let given = limits.iter().filter(|(_, seconds, default)| seconds != default);
        given.map(|(name, seconds, _)| (*name, *seconds)).collect()
    }
}

/// Sets the variables that neither the section nor the environment sets.
fn add_unset(section: &mut Program, variables: &[(&str, u64)]) {
    for (name, value) in variables {
        let is_set = section.environment.iter().any(|(n, _)| n == name);
        if !is_set && config::inherited(name.as_ref()).is_none() {
            section.environment.push((name.into(), value.to_string().into()));
        }
    }
}

fn section(args: SectionArgs, command: &[OsString], default: Option<usize>) -> Result<Program, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Failure::usage("no program on one side of a ':'"));
    };
    let Some(n_pes) = args.n_pes.or(default) else {
        let name = program.to_string_lossy();
        return Err(Failure::usage(format!("give each program of several its number of PEs: -n N before \"{name}\"")));
    };
    let variables = args.variables.iter().map(|v| variable(v));
    Ok(Program {
        n_pes,
        command: program.clone(),
        arguments: arguments.to_vec(),
        environment: variables.collect::<Result<_, _>>()?,
        directory: args.wdir,
        ..Program::default()
    })
}

/// Help and version are as clap prints them; an error becomes one line.
fn from_clap(error: &clap::Error) -> Failure {
    use clap::error::ErrorKind;
    let text = error.render();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Failure::Answer(text.ansi().to_string());
    }
    let text = text.to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more"));
    let line = lines.collect::<Vec<_>>().join("; ").replace(":; ", ": ");
    Failure::usage(line.strip_prefix("error: ").unwrap_or(&line))
}

#[cfg(test)]
mod tests {
    use super::super::check_options::What;
    use super::super::help::SUMMARY;
    use super::super::words::long;
    use super::*;

    fn read(line: &str) -> Result<CommandLine, String> {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        parse(arguments, 6).map_err(|f| f.to_string())
    }

    #[test]
    fn records_of_an_earlier_job_are_shown_without_a_program() {
        for line in [
            "--profile-from d --trace a.html",
            "--profile-from d --profile=a.html --trace=a.json --trace-window 1:2 --trace-pes 0-3",
        ] {
            assert_eq!(read(line).unwrap_err(), "--profile-from runs no job");
        }
        for (line, words) in [
            ("--profile-from d", "--trace FILE"),
            ("--profile-from d --trace a.html b", "give no program"),
            ("--trace a.html --trace-window 2:1 b", "FROM:TO"),
            ("--trace-window 1:2 b", "--trace"),
            ("--trace a.html", "no program given"),
        ] {
            let line = read(line).unwrap_err();
            assert!(line.contains(words), "{line}");
        }
        assert!(read("--trace a.html --trace-window 1:2 b").is_ok());
    }

    fn counts(line: &str) -> Vec<usize> {
        read(line).unwrap().sections.iter().map(|s| s.n_pes).collect()
    }

    #[test]
    fn every_form_of_the_number_of_pes() {
        for line in ["-n 4 a", "-n4 a", "-np 4 a", "--np 4 a", "--np=4 a", "-np=4 a", "-n=4 a"] {
            assert_eq!(counts(line), [4], "{line}");
        }
        assert_eq!(counts("a"), [6]);
        assert_eq!(counts("-n 4096 a"), [4096]);
        for line in ["-n 0 a", "-n 4097 a", "-n 100000 a", "-n abc a", "-n -1 a", "-n 1.5 a", "-n"] {
            let error = read(line).unwrap_err();
            assert!(!error.contains('\n') && error.contains("-n"), "{line}: {error}");
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let o = read("-n 2 --label ./a -np 3 --label -x FOO -- --timeout").unwrap();
        assert!(o.streams.label && o.times.timeout.is_none());
        assert_eq!(o.sections[0].command, "./a");
        assert_eq!(o.sections[0].arguments, ["-np", "3", "--label", "-x", "FOO", "--", "--timeout"]);
        assert_eq!(read("-n 1 -- -odd- x").unwrap().sections[0].command, "-odd-");
    }

    #[test]
    fn several_programs() {
        let o = read("-n 2 --label ./a 1 : -np 3 -wdir /tmp ./b : -n 1 ./a").unwrap();
        let programs: Vec<_> = o.sections.iter().map(|s| s.command.to_str().unwrap()).collect();
        assert_eq!(programs, ["./a", "./b", "./a"]);
        assert_eq!(o.sections[1].directory, Some(PathBuf::from("/tmp")));
        assert_eq!(o.sections[1].n_pes, 3);
        assert_eq!(o.sections[0].arguments, ["1"]);
        assert!(read("-n 2 a : b").unwrap_err().contains("before \"b\""));
        assert!(read("a : -n 2 b").unwrap_err().contains("before \"a\""));
        for line in ["-n 1 a :", ": -n 1 a", "-n 1 a : : -n 1 b", ":"] {
            assert!(read(line).unwrap_err().contains("':'"), "{line}");
        }
        assert!(read("-n 1 a : -n 1 --label b").unwrap_err().contains("--label"));
    }

    #[test]
    fn variables() {
        let o = read("-n 1 -x A=1 -xB=x=y -x PATH -x E= a").unwrap();
        let pairs: Vec<_> = o.sections[0].environment.iter().map(|(n, v)| (n.to_str(), v.to_str())).collect();
        let path = std::env::var("PATH").unwrap();
        let expected = [("A", "1"), ("B", "x=y"), ("PATH", &path), ("E", "")];
        assert_eq!(pairs, expected.map(|(n, v)| (Some(n), Some(v))));
        let error = read("-n 1 -x FERROSHMEM_NO_SUCH_VARIABLE a").unwrap_err();
        assert!(error.contains("is not set"), "{error}");
        assert!(read("-n 1 -x =1 a").is_err());
    }

    #[test]
    fn times() {
        assert_eq!(read("--timeout 0.5 a").unwrap().times.timeout, Some(Duration::from_millis(500)));
        let spawn_timeout = |line| read(line).unwrap().times.spawn_timeout;
        assert_eq!(spawn_timeout("a"), Duration::from_secs(60));
        assert_eq!(spawn_timeout("--spawn-timeout 5 a"), Duration::from_secs(5));
        for bad in ["0", "-1", "x", "nan", "inf"] {
            assert!(read(&format!("--timeout {bad} a")).is_err(), "{bad}");
            assert!(read(&format!("--spawn-timeout {bad} a")).is_err(), "{bad}");
        }
    }

    #[test]
    fn standard_input_goes_where_it_is_said() {
        assert_eq!(read("-n 2 a").unwrap().streams.stdin, Input::Pe(0));
        assert_eq!(read("-n 2 --stdin 1 a").unwrap().streams.stdin, Input::Pe(1));
        assert_eq!(read("-n 2 -stdin none a").unwrap().streams.stdin, Input::None);
        let error = read("-n 2 --stdin 2 a").unwrap_err();
        assert!(error.contains("PEs 0 to 1"), "{error}");
        assert!(read("--stdin all a").unwrap_err().contains("none"));
    }

    #[test]
    fn cores_are_for_two_bindings() {
        let o = read("--cores 2 --bind-to core a").unwrap();
        assert_eq!((o.placement.cores, o.placement.bind_to), (Some(2), Binding::Auto));
        let error = read("--cores 2 --bind-to numa a").unwrap_err();
        assert!(error.contains("--cores N is for"), "{error}");
        assert!(read("--cores 0 a").is_err());
    }

    #[test]
    fn pes_per_host() {
        assert_eq!(counts("--ppn 3 a"), [3]);
        assert_eq!(counts("--hosts localhost -ppn 5 a"), [5]);
        assert_eq!(counts("-n 2 --ppn 3 a"), [2]);
        assert!(read("-n 4 --ppn 3 a").unwrap_err().contains("slots for 3"));
        assert_eq!(counts("--hosts node1:7,node2 --ppn 3 a"), [6]);
    }

    #[test]
    fn the_short_help_fits_a_screen_and_the_long_one_has_groups() {
        let short = read("-n 2 -h a").unwrap_err();
        assert!(short.lines().count() < 24 && short.lines().all(|l| l.len() < 80), "{short}");
        let words = SUMMARY.split([' ', ',', ';', '=', ':', '\n']).filter(|w| w.starts_with("--") && *w != "--help");
        for word in words {
            assert!(long(&FirstArgs::command(), &word.as_bytes()[2..]).is_some(), "{word}");
        }
        let all = read("--help").unwrap_err();
        for heading in [
            "Programs:", "Output and input:", "Time limits:", "Cores:", "Profiles:", "Checks and debugging:",
            "Counters:", "Other hosts:",
        ] {
            // In bold type.
            assert_eq!(all.lines().filter(|l| l.starts_with('\x1b') && l.contains(heading)).count(), 1, "{heading}");
        }
        assert!(read("-n 2 a -h").is_ok());
    }

    #[test]
    fn errors_are_one_line() {
        for line in ["", "--labl a", "-y a", "--bind-to board a", "--label --output d a", "--timeout"] {
            let error = read(line).unwrap_err();
            assert!(!error.contains('\n'), "{error}");
        }
        assert!(read("--labl a").unwrap_err().contains("--label"));
        assert!(read("--help").unwrap_err().contains("--bind-to"));
        // Users ask for checks before they give the number of PEs.
        let checked = read("--check -n 2 a").unwrap();
        assert_eq!((checked.sections[0].n_pes, checked.checks.unwrap().0), (2, vec![What::Collective, What::Memory]));
        let asked = read("--check=memory,race a").unwrap().checks.unwrap();
        assert_eq!(asked.0, [What::Memory, What::Race]);
        assert!(read("--check=all a").unwrap_err().contains("collective"));
    }

    #[test]
    fn the_parsers_are_consistent() {
        FirstArgs::command().debug_assert();
        LaterArgs::command().debug_assert();
    }
}
