//! What this PE knows of its job and its node: the part of the library's state that lower modules use.

use crate::choice::Selection;
use crate::config::Settings;
use crate::job::Attachment;
use crate::transport::Transport;

/// This PE on its node.
#[derive(Debug)]
pub struct Node {
    /// This PE's number.
    pub me: usize,
    /// Number of PEs.
    pub n_pes: usize,
    /// The job's memory and this PE's place in it.
    pub job: &'static Attachment,
    /// How other PEs' memory is reached.
    pub transport: Transport,
    /// Which algorithms collectives use.
    pub selection: Selection,
    /// What the environment says.
    pub settings: Settings,
}
