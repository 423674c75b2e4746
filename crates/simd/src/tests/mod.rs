mod copies;
mod exact_sums;
mod folds;
mod halves;

/// A power of two, exactly; `f64::powi` does not promise that.
fn two_to(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
