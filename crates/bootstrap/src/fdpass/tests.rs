//! The processes of the job get the files, whatever else connects.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::thread::JoinHandleExt;
use std::thread;
use std::time::Duration;

use super::{Request, Server, fetch};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_getfd};
use rustix::process::geteuid;

use crate::secret::Secret;

const DEADLINE: Duration = Duration::from_secs(30);
/// For what is expected to fail.
const SHORT: Duration = Duration::from_millis(50);
const NOBODY: u32 = 65534;

fn file(text: &str) -> File {
    let mut file = File::from(memfd_create(c"test", MemfdFlags::empty()).unwrap());
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn text(file: File) -> String {
    let mut text = vec![0; 16];
    let n = file.read_at(&mut text, 0).unwrap();
    String::from_utf8_lossy(&text[..n]).into_owned()
}

fn connection(name: &[u8]) -> UnixStream {
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
}

/// Whether the server has ended this connection without a word.
fn is_dropped(mut stream: &UnixStream) -> bool {
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(n) => n == 0,
        Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Becomes another user, in this thread alone: libc's function would change all threads.
fn become_nobody() {
    const KEEP: libc::uid_t = libc::uid_t::MAX;
    // SAFETY: changes this thread's effective user, or fails.
    let failed = unsafe { libc::syscall(libc::SYS_setresuid, KEEP, NOBODY, KEEP) };
    assert_eq!(failed, 0);
}

fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        println!("skipped: only root can be another user");
    }
    root
}

/// What the server gives to a connection that its process has left for another one is lost.
#[test]
fn a_signal_makes_no_other_connection() {
    extern "C" fn nothing(_: libc::c_int) {}
    const TIME: Duration = Duration::from_millis(50);
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler does nothing, and no other test uses the signal.
    unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
    let name = format!("ferroshmem-signal-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let client = thread::spawn(move || fetch(name.as_bytes(), &Secret::random().unwrap(), 1, 1, DEADLINE));
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; super::REQUEST]).unwrap();
    for _ in 0..3 {
        thread::sleep(TIME);
        // SAFETY: the thread has not been joined.
        unsafe { libc::pthread_kill(client.as_pthread_t(), libc::SIGUSR2) };
    }
    thread::sleep(TIME);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
    drop((listener, stream));
    assert!(client.join().unwrap().is_err());
}

#[test]
fn many_come_at_once() {
    const CLIENTS: usize = 64;
    let secret = Secret::random().unwrap();
    let server = Server::open().unwrap();
    let name = server.name().to_vec();
    let ranks: Vec<usize> = (1..=CLIENTS).map(|i| i * 3).collect();
    thread::scope(|scope| {
        for &rank in &ranks {
            let (name, secret) = (&name, &secret);
            scope.spawn(move || {
                let files = fetch(name, secret, rank, 2, DEADLINE).unwrap();
                for file in &files {
                    assert_eq!(fcntl_getfd(file).unwrap(), FdFlags::CLOEXEC);
                }
                let texts: Vec<String> = files.into_iter().map(|f| text(f.into())).collect();
                assert_eq!(texts, ["heaps", "globals"]);
            });
        }
        let (heaps, globals) = (file("heaps"), file("globals"));
        let files = [heaps.as_fd(), globals.as_fd()];
        server.serve(&secret, &ranks, &files, DEADLINE).unwrap();
    });
}

#[test]
fn other_connections_get_nothing_and_do_not_block() {
    let secret = Secret::random().unwrap();
    let server = Server::open().unwrap();
    let name = server.name().to_vec();
    // More silent connections than may be open, one with half of the right request.
    let silent: Vec<UnixStream> = (0..100).map(|_| connection(&name)).collect();
    (&silent[99]).write_all(&Request::new(&secret, 1).as_bytes()[..9]).unwrap();
    let noisy = connection(&name);
    (&noisy).write_all(&[b'x'; 4096]).unwrap();
    let other = connection(&name);
    let others = Secret::random().unwrap();
    (&other).write_all(Request::new(&others, 1).as_bytes()).unwrap();
    // Right secret, rank of another node.
    let lost = connection(&name);
    (&lost).write_all(Request::new(&secret, 2).as_bytes()).unwrap();
    let refused = thread::scope(|scope| {
        let client = scope.spawn(|| fetch(&name, &secret, 1, 1, DEADLINE).unwrap());
        let refused = scope.spawn(|| fetch(&name, &others, 3, 1, SHORT).unwrap_err());
        let memory = file("memory");
        let done = server.serve(&secret, &[1], &[memory.as_fd()], DEADLINE);
        done.unwrap();
        let files = client.join().unwrap();
        assert_eq!(text(files.into_iter().next().unwrap().into()), "memory");
        refused.join().unwrap()
    });
    assert!(refused.to_string().starts_with("PE 3 cannot get"), "{refused}");
    for dropped in [&noisy, &other, &lost, &silent[0], &silent[99]] {
        assert!(is_dropped(dropped));
    }
}

#[test]
fn another_user_gets_nothing() {
    if !is_root() {
        return;
    }
    let secret = Secret::random().unwrap();
    let server = Server::open().unwrap();
    let name = server.name().to_vec();
    thread::scope(|scope| {
        let spy = scope.spawn(|| {
            become_nobody();
            let stream = connection(&name);
            // Knowing the secret does not help.
            let _ = (&stream).write_all(Request::new(&secret, 1).as_bytes());
            assert!(is_dropped(&stream));
        });
        let memory = file("memory");
        let serve = || server.serve(&secret, &[1], &[memory.as_fd()], DEADLINE);
        let client = scope.spawn(|| {
            spy.join().unwrap();
            fetch(&name, &secret, 1, 1, DEADLINE).unwrap();
        });
        serve().unwrap();
        client.join().unwrap();
    });
}

#[test]
fn another_users_server_learns_nothing() {
    if !is_root() {
        return;
    }
    let secret = Secret::random().unwrap();
    let name = b"ferroshmem-test-of-another-user";
    let listener = thread::spawn(move || {
        become_nobody();
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
    });
    let listener = listener.join().unwrap();
    let error = fetch(name, &secret, 1, 1, DEADLINE).unwrap_err();
    assert!(error.to_string().ends_with("another user's"), "{error}");
    let (mut client, _) = listener.accept().unwrap();
    assert_eq!(client.read(&mut [0; 64]).unwrap(), 0);
}

#[test]
fn a_server_of_another_job_is_noticed() {
    let secret = Secret::random().unwrap();
    let name = b"ferroshmem-test-of-another-job";
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(&[7; 16]).unwrap();
            // Until the client leaves: a close before would take the answer away.
            let _ = client.read_to_end(&mut Vec::new());
        });
        fetch(name, &secret, 1, 1, DEADLINE).unwrap_err()
    });
    assert!(error.to_string().contains("job's secret"), "{error}");
}

#[test]
fn absent_processes_are_named() {
    let secret = Secret::random().unwrap();
    let server = Server::open().unwrap();
    let name = server.name().to_vec();
    let memory = file("memory");
    let error = server.serve(&secret, &[2, 5], &[memory.as_fd()], SHORT);
    assert_eq!(error.unwrap_err().to_string(), "PEs 2, 5 of this node have not come for the node's memory within 50ms");
    let gone = fetch(&name, &secret, 2, 1, DEADLINE).unwrap_err();
    assert!(gone.to_string().ends_with("it is gone"), "{gone}");
}
