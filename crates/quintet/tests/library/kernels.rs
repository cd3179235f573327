//! Clients that ask a space through the kernel of their machine.

#![allow(clippy::unwrap_used)]

use quintet::{
    Array, ArrayOf, Buffer, Code, ElementType, Kernel, KernelConfig, Lab, LinkAddress, LinkConfig, Outcome,
    Partitioning, ServeConfig, Server, SpaceLog, template, tuple,
};
use quintet_testbed::TempDir;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

fn address(kind: &str, dir: &TempDir, name: &str) -> LinkAddress {
    match kind {
        "tcp" => "tcp:127.0.0.1:0".parse().unwrap(),
        _ => format!("{kind}:{}", dir.join(name).display()).parse().unwrap(),
    }
}

fn lab(address: &LinkAddress) -> Lab {
    Lab::connect(address.clone(), 0, LONG).unwrap()
}

fn kernel(listen: &LinkAddress, server: &Server) -> Kernel {
    Kernel::start(std::slice::from_ref(listen), server.addresses()[0].clone(), &KernelConfig::default())
        .unwrap()
}

fn measured(kernel: &Kernel, name: &str) -> u64 {
    let told = kernel.meter().measure(LONG).unwrap();
    told.iter().filter(|one| one.metric.name == name).map(|one| one.value).sum()
}

/// Waits, for very long if need be, until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it never came to be: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn clients_of_two_kernels_share_a_space_over_every_pair_of_links() {
    let dir = TempDir::new().unwrap();
    for (below, above) in [("shm", "tcp"), ("unix", "shm"), ("tcp", "unix")] {
        let server =
            Server::start(address(below, &dir, &format!("{below}-server")), &ServeConfig::default()).unwrap();
        let kernels =
            ["a", "b"].map(|name| kernel(&address(above, &dir, &format!("{above}-{below}-{name}")), &server));
        std::thread::scope(|scope| {
            for client in 0..4i64 {
                let at = &kernels[client as usize % 2].addresses()[0];
                scope.spawn(move || {
                    let space = lab(at).space();
                    for round in 0..50i64 {
                        space.out(tuple!["task", client, round]).unwrap();
                        let from = (client + 1) % 4;
                        let tuple = space.take(&template!["task", from, ?i64]).unwrap();
                        assert_eq!(tuple, tuple!["task", from, round], "in the order in which they were put");
                    }
                });
            }
        });
        let direct = lab(&server.addresses()[0]);
        assert_eq!(direct.space().status().unwrap().tuples, 0);
        assert!(kernels.iter().all(|kernel| measured(kernel, "quintet_kernel_frames_to_server") >= 200));
    }
}

/// One that lies where it can be lent, and that no link takes in one frame.
fn large_array() -> Array {
    let mut buffer = Buffer::new(8_000_000).unwrap();
    for (at, item) in buffer.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *item = (at as f64).to_le_bytes();
    }
    Array::new(ElementType::F64, vec![1_000_000], buffer.freeze()).unwrap()
}

#[test]
fn large_arrays_pass_a_kernel_whole_while_small_requests_pass_them() {
    let dir = TempDir::new().unwrap();
    for (below, above) in [("shm", "shm"), ("tcp", "shm"), ("shm", "unix")] {
        let server =
            Server::start(address(below, &dir, &format!("{below}{above}s")), &ServeConfig::default())
                .unwrap();
        let kernel = kernel(&address(above, &dir, &format!("{below}{above}k")), &server);
        let (large, small) = (lab(&kernel.addresses()[0]), lab(&kernel.addresses()[0]));
        let array = large_array();
        let begun = large.space().begin().out(&[tuple!["rows", array.clone()]]).unwrap();
        small.space().out(tuple!["small"]).unwrap();
        begun.finish().unwrap();
        let taken = small.space().take(&template!["rows", ?ArrayOf<f64, 1>]).unwrap();
        assert!(taken == tuple!["rows", array], "it is another");
    }
}

#[test]
fn who_dies_behind_a_kernel_waits_for_nothing_any_more_and_its_lease_returns() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir.join("server"), &ServeConfig::default()).unwrap();
    let kernel = kernel(&address("unix", &dir, "kernel"), &server);
    let (mortal, other) = (lab(&kernel.addresses()[0]), lab(&kernel.addresses()[0]));
    let direct = lab(&server.addresses()[0]);
    direct.space().out(tuple!["leased", 1i64]).unwrap();
    let lease = mortal.space().lease(&template!["leased", ?i64], Some(LONG)).unwrap();
    let wait = mortal.space().begin().take(&template!["wanted"]).unwrap();
    until("it waits", || direct.space().status().unwrap().waiters == 1);
    mortal.close();
    drop((lease, wait));
    until("it waits no more", || direct.space().status().unwrap().waiters == 0);
    assert_eq!(other.space().take(&template!["leased", ?i64]).unwrap(), tuple!["leased", 1i64]);
    other.space().out(tuple!["wanted"]).unwrap();
    assert!(direct.space().take_if(&template!["wanted"]).unwrap().is_some(), "nobody else took it");
}

#[test]
fn the_end_of_a_server_ends_its_kernel_and_clients_are_told() {
    let dir = TempDir::new().unwrap();
    let server = Server::start(&dir.join("server"), &ServeConfig::default()).unwrap();
    let kernel = kernel(&address("shm", &dir, "kernel"), &server);
    let lab = lab(&kernel.addresses()[0]);
    let wait = lab.space().begin().take(&template!["never"]).unwrap();
    server.stop().unwrap();
    assert_eq!(wait.finish().unwrap_err().code(), Code::PeerDied);
    let error = kernel.wait(Some(LONG)).expect("it is over with it");
    assert!(error.code() == Code::PeerDied && error.text().contains("server"), "{error}");
    let late = Lab::connect(kernel.addresses()[0].clone(), 0, LONG).err().expect("nobody listens there");
    assert_eq!(late.code(), Code::Unreachable);
}

#[test]
fn clients_of_a_logged_space_go_on_through_another_kernel() {
    let dir = TempDir::new().unwrap();
    let log = Some(SpaceLog::new(dir.join("log")));
    let server = Server::start(&dir.join("server"), &ServeConfig { log, ..ServeConfig::default() }).unwrap();
    let at = address("unix", &dir, "kernel");
    let first = kernel(&at, &server);
    let lab = lab(&at);
    lab.space().out(tuple!["before"]).unwrap();
    let wait = lab.space().begin().take(&template!["after"]).unwrap();
    first.stop();
    let _second = kernel(&at, &server);
    assert!(lab.space().take_if(&template!["before"]).unwrap().is_some());
    lab.space().out(tuple!["after"]).unwrap();
    assert_eq!(wait.finish().unwrap(), Outcome::Tuple(tuple!["after"], None));
}

#[test]
fn a_space_of_several_managers_has_a_kernel_for_each() {
    let dir = TempDir::new().unwrap();
    let config = ServeConfig { managers: 3, ..ServeConfig::default() };
    let server = Server::start(&dir.join("server"), &config).unwrap();
    let kernel = kernel(&address("shm", &dir, "kernel"), &server);
    let lab = lab(&kernel.addresses()[0]);
    for number in 0..200i64 {
        lab.space().out(tuple!["row", number]).unwrap();
        assert!(lab.space().take_if(&template!["row", number]).unwrap().is_some());
    }
    assert_eq!(lab.space().count(&template!["row", ?i64]).unwrap(), 0);
    // Behind its kernels a client has another address at each manager, and yet one group at all of them.
    let space = lab.space();
    let group = space.group();
    for number in 0..4i64 {
        space.out_many(&[tuple!["row", number], tuple![number], tuple![0.5f64, number]], None).unwrap();
        group.take(&template!["row", number]).unwrap();
        group.take(&template![number]).unwrap();
        group.out(tuple!["done", number, number]).unwrap();
    }
    group.commit().unwrap();
    assert_eq!((space.status().unwrap().tuples, space.status().unwrap().leases), (8, 0));
    let commits = |server: &Server| {
        let told = server.meter().measure(LONG).unwrap();
        let named = told.iter().filter(|told| told.metric.name == "quintet_manager_commits");
        named.map(|told| told.value).sum::<u64>()
    };
    // Where signatures are follows from a key that no two spaces have.
    assert!(commits(&server) > 0, "several managers have parts of some of them");
}

#[test]
fn before_managers_in_processes_of_their_own_all_is_asked_through_the_kernel() {
    let dir = TempDir::new().unwrap();
    let places: Vec<LinkAddress> = ["one", "two"].map(|name| address("unix", &dir, name)).to_vec();
    let serve = |manager: u8| {
        let partitioning = Some(Partitioning { manager, managers: places.clone(), told: None });
        let config = ServeConfig { partitioning, ..ServeConfig::default() };
        Server::start(places[usize::from(manager) - 1].clone(), &config).unwrap()
    };
    let servers = [1, 2].map(serve);
    let kernel = kernel(&address("shm", &dir, "kernel"), &servers[0]);
    let labs = [(); 3].map(|()| lab(&kernel.addresses()[0]));
    assert_eq!(
        measured(&kernel, "quintet_kernel_clients"),
        6,
        "each is linked with the kernel of each manager"
    );
    for number in 0..200i64 {
        let of = |turn: i64| labs[((number + turn) % 3) as usize].space();
        of(0).out(tuple!["row", number]).unwrap();
        assert!(of(1).take_if(&template!["row", number]).unwrap().is_some());
    }
    let direct = lab(&places[0]);
    assert_eq!(direct.space().status().unwrap().tuples, 0);
    assert_eq!(measured(&kernel, "quintet_kernel_clients"), 6, "who asks directly asks no kernel");
    let [first, second] = servers;
    second.stop().unwrap();
    let error = kernel.wait(Some(LONG)).expect("it is over with the space");
    assert!(error.code() == Code::PeerDied && error.text().contains("manager 2 of the 2"), "{error}");
    assert!(kernel.is_asking(), "the first is there, and tells clients");
    for lab in &labs {
        let error = lab.space().status().unwrap_err();
        let place = places[1].to_string();
        assert!(error.text().contains("manager 2 of the 2") && error.text().contains(&place), "{error}");
    }
    first.stop().unwrap();
    assert!(kernel.wait(Some(LONG)).is_some() && !kernel.is_asking());
}

#[test]
fn what_a_kernel_cannot_do_is_refused_with_what_to_do() {
    let dir = TempDir::new().unwrap();
    let start = |listen: &[LinkAddress], space: &str| {
        let space: quintet::SpaceAddress = space.parse().unwrap();
        let config = KernelConfig { link: LinkConfig::default(), ..KernelConfig::default() };
        let error = Kernel::start(listen, space, &config).err().expect("it is refused");
        (error.code(), error.text().to_owned())
    };
    let (code, text) = start(&["tls:0.0.0.0:1".parse().unwrap()], "shm:/x");
    assert!(code == Code::BadValue && text.contains("unix:PATH"), "{text}");
    let (code, text) = start(&[], "shm:/x");
    assert!(code == Code::BadValue && text.contains("an address"), "{text}");
    let at = [address("unix", &dir, "kernel")];
    let (code, text) = start(&at, "quintet://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3");
    assert!(code == Code::BadValue && text.contains("without a kernel"), "{text}");
    let (code, _) = start(&at, &format!("unix:{}", dir.join("nobody").display()));
    assert_eq!(code, Code::Unreachable);
    let server = ServeConfig { cluster: 8, ..ServeConfig::default() };
    let server = Server::start(&dir.join("server"), &server).unwrap();
    let (code, _) = start(&at, &server.addresses()[0].to_string());
    assert_eq!(code, Code::WrongCluster);
}
