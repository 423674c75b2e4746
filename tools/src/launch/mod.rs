//! `oshrun`: starts the PEs of a job on this node, watches them, and ends with them.
