//! What a measuring job reports, one line of JSON each.

use ferroshmem_tuning::{Choice, Collective, CopySizes, Shape};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::tune::distance::Distance;

/// The time of one collective by one choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "PointWords", try_from = "PointWords")]
pub(crate) struct Point {
    /// The collective.
    pub collective: Collective,
    /// The choice.
    pub choice: Choice,
    /// Bytes as [`DecisionTable::choose`](ferroshmem_tuning::DecisionTable::choose) counts them.
    pub bytes: usize,
    /// Nanoseconds of a call.
    pub time: f64,
}

/// The times of a copy, made plainly and by another method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct CopyPoint {
    /// The other method, as [`CopySizes::TABLE`] names it.
    #[serde(deserialize_with = "known_method")]
    pub method: Method,
    /// Its length.
    pub bytes: u64,
    /// Nanoseconds of a plain copy.
    pub plain: f64,
    /// Nanoseconds by the other method.
    pub other: f64,
}

/// The name of a method, which is not borrowed from the line.
type Method = &'static str;

fn known_method<'d, D: Deserializer<'d>>(from: D) -> Result<Method, D::Error> {
    let name = String::deserialize(from)?;
    let known = CopySizes::TABLE.iter().find(|(known, _)| *known == name);
    known.map(|(known, _)| *known).ok_or_else(|| D::Error::custom(name))
}

/// What two PEs on different CPUs exchange.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pair {
    /// The PEs.
    pub pes: (usize, usize),
    /// Their CPUs.
    pub cpus: (usize, usize),
    /// How far these are from each other.
    pub distance: Distance,
    /// Nanoseconds of a flag from one to the other.
    pub flag: f64,
    /// Nanoseconds to read a cache line that the other one has just written, of many in a row.
    pub line: f64,
}

/// One thing that was found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Finding {
    /// A parameter of the cost model.
    Parameter(String, f64),
    /// A time.
    Time(Point),
    /// Times of a copy.
    Copy(CopyPoint),
    /// Times between two CPUs.
    Pair(Pair),
    /// How the PEs of the job are spread over sockets.
    Shape(#[serde(with = "ShapeWords")] Shape),
    /// So many parts of so many are done.
    Progress(usize, usize),
}

impl Finding {
    /// Its line.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).expect("numbers and strings are JSON")
    }
}

/// The form of a [`Shape`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Shape")]
struct ShapeWords {
    size: usize,
    sockets: usize,
    widest: usize,
}

/// The form of a [`Point`]: collective, choice, bytes, time.
type PointWords = (String, String, usize, f64);

impl From<Point> for PointWords {
    fn from(point: Point) -> Self {
        (point.collective.name().to_owned(), point.choice.to_string(), point.bytes, point.time)
    }
}

impl TryFrom<PointWords> for Point {
    type Error = String;

    fn try_from((collective, choice, bytes, time): PointWords) -> Result<Self, String> {
        let collective = Collective::named(&collective).ok_or(collective)?;
        let choice = collective.choice(&choice).ok_or(choice)?;
        Ok(Self { collective, choice, bytes, time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        for finding in [
            Finding::Parameter("alpha".to_owned(), 98.25),
            Finding::Time(Point {
                collective: Collective::Reduce,
                choice: Collective::Reduce.choice("rd:putget").unwrap(),
                bytes: 4096,
                time: 1.5e6,
            }),
            Finding::Copy(CopyPoint { method: "offload", bytes: 1 << 20, plain: 1.5e4, other: 300.25 }),
            Finding::Pair(Pair { pes: (0, 3), cpus: (1, 64), distance: Distance::Numa, flag: 98.5, line: 12.25 }),
            Finding::Shape(Shape { size: 16, sockets: 2, widest: 9 }),
            Finding::Progress(3, 17),
        ] {
            let line = finding.line();
            assert_eq!(serde_json::from_str::<Finding>(&line).unwrap(), finding, "{line}");
        }
        let is_read = |line: &str| serde_json::from_str::<Finding>(line).is_ok();
        let time = r#"{"Time":["reduce","rd:ptr",8,1.0]}"#;
        let copy = r#"{"Copy":{"method":"share","bytes":8,"plain":1.0,"other":1.0}}"#;
        assert!(is_read(time) && is_read(copy));
        let parameter = r#"{"Parameter":["alpha","x"]}"#;
        let wrong = ["", r#"{"Time"}"#, &time.replace("rd:ptr", "pull"), parameter, &copy.replace("share", "slowly")];
        assert!(!wrong.iter().any(|line| is_read(line)) && !is_read("hello world"));
    }
}
