//! What one row simulates.

use core::fmt;

/// The network between the hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lan {
    /// 10 Mb/s, CSMA/CD.
    Ethernet,
    /// 100 Mb/s, timed token.
    Fddi,
    /// Today's: a switch with a full duplex port for each host.
    Switched {
        /// Of each port, in Gb/s.
        gigabits: u16,
    },
}

/// Where the application runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// On the server; only results cross the network.
    Rexec,
    /// On the client; each library call is a remote procedure call.
    Rpc,
    /// On the client, with the library; the device's commands cross the network. The study describes it only.
    Driver,
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
        let Case { lan, server_mips, model, transport, application } = self;
        write!(f, "{lan} {server_mips} mips {} {} {application}", model.name(), transport.name())
    }
}

impl Model {
    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Model::Rexec => "rexec",
            Model::Rpc => "rpc",
            Model::Driver => "driver",
        }
    }
}

impl Transport {
    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        }
    }
}

impl fmt::Display for Lan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lan::Ethernet => f.write_str("ethernet"),
            Lan::Fddi => f.write_str("fddi"),
            Lan::Switched { gigabits } => write!(f, "{gigabits} Gb/s"),
        }
    }
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Application::Realtime { words: 1 } => f.write_str("1 word"),
            Application::Realtime { words } => write!(f, "{words} words"),
            Application::Batch { elements, .. } => write!(f, "{elements} elements"),
        }
    }
}

impl Application {
    /// What a read or job counts in a throughput: bytes of a buffer, or elements added.
    ///
    /// As the paper has it: one word is 4 bytes, but more words than that are called bytes themselves.
    #[must_use]
    pub const fn size(self) -> u32 {
        match self {
            Application::Realtime { words: 1 } => 4,
            Application::Realtime { words } => words,
            Application::Batch { elements, .. } => elements,
        }
    }
}
