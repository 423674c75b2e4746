//! The server with lines by hand. `tests/pmi.rs` has it with the library's own client.

use super::*;
use std::sync::mpsc;

struct Client {
    from: BufReader<TcpStream>,
    to: TcpStream,
}

impl Client {
    fn new(address: std::net::SocketAddr, rank: usize) -> Self {
        let to = TcpStream::connect(address).unwrap();
        let from = BufReader::new(to.try_clone().unwrap());
        let mut client = Self { from, to };
        assert_eq!(client.request(&format!("cmd=initack pmiid={rank}")), "cmd=initack rc=0");
        assert_eq!(client.line(), "cmd=set size=2");
        assert_eq!(client.line(), format!("cmd=set rank={rank}"));
        assert_eq!(client.line(), "cmd=set debug=0");
        client
    }

    fn tell(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        read_line(&mut self.from).unwrap()
    }

    fn request(&mut self, line: &str) -> String {
        self.tell(line);
        self.line()
    }
}

fn serve() -> (std::net::SocketAddr, mpsc::Receiver<(usize, i32)>, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, aborts) = mpsc::channel();
    let server = Server::new(2, move |rank, status| sender.send((rank, status)).unwrap());
    let thread = thread::spawn(move || server.listen(&listener));
    (address, aborts, thread)
}

#[test]
fn values_are_there_after_a_barrier() {
    let (address, _aborts, server) = serve();
    let mut one = Client::new(address, 0);
    let mut two = Client::new(address, 1);
    assert!(one.request("cmd=init pmi_version=1 pmi_subversion=1").ends_with("rc=0"));
    assert_eq!(one.request("cmd=put kvsname=kvs key=a value=x=1"), "cmd=put_result rc=0 msg=success");
    one.tell("cmd=barrier_in");
    assert_eq!(two.request("cmd=barrier_in"), "cmd=barrier_out rc=0");
    assert_eq!(one.line(), "cmd=barrier_out rc=0");
    assert_eq!(two.request("cmd=get kvsname=kvs key=a"), "cmd=get_result rc=0 msg=success value=x=1");
    assert!(two.request("cmd=get kvsname=kvs key=b").contains("rc=-1"));
    assert_eq!(one.request("cmd=finalize"), "cmd=finalize_ack rc=0");
    assert_eq!(two.request("cmd=finalize"), "cmd=finalize_ack rc=0");
    server.join().unwrap();
}

#[test]
fn values_that_are_too_long_or_put_twice_are_refused() {
    let (address, _aborts, _server) = serve();
    let mut client = Client::new(address, 0);
    let long = "x".repeat(VALUE);
    assert!(client.request(&format!("cmd=put kvsname=kvs key=a value={long}")).contains("too_long"));
    assert!(client.request("cmd=put kvsname=kvs key=a value=1").contains("rc=0"));
    assert!(client.request("cmd=put kvsname=kvs key=a value=2").contains("duplicate_key"));
}

#[test]
fn aborts_are_reported_and_nonsense_ends_the_connection() {
    let (address, aborts, server) = serve();
    Client::new(address, 1).tell("cmd=abort exitcode=7");
    assert_eq!(aborts.recv().unwrap(), (1, 7));
    let mut client = Client::new(address, 0);
    client.tell("cmd=dance");
    assert!(read_line(&mut client.from).is_none());
    server.join().unwrap();
}
