//! What the failure of a link means to the protocols that used it.

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

/// Whether a link that ended so may have been cut while both nodes live on.
pub(crate) fn is_cut(cause: DownCause) -> bool {
    matches!(cause, DownCause::Died | DownCause::Silent)
}

/// Whether it tells of a defect or a shortage, and not only of a peer that went away.
pub(crate) fn is_remarkable(error: &LinkError) -> bool {
    matches!(error, LinkError::Malformed(_) | LinkError::System(_))
}
