//! From times of copies to the sizes from which other methods than a plain copy pay.

use ferroshmem_tuning::CopySizes;

use super::measure::CopyPoint;

/// What another method has to take at most, as a part of a plain copy's time: smaller differences are noise.
const PAYS: f64 = 0.9;

/// The sizes that follow from times.
pub(super) fn sizes(points: &[CopyPoint]) -> CopySizes {
    let mut sizes = CopySizes::NONE;
    for (method, of) in CopySizes::TABLE {
        *of(&mut sizes) = from(points.iter().filter(|point| point.method == method));
    }
    sizes
}

/// The least size that pays, as all larger ones do; 0 without points.
fn from<'a>(points: impl Iterator<Item = &'a CopyPoint>) -> u64 {
    let mut points: Vec<&CopyPoint> = points.collect();
    points.sort_unstable_by_key(|point| point.bytes);
    if points.is_empty() {
        return 0;
    }
    let pays = |point: &&&CopyPoint| point.other <= PAYS * point.plain;
    let first = points.iter().rev().take_while(pays).last();
    match first {
        Some(point) => point.bytes,
        // It may pay beyond what was measured; that is not known.
        None => u64::MAX,
    }
}

/// A line for each method: what was measured.
pub(super) fn table(points: &[CopyPoint], mut sizes: CopySizes) -> String {
    let mut out = String::new();
    for (method, of) in CopySizes::TABLE {
        let result = match CopySizes::known(*of(&mut sizes)) {
            None => continue,
            Some(u64::MAX) => "never pays".to_owned(),
            Some(bytes) => format!("pays from {bytes} bytes on"),
        };
        out += &format!("  {method:<12} {result}; time by that of a plain copy:");
        for point in points.iter().filter(|point| point.method == method) {
            let kib = point.bytes >> 10;
            out += &format!(" {kib}k {:.2}", point.other / point.plain);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(method: &'static str, times: &[(u64, f64)]) -> Vec<CopyPoint> {
        let point = |(bytes, other): &(u64, f64)| CopyPoint { method, bytes: *bytes, plain: 100.0, other: *other };
        times.iter().map(point).collect()
    }

    #[test]
    fn a_way_pays_from_where_all_larger_sizes_do() {
        let of = |times: &[(u64, f64)]| sizes(&points("share", times)).share;
        assert_eq!(of(&[(1, 50.0), (2, 95.0), (4, 60.0), (8, 55.0)]), 4);
        assert_eq!(of(&[(8, 55.0), (1, 50.0), (2, 89.0)]), 1);
        assert_eq!(of(&[(1, 50.0), (2, 120.0)]), u64::MAX);
        assert_eq!(of(&[]), 0);
        let other = sizes(&points("offload", &[(1, 50.0)]));
        assert_eq!((other.share, other.offload), (0, 1));
    }

    #[test]
    fn the_table_has_a_line_for_each_way_that_was_measured() {
        let some = points("share", &[(1 << 20, 120.0), (2 << 20, 56.0)]);
        let text = table(&some, sizes(&some));
        assert_eq!(
            text,
            "  share        pays from 2097152 bytes on; time by that of a plain copy: 1024k 1.20 2048k 0.56\n"
        );
    }
}
