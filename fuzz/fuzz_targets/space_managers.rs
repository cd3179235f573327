#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quintet_tuple_space::fuzzing::managers(bytes));
