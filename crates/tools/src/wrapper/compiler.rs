//! The real compiler behind a wrapper.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use ferroshmem_config as config;

use super::error::WrapperError;
use super::language::{Dialect, Language};

/// A compiler: program and the arguments that always come with it (`ccache gcc`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compiler {
    /// Program, then its own arguments; never empty.
    words: Vec<OsString>,
}

impl Compiler {
    /// The compiler that the environment names, or the first default found on `PATH`, whose name begins with `target`.
    ///
    /// # Errors
    /// One line, if the variable cannot be read or if no compiler is found.
    pub(super) fn find(language: Language, target: &str) -> Result<Self, WrapperError> {
        let compiler = match config::compiler(language.variable()) {
            Some(value) => Self::parse(&value, language)?,
            None => Self::default_of(language, target)?,
        };
        compiler.check_not_self(language)?;
        Ok(compiler)
    }

    /// Splits a variable's value as a shell would.
    fn parse(value: &OsStr, language: Language) -> Result<Self, WrapperError> {
        let words = shlex::bytes::split(value.as_bytes())
            .ok_or_else(|| WrapperError::Quotes { variable: language.variable().name, value: value.to_owned() })?;
        if words.is_empty() {
            return Err(WrapperError::NoProgram { variable: language.variable().name, value: value.to_owned() });
        }
        Ok(Self { words: words.into_iter().map(OsString::from_vec).collect() })
    }

    fn default_of(language: Language, target: &str) -> Result<Self, WrapperError> {
        let candidates = language.variable().value.candidates.iter();
        let candidates: Vec<_> = candidates.map(|name| format!("{target}{name}")).collect();
        let name = candidates.iter().find(|name| on_path(OsStr::new(name)).is_some());
        match name {
            Some(name) => Ok(Self { words: vec![name.into()] }),
            None => Err(WrapperError::NoCompiler {
                language: language.name(),
                candidates: candidates.join(", "),
                variable: language.variable().name,
            }),
        }
    }

    /// A wrapper that starts itself would never end.
    fn check_not_self(&self, language: Language) -> Result<(), WrapperError> {
        let program = on_path(&self.words[0]).and_then(|p| fs::canonicalize(p).ok());
        let this = env::current_exe().and_then(fs::canonicalize).ok();
        if program.is_some() && program == this {
            return Err(WrapperError::ItselfAsCompiler {
                compiler: self.words[0].clone(),
                variable: language.variable().name,
            });
        }
        Ok(())
    }

    /// What the compiler must be told about programs of a language.
    pub(super) fn dialect(&self, language: Language) -> Dialect {
        match language {
            Language::C => Dialect::C,
            Language::Cxx => Dialect::Cxx,
            Language::Fortran => {
                let asked = Command::new(&self.words[0]).args(&self.words[1..]).arg("--version").output();
                fortran(&asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default())
            }
        }
    }

    /// The files that its words name, where they are programs.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.words.iter().filter_map(|word| fs::canonicalize(on_path(word)?).ok())
    }

    /// The words of a command that gives `arguments` to this compiler.
    pub(super) fn command<'a>(&'a self, arguments: &'a [OsString]) -> impl Iterator<Item = &'a OsStr> {
        self.words.iter().chain(arguments).map(OsString::as_os_str)
    }

    /// Becomes the compiler, so that status and signals are the compiler's. Returns only the error
    /// of a failed start.
    pub(super) fn execute(&self, language: Language, arguments: &[OsString]) -> WrapperError {
        let error = Command::new(&self.words[0]).args(&self.words[1..]).args(arguments).exec();
        WrapperError::NotStarted { compiler: PathBuf::from(&self.words[0]), error, variable: language.variable().name }
    }
}

/// The dialect of a Fortran compiler, by what it says of its version.
fn fortran(text: &str) -> Dialect {
    let gnu = || text.strip_prefix("GNU Fortran (")?.split_once(") ")?.1.split('.').next()?.parse().ok();
    match gnu() {
        Some(version) => Dialect::Gfortran(version),
        None if text.contains("flang") => Dialect::Flang,
        None => Dialect::OtherFortran,
    }
}

/// The file that starting `program` would run.
fn on_path(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    env::split_paths(&config::search_path()?)
        .map(|dir| dir.join(program))
        .find(|file| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
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
    fn versions_of_fortran_compilers() {
        let of = |line: &str| fortran(&format!("{line}\nCopyright (C) 2022\n"));
        assert_eq!(of("GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0"), Dialect::Gfortran(12));
        assert_eq!(of("GNU Fortran (GCC) 8.5.0 20210514 (Red Hat 8.5.0-4)"), Dialect::Gfortran(8));
        assert_eq!(of("Debian flang-new version 19.1.7 (1~deb12u1)"), Dialect::Flang);
        assert_eq!(of("ifx (IFX) 2024.0.0 20231017"), Dialect::OtherFortran);
    }

    #[test]
    fn missing_compiler_is_one_line() {
        let compiler = Compiler { words: vec!["no-such-compiler".into()] };
        let error = compiler.execute(Language::Cxx, &[]);
        let line = error.to_string();
        assert_eq!(error.status(), 127);
        assert!(line.contains("no-such-compiler") && line.contains("OSHMEM_CXX"), "{line}");
        assert!(!line.contains('\n'));
    }
}
