//! Plots and a page of what was measured.
