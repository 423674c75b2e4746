//! Streams of items (extension).

use crate::family::{Family, family};
use crate::types::Group::Single;

const ONE: &str = "shmemx_stream_t stream";

/// All.
#[rustfmt::skip]
pub fn all() -> Vec<Family> {
    let create = "shmem_team_t team, size_t item_size, long options, shmemx_stream_t *stream";
    let rows = [
        ("shmemx_stream_create", "int", create, "stream::create({n}, team, item_size, options, stream)"),
        ("shmemx_stream_push", "int", "shmemx_stream_t stream, const void *item, int pe", "stream::push({n}, stream, \
            item, pe)"),
        ("shmemx_stream_push_many", "size_t", "shmemx_stream_t stream, const void *items, size_t nitems, int \
            pe", "stream::push_many({n}, stream, items, nitems, pe)"),
        ("shmemx_stream_pull", "int", "shmemx_stream_t stream, void *item, int *pe", "stream::pull({n}, stream, item, \
            pe)"),
        ("shmemx_stream_view", "size_t", "shmemx_stream_t stream, const void **items, int *pe", "stream::view({n}, \
            stream, items.cast_mut().cast(), pe)"),
        ("shmemx_stream_flush", "void", ONE, "stream::flush({n}, stream)"),
        ("shmemx_stream_end", "void", ONE, "stream::end({n}, stream)"),
        ("shmemx_stream_wait", "int", ONE, "stream::wait({n}, stream)"),
        ("shmemx_stream_done", "int", ONE, "stream::done({n}, stream)"),
        ("shmemx_stream_reset", "void", ONE, "stream::reset({n}, stream)"),
        ("shmemx_stream_destroy", "void", ONE, "stream::destroy({n}, stream)"),
    ];
    rows.map(|(name, ret, params, body)| family("", name, Single, ret, params, body).extension()).into()
}
