//! What a broker and its handlers are made with.

use crate::limits::{MAX_MESSAGE_BYTES, MAX_WAITING};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// A broker's own limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrokerConfig {
    /// Bytes of all calls that were not answered, be they handed out or not: of each its request and [`CALL_BYTES`](crate::limits::CALL_BYTES). A
    /// further call finds the broker busy.
    pub max_bytes: u64,
}

impl Default for BrokerConfig {
    /// 256 MiB.
    fn default() -> Self {
        BrokerConfig { max_bytes: 256 * 1024 * 1024 }
    }
}

/// What the handlers of one name take: all of them the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerLimits {
    /// The longest request, in bytes: up to [`MAX_MESSAGE_BYTES`]. A longer one is refused as too large.
    pub max_request_bytes: u32,
    /// Calls that one handler may have been given and not answered: 1 at least.
    pub at_once: u32,
    /// Calls that may wait for the handlers of the name, up to [`MAX_WAITING`]; 0: none. One more finds them busy.
    pub waiting: u32,
}

impl Default for HandlerLimits {
    /// Requests of 1 MiB, 16 at once, 256 that wait.
    fn default() -> Self {
        HandlerLimits { max_request_bytes: 1024 * 1024, at_once: 16, waiting: 256 }
    }
}

impl HandlerLimits {
    /// Whether they lie within the broker's.
    #[must_use]
    pub fn are_valid(&self) -> bool {
        self.max_request_bytes as usize <= MAX_MESSAGE_BYTES
            && self.at_once > 0
            && self.waiting <= MAX_WAITING
    }
}

impl Encode for HandlerLimits {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.max_request_bytes);
        sink.u32(self.at_once);
        sink.u32(self.waiting);
    }
}

impl Decode<'_> for HandlerLimits {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let limits = HandlerLimits {
            max_request_bytes: reader.u32()?,
            at_once: reader.u32()?,
            waiting: reader.u32()?,
        };
        if limits.are_valid() {
            Ok(limits)
        } else {
            Err(reader.invalid("limits of a handler", limits.at_once, 8))
        }
    }
}
