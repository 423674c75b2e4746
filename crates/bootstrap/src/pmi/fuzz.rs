//! A client of PMI-1 and of PMI-2 whose server sends any bytes.

use std::io::Write;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::pmi1::RankSource;
use super::store::{Session, Store};
use super::wire::Wire;
use super::{chunks, pmi1, pmi2};
use crate::Error;

/// Bytes that a socket holds without a reader.
const MOST: usize = 16 << 10;

/// Has `start` open a session with a server that sends `bytes` and no more, and exchanges blobs.
fn talk<S: Store>(bytes: &[u8], start: impl FnOnce(Wire) -> Result<Session<S>, Error>) {
    let (mut server, client) = UnixStream::pair().expect("descriptors");
    let descriptor = client.as_raw_fd();
    let bytes = &bytes[..bytes.len().min(MOST)];
    server.write_all(bytes).expect("it has room");
    server.shutdown(Shutdown::Write).expect("it is open");
    // Errors are all that a server can cause. The client reads to the end of the bytes: the time is never spent.
    if let Ok(mut session) = start(Wire::over(client.into(), Duration::from_secs(20))) {
        let Session { rank, size, .. } = session;
        let _ = chunks::exchange(&mut session.store, 0, rank, size, &[7; 100]);
        let _ = session.store.fence();
        let _ = session.store.finalize();
    }
    // SAFETY: the wire never closes its descriptor, and is gone.
    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
}

/// The responses of a PMI-1 server: at a port if the first byte is odd, else on a descriptor.
pub fn pmi1(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let source = match first & 1 {
        0 => RankSource::Environment { rank: 0, size: 2, introduced: false },
        _ => RankSource::Server { id: "0" },
    };
    talk(bytes, |wire| pmi1::start(wire, &source));
}

/// The responses of a PMI-2 server.
pub fn pmi2(bytes: &[u8]) {
    talk(bytes, pmi2::start);
}
