use super::*;
use quintet_contract::Effects;

/// Every sort of field.
struct Fields;

impl Encode for Fields {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(1);
        sink.u16(2);
        sink.u32(3);
        sink.u64(4);
        sink.counted(b"five");
    }
}

/// The same, with room for one byte more.
struct Bounded;

impl Encode for Bounded {
    fn encode(&self, sink: &mut impl Sink) {
        Fields.encode(sink);
    }

    fn max_len(&self) -> usize {
        ENCODED.len() + 1
    }
}

const ENCODED: &[u8] = b"\x01\x02\x00\x03\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00five";

#[test]
fn a_length_is_that_of_the_bytes_and_the_bound_no_other() {
    assert_eq!(encode_to_vec(&Fields), ENCODED);
    assert_eq!((Fields.encoded_len(), Fields.max_len()), (ENCODED.len(), ENCODED.len()));
}

#[test]
fn a_message_goes_as_long_as_it_is() {
    let mut out = Effects::default();
    let to = Address::new(1, 2);
    assert_eq!(send(&mut out, to, Kind(3), Token(4), &Fields), Ok(()));
    assert_eq!(send(&mut out, to, Kind(3), Token(4), &Bounded), Ok(()));
    for (address, frame) in out.frames() {
        assert_eq!((address, frame.kind, frame.token, &frame.body[..]), (to, Kind(3), Token(4), ENCODED));
    }
}
