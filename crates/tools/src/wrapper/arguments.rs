//! What a compiler's arguments ask it to do, as far as a wrapper must know.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::language::Dialect;

/// Options whose value is the next argument, so that the value is not taken for an input.
const WITH_VALUE: &[&str] = &[
    "-o", "-x", "-I", "-L", "-D", "-U", "-A", "-B", "-F", "-T", "-e", "-u", "-z", "-G", "-J", "-module", "-module-dir",
    "-MF", "-MT", "-MQ", "-MJ", "-include", "-include-pch", "-imacros", "-imultilib", "-iprefix", "-iquote",
    "-isystem", "-isysroot", "-idirafter", "-iwithprefix", "-iwithprefixbefore", "-aux-info", "-dumpbase",
    "-dumpbase-ext", "-dumpdir", "-specs", "-wrapper", "-target", "-arch", "-mllvm", "-Xlinker", "-Xassembler",
    "-Xpreprocessor", "-Xclang", "--param", "--output", "--include", "--include-directory", "--library-directory",
    "--sysroot",
];

/// Options after which the compiler stops before it links.
const NO_LINKING: &[&str] = &[
    "-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "--compile", "--preprocess", "--assemble", "-emit-ast",
    "--precompile", "--analyze",
];

/// How deep response files may name further ones; beyond it they are not looked into.
const RESPONSE_DEPTH: usize = 8;

/// Whether the code of the user's own choice can be part of a position-independent executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeModel {
    /// `-fPIC`, `-fPIE` and the like.
    Independent,
    /// `-fno-pie` and the like.
    Fixed,
}

/// What the arguments say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Arguments {
    /// There is something to compile or to link; else the compiler only prints about itself.
    pub inputs: bool,
    /// The compiler is to stop before linking.
    pub stops_early: bool,
    /// The last code model option.
    pub code_model: Option<CodeModel>,
    /// `-static` or `-static-pie`: the program uses no shared library.
    pub static_link: bool,
    /// `-static-pie`.
    pub static_pie: bool,
    /// `-r`: the output is an object file.
    pub relocatable: bool,
    /// `--kernels`: the program gets the main that runs kernels.
    pub kernels: bool,
    /// What the compiler reads.
    pub dialect: Dialect,
    /// The output's kind is the user's choice (`-shared`, `-pie`, `-no-pie`, …).
    pub own_kind: bool,
}

impl Arguments {
    /// Reads the arguments, and those in response files (`@FILE`).
    pub(super) fn read(arguments: &[OsString]) -> Self {
        let mut this = Self::default();
        this.add(arguments, 0);
        this
    }

    /// Reads the arguments, and takes those out that the compiler does not know.
    pub(super) fn take(user: &mut Vec<OsString>, dialect: Dialect) -> Self {
        // What follows clang's `--` are files: the libraries that flags add there, too.
        if let Some(at) = user.iter().position(|argument| argument == "--") {
            user.remove(at);
            for file in user[at..].iter_mut().filter(|file| file.as_bytes().starts_with(b"-")) {
                *file = Path::new(".").join(&*file).into();
            }
        }
        let all = user.len();
        user.retain(|argument| argument != "--kernels");
        Self { kernels: user.len() < all, dialect, ..Self::read(user) }
    }

    fn add(&mut self, arguments: &[OsString], depth: usize) {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if WITH_VALUE.iter().any(|option| argument == option) {
                rest.next();
            } else if let Some(file) = argument.as_bytes().strip_prefix(b"@") {
                match response(OsStr::from_bytes(file)) {
                    Some(inner) if depth < RESPONSE_DEPTH => self.add(&inner, depth + 1),
                    _ => self.inputs = true,
                }
            } else {
                self.note(&argument.to_string_lossy());
            }
        }
    }

    fn note(&mut self, argument: &str) {
        if argument == "-" || !argument.starts_with('-') {
            self.inputs = true;
            return;
        }
        match argument {
            _ if NO_LINKING.contains(&argument) => self.stops_early = true,
            "-fPIC" | "-fpic" | "-fPIE" | "-fpie" => {
                self.code_model = Some(CodeModel::Independent);
            }
            "-fno-PIC" | "-fno-pic" | "-fno-PIE" | "-fno-pie" => {
                self.code_model = Some(CodeModel::Fixed);
            }
            "-static" | "--static" => {
                self.static_link = true;
                self.own_kind = true;
            }
            "-static-pie" | "--static-pie" => {
                self.static_link = true;
                self.static_pie = true;
            }
            "-r" => self.relocatable = true,
            "-shared" | "--shared" | "-pie" | "--pie" | "-no-pie" | "--no-pie" | "-nopie" | "-nostdlib"
            | "-nostartfiles" => self.own_kind = true,
            // A library is an input of the linker.
            _ if argument.starts_with("-l") => self.inputs = true,
            _ => {}
        }
    }

    /// Whether the compiler will run the linker for a program or a shared library.
    pub(super) fn links(&self) -> bool {
        !self.stops_early && !self.relocatable
    }
}

/// The arguments in a response file; None if it cannot be read (the compiler reports that).
fn response(file: &OsStr) -> Option<Vec<OsString>> {
    let words = shlex::bytes::split(&fs::read(file).ok()?)?;
    Some(words.into_iter().map(OsString::from_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Arguments {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Arguments::read(&words)
    }

    #[test]
    fn questions_have_no_inputs() {
        for line in ["", "-v", "--version", "-dumpmachine", "-o out", "-I dir -x c", "-MF file"] {
            assert!(!read(line).inputs, "{line}");
        }
        for line in ["a.c", "-x c -", "-lm", "-c a.c", "-D X a.c", "@no-such-file"] {
            assert!(read(line).inputs, "{line}");
        }
    }

    #[test]
    fn stages_before_linking() {
        for option in ["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "-r"] {
            assert!(!read(&format!("{option} a.c")).links(), "{option}");
        }
        // These two write dependencies beside what the compiler does anyway.
        assert!(read("-MD -MMD a.c").links());
        // The value of an option is not an option.
        assert!(read("-o -c a.c").links());
    }

    #[test]
    fn last_code_model_counts() {
        assert_eq!(read("-fPIC a.c").code_model, Some(CodeModel::Independent));
        assert_eq!(read("-fPIC -fno-pie a.c").code_model, Some(CodeModel::Fixed));
        assert_eq!(read("-O2 a.c").code_model, None);
    }

    #[test]
    fn files_after_the_options_are_files() {
        let mut user = ["-O2", "--", "a.c", "-c"].map(OsString::from).to_vec();
        assert!(Arguments::take(&mut user, Dialect::C).links());
        assert_eq!(user, ["-O2", "a.c", "./-c"]);
    }

    #[test]
    fn kinds_of_output() {
        assert!(read("-shared a.o").own_kind);
        assert!(read("-no-pie a.o").own_kind);
        let fixed = read("-static a.o");
        assert!(fixed.static_link && fixed.own_kind && !fixed.static_pie);
        let movable = read("-static-pie a.o");
        assert!(movable.static_link && movable.static_pie && !movable.own_kind);
    }

    #[test]
    fn response_files_are_read() {
        let file = std::env::temp_dir().join(format!("oshcc-response-{}", std::process::id()));
        fs::write(&file, "-c 'a file.c'\n-fno-pie").unwrap();
        let mut argument = OsString::from("@");
        argument.push(&file);
        let read = Arguments::read(&[argument]);
        fs::remove_file(&file).unwrap();
        assert!(read.inputs && read.stops_early);
        assert_eq!(read.code_model, Some(CodeModel::Fixed));
    }
}
