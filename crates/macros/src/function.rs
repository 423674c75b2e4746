//! The function that an attribute stands before.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, FnArg, Ident, ItemFn, ReturnType, Type, Visibility};

/// Its parts.
pub(crate) struct Body<'f> {
    pub(crate) attributes: &'f [Attribute],
    pub(crate) visibility: &'f Visibility,
    pub(crate) name: &'f Ident,
    pub(crate) output: &'f ReturnType,
    /// The function, to stand within the one that replaces it.
    pub(crate) inner: TokenStream,
    /// Its call, with a world.
    pub(crate) call: TokenStream,
}

impl<'f> Body<'f> {
    /// An error if the function cannot be called with a world, of `pes` PEs, which it must take if it `needs_world`.
    pub(crate) fn of(function: &'f ItemFn, pes: &TokenStream, needs_world: bool) -> syn::Result<Self> {
        let ItemFn { attrs, vis, sig, block, .. } = function;
        let refuse = |span, message| Err(syn::Error::new(span, message));
        if let Some(token) = &sig.asyncness {
            return refuse(token.span, "the function cannot be async: the library waits itself");
        }
        if !sig.generics.params.is_empty() {
            return refuse(sig.ident.span(), "the function cannot be generic");
        }
        let (name, output) = (&sig.ident, &sig.output);
        let mut inputs = sig.inputs.iter();
        let call = match (inputs.next(), inputs.next()) {
            (None, None) if !needs_world => quote!(#name()),
            (Some(FnArg::Typed(world)), None) => {
                let borrow = match &*world.ty {
                    Type::Reference(reference) if reference.mutability.is_none() => quote!(&),
                    Type::Path(_) => quote!(),
                    _ => return refuse(name.span(), "the function takes a `&World`"),
                };
                quote! {{
                    let world = ::ferroshmem::job::world(#pes);
                    #name(#borrow world)
                }}
            }
            _ => {
                let message = "the function takes one argument, the world: `fn name(world: &World)`";
                return refuse(name.span(), message);
            }
        };
        Ok(Self {
            attributes: attrs,
            visibility: vis,
            name,
            output,
            inner: quote! {
                #sig #block
            },
            call,
        })
    }
}
