//! What a send takes of its sender's processor: without a marker and with one, and with copies of a variable at several members, beside a plain message. The rows of the study's table, with the data of
//! its packets of 64 and 1024 bytes.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::Over;
use super::cost::{MEMBERS, cost};
use super::member::Waits;
use super::net::Net;
use super::{PLAIN, case};
use quintet::Error;
use quintet_reproduce::isotach_1_0::Way;
use quintet_reproduce::isotach_1_0::live::Sent;

/// Sends of a round.
const COUNT: usize = 10_000;

/// A case, what it sends, and how that is measured and a plain message of so many bytes.
type Row = (&'static str, Sent, [Prepare; 2]);

macro_rules! sent {
    ($name:literal, $bytes:literal, $is_value:literal, $others:literal, $has_own_part:literal) => {{
        const SENT: Sent = Sent { is_value: $is_value, others: $others, has_own_part: $has_own_part };
        let isochrons: Prepare = || prepare(SENT, Way::Safe, $bytes);
        let plain: Prepare = || prepare(Sent::MESSAGE, Way::Plain, $bytes);
        (concat!("isochron-send-cost-", $name, "-", $bytes, "-shm"), SENT, [isochrons, plain])
    }};
}

macro_rules! of_bytes {
    ($bytes:literal) => {
        [
            sent!("message", $bytes, false, 1, false),
            sent!("message-marked", $bytes, false, 1, true),
            sent!("copies-elsewhere-1", $bytes, true, 1, false),
            sent!("copies-elsewhere-2", $bytes, true, 2, false),
            sent!("copies-elsewhere-4", $bytes, true, 4, false),
            sent!("copy-own", $bytes, true, 0, true),
            sent!("copies-own-2", $bytes, true, 1, true),
            sent!("copies-own-4", $bytes, true, 3, true),
        ]
    };
}

fn rows() -> impl Iterator<Item = Row> {
    [of_bytes!(44), of_bytes!(1004)].into_iter().flatten()
}

pub(super) fn cases() -> Vec<Case> {
    let time = (Unit::Nanoseconds, Better::Lower);
    rows().map(|(name, _, [isochrons, plain])| case(name, time, isochrons, (PLAIN, plain))).collect()
}

/// Members that sleep where nothing has come, so that what their threads take is work.
fn prepare(sent: Sent, way: Way, bytes: usize) -> Result<Round, Error> {
    let net = Net::start_waiting(Over::Shm, MEMBERS, Waits::Asleep)?;
    cost(&net, (sent, way), bytes, COUNT / 10)?;
    Ok(net.rounds(move |net| Ok(cost(net, (sent, way), bytes, COUNT)?.as_nanos() as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_table_is_a_case() {
        let all: Vec<Sent> = rows().map(|(_, sent, _)| sent).collect();
        assert_eq!(all, [Sent::all(), Sent::all()].concat());
    }
}
