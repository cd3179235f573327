use super::*;
use quintet_link::{LinkAddress, SharedMemoryListener, listen};
use quintet_testbed::{Program, TempDir, argument};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

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
        let poller = Poller::new().expect("there are descriptors");
        let mut listening = Listening::default();
        let listener = SharedMemoryListener::bind(Path::new(&path)).expect("the folder is there");
        listening.add(Box::new(listener), Port(16), &poller).expect("it is watched");
        let client = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a descriptor");
        connect(&client, &SocketAddrUnix::new(&path).expect("it is short")).expect("it listens");
        let before = getrlimit(Resource::Nofile);
        forbid_descriptors();
        let mut told = Vec::new();
        assert!(listening.accept(Time(0), &poller, &mut |event| told.push(event.clone())).is_none());
        assert!(matches!(told[..], [Event::NoNewLinks { .. }]), "{told:?}");
        assert!(!listening.is_called() && !poller.is_called(), "it would stay readable");
        let again = listening.deadline().expect("it is looked at again");
        setrlimit(Resource::Nofile, before).expect("it was allowed before");
        listening.end_rests(again, &poller);
        assert!(listening.is_called() && listening.deadline().is_none());
        listening.accept(again, &poller, &mut |event| panic!("nothing is refused any more: {event}"));
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
fn with_no_descriptor_in_reserve_either_the_listener_rests() {
    const NAME: &str = "listening::tests::with_no_descriptor_in_reserve_either_the_listener_rests";
    if let Some(path) = argument() {
        let poller = Poller::new().expect("there are descriptors");
        for address in [
            LinkAddress::SharedMemory(Path::new(&path).to_owned()),
            LinkAddress::Unix(format!("{path}.stream").into()),
        ] {
            let mut listening = Listening::default();
            listening
                .add(listen(&address).expect("the folder is there"), Port(16), &poller)
                .expect("it is watched");
            let (LinkAddress::SharedMemory(at) | LinkAddress::Unix(at)) = &address else { return };
            let kind = if at.ends_with("socket") { SocketType::SEQPACKET } else { SocketType::STREAM };
            let client = socket(AddressFamily::UNIX, kind, None).expect("a descriptor");
            connect(&client, &SocketAddrUnix::new(at).expect("it is short")).expect("it listens");
            let before = getrlimit(Resource::Nofile);
            // Not even a number that becomes free is given out again.
            setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..before }).expect("less is allowed");
            let mut told = Vec::new();
            assert!(listening.accept(Time(0), &poller, &mut |event| told.push(event.clone())).is_none());
            setrlimit(Resource::Nofile, before).expect("it was allowed before");
            assert!(matches!(told[..], [Event::NoNewLinks { .. }]), "{told:?}");
            assert!(!listening.is_called() && !poller.is_called(), "it would stay readable");
        }
        println!("both rest");
        return;
    }
    let folder = TempDir::new().expect("a temporary directory");
    let child = Program::this_test(NAME, folder.join("socket")).expect("it is known").spawn();
    let child = child.expect("it starts");
    let said = child.output().wait_for("both rest", Duration::from_secs(30));
    assert!(said.is_some(), "{}", child.output().text());
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
