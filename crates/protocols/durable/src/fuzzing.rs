//! What the fuzz targets run.

use crate::log::Recovery;
use crate::record::{FORMAT, Kept, Record};
use crate::{LogNews, Logged, LoggedConfig};
use quintet_contract::{Address, Effects, Input, OwnedFrame, Protocol, Snapshot, Time, Token};
use quintet_wire::registry::{DISK_DATA, DISK_REPLACE, LOG_NEWS, PORT_DISK, PORT_SPACE};
use quintet_wire::services::DiskDone;
use quintet_wire::{Decode, Encode, encode_to_vec};

/// A log as a file: it is refused, or a protocol is where it ends, whose new log is read again. What is whole of it is the same however it comes in
/// pieces.
///
/// # Panics
/// If it is not so: a defect.
pub fn log<P: Snapshot>(bytes: &[u8], config: &P::Config, make: fn(&P::Config) -> P)
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    let read = |piece: usize| {
        let (mut recovery, mut records) = (Recovery::new(FORMAT), Vec::new());
        for part in bytes.chunks(piece) {
            let taken = recovery.take(part, bytes.len() as u64, &mut |record| {
                records.push(record.to_vec());
                Ok(())
            });
            if let Err(unreadable) = taken {
                return (Err(unreadable), records);
            }
        }
        (Ok(recovery.whole()), records)
    };
    assert_eq!(read(bytes.len().max(1)), read(7), "pieces make no difference");
    if let Some(new) = opened(bytes, config, make) {
        assert!(opened(&new, config, make).is_some(), "a new log is good");
    }
}

/// The log that the next life begins with; none if this one is refused.
fn opened<P: Snapshot>(bytes: &[u8], config: &P::Config, make: fn(&P::Config) -> P) -> Option<Vec<u8>>
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    let me = Address { node: quintet_contract::NodeId(0), port: PORT_SPACE };
    let disk = Address { port: PORT_DISK, ..me };
    let mut logged = Logged::new(LoggedConfig::new(7, me), config.clone(), make);
    let mut out = Effects::default();
    logged.handle(Time::ZERO, Input::Started, &mut out);
    drop(out.frames());
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

/// A record: what is read of it is written again as it was.
///
/// # Panics
/// If it is not: a defect.
pub fn record(bytes: &[u8]) {
    if let Ok(record) = Record::decode_all(bytes) {
        assert_eq!(encode_to_vec(&record), bytes);
        if let Record::Input(time, kept) = record {
            kept.give(|input| {
                assert_eq!(encode_to_vec(&Record::Input(time, Kept::new(&input))), bytes);
            });
        }
    }
    if let Ok(news) = LogNews::decode_all(bytes) {
        assert_eq!(encode_to_vec(&news), bytes);
    }
}
