#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ferroshmem_port::fuzz::connect_request(bytes));
