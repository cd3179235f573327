//! Calls between two processes as [`Lab::messaging`] has them: the base line beside isochrons and plain messages.
//!
//! They go by a broker, which is in this process here: over shared memory from a thread to it, and over the link that is measured to the process that handles them.
//! The caller waits until the handler's reply is here, as it waits with a plain message until that has arrived at the other member, and with an isochron until it is executed at all that
//! have a part of it.

use super::super::case::Round;
use super::super::link::{Over, arguments};
use super::flow::flow;
use super::member::{LEASE, LIMIT};
use super::stream;
use crate::companion::Companion;
use crate::connection::refused;
use clap::Args;
use quintet::{Call, Error, HandlerLimits, Lab, LinkAddress, PendingReply, Recipient, ServeConfig, Server};
use std::convert::Infallible;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;
use tempfile::TempDir;

/// What the other process handles: it sends back what comes, or takes it, and that is all.
const ECHO: &str = "echo";
const SINK: &str = "sink";
/// Threads that handle calls of a name: the reply to one is on its way while the next is taken.
const THREADS: usize = 2;

/// A process that handles calls.
#[derive(Args)]
pub(crate) struct HandlerArguments {
    /// Where the broker is
    broker: LinkAddress,
}

impl HandlerArguments {
    /// Handles calls until the broker is gone.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let messaging = Lab::connect(self.broker.clone(), 0, LEASE)?.messaging();
        let (echo, sink) = (
            messaging.handle(ECHO, HandlerLimits::default())?,
            messaging.handle(SINK, HandlerLimits::default())?,
        );
        let send_back = |call: &Call| Ok::<_, Infallible>(call.payload().clone());
        let take = |_: &Call| Ok::<_, Infallible>(Vec::new());
        thread::scope(|scope| {
            for _ in 0..THREADS {
                // They end with the link, as does this process.
                scope.spawn(|| drop(echo.serve(send_back)));
                scope.spawn(|| drop(sink.serve(take)));
            }
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// This process, which calls, and the other one.
pub(super) struct Calls {
    echo: Recipient,
    sink: Recipient,
    /// Ended when dropped.
    _other: Companion,
    _broker: Server,
    /// Removed when dropped.
    _folder: TempDir,
}

impl Calls {
    /// Starts a broker here and a handler elsewhere, linked in such a way.
    ///
    /// # Errors
    /// The system refused, or the handler did not come.
    fn start(over: Over) -> Result<Calls, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let near = LinkAddress::SharedMemory(folder.path().join("near"));
        let broker = Server::start_at(&[near.clone(), over.address(folder.path())], &ServeConfig::default())?;
        let far = broker.addresses()[1].to_string();
        let other = Companion::start(arguments("handle", [far.into()]))?;
        let messaging = Lab::connect(near, 0, LEASE)?.messaging();
        let [echo, sink] = [ECHO, SINK].map(|name| messaging.to(name));
        [&echo, &sink].into_iter().try_for_each(|to| to.wait_for_handler(LIMIT))?;
        Ok(Calls { echo, sink, _other: other, _broker: broker, _folder: folder })
    }

    /// So many calls whose requests come back, one after the other.
    fn ping(&self, bytes: usize, count: usize) -> Result<(), Error> {
        (0..count).try_for_each(|_| self.echo.call(vec![7; bytes]).map(drop))
    }

    /// So many calls, as many of them under way as there are messages in streams.
    fn stream(&self, bytes: usize, count: usize) -> Result<(), Error> {
        let begin = || self.sink.begin_call(vec![7; bytes], None);
        let finish = |reply: PendingReply| reply.finish().map(drop);
        flow(count, stream::WINDOW, &mut None, begin, finish)
    }
}

/// The mean of the round trips, in nanoseconds.
///
/// # Errors
/// The other process did not come.
pub(super) fn round_trips(over: Over, bytes: usize, count: usize) -> Result<Round, Error> {
    let calls = Calls::start(over)?;
    calls.ping(bytes, count / 10)?;
    Ok(Box::new(move || {
        let started = Instant::now();
        calls.ping(bytes, count)?;
        Ok(started.elapsed().as_nanos() as f64 / count as f64)
    }))
}

/// What arrives, in bytes a second.
///
/// # Errors
/// The other process did not come.
pub(super) fn streams(over: Over, bytes: usize, count: usize) -> Result<Round, Error> {
    let calls = Calls::start(over)?;
    calls.stream(bytes, count / 10)?;
    Ok(Box::new(move || {
        let started = Instant::now();
        calls.stream(bytes, count)?;
        Ok((bytes * count) as f64 / started.elapsed().as_secs_f64())
    }))
}
