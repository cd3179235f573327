//! What is asked again has less time left.

use super::Item;
use crate::codec::{ACK, COMMIT, FURTHER, FurtherOperation, MORE, OUT, READ, TAKE, Uses};
use quintet_contract::Time;

/// Where the span of a request lies that says how long it waits; none if it waits without end, or does not wait.
fn span_at(kind: quintet_contract::Kind, body: &[u8]) -> Option<usize> {
    let at = match kind {
        TAKE | READ if body.get(8).is_some_and(|how| how & 0xf == 1) => 9,
        FURTHER if may_wait(body) && body.get(9).is_some_and(|how| how & 0xf == 1) => 10,
        // A watch, behind its number and how many events it wants.
        MORE if body.get(8) == Some(&0) && body.get(21) == Some(&1) => 22,
        OUT => 8,
        ACK => 16,
        COMMIT => 8 + Uses::len_in(body)?,
        _ => return None,
    };
    let span = u64::from_le_bytes(*body.get(at..)?.first_chunk()?);
    (span != u64::MAX).then_some(at)
}

/// Whether a further operation is one that waits.
fn may_wait(body: &[u8]) -> bool {
    use FurtherOperation::{Replace, SelectRead, SelectTake};
    matches!(FurtherOperation::of_body(body), Some(Replace | SelectTake | SelectRead))
}

/// Takes off what has passed since it was first sent.
pub(super) fn spend(item: &mut Item, now: Time) {
    let Some(since) = item.since else { return };
    let Some(at) = span_at(item.frame.kind, &item.frame.body) else { return };
    let mut body = item.frame.body.to_vec();
    let span = u64::from_le_bytes(body[at..at + 8].try_into().expect("eight bytes"));
    body[at..at + 8].copy_from_slice(&span.saturating_sub(now.since(since).0).to_le_bytes());
    item.frame.body = body.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Address, Effects, Span, Token};

    #[test]
    fn a_group_that_is_asked_again_has_less_time_left() {
        let tuples = [crate::tuple![1i64]];
        let leases = [crate::LeaseId(3), crate::LeaseId(7)];
        let witnesses = [crate::Witness { age: 5, place: 1 }];
        let (deadline, expiries) = (Some(Span::from_millis(9)), &[][..]);
        let commit = crate::Request::Commit {
            leases: &leases,
            witnesses: &witnesses,
            deadline,
            tuples: &tuples,
            expiries,
        };
        let (mut out, to) = (Effects::default(), Address::new(1, 16));
        commit.send(&mut out, to, Token(1), Token(1)).expect("it is small");
        let (_, frame) = out.frames().pop().expect("it was sent");
        let mut item = Item { number: 1, frame, since: Some(Time(1)) };
        spend(&mut item, Time(1) + Span::from_millis(4));
        let at = span_at(COMMIT, &item.frame.body).expect("it waits for a while");
        assert_eq!(item.frame.body[at..at + 8], Span::from_millis(5).0.to_le_bytes());
    }

    #[test]
    fn a_watch_that_is_asked_again_has_less_time_left_and_a_look_has_none() {
        let template = crate::template![?i64];
        let (most, template) = (1, Some(&template));
        let frame_of = |request: crate::Request<'_>| {
            let mut out = Effects::default();
            request.send(&mut out, Address::new(1, 16), Token(1), Token(1)).expect("it is small");
            out.frames().pop().expect("it was sent").1
        };
        let wait = crate::Wait::For(Span::from_millis(9));
        let frame = frame_of(crate::Request::Watch { since: Some(7), most, wait, template });
        let mut item = Item { number: 1, frame, since: Some(Time(1)) };
        spend(&mut item, Time(1) + Span::from_millis(4));
        let at = span_at(MORE, &item.frame.body).expect("it waits for a while");
        assert_eq!(item.frame.body[at..at + 8], Span::from_millis(5).0.to_le_bytes());
        let look = frame_of(crate::Request::Look { from: 1 << 40 | 1, most, template });
        assert_eq!(span_at(MORE, &look.body), None);
    }

    #[test]
    fn the_age_at_which_a_page_goes_on_is_no_span() {
        let body = |operation: u8| [&[0; 8][..], &[operation, 1], &[0; 16]].concat();
        assert_eq!(span_at(FURTHER, &body(0)), Some(10));
        for operation in 3..7 {
            assert_eq!(span_at(FURTHER, &body(operation)), None, "{operation}");
        }
    }
}
