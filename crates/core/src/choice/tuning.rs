//! What was measured on this machine, as the launcher hands it to the PEs.

use super::collective::Collective;
use super::costs::Parameters;
use super::plan::Steps;

/// Most numbers of PEs that were measured.
pub(super) const COUNTS: usize = 8;

/// What pays at one number of PEs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Rules {
    /// Number of PEs that it was measured with, 0 if there is nothing.
    pub pes: u32,
    /// The steps of each collective.
    pub steps: [Steps; Collective::ALL.len()],
}

impl Rules {
    /// Nothing measured.
    pub const NONE: Self = Self {
        pes: 0,
        steps: [Steps::NONE; Collective::ALL.len()],
    };
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
    /// Rules, those without PEs last.
    pub rules: [Rules; COUNTS],
}

impl Tuning {
    /// Nothing measured on a machine with `cores` cores: the model's defaults.
    pub fn default_for(cores: usize) -> Self {
        Self {
            measured: 0,
            parameters: Parameters::default_for(cores),
            rules: [Rules::NONE; COUNTS],
        }
    }

    /// The rules to follow for a team of `size` in a job of `pes` PEs on `cores` cores: of the
    /// nearest number of PEs (by ratio) that was measured with PEs outnumbering cores as they
    /// do in this job. None beyond four times that number: the model knows better then.
    pub fn rules_for(&self, size: usize, pes: usize, cores: usize) -> Option<&Rules> {
        const NEAR: f64 = 4.0;
        let ratio = |rules: &Rules| {
            let (a, b) = (f64::from(rules.pes), size as f64);
            (a / b).max(b / a)
        };
        self.rules
            .iter()
            .filter(|r| r.pes > 0 && (r.pes as usize > cores) == (pes > cores))
            .min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
            .filter(|r| ratio(r) <= NEAR)
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
