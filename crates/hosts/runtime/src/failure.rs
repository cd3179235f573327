//! What the failure of a link means to those who used it.

use quintet_contract::DownCause;
use quintet_link::LinkError;

/// What protocols are told of the peer.
pub(crate) fn cause(error: &LinkError) -> DownCause {
    match error {
        LinkError::Closed => DownCause::Closed,
        LinkError::PeerDied | LinkError::System(_) => DownCause::Died,
        LinkError::Malformed(_) => DownCause::Misbehaved,
    }
}

/// What a person is told.
pub(crate) fn words(error: &LinkError) -> String {
    match error {
        LinkError::Closed => "the other side closed the link".to_owned(),
        LinkError::PeerDied => "the other side's process ended".to_owned(),
        LinkError::Malformed(what) => format!("the other side wrote something that is no frame: {what}"),
        LinkError::System(what) => format!("the system refused: {what}"),
    }
}
