#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ferroshmem_core::fuzz::join_request(bytes));
