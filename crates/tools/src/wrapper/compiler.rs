//! The real compiler behind a wrapper.

use super::language::Language;
use anyhow::{Result, anyhow, bail};
use ferroshmem_core::config;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler: program and the arguments that always come with it (`ccache gcc`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiler {
    /// Program, then its own arguments; never empty.
    words: Vec<OsString>,
}

impl Compiler {
    /// The compiler that the environment names, or the first default found on `PATH`.
    ///
    /// # Errors
    /// One line, if the variable cannot be read or if no compiler is found.
    pub(super) fn find(language: Language) -> Result<Self> {
        let compiler = match config::compiler(language.variable()) {
            Some(value) => Self::parse(&value, language)?,
            None => Self::default_of(language)?,
        };
        compiler.refuse_self(language)?;
        Ok(compiler)
    }

    /// Splits a variable's value as a shell would.
    fn parse(value: &OsStr, language: Language) -> Result<Self> {
        let words = shlex::bytes::split(value.as_bytes()).ok_or_else(|| {
            anyhow!(
                "{}: unbalanced quotes in {value:?}",
                language.variable().name
            )
        })?;
        if words.is_empty() {
            bail!("{}: no program in {value:?}", language.variable().name);
        }
        Ok(Self {
            words: words.into_iter().map(OsString::from_vec).collect(),
        })
    }

    fn default_of(language: Language) -> Result<Self> {
        let candidates = language.variable().value.candidates;
        let name = candidates
            .iter()
            .find(|name| on_path(OsStr::new(name)).is_some());
        match name {
            Some(name) => Ok(Self {
                words: vec![name.into()],
            }),
            None => bail!(
                "no {} compiler found (tried {}): install one or name it in {}",
                language.name(),
                candidates.join(", "),
                language.variable().name
            ),
        }
    }

    /// A wrapper that starts itself would never end.
    fn refuse_self(&self, language: Language) -> Result<()> {
        let program = on_path(&self.words[0]).and_then(|p| fs::canonicalize(p).ok());
        let this = env::current_exe().and_then(fs::canonicalize).ok();
        if program.is_some() && program == this {
            bail!(
                "the compiler {:?} is this wrapper itself: name the real one in {}",
                self.words[0],
                language.variable().name
            );
        }
        Ok(())
    }

    /// The words of a command that gives `arguments` to this compiler.
    pub(super) fn command<'a>(
        &'a self,
        arguments: &'a [OsString],
    ) -> impl Iterator<Item = &'a OsStr> {
        self.words.iter().chain(arguments).map(OsString::as_os_str)
    }

    /// Becomes the compiler, so that status and signals are the compiler's. Returns only
    /// the error of a failed start, with the status that a shell would give it.
    pub(super) fn execute(
        &self,
        language: Language,
        arguments: &[OsString],
    ) -> (anyhow::Error, u8) {
        let error = Command::new(&self.words[0])
            .args(&self.words[1..])
            .args(arguments)
            .exec();
        let status = if error.kind() == io::ErrorKind::NotFound {
            127
        } else {
            126
        };
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "no such program".to_owned(),
            io::ErrorKind::ArgumentListTooLong => {
                "the argument list is too long: put arguments into a file and give @FILE".to_owned()
            }
            _ => error.to_string(),
        };
        let program = Path::new(&self.words[0]).display();
        let variable = language.variable().name;
        (
            anyhow!("cannot run the compiler \"{program}\": {reason} ({variable} names it)"),
            status,
        )
    }
}

/// The file that starting `program` would run.
fn on_path(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    env::split_paths(&config::search_path()?)
        .map(|dir| dir.join(program))
        .find(|file| {
            fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_may_hold_arguments() {
        let parse = |value: &str| Compiler::parse(OsStr::new(value), Language::C);
        let words = parse("ccache  'my gcc' -m64").unwrap().words;
        assert_eq!(words, ["ccache", "my gcc", "-m64"]);
        assert!(parse("'gcc").unwrap_err().to_string().contains("OSHMEM_CC"));
    }

    #[test]
    fn command_starts_with_the_compiler() {
        let compiler = Compiler::parse(OsStr::new("ccache gcc"), Language::C).unwrap();
        let arguments = ["-c".into(), "a.c".into()];
        let words: Vec<_> = compiler.command(&arguments).collect();
        assert_eq!(words, ["ccache", "gcc", "-c", "a.c"]);
    }

    #[test]
    fn missing_compiler_is_one_line() {
        let compiler = Compiler {
            words: vec!["no-such-compiler".into()],
        };
        let (error, status) = compiler.execute(Language::Cxx, &[]);
        let line = error.to_string();
        assert_eq!(status, 127);
        assert!(
            line.contains("no-such-compiler") && line.contains("OSHMEM_CXX"),
            "{line}"
        );
        assert!(!line.contains('\n'));
    }
}
