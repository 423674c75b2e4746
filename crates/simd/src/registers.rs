//! The vector registers that the element loops are compiled for: on x86-64, with their
//! instructions.

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{__m256i, __m512i, Register128};

/// The register of 16 bytes, on architectures whose instructions are not named here.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(crate) struct Register128(#[allow(dead_code, reason = "read as elements")] [u64; 2]);

#[cfg(not(target_arch = "x86_64"))]
// SAFETY: plain data without padding; all functions but one are the trait's own.
unsafe impl super::vector::Vector for Register128 {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, Self([low, high]): Self) {
        // SAFETY: the caller promises that `dest` is writable for a register.
        unsafe {
            std::arch::asm!(
                "stnp {low}, {high}, [{dest}]",
                low = in(reg) low,
                high = in(reg) high,
                dest = in(reg) dest,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    #![allow(
        clippy::missing_transmute_annotations,
        reason = "the operands of each instruction determine the register types"
    )]

    use std::arch::x86_64::*;
    use std::mem::transmute;

    use super::super::vector::{Vector, lanes};

    pub(crate) use std::arch::x86_64::{__m128i as Register128, __m256i, __m512i};

    /// Implements the functions of a register.
    macro_rules! register {
        (
            $register:ty,
            [$($name:ident: $instruction:ident),*]
            // Maxima and minima return the second operand if they do not return the first.
            swapped [$($other:ident: $other_instruction:ident),*]
            // Multiplication, sum, exclusive or, shuffle within pairs of lanes.
            complex_f32 [$mul_ps:ident, $add_ps:ident, $xor_ps:ident, $shuffle_ps:ident]
            // And the selectors of that shuffle: real parts, imaginary parts, parts exchanged.
            complex_f64 [
                $mul_pd:ident, $add_pd:ident, $xor_pd:ident,
                $shuffle_pd:ident: $real:literal, $imaginary:literal, $swapped:literal
            ]
            widen [$convert:ident, $load:ident]
            stream [$stream:ident]
        ) => {
            // SAFETY: a register is plain data without padding, of any lane type.
            unsafe impl Vector for $register {
                $(
                    #[inline(always)]
                    unsafe fn $name(a: Self, b: Self) -> Self {
                        // SAFETY: the caller promises that the machine has the register; all register
                        // types here have one size.
                        unsafe { transmute($instruction(transmute(a), transmute(b))) }
                    }
                )*

                $(
                    #[inline(always)]
                    unsafe fn $other(a: Self, b: Self) -> Self {
                        // SAFETY: as for the functions before.
                        unsafe { transmute($other_instruction(transmute(b), transmute(a))) }
                    }
                )*

                #[inline(always)]
                unsafe fn mul_complex_f32(a: Self, b: Self) -> Self {
                    // SAFETY: the caller promises that the machine has the register.
                    unsafe {
                        let (a, b) = (transmute(a), transmute(b));
                        let real = $shuffle_ps::<0b10_10_00_00>(a, a);
                        let imaginary = $shuffle_ps::<0b11_11_01_01>(a, a);
                        let negated = $xor_ps(imaginary, transmute(signs::<Self, f32>(-0.0)));
                        let swapped = $shuffle_ps::<0b10_11_00_01>(b, b);
                        transmute($add_ps($mul_ps(real, b), $mul_ps(negated, swapped)))
                    }
                }

                #[inline(always)]
                unsafe fn mul_complex_f64(a: Self, b: Self) -> Self {
                    // SAFETY: the caller promises that the machine has the register.
                    unsafe {
                        let (a, b) = (transmute(a), transmute(b));
                        let real = $shuffle_pd::<$real>(a, a);
                        let imaginary = $shuffle_pd::<$imaginary>(a, a);
                        let negated = $xor_pd(imaginary, transmute(signs::<Self, f64>(-0.0)));
                        let swapped = $shuffle_pd::<$swapped>(b, b);
                        transmute($add_pd($mul_pd(real, b), $mul_pd(negated, swapped)))
                    }
                }

                #[inline(always)]
                unsafe fn widen(from: *const f32) -> Self {
                    // SAFETY: the caller promises that `from` is readable for as many numbers as
                    // `$load` takes, and that the machine has the register.
                    unsafe { transmute($convert($load(from.cast()))) }
                }

                #[inline(always)]
                unsafe fn stream(dest: *mut Self, value: Self) {
                    // SAFETY: the caller promises that `dest` is writable and aligned for a
                    // register. Miri does not know the instruction.
                    unsafe {
                        if cfg!(miri) {
                            dest.write(value);
                        } else {
                            $stream(dest, value);
                        }
                    }
                }
            }
        };
    }

    /// A register with `minus_zero` in all even lanes, and zeros in the others.
    #[inline(always)]
    fn signs<V: Vector, T: Copy>(minus_zero: T) -> V {
        // SAFETY: all bytes zero are a value of plain data, and `lane` is less than `lanes`.
        unsafe {
            let mut signs: V = std::mem::zeroed();
            for lane in (0..lanes::<V, T>()).step_by(2) {
                (&raw mut signs).cast::<T>().add(lane).write(minus_zero);
            }
            signs
        }
    }

    /// Loads the lower half of a register of 16 bytes.
    ///
    /// # Safety
    /// `from` is readable for 8 bytes.
    #[inline(always)]
    unsafe fn load_half(from: *const __m128i) -> __m128 {
        // SAFETY: the caller promises that `from` is readable for 8 bytes.
        unsafe { _mm_castsi128_ps(_mm_loadl_epi64(from)) }
    }

    register! {
        Register128,
        [
            add_f32: _mm_add_ps, add_f64: _mm_add_pd, sub_f64: _mm_sub_pd,
            mul_f32: _mm_mul_ps, mul_f64: _mm_mul_pd
        ]
        swapped [
            max_f32: _mm_max_ps, max_f64: _mm_max_pd,
            min_f32: _mm_min_ps, min_f64: _mm_min_pd
        ]
        complex_f32 [_mm_mul_ps, _mm_add_ps, _mm_xor_ps, _mm_shuffle_ps]
        complex_f64 [
            _mm_mul_pd, _mm_add_pd, _mm_xor_pd,
            _mm_shuffle_pd: 0, 0b11, 0b01
        ]
        widen [_mm_cvtps_pd, load_half]
        stream [_mm_stream_si128]
    }

    register! {
        __m256i,
        [
            add_f32: _mm256_add_ps, add_f64: _mm256_add_pd, sub_f64: _mm256_sub_pd,
            mul_f32: _mm256_mul_ps, mul_f64: _mm256_mul_pd
        ]
        swapped [
            max_f32: _mm256_max_ps, max_f64: _mm256_max_pd,
            min_f32: _mm256_min_ps, min_f64: _mm256_min_pd
        ]
        complex_f32 [_mm256_mul_ps, _mm256_add_ps, _mm256_xor_ps, _mm256_shuffle_ps]
        complex_f64 [
            _mm256_mul_pd, _mm256_add_pd, _mm256_xor_pd,
            _mm256_shuffle_pd: 0, 0b1111, 0b0101
        ]
        widen [_mm256_cvtps_pd, _mm_loadu_ps]
        stream [_mm256_stream_si256]
    }

    register! {
        __m512i,
        [
            add_f32: _mm512_add_ps, add_f64: _mm512_add_pd, sub_f64: _mm512_sub_pd,
            mul_f32: _mm512_mul_ps, mul_f64: _mm512_mul_pd
        ]
        swapped [
            max_f32: _mm512_max_ps, max_f64: _mm512_max_pd,
            min_f32: _mm512_min_ps, min_f64: _mm512_min_pd
        ]
        complex_f32 [_mm512_mul_ps, _mm512_add_ps, _mm512_xor_ps, _mm512_shuffle_ps]
        complex_f64 [
            _mm512_mul_pd, _mm512_add_pd, _mm512_xor_pd,
            _mm512_shuffle_pd: 0, 0b1111_1111, 0b0101_0101
        ]
        widen [_mm512_cvtps_pd, _mm256_loadu_ps]
        stream [_mm512_stream_si512]
    }
}
