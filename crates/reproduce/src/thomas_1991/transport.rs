//! A message's way from one application to the other: over the host's bus to its transport processor, over the LAN in
//! packets, and over the other host's bus.
//!
//! Both transport processors relay a message after simulating the protocol's processing (section 6.2.1), for which there is
//! one instruction, *build xport pkt*. By UDP each packet is a message of its own; by TCP a buffer's packets are answered
//! by an acknowledgement, and the message is relayed when all have come.

use super::case::{Model, Transport};
use super::element::Element;
use super::given;
use super::plant::{Plant, send, work};
use quintet_contract::Address;
use quintet_simulate::{Instruction, MessageType};

/// Where a message goes in, or comes out: a module, and as which kind of message.
pub(super) type Door = (Address, MessageType);

/// The two transport processors, from the sender's side.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub(super) from: Element,
    pub(super) to: Element,
}

pub(super) const TO_SERVER: Direction = Direction { from: Element::ClientXport, to: Element::ServerXport };
pub(super) const TO_CLIENT: Direction = Direction { from: Element::ServerXport, to: Element::ClientXport };

/// Defines the way of messages of `bytes` to the application's `out`. The sender's application hands them in at the door
/// that is returned; `done` learns when its transport processor has sent them, and over TCP got them acknowledged.
pub(super) fn carry(plant: &mut Plant, way: Direction, bytes: f64, out: Door, done: Option<Door>) -> Door {
    let transport = plant.transport();
    let acknowledged = transport == Transport::Tcp && bytes > transport.buffer_bytes();
    let receiver = plant.module(way.to);
    let arrival = plant.message();
    let last = send(out, bytes);
    if acknowledged {
        return carry_acknowledged(plant, way, bytes, (receiver, arrival, last), done);
    }
    let (sender, entry, more) = (plant.module(way.from), plant.message(), plant.module(way.to));
    let packet = plant.message();
    let packets = packets(bytes * expansion(plant));
    let mut instructions = Vec::new();
    for (index, packet_bytes) in packets.iter().enumerate() {
        instructions.push(work(transport.build()));
        let to = if index + 1 == packets.len() { (receiver, arrival) } else { (more, packet) };
        instructions.push(send(to, packet_bytes + given::HEADER_BYTES));
    }
    tell(plant, &mut instructions, done);
    plant.on(sender, (entry, 1), instructions);
    let per_packet = if transport == Transport::Udp { vec![work(transport.build())] } else { vec![] };
    plant.on(more, (packet, 1), per_packet);
    plant.on(receiver, (arrival, 1), vec![work(transport.build()), last]);
    (sender, entry)
}

/// The same over TCP for more than a buffer: the next buffer waits for the acknowledgement of the one before.
fn carry_acknowledged(
    plant: &mut Plant,
    way: Direction,
    bytes: f64,
    (receiver, arrival, last): (Address, MessageType, Instruction),
    done: Option<Door>,
) -> Door {
    let transport = plant.transport();
    let entry = (plant.module(way.from), plant.message());
    let mut sender = entry;
    let mut left = bytes;
    while left > 0.0 {
        let buffer = left.min(transport.buffer_bytes());
        left -= buffer;
        let packets = packets(buffer * expansion(plant));
        let is_last = left <= 0.0;
        let (to, message) =
            if is_last { (receiver, arrival) } else { (plant.module(way.to), plant.message()) };
        let next = (plant.module(way.from), plant.message());
        let mut instructions = vec![work(transport.build())];
        instructions.extend(packets.iter().map(|bytes| send((to, message), bytes + given::HEADER_BYTES)));
        plant.on(sender.0, (sender.1, 1), instructions);
        let mut answer = vec![send(next, given::ACKNOWLEDGEMENT_BYTES + given::HEADER_BYTES)];
        if is_last {
            answer.extend([work(transport.build()), last.clone()]);
        }
        let count = u32::try_from(packets.len()).unwrap_or(u32::MAX);
        plant.on(to, (message, count), answer);
        sender = next;
    }
    let mut instructions = Vec::new();
    tell(plant, &mut instructions, done);
    plant.on(sender.0, (sender.1, 1), instructions);
    entry
}

/// Bytes on the LAN for one byte of a message.
///
/// Where a transport processor cuts the data, as it does with TCP's buffers (section 6.2) and with a REXEC server's reads by
/// either protocol (section 6.3.1), the text does not say how many packets it sends: that is inferred. Over UDP the library's stubs
/// cut it themselves, into blocks of 1472 bytes (section 6.2), so that the LAN carries what table 5.2 counts.
fn expansion(plant: &Plant) -> f64 {
    match (plant.transport(), plant.case.model) {
        (Transport::Udp, Model::Rpc | Model::Driver) => 1.0,
        (Transport::Tcp, _) | (Transport::Udp, Model::Rexec) => plant.inferred.expansion,
    }
}

/// Lets the application know.
fn tell(plant: &mut Plant, instructions: &mut Vec<Instruction>, done: Option<Door>) {
    instructions.extend(done.map(|door| send(plant.interrupt(door), 0.0)));
}

/// The bytes of each packet of a message.
fn packets(bytes: f64) -> Vec<f64> {
    let mut packets = Vec::new();
    let mut left = bytes;
    while left > 0.0 {
        packets.push(left.min(given::PACKET_BYTES));
        left -= given::PACKET_BYTES;
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_packets() {
        assert_eq!(packets(12.0), [12.0]);
        assert_eq!(packets(3_000.0), [1_472.0, 1_472.0, 56.0]);
    }
}
