use super::*;

/// One byte, a length of three bytes, those, and one more.
const BYTES: &[u8] = b"\x07\x03\x00\x00\x00abc!";

#[test]
fn a_reader_tells_where_it_is() {
    let mut reader = Reader::new(BYTES);
    assert_eq!((reader.at(), reader.left()), (0, 9));
    assert_eq!(reader.u8(), Ok(7));
    assert_eq!(reader.counted("text", 3), Ok(&b"abc"[..]));
    assert_eq!((reader.at(), reader.left()), (8, 1));
}

#[test]
fn a_length_may_reach_its_limit_and_not_pass_it() {
    let after_one = |limit| {
        let mut reader = Reader::new(BYTES);
        reader.u8().and_then(|_| reader.length("length", limit))
    };
    assert_eq!(after_one(3), Ok(3));
    assert_eq!(after_one(4), Ok(3));
    let too_large = DecodeError::TooLarge { at: 1, field: "length", value: 3, limit: 2 };
    assert_eq!(after_one(2), Err(too_large));
}

#[test]
fn bytes_that_end_early_are_told_and_stay_unread() {
    let mut reader = Reader::new(b"\x01\x02\x03");
    assert_eq!(reader.u8(), Ok(1));
    assert_eq!(reader.u32(), Err(DecodeError::Truncated { at: 1, needed: 4, left: 2 }));
    assert_eq!(reader.u64(), Err(DecodeError::Truncated { at: 1, needed: 8, left: 2 }));
    assert_eq!(reader.u16(), Ok(0x0302));
    assert_eq!(reader.bytes(0), Ok(&[][..]));
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn what_is_left_over_is_told() {
    let mut reader = Reader::new(b"\x01\x02\x03");
    assert_eq!(reader.u8(), Ok(1));
    assert_eq!(reader.finish(), Err(DecodeError::Trailing { at: 1, left: 2 }));
}

#[test]
fn text_that_is_none_is_told_by_its_first_byte() {
    let text = |bytes: &'static [u8]| {
        let mut reader = Reader::new(bytes);
        reader.u8().and_then(|_| reader.text("text", 9))
    };
    assert_eq!(text(BYTES), Ok("abc"));
    assert_eq!(text(b"\x07\x02\x00\x00\x00\xff\xff!"), Err(DecodeError::NotText { at: 5 }));
}

#[test]
fn a_number_without_a_meaning_is_told_by_its_first_byte() {
    let mut reader = Reader::new(BYTES);
    assert_eq!(reader.u8(), Ok(7));
    let value = reader.u32().expect("four bytes follow");
    let invalid = DecodeError::Invalid { at: 1, field: "number", value: 3 };
    assert_eq!(reader.invalid("number", value, 4), invalid);
}

#[test]
fn a_flag_is_nothing_but_0_or_1() {
    let mut reader = Reader::new(b"\x00\x01\x02");
    assert_eq!((reader.flag("flag"), reader.flag("flag")), (Ok(false), Ok(true)));
    assert_eq!(reader.flag("flag"), Err(DecodeError::Invalid { at: 2, field: "flag", value: 2 }));
    assert_eq!(reader.flag("flag"), Err(DecodeError::Truncated { at: 3, needed: 1, left: 0 }));
}
