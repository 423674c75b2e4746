//! How a team lies on nodes: its members of one node are one or more *parts*, each an
//! arithmetic sequence of the node's PEs, so that a part's slots and windows lie at one distance.

use super::Members;
use crate::job::Placement;

/// Members of a team that share a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Number in the team of its first member, its leader.
    pub leader: u32,
    /// Its PEs by their numbers on the node.
    pub near: Members,
    node: u32,
}

/// The parts of a team, by their leaders.
#[derive(Debug, Clone)]
pub struct Parts {
    all: Vec<Part>,
    /// The part of each member, and its number there; empty if there is one part.
    of_member: Vec<(u32, u32)>,
    /// The members of each part by their numbers in the team; empty if there is one part.
    members_of: Vec<Vec<u32>>,
}

impl Parts {
    /// Those of `members`: all PEs come to the same result.
    pub fn new(members: &Members, placement: &Placement) -> Self {
        let mut all: Vec<Part> = Vec::new();
        let mut of_member = Vec::with_capacity(members.size);
        // The last part of each node: it alone can grow, as earlier ones ended where the sequence
        // broke.
        let mut last: Vec<Option<usize>> = vec![None; placement.nodes()];
        for member in 0..members.size {
            let place = placement.of(members.pe(member));
            let last = &mut last[place.node as usize];
            let grown = last.filter(|i| grow(&mut all[*i].near, place.index as i32));
            let part = grown.unwrap_or_else(|| {
                all.push(Part {
                    leader: member as u32,
                    near: Members {
                        start: place.index as i32,
                        stride: 1,
                        size: 1,
                    },
                    node: place.node,
                });
                all.len() - 1
            });
            *last = Some(part);
            of_member.push((part as u32, all[part].near.size as u32 - 1));
        }
        let mut members_of = vec![Vec::new(); all.len()];
        for (member, (part, _)) in of_member.iter().enumerate() {
            members_of[*part as usize].push(member as u32);
        }
        if all.len() == 1 {
            of_member.clear();
            members_of.clear();
        }
        Self {
            all,
            of_member,
            members_of,
        }
    }

    /// Number in the team of member `index` of a part.
    pub fn member(&self, part: usize, index: usize) -> usize {
        self.members_of[part][index] as usize
    }

    /// Whether all members are one part.
    pub fn is_whole(&self) -> bool {
        self.all.len() == 1
    }

    /// The parts.
    pub fn all(&self) -> &[Part] {
        &self.all
    }

    /// The part of a member, and the member's number in it.
    pub fn of(&self, member: usize) -> (usize, usize) {
        match self.of_member.get(member) {
            Some((part, index)) => (*part as usize, *index as usize),
            None => (0, member),
        }
    }
}

/// Adds a PE at the end of a sequence if it goes on so.
fn grow(sequence: &mut Members, next: i32) -> bool {
    let last = sequence.start + sequence.stride * (sequence.size as i32 - 1);
    if sequence.size == 1 && next != last {
        sequence.stride = next - last;
    } else if next - last != sequence.stride {
        return false;
    }
    sequence.size += 1;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(nodes: &[u32], members: Members) -> Parts {
        let parts = Parts::new(&members, &Placement::new(nodes, 0));
        let placement = Placement::new(nodes, 0);
        for member in 0..members.size {
            let (part, index) = parts.of(member);
            let part = &parts.all()[part];
            let place = placement.of(members.pe(member));
            assert_eq!(part.near.pe(index), place.index as usize);
            assert_eq!(part.node, place.node);
        }
        parts
    }

    #[test]
    fn one_node_is_one_part() {
        let p = parts(&[0, 0, 0, 0], Members::world(4).strided(3, -2, 2).unwrap());
        assert!(p.is_whole());
        assert_eq!(p.all()[0].near.stride, -2);
    }

    #[test]
    fn blocks_and_rounds_are_a_part_for_each_node() {
        for nodes in [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]] {
            for stride in [1, 2] {
                let size = 6 / stride;
                let p = parts(&nodes, Members::world(6).strided(0, stride, size).unwrap());
                assert!(p.all().len() <= 2, "{nodes:?} {stride}");
            }
        }
    }

    #[test]
    fn gaps_break_sequences() {
        let p = parts(
            &[0, 0, 1, 0, 0, 0],
            Members::world(6).strided(0, 2, 3).unwrap(),
        );
        // PEs 0, 2, 4: numbers 0 and 3 of one node, 0 of the other.
        assert_eq!(p.all().len(), 2);
        let p = parts(
            &[0, 1, 0, 0, 0, 1, 0],
            Members::world(7).strided(0, 2, 4).unwrap(),
        );
        // Numbers 0, 1, 3, 4 of one node.
        assert!(p.all().len() >= 2);
    }
}
