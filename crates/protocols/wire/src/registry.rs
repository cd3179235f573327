//! Every number that has one meaning on the wire, given out once.
//!
//! Kinds are global, so that a frame can be read in a capture without knowing which instance it is for. A protocol owns a
//! range and names its kinds in its own codec, built with [`KindRange::kind`].

use quintet_contract::{Kind, Port};

/// Kinds `first..=last`, owned by one protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindRange {
    /// The owner.
    pub owner: &'static str,
    /// The first number.
    pub first: u8,
    /// The last number.
    pub last: u8,
}

impl KindRange {
    /// The `n`th kind of the range. Checked at compile time where the result is a constant.
    ///
    /// # Panics
    /// If the range is shorter.
    #[must_use]
    pub const fn kind(self, n: u8) -> Kind {
        assert!(n <= self.last - self.first, "the range is shorter");
        Kind(self.first + n)
    }

    /// Whether `kind` lies in the range.
    #[must_use]
    pub const fn contains(self, kind: Kind) -> bool {
        self.first <= kind.0 && kind.0 <= self.last
    }
}

const fn range(owner: &'static str, first: u8, last: u8) -> KindRange {
    KindRange { owner, first, last }
}

/// Handshake, acknowledgement, keep-alive.
pub const SESSION: KindRange = range("session", 0x01, 0x0f);
/// Credits, grants, fragments.
pub const MESSAGING: KindRange = range("messaging", 0x10, 0x1f);
/// Tuple space requests and answers.
pub const TUPLE_SPACE: KindRange = range("tuple-space", 0x20, 0x4f);
/// Who belongs to the cluster.
pub const MEMBERSHIP: KindRange = range("membership", 0x50, 0x60);
/// Logical time.
pub const ISOTACH: KindRange = range("isotach", 0x61, 0x7b);
/// Arrays on an accelerator.
pub const VECTOR: KindRange = range("vector", 0x7c, 0x87);
/// Several replicas of one protocol.
pub const REPLICATION: KindRange = range("replication", 0x88, 0x8f);
/// Redundant computations and their votes.
pub const VOTE: KindRange = range("vote", 0x90, 0x9f);
/// The halves of a TCP connection.
pub const TCP: KindRange = range("tcp", 0xa0, 0xaf);
/// Clocks and delays.
pub const MEASURE: KindRange = range("measure", 0xb0, 0xb7);
/// Calls of handlers in other processes.
pub const BROKER: KindRange = range("broker", 0xb8, 0xbf);
/// Which of a node's instances a frame is for.
pub const PORTS: KindRange = range("ports", 0xc0, 0xc3);
/// Jobs and their processes, started for peers.
pub const LAUNCH: KindRange = range("launch", 0xc4, 0xc9);
/// Machines that want to belong to a cluster.
pub const ENROLMENT: KindRange = range("enrolment", 0xca, 0xcf);
/// Modelled programs in the simulator.
pub const MODELS: KindRange = range("models", 0xd0, 0xdf);
/// Services that a host provides: disk, device, process.
pub const HOST_SERVICES: KindRange = range("host services", 0xe0, 0xef);
/// Tests, probes and programs of a user's own.
pub const USER: KindRange = range("user", 0xf0, 0xff);

/// All ranges, in order. 0 is nobody's.
pub const KINDS: [KindRange; 17] = [
    SESSION,
    MESSAGING,
    TUPLE_SPACE,
    MEMBERSHIP,
    ISOTACH,
    VECTOR,
    REPLICATION,
    VOTE,
    TCP,
    MEASURE,
    BROKER,
    PORTS,
    LAUNCH,
    ENROLMENT,
    MODELS,
    HOST_SERVICES,
    USER,
];

const _: () = {
    let mut i = 0;
    while i < KINDS.len() {
        assert!(KINDS[i].first <= KINDS[i].last);
        assert!(i == 0 || KINDS[i - 1].last < KINDS[i].first, "ranges are in order and do not overlap");
        i += 1;
    }
};

/// To the host's disk: append the body and the bulk behind it, and make it durable. Answered with [`DISK_DONE`] when it is.
pub const DISK_WRITE: Kind = HOST_SERVICES.kind(0);
/// The disk's answer to all but [`DISK_READ`]: body is a [`DiskDone`](crate::services::DiskDone).
pub const DISK_DONE: Kind = HOST_SERVICES.kind(1);
/// To the host's device: body is a [`Launch`](crate::services::Launch); answered with [`DEVICE_DONE`].
pub const DEVICE_LAUNCH: Kind = HOST_SERVICES.kind(2);
/// The answer to [`DEVICE_LAUNCH`]: the output is the body, or, if it is long, the bulk.
pub const DEVICE_DONE: Kind = HOST_SERVICES.kind(3);
/// To the host's disk: append the body and the bulk behind it. Durable after the next [`DISK_SYNC`]; answered with [`DISK_DONE`].
pub const DISK_APPEND: Kind = HOST_SERVICES.kind(4);
/// To the host's disk: make durable all that was asked for before. Answered with [`DISK_DONE`] when it is.
pub const DISK_SYNC: Kind = HOST_SERVICES.kind(5);
/// To the host's disk: body is a [`DiskRead`](crate::services::DiskRead); answered with [`DISK_DATA`].
pub const DISK_READ: Kind = HOST_SERVICES.kind(6);
/// The answer to [`DISK_READ`]: body is a [`DiskDone`](crate::services::DiskDone), bulk the bytes.
pub const DISK_DATA: Kind = HOST_SERVICES.kind(7);
/// To the host's disk: body is a [`DiskTruncate`](crate::services::DiskTruncate). Durable and answered as [`DISK_APPEND`] is.
pub const DISK_TRUNCATE: Kind = HOST_SERVICES.kind(8);
/// To the host's processes: body is a [`ProcessRequest`](crate::services::process::ProcessRequest), which says what travels in the bulk. Answered
/// with [`PROCESS_ANSWER`], also long after.
pub const PROCESS_REQUEST: Kind = HOST_SERVICES.kind(9);
/// The answer to [`PROCESS_REQUEST`]: body is a [`ProcessAnswer`](crate::services::process::ProcessAnswer).
pub const PROCESS_ANSWER: Kind = HOST_SERVICES.kind(10);
/// To the host's disk: put the body and the bulk behind it in the place of all that is there. Answered with [`DISK_DONE`] when that is durable;
/// whatever happens before, either all of the one is there or all of the other.
pub const DISK_REPLACE: Kind = HOST_SERVICES.kind(11);
/// From the host's links, which are asked nothing, to the instance that the host was told to tell: body is a
/// [`LinkNews`](crate::services::LinkNews).
pub const LINK_NEWS: Kind = HOST_SERVICES.kind(12);
/// From a protocol that keeps a log on the disk to the callers of its node: how it goes with the log. It answers nothing, and goes over no link.
pub const LOG_NEWS: Kind = HOST_SERVICES.kind(13);
/// From the protocol through which a node's callers ask a peer, to those callers: what is unanswered goes on over the next link, whatever ended the last
/// one. No body.
pub const CALLS_GO_ON: Kind = HOST_SERVICES.kind(14);
/// A service could not read the request. No body.
pub const SERVICE_REFUSED: Kind = HOST_SERVICES.kind(15);

/// The callers of this process: threads of the program that uses Quintet.
pub const PORT_CALLERS: Port = Port(1);
/// The host's disk.
pub const PORT_DISK: Port = Port(2);
/// The host's device.
pub const PORT_DEVICE: Port = Port(3);
/// The host's processes: programs that it starts.
pub const PORT_PROCESS: Port = Port(4);
/// A node's sessions, the same on every node: what one node sends another goes from here to there, and says itself which of the
/// nodes' instances it is for.
pub const PORT_SESSION: Port = Port(5);
/// The host's links: tells of peers what the ends of their links do not ([`LINK_NEWS`]). Nothing can be sent to it.
pub const PORT_LINKS: Port = Port(6);
/// Clients that come back, as their service knows them: the node is a number given by whoever keeps them. Nobody is there to be linked to.
pub const PORT_RESUMED: Port = Port(7);
/// The tuple space.
pub const PORT_SPACE: Port = Port(16);
/// Membership.
pub const PORT_MEMBERSHIP: Port = Port(17);
/// Logical time.
pub const PORT_ISOTACH: Port = Port(18);
/// Arrays on an accelerator.
pub const PORT_VECTOR: Port = Port(19);
/// Votes.
pub const PORT_VOTE: Port = Port(20);
/// The halves of TCP connections.
pub const PORT_TCP: Port = Port(21);
/// Clocks and delays.
pub const PORT_MEASURE: Port = Port(22);
/// The launcher: starts processes for peers, and ends them.
pub const PORT_LAUNCH: Port = Port(23);
/// Where machines ask to belong to a cluster.
pub const PORT_ENROLMENT: Port = Port(24);
/// The broker: calls of handlers in other processes.
pub const PORT_BROKER: Port = Port(25);
/// The token manager of a switch, on the node that stands for it.
pub const PORT_TOKEN_MANAGER: Port = Port(26);
/// The first port free for tests and programs of a user's own.
pub const PORT_USER: Port = Port(1024);

/// The ports of the host's services.
pub const HOST_SERVICE_PORTS: [Port; 4] = [PORT_DISK, PORT_DEVICE, PORT_PROCESS, PORT_LINKS];

/// Whether a port is one of the host's services. What the host does not provide is refused there at once.
#[must_use]
pub const fn is_service(port: Port) -> bool {
    matches!(port, PORT_DISK | PORT_DEVICE | PORT_PROCESS | PORT_LINKS)
}

/// Whether who holds a token of the cluster, and is no member, may ask the service at a port.
#[must_use]
pub const fn serves_tokens(port: Port) -> bool {
    matches!(port, PORT_ENROLMENT)
}

#[cfg(test)]
#[path = "registry/tests.rs"]
mod tests;
