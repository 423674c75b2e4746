//! Runs an OpenSHMEM program on the PEs of one node.

fn main() {}
