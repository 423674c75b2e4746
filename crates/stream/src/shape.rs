//! How a stream is laid out in the memory of its members, and which way items go.
//!
//! An item to a PE of the same node goes through the ring between the two. An item to another node goes to one PE
//! there, by the *link* of its source to that node, and from that PE through a ring: two hops. The members of a node
//! have numbers among those; the link of number i leads to number i modulo the members there. So a PE has as many rings
//! as its node has members, and as many links as there are other nodes, not a buffer for each PE.
//!
//! Each member has a *part* of memory, in which are the rings to it, the frames of the links to it, and those of its
//! own links. Nothing of it takes memory until it is used, but for the words at its beginning. At most, with L members
//! on the node and N nodes, rings of R bytes and links with frames of W bytes:
//!
//! ```text
//! 128 + 128 L + R L + (N - 1) (2 W + 17 x 64)     R = 1 MiB / L, 4 to 256 KiB;  W = 4 MiB / N, 4 to 256 KiB
//! ```
//!
//! and beside it 8 bytes per member of the team for its way, 64 L + 128 N for positions.

use super::ring::{ReadyWord, RingWords};

/// Longest item in bytes.
pub const LONGEST: usize = 32 << 10;
/// Bytes of the line that says that a frame is there.
pub const LINE: usize = 64;
/// Bytes of a destination within a frame.
pub const DESTINATION: usize = size_of::<u16>();

const PAGE: usize = 4096;
/// Frames of a link, at most.
const MOST_FRAMES: usize = 16;

/// The first words of a part.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Head {
    /// The ready rings of its owner.
    pub ready: ReadyWord,
    /// On the first member of a node: how often members of the node had nothing more to bring.
    pub closed: Closed,
}

/// A counter alone on its cache line.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Closed(pub std::sync::atomic::AtomicU64);

/// What the parts of the members of a node have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of an item.
    pub item: usize,
    /// Members on the node.
    pub locals: usize,
    /// Other nodes.
    pub links: usize,
    /// Most links that lead to a member of the node.
    pub incoming: usize,
}

impl Shape {
    /// Bytes of a ring: a power of two, with room for four items.
    pub fn ring(&self) -> usize {
        let fair = ((1 << 20) / self.locals).clamp(PAGE, 256 << 10);
        let least = 4 * (self.item + 2 * size_of::<u64>());
        fair.max(least).next_power_of_two()
    }

    /// Bytes of a frame.
    pub fn frame(&self) -> usize {
        let fair = (self.link() / MOST_FRAMES).clamp(1 << 10, 16 << 10);
        let least = self.item + 2 * DESTINATION;
        fair.max(least).next_multiple_of(LINE)
    }

    /// Bytes of a link's frames, if items are short.
    fn link(&self) -> usize {
        let fair = (4 << 20) / (self.links + 1).next_power_of_two();
        fair.clamp(4 << 10, 256 << 10)
    }

    /// Frames of a link: as many as may be under way while its target does not run for a moment.
    pub fn frames(&self) -> usize {
        (self.link() / self.frame()).clamp(4, MOST_FRAMES)
    }

    /// Items of a frame.
    pub fn frame_items(&self) -> usize {
        (self.frame() - (DESTINATION - 1)) / (self.item + DESTINATION)
    }

    /// Where in a frame of `n` items their destinations are.
    pub fn destinations(&self, n: usize) -> usize {
        (n * self.item).next_multiple_of(DESTINATION)
    }

    /// Offset of the words of ring `from`.
    pub fn words(&self, from: usize) -> usize {
        size_of::<Head>() + from * size_of::<RingWords>()
    }

    /// Offset of the line of frame `number` of incoming link `link`.
    pub fn line(&self, link: usize, number: u64) -> usize {
        let frame = number as usize % self.frames();
        self.words(self.locals) + (link * self.frames() + frame) * LINE
    }

    /// Offset of the word that says how many frames of outgoing link `link` were taken.
    pub fn credit(&self, link: usize) -> usize {
        self.line(self.incoming, 0) + link * LINE
    }

    /// Bytes at the beginning that must be zero when the stream is created.
    pub fn cleared(&self) -> usize {
        self.credit(self.links)
    }

    /// Offset of the bytes of ring `from`.
    pub fn data(&self, from: usize) -> usize {
        self.cleared().next_multiple_of(PAGE) + from * self.ring()
    }

    /// Offset of frame `number` of incoming link `link`.
    pub fn incoming_frame(&self, link: usize, number: u64) -> usize {
        let frame = number as usize % self.frames();
        self.data(self.locals) + (link * self.frames() + frame) * self.frame()
    }

    /// Offset of frame `number` of outgoing link `link`.
    pub fn outgoing_frame(&self, link: usize, number: u64) -> usize {
        self.incoming_frame(self.incoming + link, number)
    }

    /// Bytes of a part.
    pub fn bytes(&self) -> usize {
        self.outgoing_frame(self.links, 0).next_multiple_of(PAGE)
    }
}

/// Which members of a team are on which node.
#[derive(Debug)]
pub struct Nodes {
    /// The members of each node, in the order of their numbers in the team.
    pub members: Vec<Vec<u32>>,
    /// Node of each member, and its number there.
    pub ranks: Box<[(u32, u32)]>,
}

/// A link as one of its ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The member at the other end.
    pub member: u32,
    /// Its node.
    pub node: usize,
    /// The link's number at the other end: among the outgoing or the incoming ones there.
    pub number: usize,
}

impl Nodes {
    /// Of a team of `size` members, of which `node_of` says where each is.
    pub fn new(size: usize, node_of: impl Fn(usize) -> usize) -> Self {
        let mut numbers = Vec::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let place = |member| {
            let node = node_of(member);
            let known = numbers.iter().position(|n| *n == node);
            let number = known.unwrap_or(numbers.len());
            if known.is_none() {
                numbers.push(node);
                members.push(Vec::new());
            }
            members[number].push(member as u32);
            (number as u32, members[number].len() as u32 - 1)
        };
        let ranks = (0..size).map(place).collect();
        Self { members, ranks }
    }

    /// The shape of parts on a node.
    pub fn shape(&self, node: usize, item: usize) -> Shape {
        let locals = self.members[node].len();
        let others = (0..self.members.len()).filter(|other| *other != node);
        Shape {
            item,
            locals,
            links: self.members.len() - 1,
            // Member 0 has most.
            incoming: others.map(|n| self.members[n].len().div_ceil(locals)).sum(),
        }
    }

    /// The other nodes, as `node` counts its links to them.
    fn others(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(move |other| *other != node)
    }

    /// The links of a member, one to each other node.
    pub fn outgoing(&self, member: usize) -> Vec<Link> {
        let (node, i) = self.ranks[member];
        let (node, i) = (node as usize, i as usize);
        let link = |to: usize| {
            let k = i % self.members[to].len();
            let number = self.incoming_of(to, k).position(|from| from == (node, i));
            Link { member: self.members[to][k], node: to, number: number.expect("each link arrives") }
        };
        self.others(node).map(link).collect()
    }

    /// The links to a member.
    pub fn incoming(&self, member: usize) -> Vec<Link> {
        let (node, k) = self.ranks[member];
        let (node, k) = (node as usize, k as usize);
        let link = |(from, i): (usize, usize)| Link {
            member: self.members[from][i],
            node: from,
            number: self.others(from).position(|to| to == node).unwrap_or(0),
        };
        self.incoming_of(node, k).map(link).collect()
    }

    /// Node and number of the members whose links lead to number `k` of a node.
    fn incoming_of(&self, node: usize, k: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let locals = self.members[node].len();
        let from = move |other: usize| {
            let numbers = (k..self.members[other].len()).step_by(locals);
            numbers.map(move |i| (other, i))
        };
        self.others(node).flat_map(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every link begins at one member and ends at one, and both agree on its numbers.
    #[test]
    fn links_have_two_ends() {
        for sizes in [&[4, 4][..], &[1, 5, 2], &[3], &[7, 1, 1, 4], &[1, 1, 1]] {
            let starts: Vec<usize> = sizes
                .iter()
                .scan(0, |at, n| {
                    *at += n;
                    Some(*at)
                })
                .collect();
            let node_of = |m: usize| starts.iter().position(|end| m < *end).unwrap();
            let n: usize = sizes.iter().sum();
            let nodes = Nodes::new(n, node_of);
            let mut arrived = 0;
            for member in 0..n {
                for (number, link) in nodes.outgoing(member).into_iter().enumerate() {
                    let there = nodes.incoming(link.member as usize);
                    let back = there[link.number];
                    assert_eq!((back.member as usize, back.number), (member, number));
                    assert_eq!(node_of(link.member as usize), link.node);
                }
                let incoming = nodes.incoming(member).len();
                assert!(incoming <= nodes.shape(node_of(member), 8).incoming);
                arrived += incoming;
            }
            assert_eq!(arrived, n * (sizes.len() - 1));
        }
    }

    #[test]
    fn parts_do_not_overlap() {
        for item in [1, 8, 24, 1000, LONGEST] {
            for (locals, links) in [(1, 0), (2, 1), (64, 63), (1000, 3), (4096, 0), (1, 4095)] {
                let shape = Shape { item, locals, links, incoming: links };
                assert!(shape.ring() >= 4 * (item + 16) && shape.ring().is_power_of_two());
                let n = shape.frame_items();
                assert!(n > 0 && shape.destinations(n) + n * DESTINATION <= shape.frame());
                assert_eq!(shape.words(0), size_of::<Head>());
                assert!(shape.data(0) >= shape.cleared());
                assert_eq!(shape.data(1) - shape.data(0), shape.ring());
                assert_eq!(shape.incoming_frame(0, 0), shape.data(locals));
                assert!(shape.bytes() >= shape.outgoing_frame(links, 0));
            }
        }
    }

    /// The formula of the module's description, and its bound.
    #[test]
    fn memory_is_as_the_formula_says() {
        for (locals, links) in [(1024, 0), (64, 63), (16, 255), (4096, 0), (1, 4095)] {
            let shape = Shape { item: 8, locals, links, incoming: links };
            let ring = (1 << 20) / locals;
            let ring = ring.next_power_of_two().clamp(4 << 10, 256 << 10);
            let link = ((4 << 20) / (links + 1)).clamp(4 << 10, 256 << 10);
            let most = 128 + 128 * locals + ring * locals + links * (2 * link + 17 * 64);
            let bytes = shape.bytes();
            assert!(bytes <= most + 2 * PAGE, "{locals} and {links}: {bytes}, not {most}");
            assert!(bytes <= 40 << 20, "{locals} and {links}: {bytes}");
        }
    }
}
