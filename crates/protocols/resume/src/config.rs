//! How clients are kept.

use quintet_contract::Span;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// How clients are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumeLimits {
    /// How long a client is waited for whose link ended without a farewell. Default 10 s; 0: nobody is.
    pub window: Span,
    /// Clients that are known by their identities at one time, at most 65,535. One more is known by its link alone. Default 4096.
    pub max_clients: u32,
    /// Bytes of answers that a client has not said it has: while there are more, its requests are refused. Default 64 MiB.
    pub max_kept_bytes: u64,
    /// A defect built in on purpose, for a test that must find it.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

impl ResumeLimits {
    fn new(window: Span, max_clients: u32, max_kept_bytes: u64) -> ResumeLimits {
        ResumeLimits {
            window,
            max_clients,
            max_kept_bytes,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

impl Default for ResumeLimits {
    fn default() -> Self {
        ResumeLimits::new(Span::from_secs(10), 4096, 64 << 20)
    }
}

/// How clients are kept, and with what the service is made.
///
/// ```text
/// window u64 | clients u32 | kept bytes of each u64 | the service's configuration
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumedConfig<C> {
    /// How clients are kept.
    pub limits: ResumeLimits,
    /// With what the service is made.
    pub inner: C,
}

impl Encode for ResumeLimits {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.window.0);
        sink.u32(self.max_clients);
        sink.u64(self.max_kept_bytes);
    }
}

impl Decode<'_> for ResumeLimits {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(ResumeLimits::new(Span(reader.u64()?), reader.u32()?, reader.u64()?))
    }
}

impl<C: Encode> Encode for ResumedConfig<C> {
    fn encode(&self, sink: &mut impl Sink) {
        self.limits.encode(sink);
        self.inner.encode(sink);
    }
}

impl<'a, C: Decode<'a>> Decode<'a> for ResumedConfig<C> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(ResumedConfig { limits: ResumeLimits::decode(reader)?, inner: C::decode(reader)? })
    }
}
