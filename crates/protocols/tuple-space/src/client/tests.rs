use super::*;
use crate::codec::TupleLengths;
use crate::codec::{Put, RequestView};
use crate::{Value, template, tuple};
use quintet_contract::Effects;
use quintet_contract::limits::MAX_BULK_BYTES;
use quintet_wire::Encode;

const TO: Address = Address::new(0, 16);

/// The frame that a request becomes.
fn frame(request: Request<'_>) -> quintet_contract::OwnedFrame {
    let mut out = Effects::default();
    request.send(&mut out, TO, Token(5), Token(3)).expect("it is no long request");
    let (to, frame) = out.frames().pop().expect("it was sent");
    assert_eq!((to, frame.kind, frame.token), (TO, request.kind(), Token(5)));
    frame
}

/// The tuples of a put as the manager reads them.
fn put(tuples: &[Tuple]) -> Vec<Tuple> {
    let frame = frame(Request::Out { deadline: None, tuples, expiries: &[] });
    let (settled, request) = RequestView::decode(&frame.borrow()).expect("it was just encoded");
    assert_eq!(settled, Token(3));
    let RequestView::Out(Put { tuples, .. }) = request else { panic!("{request:?}") };
    tuples.iter().map(|put| Tuple::decode(put.tuple.head(), &put.bulk).expect("it was checked")).collect()
}

#[test]
fn tuples_arrive_as_they_were_put_wherever_they_lie() {
    let short = |n: i64| tuple!["short", n];
    let long = |n: i64| tuple![n, vec![7u8; 1500 + n as usize], vec![9u8; 2000]];
    for (count, what) in
        [(1, "one"), (2, "few"), (9, "in the body"), (60, "heads of bodies' length"), (2000, "many")]
    {
        let tuples: Vec<_> = (0..count).map(|n| if n % 2 == 0 { long(n) } else { short(n) }).collect();
        assert_eq!(put(&tuples), tuples, "{what}");
    }
}

#[test]
fn long_data_of_one_tuple_among_several_stays_where_it_lies() {
    let long = Bytes::from(vec![7; 5000]);
    let tuples = [tuple!["short", 1i64], tuple!["long", long.clone()], tuple!["short", 2i64]];
    assert_eq!(put(&tuples), tuples);
    let frame = frame(Request::Out { deadline: None, tuples: &tuples, expiries: &[] });
    assert_eq!(frame.bulk.as_ptr(), long.as_ptr());
}

#[test]
fn tuples_that_are_too_long_together_are_refused_before_they_are_gathered() {
    // Memory that is never touched.
    let large = Bytes::from(vec![0; 1 << 30]);
    let mut tuples = vec![Tuple::from_values([Value::from(large)]); 3];
    let refused = |tuples: &[Tuple], bytes| {
        let error = TooLarge::Request { tuples: tuples.len(), bytes, limit: MAX_BULK_BYTES };
        assert_eq!(Request::Out { deadline: None, tuples, expiries: &[] }.planned().err(), Some(error));
    };
    refused(&tuples, 3 << 30);
    let short = tuple!["x".repeat(1000)];
    tuples.extend(vec![short; 70]);
    let heads = tuples.iter().map(|tuple| TupleLengths::BYTES + Encoded::tuple(tuple).unwrap().encoded_len());
    refused(&tuples, (3 << 30) + heads.sum::<usize>() + 4);
}

#[test]
fn why_a_request_was_not_sent_has_a_code_unless_it_may_be_sent_again() {
    let too_large = TooLarge::Request { tuples: 1, bytes: 2, limit: 1 };
    assert_eq!(RequestError::from(too_large).code(), Some(Code::TooLarge));
    assert_eq!(RequestError::from(SendError::TooLong { len: 2, limit: 1 }).code(), Some(Code::TooLarge));
    assert_eq!(RequestError::from(SendError::Unreachable).code(), Some(Code::Unreachable));
    assert_eq!(RequestError::from(SendError::Full).code(), None);
}

#[test]
fn a_template_is_encoded_once_and_sent_the_same() {
    let wanted = template!["row", ?i64];
    let take = || frame(Request::Take { wait: Wait::Forever, lease: None, template: &wanted }).body;
    assert_eq!(take(), take());
}
