use super::*;
use quintet_testbed::TempDir;
use std::os::unix::net::UnixListener;

/// A user's configuration with a cluster `lab`, and what its agent has written.
fn home(agent: &str) -> TempDir {
    let home = TempDir::new().expect("a temporary directory");
    let lab = home.join("quintet/lab");
    quintet_identity::create(&lab, "a").expect("it is made");
    std::fs::write(lab.join("agent.toml"), agent).expect("the folder is there");
    home
}

fn locate(home: &TempDir, text: &str) -> Result<Located, Error> {
    let environment = |name: &str| (name == "XDG_CONFIG_HOME").then(|| home.path().into());
    text.parse::<SpaceAddress>().expect("it is an address").locate(&environment)
}

fn peer(node: u16, address: &str) -> String {
    let identity = "5f".repeat(32);
    format!("[[peer]]\nnode = {node}\nidentity = \"{identity}\"\naddress = \"{address}\"\n")
}

#[test]
fn the_only_agent_that_runs_names_the_cluster() {
    let home = home("node = 1\n");
    let found =
        || SpaceAddress::of_running_agent(&|name| (name == "XDG_CONFIG_HOME").then(|| home.path().into()));
    assert_eq!(found(), None, "none runs");
    let lab = home.join("quintet/lab");
    let agent = UnixListener::bind(agent_socket(&lab)).expect("the folder is there");
    let expected = SpaceAddress::Cluster(lab.to_str().expect("it is text").to_owned());
    assert_eq!(found(), Some(expected));
    let other = home.join("quintet/other");
    std::fs::create_dir(&other).expect("the folder is there");
    let _other = UnixListener::bind(agent_socket(&other)).expect("the folder is there");
    assert_eq!(found(), None, "there are two");
    drop(agent);
    assert_eq!(SpaceAddress::of_running_agent(&|_| None), None, "without a home there are no clusters");
}

#[test]
fn the_machine_with_the_lowest_number_serves() {
    let home = home("node = 2\n");
    let own = locate(&home, "quintet://lab").expect("it is alone");
    let socket = home.join("quintet/lab/space.socket");
    assert_eq!(own.address, LinkAddress::SharedMemory(socket));
    let others = format!("node = 2\n{}{}", peer(7, "d:1"), peer(1, "[::1]:7400"));
    std::fs::write(home.join("quintet/lab/agent.toml"), others).expect("the folder is there");
    for address in ["quintet://lab".to_owned(), format!("quintet://{}/quintet/lab", home.path().display())] {
        let other = locate(&home, &address).expect("another machine serves");
        assert_eq!(other.address.to_string(), "tls:[::1]:7401");
        assert!(!other.address.wants_identity(), "it proves who it is");
        assert_eq!(other.cluster, own.cluster);
        assert!(own.cluster.is_some());
    }
}

#[test]
fn what_is_no_cluster_is_refused_with_what_to_do() {
    let home = home("node = 1\n");
    let lab = home.join("quintet/lab");
    let write = |text: &str| std::fs::write(lab.join("agent.toml"), text).expect("the folder is there");
    let refusal = |address: &str| locate(&home, address).expect_err(address);
    let error = refusal("quintet://other");
    assert!(error.code() == Code::BadValue && error.text().contains("quintet join"), "{error}");
    let error = refusal("quintet:///no/such/place");
    assert!(error.code() == Code::Unreachable && error.text().contains("/no/such/place"), "{error}");
    for (place, words) in [("a:65535", "no port is after"), ("", "node 0"), ("x", "node 0")] {
        write(&format!("node = 1\n{}", peer(0, place)));
        let error = refusal("quintet://lab");
        assert!(error.code() == Code::Unreachable && error.text().contains(words), "{error}");
    }
    write("node = \"x\"");
    assert_eq!(refusal("quintet://lab").code(), Code::BadFile);
    std::fs::remove_file(lab.join("agent.toml")).expect("it is there");
    let error = refusal("quintet://lab");
    assert!(error.code() == Code::BadValue && error.text().contains("no member"), "{error}");
}

#[test]
fn a_path_that_is_no_folder_is_a_socket_of_this_machine() {
    let home = home("node = 0");
    std::fs::write(home.join("space"), "").expect("the folder is there");
    let address = format!("quintet://{}", home.join("space").display());
    let located = locate(&home, &address).expect("something is there");
    assert_eq!((located.address, located.cluster), ((&home.join("space")).into(), None));
}

#[test]
fn texts_are_addresses_or_refused_with_what_to_write() {
    for text in ["quintet://lab", "quintet://lab/orders", "quintet:///path/of/lab", "tls:a:7400", "shm:q"] {
        assert_eq!(text.parse::<SpaceAddress>().expect(text).to_string(), text);
    }
    for (text, words) in [
        ("quintet://", "quintet:///path"),
        ("quintet://lab/", "quintet:///path"),
        ("quintet://lab/x/y", "quintet:///path"),
        ("quintet://lab/../x", "quintet:///path"),
        ("quintet:lab", "quintet://NAME"),
        ("", "quintet://NAME"),
        ("pigeon:7", "shm:PATH"),
    ] {
        let error = text.parse::<SpaceAddress>().expect_err(text);
        assert!(error.code() == Code::BadValue && error.text().contains(words), "{error}");
    }
}

fn kept(name: &str, number: u64, slot: u16, replicas: &[u16]) -> String {
    format!(
        "[[space]]\nname = \"{name}\"\nnumber = {number}\nslot = {slot}\nreplicas = {replicas:?}\nmax_bytes = 1\nmax_tuples = 1\n"
    )
}

#[test]
fn spaces_that_machines_keep_are_behind_their_agents_with_a_number_of_their_own() {
    let of = |spaces: &str| {
        format!("node = 2\naddress = \"c:7500\"\n{}{}{spaces}", peer(1, "[::1]:7400"), peer(7, "d:1"))
    };
    let home = home(&of(&(kept("orders", 9, 0, &[7]) + &kept("jobs", 12, 1, &[2, 1, 7]))));
    let orders = locate(&home, "quintet://lab/orders").expect("it is kept");
    assert_eq!((orders.address.to_string(), orders.replicas.len()), ("tls:d:3".to_owned(), 0));
    let by_path = format!("quintet://{}/quintet/lab/jobs", home.path().display());
    for address in ["quintet://lab/jobs", &by_path] {
        let jobs = locate(&home, address).expect("it is kept");
        let replicas: Vec<String> = jobs.replicas.iter().map(LinkAddress::to_string).collect();
        assert_eq!(replicas, ["tls:c:7503", "tls:[::1]:7403", "tls:d:4"], "in their order");
        assert!(jobs.replicas.iter().all(|replica| !replica.wants_identity()) && jobs.space.is_none());
        assert!(!jobs.ends_with_its_agent());
    }
    let cluster = locate(&home, "quintet://lab").expect("another machine serves").cluster;
    let jobs = locate(&home, "quintet://lab/jobs").expect("it is kept").cluster;
    assert!(cluster.is_some() && jobs != cluster && jobs != orders.cluster);

    let volatile = locate(&home, "quintet://lab/others").expect("another machine serves");
    assert_eq!(volatile.space.as_ref().map(SpaceName::as_str), Some("others"));
    assert_eq!((volatile.cluster, volatile.address.to_string()), (cluster, "tls:[::1]:7401".to_owned()));

    // Somebody who was removed, or nobody, keeps no space.
    for replicas in [&[3][..], &[]] {
        std::fs::write(home.join("quintet/lab/agent.toml"), of(&kept("orders", 9, 0, replicas))).unwrap();
        assert!(locate(&home, "quintet://lab/orders").is_err(), "{replicas:?}");
    }
}
