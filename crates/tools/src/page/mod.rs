//! What the pages of a profile and of a trace have in common: one style, one script, and no other file.

const STYLE: &str = include_str!("style.css");
const SHARED: &str = include_str!("shared.js");

/// Text of a page: the parts of a template, and data that no tag in it can end.
pub(crate) fn assemble(template: &str, title: &str, data: &str, script: &str) -> String {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let script = format!("{SHARED}{script}");
    template
        .replace("@STYLE@", STYLE)
        .replace("@TITLE@", &title)
        .replace("@SCRIPT@", &script)
        .replace("@DATA@", &data.replace('<', "\\u003c"))
}
