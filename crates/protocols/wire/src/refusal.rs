//! Why a service refuses a request: one of its reasons, and words.
//!
//! Each service has reasons of its own, by [`reasons!`](crate::reasons); what it refuses with lies as a number u8 of the reason, and a text of a
//! length u32 and UTF-8.

use crate::{Decode, DecodeError, Encode, Reader, Sink};
use core::fmt;
#[doc(hidden)]
pub use quintet_errors::Code;

/// Bytes of a refusal's text.
pub const MAX_TEXT_BYTES: usize = 1024;

/// The reasons of a service.
pub trait Reason: Copy {
    /// The reason that has this number, if one has.
    fn from_number(number: u8) -> Option<Self>;
    /// Its number.
    fn number(self) -> u8;
    /// The code that programs see.
    fn code(self) -> Code;
}

/// Why a request failed, and what is particular to this time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal<R> {
    /// Which reason.
    pub reason: R,
    /// In words: who, what and where, and what to do.
    pub text: String,
}

impl<R> Refusal<R> {
    /// A refusal; the text is cut to [`MAX_TEXT_BYTES`].
    #[must_use]
    pub fn new(reason: R, text: impl Into<String>) -> Refusal<R> {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        Refusal { reason, text }
    }
}

impl<R: Reason> Encode for Refusal<R> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.reason.number());
        sink.counted(self.text.as_bytes());
    }
}

impl<R: Reason> Decode<'_> for Refusal<R> {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u8()?;
        let reason = R::from_number(number).ok_or_else(|| reader.invalid("reason", number, 1))?;
        Ok(Refusal { reason, text: reader.text("text of a refusal", MAX_TEXT_BYTES)?.to_owned() })
    }
}

impl<R: Reason> fmt::Display for Refusal<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.text)
    }
}

impl<R: Reason + fmt::Debug> core::error::Error for Refusal<R> {}

/// Makes the enum `Reason` of a service: each reason with its number on the wire, and the code that programs see.
///
/// ```
/// quintet_wire::reasons! {
///     /// As many requests wait as may.
///     Busy = 1, Resource;
/// }
/// use quintet_wire::refusal::{Code, Refusal};
/// use quintet_wire::{Decode, encode_to_vec};
///
/// let refusal = Refusal::new(Reason::Busy, "try again later");
/// assert_eq!(refusal.reason.code(), Code::Resource);
/// assert_eq!(Refusal::decode_all(&encode_to_vec(&refusal)), Ok(refusal));
/// ```
#[macro_export]
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

            /// The code that programs see.
            #[must_use]
            pub const fn code(self) -> $crate::refusal::Code {
                match self { $(Reason::$name => $crate::refusal::Code::$code,)* }
            }
        }

        impl $crate::refusal::Reason for Reason {
            fn from_number(number: u8) -> Option<Reason> {
                match number {
                    $($number => Some(Reason::$name),)*
                    _ => None,
                }
            }

            fn number(self) -> u8 {
                self as u8
            }

            fn code(self) -> $crate::refusal::Code {
                self.code()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_to_vec;
    use proptest::prelude::*;

    #[allow(unreachable_pub, reason = "a service shows its reasons")]
    mod service {
        crate::reasons! {
            /// Not now.
            Busy = 1, Resource;
            /// Not ever.
            Forbidden = 7, NotAllowed;
        }
    }
    use service::Reason;

    #[test]
    fn each_reason_has_its_number_and_no_other_number_is_one() {
        let found = (0..=u8::MAX).filter_map(<Reason as super::Reason>::from_number);
        assert_eq!(found.collect::<Vec<_>>(), Reason::ALL);
        let refusal: Result<Refusal<Reason>, _> = Refusal::decode_all(&[2, 0, 0, 0, 0]);
        assert!(refusal.is_err());
        assert_eq!(Refusal::new(Reason::Forbidden, "no").to_string(), "not allowed: no");
    }

    proptest! {
        #[test]
        fn a_refusal_comes_back_with_its_text_cut_where_a_character_ends(text in "(é|.){0,1500}", at in 0..2usize) {
            let refusal = Refusal::new(Reason::ALL[at], text.clone());
            prop_assert!(text.starts_with(&refusal.text) && refusal.text.len() <= MAX_TEXT_BYTES);
            prop_assert!(refusal.text.len() + 4 > MAX_TEXT_BYTES || refusal.text == text);
            let bytes = encode_to_vec(&refusal);
            prop_assert_eq!(Refusal::decode_all(&bytes), Ok(refusal));
            prop_assert!((0..bytes.len()).all(|end| Refusal::<Reason>::decode_all(&bytes[..end]).is_err()));
        }
    }
}
