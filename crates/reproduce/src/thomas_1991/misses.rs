//! Why cells are missed, as far as the printed values tell.

use super::case::{Application, Case, Lan, Model, Transport};
use crate::cell::Column;

const NO_EXPANSION: &str = "rows with RPC over UDP imply the 8 bytes a word of table 5.2 on the LAN, all others 13 to 16: the expansion \
     that TCP's rows show is not there";
const LOAD: &str =
    "as far as the LAN goes, these rows have a background load of 6 percent, above the 3 to 5 of the text";
const CLIENT_GROWS: &str = "printed, a REXEC client's time a word grows with the buffer (27 us at 32768 words, 34 at 65024): a cost by the \
     word cannot follow";
const CLIENT_RELAYS: &str = "printed, client xport spends 1.5 ms on each acknowledgement and nothing on the packets that it answers, but \
     with UDP 0.2 ms a packet: one cost of a packet for both, inferred from TCP, is neither";
const MORE_ACKNOWLEDGEMENTS: &str = "printed, client xport has 250 set-ups of 1.5 ms a read, two for each 4096 bytes of table 5.2; the \
     text has one acknowledgement, as the rows of RPC show";
const TWO_SIZES: &str = "printed, the LAN carries 12.6 bytes a word of this buffer on Ethernet and 14.2 on FDDI: one expansion for all \
     rows is too much for both";
const AS_OVER_TCP: &str =
    "printed, server xport is as busy as over TCP, though with UDP it has no acknowledgement to handle";
const SLOWER_SERVER: &str = "printed, server applic works 1.03 s for 32768 words and 1.40 for 65024 here, 0.84 and 1.41 over \
     Ethernet: no cost by the word gives both";
const IDLE_SERVER: &str = "printed, the server's two processors are busy for 1.44 s of 2.93: nothing in the text waits for the rest";

/// The cause of a miss, if one is known.
pub(super) fn why(case: &Case, column: Column) -> Option<&'static str> {
    let Application::Realtime { words } = case.application else {
        return (column.name() == "client_xport").then_some(CLIENT_RELAYS);
    };
    let at_32_mips = case.server_mips == 32;
    match (case.model, case.transport, column.name()) {
        (Model::Rpc, _, "lan") if words == 1 => Some(LOAD),
        (Model::Rpc, Transport::Udp, _) if words > 1 => Some(NO_EXPANSION),
        (Model::Rexec, _, "client_xport") if at_32_mips => Some(MORE_ACKNOWLEDGEMENTS),
        (_, _, "client_xport") => Some(CLIENT_RELAYS),
        (Model::Rexec, Transport::Tcp, _) if at_32_mips => Some(IDLE_SERVER),
        (Model::Rexec, _, "client_applic") => Some(CLIENT_GROWS),
        (Model::Rexec, Transport::Udp, "server_xport") if words == 1 => Some(AS_OVER_TCP),
        (Model::Rexec, Transport::Udp, _) => Some(TWO_SIZES),
        (Model::Rexec, Transport::Tcp, _) if case.lan == Lan::Fddi => Some(SLOWER_SERVER),
        _ => None,
    }
}
