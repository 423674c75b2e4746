//! A registrar whose regions are pages in a pipe: like a device, a pipe into which memory was
//! spliced holds the pages and shows what is in them later, whatever is at their addresses by
//! then.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use super::PAGE;
use crate::registration::Registrar;

pub(super) struct Pipes;

pub(super) struct Pages {
    start: usize,
    len: usize,
    reader: PipeReader,
    _writer: PipeWriter,
}

impl Registrar for Pipes {
    type Region = Pages;

    fn register(&self, start: usize, len: usize) -> io::Result<Pages> {
        let (reader, writer) = pipe(len)?;
        let memory = libc::iovec { iov_base: ptr::without_provenance_mut(start), iov_len: len };
        // SAFETY: the kernel checks the addresses; it writes nothing.
        let taken = unsafe { libc::vmsplice(writer.as_raw_fd(), &raw const memory, 1, libc::SPLICE_F_NONBLOCK) };
        match usize::try_from(taken) {
            Ok(taken) if taken == len => Ok(Pages { start, len, reader, _writer: writer }),
            Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

impl Pages {
    /// What a device would read at `len` bytes from address `start`.
    pub(super) fn read(&self, start: usize, len: usize) -> Vec<u8> {
        let (copy, writer) = pipe(self.len).unwrap();
        tee(self.reader.as_raw_fd(), writer.as_raw_fd(), self.len);
        let mut bytes = vec![0; self.len];
        File::from(OwnedFd::from(copy)).read_exact(&mut bytes).unwrap();
        let from = start - self.start;
        bytes[from..from + len].to_vec()
    }
}

fn pipe(len: usize) -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let size = len.max(PAGE) as libc::c_int;
    // SAFETY: takes no pointers.
    match unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, size) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok((reader, writer)),
    }
}

/// Duplicates all that is in one pipe to another.
fn tee(from: RawFd, to: RawFd, len: usize) {
    // SAFETY: takes no pointers.
    let copied = unsafe { libc::tee(from, to, len, libc::SPLICE_F_NONBLOCK) };
    assert_eq!(usize::try_from(copied), Ok(len), "{}", io::Error::last_os_error());
}
