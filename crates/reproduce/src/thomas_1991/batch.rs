//! The batch application: 13 library calls add two vectors (section 6.2); then the job is run again.

use super::case::{Model, Transport};
use super::given;
use super::plant::{Element, Plant, send, work};
use super::transport::{Door, TO_CLIENT, TO_SERVER, carry};
use quintet_contract::Address;
use quintet_simulate::Instruction;

/// A job has come to its end.
pub(super) const JOB: u32 = 1;

/// What a library call carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Control,
    Write,
    Read,
}

/// The order of the application in section 5.2: two vectors are written, one is read at last.
fn calls() -> [Call; given::CALLS] {
    let mut calls = [Call::Control; given::CALLS];
    calls[5] = Call::Write;
    calls[6] = Call::Write;
    calls[given::CALLS - 2] = Call::Read;
    calls
}

/// Defines the application's modules.
pub(super) fn define(plant: &mut Plant, elements: u32, vector_processor: bool) {
    let size = Size { elements: elements.into(), vector_processor };
    match plant.case.model {
        Model::Rexec => define_rexec(plant, size),
        Model::Rpc => define_rpc(plant, size),
    }
}

#[derive(Clone, Copy)]
struct Size {
    elements: f64,
    vector_processor: bool,
}

/// What the client does before its first message: TCP connects, too.
fn opening(plant: &Plant) -> f64 {
    given::SOCKET + if plant.transport() == Transport::Tcp { given::CONNECT } else { 0.0 }
}

/// The client asks for the job, the server makes all calls and sends the result.
fn define_rexec(plant: &mut Plant, size: Size) {
    let inferred = plant.inferred;
    let (client, reading) = (plant.module(Element::ClientApplic), plant.module(Element::ClientApplic));
    let (job, result) = (plant.message(), plant.message());
    let sending = (plant.module(Element::ServerApplic), plant.message());
    let bytes = given::READ_LENGTH_BYTES + given::ASCII_BYTES * size.elements;
    let back = carry(plant, TO_CLIENT, bytes, (reading, result), None);
    let mut next = sending;
    for (index, call) in calls().into_iter().enumerate().rev() {
        let message = if index == 0 { job } else { plant.message() };
        let calling = (plant.module(Element::ServerApplic), message);
        define_call(plant, size, call, calling, (0.0, next));
        next = calling;
    }
    let there = carry(plant, TO_SERVER, given::JOB_REQUEST_BYTES, next, None);
    let begin = opening(plant) + given::MARSHALL_LEAST + given::SEND;
    plant.after(client, vec![work(begin), send(there, given::JOB_REQUEST_BYTES)]);
    let write = given::MARSHALL_LEAST + inferred.result_write * size.elements + given::SEND;
    plant.on(sending.0, (sending.1, 1), vec![work(write), send(back, bytes)]);
    // Receiving costs what sending does.
    let read = given::SEND + given::MARSHALL_LEAST + inferred.result_read * size.elements;
    plant.on(reading, (result, 1), vec![work(read), mark(reading)]);
    plant.follow(reading, client);
    plant.start(client);
}

/// The client makes the calls, one after the other.
fn define_rpc(plant: &mut Plant, size: Size) {
    let clients: Vec<Address> = calls().iter().map(|_| plant.module(Element::ClientApplic)).collect();
    for (index, call) in calls().into_iter().enumerate() {
        let next = clients[(index + 1) % clients.len()];
        let opening = if index == 0 { opening(plant) } else { 0.0 };
        let returned =
            define_remote_call(plant, size, call, (clients[index], opening), index + 1 == clients.len());
        plant.follow(returned, next);
    }
    plant.start(clients[0]);
}

/// A remote call from the module `client`; the module after which the client goes on.
fn define_remote_call(
    plant: &mut Plant,
    size: Size,
    call: Call,
    (client, opening): (Address, f64),
    is_last: bool,
) -> Address {
    let (up, down) = match call {
        Call::Control => (0.0, 0.0),
        Call::Write => (size.elements, 0.0),
        Call::Read => (0.0, size.elements),
    };
    let (returned, reply) = (plant.module(Element::ClientApplic), plant.message());
    let replying = (plant.module(Element::ServerApplic), plant.message());
    let serving = (plant.module(Element::ServerApplic), plant.message());
    let request_bytes = given::CALL_REQUEST_BYTES + given::ASCII_BYTES * up;
    let reply_bytes = given::CALL_REPLY_BYTES + given::ASCII_BYTES * down;
    let there = carry(plant, TO_SERVER, request_bytes, serving, None);
    let back = carry(plant, TO_CLIENT, reply_bytes, (returned, reply), None);
    let ask = opening + given::MARSHALL_LEAST + given::SPRINTF * up + given::SEND;
    plant.after(client, vec![work(ask), send(there, request_bytes)]);
    define_call(plant, size, call, serving, (given::MARSHALL_LEAST + given::SSCANF * up, replying));
    let answer = given::MARSHALL_LEAST + given::SPRINTF * down + given::SEND;
    plant.on(replying.0, (replying.1, 1), vec![work(answer), send(back, reply_bytes)]);
    let mut instructions = vec![work(given::MARSHALL_LEAST + given::SSCANF * down)];
    if is_last {
        instructions.push(mark(returned));
    }
    plant.on(returned, (reply, 1), instructions);
    returned
}

/// A library call on the server, from `calling` to `out`, after so many cycles of unpacking.
fn define_call(plant: &mut Plant, size: Size, call: Call, calling: Door, (unpack, out): (f64, Door)) {
    let inferred = plant.inferred;
    let share = 1.0 / given::CALLS as f64;
    if !size.vector_processor {
        let seconds = (inferred.simulator[0] + inferred.simulator[1] * size.elements) * share;
        let cycles = unpack + inferred.call + seconds / given::SERVER_CYCLE.as_seconds();
        // Within the element a message takes no time.
        plant.on(calling.0, (calling.1, 1), vec![work(cycles), send(out, 0.0)]);
        return;
    }
    let data = |held: Call| if call == held { given::WORD_BYTES * size.elements } else { 0.0 };
    let seconds = (inferred.vector[0] + inferred.vector[1] * size.elements) * share;
    let vector = (plant.module(Element::VectorProcessor), plant.message());
    let asking = vec![work(unpack + inferred.call), send(vector, given::CONTROL_BYTES + data(Call::Write))];
    plant.on(calling.0, (calling.1, 1), asking);
    let cycles = seconds / given::VECTOR_CYCLE.as_seconds();
    let answer = vec![work(cycles), send(out, given::CONTROL_BYTES + data(Call::Read))];
    plant.on(vector.0, (vector.1, 1), answer);
}

fn mark(at: Address) -> Instruction {
    Instruction::Mark { at, number: JOB }
}
