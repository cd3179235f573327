//! A live node with a launcher above sessions, and real processes; its callers and a client on another node ask it.

mod running;

use quintet_contract::{Address, Incarnation, NodeId, Protocol, Span};
use quintet_launch::codec::REQUEST;
use quintet_launch::{
    Answer, End, Happening, LauncherConfig, Program, Reason, Refusal, Request, Start, Stream, What,
};
use quintet_link::{LinkAddress, listen};
use quintet_messaging::relay::Relay;

use quintet_runtime::{Instance, Node, ProcessConfig, Redial, Services};
use quintet_session::Placed;
use quintet_stack::{StackConfig, class, launcher, node};
use quintet_testbed::{Program as TestProgram, TempDir, argument};
use quintet_wire::registry::{LAUNCH, PORT_CALLERS, PORT_LAUNCH, PORT_SESSION};
use running::{LIMIT, Running};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;
use std::time::{Duration, Instant};

const HOST: NodeId = NodeId(0);
const CLIENT: NodeId = NodeId(1);
const JOB: u128 = 5;

/// A machine that starts processes, reached over a Unix socket.
fn host(folder: &Path) -> (Running, LinkAddress) {
    let mut config = StackConfig::of_server(7, Incarnation(1), 1);
    config.launcher = Some(LauncherConfig::new(HOST, "1.2.3"));
    // Nobody is to wait until that has taken too long.
    let processes = ProcessConfig { end_limit: 2 * LIMIT, ..ProcessConfig::new(folder.join("agent")) };
    let services = Services::none().with_processes(processes).expect("a fresh folder");
    let mut host = Node::new(HOST, services).expect("an event descriptor is there");
    let listener = listen(&LinkAddress::Unix(folder.join("socket"))).expect("nobody else listens there");
    let address = listener.address();
    host.listen(listener, PORT_SESSION).expect("it is watched");
    host.add(PORT_SESSION, Instance::new(node(HOST, &config, vec![launcher(&config)])));
    (Running::start(host), address)
}

/// A client on a node of its own: an ordinary relay.
fn client(address: LinkAddress) -> Running {
    let config = StackConfig::of_client(7, Incarnation(1), 2);
    let (callers, at) =
        (Address { node: CLIENT, port: PORT_CALLERS }, Address { node: HOST, port: PORT_LAUNCH });
    let protocol: Box<dyn Protocol + Send> = Box::new(Relay::new(callers, at, class));
    let relay = Placed { port: PORT_LAUNCH, kinds: LAUNCH, asks: vec![at], services: &[], protocol };
    let mut node_of_client = Node::new(CLIENT, Services::none()).expect("an event descriptor is there");
    node_of_client.add(PORT_SESSION, Instance::new(node(CLIENT, &config, vec![relay])));
    node_of_client.dial(HOST, &[(PORT_SESSION, PORT_SESSION)], Redial { address, window: LIMIT, seed: 1 });
    Running::start(node_of_client)
}

fn ask(running: &Running, request: &Request) -> Answer {
    let (body, bulk) = request.parts();
    running.ask(PORT_SESSION, REQUEST, 1, (&body, &bulk));
    let answer = running.answer();
    Answer::decode(answer.kind, &answer.body).expect("a launcher's bytes are good")
}

fn shell(script: &str) -> Request {
    let arguments = vec![b"-c".to_vec(), script.as_bytes().to_vec()];
    let start = Start { arguments, ..Start::new("shell", Program::Path(b"/bin/sh".to_vec())) };
    Request::Start { job: JOB, start: Box::new(start) }
}

/// What happens in the job up to an end.
fn until_an_end(running: &Running) -> (Vec<u8>, End) {
    let mut said = Vec::new();
    loop {
        let next = ask(running, &Request::Next { job: JOB, wait: Span::from_secs(5) });
        let Answer::Happened(happened) = next else { panic!("{next:?}") };
        for Happening { what, .. } in happened {
            match what {
                What::Output { stream: Stream::Output, bytes } => said.extend(bytes),
                What::Output { stream: Stream::Error, bytes } => {
                    panic!("{}", String::from_utf8_lossy(&bytes))
                }
                What::Ended(end) => return (said, end),
            }
        }
    }
}

/// The first line that the job says.
fn line(running: &Running) -> String {
    let mut said = Vec::new();
    while !said.ends_with(b"\n") {
        let next = ask(running, &Request::Next { job: JOB, wait: Span::from_secs(5) });
        let Answer::Happened(happened) = next else { panic!("{next:?}") };
        for happening in happened {
            let What::Output { bytes, .. } = happening.what else { panic!("it ended: {happening:?}") };
            said.extend(bytes);
        }
    }
    String::from_utf8(said).expect("text").trim().to_owned()
}

fn runs(process: &str) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    about.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn await_that(what: impl Fn() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !what() {
        assert!(Instant::now() < limit, "it does not come to pass");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_client_starts_processes_hears_them_and_ends_them() {
    let folder = TempDir::new().expect("a fresh folder");
    let (host, address) = host(folder.path());
    let client = client(address);
    let started = ask(&client, &shell("seq 1 30000; exit 4"));
    assert!(matches!(started, Answer::Started { process: 1, .. }), "{started:?}");
    let expected: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    let (said, end) = until_an_end(&client);
    assert_eq!((said.len(), end), (expected.len(), End::Exited(4)));
    assert_eq!(said, expected.as_bytes());
    ask(&client, &shell("setsid sleep 1000 & echo $!; wait"));
    let descendant = line(&client);
    let Answer::Info(info) = ask(&client, &Request::Info) else { panic!("it is told") };
    assert_eq!((info.processes, info.jobs, &info.version[..]), (1, 1, "1.2.3"));
    let signal = Request::Signal { process: 2, signal: 15, to_group: false };
    assert_eq!(ask(&client, &signal), Answer::Done);
    assert_eq!(until_an_end(&client), (Vec::new(), End::Killed(15)));
    assert_eq!(ask(&client, &Request::End { job: JOB }), Answer::Done);
    assert!(!runs(&descendant));
    let failed = ask(&client, &Request::Next { job: JOB, wait: Span::ZERO });
    assert!(matches!(failed, Answer::Error(Refusal { reason: Reason::Unknown, .. })), "{failed:?}");
    drop((client, host));
}

#[test]
fn with_a_client_that_goes_its_processes_end_and_with_the_host_all_of_them() {
    let folder = TempDir::new().expect("a fresh folder");
    let (host, address) = host(folder.path());
    let gone = client(address);
    ask(&gone, &shell("setsid sleep 1000 & echo $!; wait"));
    let descendant = line(&gone);
    assert!(runs(&descendant));
    drop(gone);
    await_that(|| !runs(&descendant));
    let jobs = folder.path().join("agent/jobs");
    let life =
        jobs.read_dir().expect("it is there").next().expect("one life").expect("it can be read").path();
    await_that(|| life.read_dir().expect("it is there").count() == 0);
    // The host's own callers ask straight, also for the end of what was another's.
    assert_eq!(ask(&host, &Request::End { job: JOB }), Answer::Done);
    let started = ask(&host, &shell("setsid sleep 1000 & echo $!; wait"));
    assert!(matches!(started, Answer::Started { .. }), "{started:?}");
    let descendant = line(&host);
    drop(host);
    assert!(!runs(&descendant), "the node is gone when nothing is left");
}

#[test]
fn a_program_that_is_not_there_is_refused_in_words() {
    let folder = TempDir::new().expect("a fresh folder");
    let (host, _) = host(folder.path());
    let start = Start::new("x", Program::Path(b"/nowhere/x".to_vec()));
    let answer = ask(&host, &Request::Start { job: JOB, start: Box::new(start) });
    let Answer::Error(refusal) = answer else { panic!("{answer:?}") };
    assert_eq!(refusal.reason, Reason::Failed);
    assert!(refusal.text.contains("/nowhere/x: No such file"), "{}", refusal.text);
}

/// A host that may soon have fewer descriptors than it waits for, in a process of its own; as a test it does nothing.
#[test]
fn a_host_whose_system_refuses_to_wait() {
    let Some(folder) = argument() else { return };
    let (host, address) = host(Path::new(&folder));
    let client = client(address);
    ask(&client, &shell("setsid sleep 1000 & echo $!; wait"));
    let descendant = line(&client);
    let begin = |token, request: &Request| {
        let (body, bulk) = request.parts();
        client.ask(PORT_SESSION, REQUEST, token, (&body, &bulk));
    };
    begin(2, &Request::Next { job: JOB, wait: Span::from_secs(1000) });
    let all = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(2), ..all }).expect("fewer are always allowed");
    // Whoever waits for the processes is woken by it, and then refused.
    begin(3, &Request::Info);
    let answers = [client.answer(), client.answer()].map(|answer| answer.token.0);
    assert!(answers.contains(&2) && answers.contains(&3), "{answers:?}");
    // Who asks now is answered as well, though without descriptors nobody can find what is left to be ended.
    let Answer::Error(refusal) = ask(&client, &Request::Info) else { panic!("nobody is there") };
    assert!(refusal.text.contains("cannot be watched any more"), "{refusal}");
    setrlimit(Resource::Nofile, all).expect("as many as before");
    await_that(|| !runs(&descendant));
    drop((client, host));
}

#[test]
fn whoever_waits_is_answered_where_the_system_refuses_to_wait_for_processes() {
    let folder = TempDir::new().expect("a fresh folder");
    let host = TestProgram::this_test("a_host_whose_system_refuses_to_wait", folder.path());
    let mut host = host.expect("this test has a file").spawn().expect("it starts");
    let how = host.wait(LIMIT).expect("it can be waited for");
    assert!(how.is_some_and(|how| how.success()), "{}", host.output().text());
}
