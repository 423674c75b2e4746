//! The machines' PMI-1 server with the library's own client, in processes of this machine.

use std::env;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ferroshmem_bootstrap::{Config, detect};
use ferroshmem_cluster::machines::pmi::Server;

/// Longer than a value of PMI-1 can be.
const LENGTH: usize = 5000;

/// Says what the PE is to do.
const TASK: &str = "FERROSHMEM_CLUSTER_TEST";

#[test]
#[ignore = "a PE of the other tests"]
fn pe() {
    let config = Config { deadline: Duration::from_secs(20), ..Config::default() };
    let client = detect(&config).unwrap().unwrap();
    let (rank, size) = (client.rank(), client.size());
    if env::var(TASK).unwrap() == "abort" {
        if rank == size - 1 {
            client.abort(9, "for a test");
        }
        return;
    }
    for round in 0..3 {
        let mine = vec![(rank + round) as u8; LENGTH + rank];
        let all = client.exchange(&mine).unwrap();
        assert_eq!(all.len(), size);
        for (other, blob) in all.iter().enumerate() {
            assert_eq!(*blob, vec![(other + round) as u8; LENGTH + other]);
        }
        client.barrier().unwrap();
    }
    client.finalize();
}

/// Starts the PEs, and the server; what is received are ranks and statuses of aborts.
fn start(size: usize, task: &str) -> (Vec<Child>, mpsc::Receiver<(usize, i32)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, aborts) = mpsc::channel();
    let server = Server::new(size, move |rank, status| {
        sender.send((rank, status)).unwrap();
    });
    thread::spawn(move || server.listen(&listener));
    let start = |rank: usize| {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "pe", "--ignored", "--quiet"])
            .env(TASK, task)
            .env("PMI_PORT", &address)
            .env("PMI_ID", rank.to_string())
            .env("PMI_RANK", rank.to_string())
            .env("PMI_SIZE", size.to_string())
            .env_remove("PMI_FD")
            .env_remove("PMIX_NAMESPACE")
            .spawn()
            .unwrap()
    };
    ((0..size).map(start).collect(), aborts)
}

#[test]
fn blobs_are_exchanged() {
    let (pes, _aborts) = start(5, "exchange");
    for mut pe in pes {
        assert!(pe.wait().unwrap().success());
    }
}

#[test]
fn an_abort_reaches_the_server() {
    let (pes, aborts) = start(2, "abort");
    let abort = aborts.recv_timeout(Duration::from_secs(20));
    for mut pe in pes {
        pe.wait().unwrap();
    }
    assert_eq!(abort, Ok((1, 9)));
}
