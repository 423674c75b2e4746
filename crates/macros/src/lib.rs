//! The attributes of the crate `ferroshmem`, which exports and documents them.
//!
//! It knows Rust's syntax and no crate of this workspace. What it writes names `ferroshmem::job`, `ferroshmem::Plain`
//! and `ferroshmem::bytemuck`, which decide all that depends on types or on the job.

mod function;
mod options;
mod plain;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, ItemStruct, parse_macro_input};

use function::Body;
use options::Options;

/// See `ferroshmem::main`.
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as Options);
    let function = parse_macro_input!(item as ItemFn);
    expand_main(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// See `ferroshmem::test`.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as Options);
    let function = parse_macro_input!(item as ItemFn);
    expand_test(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// See `ferroshmem::plain`.
#[proc_macro_attribute]
pub fn plain(options: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(option) = proc_macro2::TokenStream::from(options).into_iter().next() {
        let error = syn::Error::new(option.span(), "`ferroshmem::plain` takes no options");
        return error.into_compile_error().into();
    }
    let item = parse_macro_input!(item as ItemStruct);
    plain::expand(&item).into()
}

fn expand_main(options: &Options, function: &ItemFn) -> syn::Result<proc_macro2::TokenStream> {
    options.refuse_timeout()?;
    let Body { attributes, visibility, name, output, inner, call } = Body::of(function, &options.pes(), true)?;
    let start = options.pes.as_ref().map(|pes| quote!(::ferroshmem::job::start(#pes);));
    Ok(quote! {
        #(#attributes)*
        #visibility fn #name() #output {
            #inner
            #start
            #call
        }
    })
}

fn expand_test(options: &Options, function: &ItemFn) -> syn::Result<proc_macro2::TokenStream> {
    let Body { attributes, visibility, name, inner, call, .. } = Body::of(function, &options.pes(), false)?;
    let pes = options.pes();
    let timeout = match &options.timeout {
        Some(seconds) => quote!(#seconds),
        None => quote!(::ferroshmem::job::TIMEOUT),
    };
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility fn #name() {
            #inner
            let name = ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name));
            ::ferroshmem::job::test(name, #pes, #timeout, || #call);
        }
    })
}
