//! The batch application: 13 library calls add two vectors (section 6.2); then the job is run again.

use super::case::{Model, Transport};
use super::driver;
use super::element::Element;
use super::given;
use super::plant::{Plant, mark, send, work};
use super::transport::{Door, TO_CLIENT, TO_SERVER, carry};
use quintet_contract::Address;

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

impl Call {
    /// Values to the server, and from it.
    const fn values(self, size: Size) -> (f64, f64) {
        match self {
            Call::Control => (0.0, 0.0),
            Call::Write => (size.elements, 0.0),
            Call::Read => (0.0, size.elements),
        }
    }
}

/// Defines the application's modules.
pub(super) fn define(plant: &mut Plant, elements: u32, vector_processor: bool) {
    let size = Size { elements: elements.into(), vector_processor };
    match plant.case.model {
        Model::Rexec => define_rexec(plant, size),
        Model::Rpc => define_rpc(plant, size),
        Model::Driver => define_driver(plant, size),
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
    let coding = plant.coding;
    let (client, reading) = (plant.module(Element::ClientApplic), plant.module(Element::ClientApplic));
    let (job, result) = (plant.message(), plant.message());
    let sending = (plant.module(Element::ServerApplic), plant.message());
    let bytes = given::READ_LENGTH_BYTES + coding.bytes * size.elements;
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
    let write = given::MARSHALL_LEAST + coding.result.0 * size.elements + given::SEND;
    plant.on(sending.0, (sending.1, 1), vec![work(write), send(back, bytes)]);
    // Receiving costs what sending does.
    let read = given::SEND + given::MARSHALL_LEAST + coding.result.1 * size.elements;
    plant.on(reading, (result, 1), vec![work(read), mark(reading)]);
    plant.follow(reading, client);
    plant.start(client);
}

/// The client makes the calls, and its library the device's commands; the AP Simulator is on the server, and has none.
fn define_driver(plant: &mut Plant, size: Size) {
    let opening = opening(plant);
    let call = plant.inferred.call;
    let vector = vector_cycles(plant, size);
    let work_of = |(index, held): (usize, Call)| {
        let (up, down) = held.values(size);
        let before = if index == 0 { opening + call } else { call };
        driver::Work { before, after: 0.0, up, down, vector, is_last: index + 1 == given::CALLS }
    };
    let calls: Vec<driver::Work> = calls().into_iter().enumerate().map(work_of).collect();
    driver::define_calls(plant, &calls);
}

/// The vector processor's cycles for a call.
fn vector_cycles(plant: &Plant, size: Size) -> f64 {
    let [once, each] = plant.setting.machines.vector(&plant.inferred);
    let share = 1.0 / given::CALLS as f64;
    (once + each * size.elements) * share / given::VECTOR_CYCLE.as_seconds()
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
    let coding = plant.coding;
    let (up, down) = call.values(size);
    let (returned, reply) = (plant.module(Element::ClientApplic), plant.message());
    let replying = (plant.module(Element::ServerApplic), plant.message());
    let serving = (plant.module(Element::ServerApplic), plant.message());
    let request_bytes = given::CALL_REQUEST_BYTES + coding.bytes * up;
    let reply_bytes = given::CALL_REPLY_BYTES + coding.bytes * down;
    let there = carry(plant, TO_SERVER, request_bytes, serving, None);
    let back = carry(plant, TO_CLIENT, reply_bytes, (returned, reply), None);
    let ask = opening + given::MARSHALL_LEAST + coding.print * up + given::SEND;
    plant.after(client, vec![work(ask), send(there, request_bytes)]);
    define_call(plant, size, call, serving, (given::MARSHALL_LEAST + coding.scan * up, replying));
    let answer = given::MARSHALL_LEAST + coding.print * down + given::SEND;
    plant.on(replying.0, (replying.1, 1), vec![work(answer), send(back, reply_bytes)]);
    let mut instructions = vec![work(given::MARSHALL_LEAST + coding.scan * down)];
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
    let vector = (plant.module(Element::VectorProcessor), plant.message());
    let asking = vec![work(unpack + inferred.call), send(vector, given::CONTROL_BYTES + data(Call::Write))];
    plant.on(calling.0, (calling.1, 1), asking);
    let cycles = vector_cycles(plant, size);
    let answer = vec![work(cycles), send(out, given::CONTROL_BYTES + data(Call::Read))];
    plant.on(vector.0, (vector.1, 1), answer);
}
