//! What `oshrun` does for PEs that connect.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ferroshmem_bootstrap::secret::same;
use ferroshmem_platform::mapping::memory_file;
use ferroshmem_platform::thread;

use crate::finding::Finding;
use crate::layout::{RACE, finding, header, mode};
use crate::race::{Steps, Store};
use crate::remote::words::{Reader, Writer};
use crate::remote::{Address, kind, receive, send};
use crate::shared::Shared;

/// Bytes of the stack of a thread.
const STACK: usize = 256 << 10;
/// How long a process may take to say which PE it is.
const PATIENCE: Duration = Duration::from_secs(30);

/// The file, and what it has of races.
#[derive(Debug)]
struct Kept {
    shared: Shared,
    store: Option<Store>,
    n_pes: usize,
}

/// Where PEs connect.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: Address,
    mode: u64,
    /// There once a PE has said how many there are.
    kept: Arc<OnceLock<Kept>>,
}

impl Server {
    /// Listens at these addresses of this host.
    pub fn listen(mode: u64, addresses: &[IpAddr]) -> io::Result<Self> {
        let listener = match addresses {
            [one] => TcpListener::bind((*one, 0))?,
            _ => TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))
                .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)))?,
        };
        let address = Address::new(addresses, listener.local_addr()?.port())?;
        Ok(Self { listener, address, mode, kept: Arc::default() })
    }

    /// What PEs need to connect: a secret of the job.
    pub fn word(&self) -> String {
        self.address.to_word()
    }

    /// Lets PEs connect from now on, each with a thread of its own.
    pub fn start(&self) -> io::Result<()> {
        let listener = self.listener.try_clone()?;
        let (mode, token, kept) = (self.mode, self.address.token, self.kept.clone());
        let run = move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                // Without a thread for it, the PE sees the end of the connection.
                let _ = thread::spawn("check-pe", STACK, move || {
                    // A PE that ends closes its connection.
                    let _ = serve(stream, (mode, token), &kept);
                });
            }
        };
        thread::spawn("check", STACK, run).map(drop)
    }

    /// The file, if a PE has connected.
    pub fn shared(&self) -> Option<&Shared> {
        self.kept.get().map(|kept| &kept.shared)
    }
}

fn no_message() -> io::Error {
    io::Error::other("no message of the checks")
}

fn create(mode: u64, n_pes: usize) -> io::Result<Kept> {
    let shared = Shared::create(&memory_file(0)?, mode, n_pes)?;
    let store = (mode & mode::RACE != 0).then(|| Store::new(n_pes, shared.from(RACE)));
    Ok(Kept { shared, store, n_pes })
}

fn serve(mut stream: TcpStream, (mode, token): (u64, [u64; 4]), kept: &OnceLock<Kept>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let hello = receive(&mut stream)?;
    let [kind::HELLO, a, b, c, d, me, n_pes] = hello[..] else {
        return Err(no_message());
    };
    let bytes = |words: [u64; 4]| words.map(u64::to_le_bytes).concat();
    if !same(&bytes([a, b, c, d]), &bytes(token)) {
        return Err(no_message());
    }
    let (me, n_pes) = (me as usize, n_pes as usize);
    if me >= n_pes || n_pes > 1 << 16 {
        return Err(no_message());
    }
    let kept = match kept.get() {
        Some(kept) => kept,
        None => {
            let new = create(mode, n_pes)?;
            kept.get_or_init(|| new)
        }
    };
    if kept.n_pes != n_pes {
        // Another job, which a PE has started.
        return send(&mut stream, &[]);
    }
    kept.shared.add(header::CHECKED, 1);
    send(&mut stream, &[mode])?;
    stream.set_read_timeout(None)?;
    let mut steps = Steps::new(me, n_pes);
    loop {
        let message = receive(&mut stream)?;
        let answer = answer(kept, &mut steps, &message).ok_or_else(no_message)?;
        send(&mut stream, &answer)?;
    }
}

fn answer(kept: &Kept, steps: &mut Steps, message: &[u64]) -> Option<Vec<u64>> {
    let shared = &kept.shared;
    let mut reader = Reader::new(message);
    let mut writer = Writer::default();
    match reader.word()? {
        kind::STEPS => steps.take(kept.store.as_ref()?, &mut reader, &mut writer)?,
        kind::SITE => {
            let has_object = reader.word()? != 0;
            let object = reader.text()?;
            let place = reader.word()?;
            let number = shared.site_in(&reader.text()?, has_object.then_some(&object), place);
            writer.word(number.into());
        }
        kind::OBJECT => {
            let number = shared.object(&reader.text()?);
            writer.word(number.map_or(0, |number| u64::from(number) + 1));
        }
        kind::REPORT => {
            let words = &message[1..];
            let found = Finding::from_words(|word| words.get(word - finding::KIND).copied().unwrap_or(0))?;
            shared.report(&found);
        }
        kind::RAISE => match reader.word()? as usize {
            word @ (header::FULL | header::LOADS_AND_STORES | header::RUST) => shared.set(word, 1),
            _ => return None,
        },
        _ => return None,
    }
    Some(writer.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Kind, Place};
    use crate::remote::Connection;

    fn server() -> Server {
        let server = Server::listen(mode::MEMORY | mode::RACE, &[Ipv4Addr::LOCALHOST.into()]).unwrap();
        server.start().unwrap();
        server
    }

    fn address(server: &Server) -> Address {
        Address::of_word(&server.word()).unwrap()
    }

    #[test]
    fn what_pes_find_is_gathered() {
        let server = server();
        let connect = |me| Connection::open(&address(&server), me, 2).unwrap().unwrap();
        let (a, b) = (connect(0), connect(1));
        assert_eq!(a.mode, mode::MEMORY | mode::RACE);
        let site = a.site("shmem_putmem", Some("/bin/solve"), 0x40).unwrap();
        assert_eq!(b.site("shmem_putmem", Some("/bin/solve"), 0x40), Some(site));
        assert_ne!(b.site("shmem_putmem", Some("/bin/solve"), 0x41), Some(site));
        let object = b.object("/bin/solve").unwrap();
        let found = Finding {
            kind: Kind::PastEnd,
            pe: 1,
            site,
            target: 0,
            other: None,
            place: Place::Global(object, 0x4000),
            bytes: 8,
            detail: 0,
        };
        b.report(&found);
        a.report(&found);
        a.raise(header::FULL);
        let shared = server.shared().unwrap();
        assert_eq!(shared.findings(), [(found, 2)]);
        assert_eq!((shared.get(header::FULL), shared.get(header::CHECKED)), (1, 2));
        assert_eq!(shared.object_path(object), "/bin/solve");
    }

    #[test]
    fn without_the_token_nothing_is_answered() {
        let server = server();
        let mut address = address(&server);
        address.token[3] ^= 1;
        assert!(Connection::open(&address, 0, 2).is_err());
        assert!(server.shared().is_none());
    }

    #[test]
    fn a_job_of_other_pes_is_not_checked() {
        let server = server();
        assert!(Connection::open(&address(&server), 0, 2).unwrap().is_some());
        assert!(Connection::open(&address(&server), 0, 3).unwrap().is_none());
    }
}
