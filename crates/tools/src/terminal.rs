//! How text for a user looks where it is shown on a terminal.

use std::os::fd::BorrowedFd;

use anstream::ColorChoice;
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
