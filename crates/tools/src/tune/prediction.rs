//! What the model predicts for jobs that this machine cannot run.

use std::fmt::Write;

use ferroshmem_tuning::{Choice, Collective, Costs, Form, Parameters};

use super::hockney;
use super::quantity::{bytes_shown, time_shown};

/// A machine, and what to predict for it.
#[derive(Debug)]
pub(super) struct Prediction {
    /// The machine's parameters.
    pub parameters: Parameters,
    /// Cores of the machine that the parameters are of, if memory bandwidth is to grow with
    /// the number of cores from there on.
    pub scaled_from: Option<usize>,
    /// Its cores; None: one for each PE.
    pub cores: Option<usize>,
    /// Numbers of PEs.
    pub counts: Vec<usize>,
    /// Bytes, as each collective counts them.
    pub sizes: Vec<usize>,
    /// Which collectives.
    pub collectives: Vec<Collective>,
}

impl Prediction {
    /// The numbers of PEs that are predicted if none are asked for: 64 to 65,536.
    pub(super) const COUNTS: [usize; 6] = [64, 256, 1024, 4096, 16_384, 65_536];
    /// The sizes that are predicted if none are asked for.
    pub(super) const SIZES: [usize; 6] = [8, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 8 << 20];

    /// The tables.
    pub(super) fn text(&self) -> String {
        let cores = match self.cores {
            Some(cores) => format!("{cores} cores"),
            None => "a core for each PE".to_owned(),
        };
        let mut out = format!("Predicted by the cost model: {cores}, {}\n", self.parameters);
        if let Some(from) = self.scaled_from {
            out += &format!("(streams: for {from} cores, and in proportion for more)\n");
        }
        for collective in &self.collectives {
            self.table(&mut out, *collective);
        }
        out
    }

    fn costs(&self, pes: usize) -> Costs {
        let cores = self.cores.unwrap_or(pes);
        let mut parameters = self.parameters;
        if let Some(from) = self.scaled_from {
            parameters.streams *= (cores as f64 / from as f64).max(1.0);
        }
        Costs::new(parameters, pes, cores, pes > cores, None)
    }

    fn table(&self, out: &mut String, collective: Collective) {
        let choices = collective.choices();
        let _ = write!(out, "\n{}\n{:>6} {:>8}", collective.name(), "PEs", "bytes");
        for choice in choices {
            let _ = write!(out, " {choice:>13}");
        }
        let both = choices.iter().any(|c| c.form == Form::PutGet);
        let _ = write!(out, "  best");
        if both {
            let _ = write!(out, "; best over put and get; best of the Hockney model");
        }
        out.push('\n');
        let none = [0];
        let sizes = match collective.counted() {
            Some(_) => self.sizes.as_slice(),
            None => &none,
        };
        for pes in &self.counts {
            let costs = self.costs(*pes);
            for bytes in sizes {
                let _ = write!(out, "{pes:>6} {:>8}", bytes_shown(*bytes));
                for choice in choices {
                    let time = costs.time(collective, *choice, *bytes);
                    let shown = if time.is_finite() { time_shown(time) } else { "-".to_owned() };
                    let _ = write!(out, " {shown:>13}");
                }
                let _ = write!(out, "  {}", costs.best(collective, *bytes));
                if both {
                    let time = |c: &Choice| costs.time(collective, *c, *bytes);
                    let putget = choices.iter().filter(|c| c.form == Form::PutGet);
                    let remote = putget.min_by(|a, b| time(a).total_cmp(&time(b)));
                    let _ = write!(out, "; {}", named(remote.copied()));
                    let _ = write!(out, "; {}", self.hockney(collective, *pes, *bytes));
                }
                out.push('\n');
            }
        }
    }

    /// The best by the formulas of the literature, and its time.
    fn hockney(&self, collective: Collective, pes: usize, bytes: usize) -> String {
        let direct = collective.choices().iter().filter(|c| c.form == Form::Direct);
        let times = direct.filter_map(|c| {
            let time = hockney::reduction(&self.parameters, *c, pes, bytes)?;
            Some((c.algorithm.name(), time))
        });
        match times.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((name, time)) => format!("{name} {}", time_shown(time)),
            None => "-".to_owned(),
        }
    }
}

fn named(choice: Option<Choice>) -> String {
    choice.map_or_else(|| "-".to_owned(), |c| c.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_what_is_asked() {
        let prediction = Prediction {
            parameters: Parameters::default_for(64),
            scaled_from: Some(64),
            cores: None,
            counts: Prediction::COUNTS.to_vec(),
            sizes: Prediction::SIZES.to_vec(),
            collectives: Collective::ALL.to_vec(),
        };
        let text = prediction.text();
        let table = text.split("\n\n").find(|t| t.starts_with("reduce\n")).unwrap();
        assert_eq!(table.lines().count(), 2 + 36);
        let last = table.lines().last().unwrap();
        assert!(last.trim_start().starts_with("65536    8 MiB             -"), "{last}");
        assert!(last.contains("; rsag"), "{last}");
        let barrier = text.split("\n\n").find(|t| t.starts_with("barrier\n")).unwrap();
        assert_eq!(barrier.lines().count(), 2 + 6);
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }
}
