//! What the paper does not give: inferred once, from the rows with Ethernet, TCP and 16 MIPS.

/// Parameters that the paper does not give. Cycles are of the processor that executes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inferred {
    /// Background load, as a share of Ethernet's 10 Mb/s. The paper: 3 to 5 percent.
    pub load: f64,
    /// The unit of Ethernet's contention interval (0 to 1024 units), in microseconds. The paper names none.
    pub contention_unit_us: f64,
    /// Bytes on the LAN for one byte of an application's data.
    pub expansion: f64,
    /// Cycles of a transport processor for a packet received, before it relays or acknowledges.
    pub receive: f64,
    /// Cycles of the server to ask the vector processor for a buffer (STRDB).
    pub ask: f64,
    /// Cycles of the application's loop around a read.
    pub turn: f64,
    /// Cycles a word to convert a buffer that came by RPC, at the client.
    pub convert_word: f64,
    /// Cycles a word to read a buffer that came by REXEC, at the client.
    pub read_word: f64,
    /// Cycles a word that the server spends besides marshalling to write a buffer to a REXEC client.
    pub write_word: f64,
    /// Cycles of a library call on the server, without the vector processor's work.
    pub call: f64,
    /// Cycles an element that a REXEC job's server spends on the result.
    pub result_write: f64,
    /// Cycles an element that a REXEC job's client spends on the result.
    pub result_read: f64,
    /// The vector processor's seconds for a vector addition, and for each element of it.
    pub vector: [f64; 2],
    /// Those of the AP Simulator on the 16 MIPS server.
    pub simulator: [f64; 2],
}

impl Inferred {
    /// As fitted: see docs/reproductions/thomas-1991.md, and `examples/fit.rs`, which finds them.
    pub const FITTED: Inferred = Inferred {
        load: 0.05,
        contention_unit_us: 6.05,
        expansion: 1.934,
        receive: 623.0,
        ask: 11_500.0,
        turn: 9_570.0,
        convert_word: 286.0,
        read_word: 376.0,
        write_word: 21.8,
        call: 46_000.0,
        result_write: 1_767.0,
        result_read: 1_711.0,
        vector: [0.9255, 2.77e-3],
        simulator: [2.835, 9.09e-3],
    };
}
