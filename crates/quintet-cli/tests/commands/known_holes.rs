//! Known holes of others, each tried here: systems of this field that run code, unpickle or answer for whoever reaches a port of theirs. SECURITY.md
//! has the table: "Known holes of others, and what stands against each here".

use crate::hosts::lab::Machines;
use crate::security::ports::tcp;
use crate::tool::{quintet, result, text, wait_until};
use quintet::Code;
use quintet_agent::Client;
use quintet_contract::NodeId;
use quintet_launch::{Directory, Program, Start};
use quintet_link::{Credentials, LinkAddress};
use quintet_testbed::TempDir;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Longer than an answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a port answers to these bytes, until it ends the connection.
fn answer(host: &str, port: u16, request: &[u8]) -> Vec<u8> {
    let mut stranger = TcpStream::connect((host, port)).expect("it listens");
    stranger.set_read_timeout(Some(PATIENCE)).expect("a socket");
    // It may end the connection before all was said, or in disorder: what it said before counts.
    let _ = stranger.write_all(request);
    let mut said = Vec::new();
    match stranger.read_to_end(&mut said) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it is still listened to"),
        _ => said,
    }
}

fn is_no_answer_of_a_web_server(said: &[u8]) -> bool {
    !said.windows(5).any(|window| window == b"HTTP/")
}

/// A request of HTTP with that body.
fn post(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://attacker.example\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A pickle that makes this file when it is loaded: `os.system("touch ...")`, as protocol 0 writes it.
fn pickle(marker: &Path) -> Vec<u8> {
    format!("cos\nsystem\n(S'touch {}'\ntR.", text(marker)).into_bytes()
}

fn host(lab: &Machines, name: &str) -> String {
    let place = fs::read_to_string(lab.folder(name).join("place")).expect("written");
    place.split_once(':').expect("a place").0.to_owned()
}

/// Every port that the agent of `a` has open.
fn ports(lab: &Machines) -> (String, Vec<u16>) {
    let host = host(lab, "a");
    let ports = tcp(host.parse::<Ipv4Addr>().expect("an address"));
    assert_eq!(ports.len(), 2, "the agent's and that of the cluster's space: {ports:?}");
    (host, ports)
}

/// The launcher of `a`, asked over the network by who proves to be that. The connection, with which what it has started ends.
fn start_at(lab: &Machines, who: &Credentials, number: u128, marker: &Path) -> Result<Client, Code> {
    let address = LinkAddress::Tls { host: host(lab, "a"), port: 7400, credentials: Some(who.clone()) };
    let client = Client::connect(address, NodeId(0), number).map_err(|error| error.code())?;
    let start = Start {
        name: "stranger".to_owned(),
        program: Program::Path(b"touch".to_vec()),
        arguments: vec![text(marker).as_bytes().to_vec()],
        environment: Vec::new(),
        directory: Directory::Folder,
        files: Vec::new(),
    };
    let request = quintet_launch::Request::Start { job: 7, start: Box::new(start) };
    client.ask_launcher(&request, PATIENCE).map_err(|error| error.code())?;
    Ok(client)
}

/// Ray: its job API runs what anybody sends to it who reaches the port of its dashboard (CVE-2023-48022, "ShadowRay").
#[test]
fn ray_a_job_that_anybody_sends_to_a_port_is_not_run() {
    let lab = Machines::up(&["a"]);
    let marker = lab.room.join("was-run");
    let (host, ports) = ports(&lab);
    let job = format!("{{\"entrypoint\": \"touch {}\"}}", text(&marker));
    for port in ports {
        let said = answer(&host, port, &post("/api/jobs/", "application/json", job.as_bytes()));
        assert!(is_no_answer_of_a_web_server(&said), "port {port}: {}", String::from_utf8_lossy(&said));
    }
    // Nor for one who speaks our own protocol, and belongs to another cluster.
    let other = lab.room.join("other");
    let (code, said) = result(quintet(["init", "other", "--dir", text(&other), "--machine", "x"]));
    assert_eq!(code, 0, "{said}");
    let foreign = fs::read(other.join("machine.identity")).expect("it was made");
    let foreign = Credentials::from_pem(&foreign).expect("it is valid");
    let number = quintet_identity::cluster_number(&lab.folder("a")).expect("it is a cluster");
    assert_eq!(start_at(&lab, &foreign, number, &marker).err(), Some(Code::WrongCluster));
    lab.does("a", &["status"]);
    assert!(!marker.exists(), "it was run");
}

/// Dask: whoever reaches the ports of its schedulers and workers sends pickles that they load, and they listened at all addresses (CVE-2021-42343);
/// its dashboard is open.
#[test]
fn dask_a_pickle_that_is_sent_to_a_port_or_put_into_a_space_is_not_loaded() {
    let lab = Machines::up(&["a"]);
    let marker = lab.room.join("was-loaded");
    let pickle = pickle(&marker);
    let (host, ports) = ports(&lab);
    for port in &ports {
        // Bare, and framed as Dask frames it: a count of frames, their lengths, the frames.
        let framed = [&1u64.to_le_bytes()[..], &(pickle.len() as u64).to_le_bytes(), &pickle].concat();
        for request in [&pickle, &framed] {
            answer(&host, *port, request);
        }
        let said = answer(&host, *port, b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(is_no_answer_of_a_web_server(&said), "there is no dashboard at port {port}");
    }
    // A space keeps what a member has put; it does not look into it.
    let space = quintet::Lab::connect(space_of(&lab, &ports), number_of(&lab), PATIENCE).expect("a member");
    let task = quintet::tuple!["quintet.task", "pool", 0i64, &pickle[..]];
    space.space().out(task.clone()).expect("it is put");
    let kept = space.space().take(&quintet::template!["quintet.task", "pool", 0i64, ?[u8]]);
    assert_eq!(kept.expect("it is there"), task, "as it was put");
    assert!(!marker.exists(), "it was loaded");
}

fn number_of(lab: &Machines) -> u128 {
    quintet_identity::cluster_number(&lab.folder("a")).expect("it is a cluster")
}

/// The cluster's space, as its member `a` reaches it over the network.
fn space_of(lab: &Machines, ports: &[u16]) -> LinkAddress {
    let identity = fs::read(lab.folder("a").join("machine.identity")).expect("it is there");
    let credentials = Credentials::from_pem(&identity).expect("it is valid");
    let port = *ports.iter().find(|port| **port != 7400).expect("it is the other one");
    LinkAddress::Tls { host: host(lab, "a"), port, credentials: Some(credentials) }
}

/// Redis: it listened everywhere without a password, and takes the lines of a web page's request for commands.
#[test]
fn redis_no_port_is_open_to_others_and_a_request_of_a_web_page_is_no_command() {
    for open in ["tcp:0.0.0.0:0", "tcp:[::]:0"] {
        let (code, said) = result(quintet(["serve", "--listen", open]));
        assert!(code == 77 && said.contains("use tls: with an identity"), "{open}: {said}");
    }
    let serve = ["serve", "--cluster", "7", "--json", "--listen", "tcp:127.0.0.1:0"];
    let server = quintet(serve);
    let ready: Value =
        serde_json::from_str(&server.output().next_line(PATIENCE).expect("it serves")).expect("an object");
    let address = ready["addresses"][0].as_str().expect("a text").to_owned();
    let port: u16 = address.rsplit_once(':').expect("a port").1.parse().expect("a number");
    let told = session_that_puts_a_tuple(&address);
    let count = || -> i64 {
        let words = ["status", "--cluster", "7", "--space", &address, "--json"];
        let (code, said) = result(quintet(words));
        assert_eq!(code, 0, "{said}");
        serde_json::from_str::<Value>(&said).expect("an object")["tuples"].as_i64().expect("a number")
    };
    assert_eq!(count(), 0);
    for kind in ["text/plain", "application/x-www-form-urlencoded"] {
        let said = answer("127.0.0.1", port, &post("/", kind, &told));
        assert!(is_no_answer_of_a_web_server(&said));
        assert_eq!(count(), 0, "what a web page has a browser send was carried out");
    }
    // The same bytes are heard where nothing stands in front of them: the answer begins with a preamble that refuses nothing.
    let mut own = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    own.write_all(&told).expect("it listens");
    let mut preamble = [0; 16];
    own.read_exact(&mut preamble).expect("it answers");
    assert_eq!((&preamble[..4], &preamble[6..8]), (&told[..4], &[0, 0][..]), "{preamble:?}");
    drop(server);
}

/// Everything that a client says which puts one tuple.
fn session_that_puts_a_tuple(address: &str) -> Vec<u8> {
    let relay = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = relay.local_addr().expect("it has one").port();
    let server = TcpStream::connect(address.trim_start_matches("tcp:")).expect("it listens");
    let said = thread::spawn(move || {
        let (client, _) = relay.accept().expect("it connects");
        let (mut to_client, mut answers) =
            (client.try_clone().expect("room"), server.try_clone().expect("room"));
        let back = thread::spawn(move || {
            // Either side may end it.
            let _ = std::io::copy(&mut answers, &mut to_client);
        });
        let mut said = Vec::new();
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = (&client).read(&mut piece) {
            said.extend_from_slice(&piece[..count]);
            (&server).write_all(&piece[..count]).expect("it listens");
        }
        // Nothing of this session is to stay.
        let _ = server.shutdown(Shutdown::Both);
        back.join().expect("it does not panic");
        said
    });
    let lab =
        quintet::Lab::connect(&LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: at }, 7, PATIENCE)
            .expect("it serves");
    lab.space().out(quintet::tuple!["x"]).expect("it is put");
    lab.space().take(&quintet::template!["x"]).expect("it is there");
    drop(lab);
    said.join().expect("it does not panic")
}

/// Spark: by default a cluster runs what anybody submits, without a secret (CVE-2018-17190), or without the one that there is (CVE-2020-9480).
#[test]
fn spark_nothing_is_run_without_a_secret_nor_for_a_member_that_was_not_granted_it() {
    let lab = Machines::with_grants(&[("a", ""), ("b", "join")]);
    let marker = lab.room.join("was-run");
    let identity = |name: &str| {
        let text = fs::read(lab.folder(name).join("machine.identity")).expect("it is there");
        Credentials::from_pem(&text).expect("it is valid")
    };
    let refused = start_at(&lab, &identity("b"), number_of(&lab), &marker).err();
    assert_eq!(refused, Some(Code::NotAllowed), "no `run`");
    // Without TLS nobody is heard at all.
    let address = format!("tcp:{}:7400", host(&lab, "a"));
    let (code, said) = result(quintet(["status", "--space", &address]));
    assert!(code == 65 && said.contains("write tls: instead of tcp:"), "{said}");
    // Nor with TLS, and without an identity.
    let address = format!("tls:{}:7400", host(&lab, "a"));
    let (code, said) = result(quintet(["status", "--space", &address]));
    assert!(code == 77, "{said}");
    assert!(!marker.exists(), "it was run");
    // The one that was granted it has it run: so the refusals are what held it back.
    let _client = start_at(&lab, &identity("a"), number_of(&lab), &marker).expect("it may");
    wait_until(|| marker.exists());
}

/// Jupyter: a page of another site has the browser run code at a port of this machine, and the token stands in addresses that are logged and passed on.
#[test]
fn jupyter_a_browser_runs_nothing_and_no_token_stands_in_an_address() {
    let lab = Machines::up(&["a"]);
    let cluster = lab.folder("a");
    let create = ["token", "create", "--json", "--cluster", text(&cluster)];
    let made = lab.does("a", &["token", "create", "--cluster", text(&cluster)]);
    assert!(!made.contains("http") && !made.contains("?token="), "{made}");
    let made: Value = serde_json::from_str(&lab.does("a", &create)).expect("an object");
    let token = made["token"].as_str().expect("a text").to_owned();
    let marker = lab.room.join("was-run");
    let code = format!("{{\"code\": \"import os; os.system('touch {}')\"}}", text(&marker));
    let (host, ports) = ports(&lab);
    for port in ports {
        let path = format!("/api/kernels?token={token}");
        // What a page may send without asking: a form, a text, the beginning of a web socket; and what it has to ask for.
        let socket = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://attacker.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let asked =
            format!("OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://attacker.example\r\n\r\n");
        let requests = [post(&path, "text/plain", code.as_bytes()), socket.into_bytes(), asked.into_bytes()];
        for request in requests {
            assert!(is_no_answer_of_a_web_server(&answer(&host, port, &request)), "port {port}");
        }
    }
    assert!(!marker.exists(), "it was run");
    // Who only sends the token has not used it: the machine for which it is joins.
    let home = TempDir::new().unwrap();
    let at = format!("lab@{host}:7400");
    let folder = home.join("lab");
    let words =
        ["join", &at, &token, "--name", "b", "--dir", text(&folder), "--listen", "127.0.0.1:1", "--no-up"];
    let (code, said) = result(quintet(words));
    assert_eq!(code, 0, "{said}");
}
