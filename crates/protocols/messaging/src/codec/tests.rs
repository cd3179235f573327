use super::*;
use proptest::prelude::*;
use quintet_wire::encode_to_vec;

proptest! {
    #[test]
    fn a_prefix_comes_back(slots: u16, bytes: u32, answer: bool) {
        let prefix = Prefix { credit: Credit { slots: u32::from(slots), bytes }, answer };
        let mut room = [0xff; PREFIX_BYTES];
        prefix.write(&mut room);
        prop_assert_eq!(Prefix::decode_all(&room), Ok(prefix));
    }

    #[test]
    fn limits_come_back_or_make_no_sense(
        slots: u32, bytes: u32, requests: u32, bulk in 0..=u32::MAX, budget: u64, fragments: u32,
    ) {
        let limits = Limits { slots, bytes, requests, bulk, budget, fragments };
        prop_assert_eq!(limits.encoded_len(), limits.max_len());
        let sensible = slots >= 2 && bytes >= 4 && requests >= 1 && bulk as usize <= MAX_BULK_BYTES && fragments >= 1;
        prop_assert_eq!(Limits::decode_all(&encode_to_vec(&limits)).ok(), sensible.then_some(limits));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        if let Ok(announce) = Announce::decode_all(&bytes) {
            prop_assert_eq!(encode_to_vec(&announce), bytes.clone());
        }
        if let Ok(refused) = Refused::decode_all(&bytes) {
            prop_assert_eq!(encode_to_vec(&refused), bytes.clone());
        }
        let _ = (Credit::decode_all(&bytes), Proceed::decode_all(&bytes), Prefix::decode_all(&bytes));
    }
}

#[test]
fn an_announcement_of_nothing_or_of_a_control_frame_is_refused() {
    let announce = |total, kind| Announce::decode_all(&encode_to_vec(&Announce { total, kind: Kind(kind) }));
    assert!(announce(1, 0xf0).is_ok());
    assert!(announce(0, 0xf0).is_err());
    assert!(announce(1, 0x01).is_err() && announce(1, 0x12).is_err());
}

#[test]
fn the_short_frames_are_as_long_as_they_say() {
    let credit = Credit { slots: u32::MAX, bytes: u32::MAX };
    assert_eq!(credit.encoded_len(), credit.max_len());
    assert_eq!(Proceed(u32::MAX).encoded_len(), Proceed(u32::MAX).max_len());
    assert_eq!(Refused(Code::Malformed).encoded_len(), Refused(Code::Malformed).max_len());
    assert_eq!(Grant.encoded_len(), Grant.max_len());
}
