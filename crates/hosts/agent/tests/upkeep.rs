//! What agents do by time alone: certificates are made anew before they end, tokens expire.

use quintet_agent::{
    Agent, AgentConfig, AgentError, AgentHandle, Client, Invitation, Notice, Peer, Processes, Record,
    UpkeepTimes, found, join, renew,
};
use quintet_contract::NodeId;
use quintet_identity::{
    Authority, DAY, Enrolling, Grants, NewToken, Validity, create, issue_token, validity, write_identity,
};
use quintet_testbed::TempDir;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// Often enough not to be waited for.
const OFTEN: UpkeepTimes = UpkeepTimes { look: Duration::from_millis(20), again: Duration::from_millis(100) };

/// An agent that runs.
struct Running {
    handle: AgentHandle,
    thread: Option<JoinHandle<Result<(), AgentError>>>,
    notices: Receiver<Notice>,
}

impl Running {
    fn try_start(folder: &Path) -> Result<Running, AgentError> {
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
        let agent = Agent::start_with(&config, OFTEN)?;
        let handle = agent.handle();
        let thread = Some(std::thread::spawn(move || agent.run()));
        Ok(Running { handle, thread, notices })
    }

    fn start(folder: &Path) -> Running {
        Running::try_start(folder).expect("it starts")
    }

    fn end(mut self) {
        self.handle.end();
        let ended = self.thread.take().expect("it was started").join().expect("it does not panic");
        ended.expect("nothing is wrong");
    }

    /// What that makes of the first notice of which it makes something.
    fn wait_for<T>(&self, what: impl Fn(&Notice) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let notice = self.notices.recv_timeout(left).expect("it tells of it in time");
            if let Some(made) = what(&notice) {
                return made;
            }
        }
    }

    /// Which member has made its certificate anew.
    fn wait_for_renewal(&self) -> Option<NodeId> {
        self.wait_for(|notice| match notice {
            Notice::Renewed(renewed) => Some(renewed.by),
            _ => None,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.end();
    }
}

fn wait_until(what: &str, mut it_is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !it_is_so() {
        assert!(Instant::now() < until, "it is still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A free port, which nobody else is given in the meantime, as long as few ask.
fn place() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has one").to_string()
}

fn record(folder: &Path) -> Record {
    Record::read(folder).expect("it can be read").expect("it is there")
}

/// The folder of a machine that has made a cluster.
fn founded(home: &TempDir) -> PathBuf {
    let folder = home.join("a");
    create(&folder, "a").expect("it is made");
    found(&folder, "a").expect("the folder is there");
    let mut record = record(&folder);
    record.listen = place();
    record.write(&folder).expect("the folder is there");
    folder
}

/// The folder of a machine that has joined by way of the agent of another, which runs.
fn joined(by: &Path, home: &TempDir, name: &str) -> PathBuf {
    let inviting = record(by);
    let new = NewToken {
        node: inviting.node.0,
        allows: Grants::JOIN,
        now: SystemTime::now(),
        valid_for: LONG,
        note: "",
    };
    let token = issue_token(by, &new).expect("it has the authority").0.text();
    let (host, port) = inviting.listen.rsplit_once(':').expect("a place");
    let invitation = Invitation {
        host: host.to_owned(),
        port: port.parse().expect("a number"),
        token,
        folder: home.join(name),
        name: name.to_owned(),
        listen: Some(place()),
        address: None,
        starts_agent: true,
    };
    join(&invitation).expect("it is let in");
    invitation.folder
}

/// Gives a machine a certificate that is valid then, for the key that it has.
fn certify(folder: &Path, authority: &Path, valid: Validity) {
    let authority = Authority::of_folder(authority).expect("it is one");
    let identity = quintet_identity::read(folder).expect("it is there");
    let name = record(folder).name;
    let enrolling = Enrolling::renewing(&identity, &name).expect("it is one");
    let request = enrolling.request().expect("randomness");
    let certificate = authority.sign(&request, &enrolling.asker(), &name, valid).expect("it proves its key");
    let identity = enrolling.finish(&certificate, authority.certificate()).expect("it is for it");
    write_identity(folder, &identity).expect("the folder is there");
}

/// Of that time more than two thirds are over.
fn due(left: Duration) -> Validity {
    let now = SystemTime::now();
    Validity { from: now - left * 3, until: now + left }
}

fn left(folder: &Path) -> Duration {
    let valid = validity(&quintet_identity::read(folder).expect("it is there")).expect("it is one");
    valid.until.duration_since(SystemTime::now()).unwrap_or_default()
}

#[test]
fn certificates_are_made_anew_and_shown_before_they_end() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    certify(&a, &a, due(LONG));
    let agent_a = Running::start(&a);
    assert_eq!(agent_a.wait_for_renewal(), None, "it signs for itself");
    assert!(left(&a) > DAY * 89);

    let b = joined(&a, &home, "b");
    let short = due(Duration::from_secs(10));
    certify(&b, &a, short);
    let agent_b = Running::start(&b);
    assert_eq!(agent_b.wait_for_renewal(), Some(NodeId(0)));
    assert!(left(&b) > DAY * 89);
    // With the old one it would be let in by nobody from here on.
    wait_until("the old certificate has ended", || SystemTime::now() > short.until);
    agent_a.end();
    let _agent_a = Running::start(&a);
    agent_b.wait_for(|notice| matches!(notice, Notice::Back { name, .. } if name == "a").then_some(()));
}

#[test]
fn a_renewal_that_fails_is_told_and_tried_again() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let agent_a = Running::start(&a);
    let b = joined(&a, &home, "b");
    agent_a.end();
    certify(&b, &a, due(LONG));
    let before = quintet_identity::read(&b).expect("it is there");
    let agent_b = Running::start(&b);
    let (text, ends_in) = agent_b.wait_for(|notice| match notice {
        Notice::NotRenewed { text, ends_in } => Some((text.clone(), *ends_in)),
        _ => None,
    });
    assert!(text.contains("node 0 at 127.0.0.1:") && ends_in.is_some_and(|left| left <= LONG), "{text}");
    assert_eq!(quintet_identity::read(&b).expect("it is there"), before, "what was there is there");
    let _agent_a = Running::start(&a);
    assert_eq!(agent_b.wait_for_renewal(), Some(NodeId(0)));
}

#[test]
fn a_machine_that_was_given_the_authoritys_key_takes_the_founders_place() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let agent_a = Running::start(&a);
    let (b, c) = (joined(&a, &home, "b"), joined(&a, &home, "c"));
    let (agent_b, _agent_c) = (Running::start(&b), Running::start(&c));
    let voters = || {
        let client = Client::local(&c).expect("its agent runs");
        client.membership(false).expect("it answers").view.voters().count()
    };
    wait_until("three voters", || voters() == 3);
    agent_a.end();
    std::fs::copy(a.join("authority.key"), c.join("authority.key")).expect("it is copied");
    std::fs::remove_dir_all(&a).expect("it is there");
    agent_b.end();
    certify(&b, &c, due(LONG));
    let agent_b = Running::start(&b);
    assert_eq!(agent_b.wait_for_renewal(), Some(NodeId(2)), "the founder was asked in vain");
    let d = joined(&c, &home, "d");
    assert_eq!(record(&d).node, NodeId(3));
}

#[test]
fn members_that_do_not_answer_are_not_waited_for_one_after_the_other() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let agent_a = Running::start(&a);
    let b = joined(&a, &home, "b");
    agent_a.end();
    // Four members that take the connection, say nothing until all of them are asked, and then end it.
    let all_are_asked = Arc::new(Barrier::new(4));
    let mute = |node| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has one").to_string();
        let barrier = Arc::clone(&all_are_asked);
        std::thread::spawn(move || {
            let (connection, _) = listener.accept().expect("it is asked");
            barrier.wait();
            drop(connection);
        });
        Peer { node: NodeId(node), identity: quintet_contract::Identity([1; 32]), address }
    };
    let mut record = record(&b);
    record.peers = [0, 2, 3, 4].map(mute).into();
    record.write(&b).expect("the folder is there");
    let Err(AgentError::NotRenewed { whys }) = renew(&b) else { panic!("nobody signs") };
    // Who was asked while another one was waited for would have been given up after five seconds.
    assert!(whys.len() == 4 && !whys.iter().any(|why| why.contains("no answer within")), "{whys:?}");
}

#[test]
fn a_certificate_that_has_ended_is_mended_by_the_authority_only() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let agent_a = Running::start(&a);
    let b = joined(&a, &home, "b");
    agent_a.end();
    let now = SystemTime::now();
    let over = Validity { from: now - DAY * 90, until: now - DAY };
    certify(&a, &a, over);
    certify(&b, &a, over);
    Running::start(&a).end();
    assert!(left(&a) > DAY * 89);
    let refused = Running::try_start(&b).map(drop).expect_err("nobody would let it in");
    assert!(refused.to_string().contains("quintet leave --forget"), "{refused}");
}

#[test]
fn tokens_expire_though_nobody_looks_at_them() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let agent = Running::start(&a);
    let valid_for = Duration::from_millis(1);
    let new = NewToken { node: 0, allows: Grants::JOIN, now: SystemTime::now(), valid_for, note: "" };
    let (_, token) = issue_token(&a, &new).expect("it has the authority");
    let expired = a.join("tokens").join(format!("{}.expired", token.id()));
    wait_until("it has expired", || expired.exists());
    std::fs::write(a.join("tokens/0123456789abcdef.toml"), "nonsense").expect("the folder is there");
    let text = agent.wait_for(|notice| match notice {
        Notice::Trouble { text } => Some(text.clone()),
        _ => None,
    });
    assert!(text.contains("0123456789abcdef.toml"), "{text}");
}
