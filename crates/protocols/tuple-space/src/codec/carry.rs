//! What managers say to each other where tuples are collected out of a space that several of them have, or into it.
//!
//! ```text
//! what follows the number of a word, in a ROUTE:
//! 9   takes u8 | template, to the end: to stand still, and to say how much of it there is; answered with DONE and what follows, MOVED or ERROR
//!     there: 0: an index is being built, and it does not stand still; or 1 | amount | whether there are tuples among it that others run u8
//! 10  amount | template, to the end: to stand still, if there is room for so much that matches; answered with DONE, MOVED or ERROR
//! 11  n u32; in the bulk n tuples, as those of a TRANSFER: a page of what was spoken of before; not answered
//! amount  tuples u64 | bytes u64, as they count for a quota
//! ```
//!
//! The bulk of 9 and 10 is that of the template.

use super::TooLarge;
use super::managers::{MovedTuple, lay_out_moved, moved_tuples};
use super::put::own_part;
use super::route::Route;
use crate::space::{MAX_CARRIED_BYTES, MAX_COLLECTED};
use bytes::Bytes;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};

/// Tuples, and the bytes for which they count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Amount {
    pub(crate) tuples: u64,
    pub(crate) bytes: u64,
}

impl Encode for Amount {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.tuples);
        sink.u64(self.bytes);
    }
}

impl Decode<'_> for Amount {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (at, tuples, bytes) = (reader.at(), reader.u64()?, reader.u64()?);
        for (field, value, limit) in [
            ("collected tuples", tuples, MAX_COLLECTED as u64),
            ("collected bytes", bytes, MAX_CARRIED_BYTES),
        ] {
            if value > limit {
                return Err(DecodeError::TooLarge { at, field, value, limit });
            }
        }
        Ok(Amount { tuples, bytes })
    }
}

/// What a manager has of what is to be collected; none: an index is being built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct There(pub(crate) Option<(Amount, bool)>);

impl Encode for There {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.0.is_some().into());
        if let Some((amount, has_code)) = &self.0 {
            amount.encode(sink);
            sink.u8((*has_code).into());
        }
    }
}

impl Decode<'_> for There {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if !reader.flag("whether what is collected was looked for")? {
            return Ok(There(None));
        }
        let amount = Amount::decode(reader)?;
        Ok(There(Some((amount, reader.flag("whether others run what is collected")?))))
    }
}

/// The body of a word about what a template matches, whose head that is.
pub(crate) fn word_about(word: &Route, template: &[u8]) -> Vec<u8> {
    let mut body = encode_to_vec(word);
    body.bytes(template);
    body
}

/// The body and the bulk of a page.
///
/// # Errors
/// The tuples are too long for one.
pub(crate) fn page(tuples: &[MovedTuple]) -> Result<(Vec<u8>, Bytes), TooLarge> {
    let count = u32::try_from(tuples.len()).expect("at most MAX_COLLECTED");
    Ok((encode_to_vec(&Route::Page(count)), lay_out_moved(tuples)?))
}

/// The tuples of a page, each checked. `left`: so much is still to come.
///
/// # Errors
/// What is wrong with the bytes, or that it is more than is to come.
pub(crate) fn page_tuples(count: u32, bulk: &Bytes, left: Amount) -> Result<Vec<MovedTuple>, DecodeError> {
    let lengths = [
        ("tuples of a page", u64::from(count), left.tuples),
        // For a quota they count for more than what stands between them here.
        ("bytes of a page", bulk.len() as u64, left.bytes),
    ];
    for (field, value, limit) in lengths {
        if value > limit {
            return Err(DecodeError::TooLarge { at: 0, field, value, limit });
        }
    }
    // A link within one machine lends bulk that its sender can still write.
    let bulk = Bytes::copy_from_slice(bulk);
    let mut tuples = moved_tuples(count as usize, &bulk)?;
    for tuple in &mut tuples {
        tuple.bulk = own_part(&bulk, &tuple.bulk);
    }
    Ok(tuples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tuple, tuple};
    use quintet_contract::Span;

    fn moved(tuple: &Tuple, expires_in: Option<Span>) -> MovedTuple {
        let (head, bulk) = tuple.encode().expect("it is short");
        MovedTuple {
            age: 0,
            failed: 0,
            is_reserve: false,
            expires_in,
            change: None,
            number: 0,
            head: head.into(),
            bulk,
        }
    }

    fn amount_of(tuples: &[MovedTuple]) -> Amount {
        let bytes = tuples.iter().map(MovedTuple::stored_bytes).sum();
        Amount { tuples: tuples.len() as u64, bytes }
    }

    #[test]
    fn a_page_is_read_as_it_was_written_and_no_more_than_is_to_come() {
        let tuples = [
            moved(&tuple!["a", 1i64], None),
            moved(&tuple!["b", vec![7u8; 3000]], Some(Span(5))),
            moved(&tuple!["b", vec![8u8; 2000]], Some(Span(0))),
        ];
        let (body, bulk) = page(&tuples).expect("it is short");
        let Ok(Route::Page(count)) = Route::decode_all(&body) else { panic!("it was just written") };
        let all = amount_of(&tuples);
        assert_eq!(page_tuples(count, &bulk, all).as_deref(), Ok(&tuples[..]));
        for less in [Amount { tuples: 2, ..all }, Amount { bytes: 4000, ..all }] {
            let refused = page_tuples(count, &bulk, less);
            assert!(matches!(refused, Err(DecodeError::TooLarge { .. })), "{refused:?}");
        }
        assert!(page_tuples(count + 1, &bulk, Amount { tuples: 9, ..all }).is_err(), "one is missing");
    }

    #[test]
    fn many_short_tuples_take_fewer_bytes_on_the_way_than_they_count_for() {
        for tuple in [tuple![true], tuple!["x", vec![1u8; 1025]]] {
            for expires_in in [None, Some(Span(1))] {
                let tuples = vec![moved(&tuple, expires_in); 500];
                let (_, bulk) = page(&tuples).expect("it is short");
                assert!(page_tuples(500, &bulk, amount_of(&tuples)).is_ok(), "{tuple:?}");
            }
        }
    }

    #[test]
    fn what_there_is_is_read_as_it_was_written_and_bounded() {
        let amount = Amount { tuples: 7, bytes: MAX_CARRIED_BYTES };
        for there in [There(None), There(Some((amount, true))), There(Some((amount, false)))] {
            assert_eq!(There::decode_all(&encode_to_vec(&there)), Ok(there));
        }
        for more in [
            Amount { tuples: MAX_COLLECTED as u64 + 1, ..amount },
            Amount { bytes: MAX_CARRIED_BYTES + 1, ..amount },
        ] {
            assert!(There::decode_all(&encode_to_vec(&There(Some((more, true))))).is_err(), "{more:?}");
        }
    }
}
