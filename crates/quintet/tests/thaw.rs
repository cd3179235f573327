//! A space that stood still for longer than its clients wait: they are gone for it when it goes on.

use quintet::{Code, Lab, LinkAddress, LinkConfig, ServeConfig, Server, Space, template, tuple};
use quintet_testbed::{Program, TempDir, argument};
use std::path::Path;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

fn connect(socket: &Path) -> Space {
    Lab::connect(socket, 0, LONG).expect("the space is there").space()
}

/// In a child: serves at the socket that the test named, for ever.
fn serve_as_child() {
    let Some(address) = argument() else { return };
    let address: LinkAddress = address.parse().expect("the test wrote it");
    let _server = Server::start(address, &ServeConfig::default()).expect("it starts");
    println!("serving");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_client_that_gave_up_a_frozen_space_takes_nothing_from_it() {
    const NAME: &str = "a_client_that_gave_up_a_frozen_space_takes_nothing_from_it";
    serve_as_child();
    let dir = TempDir::new().unwrap();
    let socket = dir.join("space");
    let server = Program::this_test(NAME, &socket).expect("this executable is known").spawn().unwrap();
    server.output().wait_for("serving", LONG).expect("it serves");
    let (keep_alive, silence_limit) = (Duration::from_millis(250), Duration::from_millis(700));
    let impatient = LinkConfig { keep_alive, silence_limit, ..LinkConfig::default() };
    let gone = Lab::connect_with(&socket, 0, LONG, impatient).expect("the space is there").space();
    let mut pending = gone.begin().take(&template!["x"]).unwrap();
    assert_eq!(gone.status().unwrap().waiters, 1);
    server.freeze().unwrap();
    let error = pending.wait(LONG).expect("no hang").expect_err("nobody answers");
    assert_eq!(error.code(), Code::PeerSilent);
    server.thaw().unwrap();
    let other = connect(&socket);
    let limit = Instant::now() + LONG;
    while other.status().unwrap().waiters > 0 {
        assert!(Instant::now() < limit, "it still waits for who has gone");
        std::thread::yield_now();
    }
    other.out(tuple!["x"]).unwrap();
    assert_eq!(other.take_within(&template!["x"], LONG).unwrap(), tuple!["x"]);
    assert_eq!(gone.out(tuple!["y"]).expect_err("its link is closed").code(), Code::PeerSilent);
    assert_eq!(connect(&socket).count(&template!["y"]).unwrap(), 0);
}

#[test]
fn a_frozen_space_whose_link_could_be_made_again_is_silent_and_broke_nothing() {
    const NAME: &str = "a_frozen_space_whose_link_could_be_made_again_is_silent_and_broke_nothing";
    serve_as_child();
    let dir = TempDir::new().unwrap();
    let address = LinkAddress::Unix(dir.join("space"));
    let server = Program::this_test(NAME, Path::new(&address.to_string())).expect("this executable is known");
    let server = server.spawn().unwrap();
    server.output().wait_for("serving", LONG).expect("it serves");
    let (keep_alive, silence_limit) = (Duration::from_millis(250), Duration::from_millis(700));
    let resume_window = Duration::from_millis(300);
    let impatient = LinkConfig { keep_alive, silence_limit, resume_window, ..LinkConfig::default() };
    let gone = Lab::connect_with(&address, 0, LONG, impatient).expect("the space is there").space();
    let mut pending = gone.begin().take(&template!["x"]).unwrap();
    server.freeze().unwrap();
    let error = pending.wait(LONG).expect("no hang").expect_err("nobody answers");
    assert_eq!(error.code(), Code::PeerSilent, "{error}");
    assert_eq!(gone.out(tuple!["y"]).expect_err("it is over").code(), Code::PeerSilent);
}
