//! Sums of floating-point numbers without any rounding: a fixed-point number as wide as their
//! range (U. Kulisch, "Very fast and exact accumulation of products", Computing 91, 2011; in
//! limbs with room for carries as in R. Neal, arXiv:1505.05571).

/// Bits of a limb that belong to the number; the rest collects carries.
const BITS: usize = 32;
/// From the least subnormal double, 2^-1074, to the greatest, 2^1024, and 2^32 of that.
const LIMBS: usize = (1074 + 1024 + 32usize).div_ceil(BITS);
/// Exponent of the lowest bit.
const LOWEST: usize = 1074;

/// The exact sum of up to 2^30 numbers.
#[derive(Debug)]
pub(super) struct Superaccumulator {
    /// Limb `i` counts `2^(32 i - 1074)`.
    limbs: [i64; LIMBS],
    /// Limbs from `low` to before `high` may not be zero.
    low: usize,
    high: usize,
    /// Sum of the infinities and NaNs, if there are any.
    special: Option<f64>,
    /// All numbers so far were -0.
    negative_zero: bool,
}

impl Superaccumulator {
    /// The sum of no numbers.
    pub(super) fn new() -> Self {
        Self { limbs: [0; LIMBS], low: LIMBS, high: 0, special: None, negative_zero: true }
    }

    /// Resets it to the sum of no numbers.
    pub(super) fn clear(&mut self) {
        if self.low < self.high {
            self.limbs[self.low..self.high].fill(0);
        }
        (self.low, self.high) = (LIMBS, 0);
        self.special = None;
        self.negative_zero = true;
    }

    /// Adds a number.
    pub(super) fn add(&mut self, x: f64) {
        if !x.is_finite() {
            self.special = Some(self.special.unwrap_or(0.0) + x);
            return;
        }
        let bits = x.to_bits();
        self.negative_zero &= bits == (-0.0f64).to_bits();
        let exponent = (bits >> 52) as usize & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        // Subnormal numbers have the exponent of the least normal ones, and no hidden bit.
        let (shift, digits) = match exponent {
            0 => (0, fraction),
            _ => (exponent - 1, fraction | 1 << 52),
        };
        if digits == 0 {
            return;
        }
        let first = shift / BITS;
        let mut rest = u128::from(digits) << (shift % BITS);
        for limb in &mut self.limbs[first..first + 3] {
            let part = (rest & u128::from(u32::MAX)) as i64;
            *limb += if x.is_sign_negative() { -part } else { part };
            rest >>= BITS;
        }
        (self.low, self.high) = (self.low.min(first), self.high.max(first + 3));
    }

    /// The sum, rounded once, to nearest, ties to even. An infinity if it is too great, or if
    /// there was one; NaN, always the same one, if there was one or infinities of both signs;
    /// -0 only if all numbers were.
    pub(super) fn round<F: Format>(&self) -> F {
        if let Some(special) = self.special {
            return F::of_special(special);
        }
        let (negative, digits) = self.digits();
        let Some(top) = digits.iter().rposition(|digit| *digit != 0) else {
            return F::from_parts(self.negative_zero, 0);
        };
        // The lowest bit that the result has, counted from 2^-1074.
        let highest = top * BITS + digits[top].ilog2() as usize;
        let lowest = (highest + 1).saturating_sub(F::PRECISION).max(LOWEST - F::LOWEST);
        let kept = bits_at(&digits, lowest);
        let half = lowest > 0 && bits_at(&digits, lowest - 1) & 1 == 1;
        let more = || {
            let (limb, bit) = ((lowest - 1) / BITS, (lowest - 1) % BITS);
            digits[limb] & ((1 << bit) - 1) != 0 || digits[..limb].iter().any(|d| *d != 0)
        };
        let up = half && (kept & 1 == 1 || more());
        // The hidden bit, if the number has one, makes the exponent field one more; so does a
        // carry out of the fraction.
        let exponent = (lowest - (LOWEST - F::LOWEST)) as u64;
        let magnitude = (exponent << (F::PRECISION - 1)) + kept + u64::from(up);
        F::from_parts(negative, magnitude.min(F::INFINITY))
    }

    /// The sign and the bits of the magnitude, 32 at a time from the lowest.
    fn digits(&self) -> (bool, [u32; LIMBS]) {
        let carried = |sign: i64| {
            let mut digits = [0; LIMBS];
            let mut carry = 0;
            for (digit, limb) in digits.iter_mut().zip(self.limbs).skip(self.low) {
                let sum = sign * limb + carry;
                *digit = sum as u32;
                carry = sum >> BITS;
            }
            (carry, digits)
        };
        match carried(1) {
            (0, digits) => (false, digits),
            _ => (true, carried(-1).1),
        }
    }
}

/// 64 bits of a number from bit `lowest` on.
fn bits_at(digits: &[u32; LIMBS], lowest: usize) -> u64 {
    let digit = |i| u128::from(digits.get(i).copied().unwrap_or(0));
    let i = lowest / BITS;
    let three = digit(i) | digit(i + 1) << BITS | digit(i + 2) << (2 * BITS);
    (three >> (lowest % BITS)) as u64
}

/// A binary interchange format (IEEE 754-2019, 3.4).
pub(super) trait Format: Copy {
    /// Bits of precision, with the hidden one.
    const PRECISION: usize;
    /// The least positive number is 2 to the minus this.
    const LOWEST: usize;
    /// The bits of infinity.
    const INFINITY: u64;

    /// The number of this sign whose other bits are `magnitude`.
    fn from_parts(negative: bool, magnitude: u64) -> Self;

    /// An infinity or NaN; all NaNs become the same one.
    fn of_special(special: f64) -> Self;
}

impl Format for f64 {
    const PRECISION: usize = 53;
    const LOWEST: usize = 1074;
    const INFINITY: u64 = Self::INFINITY.to_bits();

    fn from_parts(negative: bool, magnitude: u64) -> Self {
        Self::from_bits(u64::from(negative) << 63 | magnitude)
    }

    fn of_special(special: f64) -> Self {
        if special.is_nan() { Self::NAN } else { special }
    }
}

impl Format for f32 {
    const PRECISION: usize = 24;
    const LOWEST: usize = 149;
    const INFINITY: u64 = Self::INFINITY.to_bits() as u64;

    fn from_parts(negative: bool, magnitude: u64) -> Self {
        Self::from_bits(u32::from(negative) << 31 | magnitude as u32)
    }

    fn of_special(special: f64) -> Self {
        if special.is_nan() { Self::NAN } else { special as Self }
    }
}
