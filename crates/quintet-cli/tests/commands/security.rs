//! What processes with keys leave behind.

mod core_dumps;
