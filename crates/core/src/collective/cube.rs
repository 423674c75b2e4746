//! The hypercube in the members: the largest power of two of them, who exchange in pairs. Of
//! the others each is the guest of a member, who takes its values in before and hands it the
//! result after (Rabenseifner, "Optimization of Collective Reduction Operations", 2004).

/// The hypercube of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cube {
    /// Dimensions: rounds of an exchange with every corner.
    pub rounds: usize,
    guests: usize,
}

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A corner, with the member that is its guest.
    Corner {
        /// Number of the corner, whose bits are its coordinates.
        number: usize,
        /// Its guest.
        guest: Option<usize>,
    },
    /// The guest of a member.
    Guest {
        /// That member.
        host: usize,
    },
}

impl Cube {
    /// The cube of a group of `size` members.
    #[inline]
    pub(super) fn of(size: usize) -> Self {
        let rounds = size.ilog2() as usize;
        Self {
            rounds,
            guests: size - (1 << rounds),
        }
    }

    /// What member `me` is: of the first members, each even one hosts the next.
    #[inline]
    pub(super) fn role(&self, me: usize) -> Role {
        if me >= 2 * self.guests {
            Role::Corner {
                number: me - self.guests,
                guest: None,
            }
        } else if me.is_multiple_of(2) {
            Role::Corner {
                number: me / 2,
                guest: Some(me + 1),
            }
        } else {
            Role::Guest { host: me - 1 }
        }
    }

    /// The member at corner `number`.
    #[inline]
    pub(super) fn member(&self, number: usize) -> usize {
        if self.hosts(number) {
            2 * number
        } else {
            number + self.guests
        }
    }

    /// Whether the member at corner `number` has a guest.
    #[inline]
    pub(super) fn hosts(&self, number: usize) -> bool {
        number < self.guests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_one_role() {
        for size in 1..70 {
            let cube = Cube::of(size);
            let mut corners = 0;
            for me in 0..size {
                match cube.role(me) {
                    Role::Corner { number, guest } => {
                        corners += 1;
                        assert_eq!(cube.member(number), me);
                        assert_eq!(cube.hosts(number), guest.is_some());
                        if let Some(guest) = guest {
                            assert_eq!(cube.role(guest), Role::Guest { host: me });
                        }
                    }
                    Role::Guest { host } => {
                        let role = cube.role(host);
                        assert!(matches!(role, Role::Corner { guest, .. } if guest == Some(me)));
                    }
                }
            }
            assert_eq!(corners, 1 << cube.rounds);
        }
    }
}
