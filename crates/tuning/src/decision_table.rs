//! The decision table of a team: for each collective, which choice up to how many bytes.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use super::algorithm::Choice;
use super::collective::Collective;
use super::shape::Shape;

/// Most steps of one collective.
const STEPS: usize = 6;

/// One step: a choice and the most bytes that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Step {
    /// Most bytes; `u32::MAX` stands for any number.
    up_to: u32,
    /// The choice's code; 0 marks an unused step.
    code: u8,
}

/// The choices of one collective by size. Plain data: also lies in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Steps([Step; STEPS]);

impl Steps {
    /// Most steps.
    pub const ROOM: usize = STEPS;

    /// No steps: no choice is known.
    pub const NONE: Self = Self([Step { up_to: 0, code: 0 }; STEPS]);

    /// Makes steps from choices at growing sizes: each choice holds above the size before it, the
    /// last one for all greater sizes too. If the choice changes more often than `STEPS`
    /// allows, the later changes are left out.
    pub fn new(choices: impl IntoIterator<Item = (usize, Choice)>) -> Self {
        let mut this = Self::NONE;
        let mut used = 0;
        for (bytes, choice) in choices {
            let up_to = u32::try_from(bytes).unwrap_or(u32::MAX);
            let code = choice.code();
            let same = used > 0 && this.0[used - 1].code == code;
            if !same && used == STEPS {
                break;
            }
            used += usize::from(!same);
            this.0[used - 1] = Step { up_to, code };
        }
        if used > 0 {
            this.0[used - 1].up_to = u32::MAX;
        }
        this
    }

    /// The choice for `bytes` bytes; None if no choice is known.
    #[inline]
    pub fn choose(&self, bytes: usize) -> Option<Choice> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let step = self.0.iter().find(|s| bytes <= s.up_to)?;
        Choice::from_code(step.code)
    }

    /// The steps: most bytes (None for any number) and choice.
    pub fn iter(&self) -> impl Iterator<Item = (Option<usize>, Choice)> + '_ {
        self.0.iter().map_while(|s| {
            let up_to = (s.up_to != u32::MAX).then_some(s.up_to as usize);
            Some((up_to, Choice::from_code(s.code)?))
        })
    }
}

impl fmt::Display for Steps {
    /// As in `eager up to 2048, slices`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (up_to, choice)) in self.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{choice}")?;
            if let Some(bytes) = up_to {
                write!(f, " up to {bytes}")?;
            }
        }
        Ok(())
    }
}

/// Where the steps of a team come from.
pub(super) trait Source: Send + Sync {
    /// Those of `collective` in a team of this shape.
    fn steps(&self, collective: Collective, shape: Shape) -> Steps;
}

/// Not derived: the library would have code that formats floating-point numbers for it alone.
impl fmt::Debug for dyn Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

/// The choices of one team. Those of a collective are determined when it is first called, since all together would
/// take a good part of the time in which a PE starts.
#[derive(Debug, Clone)]
pub struct DecisionTable {
    steps: [OnceLock<Steps>; Collective::ALL.len()],
    source: Option<(Arc<dyn Source>, Shape)>,
}

impl DecisionTable {
    /// The decision table of a team of this shape.
    pub(super) fn new(source: Arc<dyn Source>, shape: Shape) -> Self {
        Self { steps: Default::default(), source: Some((source, shape)) }
    }

    /// Makes a decision table in which `collective` uses `choice` for every size, and each other
    /// collective the first of its choices.
    pub fn fixed(collective: Collective, choice: Choice) -> Self {
        let steps = |c: Collective| {
            let choice = if c == collective { choice } else { c.choices()[0] };
            Steps::new([(usize::MAX, choice)]).into()
        };
        Self { steps: Collective::ALL.map(steps), source: None }
    }

    /// This decision table, but with `choice` for every size of `collective`.
    #[doc(hidden)]
    pub fn with(mut self, collective: Collective, choice: Choice) -> Self {
        self.steps[collective as usize] = Steps::new([(usize::MAX, choice)]).into();
        self
    }

    /// The choice for `bytes` bytes: of `dest` (reduce, scan, broadcast), of one block
    /// (fcollect, alltoall, alltoalls), of the mean contribution (collect); any number for a
    /// barrier.
    ///
    /// Eager is chosen only up to [`Collective::eager_limit`]. If a collect finds later that a
    /// contribution is longer, it calls `choose(Collect, bytes.max(EAGER + 1))`.
    #[inline]
    pub fn choose(&self, collective: Collective, bytes: usize) -> Choice {
        let index = collective as usize;
        if let Some(choice) = Choice::from_code(OVERRIDES[index].load(Ordering::Relaxed)) {
            return choice;
        }
        self.steps(collective).choose(bytes).unwrap_or(collective.choices()[0])
    }

    /// The steps of `collective`.
    #[inline]
    pub fn steps(&self, collective: Collective) -> &Steps {
        let steps = &self.steps[collective as usize];
        match steps.get() {
            Some(steps) => steps,
            None => steps.get_or_init(|| self.determine(collective)),
        }
    }

    #[cold]
    fn determine(&self, collective: Collective) -> Steps {
        let source = self.source.as_ref();
        source.map_or(Steps::NONE, |(source, shape)| source.steps(collective, *shape))
    }
}

static OVERRIDES: [AtomicU8; Collective::ALL.len()] = [const { AtomicU8::new(0) }; Collective::ALL.len()];

/// Makes this PE use `choice` for `collective` in all teams and for all sizes, instead of the
/// decision tables; None restores them. For measurements: all PEs must call it between the same
/// two collectives, and must not exceed [`Collective::eager_limit`] with eager.
#[doc(hidden)]
pub fn overriding(collective: Collective, choice: Option<Choice>) {
    OVERRIDES[collective as usize].store(choice.map_or(0, Choice::code), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::super::algorithm::Algorithm::{Eager, Flat, Rabenseifner, Slices};
    use super::*;

    #[test]
    fn steps_hold_up_to_their_size() {
        let (eager, flat) = (Choice::direct(Eager), Choice::direct(Flat));
        let slices = Choice::direct(Slices);
        let steps = Steps::new([(8, eager), (64, eager), (100, flat), (4096, slices)]);
        for (bytes, choice) in
            [(0, eager), (64, eager), (65, flat), (100, flat), (101, slices), (1 << 20, slices), (usize::MAX, slices)]
        {
            assert_eq!(steps.choose(bytes), Some(choice), "{bytes}");
        }
        let listed: Vec<_> = steps.iter().collect();
        assert_eq!(listed, [(Some(64), eager), (Some(100), flat), (None, slices)]);
        assert_eq!(steps.to_string(), "eager up to 64, flat:ptr up to 100, slices");
        assert_eq!(Steps::NONE.choose(0), None);
        assert_eq!(Steps::NONE.choose(usize::MAX), None);
    }

    #[test]
    fn more_changes_than_fit_are_left_out() {
        let (a, b) = (Choice::direct(Flat), Choice::direct(Rabenseifner));
        let steps = Steps::new((0..20).map(|i| (8 << i, if i % 2 == 0 { a } else { b })));
        assert_eq!(steps.iter().count(), STEPS);
        assert_eq!(steps.choose(usize::MAX), Some(b));
    }

    #[test]
    fn fixed_plans_choose_what_is_asked() {
        let choice = Choice::putget(Rabenseifner);
        let decisions = DecisionTable::fixed(Collective::Reduce, choice);
        for bytes in [0, 1, 1 << 40] {
            assert_eq!(decisions.choose(Collective::Reduce, bytes), choice);
        }
        let scan = decisions.choose(Collective::Scan, 5);
        assert_eq!(scan, Collective::Scan.choices()[0]);
    }
}
