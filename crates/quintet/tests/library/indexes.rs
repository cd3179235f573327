//! A request that needs a new index over many tuples is answered, wherever the space lives.

use quintet::{Lab, Outcome, ServeConfig, Server, SpaceConfig, template, tuple};
use quintet_testbed::TempDir;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

fn finds_what_is_there_and_misses_what_is_not(lab: &Lab) {
    let space = lab.space();
    for n in 0..3_000i64 {
        space.out(tuple!["a", n, n * 2]).expect("there is room");
    }
    assert_eq!(
        space.take_if(&template!["a", 2_999i64, ?i64]).expect("it answers"),
        Some(tuple!["a", 2_999i64, 5_998i64])
    );
    assert_eq!(space.take_if(&template!["a", 2_999i64, ?i64]).expect("it answers"), None);
    assert_eq!(space.read_if(&template![?str, ?i64, 7i64]).expect("it answers"), None);
    let pending = space.begin().take(&template![?str, ?i64, 8i64]).expect("it answers");
    assert_eq!(space.count(&template![?str, 3i64, ?i64]).expect("it answers"), 1);
    let outcome = pending.finish().expect("it is there");
    assert!(
        matches!(&outcome, Outcome::Tuple(found, ..) if *found == tuple!["a", 4i64, 8i64]),
        "{outcome:?}"
    );
}

#[test]
fn embedded() {
    finds_what_is_there_and_misses_what_is_not(&Lab::embedded());
    let small = SpaceConfig { index_step: 1, ..SpaceConfig::default() };
    finds_what_is_there_and_misses_what_is_not(&Lab::embedded_with(small, None));
}

#[test]
fn served() {
    let folder = TempDir::new().expect("a folder");
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    finds_what_is_there_and_misses_what_is_not(&Lab::connect(&socket, 0, LEASE).expect("the space is there"));
    server.stop().expect("it ends in order");
}
