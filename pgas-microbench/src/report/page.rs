//! The page: one file without scripts, which needs no other file and no network.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figure::{Figure, Finding};
use super::figures::Missing;
use super::palette::dark_rules;
use super::{Conditions, Context, RunRecord, draw, overview};

/// The page's text.
///
/// # Errors
/// If a figure cannot be drawn.
pub(super) fn render(context: &Context, figures: &[Figure], missing: &[Missing]) -> Result<String> {
    let drawn = figures.iter().map(figure).collect::<Result<Vec<Markup>>>()?;
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
                    (first(figures))
                    (notes(context))
                    (disturbed(&context.runs))
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
    format!("{}@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n", include_str!("style.css"))
}

/// A table in a box that scrolls; `class` is `findings` for tables that narrow screens show as lists.
fn table(class: &str, head: &[&str], rows: impl IntoIterator<Item = Markup>) -> Markup {
    let label = if head.is_empty() { "properties".to_owned() } else { head.join(", ") };
    html! {
        div.scroll tabindex="0" role="group" aria-label=(label) { table.(class) {
            @if !head.is_empty() { thead { tr { @for name in head { th { (name) } } } } }
            tbody { @for row in rows { tr { (row) } } }
        } }
    }
}

/// The picture of all figures, and their messages behind it.
fn first(figures: &[Figure]) -> Markup {
    let link = |figure: &Figure| format!("#figure-{}", figure.number);
    let row = |figure: &Figure| {
        html! {
            td.value { a href=(link(figure)) { "Figure " (figure.number) } }
            td { (figure.title) }
        }
    };
    html! {
        @if figures.is_empty() { p { "Nothing was measured." } }
        @if let Some(picture) = overview::picture(figures, link) {
            figure.first {
                @if let Some(verdict) = overview::verdict(figures) { p.verdict { (verdict) } }
                div.scroll tabindex="0" role="group" aria-label="overview" { (picture) }
                figcaption { (overview::caption(figures)) }
            }
        }
        @if !figures.is_empty() {
            details {
                summary { "The same in words" }
                (table("findings", &["Figure", "Message"], figures.iter().map(row)))
            }
        }
    }
}

fn notes(context: &Context) -> Markup {
    let mut notes = context.notes.clone();
    notes.extend(quietness(&context.runs));
    html! {
        @if !notes.is_empty() {
            h2 { "Read this with the numbers" }
            ul { @for note in &notes { li { (note) } } }
        }
    }
}

/// How many runs were disturbed; none where the machine was not watched.
fn quietness(runs: &[RunRecord]) -> Option<String> {
    let watched: Vec<_> = runs.iter().filter_map(|run| run.conditions.as_ref()).collect();
    let disturbed = watched.iter().filter(|it| it.disturbed.is_some()).count();
    let all = watched.len();
    let were = if disturbed == 1 { "was" } else { "were" };
    let words = match disturbed {
        _ if watched.is_empty() => return None,
        0 => format!("No run of {all} was disturbed."),
        _ => format!(
            "Of {all} runs, {disturbed} {were} disturbed, also when they were repeated: their times are too long, \
             and ratios with them are wrong. Measure again on a quiet machine."
        ),
    };
    let load = watched.iter().map(|it| it.load).fold(0.0, f64::max);
    let slowest = watched.iter().map(|it| it.clock).fold(1.0, f64::min);
    Some(format!(
        "{words} The load average reached {load:.1}; the processor ran at {:.0} to 100 % of its highest speed.",
        100.0 * slowest
    ))
}

/// The runs that were disturbed.
fn disturbed(runs: &[RunRecord]) -> Markup {
    let row = |run: &RunRecord| {
        let why = run.conditions.as_ref()?.disturbed.as_ref()?;
        Some(html! { td { (why) } td { code { (run.command) } } })
    };
    let rows: Vec<_> = runs.iter().filter_map(row).collect();
    html! {
        @if !rows.is_empty() {
            h2 { "Disturbed" }
            p {
                "A run is disturbed if other processes took more than 5 % of the cores' time, or the hypervisor "
                "more than 2 %, or threads waited for a core for more than 10 % of it although there was one for "
                "each PE, or fixed work took 1.1 times as long as at the best moment."
            }
            details {
                summary { (count(rows.len(), "run")) }
                (table("findings", &["Why", "Command"], rows))
            }
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
    let panels = figure.panels.iter().map(draw::panel).collect::<Result<Vec<String>>>()?;
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
    let head = ["At", "FerroSHMEM (median)", "Beside (median)", "Ratio of the medians (range of the samples)"];
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
        let part = |value: fn(&Conditions) -> f64| {
            let value = run.conditions.as_ref().map(value);
            value.map_or_else(String::new, |value| format!("{value:.1}"))
        };
        html! {
            td.value { (format!("{:.1}", run.seconds)) }
            td.value { (part(|it| it.others)) }
            td.value { (part(|it| it.steal)) }
            td.value { (part(|it| 100.0 * it.clock)) }
            td.value { (part(|it| it.load)) }
            td { code { (run.command) } }
        }
    };
    let head = ["Seconds", "Others %", "Steal %", "Clock %", "Load", "Command"];
    html! {
        @if !runs.is_empty() {
            h2 { "How it was run" }
            details {
                summary { (total(runs)) }
                (table("facts", &head, runs.iter().map(row)))
            }
        }
    }
}

/// The number of runs and their total time.
fn total(runs: &[RunRecord]) -> String {
    // A sum of nothing is -0.
    let seconds = runs.iter().map(|run| run.seconds).fold(0.0, |sum, seconds| sum + seconds);
    let time = if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) };
    format!("{}, {time}", count(runs.len(), "run"))
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
