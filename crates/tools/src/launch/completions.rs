//! `oshrun --generate`: what shells complete command lines by.

use clap::ValueEnum;

use super::compatibility::GLOBAL;

/// A shell that completes command lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Completions {
    /// For `share/bash-completion/completions/oshrun`.
    Bash,
    /// For `_oshrun` in a folder of `fpath`.
    Zsh,
    /// For `share/fish/vendor_completions.d/oshrun.fish`.
    Fish,
}

impl Completions {
    /// What the shell reads to complete command lines of `oshrun`, which has these options.
    pub(super) fn script(self, options: &mut clap::Command) -> String {
        let shell = match self {
            Self::Bash => clap_complete::Shell::Bash,
            Self::Zsh => clap_complete::Shell::Zsh,
            Self::Fish => clap_complete::Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, options, "oshrun", &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        // What is hidden in the summary is listed there nevertheless.
        match self {
            Self::Bash => script.replace(&format!("{GLOBAL} --"), "--"),
            Self::Zsh | Self::Fish => {
                script.split_inclusive('\n').filter(|line| !line.contains(&GLOBAL[2..])).collect()
            }
        }
    }
}
