//! Times and sizes as people read them.

/// A time in nanoseconds, with three digits and a unit.
pub(super) fn time_shown(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        t if t < 1e3 => (t, "ns"),
        t if t < 1e6 => (t / 1e3, "us"),
        t if t < 1e9 => (t / 1e6, "ms"),
        t => (t / 1e9, "s"),
    };
    let digits = match value {
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// A number of bytes, in whole KiB or MiB if it is.
pub(super) fn bytes_shown(bytes: usize) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// Reads a number of bytes: digits, perhaps with k, m or g for powers of 1024.
pub(super) fn bytes_read(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.to_ascii_lowercase() {
        t if t.ends_with('k') => (t[..t.len() - 1].to_owned(), 10),
        t if t.ends_with('m') => (t[..t.len() - 1].to_owned(), 20),
        t if t.ends_with('g') => (t[..t.len() - 1].to_owned(), 30),
        t => (t, 0),
    };
    let number: Option<usize> = digits.parse().ok();
    number
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(|| "give a number of bytes, perhaps with k, m or g".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(time_shown(0.0), "0.00 ns");
        assert_eq!(time_shown(98.76), "98.8 ns");
        assert_eq!(time_shown(1234.0), "1.23 us");
        assert_eq!(time_shown(5.5e8), "550 ms");
        assert_eq!(time_shown(2.0e10), "20.0 s");
        assert_eq!(bytes_shown(2048), "2 KiB");
        assert_eq!(bytes_shown(1025), "1025 B");
        assert_eq!(bytes_shown(8 << 20), "8 MiB");
        assert_eq!(bytes_shown(0), "0 B");
        assert_eq!(bytes_read("64K"), Ok(65536));
        assert_eq!(bytes_read("7"), Ok(7));
        assert_eq!(bytes_read("1g"), Ok(1 << 30));
        for wrong in ["", "k", "-1", "1.5m", "99999999999g"] {
            assert!(bytes_read(wrong).is_err(), "{wrong}");
        }
    }
}
