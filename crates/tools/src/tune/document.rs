//! The text of a tuning file: TOML.

use std::collections::BTreeMap;
use std::io;

use ferroshmem_tuning::{Collective, CopySizes, Parameters, Rules, Steps, Tuning};
use serde::{Deserialize, Serialize};

use super::file::TuningFile;
use super::identity::Identity;

/// Changes whenever older versions could misread the file.
const VERSION: i64 = 2;

/// Text before the file's content.
const HEADING: &str = "\
# Which algorithms pay on this machine, measured by oshtune. oshrun reads this file.
# Parameters of the cost model: alpha ns to pass a flag, beta and gamma ns to copy and to combine
# a byte in cache, sigma ns to schedule a PE, memory ns to copy a byte from memory to memory,
# streams times the bandwidth of one core for all, cache bytes for each core, socket_alpha ns to
# pass a flag to another socket, socket_flag and socket_line ns that a flag and a line occupy the
# link between sockets. Sizes are bytes as oshmem_info --collectives has them. Copies: from how
# many bytes on other ways than a plain copy pay.

";

/// Why a tuning file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read it: {0}")]
    Unreadable(io::Error),
    /// It is not a tuning file, or damaged: what is wrong.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It has another version of the format.
    #[error("it has version {0} of the format, this is version {VERSION}: run oshtune")]
    Version(i64),
    /// It describes another machine: that one, and this one.
    #[error("it is for {0}, this is {1}: run oshtune")]
    OtherMachine(Identity, Identity),
}

/// The file as TOML has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: i64,
    made_by: String,
    /// Numbers of PEs of the rules below, so that a file cut short is noticed.
    pes: Vec<u32>,
    machine: Identity,
    parameters: BTreeMap<String, f64>,
    /// `from <bytes>` or `never`.
    #[serde(default)]
    copies: BTreeMap<String, String>,
    #[serde(default)]
    rules: Vec<RulesTable>,
}

#[derive(Serialize, Deserialize)]
struct RulesTable {
    pes: u32,
    /// For each collective its steps: `<choice> up to <bytes>`, the last `<choice>`.
    #[serde(flatten)]
    steps: BTreeMap<String, Vec<String>>,
}

impl TuningFile {
    /// The file's text.
    pub fn text(&self) -> String {
        let mut parameters = self.parameters;
        let values = Parameters::TABLE.map(|p| (p.name.to_owned(), *(p.of)(&mut parameters)));
        let document = Document {
            version: VERSION,
            made_by: ferroshmem_core::info::VENDOR.to_owned(),
            pes: self.rules.iter().map(|r| r.pes).collect(),
            machine: self.machine.clone(),
            parameters: values.into(),
            copies: copies_table(self.copies),
            rules: self.rules.iter().map(rules_table).collect(),
        };
        let text = toml::to_string(&document).expect("strings and numbers are TOML");
        HEADING.to_owned() + &text
    }

    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let damaged = |e: toml::de::Error| {
            let before = e.span().and_then(|s| text.get(..s.start));
            let line = before.map_or(0, |t| t.matches('\n').count()) + 1;
            let message = e.message().lines().collect::<Vec<_>>().join(", ");
            FileError::Damaged(format!("line {line}: {message}"))
        };
        // A file of another version may differ in all the rest.
        let table: toml::Table = text.parse().map_err(damaged)?;
        match table.get("version") {
            Some(toml::Value::Integer(VERSION)) => {}
            Some(toml::Value::Integer(other)) => return Err(FileError::Version(*other)),
            _ => return Err(FileError::Damaged("it has no version".to_owned())),
        }
        let document: Document = toml::from_str(text).map_err(damaged)?;
        Self::from_document(document).map_err(FileError::Damaged)
    }

    fn from_document(document: Document) -> Result<Self, String> {
        let mut parameters = Parameters::default_for(1);
        for parameter in Parameters::TABLE {
            let name = parameter.name;
            let value = document.parameters.get(name);
            let value = *value.ok_or_else(|| format!("{name} is missing: was it cut short?"))?;
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("{name} = {value} is not a positive number"));
            }
            *(parameter.of)(&mut parameters) = value;
        }
        let known = |name: &String| Parameters::TABLE.iter().any(|p| p.name == name);
        if let Some(name) = document.parameters.keys().find(|n| !known(n)) {
            return Err(format!("there is no parameter \"{name}\""));
        }
        let copies = copies(&document.copies)?;
        let rules: Vec<Rules> = (document.rules.iter()).map(rules).collect::<Result<_, _>>()?;
        let given: Vec<u32> = rules.iter().map(|r| r.pes).collect();
        if given != document.pes {
            return Err(format!("rules for {given:?} PEs where {:?} are announced: was it cut short?", document.pes));
        }
        let room = Tuning::default_for(1).rules.len();
        if rules.len() > room {
            return Err(format!("rules for more than {room} numbers of PEs"));
        }
        Ok(Self { machine: document.machine, parameters, copies, rules })
    }
}

fn copies_table(mut sizes: CopySizes) -> BTreeMap<String, String> {
    let known = CopySizes::TABLE.iter().filter_map(|(name, of)| {
        let text = match CopySizes::known(*of(&mut sizes))? {
            u64::MAX => "never".to_owned(),
            bytes => format!("from {bytes}"),
        };
        Some(((*name).to_owned(), text))
    });
    known.collect()
}

fn copies(table: &BTreeMap<String, String>) -> Result<CopySizes, String> {
    let mut sizes = CopySizes::NONE;
    for (name, text) in table {
        let known = CopySizes::TABLE.iter().find(|(known, _)| known == name);
        let (_, of) = known.ok_or_else(|| format!("there are no copies \"{name}\""))?;
        let bytes = match text.split_once("from ") {
            Some(("", bytes)) => bytes.parse().ok().filter(|bytes| *bytes > 0),
            None if text == "never" => Some(u64::MAX),
            _ => None,
        };
        *of(&mut sizes) = bytes.ok_or_else(|| format!("copies: {name}: cannot use \"{text}\""))?;
    }
    Ok(sizes)
}

fn rules_table(rules: &Rules) -> RulesTable {
    let steps = Collective::ALL.map(|c| {
        let steps = rules.steps[c as usize].iter().map(|step| match step {
            (Some(bytes), choice) => format!("{choice} up to {bytes}"),
            (None, choice) => choice.to_string(),
        });
        (c.name().to_owned(), steps.collect())
    });
    RulesTable { pes: rules.pes, steps: steps.into() }
}

fn rules(table: &RulesTable) -> Result<Rules, String> {
    let pes = table.pes;
    let line = |what: String| format!("rules for {pes} PEs: {what}");
    if pes == 0 {
        return Err(line("no PEs".to_owned()));
    }
    let mut rules = Rules::NONE;
    rules.pes = pes;
    if let Some(name) = table.steps.keys().find(|n| Collective::named(n).is_none()) {
        return Err(line(format!("there is no collective \"{name}\"")));
    }
    for collective in Collective::ALL {
        let name = collective.name();
        let steps = table.steps.get(name);
        let steps = steps.ok_or_else(|| line(format!("{name} is missing: was it cut short?")))?;
        rules.steps[collective as usize] =
            parse_steps(collective, steps).map_err(|step| line(format!("{name}: cannot use \"{step}\"")))?;
    }
    Ok(rules)
}

/// Steps from their texts; the error is the text that is wrong.
fn parse_steps(collective: Collective, texts: &[String]) -> Result<Steps, &String> {
    let mut steps = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let last = i + 1 == texts.len();
        let (name, bytes) = match text.split_once(" up to ") {
            Some((name, bytes)) if !last => (name, bytes.parse().map_err(|_| text)?),
            None if last => (text.as_str(), usize::MAX),
            _ => return Err(text),
        };
        let choice = collective.choice(name).ok_or(text)?;
        if steps.last().is_some_and(|(before, _)| *before >= bytes) {
            return Err(text);
        }
        steps.push((bytes, choice));
    }
    match steps.get(Steps::ROOM) {
        Some(_) => Err(&texts[Steps::ROOM]),
        None => Ok(Steps::new(steps)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::example;
    use super::*;
    use ferroshmem_tuning::{Algorithm, Choice};

    fn error(text: &str) -> String {
        let line = TuningFile::parse(text).unwrap_err().to_string();
        assert!(!line.contains('\n'), "{line}");
        line
    }

    #[test]
    fn is_read_by_people() {
        let text = example().text();
        assert!(text.contains("\nreduce = [\"eager up to 2048\", \"flat:ptr\"]\n"), "{text}");
        assert!(text.contains("\nsigma = 1234.0\n"));
        assert!(text.contains("\n[copies]\nnon_temporal = \"never\"\nshare = \"from 3145728\"\n"), "{text}");
    }

    #[test]
    fn every_cut_is_noticed() {
        let text = example().text();
        let whole = text.trim_end().len();
        for at in 0..whole {
            let cut = TuningFile::parse(&text[..at]);
            assert!(cut.is_err(), "cut at {at} of {whole}: {}", &text[..at]);
        }
        assert!(error(&text[..text.find("[[rules]]").unwrap()]).contains("cut short"));
    }

    #[test]
    fn files_without_sizes_of_copies_are_read() {
        let text = example().text();
        let begin = text.find("[copies]").unwrap();
        let end = text[begin..].find("[[rules]]").unwrap() + begin;
        let without = format!("{}{}", &text[..begin], &text[end..]);
        let file = TuningFile::parse(&without).unwrap();
        assert_eq!(file.copies, CopySizes::NONE);
        assert_eq!(file.rules, example().rules);
    }

    #[test]
    fn damage_is_told() {
        let text = example().text();
        let with = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            error(&text.replace(from, to))
        };
        for (from, to, line) in [
            ("alpha = 98.5", "alpha = -1.0", "alpha = -1 is not a positive number"),
            ("alpha = 98.5", "alpha = nan", "alpha = NaN is not a positive number"),
            ("alpha = 98.5", "alpha = \"x\"", "expected f64"),
            ("alpha = 98.5", "alpha = 1.0\nomega = 1.0", "no parameter \"omega\""),
            ("sigma = 1234.0\n", "", "sigma is missing"),
            ("version = 2", "version = 1", "it has version 1 of the format, this is version 2"),
            ("version = 2", "versio = 2", "it has no version"),
            ("scan = ", "scam = ", "rules for 2 PEs: there is no collective \"scam\""),
            ("\"flat:ptr\"", "\"ring\"", "rules for 2 PEs: reduce: cannot use \"ring\""),
            ("\"flat:ptr\"", "\"flat up to 5\"", "cannot use \"flat up to 5\""),
            ("\"eager up to 2048\", \"flat:ptr\"", "\"eager\", \"flat\"", "cannot use \"eager\""),
            ("pes = [2, 16]", "pes = [2, 17]", "was it cut short?"),
            ("pes = 16", "pes = 0", "rules for 0 PEs: no PEs"),
            ("non_temporal = ", "temporal = ", "there are no copies \"temporal\""),
            ("from 3145728", "from 0", "copies: share: cannot use \"from 0\""),
            ("[parameters]", "[parameters", "line "),
        ] {
            let told = with(from, to);
            assert!(told.contains(line), "{told} for {to}");
        }
        assert!(error("\u{1}").starts_with("it is damaged: line 1: "));
        assert_eq!(error(""), "it is damaged: it has no version");
    }

    #[test]
    fn no_step_means_nothing_measured() {
        let steps = parse_steps(Collective::Scan, &[]).unwrap();
        assert_eq!(steps, Steps::NONE);
        let one = parse_steps(Collective::Scan, std::slice::from_ref(&"pull".to_owned())).unwrap();
        assert_eq!(one.choose(5), Some(Choice::direct(Algorithm::Pull)));
    }

    #[test]
    fn steps_fit_their_room() {
        let texts = |n: usize| -> Vec<String> {
            let names = ["pull", "slices"];
            let last = std::iter::once("pull".to_owned());
            let steps = (1..n).map(|i| format!("{} up to {}", names[i % 2], 100 * i));
            steps.chain(last).collect()
        };
        assert!(parse_steps(Collective::Scan, &texts(Steps::ROOM)).is_ok());
        assert!(parse_steps(Collective::Scan, &texts(Steps::ROOM + 1)).is_err());
    }
}
