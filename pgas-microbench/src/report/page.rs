//! The page: one file without scripts, which needs no other file and no network.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figure::{Figure, Finding};
use super::figures::Missing;
use super::palette::dark_rules;
use super::{Context, RunRecord, draw};

/// The page's text.
///
/// # Errors
/// If a figure cannot be drawn.
pub(super) fn render(context: &Context, figures: &[Figure], missing: &[Missing]) -> Result<String> {
    let drawn = figures
        .iter()
        .map(figure)
        .collect::<Result<Vec<Markup>>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (context.title) }
                style { (PreEscaped(style())) }
            }
            body {
                header {
                    h1 { (context.title) }
                    p.muted { (context.when) ", mode " (context.mode) ", " (total(&context.runs)) }
                    p { "All numbers: " a href="results.csv" { "results.csv" } }
                }
                main {
                    (summary(figures))
                    (notes(&context.notes))
                    (pairs("Machine", &context.machine))
                    (pairs("Libraries", &context.implementations))
                    (failures(&context.runs))
                    h2 { "Figures" }
                    p {
                        "Figures 3 to 17 mirror those of Namashivayam et al., "
                        i { "Native Mode-Based Optimizations of Remote Memory Accesses in "
                            "OpenSHMEM for Intel Xeon Phi" }
                        " (PGAS 2014)."
                    }
                    @for figure in &drawn { (figure) }
                    (left_out(missing))
                    (runs(&context.runs))
                }
            }
        }
    };
    Ok(page.into_string())
}

fn style() -> String {
    let dark = dark_rules("main");
    format!(
        "{}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n",
        include_str!("style.css")
    )
}

/// A table in a box that scrolls; `class` is `findings` for tables that narrow screens show as lists.
fn table(class: &str, head: &[&str], rows: impl IntoIterator<Item = Markup>) -> Markup {
    html! {
        div.scroll { table.(class) {
            @if !head.is_empty() { thead { tr { @for name in head { th { (name) } } } } }
            tbody { @for row in rows { tr { (row) } } }
        } }
    }
}

/// The message of each figure, with its first finding.
fn summary(figures: &[Figure]) -> Markup {
    let row = |figure: &Figure| {
        let first = figure.findings.first();
        let [at, ours, other] = first.map_or([""; 3], |f| [&f.at, &f.ours, &f.other]);
        html! {
            td.value { a href={ "#figure-" (figure.number) } { "Figure " (figure.number) } }
            td { (figure.title) }
            td.value { (at) }
            td.value data-label="FerroSHMEM" { (ours) }
            td data-label="Beside" { (other) }
        }
    };
    let head = ["Figure", "Message", "At", "FerroSHMEM", "Beside"];
    html! {
        h2 { "Summary" }
        @if figures.is_empty() { p { "Nothing was measured." } }
        @else { (table("findings", &head, figures.iter().map(row))) }
    }
}

fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            h2 { "Read this with the numbers" }
            ul { @for note in notes { li { (note) } } }
        }
    }
}

fn pairs(heading: &str, pairs: &[(String, String)]) -> Markup {
    let row = |(name, value): &(String, String)| html! { th scope="row" { (name) } td { (value) } };
    html! {
        @if !pairs.is_empty() {
            h2 { (heading) }
            (table("facts", &[], pairs.iter().map(row)))
        }
    }
}

/// The runs that failed.
fn failures(runs: &[RunRecord]) -> Markup {
    let row = |run: &RunRecord| {
        let why = run.failure.as_ref()?;
        Some(html! { td { (why) } td { code { (run.command) } } })
    };
    let rows: Vec<_> = runs.iter().filter_map(row).collect();
    html! {
        @if !rows.is_empty() {
            h2 { "Failed or skipped" }
            (table("findings", &["Why", "Command"], rows))
        }
    }
}

fn figure(figure: &Figure) -> Result<Markup> {
    let panels = figure
        .panels
        .iter()
        .map(draw::panel)
        .collect::<Result<Vec<String>>>()?;
    let bars = draw::has_bars(figure);
    let legend = figure
        .legend()
        .into_iter()
        .map(|(label, style)| Ok((draw::swatch(style, bars)?, label)))
        .collect::<Result<Vec<_>>>()?;
    Ok(html! {
        section.figure id={ "figure-" (figure.number) } {
            h3 { span.number { "Figure " (figure.number) ". " } (figure.title) }
            figure {
                ul.legend {
                    @for (swatch, label) in legend { li { (PreEscaped(swatch)) span { (label) } } }
                }
                div.panels {
                    @for (panel, svg) in figure.panels.iter().zip(panels) {
                        div role="img" aria-label=(panel.title) { (PreEscaped(svg)) }
                    }
                }
                figcaption {
                    (figure.caption) " "
                    a href={ "figures/" (figure.file_stem()) ".svg" } { "This figure as a file" }
                }
            }
            (findings(&figure.findings))
        }
    })
}

fn findings(findings: &[Finding]) -> Markup {
    /// Rows that are always visible.
    const SEEN: usize = 8;
    let (seen, folded) = findings.split_at(findings.len().min(SEEN));
    html! {
        @if !seen.is_empty() { (findings_table(seen)) }
        @if !folded.is_empty() {
            details {
                summary { (folded.len()) " more" }
                (findings_table(folded))
            }
        }
    }
}

fn findings_table(findings: &[Finding]) -> Markup {
    let row = |finding: &Finding| {
        html! {
            td.value { (finding.at) }
            td.value data-label="FerroSHMEM" { (finding.ours) }
            td data-label="Beside" { (finding.other) }
            td { (finding.words) }
        }
    };
    let head = ["At", "FerroSHMEM", "Beside", "In words"];
    table("findings", &head, findings.iter().map(row))
}

fn left_out(missing: &[Missing]) -> Markup {
    let row = |one: &Missing| html! { td { (one.number) } td { (one.subject) } td { (one.needs) } };
    let head = ["Figure", "Would show", "Rows it needs"];
    html! {
        @if !missing.is_empty() {
            h2 { "Figures left out" }
            p { "There are no rows for them." }
            (table("facts", &head, missing.iter().map(row)))
        }
    }
}

fn runs(runs: &[RunRecord]) -> Markup {
    let row = |run: &RunRecord| {
        html! { td.value { (format!("{:.1}", run.seconds)) } td { code { (run.command) } } }
    };
    html! {
        @if !runs.is_empty() {
            h2 { "How it was run" }
            details {
                summary { (total(runs)) }
                (table("facts", &["Seconds", "Command"], runs.iter().map(row)))
            }
        }
    }
}

/// The number of runs and their total time.
fn total(runs: &[RunRecord]) -> String {
    let seconds: f64 = runs.iter().map(|run| run.seconds).sum();
    let time = if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    };
    match runs.len() {
        1 => format!("1 run, {time}"),
        number => format!("{number} runs, {time}"),
    }
}
