//! From times to rules: where one choice overtakes another.

use ferroshmem::choice::{Algorithm, Choice, Collective, Rules, Steps};

use super::measure::Point;

/// A choice is kept while no other is faster by more than this: small differences are noise.
const MARGIN: f64 = 1.05;

/// The rules that follow from the times of a job of `pes` PEs.
pub fn rules(pes: usize, points: &[Point]) -> Rules {
    let mut rules = Rules::NONE;
    rules.pes = pes.try_into().unwrap_or(u32::MAX);
    for collective in Collective::ALL {
        let points: Vec<Point> = (points.iter().copied())
            .filter(|p| p.collective == collective)
            .collect();
        rules.steps[collective as usize] = steps(collective, pes, &points);
    }
    rules
}

/// The sizes of `points`, ascending.
pub fn sizes(points: &[Point]) -> Vec<usize> {
    let mut sizes: Vec<usize> = points.iter().map(|p| p.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The time of `choice` at `bytes`.
pub fn time(points: &[Point], choice: Choice, bytes: usize) -> Option<f64> {
    let found = points
        .iter()
        .find(|p| p.choice == choice && p.bytes == bytes)?;
    Some(found.time)
}

/// The fastest at `bytes`.
pub fn best(points: &[Point], bytes: usize) -> Option<&Point> {
    let here = points.iter().filter(|p| p.bytes == bytes);
    here.min_by(|a, b| a.time.total_cmp(&b.time))
}

fn steps(collective: Collective, pes: usize, points: &[Point]) -> Steps {
    let sizes = sizes(points);
    let mut chosen: Vec<(usize, Choice)> = Vec::new();
    for bytes in &sizes {
        let Some(best) = best(points, *bytes) else {
            continue;
        };
        let kept = chosen.last().map(|(_, c)| *c).filter(|c| {
            let kept = time(points, *c, *bytes);
            kept.is_some_and(|t| t <= MARGIN * best.time)
        });
        chosen.push((*bytes, kept.unwrap_or(best.choice)));
    }
    let ends = chosen.iter().enumerate().map(|(i, (bytes, choice))| {
        let end = match chosen.get(i + 1) {
            Some((next, other)) if other != choice => {
                let eager = choice.algorithm == Algorithm::Eager;
                let limit = if eager {
                    collective.eager_limit(pes)
                } else {
                    usize::MAX
                };
                crossing(points, (*bytes, *next), (*choice, *other)).min(limit)
            }
            _ => *bytes,
        };
        (end, *choice)
    });
    Steps::new(ends)
}

/// The size at which the second choice overtakes the first, between two sizes that were
/// measured: where straight lines through the logarithms of times and sizes meet.
fn crossing(points: &[Point], sizes: (usize, usize), choices: (Choice, Choice)) -> usize {
    let ratio = |bytes: usize| {
        let (first, second) = (
            time(points, choices.0, bytes)?,
            time(points, choices.1, bytes)?,
        );
        Some((first / second).ln())
    };
    let (from, to) = sizes;
    let part = match (ratio(from), ratio(to)) {
        (Some(a), Some(b)) if b > a => (-a / (b - a)).clamp(0.0, 1.0),
        // One of them does not exist at both sizes: nothing is known between.
        _ => 0.0,
    };
    let bytes = (from.max(1) as f64).ln() * (1.0 - part) + (to as f64).ln() * part;
    (bytes.exp() as usize).clamp(from, to - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(collective: Collective, table: &[(usize, &[(&str, f64)])]) -> Vec<Point> {
        let rows = table.iter().flat_map(|(bytes, row)| {
            row.iter().map(|(choice, time)| Point {
                collective,
                choice: collective.choice(choice).unwrap(),
                bytes: *bytes,
                time: *time,
            })
        });
        rows.collect()
    }

    fn shown(collective: Collective, table: &[(usize, &[(&str, f64)])]) -> String {
        let rules = rules(4, &points(collective, table));
        assert_eq!(rules.pes, 4);
        rules.steps[collective as usize].to_string()
    }

    #[test]
    fn crossovers_lie_between_measured_sizes() {
        // 100 + n against 1000 + n/10 meet at 1000.
        let line = |n: usize| {
            vec![
                ("flat", 100.0 + n as f64),
                ("slices", 1000.0 + n as f64 / 10.0),
            ]
        };
        let rows: Vec<_> = [64, 256, 1024, 4096].map(|n| (n, line(n))).into();
        let rows: Vec<_> = rows.iter().map(|(n, r)| (*n, r.as_slice())).collect();
        let text = shown(Collective::Reduce, &rows);
        let bytes = text.strip_prefix("flat:ptr up to ").unwrap();
        let bytes: usize = bytes.strip_suffix(", slices").unwrap().parse().unwrap();
        assert!((900..1100).contains(&bytes), "{text}");
    }

    #[test]
    fn noise_changes_nothing() {
        let text = shown(
            Collective::Scan,
            &[
                (8, &[("pull", 100.0), ("slices", 200.0)]),
                (64, &[("pull", 103.0), ("slices", 100.0)]),
                (512, &[("pull", 100.0), ("slices", 99.0)]),
            ],
        );
        assert_eq!(text, "pull");
    }

    #[test]
    fn eager_ends_at_its_limit() {
        let text = shown(
            Collective::Fcollect,
            &[
                (1024, &[("eager", 50.0), ("pull", 100.0)]),
                (2048, &[("eager", 50.0), ("pull", 100.0)]),
                (4096, &[("pull", 150.0)]),
            ],
        );
        assert_eq!(text, "eager up to 2048, pull");
    }

    #[test]
    fn nothing_measured_nothing_ruled() {
        let rules = rules(4, &[]);
        assert!(rules.steps.iter().all(|s| *s == Steps::NONE));
        let barrier = [(0, &[("tree", 5.0), ("central", 9.0)][..])];
        assert_eq!(shown(Collective::Barrier, &barrier), "tree");
    }
}
