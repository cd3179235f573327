//! Why cells are missed, as far as the printed values tell.
//!
//! Some are strange: they hardly go with each other or with the appendix. But what makes them so is a model's assumption, such as
//! that a transport processor is busy while the LAN carries its packet, and not the text; so they are compared.

use super::case::{Application, Case, Lan, Model, Transport};
use crate::cell::Column;

const LOAD: &str =
    "as far as the LAN goes, these rows have a background load of 6 percent, above the 3 to 5 of the text";
const CLIENT_GROWS: &str = "printed, a REXEC client's time a word grows with the buffer (27 us at 32768 words, 34 at 65024): a cost by the \
     word cannot follow";
const RELAYS: &str = "printed, relaying a small message costs a transport processor 0.05 ms besides the set-ups by RPC and 0.28 ms by \
     REXEC: one instruction for both is between";
const OTHER_CONVERSIONS: &str = "the appendix's cycles for conversions and calls are 0.87 s a job; printed is 1.10 over TCP and 0.96 over UDP, \
     for the same modules";
const FEW_ACKNOWLEDGEMENTS: &str = "each 4096 bytes wait for an acknowledgement, which costs client xport 1.5 ms of set-up: 96 or 190 ms \
     a read at least, by table 5.2's bytes; the time printed holds a quarter to a third of them";
const MORE_ACKNOWLEDGEMENTS: &str = "printed, client xport has 250 set-ups of 1.5 ms a read, two for each 4096 bytes of table 5.2; the \
     text has one acknowledgement, as the rows of RPC show";
const LAN_ABOVE_SENDER: &str = "a frame holds the LAN for 1.23 ms at most (0.124 on FDDI) and costs server xport 1.5 ms of set-up \
     before: if it is busy meanwhile, as in all other rows, it is longer than printed, or the LAN shorter";
const FEWER_BYTES: &str = "printed, the LAN carries 13.6 bytes a word of this buffer on Ethernet and 14.7 on FDDI, and 16 and more at 16 \
     MIPS, from the same modules";
const COPIED_SENDER: &str = "the value of the UDP row with twice the words; by it half a buffer would cost server xport a third of what a \
     whole one does, and be below what the LAN carries";
const FASTER_SMALL: &str = "the client's work for a read cannot depend on the server's speed; with the time printed it does \
     (client applic 0.107 ms for 0.095, client xport 2.0 for 1.8), while a tenth less brings all four processors together";
const TWO_SIZES: &str = "printed, the LAN carries 12 bytes a word of this buffer on Ethernet and 15 on FDDI, from the same modules: no \
     expansion gives both";
const AS_OVER_TCP: &str =
    "printed, server xport is as busy as over TCP, though with UDP it has no acknowledgement to handle";
const SLOWER_SERVER: &str = "printed, server applic works 1.03 s for 32768 words and 1.40 for 65024 here, 0.84 and 1.41 over \
     Ethernet: no cost by the word gives both";
const IDLE_SERVER: &str = "printed, the server's two processors are busy for 1.44 s of 2.93: nothing in the text waits for the rest";

/// The cause of a miss, if one is known.
pub(super) fn why(case: &Case, column: Column) -> Option<&'static str> {
    let name = column.name();
    let Application::Realtime { words } = case.application else {
        return match name {
            "client_xport" => Some(RELAYS),
            "client_applic" if case.model == Model::Rpc => Some(OTHER_CONVERSIONS),
            _ => None,
        };
    };
    match (case.model, words) {
        (Model::Rpc, 1) => of_small_calls(name),
        (Model::Rpc, _) => of_large_calls(case, name),
        (_, 1) => of_small_reads(case, name),
        _ if case.server_mips == 32 => of_a_fast_server(case, name),
        _ if case.transport == Transport::Tcp => of_large_reads(case, words, name),
        _ => Some(if name == "client_applic" { CLIENT_GROWS } else { TWO_SIZES }),
    }
}

fn of_small_calls(name: &str) -> Option<&'static str> {
    match name {
        "lan" => Some(LOAD),
        "server_xport" | "client_xport" => Some(RELAYS),
        _ => None,
    }
}

fn of_large_calls(case: &Case, name: &str) -> Option<&'static str> {
    match name {
        "server_xport" if case.transport == Transport::Tcp => Some(COPIED_SENDER),
        "client_xport" => Some(RELAYS),
        _ => None,
    }
}

fn of_small_reads(case: &Case, name: &str) -> Option<&'static str> {
    match name {
        "read_time_s" | "throughput_bytes_per_s" if case.server_mips == 32 => Some(FASTER_SMALL),
        "server_xport" if case.transport == Transport::Udp => Some(AS_OVER_TCP),
        "client_xport" => Some(RELAYS),
        _ => None,
    }
}

/// With 32 MIPS.
fn of_a_fast_server(case: &Case, name: &str) -> Option<&'static str> {
    match name {
        "client_xport" => Some(MORE_ACKNOWLEDGEMENTS),
        "server_xport" => Some(LAN_ABOVE_SENDER),
        "lan" => Some(FEWER_BYTES),
        _ if case.lan == Lan::Fddi => Some(IDLE_SERVER),
        _ => None,
    }
}

/// With 16 MIPS, over TCP.
fn of_large_reads(case: &Case, words: u32, name: &str) -> Option<&'static str> {
    match (case.lan, words, name) {
        (_, _, "client_xport") => Some(FEW_ACKNOWLEDGEMENTS),
        (Lan::Fddi, 32_768, "server_xport") | (Lan::Ethernet, 65_024, "lan") => Some(LAN_ABOVE_SENDER),
        (_, 65_024, "client_applic") => Some(CLIENT_GROWS),
        (Lan::Fddi, ..) => Some(SLOWER_SERVER),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::given;
    use super::super::tables::{Printed, all, value};
    use super::*;

    /// What else the LAN carries: what it carries when buffers are a word.
    fn load(rows: &[Printed], case: &Case) -> f64 {
        let small = Case { application: Application::Realtime { words: 1 }, ..*case };
        rows.iter().find(|printed| printed.case == small).map_or(0.0, |printed| value(printed, "lan"))
    }

    #[test]
    fn the_lan_is_above_its_sender_in_these_rows_and_no_others() {
        let rows = all();
        let large =
            |printed: &&Printed| matches!(printed.case.application, Application::Realtime { words: 2.. });
        for printed in rows.iter().filter(large) {
            let carried = value(printed, "lan") - load(&rows, &printed.case);
            let frame = printed.case.lan.longest_frame_us();
            let set_up = given::IO_SETUP.as_seconds() * 1e6;
            let impossible = carried * (set_up + frame) / frame > value(printed, "server_xport");
            let named = |column: &Column| {
                let why = why(&printed.case, *column);
                let is_copied = why == Some(COPIED_SENDER) && printed.case.lan == Lan::Ethernet;
                why == Some(LAN_ABOVE_SENDER) || is_copied && value(printed, "server_xport") == 27.01
            };
            let is_said = printed.cells.iter().any(|(_, column, _)| named(column));
            assert_eq!(is_said, impossible, "{}", printed.case);
        }
    }

    #[test]
    fn the_sender_over_tcp_has_the_value_of_the_udp_row_with_twice_the_words() {
        let rows = all();
        let of = |transport, words| {
            let application = Application::Realtime { words };
            let case =
                Case { lan: Lan::Ethernet, server_mips: 16, model: Model::Rpc, transport, application };
            rows.iter().find(|printed| printed.case == case).map_or(0.0, |row| value(row, "server_xport"))
        };
        assert_eq!((of(Transport::Tcp, 32_768), of(Transport::Udp, 65_024)), (27.01, 27.01));
    }
}
