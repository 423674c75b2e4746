//! How text for a user looks where it is shown on a terminal.

use std::io::{self, ErrorKind, Write};
use std::os::fd::BorrowedFd;

use anstream::ColorChoice;
use ferroshmem_platform::line::one_line;
use rustix::stdio::{stderr, stdout};

/// The columns of help texts where no terminal says otherwise.
const COLUMNS: usize = 80;

/// The columns that help texts are wrapped at: those of the terminal.
pub fn columns() -> usize {
    let of = |stream: BorrowedFd<'_>| {
        let size = rustix::termios::tcgetwinsize(stream).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    of(stdout()).or_else(|| of(stderr())).unwrap_or(COLUMNS)
}

/// Prints text for the user, styled where standard output shows it. That need not have a reader any more, such as
/// `head`.
///
/// # Errors
/// The text cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(io::Error::new(e.kind(), format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line on standard error, after `head`. In one write, as several launchers may share it; that it cannot be
/// written ends nothing.
pub fn print_line(head: &str, line: &str) {
    let _ = io::stderr().write_all(format!("{head}{}\n", one_line(line)).as_bytes());
}

/// Who says an error, as `oshrun: `, in colour if standard error shows it: a terminal, without `NO_COLOR`.
pub(crate) fn error_head(name: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        ColorChoice::Never => format!("{name}: "),
        _ => {
            let style = clap::builder::Styles::styled();
            let style = style.get_error();
            format!("{style}{name}:{style:#} ")
        }
    }
}
