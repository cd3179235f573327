//! Why a request fails.

use core::fmt;
use quintet_errors::Code;
use quintet_wire::services::process::MAX_TEXT_BYTES;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal, $code:ident;)*) => {
        /// Why a request fails.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name = $number,)*
        }

        impl Reason {
            /// Every reason, in order.
            pub const ALL: &[Reason] = &[$(Reason::$name),*];

            fn from_number(number: u8) -> Option<Reason> {
                match number {
                    $($number => Some(Reason::$name),)*
                    _ => None,
                }
            }

            /// The code that programs see.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Reason::$name => Code::$code,)* }
            }
        }
    };
}

reasons! {
    /// Who asks may not ask for it.
    NotGranted = 1, NotAllowed;
    /// The request cannot be read.
    Malformed = 2, Malformed;
    /// What is to be started cannot be right.
    BadStart = 3, BadValue;
    /// As much waits or runs here as may.
    Busy = 4, Resource;
    /// There is no such job or process of the session that asks.
    Unknown = 5, BadValue;
    /// The job belongs to another session.
    Taken = 6, DuplicateNode;
    /// The job is being ended, or was while this waited.
    Ending = 7, Closed;
    /// A file of a start is not kept: store it, and ask again.
    MissingFile = 8, BadValue;
    /// The machine could not do it.
    Failed = 9, Resource;
    /// The node starts no processes.
    NoProcesses = 10, Unreachable;
    /// Another request asks for what happens next in this job.
    AlreadyAsked = 11, BadValue;
    /// A file is above the limit.
    TooLarge = 12, TooLarge;
}

/// Why a request failed, and what is particular to this time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Which reason.
    pub reason: Reason,
    /// In words: what and where, and what to do.
    pub text: String,
}

impl Refusal {
    /// A refusal; a long text is cut.
    #[must_use]
    pub fn new(reason: Reason, text: impl Into<String>) -> Refusal {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        Refusal { reason, text }
    }
}

impl Encode for Refusal {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.reason as u8);
        sink.counted(self.text.as_bytes());
    }
}

impl Decode<'_> for Refusal {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u8()?;
        let reason = Reason::from_number(number).ok_or_else(|| reader.invalid("reason", number, 1))?;
        Ok(Refusal { reason, text: reader.text("text of a refusal", MAX_TEXT_BYTES)?.to_owned() })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.text)
    }
}

impl core::error::Error for Refusal {}
