//! What the parameters of the C API stand for: one row for each function of the runtime that exported
//! functions call, one role for each parameter. The checks of `SHMEM_CHECK=1` and the test that passes
//! every argument wrongly are generated from them.

use crate::family::Family;

/// How many bytes a call accesses at an address, by the names of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One element of the routine's type.
    One,
    /// So many elements.
    Elements(&'static str),
    /// So many elements for each member of the team or active set.
    PerMember(&'static str),
    /// Stride, and number of elements.
    Strided(&'static str, &'static str),
    /// Stride, elements in a block, and number of blocks.
    Blocks(&'static str, &'static str, &'static str),
    /// Stride, and number of elements for each member.
    StridedPerMember(&'static str, &'static str),
    /// One element of so many bytes, whatever the routine's type.
    Bytes(usize),
    /// So many elements of so many bytes.
    ElementsOf(usize, &'static str),
    /// The work array of a reduction of so many elements.
    Work(&'static str),
}

/// What a parameter stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Any value is right.
    Value,
    /// A context.
    Context,
    /// A context; on `SHMEM_CTX_INVALID` the routine does nothing.
    ContextOrInvalid,
    /// A context that is destroyed: not the default context; invalid does nothing.
    OwnContext,
    /// A PE of the context, or of the job if the routine takes none.
    Pe,
    /// A PE of the team.
    TeamPe,
    /// A team; the routine returns an error for `SHMEM_TEAM_INVALID`.
    TeamOrInvalid,
    /// A team of a collective call.
    Team,
    /// A team that is destroyed: not a predefined one.
    OwnTeam,
    /// A symmetric address, at a multiple of the alignment of the elements.
    Symmetric(Extent),
    /// A symmetric address of which untyped routines ask no alignment of (collectives' arrays too are
    /// compared between PEs).
    Array(Extent),
    /// Memory that is read.
    Read(Extent),
    /// Memory that is read; null leaves all in.
    OptionalRead(Extent),
    /// Memory that is written.
    Write(Extent),
    /// A result that the library writes at an aligned address.
    Result(Extent),
    /// A result that is written also before the library is initialised: the routine looks at it.
    AnyTimeResult,
    /// A number of elements, `size_t`.
    Count,
    /// A number of elements, `int`.
    IntCount,
    /// A stride of local memory.
    Stride,
    /// A stride of symmetric memory: not 0.
    SymmetricStride,
    /// A stride of a collective: 1 or more.
    PositiveStride,
    /// A root of a collective.
    Root,
    /// First PE of an active set; log2 of its stride; its number of PEs.
    Start,
    /// See [`Start`](Self::Start).
    LogStride,
    /// See [`Start`](Self::Start).
    Size,
    /// One of `SHMEM_CMP_*`.
    Comparison,
    /// One of `SHMEM_SIGNAL_*`.
    SignalOperation,
    /// A configuration that may be null if the mask, a parameter, is 0.
    Configuration(&'static str),
    /// A start of a block of the heap, or null.
    Block,
    /// A symmetric space.
    Space,
    /// A symmetric space, or `SHMEMX_SPACE_INVALID`, with which the routine does nothing.
    SpaceOrInvalid,
    /// A start of a block of the space, or null.
    SpaceBlock,
    /// A group of PEs of another job, or `SHMEMX_GROUP_INVALID`, with which the routine does nothing.
    GroupOrInvalid,
    /// An alignment.
    Alignment,
    /// PE numbers, so many.
    Pes(&'static str),
}

use Extent::{Blocks, Bytes, Elements, ElementsOf, One, PerMember, Strided, StridedPerMember, Work};
use Role::{
    Alignment, AnyTimeResult, Array, Block, Comparison, Configuration, Context, ContextOrInvalid, Count,
    GroupOrInvalid, IntCount, LogStride, OptionalRead, OwnContext, OwnTeam, Pe, Pes, PositiveStride, Read, Result,
    Root, SignalOperation, Size, Space, SpaceBlock, SpaceOrInvalid, Start, Stride, Symmetric, SymmetricStride, Team,
    TeamOrInvalid, TeamPe, Value, Write,
};

/// A parameter and its role.
type Parameter = (&'static str, Role);
/// Functions of the runtime, and the roles of their parameters but for the context: names of neighbours that have one
/// role are together.
type Row = (&'static [&'static str], &'static [Parameter]);

const N: Extent = Elements("nelems");
const SYNC: Role = Symmetric(Bytes(32 * 8));
const INTS: Extent = ElementsOf(4, "nelems");
const SIZES: Extent = ElementsOf(8, "nelems");
const WORD: Extent = Bytes(8);
const HALF: Extent = Bytes(4);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (&["rma::put", "rma::put_nbi", "rma::put_nb"],
     &[("dest", Symmetric(N)), ("source", Read(N)), ("nelems", Count), ("pe", Pe), ("request", Result(WORD))]),
    (&["rma::get", "rma::get_nbi", "rma::get_nb"],
     &[("dest", Write(N)), ("source", Symmetric(N)), ("nelems", Count), ("pe", Pe), ("request", Result(WORD))]),
    (&["rma::p"], &[("dest", Symmetric(One)), ("value", Value), ("pe", Pe)]),
    (&["rma::g"], &[("source", Symmetric(One)), ("pe", Pe)]),
    (&["rma::iput"],
     &[("dest", Symmetric(Strided("dst", "nelems"))), ("source", Read(Strided("sst", "nelems"))),
       ("dst", SymmetricStride), ("sst", Stride), ("nelems", Count), ("pe", Pe)]),
    (&["rma::iget"],
     &[("dest", Write(Strided("dst", "nelems"))), ("source", Symmetric(Strided("sst", "nelems"))),
       ("dst", Stride), ("sst", SymmetricStride), ("nelems", Count), ("pe", Pe)]),
    (&["rma::ibput"],
     &[("dest", Symmetric(Blocks("dst", "bsize", "nblocks"))), ("source", Read(Blocks("sst", "bsize", "nblocks"))),
       ("dst", SymmetricStride), ("sst", Stride), ("bsize", Count), ("nblocks", Count), ("pe", Pe)]),
    (&["rma::ibget"],
     &[("dest", Write(Blocks("dst", "bsize", "nblocks"))), ("source", Symmetric(Blocks("sst", "bsize", "nblocks"))),
       ("dst", Stride), ("sst", SymmetricStride), ("bsize", Count), ("nblocks", Count), ("pe", Pe)]),
    (&["amo::fetch"], &[("source", Symmetric(One)), ("pe", Pe)]),
    (&["amo::inc", "amo::fetch_inc"], &[("dest", Symmetric(One)), ("pe", Pe)]),
    (&["amo::set", "amo::swap", "amo::add", "amo::and", "amo::or", "amo::xor",
       "amo::fetch_add", "amo::fetch_and", "amo::fetch_or", "amo::fetch_xor"],
     &[("dest", Symmetric(One)), ("value", Value), ("pe", Pe)]),
    (&["amo::compare_swap"], &[("dest", Symmetric(One)), ("cond, value", Value), ("pe", Pe)]),
    (&["amo::fetch_nbi"], &[("fetch", Result(One)), ("source", Symmetric(One)), ("pe", Pe)]),
    (&["amo::fetch_inc_nbi"], &[("fetch", Result(One)), ("dest", Symmetric(One)), ("pe", Pe)]),
    (&["amo::swap_nbi", "amo::fetch_add_nbi", "amo::fetch_and_nbi", "amo::fetch_or_nbi", "amo::fetch_xor_nbi"],
     &[("fetch", Result(One)), ("dest", Symmetric(One)), ("value", Value), ("pe", Pe)]),
    (&["amo::compare_swap_nbi"],
     &[("fetch", Result(One)), ("dest", Symmetric(One)), ("cond, value", Value), ("pe", Pe)]),
    (&["amo::fetch_op_nb"],
     &[("fetch", Result(HALF)), ("dest", Symmetric(HALF)), ("value, cond, datatype, op", Value), ("pe", Pe),
       ("request", Result(WORD))]),
    (&["signal::put_signal", "signal::put_signal_nbi"],
     &[("dest", Symmetric(N)), ("source", Read(N)), ("nelems", Count), ("sig_addr", Symmetric(WORD)),
       ("signal", Value), ("sig_op", SignalOperation), ("pe", Pe)]),
    (&["signal::get_signal", "signal::get_signal_nb"],
     &[("dest", Write(N)), ("source", Symmetric(N)), ("nelems", Count), ("sig_addr", Symmetric(WORD)),
       ("signal", Value), ("sig_op", SignalOperation), ("pe", Pe), ("request", Result(WORD))]),
    (&["amo::fetch_op_signal"],
     &[("fetch", Result(HALF)), ("dest", Symmetric(HALF)), ("value, cond, datatype, op", Value),
       ("sig_addr", Symmetric(WORD)), ("signal", Value), ("sig_op", SignalOperation), ("pe", Pe)]),
    (&["context::quiet_nb"], &[("request", Result(WORD))]),
    (&["signal::signal_set", "signal::signal_add"],
     &[("sig_addr", Symmetric(WORD)), ("signal", Value), ("pe", Pe)]),
    (&["signal::signal_fetch"], &[("sig_addr", Symmetric(WORD))]),
    (&["signal::signal_wait_until"],
     &[("sig_addr", Symmetric(WORD)), ("cmp", Comparison), ("cmp_value", Value)]),
    (&["p2p::wait_while"], &[("ivar", Symmetric(One)), ("cmp_value", Value)]),
    (&["p2p::wait_until", "p2p::test"],
     &[("ivar", Symmetric(One)), ("cmp", Comparison), ("cmp_value", Value)]),
    (&["p2p::wait_until_all", "p2p::wait_until_any", "p2p::test_all", "p2p::test_any"],
     &[("ivars", Symmetric(N)), ("nelems", Count), ("status", OptionalRead(INTS)), ("cmp", Comparison),
       ("cmp_value", Value)]),
    (&["p2p::wait_until_some", "p2p::test_some"],
     &[("ivars", Symmetric(N)), ("nelems", Count), ("indices", Result(SIZES)), ("status", OptionalRead(INTS)),
       ("cmp", Comparison), ("cmp_value", Value)]),
    (&["p2p::wait_until_all_vector", "p2p::wait_until_any_vector", "p2p::test_all_vector", "p2p::test_any_vector"],
     &[("ivars", Symmetric(N)), ("nelems", Count), ("status", OptionalRead(INTS)), ("cmp", Comparison),
       ("cmp_values", Read(N))]),
    (&["p2p::wait_until_some_vector", "p2p::test_some_vector"],
     &[("ivars", Symmetric(N)), ("nelems", Count), ("indices", Result(SIZES)), ("status", OptionalRead(INTS)),
       ("cmp", Comparison), ("cmp_values", Read(N))]),
    (&["collective::sync"], &[("team", Team)]),
    (&["collective::broadcast", "nonblocking::broadcast"],
     &[("team", Team), ("dest", Array(N)), ("source", Array(N)), ("nelems", Count), ("PE_root", Root),
       ("request", Result(WORD))]),
    (&["collective::collect", "nonblocking::collect"],
     &[("team", Team), ("dest", Array(N)), ("source", Array(N)), ("nelems", Count), ("request", Result(WORD))]),
    (&["collective::fcollect", "nonblocking::fcollect"],
     &[("team", Team), ("dest", Array(PerMember("nelems"))), ("source", Array(N)), ("nelems", Count),
       ("request", Result(WORD))]),
    (&["collective::alltoall", "nonblocking::alltoall"],
     &[("team", Team), ("dest", Array(PerMember("nelems"))), ("source", Array(PerMember("nelems"))),
       ("nelems", Count), ("request", Result(WORD))]),
    (&["collective::alltoalls", "nonblocking::alltoalls"],
     &[("team", Team), ("dest", Array(StridedPerMember("dst", "nelems"))),
       ("source", Array(StridedPerMember("sst", "nelems"))),
       ("dst", PositiveStride), ("sst", PositiveStride), ("nelems", Count), ("request", Result(WORD))]),
    (&["collective::reduce"],
     &[("team", Team), ("dest", Array(Elements("nreduce"))), ("source", Array(Elements("nreduce"))),
       ("nreduce", Count)]),
    (&["collective::scan"],
     &[("team", Team), ("dest", Array(N)), ("source", Array(N)), ("nelems", Count)]),
    (&["collective::gather", "nonblocking::gather"],
     &[("team", Team), ("dest", Array(PerMember("nelems"))), ("source", Array(N)), ("nelems", Count),
       ("PE_root", Root), ("request", Result(WORD))]),
    (&["collective::scatter", "nonblocking::scatter"],
     &[("team", Team), ("dest", Array(N)), ("source", Array(PerMember("nelems"))), ("nelems", Count),
       ("PE_root", Root), ("request", Result(WORD))]),
    (&["collective::gatherv", "nonblocking::gatherv"],
     &[("team", Team), ("dest", Array(N)), ("source", Array(N)), ("displs", Symmetric(WORD)), ("nelems", Count),
       ("size", Value), ("PE_root", Root), ("request", Result(WORD))]),
    (&["collective::alltoallv", "nonblocking::alltoallv"],
     &[("team", Team), ("dest", Array(One)), ("dest_displs", Symmetric(WORD)), ("source", Array(One)),
       ("source_displs", Read(WORD)), ("counts", Read(WORD)), ("size", Value), ("request", Result(WORD))]),
    (&["active::barrier", "active::sync"],
     &[("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size), ("pSync", SYNC)]),
    (&["active::broadcast"],
     &[("dest", Array(N)), ("source", Array(N)), ("nelems", Count), ("PE_root", Root),
       ("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size), ("pSync", SYNC)]),
    (&["active::collect"],
     &[("dest", Array(N)), ("source", Array(N)), ("nelems", Count),
       ("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size), ("pSync", SYNC)]),
    (&["active::fcollect"],
     &[("dest", Array(PerMember("nelems"))), ("source", Array(N)), ("nelems", Count),
       ("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size), ("pSync", SYNC)]),
    (&["active::alltoall"],
     &[("dest", Array(PerMember("nelems"))), ("source", Array(PerMember("nelems"))), ("nelems", Count),
       ("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size), ("pSync", SYNC)]),
    (&["active::alltoalls"],
     &[("dest", Array(StridedPerMember("dst", "nelems"))), ("source", Array(StridedPerMember("sst", "nelems"))),
       ("dst", PositiveStride), ("sst", PositiveStride), ("nelems", Count),
       ("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size), ("pSync", SYNC)]),
    (&["active::reduce"],
     &[("dest", Array(Elements("nreduce"))), ("source", Array(Elements("nreduce"))), ("nreduce", IntCount),
       ("PE_start", Start), ("logPE_stride", LogStride), ("PE_size", Size),
       ("pWrk", Symmetric(Work("nreduce"))), ("pSync", SYNC)]),
    (&["lock::set", "lock::clear", "lock::test"], &[("lock", Symmetric(WORD))]),
    (&["context::fence", "context::quiet"], &[]),
    (&["context::pe_quiet"], &[("target_pes", Pes("npes")), ("npes", Count)]),
    (&["context::create"], &[("options", Value), ("ctx", Result(WORD))]),
    (&["context::destroy"], &[("ctx", OwnContext)]),
    (&["context::get_team"], &[("ctx", ContextOrInvalid), ("team", Result(WORD))]),
    (&["context::session_start"],
     &[("ctx", ContextOrInvalid), ("options", Value), ("config", Configuration("config_mask")),
       ("config_mask", Value)]),
    (&["context::session_stop"], &[("ctx", ContextOrInvalid)]),
    (&["team::my_pe", "team::n_pes"], &[("team", TeamOrInvalid)]),
    (&["team::get_config"],
     &[("team", TeamOrInvalid), ("config_mask", Value), ("config", Configuration("config_mask"))]),
    (&["team::translate_pe"],
     &[("src_team", TeamOrInvalid), ("src_pe", Value), ("dest_team", TeamOrInvalid)]),
    (&["team::split_strided"],
     &[("parent_team", TeamOrInvalid), ("start, stride, size", Value), ("config", Configuration("config_mask")),
       ("config_mask", Value), ("new_team", Result(WORD))]),
    (&["team::split_2d"],
     &[("parent_team", TeamOrInvalid), ("xrange", Value),
       ("xaxis_config", Configuration("xaxis_mask")), ("xaxis_mask", Value), ("xaxis_team", Result(WORD)),
       ("yaxis_config", Configuration("yaxis_mask")), ("yaxis_mask", Value), ("yaxis_team", Result(WORD))]),
    (&["team::split_color"],
     &[("parent_team", TeamOrInvalid), ("color, key", Value), ("config", Configuration("config_mask")),
       ("config_mask", Value), ("new_team", Result(WORD))]),
    (&["team::split_list"],
     &[("parent_team", TeamOrInvalid), ("pes, npes", Value), ("config", Configuration("config_mask")),
       ("config_mask", Value), ("new_team", Result(WORD))]),
    (&["team::split_kind"],
     &[("parent_team", TeamOrInvalid), ("kind", Value),
       ("config", Configuration("config_mask")), ("config_mask", Value), ("new_team", Result(WORD))]),
    (&["space::create"], &[("team", TeamOrInvalid), ("config, config_mask", Value), ("new_space", Result(WORD))]),
    (&["space::destroy"], &[("space", SpaceOrInvalid)]),
    (&["space::malloc"], &[("space", Space), ("size", Value)]),
    (&["space::calloc"], &[("space", Space), ("count, size", Value)]),
    (&["space::align"], &[("space", Space), ("alignment", Alignment), ("size", Value)]),
    (&["space::free"], &[("space", Space), ("ptr", SpaceBlock)]),
    (&["threads::lend"], &[("until, milliseconds", Value)]),
    (&["spawn::spawn"],
     &[("team", TeamOrInvalid), ("PE_root, command, npes, config, config_mask", Value), ("children", Result(WORD))]),
    (&["spawn::spawn_multiple"],
     &[("team", TeamOrInvalid), ("PE_root, count, commands, npes, configs, config_masks", Value),
       ("children", Result(WORD))]),
    (&["resilience::pe_state"], &[("pe", Value)]),
    (&["resilience::team_failed"],
     &[("team", TeamOrInvalid), ("pes", Write(ElementsOf(4, "npes"))), ("npes", IntCount)]),
    (&["resilience::team_revoke"], &[("team", TeamOrInvalid)]),
    (&["resilience::team_agree"], &[("team", TeamOrInvalid), ("value", Result(Bytes(4)))]),
    (&["resilience::team_shrink"], &[("team", TeamOrInvalid), ("new_team", Result(WORD))]),
    (&["port::open", "port::close"], &[("port", Value)]),
    (&["port::publish"], &[("name, port", Value)]),
    (&["port::unpublish"], &[("name", Value)]),
    (&["port::lookup"], &[("name, timeout, port", Value)]),
    (&["port::accept", "port::connect"], &[("team", TeamOrInvalid), ("PE_root, port", Value), ("group", Result(WORD))]),
    (&["port::join"], &[("team", TeamOrInvalid), ("PE_root, fd", Value), ("group", Result(WORD))]),
    (&["handles::n_pes", "handles::team", "handles::disconnect"], &[("group", GroupOrInvalid)]),
    (&["handles::state"], &[("group", Value)]),
    (&["handles::pe"], &[("group", GroupOrInvalid), ("pe", Value)]),
    (&["exports::export"], &[("name, addr, size", Value)]),
    (&["exports::unexport"], &[("name", Value)]),
    (&["exports::import"], &[("group", GroupOrInvalid), ("name, size", Value)]),
    (&["nonblocking::sync"], &[("team", Team), ("request", Result(WORD))]),
    // How long elements are, the routines know.
    (&["collective::reduce_op", "nonblocking::reduce_op"],
     &[("team", TeamOrInvalid), ("dest, source, nreduce, datatype, op", Value), ("request", Result(WORD))]),
    (&["collective::reduce_root"],
     &[("team", TeamOrInvalid), ("dest, source, nreduce, datatype, op", Value), ("PE_root", Root)]),
    (&["collective::reduce_scatter", "nonblocking::reduce_scatter"],
     &[("team", TeamOrInvalid), ("dest, source, nelems, datatype, op", Value), ("request", Result(WORD))]),
    (&["collective::reduce_scatterv", "nonblocking::reduce_scatterv"],
     &[("team", TeamOrInvalid), ("dest, source", Value), ("counts", Read(WORD)), ("datatype, op", Value),
       ("request", Result(WORD))]),
    (&["collective::scan_op", "nonblocking::scan_op"],
     &[("team", TeamOrInvalid), ("dest, source, nelems, datatype, op, inclusive", Value), ("request", Result(WORD))]),
    (&["operators::create"], &[("function, commutative", Value), ("op", Result(Bytes(4)))]),
    (&["operators::free"], &[("op", Result(Bytes(4)))]),
    (&["nonblocking::reduce_root"],
     &[("team", Team), ("dest, source, nreduce, datatype, op", Value), ("PE_root", Root), ("request", Result(WORD))]),
    (&["nonblocking::start", "nonblocking::test", "nonblocking::wait", "nonblocking::free"],
     &[("request", Result(WORD))]),
    (&["nonblocking::startall", "nonblocking::testany", "nonblocking::testall", "nonblocking::waitany",
       "nonblocking::waitall"],
     &[("count, requests", Value)]),
    (&["message::send"], &[("team", TeamOrInvalid), ("buf, nbytes, pe, tag", Value)]),
    (&["message::recv"], &[("team", TeamOrInvalid), ("buf, nbytes, pe, tag, status", Value)]),
    (&["message::isend"], &[("team", TeamOrInvalid), ("buf, nbytes, pe, tag", Value), ("request", Result(WORD))]),
    (&["message::irecv"], &[("team", TeamOrInvalid), ("buf, nbytes, pe, tag", Value), ("request", Result(WORD))]),
    (&["message::probe", "message::iprobe"], &[("team", TeamOrInvalid), ("pe, tag, status", Value)]),
    (&["message::cancel"], &[("request", Result(WORD))]),
    (&["stream::create"], &[("team", TeamOrInvalid), ("item_size, options", Value), ("stream", Result(WORD))]),
    (&["stream::push"], &[("stream, item, pe", Value)]),
    (&["stream::push_many"], &[("stream, items, nitems, pe", Value)]),
    (&["stream::pull"], &[("stream, item, pe", Value)]),
    (&["stream::view"], &[("stream, items, pe", Value)]),
    (&["stream::flush", "stream::end", "stream::wait", "stream::done", "stream::reset", "stream::destroy"],
     &[("stream", Value)]),
    (&["message::test", "message::wait"], &[("request", Result(WORD)), ("status", Value)]),
    (&["message::testany", "message::waitany"], &[("count, requests, status", Value)]),
    (&["message::testall", "message::waitall"], &[("count, requests, statuses", Value)]),
    (&["kernels::call_multiple"], &[("group", GroupOrInvalid), ("count, calls", Value)]),
    (&["kernels::test", "kernels::wait"], &[("request", Value)]),
    (&["kernels::register(kernel)"], &[("kernel", Value)]),
    (&["region::begin"], &[("name", Value)]),
    (&["region::end"], &[]),
    (&["neighbor::graph_create"],
     &[("team", TeamOrInvalid), ("nsources, sources, ndests, dests", Value), ("graph", Result(WORD))]),
    (&["neighbor::cart_create"], &[("team", TeamOrInvalid), ("ndims, dims, periods", Value), ("graph", Result(WORD))]),
    (&["neighbor::graph_neighbors"], &[("graph, sources, dests", Value)]),
    (&["neighbor::graph_destroy"], &[("graph", Value)]),
    (&["neighbor::alltoall"], &[("graph, dest, source, nelems", Value), ("request", Result(WORD))]),
    (&["neighbor::alltoallw"], &[("graph, dests, sources", Value), ("request", Result(WORD))]),
    (&["counter::read"], &[("kind, quantity", Value)]),
    (&["counter::reset"], &[]),
    (&["group::sync", "group::barrier"], &[("group", GroupOrInvalid)]),
    // Which arrays count, the routines know.
    (&["group::broadcast"], &[("group", GroupOrInvalid), ("dest, source, nelems, PE_root", Value)]),
    (&["group::fcollect", "group::alltoall"],
     &[("group", GroupOrInvalid), ("dest, dest_nelems, source, source_nelems", Value)]),
    (&["group::reduce"], &[("group, dest, source, nreduce", Value)]),
    (&["group::create_ctx"], &[("group", GroupOrInvalid), ("options", Value), ("ctx", Result(WORD))]),
    (&["team::destroy"], &[("team", OwnTeam)]),
    (&["team::ptr"], &[("team", TeamOrInvalid), ("dest", Value), ("pe", TeamPe)]),
    (&["team::create_ctx"], &[("team", TeamOrInvalid), ("options", Value), ("ctx", Result(WORD))]),
    (&["setup::ptr"], &[("dest", Value), ("pe", Pe)]),
    (&["setup::query_thread"], &[("provided", Result(Bytes(4)))]),
    (&["setup::query_initialized"], &[("initialized", AnyTimeResult)]),
    (&["setup::info_get_version"], &[("major", AnyTimeResult), ("minor", AnyTimeResult)]),
    (&["setup::info_get_name"], &[("name", AnyTimeResult)]),
    (&["{ startup::prepare(); setup::init_thread"], &[("requested", Value), ("provided", AnyTimeResult)]),
    (&["memory::free"], &[("ptr", Block)]),
    (&["memory::realloc"], &[("ptr", Block), ("size", Value)]),
    (&["memory::align"], &[("alignment", Alignment), ("size", Value)]),
    (&["memory::malloc"], &[("size", Value)]),
    (&["memory::malloc_with_hints"], &[("size, hints", Value)]),
    (&["memory::calloc"], &[("count, size", Value)]),
    (&["setup::pe_accessible"], &[("pe", Value)]),
    (&["setup::addr_accessible"], &[("addr, pe", Value)]),
    (&["setup::global_exit"], &[("status", Value)]),
    (&["{ startup::prepare(); setup::start_pes"], &[("npes", Value)]),
    (&["_ = dest"], &[("dest", Value)]),
    (&[""], &[("level", Value)]),
    (&["collective::barrier_all", "collective::sync_all", "{ startup::prepare(); setup::init",
       "setup::finalize", "setup::my_pe", "setup::n_pes", "handles::parents", "kernels::serve",
       "resilience::resilient", "resilience::failures", "replacement::replace", "replacement::restarted", "{}"], &[]),
];

/// The function of the runtime that a family's body calls.
pub fn function(family: &Family) -> &'static str {
    let body = family.body;
    let end = body.find("::<").into_iter().chain(body.find("({n}")).min();
    &body[..end.unwrap_or(body.len())]
}

/// The roles of a family's parameters, in the order of the prototype, less the context that some
/// forms take. A family whose parameters have none ends the generator.
pub fn of(family: &Family) -> Vec<Parameter> {
    let function = function(family);
    let row = ROWS.iter().find(|(functions, _)| functions.contains(&function));
    let row = row.unwrap_or_else(|| panic!("{}: {function} has no roles", family.pattern)).1;
    let symbol = &family.symbols()[0];
    assert!(!symbol.ctx, "the form without a context comes first");
    let names = symbol.params().into_iter().map(|(_, name)| name);
    let role = |name: String| {
        let found = row.iter().find_map(|(of, role)| Some((of.split(", ").find(|of| *of == name)?, *role)));
        found.unwrap_or_else(|| panic!("{}: {name} has no role", family.pattern))
    };
    names.map(role).collect()
}

/// All functions of the runtime that have roles.
pub fn functions() -> impl Iterator<Item = (&'static str, &'static [Parameter])> {
    ROWS.iter().flat_map(|(functions, roles)| functions.iter().map(move |f| (*f, *roles)))
}

/// Whether a role is looked at with checks on alone: else the routine itself does.
pub fn needs_check(role: Role) -> bool {
    matches!(
        role,
        Symmetric(_) | Array(_) | Read(_) | OptionalRead(_) | Write(_) | Result(_) | Configuration(_) | Pes(_)
    )
}

/// The kind of a call in a profile, a variant of the runtime's `profiling::Kind`; None for queries and what is called
/// outside `shmem_init` and `shmem_finalize`, which are not recorded.
pub fn kind(family: &Family) -> Option<&'static str> {
    let function = function(family);
    Some(match function {
        "rma::put" | "rma::put_nbi" | "rma::put_nb" | "rma::p" | "rma::iput" | "rma::ibput" => "Put",
        "signal::get_signal" | "signal::get_signal_nb" => "Get",
        "rma::get" | "rma::get_nbi" | "rma::get_nb" | "rma::g" | "rma::iget" | "rma::ibget" => "Get",
        _ if function.starts_with("amo::") => "Atomic",
        "signal::put_signal" | "signal::put_signal_nbi" => "PutSignal",
        "signal::signal_set" | "signal::signal_add" => "Signal",
        "signal::signal_wait_until" => "Wait",
        _ if function.starts_with("p2p::wait") => "Wait",
        "signal::signal_fetch" | "lock::test" => "Test",
        _ if function.starts_with("p2p::test") => "Test",
        "context::quiet" | "context::pe_quiet" | "context::quiet_nb" => "Quiet",
        "context::fence" => "Fence",
        "lock::set" => "Lock",
        "lock::clear" => "Unlock",
        "collective::sync"
        | "collective::barrier_all"
        | "collective::sync_all"
        | "active::barrier"
        | "active::sync" => "Barrier",
        "collective::broadcast" | "active::broadcast" => "Broadcast",
        "collective::scan" | "collective::scan_op" => "Scan",
        _ if function.starts_with("collective::") || function.starts_with("active::") => "Exchange",
        "nonblocking::free" => return None,
        _ if function.starts_with("nonblocking::") && family.pattern.ends_with("_init") => "Other",
        "nonblocking::test" | "nonblocking::testany" | "nonblocking::testall" => "Test",
        "nonblocking::sync" | "nonblocking::wait" | "nonblocking::waitany" | "nonblocking::waitall" => "Barrier",
        "nonblocking::broadcast" => "Broadcast",
        "nonblocking::scan_op" => "Scan",
        _ if function.starts_with("nonblocking::") => "Exchange",
        "message::send" | "message::isend" => "Send",
        "message::recv" | "message::probe" | "message::wait" | "message::waitany" | "message::waitall" => "Receive",
        _ if function.starts_with("message::") => "Test",
        "memory::free" => "Free",
        _ if function.starts_with("memory::") => "Allocate",
        "team::destroy" | "context::create" | "context::destroy" | "team::create_ctx" => "Other",
        _ if function.starts_with("team::split_") => "Other",
        "resilience::team_agree" | "replacement::replace" => "Barrier",
        "resilience::resilient" | "resilience::team_shrink" => "Other",
        _ if ["space::", "spawn::", "port::", "group::", "neighbor::"].iter().any(|p| function.starts_with(p)) => {
            "Other"
        }
        _ => return None,
    })
}

/// The role of the context of the forms that take one.
pub fn context(family: &Family) -> Role {
    match function(family) {
        "context::fence" | "context::quiet" | "context::pe_quiet" | "context::quiet_nb" => ContextOrInvalid,
        _ => Context,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn every_parameter_has_a_role() {
        for family in table::chapters().iter().flat_map(|c| &c.families) {
            // Panics where one has none.
            of(family);
        }
    }

    #[test]
    fn every_row_is_of_a_routine() {
        let chapters = table::chapters();
        let families = chapters.iter().flat_map(|c| &c.families);
        let called: Vec<_> = families.map(function).collect();
        for (function, _) in functions() {
            assert!(called.contains(&function), "no routine calls {function}");
        }
    }

    #[test]
    fn extents_name_parameters() {
        for (function, roles) in functions() {
            let is_parameter = |name: &str| roles.iter().any(|(p, _)| *p == name);
            for (name, role) in roles {
                let (Symmetric(extent) | Array(extent) | Read(extent) | OptionalRead(extent) | Write(extent)
                | Result(extent)) = *role
                else {
                    continue;
                };
                let named: &[&str] = match extent {
                    One | Bytes(_) => &[],
                    Elements(n) | PerMember(n) | ElementsOf(_, n) | Work(n) => &[n],
                    Strided(s, n) | StridedPerMember(s, n) => &[s, n],
                    Blocks(s, b, n) => &[s, b, n],
                };
                assert!(named.iter().all(|n| is_parameter(n)), "{function}: {name}");
            }
        }
    }
}
