//! Barriers: nobody leaves before all have entered. Three ways, over flags that a
//! [`Group`](crate::group::Group) provides.

pub mod central;
pub mod dissemination;
pub mod tree;
