//! A message's way from one application to the other: over the host's bus to its transport processor, over the LAN in
//! packets, and over the other host's bus.

use super::case::Transport;
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
    let packets = packets(bytes * plant.inferred.expansion);
    let mut instructions = Vec::new();
    for (index, packet_bytes) in packets.iter().enumerate() {
        instructions.push(work(transport.build()));
        let to = if index + 1 == packets.len() { (receiver, arrival) } else { (more, packet) };
        instructions.push(send(to, *packet_bytes));
    }
    tell(plant, &mut instructions, done);
    plant.on(sender, (entry, 1), instructions);
    let receive = plant.inferred.receive;
    plant.on(more, (packet, 1), vec![work(receive)]);
    plant.on(receiver, (arrival, 1), vec![work(receive), last]);
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
    let receive = plant.inferred.receive;
    let entry = (plant.module(way.from), plant.message());
    let mut sender = entry;
    let mut left = bytes;
    while left > 0.0 {
        let buffer = left.min(transport.buffer_bytes());
        left -= buffer;
        let packets = packets(buffer * plant.inferred.expansion);
        let is_last = left <= 0.0;
        let (to, message) =
            if is_last { (receiver, arrival) } else { (plant.module(way.to), plant.message()) };
        let next = (plant.module(way.from), plant.message());
        let mut instructions = vec![work(transport.build())];
        instructions.extend(packets.iter().map(|bytes| send((to, message), *bytes)));
        plant.on(sender.0, (sender.1, 1), instructions);
        let mut answer = vec![work(receive * packets.len() as f64), send(next, given::ACKNOWLEDGEMENT_BYTES)];
        if is_last {
            answer.push(last.clone());
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
