//! What an entry of the table is.

use std::ffi::{OsStr, OsString};

use super::environment::Environment;
use super::value::{ConfigError, ValueType};

/// A program, or the library, that reads variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `libshmem` and the crate `ferroshmem`.
    Library,
    /// `oshrun`.
    Oshrun,
    /// `oshtune`.
    Oshtune,
    /// `oshmem_info`, beyond printing the table.
    OshmemInfo,
    /// `oshcc`.
    Oshcc,
    /// `oshc++`.
    Oshcxx,
    /// `oshfort`.
    Oshfort,
}

/// For whom a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All PEs of a job: the value that PE 0 is given holds, and a PE that is given another one ends
    /// the job.
    Job,
    /// The PEs of one node, for which `oshrun` reads it.
    Node,
    /// Each PE, which follows the value that it is given itself.
    Pe,
    /// A tool that is no part of a job.
    Tool,
}

impl Scope {
    /// As lists of variables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Node => "node",
            Self::Pe => "PE",
            Self::Tool => "tool",
        }
    }
}

/// One environment variable, whose value has the type `T`.
#[derive(Debug)]
pub struct Variable<T> {
    /// Name as in the standard, or with the same prefix.
    pub name: &'static str,
    /// Older name that is read where `name` is unset (the standard's `SMA_*`).
    pub alias: Option<&'static str>,
    /// What reads it.
    pub readers: &'static [Program],
    /// For whom it holds.
    pub scope: Scope,
    /// Meaning, one or two sentences.
    pub help: &'static str,
    /// Type of the value, with the default.
    pub value: T,
}

impl<T: Copy> Variable<T> {
    /// One that the library reads, which holds for each PE by itself.
    pub(crate) const fn of_pe(name: &'static str, value: T, help: &'static str) -> Self {
        Self { name, alias: None, readers: &[Program::Library], scope: Scope::Pe, help, value }
    }

    /// One that the library reads, which holds for all PEs of a job.
    pub(crate) const fn of_job(name: &'static str, value: T, help: &'static str) -> Self {
        Self { scope: Scope::Job, ..Self::of_pe(name, value, help) }
    }

    /// With these readers, instead of the library.
    pub(crate) const fn read_by(self, readers: &'static [Program]) -> Self {
        Self { readers, ..self }
    }

    /// With another scope.
    pub(crate) const fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// With an older name.
    pub(crate) const fn or(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }
}

impl<T: ValueType> Variable<T> {
    /// The variable's value in `environment`, or the default.
    ///
    /// # Errors
    /// The value cannot be read: one line that names variable and value.
    pub fn read(&self, environment: &Environment<'_>) -> Result<T::Value, ConfigError> {
        let given = environment.raw(self.name, self.alias);
        self.value.read(self.name, given, environment)
    }
}

/// What the table says of a variable of any type.
pub trait Entry: Sync {
    /// [`Variable::name`].
    fn name(&self) -> &'static str;
    /// [`Variable::alias`].
    fn alias(&self) -> Option<&'static str>;
    /// [`Variable::readers`].
    fn readers(&self) -> &'static [Program];
    /// [`Variable::scope`].
    fn scope(&self) -> Scope;
    /// [`Variable::help`].
    fn help(&self) -> &'static str;
    /// What a value looks like.
    fn accepts(&self) -> String;
    /// What holds where the variable is unset.
    fn default(&self) -> String;
    /// Whether two values mean the same; None where the variable is unset.
    ///
    /// # Errors
    /// A value cannot be read.
    fn same(&self, a: Option<&OsStr>, b: Option<&OsStr>) -> Result<bool, ConfigError>;
}

impl<T: ValueType> Entry for Variable<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn alias(&self) -> Option<&'static str> {
        self.alias
    }

    fn readers(&self) -> &'static [Program] {
        self.readers
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn accepts(&self) -> String {
        self.value.accepts()
    }

    fn default(&self) -> String {
        self.value.default()
    }

    fn same(&self, a: Option<&OsStr>, b: Option<&OsStr>) -> Result<bool, ConfigError> {
        let nothing = |_: &str| None;
        let environment = Environment::only(&nothing);
        let read = |given: Option<&OsStr>| {
            let given = given.map(OsStr::to_owned);
            self.value.read(self.name, given, &environment)
        };
        Ok(read(a)? == read(b)?)
    }
}

impl dyn Entry {
    /// Whether the variable is one of the library or of a job, not of the compiler wrappers.
    pub fn is_of_jobs(&self) -> bool {
        let readers = self.readers();
        [Program::Library, Program::Oshrun].iter().any(|program| readers.contains(program))
    }

    /// The value in `environment` as it stands there.
    pub fn raw(&self, environment: &Environment<'_>) -> Option<OsString> {
        environment.raw(self.name(), self.alias())
    }
}
