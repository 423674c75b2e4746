//! The tuning file: what `oshtune` writes and `oshrun` reads.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use ferroshmem_tuning::{CopySizes, Parameters, Rules, Tuning};

use super::document::FileError;
use super::identity::Identity;
use crate::whole_file;

/// A tuning file's content.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningFile {
    /// The machine that was measured.
    pub machine: Identity,
    /// Parameters of the cost model.
    pub parameters: Parameters,
    /// From which sizes on other ways of copying pay.
    pub copies: CopySizes,
    /// What pays, for each number of PEs that was measured.
    pub rules: Vec<Rules>,
}

impl TuningFile {
    /// Reads a file, which must be of this machine.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let this = Self::parse(&text_of(path)?)?;
        let here = Identity::here();
        if this.machine != here {
            return Err(FileError::OtherMachine(this.machine, here));
        }
        Ok(this)
    }

    /// Writes the file atomically, with `remarks` of one line each as comments. Makes its directory if there is
    /// none.
    pub fn write(&self, path: &Path, remarks: &[String]) -> io::Result<()> {
        let mut text = self.text();
        for remark in remarks {
            text.push_str("# ");
            text.push_str(remark.trim_start());
            text.push('\n');
        }
        make_folder_of(path)?;
        whole_file::write(path, &text)
    }

    /// Whether [`write`](Self::write) could write a file, as far as can be known before.
    pub fn check_place(path: &Path) -> io::Result<()> {
        make_folder_of(path)?;
        whole_file::check(path)
    }

    /// What the PEs of a job receive.
    pub fn tuning(&self) -> Tuning {
        let mut tuning = Tuning::default_for(self.machine.cores as usize);
        tuning.measured = 1;
        tuning.parameters = self.parameters;
        tuning.copies = self.copies;
        for (place, rules) in tuning.rules.iter_mut().zip(&self.rules) {
            *place = *rules;
        }
        tuning
    }
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// The text of a file, which must not be longer than a tuning file can reasonably be.
fn text_of(path: &Path) -> Result<String, FileError> {
    const LONGEST: u64 = 1 << 20;

    if !fs::metadata(path).map_err(FileError::Unreadable)?.is_file() {
        return Err(FileError::Damaged("it is not a file".to_owned()));
    }
    let file = File::open(path).map_err(FileError::Unreadable)?;
    let mut bytes = Vec::new();
    (file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(FileError::Unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(FileError::Damaged("it is too long".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| FileError::Damaged("it is not text".to_owned()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ferroshmem_tuning::{Collective, Steps};

    /// A file of this machine.
    pub(crate) fn example() -> TuningFile {
        let rules = |pes| {
            let mut rules = Rules::NONE;
            rules.pes = pes;
            for c in Collective::ALL {
                let choices = c.choices();
                rules.steps[c as usize] = Steps::new([(2048, choices[0]), (usize::MAX, choices[1])]);
            }
            rules
        };
        TuningFile {
            machine: Identity::here(),
            parameters: Parameters {
                alpha: 98.5,
                beta: 0.125,
                gamma: 0.06,
                sigma: 1234.0,
                streams: 1.75,
                memory: 0.25,
                cache: 1048576.0,
                ..Parameters::default_for(2)
            },
            copies: CopySizes { share: 3 << 20, offload: 0, non_temporal: u64::MAX },
            rules: vec![rules(2), rules(16)],
        }
    }

    #[test]
    fn comes_back() {
        let file = example();
        assert_eq!(TuningFile::parse(&file.text()).unwrap(), file);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/tuning.toml");
        for _ in 0..2 {
            file.write(&path, &["    2 PEs  quiet".to_owned()]).unwrap();
            assert_eq!(TuningFile::read(&path).unwrap(), file);
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.ends_with("\n# 2 PEs  quiet\n"), "{text}");
        }
        let entries = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(entries, 1, "nothing else is left behind");

        let tuning = file.tuning();
        assert_eq!(tuning.measured, 1);
        assert_eq!(tuning.copies, file.copies);
        assert_eq!(tuning.rules[1], file.rules[1]);
        assert_eq!(tuning.rules[2].pes, 0);
    }

    #[test]
    fn other_machines_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tuning.toml");
        let mut file = example();
        file.machine.cores += 1;
        file.write(&path, &[]).unwrap();
        let line = TuningFile::read(&path).unwrap_err().to_string();
        let (there, here) = (&file.machine, Identity::here());
        assert_eq!(line, format!("it is for {there}, this is {here}: run oshtune"));

        fs::write(&path, [0xff, 0xfe]).unwrap();
        let line = TuningFile::read(&path).unwrap_err().to_string();
        assert_eq!(line, "it is damaged: it is not text");
    }

    #[test]
    fn only_short_files_are_read() {
        let error = |path: &Path| TuningFile::read(path).unwrap_err().to_string();
        assert_eq!(error(Path::new("/dev/zero")), "it is damaged: it is not a file");
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(error(directory.path()), "it is damaged: it is not a file");
        let path = directory.path().join("long");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(error(&path), "it is damaged: it is too long");
    }
}
