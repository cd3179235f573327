use super::*;
use crate::rarely::KINDS;
use quintet_errors::Code;
use quintet_link::{LinkAddress, SharedMemoryListener, TlsFault, listen};
use quintet_testbed::{Program, TempDir, argument};
use rustix::io::read;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Leaves this process no further descriptor.
fn forbid_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let next = std::fs::File::open("/").expect("there is one left").as_raw_fd();
    let current = u64::try_from(next).ok();
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).expect("less is allowed");
}

/// A connection to a listener.
fn dialled(address: &LinkAddress) -> OwnedFd {
    let (path, kind) = match address {
        LinkAddress::SharedMemory(path) => (path, SocketType::SEQPACKET),
        LinkAddress::Unix(path) => (path, SocketType::STREAM),
        other => panic!("{other} has no path"),
    };
    let client = socket(AddressFamily::UNIX, kind, None).expect("a descriptor");
    connect(&client, &SocketAddrUnix::new(path).expect("it is short")).expect("it listens");
    client
}

fn listening_at(address: &LinkAddress, poller: &Poller) -> Listening {
    let mut listening = Listening::default();
    listening.add(listen(address).expect("the folder is there"), Port(16), poller).expect("it is watched");
    listening
}

/// Until nobody calls any more: what was told.
fn turned_away(listening: &mut Listening, now: Time, poller: &Poller) -> Vec<Event> {
    let mut told = Vec::new();
    while listening.is_called() {
        let accepted = listening.accept(now, poller, &mut |event| told.push(event.clone()));
        assert!(accepted.is_none(), "there is no descriptor for it");
    }
    told
}

/// Runs the test of this name in a child, whose limits are lowered, until it says so.
fn in_a_child(name: &str, last: &str) {
    let folder = TempDir::new().expect("a temporary directory");
    let name = format!("listening::tests::{name}");
    let child = Program::this_test(&name, folder.join("socket")).expect("it is known").spawn();
    let child = child.expect("it starts");
    let said = child.output().wait_for(last, Duration::from_secs(30));
    assert!(said.is_some(), "{}", child.output().text());
}

#[test]
fn without_descriptors_everybody_is_turned_away_and_it_is_told_once() {
    let Some(path) = argument() else {
        return in_a_child("without_descriptors_everybody_is_turned_away_and_it_is_told_once", "they know");
    };
    let poller = Poller::new().expect("there are descriptors");
    for address in
        [LinkAddress::SharedMemory(path.clone().into()), LinkAddress::Unix((path + ".stream").into())]
    {
        let mut listening = listening_at(&address, &poller);
        let clients = [(); 100].map(|()| dialled(&address));
        let before = getrlimit(Resource::Nofile);
        forbid_descriptors();
        let told = turned_away(&mut listening, Time(0), &poller);
        assert!(matches!(told[..], [Event::NoNewLinks { .. }]), "{told:?}");
        assert!(!poller.is_called() && listening.deadline().is_none(), "nobody is left");
        for client in clients {
            let mut said = [0; 64];
            let count = read(&client, &mut said).expect("it was answered");
            assert!(count >= 8, "{count} bytes");
            assert_eq!(said[6..8], (Code::Resource as u16).to_le_bytes());
        }
        let late = dialled(&address);
        listening.called(0);
        assert_eq!(turned_away(&mut listening, Time(1), &poller), [], "it was told a moment ago");
        drop(late);
        setrlimit(Resource::Nofile, before).expect("it was allowed before");
    }
    println!("they know");
}

#[test]
fn with_no_descriptor_in_reserve_either_the_listener_rests_and_is_looked_at_again() {
    let Some(path) = argument() else {
        let name = "with_no_descriptor_in_reserve_either_the_listener_rests_and_is_looked_at_again";
        return in_a_child(name, "both are as good as before");
    };
    let poller = Poller::new().expect("there are descriptors");
    for address in
        [LinkAddress::SharedMemory(path.clone().into()), LinkAddress::Unix((path + ".stream").into())]
    {
        let mut listening = listening_at(&address, &poller);
        let client = dialled(&address);
        let before = getrlimit(Resource::Nofile);
        // Not even a number that becomes free is given out again.
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..before }).expect("less is allowed");
        let told = turned_away(&mut listening, Time(0), &poller);
        setrlimit(Resource::Nofile, before).expect("it was allowed before");
        assert!(matches!(told[..], [Event::NoNewLinks { .. }]), "{told:?}");
        assert!(!poller.is_called(), "it would stay readable");
        let again = listening.deadline().expect("it is looked at again");
        listening.end_rests(again, &poller);
        assert!(listening.is_called() && listening.deadline().is_none());
        listening.accept(again, &poller, &mut |event| panic!("nothing is refused any more: {event}"));
        drop(client);
    }
    println!("both are as good as before");
}

#[test]
fn strangers_who_leave_are_told_of_once_a_second_and_counted() {
    let folder = TempDir::new().expect("a temporary directory");
    let (path, poller) = (folder.join("socket"), Poller::new().expect("there are descriptors"));
    let mut listening = Listening::default();
    let listener = SharedMemoryListener::bind(&path).expect("the folder is there");
    listening.add(Box::new(listener), Port(16), &poller).expect("it is watched");
    let mut told = Vec::new();
    for at in [Time(0), Time(1), Time(2), Time::ZERO + QUIET] {
        let stranger = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a descriptor");
        connect(&stranger, &SocketAddrUnix::new(&path).expect("it is short")).expect("it listens");
        drop(stranger);
        listening.called(0);
        assert!(listening.accept(at, &poller, &mut |event| told.push(event.clone())).is_none());
    }
    let counted = told.iter().map(|event| match event {
        Event::NotConnected { before, .. } => *before,
        other => panic!("{other}"),
    });
    assert_eq!(counted.collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn who_knocks_without_end_hides_nobody_else_and_very_many_are_counted() {
    let (mut failures, mut told) = (Rarely::default(), Vec::new());
    let mut knock = |machine: u8, fault: TlsFault, at: Time| {
        let address = LinkAddress::Tls { host: "a".to_owned(), port: 1, credentials: None };
        let why = BootstrapError::Tls { address, fault };
        let refused = NotAccepted { from: Some(([10, 0, 0, machine], 7).into()), ..why.into() };
        tell_of(&mut failures, refused, at, &mut |event| told.push(event.clone()));
    };
    (0..100).for_each(|_| knock(1, TlsFault::PeerNotAdmitted, Time(0)));
    knock(1, TlsFault::PeerOfAnotherCluster, Time(1));
    knock(2, TlsFault::PeerNotAdmitted, Time(2));
    (3..=255).for_each(|machine| knock(machine, TlsFault::PeerNotAdmitted, Time(3)));
    let first = KINDS;
    knock(1, TlsFault::PeerNotAdmitted, Time::ZERO + QUIET);
    assert_eq!(told.len(), first + 1);
    let seen: Vec<_> = told
        .iter()
        .map(|event| match event {
            Event::NotConnected { why, from: Some(from), before, .. } => {
                (why.code(), from.ip().to_string(), *before)
            }
            other => panic!("{other}"),
        })
        .collect();
    let by = |code, machine: u8, before| (code, format!("10.0.0.{machine}"), before);
    assert_eq!(
        seen[..3],
        [by(Code::NotAllowed, 1, 0), by(Code::WrongCluster, 1, 0), by(Code::NotAllowed, 2, 0)]
    );
    assert_eq!(seen[first], by(Code::NotAllowed, 1, 99), "those before it are counted");
    assert!(told[0].to_string().starts_with("a connection from 10.0.0.1 was not made: "), "{}", told[0]);
}
