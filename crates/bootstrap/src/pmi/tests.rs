//! The two protocols against a server made here, which takes no more than they promise.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use super::pmi1::RankSource;
use super::store::{Session, Store};
use super::wire::Wire;
use super::{chunks, pmi1, pmi2};
use crate::Error;

const DEADLINE: Duration = Duration::from_secs(20);
/// The longest key and value of servers, with the byte that ends them.
const KEY: usize = 64;
const VALUE: usize = 1024;

/// What the server keeps for a job.
struct Job {
    size: usize,
    values: Mutex<HashMap<String, String>>,
    fence: Barrier,
}

impl Job {
    fn of(size: usize) -> Arc<Self> {
        Arc::new(Self { size, values: Mutex::default(), fence: Barrier::new(size) })
    }

    fn put(&self, key: &str, value: &str) {
        assert!(key.len() < KEY && value.len() < VALUE, "{key}={value}");
        let old = self.values.lock().unwrap().insert(key.into(), value.into());
        assert_eq!(old, None, "{key} is put twice");
    }

    fn get(&self, key: &str) -> String {
        self.values.lock().unwrap()[key].clone()
    }
}

/// A message taken apart at `separator`.
fn pairs(message: &str, separator: char) -> HashMap<&str, &str> {
    let words = message.trim_end().split(separator).filter(|w| !w.is_empty());
    words.map(|w| w.split_once('=').unwrap()).collect()
}

fn line(stream: &mut impl BufRead) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert!(line.len() <= 1024, "{line}");
    line
}

/// Serves PMI-1 until the client finalizes; with `place`, as at a port.
fn serve_lines(job: &Job, stream: UnixStream, place: Option<usize>) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    let mut output = stream;
    if let Some(rank) = place {
        assert_eq!(line(&mut input), "cmd=initack pmiid=7\n");
        let size = job.size;
        let answer = format!("cmd=initack\ncmd=set size={size}\ncmd=set rank={rank}\ncmd=set debug=0\n");
        output.write_all(answer.as_bytes()).unwrap();
    }
    loop {
        let line = line(&mut input);
        let fields = pairs(&line, ' ');
        let answer = match fields["cmd"] {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".into(),
            "get_maxes" => format!("cmd=maxes kvsname_max=256 keylen_max={KEY} vallen_max={VALUE}"),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_4711_0_host".into(),
            "put" => {
                assert_eq!(fields["kvsname"], "kvs_4711_0_host");
                job.put(fields["key"], fields["value"]);
                "cmd=put_result rc=0 msg=success".into()
            }
            "barrier_in" => {
                job.fence.wait();
                "cmd=barrier_out".into()
            }
            "get" => format!("cmd=get_result rc=0 value={}", job.get(fields["key"])),
            "finalize" => "cmd=finalize_ack".into(),
            other => panic!("{other}"),
        };
        // In two parts, as a busy server might.
        let (start, end) = answer.split_at(answer.len() / 2);
        output.write_all(start.as_bytes()).unwrap();
        thread::yield_now();
        output.write_all(format!("{end}\n").as_bytes()).unwrap();
        if fields["cmd"] == "finalize" {
            return;
        }
    }
}

/// Serves PMI-2 until the client finalizes.
fn serve_messages(job: &Job, stream: UnixStream, rank: usize) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    let mut output = stream;
    assert_eq!(line(&mut input), "cmd=init pmi_version=2 pmi_subversion=0\n");
    let hello = b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";
    output.write_all(hello).unwrap();
    loop {
        let mut length = [0; 6];
        input.read_exact(&mut length).unwrap();
        let length: usize = str::from_utf8(&length).unwrap().trim().parse().unwrap();
        let mut message = vec![0; length];
        input.read_exact(&mut message).unwrap();
        let message = String::from_utf8(message).unwrap();
        let fields = pairs(&message, ';');
        assert!(fields.values().all(|v| !v.is_empty()), "{message}");
        let answer = match fields["cmd"] {
            "fullinit" => format!("rank={rank};size={};appnum=0;", job.size),
            "job-getid" => "jobid=4711.0;".into(),
            "kvs-put" => {
                job.put(fields["key"], fields["value"]);
                String::new()
            }
            "kvs-fence" => {
                job.fence.wait();
                String::new()
            }
            "kvs-get" => {
                assert_eq!(fields["jobid"], "4711.0");
                format!("found=TRUE;value={};", job.get(fields["key"]))
            }
            "finalize" => String::new(),
            other => panic!("{other}"),
        };
        let answer = format!("cmd={}-response;rc=0;{answer}", fields["cmd"]);
        let framed = format!("{:>6}{answer}", answer.len());
        output.write_all(framed.as_bytes()).unwrap();
        if fields["cmd"] == "finalize" {
            return;
        }
    }
}

fn blob(rank: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 13 + rank) as u8).collect()
}

/// What every process does.
fn run(session: Session<impl Store>, rank: usize, size: usize) {
    assert_eq!((session.rank, session.size), (rank, size));
    let mut store = session.store;
    for (round, len) in [0, 1, 600, 65536].into_iter().enumerate() {
        // Of different lengths, also in chunks.
        let of = |rank: usize| blob(rank, len * (rank % 2) + len / 2);
        let all = chunks::exchange(&mut store, round as u64, rank, size, &of(rank)).unwrap();
        let expected: Vec<Vec<u8>> = (0..size).map(of).collect();
        assert!(all == expected, "round {round}");
        store.fence().unwrap();
    }
    store.finalize().unwrap();
}

fn wire(stream: UnixStream) -> Wire {
    Wire::over(stream.into(), DEADLINE)
}

#[test]
fn pmi_1_exchanges() {
    const SIZE: usize = 3;
    let job = Job::of(SIZE);
    thread::scope(|scope| {
        for rank in 0..SIZE {
            let (client, server) = UnixStream::pair().unwrap();
            // The last one comes by a port.
            let by_port = rank == 2;
            let job = &job;
            scope.spawn(move || serve_lines(job, server, by_port.then_some(rank)));
            scope.spawn(move || {
                let source = match by_port {
                    true => RankSource::Server { id: "7" },
                    false => RankSource::Environment { rank, size: SIZE, introduced: rank == 1 },
                };
                run(pmi1::start(wire(client), &source).unwrap(), rank, SIZE);
            });
        }
    });
}

#[test]
fn pmi_2_exchanges() {
    const SIZE: usize = 3;
    let job = Job::of(SIZE);
    thread::scope(|scope| {
        for rank in 0..SIZE {
            let (client, server) = UnixStream::pair().unwrap();
            let job = &job;
            scope.spawn(move || serve_messages(job, server, rank));
            scope.spawn(move || run(pmi2::start(wire(client)).unwrap(), rank, SIZE));
        }
    });
}

/// The error of a start to which the server answers this, and then nothing.
fn answered(answer: &str, deadline: Duration) -> Error {
    let (client, mut server) = UnixStream::pair().unwrap();
    server.write_all(answer.as_bytes()).unwrap();
    let wire = Wire::over(client.into(), deadline);
    pmi1::start(wire, &RankSource::Environment { rank: 0, size: 2, introduced: false }).err().unwrap()
}

#[test]
fn failures_of_servers_have_their_own_errors() {
    let silent = answered("", Duration::from_millis(30)).to_string();
    assert!(silent.contains("no answer within 30ms"), "{silent}");
    let strange = answered("HTTP/1.1 400 Bad Request\n", DEADLINE).to_string();
    assert!(strange.contains("HTTP/1.1 400"), "{strange}");
    let hello = "cmd=initack\ncmd=set size=2\ncmd=set rank=2\ncmd=set debug=0\n";
    let (client, mut server) = UnixStream::pair().unwrap();
    server.write_all(hello.as_bytes()).unwrap();
    let none = pmi1::start(wire(client), &RankSource::Server { id: "7" }).err().unwrap().to_string();
    assert!(none.contains("no rank"), "{none}");
    let refusing = answered("cmd=response_to_init rc=-1\n", DEADLINE).to_string();
    assert!(refusing.contains("rc=-1"), "{refusing}");

    let (client, server) = UnixStream::pair().unwrap();
    drop(server);
    let gone = pmi2::start(wire(client)).err().unwrap().to_string();
    assert!(gone.contains("is lost"), "{gone}");
    let closed = Wire::inherited(1 << 20, DEADLINE).unwrap_err().to_string();
    assert!(closed.contains("descriptor is closed"), "{closed}");
}

#[test]
fn a_server_of_pmi_1_refuses_pmi_2() {
    let (client, mut server) = UnixStream::pair().unwrap();
    let answer = b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n";
    server.write_all(answer).unwrap();
    let refused = pmi2::start(wire(client)).err().unwrap().to_string();
    assert!(refused.contains("does not speak PMI-2"), "{refused}");
}

/// As in a C program, which a closed connection would end by SIGPIPE.
#[test]
fn a_closed_connection_is_an_error_and_no_signal() {
    let (client, server) = UnixStream::pair().unwrap();
    let wire = wire(client);
    drop(server);
    // SAFETY: the default action of a signal that nothing here raises.
    let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    wire.sender().send(b"cmd=abort exitcode=1\n");
    let lost = wire.send(b"cmd=finalize\n").unwrap_err().to_string();
    // SAFETY: as it was.
    unsafe { libc::signal(libc::SIGPIPE, before) };
    assert!(lost.contains("is lost"), "{lost}");
}

#[test]
fn a_server_is_looked_for_at_each_address_of_its_name() {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = listen();
    // The first one is closed again.
    let addresses = [listen().local_addr().unwrap(), server.local_addr().unwrap()];
    Wire::to_first(addresses.into_iter(), DEADLINE).unwrap();
}
