//! How the members of a team are spread over the sockets of their node.

/// Size of a team, and how many sockets its members are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Members.
    pub size: usize,
    /// Sockets that they are on.
    pub sockets: usize,
    /// Most members on one socket.
    pub widest: usize,
}

impl From<usize> for Shape {
    /// So many members on one socket.
    fn from(size: usize) -> Self {
        Self { size, sockets: 1, widest: size }
    }
}
