//! What a fabric reports to its owner.

/// What a fabric reports to its owner. Called from any thread.
pub trait Events: Send + Sync {
    /// An operation to this PE failed for good; if libfabric does not say which, to a PE that had operations under way.
    /// Ends the process. It may put to other PEs before that. With [`Config::survives`](crate::Config::survives) it may
    /// return: then the fabric is [shut down](crate::Fabric::shut_down). So it is called in any case where operations
    /// cannot go on.
    fn peer_failed(&self, pe: usize, reason: &str);
    /// The progress thread has handled traffic: memory of this process may have changed. Other
    /// threads that call into the fabric handle traffic as well, without this call; and it may be
    /// called without need, see [`Fabric::notifies_writes`](crate::Fabric::notifies_writes).
    fn memory_changed(&self);
    /// A record has arrived, which this PE [sent](crate::Fabric::send_record): those of a PE in their order. Must not
    /// wait, and not call the fabric. False: no PE sends such a record, which counts as the PE's failure.
    fn record_arrived(&self, pe: usize, record: &[u8]) -> bool {
        let _ = (pe, record);
        false
    }
    /// Called by the progress thread every [`Config::tick`](crate::Config::tick) or more often.
    fn tick(&self);
}
