//! What a user at a terminal sees, and the keys that he presses.

use std::io::{self, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const REFRESH: Duration = Duration::from_millis(100);

/// Keys and progress; neither where no user is at a terminal.
pub(crate) struct Terminal {
    keys: Receiver<u8>,
    /// The terminal's settings before.
    settings: Option<String>,
    shows: bool,
    shown: Option<Instant>,
}

fn stty(args: &[&str]) -> Option<String> {
    let mut command = Command::new("stty");
    command.args(args).stdin(Stdio::inherit());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let (sender, keys) = mpsc::channel();
        let settings = io::stdin().is_terminal().then(|| stty(&["-g"])).flatten();
        if settings.is_some() {
            stty(&["-icanon", "-echo", "min", "1"]);
            thread::spawn(move || {
                // Until the process ends.
                let keys = io::stdin().lock().bytes().map_while(Result::ok);
                for key in keys {
                    if sender.send(key).is_err() {
                        return;
                    }
                }
            });
        }
        Self { keys, settings, shows: io::stderr().is_terminal(), shown: None }
    }

    /// Waits for so long, or until a key is pressed: the workers that it adds.
    pub(crate) fn wait(&self, time: Duration) -> isize {
        if self.settings.is_none() {
            thread::sleep(time);
            return 0;
        }
        match self.keys.recv_timeout(time) {
            Ok(b'+') => 1,
            Ok(b'-') => -1,
            _ => 0,
        }
    }

    /// Shows the progress, now and then.
    pub(crate) fn show(&mut self, (done, all): (usize, usize), workers: usize, begin: Instant) {
        if !self.shows || self.shown.is_some_and(|last| last.elapsed() < REFRESH) {
            return;
        }
        self.shown = Some(Instant::now());
        let left = match done {
            0 => "...".to_owned(),
            _ => format!("{:.1} s", begin.elapsed().as_secs_f64() * (all - done) as f64 / done as f64),
        };
        let keys = if self.settings.is_some() { "; + and - change them" } else { "" };
        eprint!("\r{:3} %, {left} left, workers: {workers}{keys} \x1b[K", 100 * done / all);
        let _ = io::stderr().flush();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
        if let Some(settings) = &self.settings {
            stty(&[settings]);
        }
    }
}
