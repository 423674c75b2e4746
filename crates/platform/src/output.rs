//! What this process has printed, on its way to the user through a launcher.

use std::io::{stderr, stdout};
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a launcher's daemon may take to read what is printed: it may have lost its core.
const READING: Duration = Duration::from_secs(2);

/// Time for what a daemon has read to pass the launcher's other processes.
const FORWARDING: Duration = Duration::from_millis(200);

/// Writes out what the program has printed by C's streams.
pub fn flush() {
    // SAFETY: a null stream means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Waits until standard output and standard error have been read, and had time to be forwarded. Launchers
/// that are asked to end a job do so at once, and drop what their daemons have not read.
pub fn wait_until_forwarded() {
    let until = Instant::now() + READING;
    while (unread(stdout()) || unread(stderr())) && Instant::now() < until {
        sleep(Duration::from_millis(1));
    }
    sleep(FORWARDING);
}

/// Whether `output` is a pipe that has bytes in it. What is written to other files has arrived.
fn unread(output: impl AsFd) -> bool {
    let is_pipe =
        rustix::fs::fstat(output.as_fd()).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_fifo());
    is_pipe && rustix::io::ioctl_fionread(output).is_ok_and(|bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};

    use super::*;

    #[test]
    fn a_pipe_is_unread_until_its_reader_has_it_all() {
        let (mut reader, mut writer) = pipe().unwrap();
        assert!(!unread(&writer));
        writer.write_all(b"two").unwrap();
        assert!(unread(&writer));
        let mut part = [0; 2];
        reader.read_exact(&mut part).unwrap();
        assert!(unread(&writer));
        reader.read_exact(&mut part[..1]).unwrap();
        assert!(!unread(&writer));
    }

    #[test]
    fn a_file_is_read() {
        let mut file = crate::mapping::memory_file(4096).unwrap();
        file.write_all(b"text").unwrap();
        assert!(!unread(&file));
    }
}
