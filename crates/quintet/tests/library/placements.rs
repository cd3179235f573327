//! Where a space may be: in the process, with a server over shared memory, with a name beside the one without.

use quintet::{Lab, ServeConfig, Server, Space, SpaceSettings};
use quintet_testbed::TempDir;
use std::time::Duration;

/// A lease of whoever connects.
const LEASE: Duration = Duration::from_secs(2);

/// Runs a test in the process and over shared memory; each client it asks for is a connection of its own where there are connections.
pub(crate) fn labs(test: impl Fn(&dyn Fn() -> Lab)) {
    let lab = Lab::embedded();
    test(&|| lab.clone());
    served(|connect| test(connect));
}

/// The same, and in a space with a name.
pub(crate) fn spaces(test: impl Fn(&dyn Fn() -> Space)) {
    let lab = Lab::embedded();
    test(&|| lab.space());
    served(|connect| {
        test(&|| connect().space());
        connect().create_space("orders", &SpaceSettings::default()).expect("there is room for it");
        test(&|| connect().named_space("orders").expect("it was created"));
    });
}

fn served(test: impl Fn(&dyn Fn() -> Lab)) {
    let dir = TempDir::new().expect("a temporary directory");
    let socket = dir.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).expect("the space starts");
    test(&|| Lab::connect(&socket, 0, LEASE).expect("the space is there"));
    server.stop().expect("it ends in order");
}
