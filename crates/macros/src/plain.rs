//! What `plain` makes of a struct.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, GenericParam, Index, ItemStruct, Meta};

fn is_repr(attribute: &Attribute) -> bool {
    attribute.path().is_ident("repr")
}

/// Whether a `repr` has C's layout, in which fields have the order of their declaration.
fn is_of_c(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    is_repr(attribute) && list.tokens.clone().into_iter().any(|token| token.to_string() == "C")
}

/// The struct, with its traits. If a field is not plain data, or padding follows it, the error is at the field.
pub(crate) fn expand(item: &ItemStruct) -> TokenStream {
    // One that is there, such as `repr(C, align(64))`, stays.
    let layout = (!item.attrs.iter().any(is_repr)).then(|| quote!(#[repr(C)]));
    let is_of_c = layout.is_some() || item.attrs.iter().any(is_of_c);
    let is_generic = item.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)));
    let is_cfg = |attribute: &Attribute| attribute.path().is_ident("cfg");
    let may_lack_fields = item.fields.iter().any(|field| field.attrs.iter().any(is_cfg));
    if !is_of_c || is_generic || may_lack_fields {
        // Only a derive knows these: bytemuck says whether there is padding.
        return quote! {
            #[derive(
                ::core::clone::Clone,
                ::core::marker::Copy,
                ::ferroshmem::bytemuck::Pod,
                ::ferroshmem::bytemuck::Zeroable
            )]
            #[bytemuck(crate = "::ferroshmem::bytemuck")]
            #layout
            #item
        };
    }
    let name = &item.ident;
    let (lifetimes, of_lifetimes, conditions) = item.generics.split_for_impl();
    let this = quote!(#name #of_lifetimes);
    let members = item.fields.iter().enumerate().map(|(i, field)| match &field.ident {
        Some(name) => name.to_token_stream(),
        None => Index::from(i).to_token_stream(),
    });
    let members = Vec::from_iter(members);
    let checks = item.fields.iter().enumerate().map(|(i, field)| {
        let (member, ty) = (&members[i], &field.ty);
        let next = match members.get(i + 1) {
            Some(next) => quote!(::core::mem::offset_of!(#this, #next)),
            None => quote!(::core::mem::size_of::<#this>()),
        };
        let message = format!(
            "plain data have no padding, and some follows the field `{member}` of `{name}`: put larger fields first, \
             or declare its bytes, as in `padding: [u8; 4]`"
        );
        let is_plain = format_ident!("is_plain", span = ty.span());
        quote_spanned! {field.span()=>
            #is_plain::<#ty>();
            ::core::assert!(
                ::core::mem::offset_of!(#this, #member) + ::core::mem::size_of::<#ty>() == #next,
                #message
            );
        }
    });
    quote! {
        #[derive(::core::clone::Clone, ::core::marker::Copy)]
        #layout
        #item

        // SAFETY: `check` finds that fields are such, and that there are no other bytes.
        unsafe impl #lifetimes ::ferroshmem::bytemuck::Zeroable for #this #conditions {}
        // SAFETY: as above.
        unsafe impl #lifetimes ::ferroshmem::bytemuck::Pod for #this where Self: 'static {}

        const _: () = {
            const fn is_plain<T: ::ferroshmem::Plain>() {}
            const fn check #lifetimes () {
                #(#checks)*
            }
            check();
        };
    }
}
