//! The operators of reductions and scans, and complex numbers (standard, table "Team-based
//! reduction types").

use std::ops::{Add, Mul, Sub};

/// Bitwise and.
#[derive(Debug)]
pub enum And {}
/// Bitwise or.
#[derive(Debug)]
pub enum Or {}
/// Bitwise exclusive or.
#[derive(Debug)]
pub enum Xor {}
/// Maximum.
#[derive(Debug)]
pub enum Max {}
/// Minimum.
#[derive(Debug)]
pub enum Min {}
/// Sum; integers wrap.
#[derive(Debug)]
pub enum Sum {}
/// Product; integers wrap.
#[derive(Debug)]
pub enum Prod {}

/// Maximum in any order of the operands: NaN if there is one, and +0 rather than -0.
pub(super) enum MaxOrNan {}
/// Minimum in any order of the operands: NaN if there is one, and -0 rather than +0.
pub(super) enum MinOrNan {}

/// A C complex number: real part, then imaginary part (C11 6.2.5).
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

impl<T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Complex<T> {
    /// The sum.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }

    /// The product, by the four products of the parts.
    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}
