//! The coordinator of a connection between nodes: a thread of the PE that has accepted, at which the members join and
//! part by their [links](ferroshmem_core::connection::link).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use ferroshmem_bootstrap::secret::{Secret, same};
use rustix::event::{PollFd, PollFlags, poll};

use super::listener::{Listener, take_over};
use super::started;
use ferroshmem_core::connection::invitation::{HEAD, Invitation, JoinRequest};
use ferroshmem_core::connection::link::{
    APART, END, GO, READY, STACK, TIME_LIMIT, Watch, end_when_silent, receive_one,
};

/// A member at the coordinator.
#[derive(Debug)]
struct Member {
    link: TcpStream,
    /// What it has said of itself.
    info: Vec<u8>,
}

/// Where members join.
#[derive(Debug)]
pub struct Coordinator {
    listener: Listener,
    invitation: Invitation,
}

impl Coordinator {
    /// Opens the coordinator of a connection, which listens at an address of this host.
    pub fn open(address: IpAddr, number: u32, sizes: [usize; 2], independent: bool) -> io::Result<Self> {
        let token = Secret::random().map_err(io::Error::other)?;
        let listener = TcpListener::bind((address, 0))?;
        let token = token.long_token("coordinator", 0);
        let invitation = Invitation { number, sizes, independent, coordinator: listener.local_addr()?, token };
        Ok(Self { listener: Listener::new(listener, HEAD)?, invitation })
    }

    /// What another job needs in order to connect.
    pub fn invitation(&self) -> &Invitation {
        &self.invitation
    }

    /// Lets the members join, in a thread of its own. `root` is a connection with the root of the other group, which
    /// ends with that as long as it has not joined.
    pub fn start(self, root: TcpStream, watch: Watch) -> io::Result<JoinHandle<()>> {
        end_when_silent(&root, watch.timeout)?;
        let run = move || {
            let independent = self.invitation.independent;
            match self.run(root, watch) {
                Err(e) if !independent => watch.lost(&e),
                // All links are closed, which the members see.
                _ => {}
            }
        };
        ferroshmem_platform::thread::spawn("shmem-coord", STACK, run)
    }

    fn run(mut self, root: TcpStream, watch: Watch) -> io::Result<()> {
        let members = self.accept_all(&root, watch)?;
        let mut all = Vec::new();
        for member in &members {
            all.extend((member.info.len() as u32).to_le_bytes());
            all.extend(&member.info);
        }
        let mut head = (all.len() as u64).to_le_bytes().to_vec();
        head.append(&mut all);
        self.send_all(&members, &head)?;
        let all_share = self.receive_all(&members, [READY, APART])?;
        self.send_all(&members, &[if all_share { GO } else { APART }])?;
        drop(root);
        self.receive_all(&members, [END; 2])?;
        self.send_all(&members, &[END])?;
        if watch.spawns {
            let others = members.into_iter().skip(self.invitation.sizes[0]);
            started::STARTED.add(others.map(|member| member.link));
        }
        Ok(())
    }

    /// Waits until all members are there.
    fn accept_all(&mut self, root: &TcpStream, watch: Watch) -> io::Result<Vec<Member>> {
        let n = self.invitation.sizes.iter().sum();
        let mut members: Vec<Option<Member>> = (0..n).map(|_| None).collect();
        while members.iter().any(Option::is_none) {
            let Some(caller) = self.listener.next(&[root.as_fd()])? else {
                return Err(ErrorKind::ConnectionReset.into());
            };
            // A stranger gets no answer.
            let Ok((number, member)) = self.accept(caller) else {
                continue;
            };
            end_when_silent(&member.link, watch.timeout)?;
            if let Some(place) = members.get_mut(number) {
                *place = Some(member);
            }
        }
        Ok(members.into_iter().flatten().collect())
    }

    /// A member, by its number, if the caller knows the token.
    fn accept(&self, (mut link, head): (TcpStream, Vec<u8>)) -> io::Result<(usize, Member)> {
        let request = JoinRequest::from_bytes(&head).ok_or(ErrorKind::InvalidData)?;
        if !same(&request.token, &self.invitation.token) {
            return Err(ErrorKind::InvalidData.into());
        }
        take_over(&link)?;
        link.set_read_timeout(Some(TIME_LIMIT))?;
        link.set_write_timeout(Some(TIME_LIMIT))?;
        let mut info = vec![0; request.len as usize];
        link.read_exact(&mut info)?;
        Ok((request.member as usize, Member { link, info }))
    }

    /// Whether the connection is over if a member cannot be reached: if it is of this group, its launcher ends the job,
    /// which links of the other group show unless members outlive that.
    fn is_lost_with(&self, member: usize) -> bool {
        self.invitation.independent || member >= self.invitation.sizes[0]
    }

    fn send_all(&self, members: &[Member], bytes: &[u8]) -> io::Result<()> {
        for (number, member) in members.iter().enumerate() {
            match (&member.link).write_all(bytes) {
                Err(e) if self.is_lost_with(number) => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits until all members have said one of two words; whether all have said the first.
    fn receive_all(&self, members: &[Member], words: [u8; 2]) -> io::Result<bool> {
        let mut all_first = true;
        let mut silent: Vec<usize> = (0..members.len()).collect();
        let mut missing = silent.len();
        while missing > 0 {
            let fd = |member: &usize| PollFd::new(&members[*member].link, PollFlags::IN);
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
                match receive_one(&members[*member].link, words) {
                    Ok(is_first) => {
                        all_first &= is_first;
                        missing -= 1;
                    }
                    Err(e) if self.is_lost_with(*member) => first = Some(e),
                    // This group's launcher ends the job.
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
        Ok(all_first)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use ferroshmem_core::connection::health::Health;
    use ferroshmem_core::connection::link::Link;
    use ferroshmem_layout::ConnectionState;

    const WATCH: Watch = Watch { routine: "test", timeout: Some(Duration::from_secs(60)), spawns: false };

    /// The coordinator of a connection, and the other group's end of its first socket.
    fn coordinator(sizes: [usize; 2], independent: bool) -> (Coordinator, TcpStream, TcpStream) {
        let coordinator = Coordinator::open(Ipv4Addr::LOCALHOST.into(), 7, sizes, independent).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (coordinator, listener.accept().unwrap().0, other)
    }

    #[test]
    fn members_join_and_leave_past_strangers() {
        // One that shares no memory with those of its node, if it is there.
        for apart in [1, 5] {
            join_and_leave(apart);
        }
    }

    fn join_and_leave(apart: usize) {
        let (coordinator, root, _other) = coordinator([2, 3], false);
        let invitation = coordinator.invitation().clone();
        let watch = Watch { spawns: apart == 1, ..WATCH };
        let thread = coordinator.start(root, watch).unwrap();
        let silent = TcpStream::connect(invitation.coordinator).unwrap();
        let mut loud = TcpStream::connect(invitation.coordinator).unwrap();
        loud.write_all(&[7; 1000]).unwrap();
        let mut wrong = invitation.clone();
        wrong.token[15] ^= 1;
        let refused = Link::join(&wrong, 0, b"x", WATCH, None).unwrap_err();
        assert_ne!(refused.kind(), ErrorKind::TimedOut, "{refused}");
        let member = |me: usize| {
            let invitation = invitation.clone();
            thread::spawn(move || {
                let info = vec![me as u8; 100 * me];
                let (link, all) = Link::join(&invitation, me, &info, watch, None).unwrap();
                let expected = (0..5u8).map(|m| vec![m; 100 * usize::from(m)]);
                assert!(all.into_iter().eq(expected));
                assert_eq!(link.wait_for_all(me != apart).unwrap(), apart > 4);
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
        // No member has a link that the coordinator has closed: those of the group that it has started stay.
        let (port, ended) = (format!(":{:04X}", invitation.coordinator.port()), "08");
        let links = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let kept = links.lines().filter(|link| {
            let words: Vec<_> = link.split_whitespace().collect();
            words[2].ends_with(&port) && words[3] == ended
        });
        assert_eq!(kept.count(), 0);
    }

    #[test]
    fn a_side_that_is_gone_is_missed() {
        let (mut coordinator, root, other) = coordinator([1, 1], false);
        drop(other);
        let missed = coordinator.accept_all(&root, WATCH).unwrap_err();
        assert_eq!(missed.kind(), ErrorKind::ConnectionReset);
        let (coordinator, root, _other) = self::coordinator([1, 1], false);
        let invitation = coordinator.invitation().clone();
        let joining = |me| {
            let invitation = invitation.clone();
            thread::spawn(move || {
                let joined = Link::join(&invitation, me, b"", WATCH, None);
                let (link, _) = joined.unwrap();
                link.wait_for_all(true).unwrap();
                link
            })
        };
        let (first, second) = (joining(0), joining(1));
        let running = thread::spawn(move || coordinator.run(root, WATCH));
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
            let (coordinator, root, _other) = coordinator([2, 2], true);
            let invitation = coordinator.invitation().clone();
            let coordinator = coordinator.start(root, WATCH).unwrap();
            let join = |me| {
                let invitation = invitation.clone();
                thread::spawn(move || {
                    let link = Link::join(&invitation, me, b"", WATCH, None).unwrap().0;
                    link.wait_for_all(true).unwrap();
                    link
                })
            };
            let links = [0, 1, 2, 3].map(join).map(|link| link.join().unwrap());
            let health = [0, 1, 2, 3].map(|me| {
                let state = ConnectionState::Connected as u32;
                STATES[me].store(state, Ordering::Relaxed);
                Arc::new(Health::new(&STATES[me]))
            });
            for (link, health) in links.iter().zip(&health) {
                link.outlive(health.clone()).unwrap();
            }
            health[gone].fail();
            // Whether they are about to leave or not.
            links[0].leave();
            coordinator.join().unwrap();
            for (link, state) in links.iter().zip(&STATES) {
                link.wait_for_end();
                let state = state.load(Ordering::Relaxed);
                assert_eq!(state, ConnectionState::Failed as u32);
            }
        }
    }
}
