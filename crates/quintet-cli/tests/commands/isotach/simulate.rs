//! `isotach simulate`: isochrons on a network that a file describes.

use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::fs;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/isotach/two-switches.topology");

/// What is said of a network, an object a line, and of the whole the last.
fn simulated(file: &str, asked: &[&str]) -> (Vec<Value>, Value) {
    let words = ["isotach", "simulate", file, "--json"];
    let (status, said) = result(quintet(words.into_iter().chain(asked.iter().copied())));
    assert_eq!(status, 0, "{asked:?}: {said}");
    let mut objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole = objects.pop().unwrap();
    (objects, whole)
}

/// A value of one way, over all distances or one.
fn value(objects: &[Value], way: &str, distance: Option<u64>, name: &str) -> f64 {
    let is_it = |object: &&Value| object["way"] == way && object["distance"].as_u64() == distance;
    objects.iter().find(is_it).unwrap_or_else(|| panic!("{way} {distance:?}"))[name].as_f64().unwrap()
}

const WAYS: [&str; 3] = ["plain messages", "isochrons, agreed", "isochrons, safe"];

#[test]
fn the_example_shows_latency_against_distance_and_the_tokens() {
    let (objects, whole) = simulated(EXAMPLE, &[]);
    let said = |name: &str| whole[name].as_u64().unwrap();
    assert_eq!((said("nodes"), said("switches"), said("senders")), (8, 2, 8));
    assert_eq!((said("smallest_distance"), said("largest_distance"), said("receivers")), (1, 2, 3));
    let medians = WAYS.map(|way| value(&objects, way, None, "median_us"));
    assert!(medians.is_sorted(), "each promise more takes longer: {medians:?}");
    for way in WAYS {
        assert_eq!(value(&objects, way, None, "isochrons"), 160.0);
        assert_eq!(value(&objects, way, None, "messages"), 480.0);
        let [near, far] = [1, 2].map(|distance| value(&objects, way, Some(distance), "median_us"));
        assert!(near < far, "{way}: {near} {far}");
        assert_eq!(value(&objects, way, None, "tokens") > 0.0, way != WAYS[0], "{way}");
    }
    let (status, table) = result(quintet(["isotach", "simulate", EXAMPLE]));
    assert!(status == 0 && table.starts_with("8 nodes, 2 switches, logical distances 1 to 2\n"), "{table}");
    assert!(table.contains("of them a wire, one way"), "{table}");
}

#[test]
fn a_seed_gives_the_same_again_and_chooses_who_sends() {
    let asked = ["--senders", "2", "--receivers", "2", "--longest", "40us", "--seed"];
    let of = |seed: &'static str| simulated(EXAMPLE, &[&asked[..], &[seed]].concat());
    assert_eq!(of("7"), of("7"));
    assert_ne!(of("7").0, of("8").0);
    assert_eq!(value(&of("7").0, WAYS[2], None, "messages"), 80.0);
}

#[test]
fn frames_that_are_lost_come_later_and_none_is_missing() {
    let of = |loss| simulated(EXAMPLE, &["--isochrons", "100", "--loss", loss]).0;
    let (kept, lost) = (of("0"), of("2%"));
    for way in WAYS {
        assert_eq!(value(&lost, way, None, "messages"), 2400.0, "{way}");
        let [kept, lost] = [&kept, &lost].map(|found| value(found, way, None, "p99_us"));
        assert!(lost > 5.0 * kept, "{way}: {kept} {lost}");
    }
}

#[test]
fn a_slower_wire_takes_longer_and_a_manager_beside_its_node_none() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, manager: u16| {
        let path = folder.path().join(name);
        fs::write(&path, format!("switch one at {manager}: 0 1 # two nodes\n")).unwrap();
        path
    };
    let alone = |path: &std::path::Path, latency: &str| {
        let asked = ["--senders", "1", "--receivers", "1", "--seed", "1", "--latency", latency];
        let (objects, whole) = simulated(text(path), &asked);
        assert_eq!(whole["largest_distance"], 1);
        WAYS.map(|way| value(&objects, way, Some(1), "median_us"))
    };
    let (apart, beside) = (file("apart", 9), file("beside", 0));
    let [plain, agreed, _] = alone(&apart, "100us");
    assert!(plain > 200.0 && alone(&apart, "10us")[0] < 50.0, "two wires");
    assert!(agreed > plain, "the order comes from the switch");
    assert_ne!(alone(&apart, "100us")[2], alone(&beside, "100us")[2], "the manager's place counts");
}

#[test]
fn what_is_no_topology_is_refused_with_the_file_the_line_and_what_to_do() {
    let folder = TempDir::new().unwrap();
    let two = "# two\nswitch a at 0: 0 1\nswitch b at 2: 2 3\n";
    let long = "#".repeat(60_000);
    for (name, content, words) in [
        (
            "cycle",
            format!("{two}wire a b\nwire b a\n"),
            "line 5: the wire between b and a closes a cycle: switches form a tree, so leave it out",
        ),
        ("apart", two.to_owned(), "line 3: b cannot be reached from a: a wire is missing"),
        ("node", format!("{two}switch c at 7: 1\n"), "line 4: node 1 is at a and at c: a node has one place"),
        (
            "switch",
            format!("{two}switch a at 7: 7\n"),
            "line 4: two switches are called a: give each a name of its own",
        ),
        (
            "manager",
            format!("{two}switch c at 2: 7\n"),
            "line 4: node 2 stands for the switches b and c: a node stands for one at most",
        ),
        (
            "wire",
            format!("{two}wire a c\n"),
            "line 4: a wire names the switch c, which is not described: add a line for it",
        ),
        ("word", format!("{two}cable a b\n"), "line 4: begins with neither `switch` nor `wire`"),
        ("empty", String::new(), "no node is at any switch: name those that take part"),
        (
            "alone",
            "switch a at 0: 0\n".to_owned(),
            "has one node only, and an isochron goes to others: add nodes",
        ),
        ("long", long, "has more than 57344 bytes, the limit of a topology"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let (status, said) = result(quintet(["isotach", "simulate", text(&path)]));
        assert_eq!(status, 65, "{name}: {said}");
        assert!(said.contains(&format!("{}: {words}", path.display())), "{name}: {said}");
    }
    let path = folder.path().join("bytes");
    fs::write(&path, b"switch a at 0: 0 1\n# caf\xe9\n").unwrap();
    let absent = folder.path().join("absent");
    for (path, words) in [
        (path.as_path(), "is no text in UTF-8, from line 2 on"),
        (folder.path(), "cannot be read: Is a directory"),
        (absent.as_path(), "cannot be read: No such file"),
    ] {
        let (status, said) = result(quintet(["isotach", "simulate", text(path)]));
        assert!(status == 65 && said.contains(words), "{said}");
    }
}

#[test]
fn what_a_network_has_no_room_for_is_refused() {
    for (asked, status, words) in [
        (["--receivers", "8"], 65, "8 receivers of an isochron, of which there are 7 at most"),
        (["--senders", "9"], 65, "9 senders, of which there are 8 at most"),
        (["--bytes", "40000"], 65, "above the limits of 255 and 61440"),
        (["--longest", "1us"], 65, "--longest is shorter than --latency"),
        (["--loss", "60%"], 64, "expected 50% at most"),
        (["--latency", "2s"], 64, "expected a second at most"),
        (["--bytes", "7"], 64, "7 is not in 8"),
    ] {
        let found = result(quintet(["isotach", "simulate", EXAMPLE].into_iter().chain(asked)));
        assert!(found.0 == status && found.1.contains(words), "{asked:?}: {found:?}");
    }
}
