#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| quintet_kernel::fuzzing::drive(bytes));
