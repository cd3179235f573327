//! The real-time application: it reads buffers from the vector processor's buffer pool (sections 6.3 and 6.4).

use super::case::Model;
use super::driver;
use super::element::Element;
use super::given;
use super::plant::{Plant, mark, send, work};
use super::transport::{Door, TO_CLIENT, TO_SERVER, carry};

/// The vector processor's memory access, in its cycles: nothing is printed that depends on it.
const MEMORY_ACCESS: f64 = 50.0;

/// Defines the application's modules.
pub(super) fn define(plant: &mut Plant, words: u32) {
    match plant.case.model {
        Model::Rexec => define_rexec(plant, words.into()),
        Model::Rpc => define_rpc(plant, words.into()),
        Model::Driver => driver::define_reads(plant, words.into(), MEMORY_ACCESS),
    }
}

/// The server reads a buffer, sends it, and when its transport processor has done so reads the next (figure 6.3).
fn define_rexec(plant: &mut Plant, words: f64) {
    let (inferred, coding) = (plant.inferred, plant.coding);
    let (asking, writing) = (plant.module(Element::ServerApplic), plant.module(Element::ServerApplic));
    let (turning, reading) = (plant.module(Element::ServerApplic), plant.module(Element::ClientApplic));
    let (data, sent, came) = (plant.message(), plant.message(), plant.message());
    let bytes = given::READ_LENGTH_BYTES + coding.bytes * words;
    let entry = carry(plant, TO_CLIENT, bytes, (reading, came), Some((turning, sent)));
    let pool = define_pool(plant, words, (writing, data));
    plant.after(asking, vec![work(inferred.ask), send(pool, given::CONTROL_BYTES)]);
    let marshall = given::MARSHALL_LEAST + coding.rexec_buffer.0 * words;
    plant.on(writing, (data, 1), vec![work(marshall + given::SEND), send(entry, bytes)]);
    plant.on(turning, (sent, 1), vec![work(inferred.turn), mark(turning)]);
    plant.follow(turning, asking);
    plant.on(reading, (came, 1), vec![work(given::MARSHALL_LEAST + coding.rexec_buffer.1 * words)]);
    plant.start(asking);
}

/// The client asks for a buffer, waits for it and converts it; then it asks for the next (figure 6.4).
fn define_rpc(plant: &mut Plant, words: f64) {
    let (inferred, coding) = (plant.inferred, plant.coding);
    let (asking, converting) = (plant.module(Element::ClientApplic), plant.module(Element::ClientApplic));
    let (serving, answering) = (plant.module(Element::ServerApplic), plant.module(Element::ServerApplic));
    let (request, data, reply) = (plant.message(), plant.message(), plant.message());
    let bytes = given::READ_REPLY_BYTES + coding.bytes * words;
    let there = carry(plant, TO_SERVER, given::READ_REQUEST_BYTES, (serving, request), None);
    let back = carry(plant, TO_CLIENT, bytes, (converting, reply), None);
    let pool = define_pool(plant, words, (answering, data));
    let call = work(given::MARSHALL_LEAST + given::SEND);
    plant.after(asking, vec![call, send(there, given::READ_REQUEST_BYTES)]);
    plant.on(serving, (request, 1), vec![work(inferred.ask), send(pool, given::CONTROL_BYTES)]);
    let marshall = given::MARSHALL_LEAST + coding.rpc_buffer.0 * words;
    plant.on(answering, (data, 1), vec![work(marshall + given::SEND), send(back, bytes)]);
    let convert = given::MARSHALL_LEAST + coding.rpc_buffer.1 * words;
    plant.on(converting, (reply, 1), vec![work(convert + inferred.turn), mark(converting)]);
    plant.follow(converting, asking);
    plant.start(asking);
}

/// The vector processor's side of a read: it answers with a buffer.
fn define_pool(plant: &mut Plant, words: f64, out: Door) -> Door {
    let pool = (plant.module(Element::VectorProcessor), plant.message());
    plant.on(pool.0, (pool.1, 1), vec![work(MEMORY_ACCESS), send(out, given::WORD_BYTES * words)]);
    pool
}
