//! What several managers do at one instant: what each of them is to do of it, as its client says.
//!
//! ```text
//! PREPARE   settled u64 | 0: a part u8 | n u8, n parts that were prepared (manager u8, number u64) | as COMMIT behind settled: what it ends and puts
//!           settled u64 | 1: a part is given up u8 | number u64
//!           settled u64 | 2: a part of a select or a replacement u8 | n u8, n parts that were prepared | see `seek.rs`
//! PREPARED  number u64
//! ```
//!
//! The managers of the parts go up, and each is above the one that is asked: that one brings them together.

use super::group::{Uses, uses_len};
use super::managers::MAX_MANAGERS;
use super::put::{Put, PutTuple, TupleLengths};
use super::seek::{SeekBody, SeekView};
use super::{BULK_ALIGNMENT, LeaseId, REQUEST_BYTES, TooLarge, Wait, Witness, encode_uses};
use bytes::Bytes;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

const PART: u8 = 0;
const GIVE_UP: u8 = 1;
const SEEK: u8 = 2;

/// A part that a manager has prepared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PreparedAt {
    pub(crate) manager: u8,
    /// As that manager has called it.
    pub(crate) number: u64,
}

impl PreparedAt {
    const BYTES: usize = 9;
}

impl Encode for PreparedAt {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.manager);
        sink.u64(self.number);
    }
}

impl Decode<'_> for PreparedAt {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(PreparedAt { manager: reader.u8()?, number: reader.u64()? })
    }
}

/// What a client asks of one of several managers.
#[derive(Clone, Debug)]
pub(crate) enum Prepare<'a> {
    Part(PartView<'a>),
    /// What it is to look for.
    Seek(SeekView<'a>),
    /// Nothing comes of this part.
    GiveUp(u64),
}

/// A part as the manager reads it, checked.
#[derive(Clone, Debug)]
pub(crate) struct PartView<'a> {
    /// Those of other managers; none: it is prepared, and brought together with others by another manager.
    pub(crate) others: Vec<PreparedAt>,
    pub(crate) uses: Uses<'a>,
    pub(crate) put: Put<'a>,
}

impl<'a> Prepare<'a> {
    /// Reads it, behind `settled`.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn decode(body: &'a [u8], bulk: &'a Bytes) -> Result<(u64, Prepare<'a>), DecodeError> {
        let mut reader = Reader::new(body);
        let settled = reader.u64()?;
        let prepare = match reader.u8()? {
            PART => Prepare::Part(PartView::decode(&mut reader, bulk)?),
            SEEK => {
                let others = prepared(&mut reader)?;
                Prepare::Seek(SeekView::decode(others, &mut reader, bulk)?)
            }
            GIVE_UP if bulk.is_empty() => Prepare::GiveUp(reader.u64()?),
            other => return Err(reader.invalid("what is prepared", other, 1)),
        };
        reader.finish()?;
        Ok((settled, prepare))
    }

    /// Whether more lies in the bulk than data that is only compared, hashed and passed on: the heads of tuples.
    pub(crate) fn relies_on_bulk(body: &[u8]) -> bool {
        let uses = || {
            if body.get(8) == Some(&SEEK) {
                return Some(true);
            }
            let mut reader = Reader::new(body.get(8..)?);
            let is_part = reader.u8().ok()? == PART;
            let others = usize::from(reader.u8().ok()?);
            reader.bytes(others * PreparedAt::BYTES).ok()?;
            Uses::decode(&mut reader).ok()?;
            // Behind the deadline and the number of tuples.
            Some(is_part && reader.left() == 8 + 4)
        };
        uses().unwrap_or(false)
    }
}

impl<'a> PartView<'a> {
    fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<PartView<'a>, DecodeError> {
        let others = prepared(reader)?;
        let uses = Uses::decode(reader)?;
        if !uses.is_commit {
            return Err(reader.invalid("whether a part is to happen", 0u8, 1));
        }
        Ok(PartView { others, uses, put: Put::decode(reader, bulk)? })
    }
}

/// Parts that were prepared, their managers going up.
fn prepared(reader: &mut Reader<'_>) -> Result<Vec<PreparedAt>, DecodeError> {
    let number = reader.u8()?;
    if usize::from(number) >= MAX_MANAGERS {
        return Err(reader.invalid("number of other parts", number, 1));
    }
    let mut others: Vec<PreparedAt> = Vec::with_capacity(number.into());
    for _ in 0..number {
        let other = PreparedAt::decode(reader)?;
        if others.last().is_some_and(|last| last.manager >= other.manager) {
            return Err(reader.invalid(
                "manager of a part, which is not above the one before",
                other.manager,
                9,
            ));
        }
        others.push(other);
    }
    Ok(others)
}

/// A part as it is written: all but what stands in front of it.
#[derive(Debug)]
pub(crate) struct PartBody {
    uses: Vec<u8>,
    tuples: Vec<u8>,
    bulk: Bytes,
}

impl PartBody {
    /// Of what one manager has of it: leases going up.
    ///
    /// # Errors
    /// The tuples are too long for one.
    pub(crate) fn new(
        leases: &[LeaseId],
        witnesses: &[Witness],
        put: &[PutTuple<'_>],
    ) -> Result<PartBody, TooLarge> {
        let mut bytes = Vec::new();
        encode_uses(true, leases, witnesses, &mut bytes);
        let front =
            REQUEST_BYTES + MAX_MANAGERS * PreparedAt::BYTES + uses_len(leases.len(), witnesses.len());
        let (tuples, bulk) = lay_out(put, front)?;
        Ok(PartBody { uses: bytes, tuples, bulk })
    }

    /// Its body, behind what stands in front of it, and its bulk. `waits`: for how long it may wait for room.
    fn append(&self, waits: Wait, body: &mut Vec<u8>) -> Bytes {
        body.bytes(&self.uses);
        body.u64(if let Wait::For(span) = waits { span.0 } else { u64::MAX });
        body.bytes(&self.tuples);
        self.bulk.clone()
    }
}

/// What one manager is asked of a request of several.
#[derive(Debug)]
pub(crate) enum AskedPart {
    Part(PartBody),
    Seek(SeekBody),
}

impl AskedPart {
    /// Its body and its bulk. `others`: the parts that were prepared, if this manager brings them together.
    pub(crate) fn to_parts(&self, settled: &[u8], others: &[PreparedAt], wait: Wait) -> (Vec<u8>, Bytes) {
        let mut body = settled.to_vec();
        body.u8(if matches!(self, AskedPart::Part(_)) { PART } else { SEEK });
        body.u8(u8::try_from(others.len()).expect("fewer than MAX_MANAGERS"));
        others.iter().for_each(|other| other.encode(&mut body));
        let bulk = match self {
            AskedPart::Part(part) => part.append(wait, &mut body),
            AskedPart::Seek(seek) => seek.append(wait, &mut body),
        };
        (body, bulk)
    }
}

/// Tuples, or templates and tuples, as they follow in a body behind so many bytes, and their bulk.
///
/// # Errors
/// They are too long for one request.
pub(super) fn lay_out(put: &[PutTuple<'_>], front: usize) -> Result<(Vec<u8>, Bytes), TooLarge> {
    let (mut heads, mut tuples) = (Vec::new(), Vec::new());
    for PutTuple { tuple, bulk, expires_in } in put {
        let (head, bulk) = (tuple.head().len(), bulk.len());
        TupleLengths { head, bulk, expires_in: *expires_in }.encode(&mut heads);
        heads.bytes(tuple.head());
    }
    let mut bulk = gathered(put);
    tuples.u32(u32::try_from(put.len()).expect("they came in one request"));
    if front + heads.len() <= MAX_PAYLOAD_BYTES {
        tuples.bytes(&heads);
    } else {
        let mut with_heads = bulk.to_vec();
        with_heads.bytes(&heads);
        with_heads.u32(u32::try_from(heads.len()).expect("they came in one request"));
        bulk = with_heads.into();
    }
    match bulk.len() {
        bytes if bytes > MAX_BULK_BYTES => {
            Err(TooLarge::Request { tuples: put.len(), bytes, limit: MAX_BULK_BYTES })
        }
        _ => Ok((tuples, bulk)),
    }
}

/// The body that gives a part up. Nothing is settled by it.
pub(crate) fn give_up_body(number: u64) -> Vec<u8> {
    let mut body = vec![0; size_of::<u64>()];
    body.u8(GIVE_UP);
    body.u64(number);
    body
}

/// The bulk of these tuples: that of a single one stays where it lies.
fn gathered(put: &[PutTuple<'_>]) -> Bytes {
    let mut long = put.iter().map(|put| &put.bulk).filter(|bulk| !bulk.is_empty());
    match (long.next(), long.next()) {
        (None, _) => return Bytes::new(),
        (Some(only), None) => return only.clone(),
        _ => {}
    }
    let mut bulk = Vec::new();
    for part in put.iter().map(|put| &put.bulk).filter(|bulk| !bulk.is_empty()) {
        bulk.resize(bulk.len().next_multiple_of(BULK_ALIGNMENT), 0);
        bulk.extend_from_slice(part);
    }
    bulk.into()
}

/// The body of [`PREPARED`](super::PREPARED).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreparedBody(pub(crate) u64);

impl Encode for PreparedBody {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

impl Decode<'_> for PreparedBody {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u64().map(PreparedBody)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Further, FurtherOperation, View};
    use crate::{Template, Tuple, template, tuple};
    use quintet_contract::Span;

    fn read(tuples: &[Tuple]) -> (Vec<u8>, Bytes) {
        let encoded: Vec<_> = tuples.iter().map(|tuple| tuple.encode().expect("it is short")).collect();
        let put: Vec<_> = encoded
            .iter()
            .zip([None, Some(Span(5))].into_iter().cycle())
            .map(|((head, bulk), expires_in)| PutTuple {
                tuple: View::checked_tuple(head, bulk),
                bulk: bulk.clone(),
                expires_in,
            })
            .collect();
        let (leases, witnesses) = ([LeaseId(3), LeaseId(8)], [Witness { age: 7, place: 1 }]);
        let part = PartBody::new(&leases, &witnesses, &put).expect("it fits");
        let others = [PreparedAt { manager: 1, number: 4 }, PreparedAt { manager: 3, number: 9 }];
        let (body, bulk) = AskedPart::Part(part).to_parts(&6u64.to_le_bytes(), &others, Wait::For(Span(11)));
        let Ok((6, Prepare::Part(view))) = Prepare::decode(&body, &bulk) else {
            panic!("it was just written")
        };
        assert_eq!((view.others.as_slice(), view.put.deadline), (&others[..], Span(11)));
        assert!(view.uses.leases().eq(leases) && view.uses.witnesses().eq(witnesses));
        let expiries = view.put.tuples.iter().map(|put| put.expires_in);
        assert!(expiries.eq(put.iter().map(|put| put.expires_in)));
        let decoded = view.put.tuples.iter().map(|put| Tuple::decode(put.tuple.head(), &put.bulk));
        assert!(decoded.eq(tuples.iter().cloned().map(Ok)));
        (body, bulk)
    }

    #[test]
    fn a_part_is_read_as_it_was_written_wherever_its_tuples_lie() {
        let long = |n: i64| tuple![n, vec![7u8; 1500 + n as usize]];
        let (_, bulk) = read(&[]);
        assert!(bulk.is_empty());
        let (body, _) = read(&[tuple!["short", 1i64], long(3), tuple!["short", 2i64]]);
        assert!(!Prepare::relies_on_bulk(&body), "data are passed on as they are");
        let (body, _) = read(&(0..2000).map(|n| tuple!["x".repeat(40), n as i64]).collect::<Vec<_>>());
        assert!(body.len() < 200 && Prepare::relies_on_bulk(&body), "heads lie in the bulk");
        read(&(0..60).map(long).collect::<Vec<_>>());
    }

    fn part_of(template: &Template) -> (Vec<u8>, Bytes) {
        template.encode().expect("it is short")
    }

    #[test]
    fn what_a_manager_is_to_look_for_is_read_as_it_was_written() {
        let templates = [template![1i64, "x".repeat(2000)], template![?i64]].map(|one| part_of(&one));
        let parts: Vec<_> = templates
            .iter()
            .map(|(head, bulk)| PutTuple {
                tuple: View::template(head, bulk).expect("it is one"),
                bulk: bulk.clone(),
                expires_in: None,
            })
            .collect();
        let (operation, lease) = (FurtherOperation::SelectTake, Some(Span(7)));
        let seek = SeekBody::new((operation, lease), true, &[4, 9], &parts).expect("it fits");
        let others = [PreparedAt { manager: 2, number: 5 }];
        let (body, bulk) = AskedPart::Seek(seek).to_parts(&[0; 8], &others, Wait::For(Span(3)));
        assert!(Prepare::relies_on_bulk(&body), "templates are compared where they lie");
        let Ok((0, Prepare::Seek(view))) = Prepare::decode(&body, &bulk) else { panic!("it was written") };
        let Further::Select(select) = &view.further else { panic!("it is a select") };
        assert_eq!((select.takes, select.wait, select.lease), (true, Wait::For(Span(3)), lease));
        assert!(
            select
                .templates
                .iter()
                .map(|(view, _)| view.head())
                .eq(parts.iter().map(|part| part.tuple.head()))
        );
        assert_eq!((view.others.as_slice(), &*view.which, view.is_here), (&others[..], &[4, 9][..], true));
        // A replacement whose tuples are elsewhere; and what no router says.
        let seek = |operation, which: &[u8]| {
            let seek = SeekBody::new((operation, None), true, which, &parts[1..]).expect("it fits");
            let (body, bulk) = AskedPart::Seek(seek).to_parts(&[0; 8], &[], Wait::AtOnce);
            Prepare::decode(&body, &bulk).map(|_| ())
        };
        assert_eq!(seek(FurtherOperation::Replace, &[]), Ok(()));
        assert!(seek(FurtherOperation::Replace, &[0]).is_err(), "it has one template");
        assert!(seek(FurtherOperation::SelectRead, &[0, 1]).is_err(), "it has one template only");
        assert!(seek(FurtherOperation::Collect, &[0]).is_err(), "pages are one manager's");
    }

    #[test]
    fn managers_of_parts_go_up() {
        let part = AskedPart::Part(PartBody::new(&[], &[], &[]).expect("it is empty"));
        for wrong in [[2, 1], [1, 1]] {
            let others = wrong.map(|manager| PreparedAt { manager, number: 1 });
            let (body, bulk) = part.to_parts(&[0; 8], &others, Wait::Forever);
            assert!(Prepare::decode(&body, &bulk).is_err(), "{wrong:?}");
        }
        let given_up = Prepare::decode(&give_up_body(7), &Bytes::new())
            .map(|(_, given_up)| matches!(given_up, Prepare::GiveUp(7)));
        assert_eq!(given_up, Ok(true));
    }
}
