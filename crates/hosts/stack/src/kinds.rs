//! What kinds of frames are called, where people read of them: in traces.

use quintet_broker::codec as broker;
use quintet_contract::Kind;
use quintet_messaging as messaging;
use quintet_session as session;
use quintet_tuple_space::codec as space;
use quintet_wire::registry::KINDS;

/// The kinds that have a name of their own. Those of other services are called by the service.
const NAMES: [(Kind, &str); 60] = [
    (session::HELLO, "hello"),
    (session::WELCOME, "welcome"),
    (session::REFUSED, "session refused"),
    (session::ACKNOWLEDGE, "frames acknowledged"),
    (session::PING, "ping"),
    (session::PONG, "pong"),
    (session::GOODBYE, "goodbye"),
    (session::RESET, "reset"),
    (session::CHALLENGE, "challenge"),
    (messaging::OPEN, "channel opened"),
    (messaging::CREDIT, "credit"),
    (messaging::ANNOUNCE, "bulk announced"),
    (messaging::GRANT, "bulk granted"),
    (messaging::FRAGMENT, "fragment"),
    (messaging::PROCEED, "fragments may go on"),
    (messaging::REFUSED, "channel refused"),
    (messaging::CALL_FAILED, "call failed"),
    (messaging::PACK, "pack"),
    (space::OUT, "out"),
    (space::TAKE, "take"),
    (space::READ, "read"),
    (space::CANCEL, "cancel"),
    (space::RETURN, "return"),
    (space::ACK, "acknowledge"),
    (space::RELEASE, "release"),
    (space::RENEW, "renew"),
    (space::COUNT, "count"),
    (space::STATUS, "status"),
    (space::COMMIT, "commit"),
    (space::MORE, "watch or look"),
    (space::EVENTS, "events"),
    (space::COLLECTED, "page of a collection"),
    (space::TOLD, "events too old"),
    (space::SPACES, "spaces"),
    (space::NAMED, "request to a named space"),
    (space::SPACE_ROWS, "list of spaces"),
    (space::CLIENT_WORD, "client's word of itself"),
    (space::CLIENT_REPLY, "reply to a client's word"),
    (space::PREPARE, "prepare a part"),
    (space::PREPARED, "part prepared"),
    (space::ROUTE, "ask the directory"),
    (space::FENCE, "fence"),
    (space::MIGRATE, "migrate"),
    (space::TRANSFER, "transfer of tuples"),
    (space::ROUTES, "directory"),
    (space::MOVED, "moved"),
    (space::DONE, "done"),
    (space::TUPLE, "tuple"),
    (space::NO_MATCH, "no match"),
    (space::COUNTED, "counted"),
    (space::STATE, "state"),
    (space::ERROR, "error"),
    (broker::REGISTER, "register"),
    (broker::AWAIT, "await"),
    (broker::CALL, "call"),
    (broker::NEXT, "next"),
    (broker::REPLY, "reply"),
    (broker::LEAVE, "leave"),
    (broker::CANCEL, "cancel call"),
    (broker::ANSWER, "answer of the broker"),
];

/// A few words for a kind.
#[must_use]
pub fn kind_name(kind: Kind) -> &'static str {
    let named = NAMES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name);
    let owned = || KINDS.iter().find(|range| range.contains(kind)).map(|range| range.owner);
    let of_isochrons = || quintet_isotach::codec::name_of(kind);
    named.or_else(of_isochrons).or_else(owned).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_one_name_and_each_name_one_kind() {
        let kinds: BTreeSet<u8> = NAMES.iter().map(|(kind, _)| kind.0).collect();
        let names: BTreeSet<&str> = NAMES.iter().map(|(_, name)| *name).collect();
        assert_eq!((kinds.len(), names.len()), (NAMES.len(), NAMES.len()));
    }

    #[test]
    fn others_are_called_by_who_has_them() {
        assert_eq!(kind_name(quintet_launch::codec::REQUEST), "launch");
        assert_eq!(kind_name(quintet_isotach::codec::TOKEN), "token of logical time");
        assert_eq!(kind_name(Kind(0)), "unknown");
    }
}
