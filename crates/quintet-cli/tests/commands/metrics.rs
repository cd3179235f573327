//! `--metrics`: what a scraper reads, and who is not answered.

use crate::tool::{LONG, host, quintet, result, start, text, wait_until};
use quintet::{Lab, template, tuple};
use quintet_testbed::{Child, TempDir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Of the product, relative to this crate.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");

/// A served space, and where it tells its metrics.
fn served(folder: &TempDir) -> (Child, String) {
    served_by(folder, &[])
}

/// The same with other arguments, each time at another place.
fn served_by(folder: &TempDir, arguments: &[&str]) -> (Child, String) {
    let place = folder.join(format!("space{}", arguments.concat()));
    let usual = ["serve", "--listen", text(&place), "--json", "--metrics", "127.0.0.1:0"];
    let server = quintet(usual.into_iter().chain(arguments.iter().copied()));
    let ready: Value = serde_json::from_str(&server.output().next_line(LONG).expect("it serves")).unwrap();
    let url = ready["metrics"].as_str().expect("it says where").to_owned();
    (server, address(&url))
}

fn address(url: &str) -> String {
    url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/metrics")).expect("a URL").to_owned()
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("it may be set");
    stream
}

/// What is answered to these bytes.
fn answer(address: &str, request: &[u8]) -> String {
    let mut stream = connect(address);
    stream.write_all(request).expect("it is read");
    rest(stream)
}

fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it ends in order");
    String::from_utf8(answer).expect("text")
}

/// The values of a scrape, by name and labels.
fn scrape(address: &str) -> BTreeMap<String, u64> {
    let page = page(address);
    let values = page.lines().filter(|line| !line.starts_with('#'));
    let value = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    values.map(value).collect()
}

fn page(address: &str) -> String {
    let answer = answer(address, format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes());
    let (head, page) = answer.split_once("\r\n\r\n").expect("headers end");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4;"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", page.len())), "{head}");
    page.to_owned()
}

#[test]
fn what_happens_in_a_space_is_counted() {
    let folder = TempDir::new().unwrap();
    let (_server, address) = served(&folder);
    let before = scrape(&address);
    assert_eq!(
        (before["quintet_links{part=\"space\"}"], before["quintet_build_info{version=\"0.1.0\"}"]),
        (0, 1)
    );
    let lab = Lab::connect(Path::new(&folder.join("space")), 0, Duration::from_secs(10)).unwrap();
    let space = lab.space();
    (0..5i64).for_each(|number| space.out(tuple!["x", number]).unwrap());
    space.take(&template!["x", 0i64]).unwrap();
    let lease = space.lease(&template!["x", ?i64], None).unwrap();
    let waiting = space.begin().take(&template!["never"]).unwrap();
    space.out(tuple!["large", vec![5u8; 100_000]]).unwrap();

    let now = scrape(&address);
    let of_space = |name: &str| now[&format!("quintet_{name}{{part=\"space\"}}")];
    assert_eq!(of_space("links"), 1);
    assert_eq!(of_space("sessions"), 1);
    assert_eq!((of_space("space_tuples"), of_space("space_leases"), of_space("space_waiters")), (4, 1, 1));
    assert!(of_space("space_bytes") > 100_000);
    let asked = |operation: &str| {
        now[&format!("quintet_space_requests_total{{part=\"space\",operation=\"{operation}\"}}")]
    };
    assert_eq!([asked("out"), asked("take"), asked("lease"), asked("acknowledge")], [6, 2, 1, 0]);
    let over = |what: &str, way: &str| {
        now[&format!("quintet_link_{what}_total{{part=\"space\",direction=\"{way}\"}}")]
    };
    // A handshake, eight requests that were answered, and one that was not.
    assert!(over("frames", "in") >= 10 && over("frames", "out") >= 9, "{now:?}");
    assert!(over("bytes", "in") > 100_000 && over("bytes", "out") < 10_000, "{now:?}");
    assert!(of_space("messages_received_total") >= 9);
    for (name, value) in &before {
        assert!(!name.contains("_total") || now[name] >= *value, "{name} has fallen");
    }

    lease.acknowledge(&[]).unwrap();
    drop(waiting);
    drop((space, lab));
    wait_until(|| scrape(&address)["quintet_links{part=\"space\"}"] == 0);
    let last = scrape(&address);
    assert_eq!(last["quintet_space_leases{part=\"space\"}"], 0);
    assert_eq!(last["quintet_space_requests_total{part=\"space\",operation=\"acknowledge\"}"], 1);
}

#[test]
fn a_job_tells_of_its_tasks_and_workers() {
    let folder = TempDir::new().unwrap();
    // Not one that reads: its input ends when it is waited for, before or after the signal.
    let script = crate::tool::script(&folder, "master", "exec sleep 600");
    let idle = crate::tool::idle_worker(&folder);
    let mut job = quintet([
        "run",
        "-n",
        "2",
        "--python",
        text(&idle),
        "--metrics",
        "127.0.0.1:0",
        "--worker",
        "python",
        text(&script),
    ]);
    let said = job.output().wait_for("quintet: metrics at http://", LONG).expect("it says where");
    let address = address(&format!("http://{said}"));
    wait_until(|| scrape(&address)["quintet_job_workers{part=\"job\"}"] == 2);
    let now = scrape(&address);
    assert_eq!(now["quintet_job_tasks_submitted_total{part=\"job\"}"], 0);
    // The job's own connection, by which it learns of events.
    assert!(now["quintet_sessions{part=\"space\"}"] >= 1);
    job.terminate().unwrap();
    let status = job.wait(LONG).unwrap().expect("it ends");
    assert_eq!(status.code(), Some(130));
}

#[test]
fn an_agent_tells_of_its_cluster_and_of_the_space_while_it_serves_that() {
    let home = TempDir::new().unwrap();
    let place = format!("{}:7400", host());
    let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"].map(|name| (name, text(home.path())));
    assert_eq!(result(start(["init", "lab", "--machine", "a"], &variables)).0, 0);
    let agent =
        start(["up", "--foreground", "--json", "--listen", &place, "--metrics", "127.0.0.1:0"], &variables);
    let said = agent.output().wait_for("{", LONG).expect("it is up");
    let ready: Value = serde_json::from_str(&format!("{{{said}")).unwrap();
    let address = address(ready["metrics"].as_str().expect("it says where"));
    wait_until(|| {
        let now = scrape(&address);
        now.get("quintet_space_tuples{part=\"space\"}") == Some(&0)
            && now["quintet_cluster_is_leader{part=\"agent\"}"] == 1
    });
    let now = scrape(&address);
    assert_eq!(now["quintet_cluster_members{part=\"agent\",role=\"voter\"}"], 1);
    assert_eq!(now["quintet_cluster_members{part=\"agent\",role=\"learner\"}"], 0);
    assert_eq!(now["quintet_cluster_members_suspected{part=\"agent\"}"], 0);
    assert_eq!(now["quintet_launcher_processes{part=\"agent\"}"], 0);
    assert!(now["quintet_cluster_view{part=\"agent\"}"] >= 1);
    assert!(!now.keys().any(|name| name.contains("kept")));
    let kept = ["space", "create", "orders", "--policy", "logged", "--max-tuples", "3"];
    assert_eq!(result(start(kept, &variables)).0, 0);
    let now = scrape(&address);
    assert_eq!(now["quintet_space_tuples{part=\"kept\",space=\"orders\"}"], 0);
    assert!(now["quintet_log_syncs_total{part=\"kept\",space=\"orders\"}"] >= 1);
    assert_eq!(result(start(["space", "remove", "orders"], &variables)).0, 0);
    wait_until(|| !scrape(&address).keys().any(|name| name.contains("kept")));
}

#[test]
fn only_what_is_told_is_answered() {
    let folder = TempDir::new().unwrap();
    let (_server, address) = served(&folder);
    let ask = |head: &str| answer(&address, format!("{head}\r\n\r\n").as_bytes());
    let status = |head: &str| ask(head).lines().next().expect("a status").to_owned();
    let own = format!("Host: {address}");
    assert_eq!(status(&format!("GET / HTTP/1.1\r\n{own}")), "HTTP/1.1 404 Not Found");
    assert_eq!(status(&format!("POST /metrics HTTP/1.1\r\n{own}")), "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(status("GET /metrics HTTP/1.1"), "HTTP/1.1 400 Bad Request");
    let rebound = ask("GET /metrics HTTP/1.1\r\nHost: evil.example:9464");
    assert!(
        rebound.starts_with("HTTP/1.1 421 Misdirected Request") && !rebound.contains("quintet_"),
        "{rebound}"
    );
    assert!(answer(&address, b"\x16\x03\x01\x02\x00\r\n\r\n").starts_with("HTTP/1.1 400"), "TLS");
    // Not a line's end, and more than is read of a request.
    let endless = answer(&address, &vec![b'x'; 64 * 1024]);
    assert!(endless.starts_with("HTTP/1.1 431"), "{endless}");
    // A request in pieces is one.
    let mut slow = connect(&address);
    for piece in ["GET /met", "rics HTTP/1.1\r\nHo", "st: localhost\r\n\r", "\n"] {
        slow.write_all(piece.as_bytes()).unwrap();
    }
    assert!(rest(slow).contains("quintet_links"), "it is answered");
    // One that ends its own half before has asked all the same, and one that says nothing at all is let go.
    let half = connect(&address);
    (&half).write_all(format!("GET /metrics HTTP/1.1\r\n{own}\r\n\r\n").as_bytes()).unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert!(rest(half).contains("quintet_links"));
}

#[test]
fn those_who_say_nothing_keep_nobody_out() {
    let folder = TempDir::new().unwrap();
    let (_server, address) = served(&folder);
    // Three times as many as may be there at once: each newer one takes the place of an older one, also of those that have said a part.
    let silent: Vec<TcpStream> = (0..96)
        .map(|number| {
            let mut stream = connect(&address);
            if number % 2 == 0 {
                stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").expect("a part is said");
            }
            stream
        })
        .collect();
    assert!(scrape(&address).contains_key("quintet_links{part=\"space\"}"));
    // They last for seconds, not for ever: all are let go, and some had to go at once.
    for mut stream in silent {
        let mut left = Vec::new();
        // A reset says the same.
        let _ = stream.read_to_end(&mut left);
        assert!(left.is_empty(), "nothing was asked");
    }
}

#[test]
fn other_machines_read_them_only_where_that_is_said() {
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let serve = |address: &str| quintet(["serve", "--listen", text(&socket), "--metrics", address]);
    for open in ["0.0.0.0:0", "[::]:0"] {
        let (code, said) = result(serve(open));
        assert!(code == 77 && said.contains("add --metrics-open"), "{open}: {code}: {said}");
        assert!(!socket.exists(), "nothing was served");
    }
    for bad in ["9464", "127.0.0.1", "127.0.0.1:x", ":::"] {
        let (code, said) = result(serve(bad));
        assert!(code == 65 && said.contains("expected HOST:PORT"), "{bad}: {code}: {said}");
    }
    let (code, said) = result(quintet(["serve", "--metrics-open"]));
    assert!(code == 64 && said.contains("--metrics"), "{said}");

    let server =
        quintet(["serve", "--listen", text(&socket), "--json", "--metrics", "0.0.0.0:0", "--metrics-open"]);
    let ready: Value = serde_json::from_str(&server.output().next_line(LONG).expect("it serves")).unwrap();
    let port = address(ready["metrics"].as_str().unwrap()).rsplit_once(':').unwrap().1.to_owned();
    assert!(scrape(&format!("127.0.0.1:{port}")).contains_key("quintet_links{part=\"space\"}"));
    let taken = format!("127.0.0.1:{port}");
    let other = folder.join("other");
    let (code, said) = result(quintet(["serve", "--listen", text(&other), "--metrics", &taken]));
    assert!(code == 71 && said.contains(&taken), "{code}: {said}");
}

/// A row for each name that the page tells: name, type, text.
fn rows(page: &str) -> Vec<String> {
    let helps = page.lines().filter_map(|line| line.strip_prefix("# HELP "));
    let row = |help: &str| {
        let (name, text) = help.split_once(' ').expect("a name and a text");
        let kind = page.lines().find_map(|line| line.strip_prefix(&format!("# TYPE {name} ")));
        format!("| `{name}` | {} | {text} |", kind.expect("each has a type"))
    };
    helps.map(row).collect()
}

#[test]
fn the_documentation_lists_what_is_told_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let document = std::fs::read_to_string(PAGE).expect("it is there");
    let (_server, address) = served(&folder);
    let mut told = rows(&page(&address));

    let script = crate::tool::script(&folder, "master", "read line");
    let job = quintet([
        "run",
        "-n",
        "1",
        "--python",
        text(&crate::tool::idle_worker(&folder)),
        "--metrics",
        "127.0.0.1:0",
        "--worker",
        "python",
        text(&script),
    ]);
    let said = job.output().wait_for("quintet: metrics at http://", LONG).expect("it says where");
    told.extend(rows(&page(&self::address(&format!("http://{said}")))));

    let home = TempDir::new().unwrap();
    let place = format!("{}:7400", host());
    let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"].map(|name| (name, text(home.path())));
    assert_eq!(result(start(["init", "lab", "--machine", "a"], &variables)).0, 0);
    let agent =
        start(["up", "--foreground", "--json", "--listen", &place, "--metrics", "127.0.0.1:0"], &variables);
    let said = agent.output().wait_for("{", LONG).expect("it is up");
    let ready: Value = serde_json::from_str(&format!("{{{said}")).unwrap();
    told.extend(rows(&page(&self::address(ready["metrics"].as_str().expect("it says where")))));

    // With several managers a space tells more.
    let (_several, several) = served_by(&folder, &["--managers", "2"]);
    told.extend(rows(&page(&several)));

    let (server, own) = (folder.join("space"), folder.join("kernel"));
    let kernel = quintet([
        "kernel",
        "--space",
        text(&server),
        "--listen",
        text(&own),
        "--json",
        "--metrics",
        "127.0.0.1:0",
    ]);
    let ready: Value = serde_json::from_str(&kernel.output().next_line(LONG).expect("it begins")).unwrap();
    told.extend(rows(&page(&self::address(ready["metrics"].as_str().expect("it says where")))));

    told.sort();
    told.dedup();
    let mut listed: Vec<&str> = document.lines().filter(|line| line.starts_with("| `quintet_")).collect();
    listed.sort_unstable();
    assert_eq!(
        listed, told,
        "docs/telemetry.md lists other metrics than are told, or says something else of them"
    );
}
