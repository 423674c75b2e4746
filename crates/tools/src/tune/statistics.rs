//! A little statistics.

/// The lower quartile, of times that other work on the machine may have lengthened: it is
/// disturbed less than the median; NaN of nothing.
pub(super) fn lower_quartile(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 4).copied().unwrap_or(f64::NAN)
}

/// The geometric mean; NaN of nothing.
pub(super) fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|v| v.ln()).sum();
    (logarithms / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles() {
        assert_eq!(lower_quartile(&mut [3.0]), 3.0);
        assert_eq!(lower_quartile(&mut [9.0, 2.0, 1.0, 3.0, 8.0]), 2.0);
        assert!(lower_quartile(&mut []).is_nan());
    }

    #[test]
    fn means() {
        assert!((geometric_mean(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
        assert!(geometric_mean(&[]).is_nan());
    }
}
