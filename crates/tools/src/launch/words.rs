//! The words of a command line: options of `oshrun`, those of other launchers, and the program's own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::CommandFactory;
use ferroshmem_config as config;

use super::compatibility::{self, Foreign};
use super::failure::Failure;

/// Divides a section into its options, in the form that clap reads (a name first, long
/// options with two dashes, none of other launchers), and the command that they precede. Clap could find the
/// end of the options itself, but would take `-np 4` for `-n p`.
pub(super) fn divide<P: CommandFactory>(group: &[OsString]) -> Result<(Vec<OsString>, &[OsString]), Failure> {
    let mut parser = P::command();
    // With clap's own, of help and version.
    parser.build();
    let mut options = vec![OsString::from("oshrun")];
    let mut i = 0;
    while let Some(token) = group.get(i) {
        let bytes = token.as_bytes();
        if bytes == b"--" {
            return Ok((options, &group[i + 1..]));
        }
        if bytes.len() < 2 || bytes[0] != b'-' {
            break;
        }
        i += 1;
        let (name, attached) = compatibility::parts(bytes);
        let mut values = Vec::from_iter(attached);
        let mut take = |n: usize| {
            while values.len() < n
                && let Some(value) = group.get(i)
            {
                values.push(value.clone());
                i += 1;
            }
            std::mem::take(&mut values)
        };
        if let Some(long) = long(&parser, name) {
            let mut option = OsString::from_vec([b"--", name].concat());
            let takes_value = usize::from(long.get_action().takes_values());
            // A value that may be left out is in one word with its option.
            let may_lack = long.get_num_args().is_some_and(|n| n.min_values() == 0);
            let mut others = Vec::new();
            if let Some(given) = take(if may_lack { 0 } else { takes_value }).first() {
                let (value, more) = compatibility::value_of(name, given)?;
                others = more;
                let Some(value) = value else {
                    options.extend(others);
                    continue;
                };
                // In one word with its option, so that it may begin with a dash.
                option.push("=");
                option.push(value);
            }
            options.push(option);
            options.extend(others);
            continue;
        }
        let foreign = Foreign::find(name);
        match short(&parser, bytes) {
            // A whole name goes before a letter with its value.
            Some(short) if !matches!(foreign, Some((_, None))) => {
                options.push(token.clone());
                if bytes.len() == 2 && short.get_action().takes_values() {
                    options.extend(take(1));
                }
            }
            _ => match foreign {
                Some((foreign, digits)) => {
                    let mut given = Vec::from_iter(digits.map(|d| OsStr::from_bytes(d).into()));
                    given.extend(take(foreign.values.saturating_sub(given.len())));
                    options.extend(foreign.translate(token, &given)?);
                }
                None => options.push(token.clone()),
            },
        }
    }
    Ok((options, &group[i..]))
}

/// The long option of this name.
pub(super) fn long<'a>(parser: &'a clap::Command, name: &[u8]) -> Option<&'a clap::Arg> {
    parser.get_arguments().find(|a| {
        let aliases = a.get_all_aliases().into_iter().flatten();
        let mut names = a.get_long().into_iter().chain(aliases);
        names.any(|n| n.as_bytes() == name)
    })
}

/// The option of one letter that a word begins with.
fn short<'a>(parser: &'a clap::Command, token: &[u8]) -> Option<&'a clap::Arg> {
    let letter = Some(char::from(token[1]));
    parser.get_arguments().find(|a| a.get_short() == letter)
}

/// `VAR=VALUE` is to be set; `VAR` is inherited, if it is there: with its value, for launchers
/// that hand no environment on.
pub(super) fn variable(text: &OsStr) -> Result<(OsString, OsString), Failure> {
    let bytes = text.as_bytes();
    let name_end = bytes.iter().position(|b| *b == b'=').unwrap_or(bytes.len());
    let name = OsStr::from_bytes(&bytes[..name_end]);
    if name.is_empty() {
        let text = text.to_string_lossy();
        return Err(Failure::usage(format!("-x \"{text}\" names no variable")));
    }
    let given = bytes.get(name_end + 1..).map(OsStr::from_bytes);
    let value = given.map_or_else(|| config::inherited(name), |v| Some(v.to_owned()));
    value.map(|value| (name.to_owned(), value)).ok_or_else(|| {
        let name = name.to_string_lossy();
        Failure::usage(format!("-x {name}: the variable is not set; give -x {name}=VALUE"))
    })
}
