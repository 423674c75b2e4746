//! `-show` and `--showme`: what a wrapper would do, printed instead of done.

use super::arguments::Arguments;
use super::compiler::Compiler;
use super::error::WrapperError;
use super::flags::Flags;
use super::language::Language;
use super::module;
use super::prefix::Prefix;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// The whole command.
    All,
    /// The compiler and its own arguments.
    Command,
    /// The flags added for compiling.
    Compile,
    /// The flags added for linking.
    Link,
    /// Directories of headers.
    IncludeDirectories,
    /// Directories of libraries.
    LibraryDirectories,
    /// Names of libraries.
    Libraries,
    /// Product and version.
    Version,
    /// The forms there are.
    Help,
}

const FORMS: &[(&str, Show, &str)] = &[
    ("command", Show::Command, "the compiler"),
    ("compile", Show::Compile, "the flags added for compiling"),
    ("link", Show::Link, "the flags added for linking"),
    ("incdirs", Show::IncludeDirectories, "directories of headers"),
    ("libdirs", Show::LibraryDirectories, "directories of libraries"),
    ("libs", Show::Libraries, "names of libraries"),
    ("version", Show::Version, "product and version"),
    ("help", Show::Help, "this list"),
];

impl Show {
    /// Takes the show options out of `arguments`; the last one counts.
    ///
    /// # Errors
    /// One line, for `--showme:` with an unknown word.
    pub(super) fn take(arguments: &mut Vec<OsString>) -> Result<Option<Self>, WrapperError> {
        let mut show = None;
        let mut unknown = None;
        arguments.retain(|argument| {
            let Some(argument) = argument.to_str() else {
                return true;
            };
            let option = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
            let form = match option {
                Some("show" | "showme") => Some(Self::All),
                Some(option) => match option.strip_prefix("showme:") {
                    Some(word) => {
                        let form = FORMS.iter().find(|form| form.0 == word).map(|form| form.1);
                        if form.is_none() {
                            unknown = Some(word.to_owned());
                        }
                        form
                    }
                    None => return true,
                },
                None => return true,
            };
            show = form;
            false
        });
        if let Some(word) = unknown {
            let words: Vec<_> = FORMS.iter().map(|form| form.0).collect();
            let words = words.join(", ");
            return Err(WrapperError::UnknownForm { word, words });
        }
        Ok(show)
    }

    /// The text, one line except for the help.
    ///
    /// # Errors
    /// One line, if the compiler or the installation is not found.
    pub(super) fn text(
        self,
        language: Language,
        target: &str,
        mut user: Vec<OsString>,
    ) -> Result<Vec<u8>, WrapperError> {
        let flags = |user: &mut Vec<OsString>, links: bool| {
            let (prefix, compiler) = (Prefix::of_this_program()?, Compiler::find(language, target)?);
            let mut arguments = Arguments::take(user, compiler.dialect(language));
            arguments.stops_early &= !links;
            let module = module::folder(&prefix, &compiler, &arguments);
            Ok::<_, WrapperError>(Flags::new(&prefix, &arguments, module.as_deref()))
        };
        let line = match self {
            Self::Version => {
                let version = ferroshmem_core::info::version_line();
                return Ok(format!("{}: {version}\n", language.wrapper()).into_bytes());
            }
            Self::Help => {
                let wrapper = language.wrapper();
                let mut help = format!(
                    "{wrapper} --kernels [ARGUMENTS]: link a main that runs kernels of the program\n{wrapper} -show \
                        [ARGUMENTS]: the whole command\n"
                );
                for (word, _, meaning) in FORMS {
                    help += &format!("{wrapper} --showme:{word}: {meaning}\n");
                }
                return Ok(help.into_bytes());
            }
            Self::Command => quoted(Compiler::find(language, target)?.command(&[])),
            Self::IncludeDirectories => words(&[Prefix::of_this_program()?.include().into()]),
            Self::LibraryDirectories => words(&[Prefix::of_this_program()?.lib().into()]),
            Self::Libraries if language == Language::Fortran => words(&["shmem-fortran".into(), "shmem".into()]),
            Self::Libraries => words(&["shmem".into()]),
            Self::Compile => {
                let flags = flags(&mut user, false)?;
                words(&[flags.compile, flags.modules].concat())
            }
            Self::Link => {
                let flags = flags(&mut user, true)?;
                words(&[flags.link, flags.libraries].concat())
            }
            Self::All => {
                let all = flags(&mut user, false)?.around(user);
                quoted(Compiler::find(language, target)?.command(&all))
            }
        };
        Ok([line, b"\n".to_vec()].concat())
    }
}

fn words(words: &[OsString]) -> Vec<u8> {
    quoted(words.iter().map(OsString::as_os_str))
}

/// Words as a shell reads them back.
fn quoted<'a>(words: impl Iterator<Item = &'a OsStr>) -> Vec<u8> {
    let quoter = shlex::bytes::Quoter::new().allow_nul(true);
    quoter.join(words.map(OsStr::as_bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str) -> (Result<Option<Show>, WrapperError>, Vec<OsString>) {
        let mut arguments = line.split_whitespace().map(OsString::from).collect();
        (Show::take(&mut arguments), arguments)
    }

    #[test]
    fn all_spellings() {
        for spelling in ["-show", "--show", "-showme", "--showme"] {
            let (show, rest) = take(&format!("{spelling} -c a.c"));
            assert_eq!(show.unwrap(), Some(Show::All), "{spelling}");
            assert_eq!(rest, ["-c", "a.c"]);
        }
        assert_eq!(take("--showme:link").0.unwrap(), Some(Show::Link));
        assert_eq!(take("-showme:compile").0.unwrap(), Some(Show::Compile));
        assert_eq!(take("-c show.c").0.unwrap(), None);
    }

    #[test]
    fn unknown_word_is_one_line() {
        let error = take("--showme:nonsense").0.unwrap_err().to_string();
        assert!(error.contains("nonsense") && error.contains("incdirs"), "{error}");
    }

    #[test]
    fn words_are_quoted() {
        let line = words(&["-I/my dir/include".into(), "-lshmem".into()]);
        assert_eq!(String::from_utf8(line).unwrap(), "'-I/my dir/include' -lshmem");
    }
}
