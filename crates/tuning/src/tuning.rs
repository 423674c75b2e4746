//! What `oshtune` measured on this machine. The launcher passes it to the PEs.

use super::collective::Collective;
use super::costs::Parameters;
use super::decision_table::Steps;

/// Most numbers of PEs with rules.
pub(super) const COUNTS: usize = 8;

/// The fastest choices at one number of PEs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Rules {
    /// Number of PEs of the measurement; 0 marks unused rules.
    pub pes: u32,
    /// The steps of each collective.
    pub steps: [Steps; Collective::ALL.len()],
}

impl Rules {
    /// Nothing measured.
    pub const NONE: Self = Self { pes: 0, steps: [Steps::NONE; Collective::ALL.len()] };
}

/// From how many bytes on the copies of a PE are made in other ways than by one plain copy; 0: not measured,
/// `u64::MAX`: they never pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CopySizes {
    /// Idle threads share a blocking copy.
    pub share: u64,
    /// Idle threads make a non-blocking copy.
    pub offload: u64,
    /// The copies of a PE alone on its node go past the caches.
    pub non_temporal: u64,
}

impl CopySizes {
    /// Nothing measured.
    pub const NONE: Self = Self { share: 0, offload: 0, non_temporal: 0 };

    /// Names in tuning files, which are those of the variables, and what they name.
    #[allow(clippy::type_complexity, reason = "one table of three rows")]
    pub const TABLE: [(&'static str, fn(&mut Self) -> &mut u64); 3] = [
        ("share", |sizes| &mut sizes.share),
        ("offload", |sizes| &mut sizes.offload),
        ("non_temporal", |sizes| &mut sizes.non_temporal),
    ];

    /// A size, if it was measured.
    pub fn known(bytes: u64) -> Option<u64> {
        (bytes > 0).then_some(bytes)
    }
}

/// Parameters of the cost model and rules. Plain data: part of the job's header, written
/// before the first PE starts, then constant.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Tuning {
    /// 1 if a tuning file was read, 0 for defaults.
    pub measured: u32,
    /// Parameters of the cost model.
    pub parameters: Parameters,
    /// Sizes of copies.
    pub copies: CopySizes,
    /// Rules, unused ones last.
    pub rules: [Rules; COUNTS],
}

impl Tuning {
    /// Nothing measured on a machine with `cores` cores: the model's defaults.
    pub fn default_for(cores: usize) -> Self {
        Self {
            measured: 0,
            parameters: Parameters::default_for(cores),
            copies: CopySizes::NONE,
            rules: [Rules::NONE; COUNTS],
        }
    }

    /// The rules for a team of `size` in a job of `pes` PEs on `cores` cores: those measured at
    /// the nearest number of PEs (by ratio), among the measurements that were oversubscribed if
    /// this job is, and not if it is not. None if the ratio exceeds 4: the cost model predicts
    /// better then.
    pub fn rules_for(&self, size: usize, pes: usize, cores: usize) -> Option<&Rules> {
        const MAX_RATIO: f64 = 4.0;
        let ratio = |rules: &Rules| {
            let (a, b) = (f64::from(rules.pes), size as f64);
            (a / b).max(b / a)
        };
        self.rules
            .iter()
            .filter(|r| r.pes > 0 && (r.pes as usize > cores) == (pes > cores))
            .min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .filter(|r| ratio(r) <= MAX_RATIO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rules_are_followed() {
        let mut tuning = Tuning::default_for(2);
        assert_eq!(tuning.rules_for(2, 2, 2), None);
        for (rules, pes) in tuning.rules.iter_mut().zip([2, 4, 16, 64]) {
            rules.pes = pes;
        }
        let pes = |size, pes, cores| tuning.rules_for(size, pes, cores).map(|r| r.pes);
        assert_eq!(pes(2, 2, 2), Some(2));
        assert_eq!(pes(2, 9, 2), Some(4));
        assert_eq!(pes(7, 9, 2), Some(4));
        assert_eq!(pes(9, 9, 2), Some(16));
        assert_eq!(pes(64, 64, 2), Some(64));
        assert_eq!(pes(256, 256, 2), Some(64));
        assert_eq!(pes(257, 257, 2), None);
        assert_eq!(pes(8, 8, 8), Some(4));
        assert_eq!(pes(17, 17, 17), Some(16));
    }
}
