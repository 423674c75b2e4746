//! What may lie in symmetric memory.

use bytemuck::Pod;

/// Plain data: any bytes of its size are a value, it has no padding, and nothing in it points
/// anywhere. Other PEs write it byte by byte, and read it as bytes.
///
/// Every type that is [`bytemuck::Pod`] is plain data: numbers, arrays of such, and structs with
/// [`#[ferroshmem::plain]`](macro@crate::plain) or `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]`.
///
/// ```compile_fail,E0277
/// # let world = ferroshmem::World::init().unwrap();
/// let names = world.alloc::<String>(4); // points to memory of one PE
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data, so it cannot lie in symmetric memory",
    label = "any bytes must be a value of this type, on every PE",
    note = "structs of numbers are, with the attribute `#[ferroshmem::plain]`; `bool`, `char`, enums, references and \
            owners such as `String` and `Vec` are not"
)]
pub trait Plain: Pod {}

impl<T: Pod> Plain for T {}
