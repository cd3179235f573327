#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quintet_corpus::clinda_object(bytes));
