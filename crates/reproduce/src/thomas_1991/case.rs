//! What one row simulates.

use core::fmt;

/// The network between the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lan {
    /// 10 Mb/s, CSMA/CD.
    Ethernet,
    /// 100 Mb/s, timed token.
    Fddi,
}

/// Where the application runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// On the server; only results cross the network.
    Rexec,
    /// On the client; each library call is a remote procedure call.
    Rpc,
}

/// The transport protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Buffers of 4096 bytes, each acknowledged before the next.
    Tcp,
    /// Blocks of 1472 bytes, none acknowledged.
    Udp,
}

/// What the application does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Application {
    /// Reads buffers of so many words from the vector processor's buffer pool, one after the other.
    Realtime {
        /// Words a buffer.
        words: u32,
    },
    /// Adds two vectors: 13 library calls, then the same again.
    Batch {
        /// Elements a vector.
        elements: u32,
        /// Whether there is a vector processor; otherwise the server does its work (the AP Simulator).
        vector_processor: bool,
    },
}

/// What one row simulates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The network.
    pub lan: Lan,
    /// The speed of the server's application processor: 16 or 32 million instructions a second.
    pub server_mips: u32,
    /// Where the application runs.
    pub model: Model,
    /// The transport protocol.
    pub transport: Transport,
    /// What it does.
    pub application: Application,
}

impl Case {
    /// Whether parameters are inferred from this row.
    #[must_use]
    pub fn is_fitted(&self) -> bool {
        self.lan == Lan::Ethernet && self.transport == Transport::Tcp && self.server_mips == 16
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lan = match self.lan {
            Lan::Ethernet => "ethernet",
            Lan::Fddi => "fddi",
        };
        let model = match self.model {
            Model::Rexec => "rexec",
            Model::Rpc => "rpc",
        };
        let transport = match self.transport {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        };
        let size = match self.application {
            Application::Realtime { words: 1 } => "1 word".to_owned(),
            Application::Realtime { words } => format!("{words} words"),
            Application::Batch { elements, .. } => format!("{elements} elements"),
        };
        write!(f, "{lan} {} mips {model} {transport} {size}", self.server_mips)
    }
}
