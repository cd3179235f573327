//! Agents of several machines, in one process each as good as its own: joined by tokens, lost, back again, removed.

use quintet_agent::{
    Agent, AgentConfig, AgentError, AgentHandle, Client, Invitation, Notice, Processes, Record, found, join,
};
use quintet_contract::NodeId;
use quintet_errors::Code;
use quintet_identity::{Grants, NewToken, create, issue_token};
use quintet_link::LinkAddress;
use quintet_membership::{Reason, Request, Suspicion, View};
use quintet_testbed::TempDir;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// An agent that runs.
struct Running {
    folder: PathBuf,
    address: LinkAddress,
    handle: AgentHandle,
    thread: Option<JoinHandle<Result<(), AgentError>>>,
    notices: Receiver<Notice>,
}

impl Running {
    fn start(folder: &Path) -> Running {
        let (tell, notices) = channel();
        let tell = Mutex::new(tell);
        let config = AgentConfig {
            folder: folder.to_owned(),
            listen: None,
            address: None,
            processes: Processes::default(),
            space: None,
            told: Arc::new(move |notice: &Notice| {
                let _ = tell.lock().expect("no other panicked").send(notice.clone());
            }),
        };
        let agent = Agent::start(&config).expect("it starts");
        let (address, handle) = (agent.listening().clone(), agent.handle());
        let thread = Some(std::thread::spawn(move || agent.run()));
        Running { folder: folder.to_owned(), address, handle, thread, notices }
    }

    fn client(&self) -> Client {
        Client::local(&self.folder).expect("its agent runs")
    }

    fn view(&self) -> View {
        self.client().membership(false).expect("it answers").view
    }

    fn end(mut self) -> Result<(), AgentError> {
        self.handle.end();
        self.thread.take().expect("it was started").join().expect("it does not panic")
    }

    /// Returns when it tells of that.
    fn wait_for(&self, what: impl Fn(&Notice) -> bool) {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let notice = self.notices.recv_timeout(left).expect("it tells of it in time");
            if what(&notice) {
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.end();
    }
}

/// That of another agent with this folder.
fn config(folder: &Path) -> AgentConfig {
    AgentConfig {
        folder: folder.to_owned(),
        listen: Some(place()),
        address: None,
        processes: Processes::default(),
        space: None,
        told: Arc::new(|_| {}),
    }
}

fn wait_until(what: &str, mut it_is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !it_is_so() {
        assert!(Instant::now() < until, "it is still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A free port of an address of its own: at one that others use too, a connection could be given the port before it is listened at.
fn place() -> String {
    static PLACES: AtomicU8 = AtomicU8::new(0);
    let (process, place) = (std::process::id().to_le_bytes(), PLACES.fetch_add(1, Ordering::Relaxed));
    let address = std::net::Ipv4Addr::new(127, process[1] | 0x80, process[0], place);
    let listener = std::net::TcpListener::bind((address, 0)).expect("a port is free");
    listener.local_addr().expect("it has one").to_string()
}

fn record(folder: &Path) -> Record {
    Record::read(folder).expect("it can be read").expect("it is there")
}

/// Has an agent listen there from the first start on.
fn listens(folder: &Path) {
    let mut record = record(folder);
    (record.listen, record.address) = (place(), String::new());
    record.write(folder).expect("the folder is there");
}

/// A cluster with one machine, whose agent runs.
fn founded(folder: &TempDir) -> Running {
    let lab = folder.join("a");
    create(&lab, "a").expect("it is made");
    found(&lab, "a").expect("the folder is there");
    listens(&lab);
    Running::start(&lab)
}

fn token(of: &Running, allows: Grants) -> String {
    let new = NewToken { node: 0, allows, now: SystemTime::now(), valid_for: LONG, note: "" };
    issue_token(&of.folder, &new).expect("it has the authority").0.text()
}

fn invitation(from: &Running, folder: PathBuf, name: &str, token: String) -> Invitation {
    let LinkAddress::Tls { host, port, .. } = &from.address else { panic!("agents listen over TLS") };
    Invitation {
        host: host.clone(),
        port: *port,
        token,
        folder,
        name: name.to_owned(),
        listen: Some(place()),
        address: None,
        starts_agent: true,
    }
}

/// A machine that has joined, and whose agent runs.
fn joined(from: &Running, folder: &TempDir, name: &str) -> Running {
    let invitation = invitation(from, folder.join(name), name, token(from, Grants::JOIN));
    join(&invitation).expect("it is let in");
    Running::start(&invitation.folder)
}

fn code(error: &AgentError) -> Code {
    error.code()
}

#[test]
fn machines_join_by_tokens_and_all_know_the_same_view() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let b = joined(&a, &folder, "b");
    let c = joined(&a, &folder, "c");
    let all = [&a, &b, &c];
    wait_until("three voters everywhere", || all.iter().all(|agent| agent.view().voters().count() == 3));
    let views: Vec<View> = all.iter().map(|agent| agent.view()).collect();
    assert!(views.iter().all(|view| *view == views[0]));
    let names: Vec<&str> = views[0].members.values().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let agreed = c.client().membership(true).expect("a majority is there");
    assert_eq!(agreed.view.number, views[0].number);
}

#[test]
fn the_cluster_outlives_its_founder_which_comes_back_elsewhere() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let (b, c) = (joined(&a, &folder, "b"), joined(&a, &folder, "c"));
    wait_until("three voters", || c.view().voters().count() == 3);
    let lab = a.folder.clone();
    a.end().expect("nothing is wrong");
    b.wait_for(|notice| matches!(notice, Notice::Suspected { name, suspect } if name == "a" && suspect.cause == Suspicion::Closed));
    wait_until("the others agree without it", || {
        b.client().membership(true).is_ok() && c.client().membership(true).is_ok()
    });
    // It is reached at another place from now on.
    listens(&lab);
    let a = Running::start(&lab);
    let moved = record(&lab).address;
    let is_known = |agent: &Running| agent.view().members[&NodeId(0)].address == moved;
    wait_until("all know where it is", || [&a, &b, &c].into_iter().all(is_known));
    b.wait_for(|notice| matches!(notice, Notice::Back { name, .. } if name == "a"));
    let lives = |agent: &Running| agent.view().members[&NodeId(0)].incarnation.0;
    wait_until("it has a later life", || lives(&c) == 2);
}

#[test]
fn a_machine_that_comes_up_alone_forgets_nobody() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let (b, c) = (joined(&a, &folder, "b"), joined(&a, &folder, "c"));
    wait_until("three voters", || [&a, &b, &c].iter().all(|agent| agent.view().voters().count() == 3));
    let known = a.view().number;
    wait_until("a remembers the view", || record(&a.folder).view >= known);
    let folders = [&a, &b, &c].map(|agent| agent.folder.clone());
    for agent in [b, c, a] {
        agent.end().expect("nothing is wrong");
    }
    let a = Running::start(&folders[0]);
    // Its member has read its log, and the agent has been told before.
    assert!(a.view().number < known, "the log says what was agreed: then this shows nothing");
    a.end().expect("nothing is wrong");
    let peers: Vec<NodeId> = record(&folders[0]).peers.iter().map(|peer| peer.node).collect();
    assert_eq!(peers, [NodeId(1), NodeId(2)]);
    let all = [0, 2, 1].map(|at: usize| Running::start(&folders[at]));
    wait_until("they agree as before", || all[0].client().membership(true).is_ok());
}

#[test]
fn a_token_lets_one_machine_in_and_says_why_not_another() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let token_of = |allows| token(&a, allows);
    let invite = |name: &str, token: &str| {
        let place =
            folder.join(format!("{name}-{}", quintet_identity::Token::new(0, 0).expect("random").text()));
        let joined = join(&invitation(&a, place.clone(), name, token.to_owned()));
        assert_eq!(joined.is_ok(), place.exists(), "a folder is made if it joins, and only then");
        joined
    };
    let good = token_of(Grants::JOIN);
    let taken = invite("a", &good).expect_err("the name is taken");
    assert!(
        code(&taken) == Code::DuplicateNode && taken.to_string().contains("choose another name"),
        "{taken}"
    );
    assert_eq!(invite("b", &good).expect("the token was not used up").node, NodeId(1));
    let used = invite("c", &good).expect_err("it lets in once");
    assert_eq!(code(&used), Code::NotAllowed, "{used}");
    let other = invite("c", &token_of(Grants { join: false, run: true, code: false }));
    assert!(other.expect_err("it lets nobody join").to_string().contains("does not let a machine join"));
    let mistyped = good.replace(&good[..1], if good.starts_with('a') { "b" } else { "a" });
    let error = invite("c", &mistyped).expect_err("it is none");
    assert!(error.to_string().contains("quintet token create"), "{error}");
}

#[test]
fn an_agent_of_another_cluster_lets_nobody_in_and_learns_nothing() {
    let folders =
        [TempDir::new().expect("a temporary directory"), TempDir::new().expect("a temporary directory")];
    let (a, other) = (founded(&folders[0]), founded(&folders[1]));
    let mine = token(&a, Grants::JOIN);
    let error =
        join(&invitation(&other, folders[0].join("b"), "b", mine.clone())).expect_err("another cluster");
    assert!(matches!(error, AgentError::Link(_)), "{error}");
    join(&invitation(&a, folders[0].join("b"), "b", mine)).expect("the token is as good as before");
}

#[test]
fn who_was_removed_is_let_in_nowhere_and_stops() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let mut b = joined(&a, &folder, "b");
    wait_until("b knows that it is in", || b.view().members.len() == 2);
    a.client().ask_member(&Request::Leave { node: NodeId(1) }).expect("a may remove it");
    let thread = b.thread.take().expect("it was started");
    wait_until("b hears of it", || thread.is_finished());
    let how = thread.join().expect("it does not panic");
    let Err(AgentError::Refused(refusal)) = how else { panic!("{how:?}") };
    assert_eq!(refusal.reason, Reason::Removed);
    let again = Agent::start(&config(&b.folder)).map(drop).expect_err("it knows");
    assert!(
        code(&again) == Code::NotAllowed && again.to_string().contains("quintet leave --forget"),
        "{again}"
    );
    // Its certificate is as good as before, and of no use.
    let text = quintet_identity::read(&b.folder).expect("it is there");
    let credentials = quintet_link::Credentials::from_pem(&text).expect("it is good");
    let address = a.address.clone().identified(Some(&credentials));
    // b learns that it is out as soon as a, whose keeper shuts the door a moment later.
    wait_until("it is let in nowhere", || {
        Client::connect(address.clone(), NodeId(0), credentials.cluster_number())
            .and_then(|client| client.membership(false).map(drop))
            .is_err()
    });
}

#[test]
fn who_asks_for_what_it_was_not_granted_is_written_down() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let b = joined(&a, &folder, "b");
    let text = quintet_identity::read(&b.folder).expect("it is there");
    let credentials = quintet_link::Credentials::from_pem(&text).expect("it is good");
    let address = a.address.clone().identified(Some(&credentials));
    let client = Client::connect(address, NodeId(0), credentials.cluster_number()).expect("it is a member");
    // As no command does, which looks first.
    let have = quintet_launch::Request::Have { hashes: Vec::new() };
    let refused = client.ask_launcher(&have, LONG).expect_err("its token did not allow `code`");
    assert_eq!(code(&refused), Code::NotAllowed, "{refused}");
    a.wait_for(
        |notice| matches!(notice, Notice::NotLaunched(refused) if refused.name.as_deref() == Some("b")),
    );
    let other = a.view().members[&NodeId(0)].identity;
    let (cluster, name) = (credentials.cluster_number(), "c".to_owned());
    let (address, grants, ticket) = ("127.0.0.1:1".to_owned(), 0, 7);
    let join = Request::Join { cluster, name, identity: other, address, grants, ticket };
    let refused = client.ask_member(&join).expect_err("it may ask for itself only");
    assert_eq!(code(&refused), Code::NotAllowed, "{refused}");
    a.wait_for(
        |notice| matches!(notice, Notice::NotEnrolled(refused) if refused.what == "membership" && refused.name.as_deref() == Some("b")),
    );
    let lab = a.folder.clone();
    a.end().expect("nothing is wrong");
    let audit = std::fs::read_to_string(lab.join("audit.log")).expect("it is there");
    let line = audit.lines().find(|line| line.contains(r#""what":"launch""#)).expect("it is written down");
    let identity: String = credentials.identity().0.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(line.contains(&identity) && line.contains(r#""name":"b""#) && line.contains("`code`"), "{line}");
    assert!(line.contains(r#""from":"127."#), "{line}");
    let line = audit.lines().find(|line| line.contains(r#""what":"membership""#)).expect("so is that");
    assert!(line.contains(&identity) && line.contains(r#""from":"127."#), "{line}");
}

#[test]
fn a_machine_whose_clock_was_set_back_is_let_in_again() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let b = joined(&a, &folder, "b");
    let lab = b.folder.clone();
    let is_back = |notice: &Notice| matches!(notice, Notice::Back { name, .. } if name == "b");
    let is_down = |notice: &Notice| matches!(notice, Notice::Suspected { name, .. } if name == "b");
    b.end().expect("nothing is wrong");
    a.wait_for(is_down);
    // A life of which the others know that it began an hour from now.
    let now = SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later");
    let mut remembered = record(&lab);
    remembered.life = u64::try_from((now + Duration::from_secs(3600)).as_nanos()).expect("it fits");
    remembered.write(&lab).expect("the folder is there");
    let b = Running::start(&lab);
    a.wait_for(is_back);
    b.end().expect("nothing is wrong");
    a.wait_for(is_down);
    let _b = Running::start(&lab);
    a.wait_for(is_back);
    assert_eq!(record(&lab).life, remembered.life + 2);
}

#[test]
fn one_folder_has_one_agent_and_no_member_has_none() {
    let folder = TempDir::new().expect("a temporary directory");
    let a = founded(&folder);
    let config = config(&a.folder);
    let second = Agent::start(&config).map(drop).expect_err("one runs");
    assert_eq!(code(&second), Code::AddressInUse, "{second}");
    let none = folder.join("none");
    create(&none, "x").expect("it is made");
    let config = AgentConfig { folder: none, ..config };
    let stranger = Agent::start(&config).map(drop).expect_err("it belongs to no cluster");
    assert!(stranger.to_string().contains("quintet join"), "{stranger}");
}
