//! The allocation of Slurm's around `oshrun`, from the variables that Slurm sets.

use ferroshmem_bootstrap::environment::{
    SLURM_JOB_CPUS_PER_NODE, SLURM_JOB_ID, SLURM_JOB_NUM_NODES, SLURM_NNODES, SLURM_NTASKS, SLURM_STEP_ID, Variable,
};

/// Nodes and places for tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allocation {
    pub nodes: usize,
    /// Tasks that the user asked for.
    tasks: Option<usize>,
    /// Cores in all.
    cores: Option<usize>,
}

/// Step numbers from here on are those of a job's script and shell, which are no tasks.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

impl Allocation {
    /// The allocation that these variables describe; none inside of a task, which belongs to a running
    /// job.
    pub(super) fn around(variable: impl Fn(&Variable) -> Option<String>) -> Option<Self> {
        let number = |v: &Variable| variable(v)?.parse::<usize>().ok();
        variable(&SLURM_JOB_ID)?;
        let step = variable(&SLURM_STEP_ID).and_then(|s| s.parse::<u32>().ok());
        if step.is_some_and(|step| step < FIRST_SPECIAL_STEP) {
            return None;
        }
        Some(Self {
            nodes: number(&SLURM_JOB_NUM_NODES).or_else(|| number(&SLURM_NNODES))?,
            tasks: number(&SLURM_NTASKS),
            cores: variable(&SLURM_JOB_CPUS_PER_NODE).and_then(|text| total(&text)),
        })
    }

    /// One PE for each task that the user asked for, else for each core.
    pub(super) fn default_pes(&self) -> Option<usize> {
        self.tasks.or(self.cores)
    }
}

/// The sum of a list as Slurm writes it: `4(x2),3` is 11.
fn total(text: &str) -> Option<usize> {
    let mut sum = 0;
    for item in text.split(',') {
        let (each, times) = match item.split_once("(x") {
            Some((each, times)) => (each, times.strip_suffix(')')?),
            None => (item, "1"),
        };
        sum += each.parse::<usize>().ok()? * times.parse::<usize>().ok()?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(variables: &[(&str, &str)]) -> Option<Allocation> {
        Allocation::around(|variable| {
            let found = variables.iter().find(|(n, _)| *n == variable.name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_allocation_is_read_from_its_variables() {
        let mut variables =
            vec![("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "3"), ("SLURM_JOB_CPUS_PER_NODE", "4(x2),3")];
        let allocation = around(&variables).unwrap();
        assert_eq!((allocation.nodes, allocation.default_pes()), (3, Some(11)));
        variables.push(("SLURM_NTASKS", "6"));
        assert_eq!(around(&variables).unwrap().default_pes(), Some(6));
        variables.push(("SLURM_STEP_ID", "4294967290"));
        assert!(around(&variables).is_some());
        variables.pop();
        variables.push(("SLURM_STEP_ID", "0"));
        assert_eq!(around(&variables), None);
        assert_eq!(around(&[]), None);
    }
}
