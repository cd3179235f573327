//! What has to be known of the service whose clients come back.

use quintet_contract::{Frame, Kind, Token};
use quintet_errors::Code;

/// The frames of a service, as far as they matter for a client that comes back. Implemented by a type without values.
pub trait Requests {
    /// The kind of a client's [`Word`](crate::Word), which is a request.
    const WORD: Kind;
    /// The kind of the [`Reply`](crate::Reply) to it.
    const REPLY: Kind;

    /// Whether a frame of this kind is a request that is answered, once, under its token.
    fn is_answered(kind: Kind) -> bool;

    /// Whether a frame of this kind, which is not answered, is said again anyway before long: it is not kept.
    fn is_repeated(kind: Kind) -> bool;

    /// Below which token a request's sender has all its answers for good. None where the request does not say, or cannot be read.
    fn settled(frame: &Frame<'_>) -> Option<Token>;

    /// The answer that refuses a request: its kind and body.
    fn refusal(code: Code, text: &str) -> (Kind, Vec<u8>);
}
