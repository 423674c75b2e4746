//! Puts from Python.

use std::time::Duration;

use super::{Request, Run, Suite};
use crate::implementation::Family;

/// Its package takes a minute to install, so that the quick mode leaves it out.
pub(super) fn plan(request: &Request<'_>) -> Vec<Run> {
    let indices = request.indices(|family| family == Family::FerroShmem && !request.quick());
    let run = |implementation| Run {
        suite: Suite::Python,
        program: "python".to_owned(),
        implementation,
        pes: 2,
        threads: 1,
        arguments: Vec::new(),
        variables: Vec::new(),
        form: "",
        algorithm: "",
        class: None,
        heap: 128 << 20,
        limit: Duration::from_secs(120),
        expected: 15.0,
    };
    indices.into_iter().map(run).collect()
}
