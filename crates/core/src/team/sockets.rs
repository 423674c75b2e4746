//! On which sockets the members of a team's node group are. Where they are on several, the collectives pass
//! between sockets what one member of each, its leader, has gathered.
//!
//! Sockets are those of the machine, or its NUMA nodes where all members are on one socket with several.

use std::ops::Deref;

use ferroshmem_platform::socket::Locality;
use ferroshmem_tuning::Shape;

use super::Members;
use crate::job::Localities;

/// The sockets of a node group's members, of which there are at least two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sockets {
    /// The numbers of each socket's members, ascending: the first is its leader. In the order of the leaders.
    members: Vec<Members>,
    /// The number of this PE's socket.
    pub own: usize,
    /// The number of this PE among the members of its socket.
    pub position: usize,
}

/// The members of a node group by their numbers on the node.
#[derive(Debug, Clone)]
pub struct LocalMembers {
    members: Members,
    sockets: Option<Box<Sockets>>,
}

/// The socket of each member; None if they are on one, or the place of one is not known.
fn sockets_of(localities: &Localities, members: &Members) -> Option<Vec<u32>> {
    if localities.is_empty() {
        return None;
    }
    let by = |part: fn(Locality) -> Option<u32>| -> Option<Vec<u32>> {
        let all = (0..members.size).map(|index| part(localities.of(members.pe(index))?));
        let all: Vec<u32> = all.collect::<Option<_>>()?;
        all.iter().any(|one| *one != all[0]).then_some(all)
    };
    by(Locality::socket).or_else(|| by(Locality::numa))
}

impl Sockets {
    /// Those of the members whose sockets `of_member` names, for member `me`.
    fn new(of_member: &[u32], me: usize) -> Self {
        let mut names: Vec<u32> = Vec::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        for (member, name) in of_member.iter().enumerate() {
            let known = names.iter().position(|known| known == name);
            let socket = known.unwrap_or_else(|| {
                names.push(*name);
                members.push(Vec::new());
                names.len() - 1
            });
            members[socket].push(member as u32);
        }
        let members = members.into_iter().map(Members::of).collect();
        let mut this = Self { members, own: 0, position: 0 };
        this.own = this.of(me);
        this.position = this.mine().index_of(me).unwrap_or(0);
        this
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The members of a socket.
    pub fn members(&self, socket: usize) -> &Members {
        &self.members[socket]
    }

    /// The members of this PE's socket.
    pub fn mine(&self) -> &Members {
        self.members(self.own)
    }

    /// The same, one after the other.
    pub fn members_on_socket(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let mine = self.mine();
        (0..mine.size).map(|index| mine.pe(index))
    }

    /// The leader of a socket.
    pub fn leader(&self, socket: usize) -> usize {
        self.members[socket].pe(0)
    }

    /// The socket of a member.
    pub fn of(&self, member: usize) -> usize {
        let of = self.members.iter().position(|members| members.index_of(member).is_some());
        of.expect("a member is on a socket")
    }
}

impl LocalMembers {
    /// `members`, of which this PE is number `me`, at these localities.
    pub fn new(members: Members, me: usize, localities: &Localities) -> Self {
        let sockets = sockets_of(localities, &members);
        Self { members, sockets: sockets.map(|sockets| Box::new(Sockets::new(&sockets, me))) }
    }

    /// Their sockets, if they are on several.
    pub fn sockets(&self) -> Option<&Sockets> {
        self.sockets.as_deref()
    }

    /// The numbers of the members on each of several sockets.
    pub(super) fn on_sockets(&mut self) -> impl Iterator<Item = &mut Members> {
        self.sockets.iter_mut().flat_map(|sockets| &mut sockets.members)
    }

    /// Has the same members otherwise.
    pub(super) fn set_members(&mut self, members: &Members) {
        self.members = members.clone();
    }

    /// How they are spread over sockets.
    pub fn shape(&self) -> Shape {
        match &self.sockets {
            None => Shape::from(self.members.size),
            Some(sockets) => Shape {
                size: self.members.size,
                sockets: sockets.count(),
                widest: sockets.members.iter().map(|members| members.size).max().unwrap_or(1),
            },
        }
    }
}

impl Deref for LocalMembers {
    type Target = Members;

    fn deref(&self) -> &Members {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn localities(sockets: &[(usize, usize)]) -> Localities {
        Localities::new(sockets.iter().map(|(socket, numa)| Locality::new(*socket, *numa)))
    }

    fn members(start: i32, stride: i32, size: usize) -> Members {
        Members::sequence(start, stride, size)
    }

    #[test]
    fn members_are_known_by_their_sockets() {
        // Two sockets of two NUMA nodes each.
        let localities = localities(&[(0, 0), (0, 0), (0, 1), (4, 2), (4, 3), (4, 3), (4, 3)]);
        let all = LocalMembers::new(members(0, 1, 7), 4, &localities);
        let sockets = all.sockets().unwrap();
        assert_eq!((sockets.mine(), sockets.members(0)), (&members(3, 1, 4), &members(0, 1, 3)));
        assert_eq!((sockets.own, sockets.position, sockets.leader(1)), (1, 1, 3));
        assert_eq!((sockets.of(2), sockets.of(3)), (0, 1));
        let shape = |size, widest| Shape { size, sockets: 2, widest };
        assert_eq!(all.shape(), shape(7, 4));
        // Downwards, every second one: the sockets are numbered by their first members.
        let some = LocalMembers::new(members(6, -2, 4), 3, &localities);
        let sockets = some.sockets().unwrap();
        assert_eq!((sockets.members(0), sockets.members(1)), (&members(0, 1, 2), &members(2, 1, 2)));
        assert_eq!((sockets.own, sockets.position), (1, 1));
        // On one socket, NUMA nodes count.
        let one = LocalMembers::new(members(3, 1, 4), 0, &localities);
        assert_eq!(one.shape(), shape(4, 3));
        let node = LocalMembers::new(members(5, 1, 2), 0, &localities);
        assert!(node.sockets().is_none() && node.shape() == Shape::from(2));
    }

    #[test]
    fn one_unknown_place_makes_one_socket() {
        let mut all = vec![Locality::new(0, 0), Locality::new(4, 1), Locality::new(0, 0)];
        let known = Localities::new(all.clone());
        assert!(LocalMembers::new(members(0, 1, 3), 0, &known).sockets().is_some());
        all[2] = Locality::UNKNOWN;
        let known = Localities::new(all);
        assert!(LocalMembers::new(members(0, 1, 3), 0, &known).sockets().is_none());
        assert!(LocalMembers::new(members(0, 1, 2), 0, &known).sockets().is_some());
        assert!(LocalMembers::new(members(0, 1, 3), 0, &Localities::default()).sockets().is_none());
    }
}
