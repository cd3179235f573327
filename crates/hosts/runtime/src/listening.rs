//! How a node takes new links: from the listener's socket to the frame that names the peer.

use quintet_contract::{OwnedFrame, Port, Span, Time};
use quintet_errors::Code;
use quintet_link::{BootstrapError, End, Receiver, Route, SharedMemoryListener};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

/// Under constant load, new links are looked for every so many turns.
const TURNS_BETWEEN_LINKS: u32 = 256;

/// Links that may wait for their first frame, so that clients which say nothing do not keep all descriptors.
const MAX_UNNAMED: usize = 64;

/// How long the listener is left alone when the system refuses what a link needs: it stays readable meanwhile.
const REST: Span = Span::from_millis(100);

/// Takes new links for one instance.
pub(crate) struct Listening {
    listener: SharedMemoryListener,
    /// The instance's.
    pub(crate) port: Port,
    /// Links whose first frame, which names the peer, has not come yet, the oldest first.
    unnamed: VecDeque<End>,
    /// Turns until new links are looked for.
    turns: u32,
    /// Until when the listener is left alone. None: the system refused nothing at the last look.
    rests_until: Option<Time>,
}

/// A link with its first frame.
pub(crate) struct Named {
    pub(crate) end: End,
    pub(crate) route: Route,
    pub(crate) frame: OwnedFrame,
}

impl Listening {
    pub(crate) fn new(listener: SharedMemoryListener, port: Port) -> Self {
        Listening { listener, port, unnamed: VecDeque::new(), turns: 0, rests_until: None }
    }

    /// Looks for new links, every so many turns. Those whose peer has named itself.
    pub(crate) fn take(&mut self, now: Time) -> Vec<Named> {
        if let Some(left) = self.turns.checked_sub(1) {
            self.turns = left;
            return Vec::new();
        }
        self.turns = TURNS_BETWEEN_LINKS;
        if !self.rests(now) {
            self.accept(now);
        }
        let mut named = Vec::new();
        for end in std::mem::take(&mut self.unnamed) {
            match first_frame(end) {
                First::Named(link) => named.push(*link),
                First::Nothing(end) => self.unnamed.push_back(end),
                First::Failed => {}
            }
        }
        named
    }

    /// Looks for new links in the next turn.
    pub(crate) fn look_soon(&mut self) {
        self.turns = 0;
    }

    fn accept(&mut self, now: Time) {
        loop {
            match self.listener.accept() {
                Ok(Some(end)) => self.wait_for_name(end),
                Ok(None) => {
                    self.rests_until = None;
                    return;
                }
                Err(error) if error.code() == Code::Resource => return self.rest(now, &error),
                // A client that fails the link's handshake is told there, and is its own trouble.
                Err(_) => return,
            }
        }
    }

    fn wait_for_name(&mut self, end: End) {
        if self.unnamed.len() == MAX_UNNAMED {
            self.unnamed.pop_front();
        }
        self.unnamed.push_back(end);
    }

    fn rest(&mut self, now: Time, error: &BootstrapError) {
        if self.rests_until.is_none() {
            eprintln!("quintet: no new link for now: {error}");
        }
        self.rests_until = Some(now + REST);
    }

    fn rests(&self, now: Time) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    /// When the listener is to be looked at although nothing calls.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.rests_until
    }

    /// Readable when there is a new link, if that is to be known.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.rests_until.is_none().then(|| self.listener.as_fd())
    }

    pub(crate) fn receivers(&self) -> impl Iterator<Item = &dyn Receiver> {
        self.unnamed.iter().map(|end| &*end.receiver)
    }

    pub(crate) fn receivers_mut(&mut self) -> impl Iterator<Item = &mut Box<dyn Receiver>> {
        self.unnamed.iter_mut().map(|end| &mut end.receiver)
    }
}

/// What a link whose peer is not known yet brought.
enum First {
    Named(Box<Named>),
    Nothing(End),
    Failed,
}

fn first_frame(mut end: End) -> First {
    let mut first = None;
    match end.receiver.poll(1, &mut |route, frame| first = Some((route, frame.to_owned()))) {
        Ok(_) => match first {
            Some((route, frame)) => First::Named(Box::new(Named { end, route, frame })),
            None => First::Nothing(end),
        },
        Err(_) => First::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_link::{in_process_pair, shared_memory_connect};
    use quintet_testbed::{Program, TempDir, argument};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::os::fd::AsRawFd;
    use std::path::Path;
    use std::time::Duration;

    fn listening(path: &Path) -> Listening {
        Listening::new(SharedMemoryListener::bind(path).expect("the folder is there"), Port(16))
    }

    /// Leaves this process no further descriptor.
    fn forbid_descriptors() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let next = std::fs::File::open("/").expect("there is one left").as_raw_fd();
        let current = u64::try_from(next).ok();
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("less is allowed");
    }

    #[test]
    fn without_descriptors_the_listener_rests_and_is_looked_at_again() {
        const NAME: &str = "listening::tests::without_descriptors_the_listener_rests_and_is_looked_at_again";
        if let Some(path) = argument() {
            let mut listening = listening(Path::new(&path));
            let client = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a descriptor");
            connect(&client, &SocketAddrUnix::new(&path).expect("it is short")).expect("it listens");
            let before = getrlimit(Resource::Nofile);
            forbid_descriptors();
            assert!(listening.take(Time(0)).is_empty());
            assert!(listening.fd().is_none(), "it would stay readable");
            let again = listening.deadline().expect("it is looked at again");
            setrlimit(Resource::Nofile, before).expect("it was allowed before");
            listening.look_soon();
            listening.take(again);
            assert!(listening.fd().is_some() && listening.deadline().is_none());
            println!("it is as good as before");
            return;
        }
        let folder = TempDir::new().expect("a temporary directory");
        let child = Program::this_test(NAME, folder.join("socket")).expect("it is known").spawn();
        let child = child.expect("it starts");
        let said = child.output().wait_for("it is as good as before", Duration::from_secs(30));
        assert!(said.is_some(), "{}", child.output().text());
    }

    #[test]
    fn of_many_clients_that_say_nothing_the_oldest_are_dropped() {
        let folder = TempDir::new().expect("a temporary directory");
        let path = folder.join("socket");
        let mut listening = listening(&path);
        let connecting = std::thread::spawn({
            let path = path.clone();
            move || shared_memory_connect(path).expect("it listens")
        });
        while listening.unnamed.is_empty() {
            listening.look_soon();
            listening.take(Time(0));
        }
        let mut first = connecting.join().expect("it does not panic");
        let ends: Vec<End> = (0..MAX_UNNAMED)
            .map(|_| {
                let (near, far) = in_process_pair().expect("two event descriptors are there");
                listening.wait_for_name(near);
                far
            })
            .collect();
        assert_eq!(listening.unnamed.len(), ends.len());
        assert!(first.receiver.poll(1, &mut |_, _| {}).is_err(), "it was dropped");
    }
}
