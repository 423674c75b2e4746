//! Kinds of collectives, and the algorithms that each has.

use super::EAGER;
use super::algorithm::Algorithm::{
    Bruck, Central, Dissemination, Eager, Flat, Pull, Push, Rabenseifner, RecursiveDoubling, Slices, Sockets, Tree,
};
use super::algorithm::{Choice, named};

named! {
    /// A kind of collective: the routines that share algorithms and choice.
    enum Collective {
        /// `barrier` and `sync`, and the synchronisations inside the others.
        Barrier = "barrier",
        /// `*_reduce` and `*_to_all`.
        Reduce = "reduce",
        /// `broadcast`.
        Broadcast = "broadcast",
        /// `collect`.
        Collect = "collect",
        /// `fcollect`.
        Fcollect = "fcollect",
        /// `alltoall`.
        Alltoall = "alltoall",
        /// `alltoalls`.
        Alltoalls = "alltoalls",
        /// `sum_inscan` and `sum_exscan`.
        Scan = "scan",
    }
}

impl Collective {
    /// The algorithms that it has, in their forms.
    // Else the library has the table of these lists, and their relocations, once for each call.
    #[inline(never)]
    pub const fn choices(self) -> &'static [Choice] {
        match self {
            Self::Barrier => {
                const {
                    &[
                        Choice::direct(Central),
                        Choice::direct(Dissemination),
                        Choice::direct(Tree),
                        Choice::direct(Sockets),
                    ]
                }
            }
            Self::Reduce => {
                const {
                    &[
                        Choice::direct(Eager),
                        Choice::direct(Flat),
                        Choice::putget(Flat),
                        Choice::direct(RecursiveDoubling),
                        Choice::putget(RecursiveDoubling),
                        Choice::direct(Bruck),
                        Choice::putget(Bruck),
                        Choice::direct(Rabenseifner),
                        Choice::putget(Rabenseifner),
                        Choice::direct(Slices),
                        Choice::direct(Sockets),
                    ]
                }
            }
            Self::Broadcast => {
                const {
                    &[
                        Choice::direct(Eager),
                        Choice::direct(Pull),
                        Choice::direct(Push),
                        Choice::direct(Tree),
                        Choice::direct(Slices),
                        Choice::direct(Sockets),
                    ]
                }
            }
            Self::Collect | Self::Fcollect => {
                const { &[Choice::direct(Eager), Choice::direct(Pull), Choice::direct(Push), Choice::direct(Sockets)] }
            }
            Self::Alltoall => const { &[Choice::direct(Eager), Choice::direct(Pull), Choice::direct(Push)] },
            Self::Alltoalls => const { &[Choice::direct(Pull), Choice::direct(Push)] },
            Self::Scan => const { &[Choice::direct(Eager), Choice::direct(Pull), Choice::direct(Slices)] },
        }
    }

    /// The unit of size in [`DecisionTable::choose`](super::DecisionTable::choose); None for a
    /// barrier.
    pub const fn counted(self) -> Option<&'static str> {
        match self {
            Self::Barrier => None,
            Self::Reduce | Self::Broadcast | Self::Scan => Some("bytes of dest"),
            Self::Collect => Some("bytes that a PE contributes, on average"),
            Self::Fcollect | Self::Alltoall | Self::Alltoalls => Some("bytes of one block"),
        }
    }

    /// The collective of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The choice that `text` names: an algorithm, or algorithm and form as in `rd:putget`.
    /// Without a form it is the direct one.
    pub fn choice(self, text: &str) -> Option<Choice> {
        let (name, form) = match text.split_once(':') {
            Some((name, form)) => (name, Some(form)),
            None => (text, None),
        };
        let named = |c: &&Choice| c.algorithm.name() == name;
        match form {
            None => self.choices().iter().find(named).copied(),
            Some(form) => (self.choices().iter().filter(named))
                .find(|c| c.algorithm.has_forms() && c.form.name() == form)
                .copied(),
        }
    }

    /// Most bytes, as [`DecisionTable::choose`](super::DecisionTable::choose) counts them, for which the eager
    /// algorithm exists in a team of `size` members: where every member's source fits
    /// [`EAGER`] bytes of library memory.
    pub const fn eager_limit(self, size: usize) -> usize {
        match self {
            Self::Alltoall if size > 0 => EAGER / size,
            _ => EAGER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::algorithm::Form;
    use super::*;

    #[test]
    fn names_come_back() {
        for (i, c) in Collective::ALL.into_iter().enumerate() {
            assert_eq!(c as usize, i);
            assert_eq!(Collective::named(c.name()), Some(c));
            for choice in c.choices() {
                assert_eq!(c.choice(&choice.to_string()), Some(*choice));
            }
        }
        assert_eq!(Collective::named("gather"), None);
    }

    #[test]
    fn form_may_be_left_out_where_there_are_two() {
        let reduce = |text| Collective::Reduce.choice(text);
        assert_eq!(reduce("rd"), Some(Choice::direct(RecursiveDoubling)));
        assert_eq!(reduce("rd:ptr"), reduce("rd"));
        assert_eq!(reduce("rd:putget").unwrap().form, Form::PutGet);
        for wrong in ["slices:ptr", "rd:", "rd:get", ":ptr", "pull", "", "RD"] {
            assert_eq!(reduce(wrong), None, "{wrong}");
        }
        assert_eq!(Collective::Barrier.choice("tree").unwrap().algorithm, Tree);
    }
}
