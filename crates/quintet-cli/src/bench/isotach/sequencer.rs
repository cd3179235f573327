//! A fixed sequencer, the usual way to one order without isochrons: member 0 gives each message its place by sending it to all in the order in which they come.
//! It is made of plain messages, and what it has sent to some is lost for the others if it dies.

use super::member::tell;
use crate::connection::refused;
use quintet::{Error, Isonet, IsonetBuilder};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

/// To be given a place, and sent to all.
pub(super) const SEQUENCE: u32 = 6;
/// Has its place, and whose it is.
const SEQUENCED: u32 = 7;

/// Plain messages that are under way of it: a member may have 256.
const UNDER_WAY: usize = 192;

/// What is to have a place: from whom, and what. None: there is no more.
type Message = Option<(u16, Vec<u8>)>;

/// What the sequencer takes, and the place where each member counts its own that have a place.
pub(super) fn sequenced_messages(
    builder: IsonetBuilder,
    me: u16,
    told: Sender<()>,
) -> (IsonetBuilder, (Sender<Message>, Receiver<Message>)) {
    let (take, taken) = channel();
    let take_here = take.clone();
    let builder = builder
        .plain_handler(SEQUENCE, move |message| {
            // It has ended with the isonet.
            drop(take_here.send(Some((message.sender, message.bytes.to_vec()))));
        })
        .plain_handler(SEQUENCED, move |message| {
            if message.bytes.starts_with(&me.to_le_bytes()) {
                tell(&told);
            }
        });
    (builder, (take, taken))
}

/// A thread that sends them on, ended when dropped.
pub(super) struct Sequencer {
    take: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Sequencer {
    /// Starts it at this member.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn start(
        isonet: &Isonet,
        (take, taken): (Sender<Message>, Receiver<Message>),
    ) -> Result<Sequencer, Error> {
        let isonet = isonet.clone();
        // Where it fails, the isonet is over, and who waits is told so.
        let run = move || drop(send_on(&isonet, &taken));
        let thread = thread::Builder::new().spawn(run).map_err(refused("start the sequencer"))?;
        Ok(Sequencer { take, thread: Some(thread) })
    }
}

impl Drop for Sequencer {
    fn drop(&mut self) {
        drop(self.take.send(None));
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap_or_default());
    }
}

fn send_on(isonet: &Isonet, taken: &Receiver<Message>) -> Result<(), Error> {
    let mut under_way = VecDeque::new();
    while let Ok(Some((sender, bytes))) = taken.recv() {
        let bytes = [&sender.to_le_bytes()[..], &bytes].concat();
        for member in 0..isonet.members() {
            if under_way.len() >= UNDER_WAY {
                under_way.pop_front().map_or(Ok(()), quintet::PendingPlain::finish)?;
            }
            under_way.push_back(isonet.begin_plain(member, SEQUENCED, bytes.clone())?);
        }
    }
    under_way.into_iter().try_for_each(quintet::PendingPlain::finish)
}
