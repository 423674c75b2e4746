//! Who renders which tile: what the parent lends, what workers do, and how their number changes.
//!
//! PE 0 of the job that was started first is the parent. It lends the picture, which workers put tiles into, and the
//! counters by which they take tiles. Workers are PEs of other jobs, or in the fixed form the other PEs of this one.

use std::ops::Range;
use std::time::Duration;
use std::{env, thread};

use ferroshmem::{Atomics, Command, Error, Exported, Group, GroupPe, Imported, Pe, Window, World};

use crate::trace::{Pixel, Tracer, View};

/// Most workers that one run starts.
const MOST_WORKERS: usize = 4096;

/// The next tile to take.
const NEXT: usize = 0;
/// Tiles that are in the picture.
const DONE: usize = 1;
/// The first tile that no worker may begin yet.
const LIMIT: usize = 2;

/// The parent's order to a worker, and its answer.
const LEAVE: u32 = 1;
const HAS_LEFT: u32 = 2;

/// The picture's tiles, row by row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tiles {
    pub(crate) view: View,
    /// Width and height of a tile, in pixels.
    pub(crate) size: usize,
}

impl Tiles {
    pub(crate) fn count(&self) -> usize {
        self.in_row() * self.view.height.div_ceil(self.size)
    }

    fn in_row(&self) -> usize {
        self.view.width.div_ceil(self.size)
    }

    /// Columns and rows of a tile; none after the last tile.
    fn area(&self, tile: usize) -> Option<(Range<usize>, Range<usize>)> {
        let (column, row) = (tile % self.in_row(), tile / self.in_row());
        let from = |start: usize, end: usize| start..(start + self.size).min(end);
        let columns = from(column * self.size, self.view.width);
        let rows = from(row * self.size, self.view.height);
        (tile < self.count()).then_some((columns, rows))
    }
}

/// How a worker reaches the parent.
trait Parent {
    fn take_tile(&self) -> Result<usize, Error>;
    fn limit(&self) -> Result<u64, Error>;
    fn put(&self, start: usize, pixels: &[Pixel]) -> Result<(), Error>;
    fn tile_done(&self) -> Result<(), Error>;
    fn must_leave(&self) -> Result<bool, Error>;
}

/// Renders tiles until there are none, or the parent sends this worker away.
fn work(world: &World, parent: &impl Parent, tiles: &Tiles) -> Result<(), Error> {
    const LOOK_AGAIN: Duration = Duration::from_micros(500);

    let tracer = Tracer::new(tiles.view);
    while !parent.must_leave()? {
        let tile = parent.take_tile()?;
        let Some((columns, rows)) = tiles.area(tile) else {
            break;
        };
        while parent.limit()? <= tile as u64 {
            thread::sleep(LOOK_AGAIN);
        }
        for row in rows {
            let pixels: Vec<_> = columns.clone().map(|x| tracer.pixel(x, row)).collect();
            parent.put(row * tiles.view.width + columns.start, &pixels)?;
        }
        world.quiet();
        parent.tile_done()?;
    }
    Ok(())
}

/// The parent as PEs see it that were started for it.
struct Other<'g> {
    pe: GroupPe,
    picture: Imported<'g, Window<'g, Pixel>>,
    counters: Imported<'g, Atomics<'g, u64>>,
    orders: Imported<'g, Atomics<'g, u32>>,
    /// This worker's number.
    worker: usize,
}

impl Parent for Other<'_> {
    fn take_tile(&self) -> Result<usize, Error> {
        Ok(self.counters.fetch_add(self.pe, NEXT, 1)? as usize)
    }

    fn limit(&self) -> Result<u64, Error> {
        self.counters.fetch(self.pe, LIMIT)
    }

    fn put(&self, start: usize, pixels: &[Pixel]) -> Result<(), Error> {
        self.picture.put(self.pe, start, pixels)
    }

    fn tile_done(&self) -> Result<(), Error> {
        self.counters.add(self.pe, DONE, 1)
    }

    fn must_leave(&self) -> Result<bool, Error> {
        Ok(self.orders.fetch(self.pe, self.worker)? == LEAVE)
    }
}

/// Works as one of the PEs that were started for `parents`; the first of them is worker `first`.
pub(crate) fn serve(world: &World, parents: &Group<'_>, first: usize) -> Result<(), Error> {
    let pe = parents.pe(0)?;
    let mut job = [0; 4];
    parents.import::<Window<'_, u64>>("job", job.len())?.get(pe, 0, &mut job)?;
    let [width, height, samples, size] = job.map(|n| n as usize);
    let view = View { width, height, samples };
    let tiles = Tiles { view, size };
    let parent = Other {
        pe,
        picture: parents.import("picture", view.width * view.height)?,
        counters: parents.import("counters", 3)?,
        orders: parents.import("orders", MOST_WORKERS)?,
        worker: first + world.my_pe().number(),
    };
    work(world, &parent, &tiles)?;
    parent.orders.set(pe, parent.worker, HAS_LEFT)
}

/// What the parent lends, on PE 0; the other PEs of its job have the same, unused.
pub(crate) struct Farm<'w> {
    world: &'w World,
    tiles: Tiles,
    pe: Pe,
    picture: Exported<'w, Window<'w, Pixel>>,
    counters: Exported<'w, Atomics<'w, u64>>,
    orders: Exported<'w, Atomics<'w, u32>>,
    /// What workers need to know of the picture.
    _job: Exported<'w, Window<'w, u64>>,
}

impl Parent for Farm<'_> {
    fn take_tile(&self) -> Result<usize, Error> {
        Ok(self.counters.fetch_add(self.pe, NEXT, 1)? as usize)
    }

    fn limit(&self) -> Result<u64, Error> {
        Ok(self.counters.fetch(self.pe, LIMIT)?)
    }

    fn put(&self, start: usize, pixels: &[Pixel]) -> Result<(), Error> {
        Ok(self.picture.put(self.pe, start, pixels)?)
    }

    fn tile_done(&self) -> Result<(), Error> {
        Ok(self.counters.add(self.pe, DONE, 1)?)
    }

    fn must_leave(&self) -> Result<bool, Error> {
        Ok(false)
    }
}

impl<'w> Farm<'w> {
    pub(crate) fn new(world: &'w World, tiles: Tiles) -> Result<Self, Error> {
        let View { width, height, samples } = tiles.view;
        let mut job = world.alloc(4)?;
        job.copy_from_slice(&[width, height, samples, tiles.size].map(|n| n as u64));
        let this = Self {
            world,
            tiles,
            pe: world.pe(0)?,
            picture: world.export("picture", world.alloc(width * height)?.open())?,
            counters: world.export("counters", world.atomics(3)?)?,
            orders: world.export("orders", world.atomics(MOST_WORKERS)?)?,
            _job: world.export("job", job.open())?,
        };
        Ok(this)
    }

    /// Works as a PE of this job.
    pub(crate) fn work(&self) -> Result<(), Error> {
        work(self.world, self, &self.tiles)
    }

    /// Lets workers begin the tiles before this one.
    pub(crate) fn allow(&self, limit: usize) -> Result<(), Error> {
        Ok(self.counters.set(self.pe, LIMIT, limit as u64)?)
    }

    /// Tiles that workers have taken, and that are in the picture.
    pub(crate) fn taken_and_done(&self) -> Result<(usize, usize), Error> {
        let count = |which| self.counters.fetch(self.pe, which);
        Ok((count(NEXT)? as usize, count(DONE)? as usize))
    }

    /// The picture, as far as it is done.
    pub(crate) fn pixels(&self) -> Result<Vec<Pixel>, Error> {
        let mut pixels = vec![[0; 3]; self.picture.len()];
        self.picture.get(self.pe, 0, &mut pixels)?;
        Ok(pixels)
    }
}

/// Workers that were started together.
struct Crew<'w> {
    group: Group<'w>,
    workers: Range<usize>,
}

/// The workers of a farm, whose number changes.
pub(crate) struct Workers<'f, 'w> {
    farm: &'f Farm<'w>,
    crews: Vec<Crew<'w>>,
    /// The numbers of those that are to stay.
    staying: Vec<usize>,
    /// Workers started so far; the next one has this number.
    pub(crate) started: usize,
    /// Workers that were sent away while there were tiles.
    pub(crate) sent_away: usize,
}

impl<'f, 'w> Workers<'f, 'w> {
    pub(crate) fn none_yet(farm: &'f Farm<'w>) -> Self {
        Self { farm, crews: Vec::new(), staying: Vec::new(), started: 0, sent_away: 0 }
    }

    pub(crate) fn number(&self) -> usize {
        self.staying.len()
    }

    /// Starts workers, or sends those away that came last, so that there are `n`.
    pub(crate) fn resize(&mut self, n: usize) -> Result<(), Error> {
        let n = n.clamp(1, MOST_WORKERS);
        while self.staying.len() > n {
            let Some(worker) = self.staying.pop() else {
                break;
            };
            self.farm.orders.set(self.farm.pe, worker, LEAVE)?;
            self.sent_away += 1;
        }
        let new = (n - self.staying.len()).min(MOST_WORKERS - self.started);
        if new == 0 {
            return Ok(());
        }
        let first = self.started;
        let this = env::current_exe().expect("a program that runs has a file");
        let command = Command::new(this).args(["--worker", &first.to_string()]).pes(new).heap_size(32 << 20);
        let group = self.farm.world.spawn(&command)?;
        self.started += new;
        let workers = first..self.started;
        self.staying.extend(workers.clone());
        self.crews.push(Crew { group, workers });
        Ok(())
    }

    /// Ends the groups whose workers have all left.
    pub(crate) fn let_go(&mut self) -> Result<(), Error> {
        let farm = self.farm;
        let has_left = |worker| farm.orders.fetch(farm.pe, worker).map(|o| o == HAS_LEFT);
        for i in (0..self.crews.len()).rev() {
            let left: Result<Vec<_>, _> = self.crews[i].workers.clone().map(has_left).collect();
            if left?.into_iter().all(|has_left| has_left) {
                self.crews.swap_remove(i).group.disconnect();
            }
        }
        Ok(())
    }
}
