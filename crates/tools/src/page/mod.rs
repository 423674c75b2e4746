//! What the pages of commands have in common: one style, one script, and no other file.

use std::fmt::Display;

const STYLE: &str = include_str!("style.css");
const SHARED: &str = include_str!("shared.js");

/// Text for HTML.
pub(crate) fn escaped(text: &dyn Display) -> String {
    text.to_string().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text of a page: the parts of a template, and data that no tag in it can end.
pub(crate) fn assemble(template: &str, title: &str, data: &str, script: &str) -> String {
    let script = format!("{SHARED}{script}");
    // The title may be a command with words like the template's.
    let title = escaped(&title).replace('@', "&#64;");
    template
        .replace("@STYLE@", STYLE)
        .replace("@TITLE@", &title)
        .replace("@SCRIPT@", &script)
        .replace("@DATA@", &data.replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_text_whatever_it_has() {
        let page = assemble("<title>@TITLE@</title>@DATA@", "solve </title> @DATA@", "[\"@TITLE@</script>\"]", "");
        assert_eq!(page, "<title>solve &lt;/title&gt; &#64;DATA&#64;</title>[\"@TITLE@\\u003c/script>\"]");
    }
}
