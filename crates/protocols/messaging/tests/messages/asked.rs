//! What the protocol above may do unasked, and what passes this layer untouched.

use crate::network::Conditions;
use crate::network::talker::ANSWER;
use crate::{A, B, class, heard, layer, message, network, prompt, talker, through};
use quintet_contract::{Bytes, Span};
use quintet_messaging::{Messages, MessagingConfig};
use quintet_session::Reliability;

#[test]
fn an_answer_to_nothing_takes_credit_as_any_message_does() {
    let mut network = network(1, Conditions::reliable(), Reliability::Link, &[A, B], |config| {
        config.window_slots = 4;
    });
    network.run(Span::from_secs(1));
    let unasked: Vec<_> = (0..9).map(|token| message(ANSWER, token, b"so", Bytes::new())).collect();
    unasked.iter().for_each(|frame| talker(&mut network, A).say(B, frame.clone()));
    prompt(&mut network, A);
    assert!(!talker(&mut network, A).has_said_all(), "four frames and what is kept back of them");
    network.run(Span::from_secs(1));
    assert_eq!(heard(&network, B, A), unasked);
    let [sender, receiver] = [(A, B), (B, A)].map(|(at, to)| layer(&network, at).credit(to).expect("up"));
    assert_eq!(sender.slots + receiver.owed_slots, 4);
    assert_eq!((sender.awaiting, receiver.unanswered), (0, 0));
}

#[test]
fn work_and_cells_and_frames_to_the_own_node_pass_untouched() {
    through::check(|doer| Messages::new(MessagingConfig::new(A, class), doer), |messages| messages.inner());
}
