//! The page: one file that needs no other, no script and no network.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figure::{Figure, Finding};
use super::figures::Missing;
use super::palette::dark_rules;
use super::{Context, RunRecord, sheet};

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
                    (troubles(&context.runs))
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

/// What each figure says, with its first number.
fn summary(figures: &[Figure]) -> Markup {
    html! {
        h2 { "Summary" }
        @if figures.is_empty() { p { "Nothing was measured." } }
        @else {
            div.scroll { table.findings {
                thead { tr { th { "Figure" } th { "Message" } th { "At" } th { "FerroSHMEM" } th { "Beside" } } }
                tbody {
                    @for figure in figures {
                        tr {
                            td.value { a href={ "#figure-" (figure.number) } { "Figure " (figure.number) } }
                            td { (figure.title) }
                            @let first = figure.findings.first();
                            td.value { (first.map_or("", |f| f.at.as_str())) }
                            td.value data-label="FerroSHMEM" { (first.map_or("", |f| f.ours.as_str())) }
                            td data-label="Beside" { (first.map_or("", |f| f.other.as_str())) }
                        }
                    }
                }
            } }
        }
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
    html! {
        @if !pairs.is_empty() {
            h2 { (heading) }
            div.scroll { table { tbody {
                @for (name, value) in pairs { tr { th scope="row" { (name) } td { (value) } } }
            } }
            }
        }
    }
}

/// Runs that did not go well.
fn troubles(all: &[RunRecord]) -> Markup {
    let troubled = all
        .iter()
        .filter_map(|run| Some((run, run.failure.as_ref()?)));
    let troubled: Vec<_> = troubled.collect();
    html! {
        @if !troubled.is_empty() {
            h2 { "Failed or skipped" }
            div.scroll { table.findings {
                thead { tr { th { "Why" } th { "Command" } } }
                tbody {
                    @for (run, why) in troubled { tr { td { (why) } td { code { (run.command) } } } }
                }
            } }
        }
    }
}

fn figure(figure: &Figure) -> Result<Markup> {
    let panels = figure
        .panels
        .iter()
        .map(sheet::panel)
        .collect::<Result<Vec<String>>>()?;
    let bars = sheet::has_bars(figure);
    let legend = figure
        .legend()
        .into_iter()
        .map(|series| Ok((sheet::swatch(series, bars)?, series.label.as_str())))
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
    /// Rows that are always seen.
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
    html! {
        div.scroll { table.findings {
            thead { tr { th { "At" } th { "FerroSHMEM" } th { "Beside" } th { "In words" } } }
            tbody {
                @for finding in findings {
                    tr {
                        td.value { (finding.at) }
                        td.value data-label="FerroSHMEM" { (finding.ours) }
                        td data-label="Beside" { (finding.other) }
                        td { (finding.words) }
                    }
                }
            }
        } }
    }
}

fn left_out(missing: &[Missing]) -> Markup {
    html! {
        @if !missing.is_empty() {
            h2 { "Figures left out" }
            p { "There are no rows for them." }
            div.scroll { table {
                thead { tr { th { "Figure" } th { "Would show" } th { "Rows it needs" } } }
                tbody {
                    @for one in missing {
                        tr { td { (one.number) } td { (one.subject) } td { (one.needs) } }
                    }
                }
            } }
        }
    }
}

fn runs(runs: &[RunRecord]) -> Markup {
    html! {
        @if !runs.is_empty() {
            h2 { "How it was run" }
            details {
                summary { (total(runs)) }
                div.scroll { table {
                    thead { tr { th { "Seconds" } th { "Command" } } }
                    tbody {
                        @for run in runs {
                            tr { td.value { (format!("{:.1}", run.seconds)) } td { code { (run.command) } } }
                        }
                    }
                } }
            }
        }
    }
}

/// How many runs there were and how long they took.
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
