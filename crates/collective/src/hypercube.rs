//! The hypercube among the members: as many of them as the largest power of two, which exchange in
//! pairs. Each of the others is an extra rank with a proxy rank in the hypercube, which folds its
//! values in before and sends it the result after (Rabenseifner, "Optimization of Collective
//! Reduction Operations", 2004).

/// The hypercube of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hypercube {
    /// Dimensions: rounds until every vertex has exchanged with every other, directly or not.
    pub rounds: usize,
    extra_ranks: usize,
}

/// The role of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A vertex.
    Vertex {
        /// Number of the vertex, whose bits are its coordinates.
        number: usize,
        /// The extra rank whose proxy it is.
        extra: Option<usize>,
    },
    /// An extra rank.
    Extra {
        /// The member that is its proxy.
        proxy: usize,
    },
}

impl Hypercube {
    /// The hypercube of a group of `size` members.
    #[inline]
    pub(super) fn of(size: usize) -> Self {
        let rounds = size.ilog2() as usize;
        Self { rounds, extra_ranks: size - (1 << rounds) }
    }

    /// The role of member `me`. Among the first members, each even one is the proxy of the next.
    #[inline]
    pub(super) fn role(&self, me: usize) -> Role {
        if me >= 2 * self.extra_ranks {
            Role::Vertex { number: me - self.extra_ranks, extra: None }
        } else if me.is_multiple_of(2) {
            Role::Vertex { number: me / 2, extra: Some(me + 1) }
        } else {
            Role::Extra { proxy: me - 1 }
        }
    }

    /// The member at vertex `number`.
    #[inline]
    pub(super) fn member(&self, number: usize) -> usize {
        if self.has_extra(number) { 2 * number } else { number + self.extra_ranks }
    }

    /// Whether the member at vertex `number` is a proxy.
    #[inline]
    pub(super) fn has_extra(&self, number: usize) -> bool {
        number < self.extra_ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_one_role() {
        for size in 1..70 {
            let cube = Hypercube::of(size);
            let mut vertices = 0;
            for me in 0..size {
                match cube.role(me) {
                    Role::Vertex { number, extra } => {
                        vertices += 1;
                        assert_eq!(cube.member(number), me);
                        assert_eq!(cube.has_extra(number), extra.is_some());
                        if let Some(extra) = extra {
                            assert_eq!(cube.role(extra), Role::Extra { proxy: me });
                        }
                    }
                    Role::Extra { proxy } => {
                        let role = cube.role(proxy);
                        assert!(matches!(role, Role::Vertex { extra, .. } if extra == Some(me)));
                    }
                }
            }
            assert_eq!(vertices, 1 << cube.rounds);
        }
    }
}
