//! Where large data goes: in the frame itself up to a limit, announced and in fragments beyond it.

use crate::network::Conditions;
use crate::network::talker::{ANSWER, ONE_WAY, REQUEST};
use crate::{A, B, class, heard, message, network, prompt, talker};
use quintet_contract::limits::{MAX_BODY_BYTES, MAX_PAYLOAD_BYTES};
use quintet_contract::{Bytes, Kind, Span};
use quintet_messaging::{ANNOUNCE, MessagingConfig, Window};
use quintet_session::Reliability;

/// A frame may cost half of it, without the 16 bytes that are kept back; large data in it a quarter.
const WINDOW: u32 = 4000;

/// How many messages were announced until one of so many bytes, and its answer if it has one, had arrived.
fn announced(kind: Kind, body: usize, bulk: usize, link: usize) -> usize {
    let conditions = Conditions { max_bulk_bytes: link, ..Conditions::reliable() };
    let mut network =
        network(1, conditions, Reliability::Link, &[A, B], |config| config.window_bytes = WINDOW);
    network.run(Span::from_secs(1));
    network.trace.clear();
    let said = message(kind, 3, &vec![1; body], Bytes::from(vec![2; bulk]));
    talker(&mut network, A).say(B, said.clone());
    prompt(&mut network, A);
    network.run(Span::from_secs(1));
    assert_eq!(heard(&network, B, A), std::slice::from_ref(&said));
    if kind == REQUEST {
        assert_eq!(heard(&network, A, B), [quintet_contract::OwnedFrame { kind: ANSWER, ..said }]);
    }
    network.trace.iter().filter(|(.., frame)| frame.kind == ANNOUNCE).count()
}

#[test]
fn large_data_that_fits_its_frame_is_not_announced_and_a_byte_more_is() {
    for (body, bulk, link, expected) in [
        (984, 1000, 64_000, 0),
        (985, 1000, 64_000, 1),
        (0, 1000, 64_000, 0),
        (0, 1001, 64_000, 1),
        (0, 700, 700, 0),
        (0, 701, 700, 1),
        (0, 1, 0, 1),
        (1984, 0, 0, 0),
    ] {
        assert_eq!(announced(ONE_WAY, body, bulk, link), expected, "{body} and {bulk} over {link}");
    }
}

#[test]
fn with_an_answer_as_much_goes_as_its_requester_has_room_for() {
    for (bulk, link, expected) in
        [(700, 700, 0), (701, 700, 2), (MAX_BODY_BYTES, 1 << 20, 1), (MAX_BODY_BYTES + 1, 1 << 20, 2)]
    {
        assert_eq!(announced(REQUEST, 0, bulk, link), expected, "{bulk} over {link}");
    }
}

#[test]
fn a_body_may_be_as_long_as_a_payload() {
    let mut network = network(1, Conditions::reliable(), Reliability::Link, &[A, B], |_| {});
    network.run(Span::from_secs(1));
    let longest = message(ONE_WAY, 1, &[1; MAX_PAYLOAD_BYTES], Bytes::new());
    talker(&mut network, A).say(B, longest.clone());
    talker(&mut network, A).say(B, message(ONE_WAY, 2, &[1; MAX_PAYLOAD_BYTES + 1], Bytes::new()));
    prompt(&mut network, A);
    network.run(Span::from_secs(1));
    assert_eq!(heard(&network, B, A), [longest]);
    assert_eq!(talker(&mut network, A).too_long.len(), 1);
}

#[test]
fn a_configuration_takes_the_window_and_the_requests_that_it_is_given() {
    let config = MessagingConfig::new(A, class).with_window(Window { slots: 5, bytes: 6 });
    assert_eq!((config.window_slots, config.window_bytes), (5, 6));
    assert_eq!(config.with_waiting_requests(100).requests, 100 + 256);
    let most = MessagingConfig::new(A, class).with_waiting_requests(usize::MAX).requests;
    assert_eq!(most, u32::MAX - 1, "they are counted in 32 bits");
}
