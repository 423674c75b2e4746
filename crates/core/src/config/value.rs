//! The types of values: how each is read, what it accepts, what holds by default.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use ferroshmem_fabric::Aggregate;

use super::environment::Environment;
use crate::choice::{Choice, Collective};

/// A value that cannot be read: one line that names variable and value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Neither 0 nor 1.
    #[error("{variable}: cannot read \"{value}\": give 0 or 1")]
    Flag {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// No whole number.
    #[error("{variable}: cannot read \"{value}\" as a number")]
    Number {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// No size.
    #[error(
        "{variable}: cannot read \"{value}\" as a size: give bytes, or a number with k, m, g or t (512m, 1.5g)"
    )]
    Size {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// Neither a length nor one with a time.
    #[error(
        "{variable}: cannot read \"{value}\": give 0, auto, the bytes of the longest put, or bytes,microseconds (256,500)"
    )]
    Aggregate {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// No list of sockets.
    #[error(
        "{variable}: cannot read \"{value}\" as sockets: give auto, off, or the socket of each PE, as in 0*2,1*2"
    )]
    Sockets {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// No algorithm of this collective.
    #[error("{variable}: \"{value}\" is no algorithm of {}: give auto, {}", .collective.name(), choices(*.collective))]
    Algorithm {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The collective.
        collective: Collective,
    },
}

impl ConfigError {
    /// The variable whose value cannot be read.
    pub fn variable(&self) -> &'static str {
        match self {
            Self::Flag { variable, .. }
            | Self::Number { variable, .. }
            | Self::Size { variable, .. }
            | Self::Aggregate { variable, .. }
            | Self::Sockets { variable, .. }
            | Self::Algorithm { variable, .. } => variable,
        }
    }
}

/// All choices of a collective, in a list.
fn choices(collective: Collective) -> String {
    let names = collective.choices().iter().map(ToString::to_string);
    names.collect::<Vec<_>>().join(", ")
}

/// A type of values.
pub trait ValueType: Sync {
    /// What a value is read as.
    type Value: PartialEq;

    /// What a value looks like, for the table's users.
    fn accepts(&self) -> String;

    /// What holds where the variable is unset, for the table's users.
    fn default(&self) -> String;

    /// Reads what is `given` for variable `name`, or returns the default, which may depend on
    /// the rest of the `environment`.
    ///
    /// # Errors
    /// What is given is no value of this type.
    fn read(
        &self,
        name: &'static str,
        given: Option<OsString>,
        environment: &Environment<'_>,
    ) -> Result<Self::Value, ConfigError>;
}

/// Text of a value; what is not UTF-8 is read lossily.
fn text(given: Option<OsString>) -> Option<String> {
    given.map(|value| value.to_string_lossy().into_owned())
}

/// Set, to any value, or unset.
#[derive(Debug)]
pub struct Switch;

impl ValueType for Switch {
    type Value = bool;

    fn accepts(&self) -> String {
        "any value".to_owned()
    }

    fn default(&self) -> String {
        "unset".to_owned()
    }

    fn read(
        &self,
        _: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<bool, ConfigError> {
        Ok(given.is_some())
    }
}

/// 0 or 1.
#[derive(Debug)]
pub struct Flag {
    /// Where the variable is unset or empty.
    pub default: bool,
}

impl ValueType for Flag {
    type Value = bool;

    fn accepts(&self) -> String {
        "0 or 1".to_owned()
    }

    fn default(&self) -> String {
        u8::from(self.default).to_string()
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<bool, ConfigError> {
        let Some(value) = text(given) else {
            return Ok(self.default);
        };
        match value.trim() {
            "" => Ok(self.default),
            "0" | "no" | "off" | "false" => Ok(false),
            "1" | "yes" | "on" | "true" => Ok(true),
            _ => Err(ConfigError::Flag { variable, value }),
        }
    }
}

/// On which sockets the PEs of a node run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMap {
    /// As they are bound.
    Auto,
    /// It is not looked at.
    Off,
    /// The sockets of the PEs, in turn: there is at least one.
    Given(Vec<usize>),
}

/// The numbers of a list such as `0,0,1` or `0*2,1`.
fn socket_list(text: &str) -> Option<Vec<usize>> {
    /// As many PEs as a node may have.
    const MOST: usize = 4096;

    let mut all = Vec::new();
    for part in text.split(',') {
        let (socket, times) = part.split_once('*').unwrap_or((part, "1"));
        let socket: u16 = socket.trim().parse().ok().filter(|n| *n < u16::MAX)?;
        let times: usize = times.trim().parse().ok().filter(|n| *n > 0)?;
        if all.len() + times > MOST {
            return None;
        }
        all.resize(all.len() + times, usize::from(socket));
    }
    Some(all)
}

/// A list of sockets, or a word.
#[derive(Debug)]
pub struct SocketList;

impl ValueType for SocketList {
    type Value = SocketMap;

    fn accepts(&self) -> String {
        "auto, off, or a list of numbers that the PEs take in turn (0,0,1,1 or 0*2,1*2)".to_owned()
    }

    fn default(&self) -> String {
        "auto".to_owned()
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<SocketMap, ConfigError> {
        let Some(value) = text(given) else {
            return Ok(SocketMap::Auto);
        };
        match value.trim() {
            "" | "auto" => return Ok(SocketMap::Auto),
            "off" => return Ok(SocketMap::Off),
            _ => {}
        }
        match socket_list(&value) {
            Some(sockets) => Ok(SocketMap::Given(sockets)),
            None => Err(ConfigError::Sockets { variable, value }),
        }
    }
}

/// 0 or 1, or neither.
#[derive(Debug)]
pub struct OptionalFlag {
    /// What holds where the variable is unset or empty.
    pub unset: &'static str,
}

impl ValueType for OptionalFlag {
    /// None where the variable is unset or empty.
    type Value = Option<bool>;

    fn accepts(&self) -> String {
        Flag { default: false }.accepts()
    }

    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        environment: &Environment<'_>,
    ) -> Result<Option<bool>, ConfigError> {
        let given = given.filter(|value| !value.to_string_lossy().trim().is_empty());
        let flag = Flag { default: false };
        let read = |value| flag.read(variable, Some(value), environment);
        given.map(read).transpose()
    }
}

/// What goes to another node together.
#[derive(Debug)]
pub struct Aggregation;

impl ValueType for Aggregation {
    type Value = Aggregate;

    fn accepts(&self) -> String {
        "0, auto, bytes of the longest put, or bytes,microseconds".to_owned()
    }

    fn default(&self) -> String {
        let Aggregate { bytes, delay } = Aggregate::default();
        format!("auto, which is {bytes},{}", delay.as_micros())
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Aggregate, ConfigError> {
        let auto = Aggregate::default();
        let Some(value) = text(given).filter(|value| !matches!(value.trim(), "" | "auto")) else {
            return Ok(auto);
        };
        let (bytes, delay) = match value.split_once(',') {
            Some((bytes, delay)) => (bytes, delay.trim().parse().ok()),
            None => (&*value, Some(auto.delay.as_micros() as u32)),
        };
        match (bytes.trim().parse(), delay) {
            (Ok(bytes), Some(delay @ 1..)) => Ok(Aggregate {
                bytes,
                delay: Duration::from_micros(delay.into()),
            }),
            _ => Err(ConfigError::Aggregate { variable, value }),
        }
    }
}

/// Number of polls of a wait.
#[derive(Debug)]
pub struct Polls {
    /// Where each PE has a core.
    pub default: u32,
    /// Where PEs outnumber cores.
    pub oversubscribed: u32,
}

impl Polls {
    /// The default.
    pub fn default_for(&self, oversubscribed: bool) -> u32 {
        if oversubscribed {
            self.oversubscribed
        } else {
            self.default
        }
    }
}

impl ValueType for Polls {
    /// None: the default, which depends on the job.
    type Value = Option<u32>;

    fn accepts(&self) -> String {
        "number of polls".to_owned()
    }

    fn default(&self) -> String {
        let Self {
            default,
            oversubscribed,
        } = self;
        format!("{default}, or {oversubscribed} where PEs outnumber cores")
    }

    fn read(
        &self,
        name: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<u32>, ConfigError> {
        text(given).map(|text| whole(name, text)).transpose()
    }
}

/// A time in whole seconds.
#[derive(Debug)]
pub struct Seconds {
    /// Where the variable is unset.
    pub default: u32,
}

impl ValueType for Seconds {
    /// None for 0: no limit.
    type Value = Option<Duration>;

    fn accepts(&self) -> String {
        "seconds; 0: never".to_owned()
    }

    fn default(&self) -> String {
        self.default.to_string()
    }

    fn read(
        &self,
        name: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<Duration>, ConfigError> {
        let seconds = text(given).map_or(Ok(self.default), |text| whole(name, text))?;
        Ok((seconds > 0).then(|| Duration::from_secs(seconds.into())))
    }
}

fn whole(variable: &'static str, value: String) -> Result<u32, ConfigError> {
    let number = value.trim().parse();
    number.map_err(|_| ConfigError::Number { variable, value })
}

/// Number of bytes.
#[derive(Debug)]
pub struct Size {
    /// What holds where the variable is unset.
    pub unset: &'static str,
}

impl ValueType for Size {
    /// None where the variable is unset.
    type Value = Option<u64>;

    fn accepts(&self) -> String {
        "number of bytes, or with k, m, g or t".to_owned()
    }

    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<u64>, ConfigError> {
        let size = |value: String| bytes(&value).ok_or(ConfigError::Size { variable, value });
        text(given).map(size).transpose()
    }
}

/// Reads a size as the standard defines `SHMEM_SYMMETRIC_SIZE` (section "Environment
/// Variables"): a non-negative integer or floating-point number, then optionally one of
/// k, m, g, t in either case; what follows the suffix is ignored. Result in bytes, rounded up.
fn bytes(text: &str) -> Option<u64> {
    let t = text.trim();
    let digits = t
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(t.len());
    let (number, suffix) = t.split_at(digits);
    let factor: u64 = match suffix.chars().next().map(|c| c.to_ascii_lowercase()) {
        None => 1,
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some('t') => 1 << 40,
        Some(_) => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value: f64 = number.parse().ok()?;
    let bytes = (value * factor as f64).ceil();
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// A number, or `auto`.
#[derive(Debug)]
pub struct Count {
    /// What it is where the variable is unset.
    pub unset: u32,
    /// What `auto` means.
    pub auto: &'static str,
}

impl ValueType for Count {
    /// None for `auto`.
    type Value = Option<u32>;

    fn accepts(&self) -> String {
        format!("number, or auto: {}", self.auto)
    }

    fn default(&self) -> String {
        self.unset.to_string()
    }

    fn read(
        &self,
        name: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<u32>, ConfigError> {
        match text(given) {
            None => Ok(Some(self.unset)),
            Some(text) if text == "auto" => Ok(None),
            Some(text) => whole(name, text).map(Some),
        }
    }
}

/// An algorithm of a collective.
#[derive(Debug)]
pub struct AlgorithmChoice(pub Collective);

impl ValueType for AlgorithmChoice {
    /// None for `auto`.
    type Value = Option<Choice>;

    fn accepts(&self) -> String {
        let mut names = vec!["auto"];
        let mut with_forms = Vec::new();
        for choice in self.0.choices() {
            let name = choice.algorithm.name();
            if !names.contains(&name) {
                names.push(name);
                if choice.algorithm.has_forms() {
                    with_forms.push(name);
                }
            }
        }
        let mut text = alternatives(&names);
        if !with_forms.is_empty() {
            text += "; with :ptr or :putget after ";
            text += &alternatives(&with_forms);
        }
        text
    }

    fn default(&self) -> String {
        "auto".to_owned()
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<Choice>, ConfigError> {
        let Some(value) = text(given) else {
            return Ok(None);
        };
        let name = value.trim().to_ascii_lowercase();
        if name.is_empty() || name == "auto" {
            return Ok(None);
        }
        let choice = self.0.choice(&name);
        choice.map(Some).ok_or(ConfigError::Algorithm {
            variable,
            value,
            collective: self.0,
        })
    }
}

/// `a, b or c`.
fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}

/// Any text.
#[derive(Debug)]
pub struct Text {
    /// What a value looks like.
    pub accepts: &'static str,
    /// Where the variable is unset or empty.
    pub default: Option<&'static str>,
    /// What holds then where there is no default, or more about the default.
    pub unset: &'static str,
}

impl ValueType for Text {
    type Value = Option<String>;

    fn accepts(&self) -> String {
        self.accepts.to_owned()
    }

    fn default(&self) -> String {
        let parts = [self.default.unwrap_or_default(), self.unset];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join(", ")
    }

    fn read(
        &self,
        _: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<String>, ConfigError> {
        let given = text(given).filter(|value| !value.is_empty());
        Ok(given.or_else(|| self.default.map(str::to_owned)))
    }
}

/// A command: a program and arguments that always come with it (`ccache gcc`), in the words of
/// a shell.
#[derive(Debug)]
pub struct Command {
    /// Programs to search where the variable is unset or blank, the best first.
    pub candidates: &'static [&'static str],
}

impl ValueType for Command {
    /// None: the first of the candidates that is installed.
    type Value = Option<OsString>;

    fn accepts(&self) -> String {
        "command, perhaps with arguments, as in \"ccache gcc\"".to_owned()
    }

    fn default(&self) -> String {
        let candidates = self.candidates.join(", ");
        format!("the first of {candidates} that is found")
    }

    fn read(
        &self,
        _: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<Option<OsString>, ConfigError> {
        Ok(given.filter(|value| !value.as_bytes().trim_ascii().is_empty()))
    }
}

/// The path of the tuning file.
#[derive(Debug)]
pub struct TuningPath {
    /// Path below the user's folder for configuration files, where the variable is unset.
    pub default: &'static str,
}

/// Where the tuning file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuningFilePath {
    /// The file.
    pub path: PathBuf,
    /// Whether the user named it: then it should be there.
    pub named: bool,
}

impl ValueType for TuningPath {
    /// None if the value is empty, or the user has no home.
    type Value = Option<TuningFilePath>;

    fn accepts(&self) -> String {
        "path; empty for none".to_owned()
    }

    fn default(&self) -> String {
        let path = self.default;
        format!("$XDG_CONFIG_HOME/{path}, or the same below ~/.config")
    }

    fn read(
        &self,
        _: &'static str,
        given: Option<OsString>,
        environment: &Environment<'_>,
    ) -> Result<Option<TuningFilePath>, ConfigError> {
        if let Some(path) = given.map(PathBuf::from) {
            let named = !path.as_os_str().is_empty();
            return Ok(named.then_some(TuningFilePath { path, named }));
        }
        Ok(environment.config_home().map(|folder| TuningFilePath {
            path: folder.join(self.default),
            named: false,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{
        AGGREGATE, HUGE_PAGES, REDUCE_ALGORITHM, SCAN_ALGORITHM, TUNING_FILE,
    };
    use super::super::variable::Variable;
    use super::*;
    use crate::choice::Algorithm;

    fn read<T: ValueType>(variable: &Variable<T>, value: &str) -> Result<T::Value, ConfigError> {
        let lookup = |name: &str| (name == variable.name).then(|| OsString::from(value));
        variable.read(&Environment::only(&lookup))
    }

    #[test]
    fn what_goes_together_is_read() {
        let read = |value: &str| read(&AGGREGATE, value).ok();
        let auto = Aggregate::default();
        let of = |bytes, micros| {
            let delay = Duration::from_micros(micros);
            Some(Aggregate { bytes, delay })
        };
        assert_eq!(read("auto"), Some(auto));
        assert_eq!(read(""), Some(auto));
        assert_eq!(read("0"), of(0, auto.delay.as_micros() as u64));
        assert_eq!(read("64, 100"), of(64, 100));
        for wrong in ["much", "-1", "64,", "64,0", "64,1,2", "64 100"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sockets_are_read() {
        let read = |text: &str| {
            let environment = Environment::process();
            SocketList.read("SHMEM_SOCKETS", Some(text.into()), &environment)
        };
        let list = |numbers: &[usize]| Ok(SocketMap::Given(numbers.to_vec()));
        assert_eq!(read("auto"), Ok(SocketMap::Auto));
        assert_eq!(read("off"), Ok(SocketMap::Off));
        assert_eq!(read("0,0, 1"), list(&[0, 0, 1]));
        assert_eq!(read("3*2,0*1"), list(&[3, 3, 0]));
        assert_eq!(
            read("0*2048,1*2048").map(|map| map != SocketMap::Auto),
            Ok(true)
        );
        for wrong in [
            "0,",
            "a",
            "0*0",
            "65535",
            "-1",
            "0*4097",
            "0*2048,1*2049",
            "1*",
            "on",
        ] {
            let line = read(wrong).unwrap_err().to_string();
            assert!(
                line.contains(&format!("{wrong:?}")) && line.contains("as in 0*2"),
                "{line}"
            );
        }
    }

    #[test]
    fn sizes_of_the_standard() {
        assert_eq!(bytes("20m"), Some(20_971_520));
        assert_eq!(bytes("3.1M"), Some(3_250_586));
        assert_eq!(bytes(".5m"), bytes("0.5m"));
        assert_eq!(bytes("20kk"), Some(20 << 10));
        assert_eq!(bytes("0"), Some(0));
        assert_eq!(bytes("2T"), Some(2 << 40));
        for bad in [
            "",
            "m",
            "-1",
            "ten",
            "1x",
            "1.2.3",
            "99999999999t",
            "0x10",
            "nan",
        ] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn optional_flags_know_three_states() {
        for (value, expected) in [
            ("", None),
            (" ", None),
            ("0", Some(false)),
            ("on", Some(true)),
        ] {
            assert_eq!(read(&HUGE_PAGES, value), Ok(expected));
        }
        assert!(read(&HUGE_PAGES, "2").is_err());
    }

    #[test]
    fn auto_forces_nothing() {
        for value in ["auto", "", "  ", "Auto"] {
            assert_eq!(read(&REDUCE_ALGORITHM, value), Ok(None));
        }
    }

    #[test]
    fn names_force() {
        let choice = Choice::putget(Algorithm::Rabenseifner);
        assert_eq!(read(&REDUCE_ALGORITHM, " RSAG:putget "), Ok(Some(choice)));
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let line = |result: Result<_, ConfigError>| result.unwrap_err().to_string();
        assert_eq!(
            line(read(&REDUCE_ALGORITHM, "ring")),
            "SHMEM_REDUCE_ALGORITHM: \"ring\" is no algorithm of reduce: give auto, eager, \
             flat:ptr, flat:putget, rd:ptr, rd:putget, bruck:ptr, bruck:putget, rsag:ptr, \
             rsag:putget, slices, sockets"
        );
        let line = line(read(&SCAN_ALGORITHM, "slices:ptr"));
        assert!(line.ends_with("of scan: give auto, eager, pull, slices"));
    }

    #[test]
    fn algorithms_are_listed_with_their_forms() {
        assert_eq!(
            REDUCE_ALGORITHM.value.accepts(),
            "auto, eager, flat, rd, bruck, rsag, slices or sockets; \
             with :ptr or :putget after flat, rd, bruck or rsag"
        );
        assert_eq!(
            SCAN_ALGORITHM.value.accepts(),
            "auto, eager, pull or slices"
        );
    }

    #[test]
    fn the_tuning_file_is_searched_in_an_order() {
        let find = |value: Option<&str>, set: &[(&str, &str)]| {
            let lookup = |name: &str| {
                let own = (name == TUNING_FILE.name).then_some(value).flatten();
                let found = set.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
                own.or(found).map(OsString::from)
            };
            let found = TUNING_FILE.read(&Environment::only(&lookup)).unwrap()?;
            Some((found.path.display().to_string(), found.named))
        };
        let home = ("HOME", "/home/a");
        let config = ("XDG_CONFIG_HOME", "/etc/mine");
        let file = |path: &str, named| Some((path.to_owned(), named));
        assert_eq!(find(Some("x.toml"), &[home]), file("x.toml", true));
        assert_eq!(find(Some(""), &[home, config]), None);
        assert_eq!(
            find(None, &[home, config]),
            file("/etc/mine/ferroshmem/tuning.toml", false)
        );
        let in_home = file("/home/a/.config/ferroshmem/tuning.toml", false);
        assert_eq!(find(None, &[home]), in_home);
        assert_eq!(find(None, &[home, ("XDG_CONFIG_HOME", "here")]), in_home);
        assert_eq!(find(None, &[]), None);
    }
}
