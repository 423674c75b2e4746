//! The flags a wrapper adds.

use super::arguments::{Arguments, CodeModel};
use super::language::Dialect;
use super::prefix::Prefix;
use std::ffi::OsString;
use std::path::Path;

/// Mathematics, for programs that use it: other implementations' wrappers link it, on purpose or by what
/// their library needs, and programs' makefiles count on that. Others do not load it.
const MATHEMATICS: &[&str] = &["-Wl,--push-state,--as-needed", "-lm", "-Wl,--pop-state"];

/// What the static library needs from the C library, beyond what every program links.
const STATIC_NEEDS: &[&str] = &["-lpthread", "-ldl", "-lrt", "-lm"];

/// What gfortran's static library calls where it is there. It takes threads to be there by one function of them, which
/// this library has linked, and then calls others.
const STATIC_GFORTRAN: &str = "-Wl,-u,pthread_mutex_init,-u,pthread_mutex_trylock,-u,pthread_mutex_destroy,\
    -u,pthread_cond_init,-u,pthread_cond_wait,-u,pthread_cond_broadcast,-u,pthread_cond_destroy,-u,pthread_create,\
    -u,pthread_join,-u,pthread_self,-u,pthread_key_delete,-u,pthread_getspecific,-u,pthread_setspecific";

/// Flags around the user's arguments.
///
/// Directories go first, so that this installation's header and library win over another
/// one's; the library goes last, as linkers want it after the objects that use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// For the compiler proper, before the user's arguments.
    pub compile: Vec<OsString>,
    /// For the linker, before the user's arguments.
    pub link: Vec<OsString>,
    /// For the compiler proper, after the user's arguments: a program's own module of the same name goes before ours.
    pub modules: Vec<OsString>,
    /// Libraries, after the user's arguments.
    pub libraries: Vec<OsString>,
}

impl Flags {
    /// The flags for a compiler that gets `arguments`, and finds Fortran's module in the folder `module`.
    pub(super) fn new(prefix: &Prefix, arguments: &Arguments, module: Option<&Path>) -> Self {
        let mut flags = Self { compile: vec![joined("-I", &prefix.include())], ..Self::default() };
        flags.compile.extend(arguments.dialect.flags().iter().map(OsString::from));
        flags.modules.extend(module.map(|folder| joined("-I", folder)));
        let is_flang = arguments.dialect == Dialect::Flang;
        let pie = !arguments.own_kind && !arguments.relocatable;
        if pie && arguments.code_model.is_none() {
            flags.compile.push("-fPIE".into());
        }
        if !arguments.links() {
            return flags;
        }
        // Global variables are symmetric at full speed only in a position-independent executable.
        // Flang links no other one by itself, and does not know the option.
        if pie && !is_flang && !arguments.static_pie && arguments.code_model != Some(CodeModel::Fixed) {
            flags.link.push("-pie".into());
        }
        flags.link.push(joined("-L", &prefix.lib()));
        if arguments.kernels {
            let main = prefix.include().join("shmem/kernels_main.c");
            let language = if arguments.dialect == Dialect::Cxx { "c++" } else { "c" };
            flags.libraries.extend(["-x".into(), language.into(), main.into(), "-x".into(), "none".into()]);
        }
        if arguments.dialect.is_fortran() {
            flags.libraries.push("-lshmem-fortran".into());
        }
        if arguments.static_link && matches!(arguments.dialect, Dialect::Gfortran(_)) {
            flags.libraries.push(STATIC_GFORTRAN.into());
        }
        flags.libraries.push("-lshmem".into());
        let further = if arguments.static_link {
            STATIC_NEEDS
        } else {
            flags.link.extend(run_path(&prefix.lib(), is_flang));
            MATHEMATICS
        };
        flags.libraries.extend(further.iter().map(OsString::from));
        flags
    }

    /// All arguments of the compiler: the flags around the user's.
    pub(super) fn around(self, user: Vec<OsString>) -> Vec<OsString> {
        [self.compile, self.link, user, self.modules, self.libraries].concat()
    }
}

/// Makes programs find the shared library; `LD_LIBRARY_PATH` still goes before it.
fn run_path(lib: &Path, is_flang: bool) -> Vec<OsString> {
    let new = "-Wl,--enable-new-dtags".into();
    if is_flang {
        return vec![joined("-Wl,-rpath,", lib), new];
    }
    // As -Xlinker, since -Wl would split a directory at its commas.
    vec!["-Xlinker".into(), "-rpath".into(), "-Xlinker".into(), lib.into(), new]
}

fn joined(option: &str, directory: &Path) -> OsString {
    let mut flag = OsString::from(option);
    flag.push(directory);
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(line: &str) -> String {
        around_of(line, Dialect::Cxx)
    }

    fn around_of(line: &str, dialect: Dialect) -> String {
        let mut user: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let arguments = Arguments::take(&mut user, dialect);
        let module = arguments.dialect.is_fortran().then_some(Path::new("/m"));
        let flags = Flags::new(&Prefix::at("/p"), &arguments, module);
        let all = flags.around(user);
        all.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    }

    const RUN_PATH: &str = "-Xlinker -rpath -Xlinker /p/lib -Wl,--enable-new-dtags";
    const LIBRARIES: &str = "-lshmem -Wl,--push-state,--as-needed -lm -Wl,--pop-state";

    #[test]
    fn compiling_adds_no_linker_flags() {
        assert_eq!(around("-c a.c"), "-I/p/include -fPIE -c a.c");
        assert_eq!(around("-c -fPIC a.c"), "-I/p/include -c -fPIC a.c");
        assert_eq!(around("-r a.o"), "-I/p/include -r a.o");
    }

    #[test]
    fn programs_are_position_independent() {
        let expected = format!("-I/p/include -fPIE -pie -L/p/lib {RUN_PATH} a.c {LIBRARIES}");
        assert_eq!(around("a.c"), expected);
        let expected = format!("-I/p/include -pie -L/p/lib {RUN_PATH} -fPIC a.c {LIBRARIES}");
        assert_eq!(around("-fPIC a.c"), expected);
    }

    #[test]
    fn users_choice_of_output_stays() {
        for choice in ["-no-pie", "-shared", "-fno-pie", "-nostdlib", "-pie"] {
            let expected = format!("-I/p/include -L/p/lib {RUN_PATH} {choice} a.c {LIBRARIES}");
            assert_eq!(around(&format!("{choice} a.c")), expected);
        }
    }

    #[test]
    fn programs_of_kernels_get_a_main() {
        let main = "-x c++ /p/include/shmem/kernels_main.c -x none";
        let expected = format!("-I/p/include -fPIE -pie -L/p/lib {RUN_PATH} a.cc {main} {LIBRARIES}");
        assert_eq!(around("--kernels a.cc"), expected);
        assert_eq!(around("-c --kernels a.cc"), "-I/p/include -fPIE -c a.cc");
    }

    #[test]
    fn fortran_has_a_library_of_its_own() {
        let gfortran = |line| around_of(line, Dialect::Gfortran(8));
        assert_eq!(gfortran("-c a.f90"), "-I/p/include -fcray-pointer -fPIE -c a.f90 -I/m");
        let line = gfortran("a.o");
        assert!(line.ends_with(&format!(" a.o -I/m -lshmem-fortran {LIBRARIES}")), "{line}");
        assert!(gfortran("-static a.o").contains(" -lshmem-fortran -Wl,-u,pthread_mutex_init,-u,"));
        let expected = "-fPIE -L/p/lib -Wl,-rpath,/p/lib -Wl,--enable-new-dtags a.o -I/m -lshmem-fortran -lshmem";
        let line = around_of("a.o", Dialect::Flang);
        assert!(line.contains(expected), "{line}");
    }

    #[test]
    fn static_programs_name_what_the_library_needs() {
        let line = around("-static a.c");
        assert_eq!(line, "-I/p/include -L/p/lib -static a.c -lshmem -lpthread -ldl -lrt -lm");
        let line = around("-static-pie a.c");
        assert!(line.starts_with("-I/p/include -fPIE -L/p/lib -static-pie"), "{line}");
    }
}
