//! From times to rules: where one choice overtakes another.

use ferroshmem_tuning::{Algorithm, Choice, Collective, Rules, Steps};

use super::measure::Point;

/// What a change of choice must gain over all sizes, as a logarithm of times: about 10 %.
/// Small differences are noise, and few steps are easier to understand.
const WORTH: f64 = 0.1;

/// The rules that follow from the times of a job of `pes` PEs.
pub(super) fn rules(pes: usize, points: &[Point]) -> Rules {
    let mut rules = Rules::NONE;
    rules.pes = pes.try_into().unwrap_or(u32::MAX);
    for collective in Collective::ALL {
        let points: Vec<Point> = (points.iter().copied()).filter(|p| p.collective == collective).collect();
        rules.steps[collective as usize] = steps(collective, pes, &points);
    }
    rules
}

/// The sizes of `points`, ascending.
pub(super) fn sizes(points: &[Point]) -> Vec<usize> {
    let mut sizes: Vec<usize> = points.iter().map(|p| p.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The time of `choice` at `bytes`.
pub(super) fn time(points: &[Point], choice: Choice, bytes: usize) -> Option<f64> {
    let found = points.iter().find(|p| p.choice == choice && p.bytes == bytes)?;
    Some(found.time)
}

/// The fastest at `bytes`.
pub(super) fn best(points: &[Point], bytes: usize) -> Option<&Point> {
    let here = points.iter().filter(|p| p.bytes == bytes);
    here.min_by(|a, b| a.time.total_cmp(&b.time))
}

fn steps(collective: Collective, pes: usize, points: &[Point]) -> Steps {
    let changes = |chosen: &[(usize, Choice)]| chosen.windows(2).filter(|w| w[0].1 != w[1].1).count();
    let mut worth = WORTH;
    let mut chosen = least_loss(collective, points, worth);
    while changes(&chosen) >= Steps::ROOM {
        worth *= 2.0;
        chosen = least_loss(collective, points, worth);
    }
    let ends = chosen.iter().enumerate().map(|(i, (bytes, choice))| {
        let end = match chosen.get(i + 1) {
            Some((next, other)) if other != choice => {
                let eager = choice.algorithm == Algorithm::Eager;
                let limit = if eager { collective.eager_limit(pes) } else { usize::MAX };
                crossing(points, (*bytes, *next), (*choice, *other)).min(limit)
            }
            _ => *bytes,
        };
        (end, *choice)
    });
    Steps::new(ends)
}

/// For each size a choice, such that the sum of what is lost against the fastest and of what
/// changes of choice must gain, `worth` each, is least (dynamic programming over the sizes).
fn least_loss(collective: Collective, points: &[Point], worth: f64) -> Vec<(usize, Choice)> {
    let sizes = sizes(points);
    let choices = collective.choices();
    // For each size and choice: the least sum so far, and the choice at the size before.
    let mut table: Vec<Vec<(f64, usize)>> = Vec::new();
    for bytes in &sizes {
        let fastest = best(points, *bytes).map_or(f64::NAN, |p| p.time);
        let row = choices.iter().enumerate().map(|(i, choice)| {
            let loss = time(points, *choice, *bytes).map_or(f64::INFINITY, |t| (t / fastest).ln());
            let Some(last) = table.last() else {
                return (loss, i);
            };
            let from = |j: usize| last[j].0 + if i == j { 0.0 } else { worth };
            let before = (0..choices.len()).min_by(|a, b| from(*a).total_cmp(&from(*b)));
            let before = before.expect("every collective has choices");
            // Of equals, the one that is no change.
            let before = if from(i) <= from(before) { i } else { before };
            (loss + from(before), before)
        });
        let row = row.collect();
        table.push(row);
    }
    let Some(last) = table.last() else {
        return Vec::new();
    };
    let mut i =
        (0..choices.len()).min_by(|a, b| last[*a].0.total_cmp(&last[*b].0)).expect("every collective has choices");
    let mut chosen = Vec::new();
    for (bytes, row) in sizes.iter().zip(&table).rev() {
        chosen.push((*bytes, choices[i]));
        i = row[i].1;
    }
    chosen.reverse();
    chosen
}

/// The size at which the second choice overtakes the first, between two sizes that were
/// measured: where straight lines through the logarithms of times and sizes meet.
fn crossing(points: &[Point], sizes: (usize, usize), choices: (Choice, Choice)) -> usize {
    let ratio = |bytes: usize| {
        let (first, second) = (time(points, choices.0, bytes)?, time(points, choices.1, bytes)?);
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
        let line = |n: usize| vec![("flat", 100.0 + n as f64), ("slices", 1000.0 + n as f64 / 10.0)];
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
        let text = shown(
            Collective::Scan,
            &[
                (8, &[("pull", 100.0), ("slices", 101.0)]),
                (64, &[("pull", 110.0), ("slices", 100.0)]),
                (512, &[("pull", 200.0), ("slices", 100.0)]),
            ],
        );
        assert_eq!(text, "slices");
    }

    #[test]
    fn changes_fit_the_room() {
        let rows = (3..20).map(|k| {
            let times = if k % 2 == 0 { [1.0, 5.0] } else { [5.0, 1.0] };
            (1 << k, [("pull", times[0]), ("slices", times[1])])
        });
        let rows: Vec<_> = rows.collect();
        let rows: Vec<_> = rows.iter().map(|(n, r)| (*n, r.as_slice())).collect();
        let text = shown(Collective::Scan, &rows);
        assert!(text.split(", ").count() <= Steps::ROOM, "{text}");
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
