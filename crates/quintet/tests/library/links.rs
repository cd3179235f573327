//! How a process uses its links can be chosen.

use quintet::{Code, Lab, LinkConfig, ServeConfig, Server, Tuple, Value, Window, tuple};
use quintet_contract::{
    Effects, Incarnation, Input, LinkClass, LinkInfo, NodeId, PeerChange, Protocol, Time,
};
use quintet_testbed::TempDir;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// Small fields travel in the frame itself: about 3 KiB here.
fn many_fields() -> Tuple {
    Tuple::new(vec![Value::from("sixty letters ".repeat(4).as_str()); 50]).expect("few fields")
}

fn serving(link: LinkConfig, test: impl Fn(&std::path::Path)) {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.join("space");
    let config = ServeConfig { link, ..ServeConfig::default() };
    let _server = Server::start(&socket, &config).expect("the space starts");
    test(&socket);
}

#[test]
fn a_frame_takes_half_of_the_servers_window_at_most() {
    let narrow = LinkConfig { window: Window { slots: 4, bytes: 4096 }, ..LinkConfig::default() };
    serving(narrow, |socket| {
        let space = Lab::connect(socket, 0, LEASE).expect("the space is there").space();
        space.out(tuple!["x", "short"]).expect("it fits");
        let error = space.out(many_fields()).expect_err("half of the window is less");
        assert_eq!(error.code(), Code::TooLarge);
        assert!(error.text().contains("link.window_bytes"), "{error}");
        space.out(tuple!["x", "short"]).expect("the connection goes on");
    });
    serving(LinkConfig::default(), |socket| {
        let space = Lab::connect(socket, 0, LEASE).expect("the space is there").space();
        space.out(many_fields()).expect("it fits the usual window");
    });
}

#[test]
fn work_goes_on_whatever_the_window_and_the_spin() {
    for (slots, spin) in [(2, Duration::ZERO), (300, Duration::from_micros(100))] {
        let link = LinkConfig { window: Window { slots, bytes: 8192 }, spin, ..LinkConfig::default() };
        serving(link, |socket| {
            let space = Lab::connect_with(socket, 0, LEASE, link).expect("the space is there").space();
            for n in 0..200i64 {
                space.out(tuple!["n", n]).expect("it fits");
            }
            assert_eq!(space.status().expect("it answers").tuples, 200);
        });
    }
}

/// What a space says to a client that connects is as long as always, and tells the window.
#[test]
fn a_peer_is_told_the_window() {
    let told = |slots| {
        let config = quintet::stack::StackConfig::of_server(0, Incarnation(1), 1)
            .with_window(Window { slots, bytes: 77_777 });
        let (here, there) = (quintet::stack::SERVER, quintet::stack::sessions_of(NodeId(5)));
        let mut served = quintet::stack::served(&config);
        let mut client = quintet::stack::client(there.node, &config);
        let (mut ours, mut theirs) = (Effects::default(), Effects::default());
        let up =
            PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };
        served.handle(Time::ZERO, Input::Started, &mut ours);
        client.handle(Time::ZERO, Input::Started, &mut theirs);
        served.handle(Time::ZERO, Input::Peer(there, &up), &mut ours);
        client.handle(Time::ZERO, Input::Peer(here, &up), &mut theirs);
        let mut said = Vec::new();
        // HELLO and WELCOME, then what each takes.
        for _ in 0..2 {
            for (_, frame) in theirs.frames() {
                served.handle(Time::ZERO, Input::Frame(there, frame.borrow()), &mut ours);
            }
            for (_, frame) in ours.frames() {
                said.extend_from_slice(&frame.body);
                client.handle(Time::ZERO, Input::Frame(here, frame.borrow()), &mut theirs);
            }
        }
        said
    };
    let contains = |said: &[u8], number: u32| said.windows(4).any(|four| four == number.to_le_bytes());
    assert!(contains(&told(54_321), 54_321) && contains(&told(54_321), 77_777));
    assert!(!contains(&told(256), 54_321));
}
