//! The compiler wrappers `oshcc`, `oshc++` and `oshfort`: the real compiler, with the flags that find
//! this installation's header and library. All arguments pass through.

mod arguments;
mod compiler;
mod error;
mod flags;
mod language;
mod module;
mod prefix;
mod show;

use arguments::Arguments;
use compiler::Compiler;
use error::WrapperError;
use flags::Flags;
pub use language::Language;
use prefix::Prefix;
use show::Show;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::terminal::print_line;

/// Runs the wrapper that `argv` (program name first) asks for. Returns only where nothing
/// was compiled: after printing, or with an error.
pub fn main(argv: Vec<OsString>) -> ExitCode {
    let mut argv = argv.into_iter();
    let name = argv.next().unwrap_or_default();
    let language = Language::of_program(&name);
    match run(language, &Language::target_of_program(&name), argv.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_line(&format!("{}: ", language.wrapper()), &error.to_string());
            ExitCode::from(error.status())
        }
    }
}

fn run(language: Language, target: &str, mut user: Vec<OsString>) -> Result<(), WrapperError> {
    if let Some(show) = Show::take(&mut user)? {
        io::stdout().write_all(&show.text(language, target, user)?)?;
        return Ok(());
    }
    let compiler = Compiler::find(language, target)?;
    let arguments = Arguments::take(&mut user, compiler.dialect(language));
    if !arguments.inputs {
        return Err(compiler.execute(language, &user));
    }
    let prefix = Prefix::of_this_program()?;
    let module = module::folder(&prefix, &compiler, &arguments);
    Err(compiler.execute(language, &Flags::new(&prefix, &arguments, module.as_deref()).around(user)))
}
