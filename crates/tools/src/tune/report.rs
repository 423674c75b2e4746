//! The page of `oshtune --report`: what was measured on a machine, for people who do not have it.

use std::fmt::Write;

use ferroshmem_core::info;
use ferroshmem_tuning::{Collective, Parameter, Parameters};

use super::analysis::{best, sizes, time};
use super::campaign::{JobTimes, Measured};
use super::comparison::Comparison;
use super::copy_sizes;
use super::distance::DistanceTimes;
use super::file::TuningFile;
use super::measure::Pair;
use super::quantity::{bytes_shown, time_shown};
use crate::page::{assemble, escaped};

const TEMPLATE: &str = include_str!("report.html");

/// A page that needs nothing else.
pub(super) struct Page<'a> {
    measured: &'a Measured,
    file: &'a TuningFile,
    body: String,
}

impl<'a> Page<'a> {
    /// The page about `measured`, which made `file`.
    pub(super) fn text(measured: &'a Measured, file: &'a TuningFile) -> String {
        let mut page = Self { measured, file, body: String::new() };
        page.conditions();
        page.distances();
        page.parameters();
        for times in &measured.times {
            page.collectives(times);
        }
        page.preformatted("Large copies, by a PE alone", &copy_sizes::table(&measured.copies, file.copies));
        page.preformatted("Tuning file", &file.text());
        page.preformatted("Machine and library", &info::describe());
        assemble(TEMPLATE, &format!("oshtune: {}", file.machine), "", "").replace("@BODY@", &page.body)
    }

    fn heading(&mut self, title: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escaped(&title));
    }

    /// A table that scrolls by itself, by the keyboard, too. Cells are HTML; the first of a row is its heading.
    fn table(&mut self, caption: &str, columns: &[String], rows: impl IntoIterator<Item = Vec<String>>) {
        let caption = escaped(&caption);
        let _ = write!(self.body, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\">");
        let _ = write!(self.body, "<table><caption>{caption}</caption><tr>");
        for column in columns {
            let _ = write!(self.body, "<th scope=\"col\">{}</th>", escaped(column));
        }
        self.body += "</tr>\n";
        for row in rows {
            let mut cells = row.into_iter();
            let _ = write!(self.body, "<tr><th scope=\"row\">{}</th>", cells.next().unwrap_or_default());
            for cell in cells {
                // A cell may come with attributes of its own.
                let cell = if cell.starts_with("<td") { cell } else { format!("<td>{cell}</td>") };
                self.body += &cell;
            }
            self.body += "</tr>\n";
        }
        self.body += "</table></div>\n";
    }

    fn preformatted(&mut self, title: &str, text: &str) {
        self.heading(title);
        let (label, text) = (escaped(&title), escaped(&text));
        let _ = writeln!(self.body, "<pre tabindex=\"0\" role=\"group\" aria-label=\"{label}\">{text}</pre>");
    }

    fn conditions(&mut self) {
        let quietness = &self.measured.quietness;
        let verdict = match quietness.complaint() {
            Some(complaint) => format!("Do not rely on these figures: {complaint}."),
            None => "The machine was quiet.".to_owned(),
        };
        let _ = writeln!(self.body, "<p><b>{}</b></p>", escaped(&verdict));
        self.preformatted("How quiet the machine was", &quietness.lines().join("\n"));
    }

    fn distances(&mut self) {
        let pairs = &self.measured.pairs;
        self.heading("Between cores");
        let columns =
            ["CPUs are", "pairs", "a flag: median", "least", "greatest", "a line that was just written: median"];
        let rows = DistanceTimes::of(pairs).into_iter().map(|times| {
            let [least, median, greatest] = times.flag.map(time_shown);
            vec![times.distance.to_string(), times.pairs.to_string(), median, least, greatest, time_shown(times.line)]
        });
        self.table("Flags and cache lines by distance", &columns.map(str::to_owned), rows.collect::<Vec<_>>());
        let Some(scale) = Scale::of(pairs) else { return };
        let mut cpus: Vec<usize> = pairs.iter().flat_map(|pair| [pair.cpus.0, pair.cpus.1]).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let columns: Vec<String> =
            [String::from("CPU")].into_iter().chain(cpus.iter().map(ToString::to_string)).collect();
        let cell = |a: usize, b: usize| {
            let is_it = |pair: &&Pair| pair.cpus == (a, b) || pair.cpus == (b, a);
            pairs.iter().find(is_it).map_or_else(String::new, |pair| scale.cell(pair.flag))
        };
        let rows: Vec<Vec<String>> = (cpus.iter())
            .map(|a| [a.to_string()].into_iter().chain(cpus.iter().map(|b| cell(*a, *b))).collect())
            .collect();
        self.table("Nanoseconds of a flag from one CPU to another, the mean of both directions", &columns, rows);
    }

    fn parameters(&mut self) {
        self.heading("Parameters of the cost model");
        let mut measured = self.measured.parameters;
        let mut usual = Parameters::default_for(self.file.machine.cores as usize);
        let rows: Vec<Vec<String>> = (Parameters::TABLE.iter())
            .map(|Parameter { name, unit, meaning, of }| {
                let (value, usual) = (*of(&mut measured), *of(&mut usual));
                vec![
                    (*name).to_owned(),
                    if value == usual { "the same".to_owned() } else { format!("{value:.4}") },
                    format!("{usual:.4}"),
                    (*unit).to_owned(),
                    format!("<td class=\"text\">{}</td>", escaped(meaning)),
                ]
            })
            .collect();
        let columns = ["parameter", "measured", "without a tuning file", "unit", "meaning"];
        self.table("What oshtune measures, and what the library assumes", &columns.map(str::to_owned), rows);
    }

    /// Each collective by each algorithm.
    fn collectives(&mut self, times: &JobTimes) {
        let comparison = Comparison::new(&self.measured.parameters, self.file.machine.cores as usize, times);
        let shape = times.shape;
        let sockets = if shape.sockets > 1 { format!(" on {} sockets", shape.sockets) } else { String::new() };
        self.heading(&format!("Collectives of {} PEs{sockets}", shape.size));
        let _ = writeln!(self.body, "<p>{}</p>", escaped(&comparison.summary()));
        for collective in Collective::ALL {
            let points = times.of(collective);
            let choices = collective.choices();
            let mut columns = vec!["bytes".to_owned()];
            columns.extend(choices.iter().map(ToString::to_string));
            let rows = sizes(&points).into_iter().map(|bytes| {
                let fastest = best(&points, bytes).map(|point| point.choice);
                let expected = comparison.expected(collective, bytes);
                let cells = choices.iter().map(|choice| {
                    let Some(ns) = time(&points, *choice, bytes) else { return "-".to_owned() };
                    let mark = if *choice == expected { " &#9675;" } else { "" };
                    let class = if Some(*choice) == fastest { " class=\"best\"" } else { "" };
                    format!("<td{class}>{}{mark}</td>", escaped(&time_shown(ns)))
                });
                [bytes_shown(bytes)].into_iter().chain(cells).collect()
            });
            self.table(collective.name(), &columns, rows.collect::<Vec<Vec<String>>>());
        }
    }
}

/// Colours of times, by their logarithms.
struct Scale {
    least: f64,
    greatest: f64,
}

impl Scale {
    fn of(pairs: &[Pair]) -> Option<Self> {
        let times = || pairs.iter().map(|pair| pair.flag);
        let (least, greatest) = (times().min_by(f64::total_cmp)?, times().max_by(f64::total_cmp)?);
        Some(Self { least, greatest })
    }

    fn cell(&self, time: f64) -> String {
        let range = (self.greatest / self.least).ln();
        let part = if range > 0.0 { (time / self.least).ln() / range } else { 0.0 };
        format!("<td style=\"--part:{:.0}%\" class=\"heat\">{time:.0}</td>", 50.0 * part)
    }
}

#[cfg(test)]
mod tests {
    use super::super::distance::Distance;
    use super::super::file::tests::example;
    use super::super::measure::Point;
    use super::super::quietness::Quietness;
    use super::*;
    use ferroshmem_tuning::Shape;

    #[test]
    fn shows_what_was_measured() {
        let pair = |cpus, distance, flag| Pair { pes: cpus, cpus, distance, flag, line: 5.0 };
        let point = |choice, time| Point {
            collective: Collective::Barrier,
            choice: Collective::Barrier.choice(choice).unwrap(),
            bytes: 0,
            time,
        };
        let mut file = example();
        file.machine.processor = "A <fast> processor".to_owned();
        let measured = Measured {
            parameters: file.parameters,
            copies: Vec::new(),
            pairs: vec![
                pair((0, 1), Distance::Cache, 50.0),
                pair((0, 8), Distance::Machine, 400.0),
                pair((1, 8), Distance::Machine, 440.0),
            ],
            times: vec![JobTimes {
                shape: Shape { size: 3, sockets: 2, widest: 2 },
                points: vec![point("central", 900.0), point("sockets", 700.0)],
            }],
            quietness: Quietness::new(),
        };
        let page = Page::text(&measured, &file);
        for part in [
            "2 cores of A &lt;fast&gt; processor",
            "<th scope=\"row\">cores of two sockets</th><td>2</td><td>440 ns</td><td>400 ns</td><td>440 ns</td>",
            "<tr><th scope=\"row\">8</th><td style=\"--part:48%\" class=\"heat\">400</td>",
            "Collectives of 3 PEs on 2 sockets",
            "<td class=\"best\">700 ns",
            "The machine was quiet.",
            "socket_alpha",
        ] {
            let part = part.replace("2 cores", &format!("{} cores", file.machine.cores));
            assert!(page.contains(&part), "{part}\n{page}");
        }
        let is_left = ["@STYLE@", "@TITLE@", "@BODY@"].map(|part| page.contains(part));
        assert_eq!(is_left, [false; 3], "a part of the template is left");
    }
}
