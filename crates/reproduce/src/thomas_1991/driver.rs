//! The DRIVER model, which the study describes (section 4.1) and did not build: application and library run on the
//! client, which sends the device's commands over the network; a process of the server hands each to the device driver
//! and keeps nothing between them.
//!
//! What is assumed, for nothing was measured: a library call is `Setting::commands` commands, one after the other, and
//! the last carries the data; the library's own cycles (STRDB's, or those of a batch call) are the client's; a command
//! costs the server [`DRIVE`] and a *send*; commands and values travel as they lie in memory, and each host copies the
//! values once. Packets, acknowledgements and bytes on the LAN a byte of data are those of the other models.

use super::element::Element;
use super::given;
use super::plant::{Plant, mark, send, work};
use super::setting::COPY_WORD;
use super::transport::{TO_CLIENT, TO_SERVER, carry};
use quintet_contract::Address;

/// Assumed: cycles of the server to take a command from the network's buffer and start the device.
const DRIVE: f64 = 5_000.0;
/// Assumed: bytes of a command, and of its answer; those of a library call by RPC.
const COMMAND_BYTES: f64 = given::READ_REQUEST_BYTES;
const ANSWER_BYTES: f64 = given::READ_REPLY_BYTES;

/// What a library call has to do.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// Cycles of the client before its first command, and after the last answer.
    pub(super) before: f64,
    pub(super) after: f64,
    /// Values to the device, and from it.
    pub(super) up: f64,
    pub(super) down: f64,
    /// Cycles of the vector processor.
    pub(super) vector: f64,
    /// Whether a read or job ends with it.
    pub(super) is_last: bool,
}

/// The real-time application: reads a buffer, then the next.
pub(super) fn define_reads(plant: &mut Plant, words: f64, memory_access: f64) {
    let (before, after) = (plant.inferred.ask, plant.inferred.turn);
    let read = Work { before, after, up: 0.0, down: words, vector: memory_access, is_last: true };
    define_calls(plant, &[read]);
}

/// Library calls one after the other, then the same again.
pub(super) fn define_calls(plant: &mut Plant, calls: &[Work]) {
    let starts: Vec<Address> = calls.iter().map(|_| plant.module(Element::ClientApplic)).collect();
    for (index, call) in calls.iter().enumerate() {
        let next = starts[(index + 1) % starts.len()];
        let last = define_call(plant, starts[index], *call);
        plant.follow(last, next);
    }
    plant.start(starts[0]);
}

/// A library call from the module `start` on; the module that ends it.
fn define_call(plant: &mut Plant, start: Address, call: Work) -> Address {
    let idle = Work { before: 0.0, after: 0.0, up: 0.0, down: 0.0, vector: 0.0, is_last: false };
    let commands = plant.setting.commands;
    let (mut from, mut before) = (start, call.before);
    for _ in 1..commands {
        let done = define_command(plant, from, Work { before, ..idle });
        let next = plant.module(Element::ClientApplic);
        plant.follow(done, next);
        (from, before) = (next, 0.0);
    }
    define_command(plant, from, Work { before, ..call })
}

/// One command and its answer.
fn define_command(plant: &mut Plant, from: Address, command: Work) -> Address {
    let (server, taking) = (plant.module(Element::ServerApplic), plant.message());
    let (answering, done) = (plant.module(Element::ServerApplic), plant.message());
    let (ending, answer) = (plant.module(Element::ClientApplic), plant.message());
    let (vector, control) = (plant.module(Element::VectorProcessor), plant.message());
    let request_bytes = COMMAND_BYTES + given::WORD_BYTES * command.up;
    let answer_bytes = ANSWER_BYTES + given::WORD_BYTES * command.down;
    let there = carry(plant, TO_SERVER, request_bytes, (server, taking), None);
    let back = carry(plant, TO_CLIENT, answer_bytes, (ending, answer), None);
    let ask = command.before + COPY_WORD * command.up + given::SEND;
    plant.after(from, vec![work(ask), send(there, request_bytes)]);
    let to_device = given::CONTROL_BYTES + given::WORD_BYTES * command.up;
    let drive = DRIVE + COPY_WORD * command.up;
    plant.on(server, (taking, 1), vec![work(drive), send((vector, control), to_device)]);
    let from_device = given::CONTROL_BYTES + given::WORD_BYTES * command.down;
    let answered = send((answering, done), from_device);
    plant.on(vector, (control, 1), vec![work(command.vector), answered]);
    let reply = COPY_WORD * command.down + given::SEND;
    plant.on(answering, (done, 1), vec![work(reply), send(back, answer_bytes)]);
    let mut instructions = vec![work(command.after + COPY_WORD * command.down)];
    if command.is_last {
        instructions.push(mark(ending));
    }
    plant.on(ending, (answer, 1), instructions);
    ending
}
