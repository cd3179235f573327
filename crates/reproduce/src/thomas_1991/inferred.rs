//! What the paper does not give: inferred once, from the rows with Ethernet, TCP and 16 MIPS.

/// Parameters that the paper does not give. Cycles are of the processor that executes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inferred {
    /// Background load, as a share of Ethernet's 10 Mb/s. The paper: 3 to 5 percent.
    pub load: f64,
    /// The unit of Ethernet's contention interval (0 to 1024 units), in microseconds. The paper names none.
    pub contention_unit_us: f64,
    /// Bytes on the LAN for one byte of an application's data, where a transport processor cuts it into packets.
    pub expansion: f64,
    /// Cycles of the server to ask the vector processor for a buffer (STRDB).
    pub ask: f64,
    /// Cycles of the application's loop around a read.
    pub turn: f64,
    /// Cycles a word to convert a buffer that came by RPC, at the client.
    pub convert_word: f64,
    /// Cycles a word to read a buffer that came by REXEC, at the client.
    pub read_word: f64,
    /// Cycles of a library call on the server, without the vector processor's work.
    pub call: f64,
    /// Cycles an element of a REXEC job's result, at the server to write it and at the client to read it.
    pub result: f64,
    /// The vector processor's seconds for a vector addition, and for each element of it.
    pub vector: [f64; 2],
    /// Those of the AP Simulator on the 16 MIPS server.
    pub simulator: [f64; 2],
}

impl Inferred {
    /// As fitted: see docs/reproductions/thomas-1991.md, and `examples/fit.rs`, which finds them.
    pub const FITTED: Inferred = Inferred {
        load: 0.05,
        contention_unit_us: 3.2313,
        expansion: 2.0722,
        ask: 15_854.8,
        turn: 10_904.4,
        convert_word: 303.878,
        read_word: 365.147,
        call: 49_290.2,
        result: 1_691.59,
        vector: [0.907_643, 2.861_47e-3],
        simulator: [2.800_89, 9.168_31e-3],
    };
}
