use super::*;

const TO: Address = Address::new(1, 2);

#[test]
fn effects_are_collected_in_order_and_drained_once() {
    let mut effects = Effects::default();
    effects.work(Stage(3), 4);
    assert_eq!(effects.send(TO, Kind(5), Token(6), b"body"), Ok(()));
    assert_eq!(effects.send_bulk(TO, Kind(7), Token(8), b"head", Bytes::from_static(b"bulk")), Ok(()));
    effects.disconnect(TO, Disconnect::ForGood);
    let frame = |kind, token, body: &'static [u8], bulk: &'static [u8]| OwnedFrame {
        kind: Kind(kind),
        token: Token(token),
        body: Bytes::from_static(body),
        bulk: Bytes::from_static(bulk),
    };
    let expected = [
        Effect::Work(Stage(3), 4),
        Effect::Sent(TO, frame(5, 6, b"body", b"")),
        Effect::Sent(TO, frame(7, 8, b"head", b"bulk")),
        Effect::Disconnected(TO, Disconnect::ForGood),
    ];
    assert!(effects.drain().eq(expected));
    assert_eq!(effects.drain().count(), 0);
}

#[test]
fn a_frame_is_as_long_as_was_committed() {
    let mut effects = Effects::default();
    for len in [0, 2, 4] {
        effects.begin(TO, Kind(1), Token(2), 4).expect("nothing is refused").copy_from_slice(b"body");
        effects.commit(len);
        let (_, frame) = effects.frames().pop().expect("it was sent");
        assert_eq!(frame.body[..], b"body"[..len]);
    }
}

#[test]
#[should_panic(expected = "commit follows begin")]
fn what_was_begun_before_a_disconnect_is_abandoned() {
    let mut effects = Effects::default();
    effects.begin(TO, Kind(1), Token(2), 4).expect("nothing is refused");
    effects.disconnect(TO, Disconnect::ForGood);
    effects.commit(0);
}
