//! What is given to an attribute.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, Token};

/// `pes = 4, timeout = 60`, of which nothing is needed.
pub(crate) struct Options {
    /// Number of PEs.
    pub(crate) pes: Option<LitInt>,
    /// Seconds.
    pub(crate) timeout: Option<LitInt>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self { pes: None, timeout: None };
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: LitInt = input.parse()?;
            if value.base10_parse::<u32>()? == 0 {
                return Err(syn::Error::new(value.span(), "give 1 or more"));
            }
            match name.to_string().as_str() {
                "pes" => options.pes = Some(value),
                "timeout" => options.timeout = Some(value),
                other => {
                    let message = format!("`{other}` is no option: give `pes` or `timeout`");
                    return Err(syn::Error::new(name.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    /// The number of PEs, as an expression.
    pub(crate) fn pes(&self) -> TokenStream {
        match &self.pes {
            Some(pes) => quote!(::core::option::Option::Some(#pes)),
            None => quote!(::core::option::Option::None),
        }
    }

    /// An error if there is a timeout.
    pub(crate) fn refuse_timeout(&self) -> syn::Result<()> {
        match &self.timeout {
            Some(seconds) => {
                Err(syn::Error::new(seconds.span(), "a program has no `timeout`: start it by `oshrun --timeout`"))
            }
            None => Ok(()),
        }
    }
}
