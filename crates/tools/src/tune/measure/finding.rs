//! What a measuring job reports, one line each.

use std::fmt;
use std::str::FromStr;

use ferroshmem_tuning::{Choice, Collective, CopySizes, Shape};

use crate::tune::distance::Distance;

/// The time of one collective by one choice.
#[derive(Debug, Clone, Copy, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CopyPoint {
    /// The other method, as [`CopySizes::TABLE`] names it.
    pub method: &'static str,
    /// Its length.
    pub bytes: u64,
    /// Nanoseconds of a plain copy.
    pub plain: f64,
    /// Nanoseconds by the other method.
    pub other: f64,
}

/// What two PEs on different CPUs exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
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
    Shape(Shape),
    /// So many parts of so many are done.
    Progress(usize, usize),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name, value) => write!(f, "parameter {name} {value}"),
            Self::Time(p) => {
                let collective = p.collective.name();
                write!(f, "time {collective} {} {} {}", p.choice, p.bytes, p.time)
            }
            Self::Copy(p) => write!(f, "copy {} {} {} {}", p.method, p.bytes, p.plain, p.other),
            Self::Pair(p) => {
                let ((a, b), (x, y)) = (p.pes, p.cpus);
                write!(f, "pair {a} {b} {x} {y} {} {} {}", p.distance.name(), p.flag, p.line)
            }
            Self::Shape(shape) => write!(f, "shape {} {} {}", shape.size, shape.sockets, shape.widest),
            Self::Progress(done, all) => write!(f, "progress {done} {all}"),
        }
    }
}

impl FromStr for Finding {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |text: &str| text.parse::<f64>().map_err(drop);
        let count = |text: &str| text.parse::<usize>().map_err(drop);
        match words[..] {
            ["parameter", name, value] => Ok(Self::Parameter(name.to_owned(), number(value)?)),
            ["time", collective, choice, bytes, time] => {
                let collective = Collective::named(collective).ok_or(())?;
                Ok(Self::Time(Point {
                    collective,
                    choice: collective.choice(choice).ok_or(())?,
                    bytes: count(bytes)?,
                    time: number(time)?,
                }))
            }
            ["copy", method, bytes, plain, other] => {
                let known = CopySizes::TABLE.iter().find(|(name, _)| *name == method);
                Ok(Self::Copy(CopyPoint {
                    method: known.ok_or(())?.0,
                    bytes: bytes.parse().map_err(drop)?,
                    plain: number(plain)?,
                    other: number(other)?,
                }))
            }
            ["pair", a, b, x, y, distance, flag, line] => Ok(Self::Pair(Pair {
                pes: (count(a)?, count(b)?),
                cpus: (count(x)?, count(y)?),
                distance: Distance::named(distance).ok_or(())?,
                flag: number(flag)?,
                line: number(line)?,
            })),
            ["shape", size, sockets, widest] => {
                Ok(Self::Shape(Shape { size: count(size)?, sockets: count(sockets)?, widest: count(widest)? }))
            }
            ["progress", done, all] => Ok(Self::Progress(count(done)?, count(all)?)),
            _ => Err(()),
        }
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
            assert_eq!(finding.to_string().parse(), Ok(finding));
        }
        for wrong in ["", "time", "time reduce pull 8 1", "parameter alpha x", "copy slowly 8 1 1", "hello world"] {
            assert_eq!(wrong.parse::<Finding>(), Err(()), "{wrong}");
        }
    }
}
