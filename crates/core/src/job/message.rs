//! Messages between processes of a node, with descriptors: three numbers, a text, and files.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// Most descriptors in a message.
const MOST_FILES: usize = 4;
/// Most bytes of a message.
const MOST_BYTES: usize = 4096;
/// Bytes of the numbers at the beginning of a message.
const HEAD: usize = 3 * size_of::<u32>();

/// Numbers, text and files.
pub type Message = ([u32; 3], String, Vec<OwnedFd>);

/// Two sockets that are connected.
///
/// # Errors
/// Of the system.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
    Ok(socketpair(family, SocketType::SEQPACKET, flags, None)?)
}

/// Sends a message, of whose text what has room.
///
/// # Errors
/// If the other end is closed, or there is no room and the socket does not block.
pub fn send(socket: BorrowedFd<'_>, head: [u32; 3], text: &str, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    let head: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut end = text.len().min(MOST_BYTES - HEAD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let parts = [IoSlice::new(&head), IoSlice::new(&text.as_bytes()[..end])];
    rustix::io::retry_on_intr(|| sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// The next message; None if there is none, or the other end is closed.
///
/// # Errors
/// If it is no such message, or of the system.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<Message>> {
    let mut bytes = [0; MOST_BYTES];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received =
        rustix::io::retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags));
    let message = match received {
        Ok(message) => message,
        Err(Errno::AGAIN | Errno::CONNRESET) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let mut files = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            files.extend(descriptors);
        }
    }
    if message.bytes == 0 {
        return Ok(None);
    }
    let cut = ReturnFlags::CTRUNC | ReturnFlags::TRUNC;
    if message.bytes < HEAD || message.flags.intersects(cut) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[4 * i + k]));
    let text = String::from_utf8_lossy(&bytes[HEAD..message.bytes]);
    Ok(Some(([word(0), word(1), word(2)], text.into_owned(), files)))
}
