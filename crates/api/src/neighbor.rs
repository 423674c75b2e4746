//! Graphs of neighbours, and exchanges along their edges (extension). The names are those of MPI's process topologies
//! and neighbourhood collectives.

use std::ffi::{c_int, c_void};
use std::slice;

use ferroshmem_collective::graph::{Edges, Graph, NO_NEIGHBOR, Neighbor};
pub use ferroshmem_collective::nonblocking::strided::Strided;
use ferroshmem_core::constants::GRAPH_INVALID;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::team::Team;
use ferroshmem_runtime::{self as runtime, Runtime};

use super::handles::{give, refuse_team_of_connection};

/// Most dimensions of a grid.
const DIMENSIONS: usize = 8;

/// A list of the caller's.
///
/// # Safety
/// It has `count` entries.
unsafe fn list<'a, T>(name: &str, argument: &str, entries: *const T, count: usize) -> &'a [T] {
    match count {
        0 => &[],
        _ if entries.is_null() => fatal(name, format_args!("{argument} is a null pointer: give {count} entries")),
        // SAFETY: the caller promises that the list has `count` entries.
        _ => unsafe { slice::from_raw_parts(entries, count) },
    }
}

/// The number of entries of a list.
fn length(name: &str, argument: &str, count: c_int) -> usize {
    usize::try_from(count)
        .unwrap_or_else(|_| fatal(name, format_args!("n{argument} = {count} is negative: give the number of entries")))
}

/// Makes a graph of a team.
///
/// # Safety
/// `graph` can be written.
unsafe fn create(
    name: &'static str,
    team: usize,
    graph: *mut usize,
    edges: impl FnOnce(&Runtime, &Team) -> Option<Edges>,
) -> c_int {
    let rt = runtime::get(name);
    let made = rt.teams.find(name, team).and_then(|found| {
        refuse_team_of_connection(name, found);
        Some(rt.collectives.add_graph(team, found.since(), edges(rt, found)?))
    });
    // SAFETY: the caller promises that `graph` can be written.
    unsafe { give(graph, made, GRAPH_INVALID) }
}

/// Makes a graph of lists of neighbours. Collective over the team.
///
/// # Safety
/// The lists have as many entries; `graph` can be written.
pub unsafe fn graph_create(
    name: &'static str,
    team: usize,
    nsources: c_int,
    sources: *const c_int,
    ndests: c_int,
    dests: *const c_int,
    graph: *mut usize,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe {
        let sources = list(name, "sources", sources, length(name, "sources", nsources));
        let dests = list(name, "dests", dests, length(name, "dests", ndests));
        create(name, team, graph, |rt, team| Edges::of_lists(&rt.node, name, team, sources, dests))
    }
}

/// Makes a graph of a grid. Collective over the team.
///
/// # Safety
/// As [`graph_create`].
pub unsafe fn cart_create(
    name: &'static str,
    team: usize,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    graph: *mut usize,
) -> c_int {
    if !(1..=DIMENSIONS as c_int).contains(&ndims) {
        fatal(name, format_args!("ndims = {ndims}: give 1 to {DIMENSIONS}"));
    }
    // SAFETY: the caller's promises.
    let [dims, periods] =
        unsafe { [("dims", dims), ("periods", periods)].map(|(a, l)| list(name, a, l, ndims as usize)) };
    let grid = |rt: &Runtime, team: &Team| {
        let size = team.members.size;
        let product = dims.iter().try_fold(1_usize, |all, dim| all.checked_mul(usize::try_from(*dim).ok()?));
        if product != Some(size) {
            fatal(
                name,
                format_args!("the grid {dims:?} is not of {size} PEs: give dims whose product is the team's size"),
            );
        }
        let group = Group::of_team(&rt.node, name, team);
        let digest = dims.iter().zip(periods).fold(0_u64, |sum, (dim, period)| {
            sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (*dim as u64) << 1 ^ u64::from(*period != 0)
        });
        group.check_matching(&rt.node, &[("ndims", ndims as u64), ("dims and periods", digest)]);
        let dims: Vec<_> = dims.iter().map(|dim| *dim as usize).collect();
        let periods: Vec<_> = periods.iter().map(|period| *period != 0).collect();
        Some(Edges::of_grid(team.index, &dims, &periods))
    };
    // SAFETY: as above.
    unsafe { create(name, team, graph, grid) }
}

/// The graph, and its team.
fn find<'a>(name: &str, rt: &'a Runtime, graph: usize) -> (&'a Team, &'a Graph) {
    if graph == GRAPH_INVALID {
        fatal(name, "the graph is SHMEMX_GRAPH_INVALID: check the result of the routine that makes it");
    }
    let graph = rt.collectives.graph(name, graph);
    let team = rt.teams.find(name, graph.team);
    (team.unwrap_or_else(|| fatal(name, "the graph has no team any more: destroy graphs before their team")), graph)
}

/// The numbers of the neighbours in the team, -1 for none.
///
/// # Safety
/// Each list is null, or has room for all.
pub unsafe fn graph_neighbors(name: &'static str, graph: usize, sources: *mut c_int, dests: *mut c_int) {
    let (_, graph) = find(name, runtime::get(name), graph);
    for (list, to) in [(&graph.edges.sources, sources), (&graph.edges.dests, dests)] {
        let numbers = list.iter().map(|n: &Option<Neighbor>| n.map_or(NO_NEIGHBOR, |n| n.member as c_int));
        for (i, number) in numbers.enumerate().filter(|_| !to.is_null()) {
            // SAFETY: the caller promises that the list has room for all neighbours.
            unsafe { to.add(i).write(number) };
        }
    }
}

/// Ends a graph. Collective over its team; `SHMEMX_GRAPH_INVALID` does nothing.
pub fn graph_destroy(name: &'static str, graph: usize) {
    let rt = runtime::get(name);
    if graph != GRAPH_INVALID {
        let (team, graph) = find(name, rt, graph);
        rt.collectives.destroy_graph(name, &rt.node, team, graph);
    }
}

/// Makes a request that sends the blocks of `source` to all dests, and receives those of all sources in `dest`.
///
/// # Safety
/// The arrays are valid until the request is freed; `request` can be written.
pub unsafe fn alltoall(
    name: &'static str,
    graph: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    request: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let (team, graph) = find(name, rt, graph);
    let blocks = |array: *mut c_void, list: &[Option<Neighbor>]| -> Vec<_> {
        let block = |i: usize| Strided::contiguous(array.cast::<u8>().wrapping_add(i * bytes), bytes);
        (0..list.len()).map(block).collect()
    };
    let (dests, sources) = (blocks(dest, &graph.edges.sources), blocks(source.cast_mut(), &graph.edges.dests));
    // SAFETY: the caller's promises.
    unsafe {
        let made = rt.collectives.init_neighbors(name, &rt.node, (team, graph), (&dests, &sources));
        give(request, made.map(|made| made as usize), 0)
    }
}

/// As [`alltoall`], with an array of its own for each neighbour.
///
/// # Safety
/// As [`alltoall`]; each list has an entry for each neighbour.
pub unsafe fn alltoallw(
    name: &'static str,
    graph: usize,
    dests: *const Strided,
    sources: *const Strided,
    request: *mut usize,
) -> c_int {
    let rt = runtime::get(name);
    let (team, graph) = find(name, rt, graph);
    let edges = &graph.edges;
    // SAFETY: the caller promises that each list has an entry for each neighbour, and the rest.
    unsafe {
        let dests = list(name, "dests", dests, edges.sources.len());
        let sources = list(name, "sources", sources, edges.dests.len());
        let made = rt.collectives.init_neighbors(name, &rt.node, (team, graph), (dests, sources));
        give(request, made.map(|made| made as usize), 0)
    }
}
