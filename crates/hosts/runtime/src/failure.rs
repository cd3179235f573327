//! What the failure of a link means to the protocols that used it.

use quintet_contract::DownCause;
use quintet_errors::Code;
use quintet_link::LinkError;

/// What protocols are told of the peer.
pub(crate) fn cause(error: &LinkError) -> DownCause {
    match error {
        // Nobody comes back.
        LinkError::Closed | LinkError::ProcessEnded => DownCause::Closed,
        LinkError::Refused => DownCause::Refused(Code::NotAllowed as u16),
        LinkError::PeerDied | LinkError::Damaged(_) | LinkError::System(_) => DownCause::Died,
        LinkError::Malformed(_) => DownCause::Misbehaved,
    }
}

/// Whether a link that ended so may have been cut while both nodes live on.
pub(crate) fn is_cut(cause: DownCause) -> bool {
    matches!(cause, DownCause::Died | DownCause::Silent)
}

/// Whether it tells of a defect, a shortage or a refusal, and not only of a peer that went away.
pub(crate) fn is_remarkable(error: &LinkError) -> bool {
    matches!(
        error,
        LinkError::Refused | LinkError::Malformed(_) | LinkError::Damaged(_) | LinkError::System(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_waited_for_by_nobody() {
        assert!(!is_cut(cause(&LinkError::ProcessEnded)) && is_cut(cause(&LinkError::PeerDied)));
    }

    #[test]
    fn who_is_not_let_in_comes_back_no_sooner_than_the_program_wants_and_is_told() {
        let told = cause(&LinkError::Refused);
        assert_eq!(told, DownCause::Refused(Code::NotAllowed as u16));
        assert!(!is_cut(told) && is_remarkable(&LinkError::Refused));
    }

    #[test]
    fn what_was_changed_on_its_way_cuts_the_link_and_is_told() {
        let damaged = LinkError::Damaged("frame 3 of the stream: its checksum".to_owned());
        assert!(is_cut(cause(&damaged)) && is_remarkable(&damaged));
        let malformed = LinkError::Malformed("frame 3 of the stream: its length".to_owned());
        assert!(!is_cut(cause(&malformed)) && is_remarkable(&malformed));
    }
}
