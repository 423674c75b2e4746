//! Algorithms of collectives, their forms and their names.

use std::fmt;

/// Declares an enum whose variants have names.
macro_rules! named {
    ($(#[$of_type:meta])* enum $type:ident { $($(#[$of_variant:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$of_type])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $type {
            $($(#[$of_variant])* $variant,)*
        }

        impl $type {
            /// All of them, in the order of their numbers.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Its name in environment variables, output and files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}
pub(super) use named;

named! {
    /// How a collective proceeds. docs/collectives.md describes each.
    enum Algorithm {
        /// Barrier: one counter of arrivals, one word of release.
        Central = "central",
        /// Barrier: ⌈lg p⌉ rounds of flags, in each a partner twice as far away.
        Dissemination = "dissemination",
        /// Barrier: flags gathered up a tree and spread down it. Broadcast: down a binomial tree.
        Tree = "tree",
        /// Sources go through library memory, which saves one of two synchronisations.
        Eager = "eager",
        /// Reduce: one member reduces for all.
        Flat = "flat",
        /// Reduce: ⌈lg p⌉ exchanges of all elements.
        RecursiveDoubling = "rd",
        /// Reduce: as recursive doubling, in one direction round the members.
        Bruck = "bruck",
        /// Reduce: halves are exchanged and reduced, then gathered.
        Rabenseifner = "rsag",
        /// Each member works on its own slice of the elements, for all members.
        Slices = "slices",
        /// Each member reads what it needs from the others.
        Pull = "pull",
        /// Each member writes what it has to the others.
        Push = "push",
        /// Within the sockets first, then between one member of each: for teams whose members are on several.
        Sockets = "sockets",
    }
}

named! {
    /// How an algorithm accesses other members' memory.
    enum Form {
        /// Loads and stores on the other members' memory.
        Direct = "ptr",
        /// Puts into a member's own buffers and flags, as between nodes.
        PutGet = "putget",
    }
}

/// An algorithm in one of its forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its form.
    pub form: Form,
}

impl Algorithm {
    /// Whether it exists in both forms.
    pub const fn has_forms(self) -> bool {
        matches!(self, Self::Flat | Self::RecursiveDoubling | Self::Bruck | Self::Rabenseifner)
    }
}

impl Choice {
    /// `algorithm` by loads and stores.
    pub const fn direct(algorithm: Algorithm) -> Self {
        Self { algorithm, form: Form::Direct }
    }

    /// `algorithm` over puts and gets.
    pub const fn putget(algorithm: Algorithm) -> Self {
        Self { algorithm, form: Form::PutGet }
    }

    /// The choice as a number from 1 up, for shared memory and atomics.
    pub(super) const fn code(self) -> u8 {
        self.algorithm as u8 * 2 + self.form as u8 + 1
    }

    /// The choice that has this [`code`](Self::code).
    #[inline]
    pub(super) fn from_code(code: u8) -> Option<Self> {
        let index = code.checked_sub(1)?;
        let form = if index % 2 == 0 { Form::Direct } else { Form::PutGet };
        let algorithm = *Algorithm::ALL.get(usize::from(index / 2))?;
        Some(Self { algorithm, form })
    }
}

impl fmt::Display for Choice {
    /// Writes the choice as in environment variables and files: `rd:ptr`, `slices`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.algorithm.has_forms() {
            f.pad(&format!("{}:{}", self.algorithm.name(), self.form.name()))
        } else {
            f.pad(self.algorithm.name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        for (i, algorithm) in Algorithm::ALL.into_iter().enumerate() {
            assert_eq!(algorithm as usize, i);
            for choice in [Choice::direct(algorithm), Choice::putget(algorithm)] {
                assert_eq!(Choice::from_code(choice.code()), Some(choice));
            }
        }
        assert_eq!(Choice::from_code(0), None);
        assert_eq!(Choice::from_code(25), None);
        assert_eq!(Choice::from_code(255), None);
    }

    #[test]
    fn names_are_unique() {
        for (i, a) in Algorithm::ALL.iter().enumerate() {
            assert!(Algorithm::ALL[..i].iter().all(|b| b.name() != a.name()));
        }
    }
}
