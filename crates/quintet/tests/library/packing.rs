//! Long data go packed where that is asked for, or the network is slow; nobody else sees a difference.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Array, ArrayOf, Lab, LinkAddress, LinkConfig, Packing, ServeConfig, Server, template, tuple};
use quintet_testbed::Wire;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const COUNT: usize = 1 << 17;
const BYTES: u64 = 8 << 17;

fn served() -> (Server, LinkAddress) {
    let address: LinkAddress = "tcp:127.0.0.1:0".parse().unwrap();
    let server = Server::start(address, &ServeConfig::default()).unwrap();
    let address = server.addresses()[0].clone();
    (server, address)
}

fn connected(address: &LinkAddress, packing: Packing) -> Lab {
    Lab::connect_with(address, 0, LEASE, LinkConfig { packing, ..LinkConfig::default() }).unwrap()
}

/// A row whose numbers differ little from their neighbours, and no other row has.
fn row(first: f64) -> Array {
    let numbers: Vec<f64> = (0..COUNT).map(|n| first + (n / 16) as f64).collect();
    Array::from_elements(&[COUNT as u64], &numbers).unwrap()
}

fn stored(lab: &Lab) -> u64 {
    lab.space().status().unwrap().bytes
}

#[test]
fn a_packed_row_is_taken_as_it_was_by_whoever_asks_for_it() {
    let (_server, address) = served();
    let (packs, plain) = (connected(&address, Packing::Always), connected(&address, Packing::Never));
    packs.space().out(tuple!["row", 1i64, row(1.0)]).unwrap();
    assert!(stored(&plain) < BYTES / 8, "it is stored as it came");
    plain.space().out(tuple!["row", 2i64, row(2.0)]).unwrap();
    assert!(stored(&plain) > BYTES);
    // By its data, with and without an index, whoever has packed what.
    for lab in [&packs, &plain] {
        let space = lab.space();
        assert_eq!(space.read(&template!["row", ?i64, row(1.0)]).unwrap()[1], 1i64.into());
        assert_eq!(space.read(&template!["row", ?i64, row(2.0)]).unwrap()[1], 2i64.into());
        assert_eq!(space.count(&template!["row", ?i64, row(3.0)]).unwrap(), 0);
    }
    assert_eq!(
        plain.space().take(&template!["row", 1i64, ?ArrayOf<f64, 1>]).unwrap(),
        tuple!["row", 1i64, row(1.0)]
    );
    assert_eq!(
        packs.space().take(&template!["row", 2i64, ?ArrayOf<f64, 1>]).unwrap(),
        tuple!["row", 2i64, row(2.0)]
    );
}

#[test]
fn results_and_several_tuples_at_once_are_packed_too() {
    let (_server, address) = served();
    let (packs, plain) = (connected(&address, Packing::Always), connected(&address, Packing::Never));
    plain.space().out(tuple!["task", 7i64]).unwrap();
    let task = packs.space().lease(&template!["task", ?i64], None).unwrap();
    task.acknowledge(&[
        tuple!["result", 7i64, row(7.0)],
        tuple!["done", 7i64],
        tuple!["log", "x".repeat(9000)],
    ])
    .unwrap();
    assert!(stored(&plain) < BYTES / 8);
    assert_eq!(
        plain.space().take(&template!["result", 7i64, row(7.0)]).unwrap(),
        tuple!["result", 7i64, row(7.0)]
    );
    assert_eq!(plain.space().take(&template!["log", ?String]).unwrap(), tuple!["log", "x".repeat(9000)]);
    assert_eq!(plain.space().count(&template!["done", 7i64]).unwrap(), 1);
}

#[test]
fn a_network_that_holds_things_up_has_the_next_ones_packed() {
    let (_server, address) = served();
    let LinkAddress::Tcp { host, port } = &address else { panic!("{address}") };
    let wire = Wire::to(format!("{host}:{port}").parse().unwrap()).unwrap();
    wire.set_rate(8 << 20);
    let slow = LinkAddress::Tcp { host: wire.address().ip().to_string(), port: wire.address().port() };
    let (near, far) = (connected(&address, Packing::Auto), connected(&slow, Packing::Auto));
    near.space().out(tuple!["row", row(1.0)]).unwrap();
    far.space().out(tuple!["row", row(2.0)]).unwrap();
    let before = stored(&near);
    assert!(before > 2 * BYTES, "nothing is known of either network");
    // The one before took an eighth of a second, though it was awaited and the socket may have taken all of it at once.
    far.space().out(tuple!["row", row(3.0)]).unwrap();
    assert!(stored(&near) < before + BYTES / 8);
}
