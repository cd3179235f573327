//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::log::file_of;
use crate::record::{FORMAT, Kept, Life, Record};
use crate::{LogNews, Logged, LoggedConfig};
use quintet_contract::{Address, Effects, Input, NodeId, OwnedFrame, Protocol, Snapshot, Time, Token};
use quintet_wire::registry::{DISK_DATA, DISK_REPLACE, LOG_NEWS, PORT_DISK, PORT_SPACE};
use quintet_wire::services::DiskDone;
use quintet_wire::{Decode, Encode, encode_to_vec};

const ME: Address = Address { node: NodeId(0), port: PORT_SPACE };
const CLUSTER: u128 = 7;

/// Opens a log of any records, each behind its length u16: it is refused, or a protocol is where it ends, whose new log is good. What is read of a record is
/// written again as it was.
///
/// # Panics
/// If it is not so: a defect.
pub fn log<P: Snapshot>(data: &[u8], config: &P::Config, make: fn(&P::Config) -> P)
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    let (mut records, mut rest) = (Vec::new(), data);
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let (record, behind) = behind.split_at(usize::from(u16::from_le_bytes(*length)).min(behind.len()));
        written_again(record);
        records.push(record);
        rest = behind;
    }
    if let Some(new) = opened(&file_of(&FORMAT, records), config, make) {
        assert!(opened(&new, config, make).is_some(), "a new log is good");
    }
}

/// Such records: a life, a snapshot, and inputs.
#[must_use]
pub fn seed<P: Snapshot>(config: &P::Config, protocol: &P, inputs: &[(Time, Input<'_>)]) -> Vec<u8>
where
    P::Config: Encode,
{
    let config = encode_to_vec(config);
    // Nobody is known.
    let mut state = vec![0; 4];
    protocol.save(&mut state);
    let (cluster, port, behaviour) = (CLUSTER, ME.port.0, P::BEHAVIOUR);
    let life = Life { cluster, port, number: 3, behaviour, time: Time(1), config: &config };
    let first = [Record::Life(life), Record::Snapshot(true, &state)];
    let inputs = inputs.iter().map(|(time, input)| Record::Input(*time, Kept::new(input)));
    let mut data = Vec::new();
    for record in first.into_iter().chain(inputs) {
        let record = encode_to_vec(&record);
        data.extend_from_slice(&u16::try_from(record.len()).expect("a short record").to_le_bytes());
        data.extend_from_slice(&record);
    }
    data
}

/// The log that the next life begins with; none if this one is refused.
fn opened<P: Snapshot>(bytes: &[u8], config: &P::Config, make: fn(&P::Config) -> P) -> Option<Vec<u8>>
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    let disk = Address { port: PORT_DISK, ..ME };
    let mut logged = Logged::new(LoggedConfig::new(CLUSTER, ME), config.clone(), make);
    let mut out = Effects::default();
    logged.handle(Time::ZERO, Input::Started, &mut out);
    let body = encode_to_vec(&DiskDone { failed: false, length: bytes.len() as u64 }).into();
    let data = OwnedFrame { kind: DISK_DATA, token: Token(1), body, bulk: bytes.to_vec().into() };
    logged.handle(Time::ZERO, Input::Frame(disk, data.borrow()), &mut out);
    logged.handle(Time::ZERO, Input::Wake, &mut out);
    let frames = out.frames();
    let is_refused = frames.iter().any(|(_, frame)| {
        frame.kind == LOG_NEWS && matches!(LogNews::decode_all(&frame.body), Ok(LogNews::Refused(_)))
    });
    let new = frames.into_iter().find(|(to, frame)| *to == disk && frame.kind == DISK_REPLACE);
    assert_eq!(new.is_some(), !is_refused, "it is refused, or written anew");
    new.map(|(_, frame)| frame.bulk.to_vec())
}

fn written_again(bytes: &[u8]) {
    if let Ok(Record::Input(time, kept)) = Record::decode_all(bytes) {
        kept.give(|input| {
            let again = encode_to_vec(&Record::Input(time, Kept::new(&input)));
            let read = Record::decode_all(&again);
            assert_eq!(read, Ok(Record::Input(time, Kept::new(&input))));
        });
    }
    if let Ok(news) = LogNews::decode_all(bytes) {
        assert_eq!(encode_to_vec(&news), bytes);
    }
}
