//! Shrinking: fewer steps and operations that still fail.

use std::collections::BTreeSet;
use std::fmt;

/// A part of a sequence: a step, or an operation of one.
type Part = (usize, Option<usize>);

/// Operations that a step has at most (`take_step` in `fuzz.c`).
const MOST_OPERATIONS: usize = 400;

/// Parts that are left out of a sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeSet<Part>);

impl LeftOut {
    /// Whether the sequence is whole.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn with(&self, parts: &[Part]) -> Self {
        let mut all = self.0.clone();
        all.extend(parts);
        Self(all)
    }
}

/// As the program takes them: `0-7,9,12.3-8`.
impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.0.iter().peekable();
        let mut comma = "";
        while let Some(&(step, operation)) = parts.next() {
            let number = |part: Part| part.1.unwrap_or(part.0);
            let mut last = (step, operation);
            while let Some(next) = parts.next_if(|next| follows(last, **next)) {
                last = *next;
            }
            write!(f, "{comma}{step}")?;
            if let Some(operation) = operation {
                write!(f, ".{operation}")?;
            }
            if last != (step, operation) {
                write!(f, "-{}", number(last))?;
            }
            comma = ",";
        }
        Ok(())
    }
}

/// Whether one list has both as a range.
fn follows(first: Part, second: Part) -> bool {
    match (first, second) {
        ((a, None), (b, None)) => b == a + 1,
        ((a, Some(x)), (b, Some(y))) => a == b && y == x + 1,
        _ => false,
    }
}

/// Leaves out as much as it can of a sequence whose step `last` fails. `fails` is whether a sequence still
/// fails without the given parts; it is asked at most `most` times.
pub(super) fn shrink(last: usize, most: usize, mut fails: impl FnMut(&LeftOut) -> bool) -> LeftOut {
    let mut asked = 0;
    let mut ask = |left_out: &LeftOut| {
        asked += 1;
        asked <= most && fails(left_out)
    };
    let mut left_out = LeftOut::default();
    let mut steps: Vec<Part> = (0..last).map(|step| (step, None)).collect();
    leave_out(&mut steps, &mut left_out, &mut ask);
    steps.push((last, None));
    for (step, _) in steps.into_iter().rev() {
        let operations = (1..=MOST_OPERATIONS).map(|operation| (step, Some(operation)));
        leave_out(&mut operations.collect(), &mut left_out, &mut ask);
    }
    left_out
}

/// Leaves out what it can of `parts`, which keeps the others: first all, then halves, and so on.
fn leave_out(parts: &mut Vec<Part>, left_out: &mut LeftOut, ask: &mut impl FnMut(&LeftOut) -> bool) {
    let mut size = parts.len();
    while size > 0 {
        let mut at = 0;
        while at < parts.len() {
            let end = (at + size).min(parts.len());
            let less = left_out.with(&parts[at..end]);
            if ask(&less) {
                *left_out = less;
                parts.drain(at..end);
            } else {
                at = end;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an operation is still in a sequence.
    fn has(left_out: &LeftOut, step: usize, operation: usize) -> bool {
        !left_out.0.contains(&(step, None)) && !left_out.0.contains(&(step, Some(operation)))
    }

    #[test]
    fn only_what_fails_is_left() {
        let mut asked = 0;
        let left = shrink(40, 2000, |left_out| {
            asked += 1;
            has(left_out, 3, 17) && has(left_out, 40, 5)
        });
        assert_eq!(left.to_string(), "0-2,3.1-16,3.18-400,4-39,40.1-4,40.6-400");
        assert!(asked < 150, "{asked} runs");
    }

    #[test]
    fn what_never_fails_again_stays_whole() {
        assert!(shrink(10, 1000, |_| false).is_empty());
    }

    #[test]
    fn a_limit_ends_it() {
        let mut asked = 0;
        shrink(1000, 30, |_| {
            asked += 1;
            false
        });
        assert_eq!(asked, 30);
    }
}
