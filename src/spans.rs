//! Spans of the crate `tracing` as regions of profiles and traces.

use ferroshmem_api::region;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer for `tracing_subscriber`, by which spans are regions of `oshrun --profile` and `--trace`, as those of
/// [`Region`](crate::Region) are. When nothing is recorded, a span costs a comparison more. (Feature `tracing`)
///
/// Spans count while a thread is in them. One that is left in another order than it was entered ends the region that
/// this thread has entered last.
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry().with(ferroshmem::RegionLayer).init();
/// let _solving = tracing::info_span!("solve").entered();
/// // compute
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RegionLayer;

impl<S> Layer<S> for RegionLayer
where
    S: tracing_core::Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_enter(&self, id: &tracing_core::span::Id, context: Context<'_, S>) {
        if region::is_recorded()
            && let Some(span) = context.span(id)
        {
            region::begin_named(span.name());
        }
    }

    fn on_exit(&self, _: &tracing_core::span::Id, _: Context<'_, S>) {
        region::end("exit of a span");
    }
}
