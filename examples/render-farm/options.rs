//! The command line.

use std::error::Error;
use std::str::FromStr;

use crate::farm::Tiles;
use crate::trace::View;

const USAGE: &str = "options: --workers N,N... (numbers of workers, one after the other), --fixed (the job's other PEs \
    are the \
                     workers), --compare (times both), --turns N, --size WIDTHxHEIGHT, --samples N, --tile PIXELS, \
                     --output FILE";

/// Where workers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// They are started.
    Growing,
    /// They are there from the start.
    Fixed,
    /// Both, by turns, for each number of workers.
    Compare { turns: usize },
    /// This process is one, and of those that were started with it the first is number `first`.
    Worker { first: usize },
}

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) form: Form,
    /// Numbers of workers, one after the other: each for an equal part of the tiles.
    pub(crate) workers: Vec<usize>,
    pub(crate) tiles: Tiles,
    pub(crate) output: String,
}

impl Options {
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let view = View { width: 640, height: 480, samples: 2 };
        let mut this = Self {
            form: Form::Growing,
            workers: vec![2],
            tiles: Tiles { view, size: 32 },
            output: "render-farm.png".to_owned(),
        };
        let mut turns = 5;
        while let Some(option) = args.next() {
            let value = |args: &mut dyn Iterator<Item = String>| {
                args.next().ok_or_else(|| format!("{option} needs a value; {USAGE}"))
            };
            match option.as_str() {
                "--fixed" => this.form = Form::Fixed,
                "--compare" => this.form = Form::Compare { turns },
                "--worker" => {
                    let first = value(&mut args)?.parse()?;
                    this.form = Form::Worker { first };
                }
                "--turns" => turns = number(&value(&mut args)?)?,
                "--workers" => {
                    let list = value(&mut args)?;
                    this.workers = list.split(',').map(number).collect::<Result<_, _>>()?;
                }
                "--size" => {
                    let size = value(&mut args)?;
                    let (width, height) = size.split_once('x').ok_or("--size needs WIDTHxHEIGHT")?;
                    this.tiles.view.width = number(width)?;
                    this.tiles.view.height = number(height)?;
                }
                "--samples" => this.tiles.view.samples = number(&value(&mut args)?)?,
                "--tile" => this.tiles.size = number(&value(&mut args)?)?,
                "--output" => this.output = value(&mut args)?,
                _ => return Err(format!("{option:?} is no option; {USAGE}").into()),
            }
        }
        if let Form::Compare { turns: of_form } = &mut this.form {
            *of_form = turns;
        }
        Ok(this)
    }
}

/// A number of which there must be one at least.
fn number(text: &str) -> Result<usize, Box<dyn Error>> {
    match usize::from_str(text) {
        Ok(n @ 1..=65_536) => Ok(n),
        _ => Err(format!("{text:?} is not a number from 1 to 65536").into()),
    }
}
