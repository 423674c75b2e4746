//! Links: the TCP connections by which the members of a connection between nodes meet, part, and learn that the other job
//! is gone.
//!
//! Each member has a link to the *hub*, a thread of the PE that has accepted. Over it goes little:
//!
//! | from | message |
//! |---|---|
//! | member | who it is, with the token of the connection, and what the others are to know of it |
//! | hub | what all have said |
//! | member | `READY`: it reaches all others |
//! | hub | `GO`: all are ready |
//! | member | `END`: it uses the connection no more, and none of its operations is under way |
//! | hub | `END`: no member does |
//!
//! A link that ends before `END` says that its process has. The hub looks at those of the other side, and the first
//! member of the other side at its own; members of one job have their launcher for that. If the sides are independent, each member
//! looks at its own link, and the hub at all: if one ends, it closes the others.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, IntoRawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ferroshmem_bootstrap::secret::Secret;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt;

use super::Sides;
use super::calls::TABLE;
use super::life::Life;
use super::lobby::{Lobby, take_over};
use super::started;
use crate::failure::fatal::fatal_in_background;
use crate::job::region::MAX_PES;
use crate::job::service::FIRST_REMOTE;

const MAGIC: u32 = 0x7368_6c6b;
const READY: u8 = 1;
const GO: u8 = 2;
const END: u8 = 3;

/// Bytes of the token of a connection.
const TOKEN: usize = 16;
/// Bytes of the beginning of what a member says: magic, its number, bytes that follow, token.
const HEAD: usize = 3 * size_of::<u32>() + TOKEN;
/// Most bytes that a member says of itself, without its kernels and with them.
const MOST_BYTES: usize = (64 << 10) + TABLE as usize;
/// Time for a member to read or write a message, once it has begun.
const TIME_LIMIT: Duration = Duration::from_secs(20);
const STACK: usize = 256 << 10;

/// What a member needs to know to join a connection between nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invitation {
    /// The number of the connection.
    pub number: u32,
    /// Members of each side.
    pub sizes: [usize; 2],
    /// Whether the end of one side is not the other's.
    pub independent: bool,
    /// Where the hub listens.
    pub hub: SocketAddr,
    /// What its members know and no other process does.
    pub token: [u8; TOKEN],
}

impl Invitation {
    /// Words of an invitation but for its number.
    pub(crate) const WORDS: usize = 6;

    /// As words, which a root gives its team.
    pub(crate) fn to_words(&self) -> [u64; Self::WORDS] {
        let (ip, is_v4) = match self.hub.ip() {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 1),
            IpAddr::V6(v6) => (v6, 0),
        };
        let long = |bytes: &[u8]| bytes.iter().fold(0, |word, b| word << 8 | u64::from(*b));
        let (ip, token) = (ip.octets(), &self.token);
        let [first, second] = self.sizes.map(|n| n as u64);
        [
            long(&ip[..8]),
            long(&ip[8..]),
            u64::from(self.independent) << 17 | is_v4 << 16 | u64::from(self.hub.port()),
            first << 32 | second,
            long(&token[..8]),
            long(&token[8..]),
        ]
    }

    /// From [`to_words`](Self::to_words).
    pub(crate) fn from_words(number: u32, words: [u64; Self::WORDS]) -> Self {
        let both = |i: usize| u128::from(words[i]) << 64 | u128::from(words[i + 1]);
        let ip = Ipv6Addr::from(both(0));
        let v4 = ip.to_ipv4_mapped().filter(|_| words[2] >> 16 & 1 != 0);
        let ip = v4.map_or(IpAddr::V6(ip), IpAddr::V4);
        Self {
            number,
            sizes: [(words[3] >> 32) as usize, words[3] as u32 as usize],
            independent: words[2] >> 17 & 1 != 0,
            hub: SocketAddr::new(ip, words[2] as u16),
            token: both(4).to_be_bytes(),
        }
    }

    /// As the side that accepts sends it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.number.to_le_bytes().to_vec();
        bytes.extend(self.to_words().iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes); None if it is no invitation to a connection that can be.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (number, words) = bytes.split_first_chunk()?;
        let (words, rest) = words.as_chunks::<{ size_of::<u64>() }>();
        let words: [_; Self::WORDS] = words.try_into().ok().filter(|_| rest.is_empty())?;
        let this = Self::from_words(u32::from_le_bytes(*number), words.map(u64::from_le_bytes));
        let [first, second] = this.sizes;
        let can_be = first > 0 && second > 0 && first + second <= MAX_PES;
        (can_be && this.number >= FIRST_REMOTE).then_some(this)
    }
}

/// What a member says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    member: u32,
    /// Bytes that it says of itself after that.
    len: u32,
    token: [u8; TOKEN],
}

impl Greeting {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let words = [MAGIC, self.member, self.len];
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        words.chain(self.token).collect()
    }

    /// From [`to_bytes`](Self::to_bytes); None of a stranger.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD] = bytes.try_into().ok()?;
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| bytes[4 * i + b]));
        let this = Self {
            member: word(1),
            len: word(2),
            token: std::array::from_fn(|i| bytes[HEAD - TOKEN + i]),
        };
        (word(0) == MAGIC && this.len as usize <= MOST_BYTES).then_some(this)
    }
}

/// Has the kernel end a link whose other end has been silent, or has acknowledged nothing, for most of `timeout`.
fn end_when_silent(stream: &TcpStream, timeout: Option<Duration>) -> io::Result<()> {
    const INTERVAL: Duration = Duration::from_secs(1);

    stream.set_nodelay(true)?;
    let Some(timeout) = timeout else {
        return Ok(());
    };
    let limit = (timeout * 8 / 10).as_millis().try_into();
    sockopt::set_tcp_keepidle(stream, INTERVAL)?;
    sockopt::set_tcp_keepintvl(stream, INTERVAL)?;
    sockopt::set_tcp_user_timeout(stream, limit.unwrap_or(u32::MAX))?;
    sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}

/// How a link of the other side ends the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    /// The routine that has connected the jobs.
    pub routine: &'static str,
    /// Time within which the failure of a node ends the job.
    pub timeout: Option<Duration>,
    /// Whether side 0 has had the launcher start side 1, whose links stay open until their processes end.
    pub spawns: bool,
}

impl Watch {
    /// Ends the job, as a link has ended.
    fn lost(&self, link: &io::Error) -> ! {
        /// Time for this job's launcher, if it is this job that has failed first.
        const NOTICE: Duration = Duration::from_millis(500);

        thread::sleep(NOTICE);
        let what = match link.kind() {
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                "does not answer"
            }
            _ => "has failed, or has ended without shmemx_group_disconnect",
        };
        fatal_in_background(
            self.routine,
            format_args!("the connected job {what}; ended the job"),
        )
    }
}

/// A member at the hub.
#[derive(Debug)]
struct Seat {
    link: TcpStream,
    /// What it has said of itself.
    said: Vec<u8>,
}

/// Where members meet.
#[derive(Debug)]
pub(crate) struct Hub {
    lobby: Lobby,
    invitation: Invitation,
}

impl Hub {
    /// Opens the hub of a connection, which listens at an address of this host.
    pub(crate) fn open(
        address: IpAddr,
        number: u32,
        sizes: [usize; 2],
        independent: bool,
    ) -> io::Result<Self> {
        let token = Secret::random().map_err(io::Error::other)?;
        let listener = TcpListener::bind((address, 0))?;
        let invitation = Invitation {
            number,
            sizes,
            independent,
            hub: listener.local_addr()?,
            token: token.long_token("hub", 0),
        };
        Ok(Self {
            lobby: Lobby::new(listener, HEAD)?,
            invitation,
        })
    }

    pub(crate) fn invitation(&self) -> &Invitation {
        &self.invitation
    }

    /// Lets the members meet, in a thread of its own. `root` is a connection with the root of the other side, which
    /// ends with that as long as it has not joined.
    pub(crate) fn start(self, root: TcpStream, watch: Watch) -> io::Result<JoinHandle<()>> {
        end_when_silent(&root, watch.timeout)?;
        let run = move || {
            let independent = self.invitation.independent;
            match self.run(root, watch) {
                Err(e) if !independent => watch.lost(&e),
                // All links are closed, which the members see.
                _ => {}
            }
        };
        ferroshmem_platform::thread::spawn("shmem-hub", STACK, run)
    }

    fn run(mut self, root: TcpStream, watch: Watch) -> io::Result<()> {
        let seats = self.seat_all(&root, watch)?;
        let mut all = Vec::new();
        for seat in &seats {
            all.extend((seat.said.len() as u32).to_le_bytes());
            all.extend(&seat.said);
        }
        let mut head = (all.len() as u64).to_le_bytes().to_vec();
        head.append(&mut all);
        self.tell(&seats, &head)?;
        self.hear(&seats, READY)?;
        self.tell(&seats, &[GO])?;
        drop(root);
        self.hear(&seats, END)?;
        self.tell(&seats, &[END])?;
        if watch.spawns {
            let others = seats.into_iter().skip(self.invitation.sizes[0]);
            started::add(others.map(|seat| seat.link));
        }
        Ok(())
    }

    /// Waits until all members are there.
    fn seat_all(&mut self, root: &TcpStream, watch: Watch) -> io::Result<Vec<Seat>> {
        let n = self.invitation.sizes.iter().sum();
        let mut seats: Vec<Option<Seat>> = (0..n).map(|_| None).collect();
        while seats.iter().any(Option::is_none) {
            let Some(caller) = self.lobby.next(&[root.as_fd()])? else {
                return Err(ErrorKind::ConnectionReset.into());
            };
            // A stranger gets no answer.
            let Ok((member, seat)) = self.seat(caller) else {
                continue;
            };
            end_when_silent(&seat.link, watch.timeout)?;
            if let Some(place) = seats.get_mut(member) {
                *place = Some(seat);
            }
        }
        Ok(seats.into_iter().flatten().collect())
    }

    /// A member, by its number, if the caller knows the token.
    fn seat(&self, (mut link, head): (TcpStream, Vec<u8>)) -> io::Result<(usize, Seat)> {
        let greeting = Greeting::from_bytes(&head).ok_or(ErrorKind::InvalidData)?;
        let tokens = greeting.token.iter().zip(&self.invitation.token);
        if tokens.fold(0, |all, (a, b)| all | (a ^ b)) != 0 {
            return Err(ErrorKind::InvalidData.into());
        }
        take_over(&link)?;
        link.set_read_timeout(Some(TIME_LIMIT))?;
        link.set_write_timeout(Some(TIME_LIMIT))?;
        let mut said = vec![0; greeting.len as usize];
        link.read_exact(&mut said)?;
        Ok((greeting.member as usize, Seat { link, said }))
    }

    /// Whether the connection is over if a member cannot be reached: if it is of this side, its launcher ends the job, which
    /// links of the other side show unless members outlive that.
    fn is_lost_with(&self, member: usize) -> bool {
        self.invitation.independent || member >= self.invitation.sizes[0]
    }

    fn tell(&self, seats: &[Seat], bytes: &[u8]) -> io::Result<()> {
        for (member, seat) in seats.iter().enumerate() {
            match (&seat.link).write_all(bytes) {
                Err(e) if self.is_lost_with(member) => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits until all members have said `word`.
    fn hear(&self, seats: &[Seat], word: u8) -> io::Result<()> {
        let mut silent: Vec<usize> = (0..seats.len()).collect();
        let mut missing = silent.len();
        while missing > 0 {
            let fd = |member: &usize| PollFd::new(&seats[*member].link, PollFlags::IN);
            let mut fds: Vec<_> = silent.iter().map(fd).collect();
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => continue,
                result => result?,
            };
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let mut ready = ready.into_iter();
            let mut first = None;
            silent.retain(|member| {
                if first.is_some() || !ready.next().unwrap_or(false) {
                    return true;
                }
                match hear_one(&seats[*member].link, word) {
                    Ok(()) => missing -= 1,
                    Err(e) if self.is_lost_with(*member) => first = Some(e),
                    // This side's launcher ends the job.
                    Err(_) => {}
                }
                false
            });
            if let Some(e) = first {
                return Err(e);
            }
            if silent.is_empty() && missing > 0 {
                thread::park();
            }
        }
        Ok(())
    }
}

/// Reads a word, which must be this one.
fn hear_one(mut link: &TcpStream, word: u8) -> io::Result<()> {
    let mut heard = [0];
    link.read_exact(&mut heard)?;
    match heard[0] == word {
        true => Ok(()),
        false => Err(ErrorKind::InvalidData.into()),
    }
}

/// A member's link to the hub.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
    watch: Watch,
    /// The hub's thread, at the PE that has it; at the first member of the other side, the thread that reads the link.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// If the sides are independent, the thread that reads the link.
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl Link {
    /// Joins a connection as its member `me`, and says something of it to the others; what all have said.
    pub(crate) fn join(
        invitation: &Invitation,
        me: usize,
        said: &[u8],
        watch: Watch,
        hub: Option<JoinHandle<()>>,
    ) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let mut stream = TcpStream::connect_timeout(&invitation.hub, TIME_LIMIT)?;
        end_when_silent(&stream, watch.timeout)?;
        let greeting = Greeting {
            member: me as u32,
            len: said.len() as u32,
            token: invitation.token,
        };
        let mut bytes = greeting.to_bytes();
        bytes.extend(said);
        stream.write_all(&bytes)?;
        let mut len = [0; size_of::<u64>()];
        stream.read_exact(&mut len)?;
        let n: usize = invitation.sizes.iter().sum();
        let most = n * (MOST_BYTES + size_of::<u32>());
        let len = usize::try_from(u64::from_le_bytes(len)).ok();
        let len = len.filter(|len| *len <= most);
        let mut all = vec![0; len.ok_or(ErrorKind::InvalidData)?];
        stream.read_exact(&mut all)?;
        let link = Self {
            stream,
            watch,
            thread: Mutex::new(hub),
            reader: Mutex::default(),
        };
        Ok((link, parts(&all, n).ok_or(ErrorKind::InvalidData)?))
    }

    /// Says that this member reaches all others, and waits until all do.
    pub(crate) fn wait_for_all(&self) -> io::Result<()> {
        (&self.stream).write_all(&[READY])?;
        hear_one(&self.stream, GO)
    }

    /// Ends the job when the link ends, if this PE is the one of its side to do so.
    pub(crate) fn look_after(&self, sides: &Sides, me: usize) -> io::Result<()> {
        if sides.own == 0 || me != sides.own().start {
            return Ok(());
        }
        let (stream, watch) = (self.stream.try_clone()?, self.watch);
        let read = move || hear_one(&stream, END).unwrap_or_else(|e| watch.lost(&e));
        let thread = ferroshmem_platform::thread::spawn("shmem-link", STACK, read)?;
        let mut place = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(thread);
        Ok(())
    }

    /// Notes in `life` when the link ends, of independent sides.
    pub(crate) fn outlive(&self, life: Arc<Life>) -> io::Result<()> {
        life.set_link(self.stream.try_clone()?);
        let stream = self.stream.try_clone()?;
        let read = move || match hear_one(&stream, END) {
            Ok(()) => life.end(),
            Err(_) => life.fail(),
        };
        let thread = ferroshmem_platform::thread::spawn("shmem-link", STACK, read)?;
        let mut place = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(thread);
        Ok(())
    }

    /// This member uses the connection no more, and none of its operations is under way.
    pub(crate) fn leave(&self) {
        match (&self.stream).write_all(&[END]) {
            Err(e) if !self.is_outlived() => self.broken(&e),
            // If it is gone, the thread that reads the link notes that.
            _ => {}
        }
    }

    /// Whether a thread notes in a [`Life`] when the link ends.
    fn is_outlived(&self) -> bool {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.is_some()
    }

    /// Waits until that holds for all members, or if these are independent, until one is gone.
    pub(crate) fn wait_for_end(&self) {
        let take = |thread: &Mutex<Option<JoinHandle<()>>>| {
            let mut place = thread.lock().unwrap_or_else(PoisonError::into_inner);
            place.take()
        };
        // A thread that fails ends the process, unless the sides are independent.
        let thread = take(&self.thread).map(JoinHandle::join);
        let reader = take(&self.reader).map(JoinHandle::join);
        match thread.or(reader) {
            Some(_) => {}
            None => hear_one(&self.stream, END).unwrap_or_else(|e| self.broken(&e)),
        }
        if self.watch.spawns {
            // Until this process ends.
            let _ = self.stream.try_clone().map(IntoRawFd::into_raw_fd);
        }
    }

    /// The link has ended: another PE of this side, or its launcher, ends the job.
    fn broken(&self, link: &io::Error) {
        thread::sleep(TIME_LIMIT);
        self.watch.lost(link);
    }
}

/// What `n` members have said.
pub(crate) fn parts(mut all: &[u8], n: usize) -> Option<Vec<Vec<u8>>> {
    let mut parts = Vec::with_capacity(n);
    for _ in 0..n {
        let (len, rest) = all.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        parts.push(part.to_vec());
        all = rest;
    }
    all.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::job::region::ConnectionState;

    const WATCH: Watch = Watch {
        routine: "test",
        timeout: Some(Duration::from_secs(60)),
        spawns: false,
    };

    /// The hub of a connection, and the other side's end of its first socket.
    fn hub(sizes: [usize; 2], independent: bool) -> (Hub, TcpStream, TcpStream) {
        let hub = Hub::open(Ipv4Addr::LOCALHOST.into(), 7, sizes, independent).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (hub, listener.accept().unwrap().0, other)
    }

    #[test]
    fn invitations_come_back_from_words() {
        for hub in ["10.1.2.3:4711", "[2001:db8::7]:65535", "[::ffff:1.2.3.4]:1"] {
            let invitation = Invitation {
                number: 5,
                sizes: [3, 4096],
                independent: hub.len() % 2 == 0,
                hub: hub.parse().unwrap(),
                token: std::array::from_fn(|i| 250 - i as u8),
            };
            let words = invitation.to_words();
            assert_eq!(Invitation::from_words(5, words), invitation);
            let taken = Invitation {
                number: FIRST_REMOTE | 5,
                sizes: [3, MAX_PES - 3],
                ..invitation.clone()
            };
            let bytes = taken.to_bytes();
            assert_eq!(Invitation::from_bytes(&bytes), Some(taken));
            // Of another kind of connection, with too many members, and cut.
            assert_eq!(Invitation::from_bytes(&invitation.to_bytes()), None);
            assert_eq!(Invitation::from_bytes(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn members_meet_and_part_past_strangers() {
        let (hub, root, _other) = hub([2, 3], false);
        let invitation = hub.invitation().clone();
        let thread = hub.start(root, WATCH).unwrap();
        let silent = TcpStream::connect(invitation.hub).unwrap();
        let mut loud = TcpStream::connect(invitation.hub).unwrap();
        loud.write_all(&[7; 1000]).unwrap();
        let mut wrong = invitation.clone();
        wrong.token[15] ^= 1;
        let refused = Link::join(&wrong, 0, b"x", WATCH, None).unwrap_err();
        assert_ne!(refused.kind(), ErrorKind::TimedOut, "{refused}");
        let member = |me: usize| {
            let invitation = invitation.clone();
            thread::spawn(move || {
                let said = vec![me as u8; 100 * me];
                let (link, all) = Link::join(&invitation, me, &said, WATCH, None).unwrap();
                let expected = (0..5u8).map(|m| vec![m; 100 * usize::from(m)]);
                assert!(all.into_iter().eq(expected));
                link.wait_for_all().unwrap();
                link.leave();
                link.wait_for_end();
            })
        };
        let members: Vec<_> = (0..5).map(member).collect();
        for member in members {
            member.join().unwrap();
        }
        thread.join().unwrap();
        drop(silent);
    }

    #[test]
    fn a_side_that_is_gone_is_missed() {
        let (mut hub, root, other) = hub([1, 1], false);
        drop(other);
        let missed = hub.seat_all(&root, WATCH).unwrap_err();
        assert_eq!(missed.kind(), ErrorKind::ConnectionReset);
        let (hub, root, _other) = self::hub([1, 1], false);
        let invitation = hub.invitation().clone();
        let joining = |me| {
            let invitation = invitation.clone();
            thread::spawn(move || {
                let joined = Link::join(&invitation, me, b"", WATCH, None);
                let (link, _) = joined.unwrap();
                link.wait_for_all().unwrap();
                link
            })
        };
        let (first, second) = (joining(0), joining(1));
        let running = thread::spawn(move || hub.run(root, WATCH));
        let first = first.join().unwrap();
        drop(second.join().unwrap());
        let missed = running.join().unwrap().unwrap_err();
        assert_eq!(missed.kind(), ErrorKind::UnexpectedEof);
        drop(first);
    }

    #[test]
    fn independent_members_note_that_one_is_gone() {
        static STATES: [AtomicU32; 4] = [const { AtomicU32::new(1) }; 4];

        for gone in 0..4 {
            let (hub, root, _other) = hub([2, 2], true);
            let invitation = hub.invitation().clone();
            let hub = hub.start(root, WATCH).unwrap();
            let join = |me| {
                let invitation = invitation.clone();
                thread::spawn(move || {
                    let link = Link::join(&invitation, me, b"", WATCH, None).unwrap().0;
                    link.wait_for_all().unwrap();
                    link
                })
            };
            let links = [0, 1, 2, 3].map(join).map(|link| link.join().unwrap());
            let lives = [0, 1, 2, 3].map(|me| {
                let state = ConnectionState::Connected as u32;
                STATES[me].store(state, Ordering::Relaxed);
                Arc::new(Life::new(&STATES[me]))
            });
            for (link, life) in links.iter().zip(&lives) {
                link.outlive(life.clone()).unwrap();
            }
            lives[gone].fail();
            // Whether they are about to leave or not.
            links[0].leave();
            hub.join().unwrap();
            for (link, state) in links.iter().zip(&STATES) {
                link.wait_for_end();
                let state = state.load(Ordering::Relaxed);
                assert_eq!(state, ConnectionState::Failed as u32);
            }
        }
    }
}
