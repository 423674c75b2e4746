//! A render farm: a ray tracer whose workers are started when they are needed, and leave when they are not.
//!
//!     cargo build --release --example render-farm
//!     oshrun -n 1 target/release/examples/render-farm --workers 1,4,2
//!
//! README.md beside this file has the options, and explains how it works.

mod compare;
mod farm;
mod geometry;
mod options;
mod scene;
mod terminal;
mod trace;

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::{Duration, Instant};

use ferroshmem::World;

use farm::{Farm, Workers};
use options::{Form, Options};
use terminal::Terminal;
use trace::Pixel;

/// Time between two looks of the parent at what is done: rendering a tile takes longer.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    if let Form::Compare { turns } = options.form {
        return compare::run(&options, turns);
    }
    let world = World::init()?;
    if let Form::Worker { first } = options.form {
        let parents = world.parents().ok_or("--worker is for PEs that a farm has started")?;
        return Ok(farm::serve(&world, &parents, first)?);
    }
    let begin = Instant::now();
    let farm = Farm::new(&world, options.tiles)?;
    let is_parent = world.my_pe().number() == 0;
    let summary = match options.form {
        Form::Fixed => fixed(&world, &farm, &options, begin)?,
        // Other PEs would wait for each other.
        _ if world.n_pes() > 1 => {
            return Err("the farm starts its workers itself: give oshrun -n 1, or --fixed".into());
        }
        _ => growing(&farm, &options, begin)?,
    };
    if is_parent {
        let view = options.tiles.view;
        write_png(&options.output, view.width as u32, view.height as u32, &farm.pixels()?)?;
        println!(
            "render-farm: {} x {} pixels in {} tiles, {summary}: {:.3} s, {}",
            view.width,
            view.height,
            options.tiles.count(),
            begin.elapsed().as_secs_f64(),
            options.output
        );
    }
    world.barrier();
    Ok(())
}

/// All workers are there from the start: the other PEs, or PE 0 if it is alone.
fn fixed(world: &World, farm: &Farm<'_>, options: &Options, begin: Instant) -> Result<String, Box<dyn Error>> {
    let workers = world.n_pes() - 1;
    let tiles = options.tiles.count();
    farm.allow(tiles)?;
    if workers == 0 || world.my_pe().number() > 0 {
        farm.work()?;
    } else {
        let mut terminal = Terminal::new();
        loop {
            let (_, done) = farm.taken_and_done()?;
            if done == tiles {
                break;
            }
            terminal.show((done, tiles), workers, begin);
            std::thread::sleep(LOOK_AGAIN);
        }
    }
    Ok(format!("workers: {}", workers.max(1)))
}

/// Workers come and go, as the schedule says and as keys are pressed.
fn growing(farm: &Farm<'_>, options: &Options, begin: Instant) -> Result<String, Box<dyn Error>> {
    let tiles = options.tiles.count();
    let schedule = &options.workers;
    let mut workers = Workers::none_yet(farm);
    let mut terminal = Terminal::new();
    let mut phase = 0;
    let mut limit = 0;
    loop {
        let (taken, done) = farm.taken_and_done()?;
        if done == tiles {
            break;
        }
        if taken >= limit && phase < schedule.len() {
            // No tile of the next part is begun before there are as many workers as it is to have.
            workers.resize(schedule[phase])?;
            phase += 1;
            limit = tiles * phase / schedule.len();
            farm.allow(limit)?;
        }
        terminal.show((done, tiles), workers.number(), begin);
        let change = terminal.wait(LOOK_AGAIN);
        if change != 0 {
            workers.resize(workers.number().saturating_add_signed(change))?;
        }
        workers.let_go()?;
    }
    let (started, sent_away) = (workers.started, workers.sent_away);
    Ok(format!("workers: {started} started, {sent_away} sent away"))
}

fn write_png(path: &str, width: u32, height: u32, pixels: &[Pixel]) -> Result<(), Box<dyn Error>> {
    let file = File::create(path).map_err(|error| format!("{path}: {error}"))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.as_flattened())?;
    Ok(writer.finish()?)
}
