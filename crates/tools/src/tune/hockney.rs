//! The Hockney (alpha-beta-gamma) model, the cost model of the literature on reductions: messages
//! over a network with latency α, time per byte β, and time γ to combine a byte.

use ferroshmem_tuning::{Algorithm, Choice, Parameters};

/// Predicts the time in nanoseconds of a reduction of `n` bytes over `p` PEs, by the formulas
///
/// ```text
/// flat       p·α + 2n(p−1)·β + n(p−1)·γ
/// rd, bruck  lg p·α + n·lg p·β + n·lg p·γ
/// rsag       2·lg p·α + 2·(p−1)/p·n·β + (p−1)/p·n·γ
/// ```
///
/// None for algorithms without a formula.
pub(super) fn reduction(parameters: &Parameters, choice: Choice, p: usize, n: usize) -> Option<f64> {
    let Parameters { alpha, beta, gamma, .. } = *parameters;
    let (p, n) = (p.max(1) as f64, n as f64);
    let lg = p.log2();
    match choice.algorithm {
        Algorithm::Flat => Some(p * alpha + 2.0 * n * (p - 1.0) * beta + n * (p - 1.0) * gamma),
        Algorithm::RecursiveDoubling | Algorithm::Bruck => Some(lg * alpha + n * lg * beta + n * lg * gamma),
        Algorithm::Rabenseifner => {
            let part = (p - 1.0) / p * n;
            Some(2.0 * lg * alpha + 2.0 * part * beta + part * gamma)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas() {
        let parameters = Parameters { alpha: 100.0, beta: 2.0, gamma: 3.0, ..Parameters::default_for(1) };
        let time = |a| reduction(&parameters, Choice::direct(a), 4, 1000);
        assert_eq!(time(Algorithm::Flat), Some(400.0 + 12_000.0 + 9_000.0));
        assert_eq!(time(Algorithm::Bruck), Some(200.0 + 4_000.0 + 6_000.0));
        assert_eq!(time(Algorithm::Rabenseifner), Some(400.0 + 3_000.0 + 2_250.0));
        assert_eq!(time(Algorithm::Slices), None);
    }
}
