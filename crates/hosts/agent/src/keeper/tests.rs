use super::*;
use crate::record::Peer;
use crate::space::{ServedSpace, StartSpace};
use quintet_contract::{Incarnation, Input, Outbox, Protocol, Time};
use quintet_identity::create;
use quintet_link::LinkAddress;
use quintet_membership::{KeptSpace, Member, Suspicion};
use quintet_runtime::{Instance, Node, Services};
use quintet_testbed::TempDir;
use quintet_tuple_space::{CodeGrants, SpaceRights};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;

/// How node 1 proves who it is.
const OTHER: Identity = Identity([1; 32]);

/// The keeper of node 0, which has seen view `seen` with node 1, and whose node does not run.
fn keeper(folder: &Path, seen: u64, told: Told) -> Keeper {
    let node = Node::new(NodeId(0), Services::none()).expect("descriptors are free");
    keeper_of(&node, folder, seen, told)
}

/// The same, of a node that may run.
fn keeper_of(node: &Node, folder: &Path, seen: u64, told: Told) -> Keeper {
    let lab = folder.join("lab");
    create(&lab, "a").expect("it is made");
    let peers = vec![Peer { node: NodeId(1), identity: OTHER, address: address_of(1) }];
    let record =
        Record { founding: false, view: seen, peers, address: address_of(0), ..crate::agent::founder("a") };
    record.write(&lab).expect("the folder is there");
    let (credentials, cluster) = crate::credentials(&lab).expect("they were made");
    let known = record.peers.iter().map(|peer| (peer.identity, peer.node));
    let admission = Admission::new(lab.clone(), known.collect());
    Keeper::new(node.handle(), lab, record, cluster, credentials, admission, told)
}

fn address_of(node: u16) -> String {
    format!("127.0.0.1:{}", 7400 + node)
}

fn view(number: u64, nodes: &[u16]) -> View {
    let mut view = View::default();
    view.number = number;
    for node in nodes {
        let member = Member {
            name: format!("m{node}"),
            identity: Identity([node.to_le_bytes()[0]; 32]),
            address: address_of(*node),
            grants: 0,
            incarnation: Incarnation(1),
            votes: true,
            ticket: 0,
        };
        view.members.insert(NodeId(*node), member);
    }
    view
}

fn is_admitted(keeper: &Keeper, identity: Identity) -> bool {
    keeper.admission.is_member(&quintet_link::Proof { identity, is_of_cluster: true, from: None })
}

fn remembered(keeper: &Keeper) -> (u64, Vec<NodeId>) {
    let record = Record::read(&keeper.folder).expect("it can be read").expect("it is there");
    (record.view, record.peers.iter().map(|peer| peer.node).collect())
}

#[test]
fn a_view_older_than_the_one_remembered_makes_nobody_forgotten() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(1, &[0]));
    assert!(keeper.dialled.contains_key(&NodeId(1)), "it is dialled no more");
    assert!(is_admitted(&keeper, OTHER), "it is let in no more");
    assert_eq!(remembered(&keeper), (4, vec![NodeId(1)]));
}

#[test]
fn a_machine_that_has_left_is_not_let_in_again_by_an_older_view() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(3, &[0, 1, 2]));
    assert!(!is_admitted(&keeper, Identity([2; 32])));
    keeper.see(view(4, &[0, 1]));
    assert!(is_admitted(&keeper, OTHER) && !is_admitted(&keeper, Identity([2; 32])));
}

#[test]
fn the_next_view_is_acted_on_and_remembered_with_its_number() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(5, &[0, 2]));
    assert!(!keeper.dialled.contains_key(&NodeId(1)) && !is_admitted(&keeper, OTHER));
    assert_eq!(remembered(&keeper), (5, vec![NodeId(2)]));
    keeper.see(view(6, &[0, 2]));
    assert_eq!(remembered(&keeper), (6, vec![NodeId(2)]));
}

#[test]
fn members_that_came_later_are_dialled_as_well_and_this_machine_is_not() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(5, &[0, 1, 2]));
    let dialled = |keeper: &Keeper| keeper.dialled.clone().into_iter().collect::<Vec<_>>();
    assert_eq!(dialled(&keeper), [1, 2].map(|node| (NodeId(node), address_of(node))));
    let mut moved = view(6, &[0, 2]);
    moved.members.get_mut(&NodeId(2)).expect("it is in").address = address_of(9);
    keeper.see(moved);
    assert_eq!(dialled(&keeper), [(NodeId(2), address_of(9))]);
}

#[test]
fn a_member_that_ended_in_order_is_dialled_again_also_before_the_newest_view_is_known() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(1, &[0]));
    let suspects = vec![Suspect { node: NodeId(1), cause: Suspicion::Closed }];
    keeper.hear(News { number: 1, suspects, ..News::default() });
    assert_eq!(keeper.dialled.get(&NodeId(1)), Some(&address_of(1)));
}

#[test]
fn who_asks_to_be_let_in_waits_for_the_view_and_is_told_where_there_is_no_majority() {
    let folder = TempDir::new().expect("a temporary directory");
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let texts = Arc::clone(&told);
    let tell: Told = Arc::new(move |notice: &Notice| {
        if let Notice::NotEnrolled(Refused { what: "enrolment", identity: Some(OTHER), text, .. }) = notice {
            texts.lock().expect("no other panicked").push(text.clone());
        }
    });
    let mut keeper = keeper(folder.path(), 4, tell);
    keeper.see(view(1, &[0]));
    // As it is handed up: that who asks has proved to be somebody, whom, and nothing besides.
    let body = [&[1][..], &OTHER.0].concat().into();
    let asks =
        OwnedFrame { kind: quintet_stack::enrolment::ENROL, token: Token(7), body, bulk: Bytes::new() };
    let refused = || told.lock().expect("no other panicked").len();
    for refused_before in 0..2 {
        keeper.take_request(&asks);
        assert_eq!(refused(), refused_before, "it waits");
        fail_to_confirm(&mut keeper);
        assert_eq!(refused(), refused_before + 1, "who waits is told");
    }
    let texts = told.lock().expect("no other panicked");
    assert!(texts.iter().all(|text| text.contains("no majority")), "{texts:?}");
}

#[test]
fn a_disk_that_takes_no_record_ends_nothing_and_the_record_is_written_when_it_does() {
    let folder = TempDir::new().expect("a temporary directory");
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let texts = Arc::clone(&told);
    let tell: Told = Arc::new(move |notice: &Notice| {
        if let Notice::Trouble { text } = notice {
            texts.lock().expect("no other panicked").push(text.clone());
        }
    });
    let mut keeper = keeper(folder.path(), 4, tell);
    // Where the record would be written first there is something that takes nothing.
    let full = keeper.folder.join(".agent.toml.new");
    std::os::unix::fs::symlink("/dev/full", &full).expect("nothing is there");
    keeper.see(view(5, &[0, 2]));
    keeper.see(view(6, &[0, 2, 3]));
    assert!(is_admitted(&keeper, Identity([3; 32])), "what it saw counts");
    assert_eq!(remembered(&keeper), (4, vec![NodeId(1)]));
    assert_eq!(told.lock().expect("no other panicked").len(), 1, "it is told once");
    assert!(told.lock().expect("no other panicked")[0].contains("No space left on device"));
    keeper.write_record();
    std::fs::remove_file(&full).expect("it is there");
    keeper.write_record();
    assert_eq!(remembered(&keeper), (6, vec![NodeId(2), NodeId(3)]));
    assert_eq!(told.lock().expect("no other panicked").len(), 1);
}

/// The answer of a majority that this is the latest view.
fn confirm(keeper: &mut Keeper, view: View) {
    keeper
        .take_answer(Purpose::Confirm, Answer::Current(Box::new(view), Vec::new()))
        .expect("the folder is there");
}

/// No majority answers.
fn fail_to_confirm(keeper: &mut Keeper) {
    let refusal = Refusal::new(Reason::NoMajority, "nobody is heard");
    keeper.open.retain(|_, purpose| !matches!(purpose, Purpose::Confirm));
    keeper.take_answer(Purpose::Confirm, Answer::Error(refusal)).expect("nothing is over");
}

#[test]
fn a_view_that_no_majority_has_confirmed_lets_members_agree_and_do_nothing_else() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(4, &[0, 1]));
    let proof = quintet_link::Proof { identity: OTHER, is_of_cluster: true, from: None };
    assert!(keeper.admission.admits(&proof), "to agree");
    assert!(keeper.granted_now().is_empty(), "node 1 may have been removed since");
    let body: Bytes = [&[1][..], &OTHER.0].concat().into();
    let renew =
        OwnedFrame { kind: quintet_stack::enrolment::RENEW, token: Token(7), body, bulk: Bytes::new() };
    keeper.take_request(&renew);
    assert_eq!(keeper.early.len(), 1, "it waits");
    keeper.hear(News { number: 1, is_stale: true, ..News::default() });
    fail_to_confirm(&mut keeper);
    assert!(keeper.early.len() == 0 && keeper.admission.admits(&proof), "it is told; and may agree");
    assert!(!keeper.admission.is_member(&proof), "it is not let into the space");
    keeper.hear(News { number: 2, is_stale: false, ..News::default() });
    keeper.take_request(&renew);
    assert_eq!(keeper.early.len(), 1, "nothing is confirmed by that");
    confirm(&mut keeper, view(6, &[0, 2]));
    assert!(keeper.early.len() == 0 && !keeper.admission.admits(&proof), "it was removed");
    let granted: Vec<Identity> = keeper.granted_now().into_keys().collect();
    assert_eq!(granted, [Identity([0; 32]), Identity([2; 32])]);
}

/// Takes what the keeper says to its node, and passes on whom it grants something.
struct Granted(std::sync::mpsc::Sender<Vec<Identity>>);

impl Protocol for Granted {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        let Input::Frame(_, frame) = input else { return };
        let request = quintet_launch::Request::decode(frame.kind, frame.body, frame.bulk);
        if let Ok(quintet_launch::Request::Grants { grants }) = request {
            self.0.send(grants.into_keys().collect()).expect("the test listens");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Without them the jobs would end that machines run for each other, just where the cluster has lost enough already; and nobody is granted what he
/// was not before.
#[test]
fn who_hears_no_majority_grants_what_it_did_until_one_says_who_is_in() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut node = Node::new(NodeId(0), Services::none()).expect("descriptors are free");
    let (tell, granted) = std::sync::mpsc::channel();
    node.add(PORT_SESSION, Instance::new(Granted(tell)));
    let mut keeper = keeper_of(&node, folder.path(), 4, Arc::new(|_| {}));
    let handle = node.handle();
    let node = std::thread::spawn(move || node.run());
    keeper.see(view(4, &[0, 1]));
    confirm(&mut keeper, view(4, &[0, 1]));
    keeper.hear(News { number: 1, is_stale: true, ..News::default() });
    fail_to_confirm(&mut keeper);
    keeper.hear(News { number: 2, is_stale: false, ..News::default() });
    confirm(&mut keeper, view(6, &[0, 2]));
    let told = [(); 2].map(|()| granted.recv().expect("the node runs"));
    let of = |nodes: [u8; 2]| nodes.map(|node| Identity([node; 32])).to_vec();
    assert_eq!(told, [of([0, 1]), of([0, 2])], "nothing is told in between");
    handle.stop();
    node.join().expect("it does not panic").expect("nothing is wrong");
}

#[test]
fn who_was_out_of_touch_has_the_view_confirmed_again() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    keeper.see(view(4, &[0, 1]));
    let asked = |keeper: &Keeper| keeper.open.values().filter(|of| matches!(of, Purpose::Confirm)).count();
    confirm(&mut keeper, view(4, &[0, 1]));
    assert!(keeper.is_current() && asked(&keeper) == 0);
    keeper.hear(News { number: 1, is_stale: true, ..News::default() });
    assert!(!keeper.is_current() && asked(&keeper) == 0, "nobody would answer");
    assert!(is_admitted(&keeper, OTHER), "those who were there stay");
    keeper.hear(News { number: 2, is_stale: false, ..News::default() });
    assert_eq!(asked(&keeper), 1);
    keeper.hear(News { number: 3, is_stale: false, ..News::default() });
    assert_eq!(asked(&keeper), 1, "once at a time");
}

/// A space that is served as far as its agent sees.
struct Served;

impl ServedSpace for Served {
    fn keep_connections_of(&self, _: Box<dyn Fn(&Identity) -> bool + Send>) {}

    fn grant_code(&self, _: &CodeGrants) {}

    fn allow(&self, _: &SpaceRights) {}

    fn failure(&self) -> Option<String> {
        None
    }
}

/// The spaces that a machine has served when it has done this.
fn served(keeper: &mut Keeper, done: impl FnOnce(&mut Keeper)) -> Vec<String> {
    let (serves, served) = channel();
    let start: StartSpace = Arc::new(move |plan| {
        serves.send(plan.kept.expect("it is kept").name).expect("somebody waits for it");
        Ok(Box::new(Served))
    });
    let agent = LinkAddress::Tls { host: "127.0.0.1".to_owned(), port: 7400, credentials: None };
    let (inbox, _news) = channel();
    let (lab, told) = (keeper.folder.clone(), Arc::clone(&keeper.told));
    let (credentials, admission) = (keeper.credentials.clone(), keeper.admission.clone());
    keeper.kept = Some(KeptSpaces::new(start, agent, &lab, &credentials, &admission, told, inbox));
    done(keeper);
    // Its threads end when they have done what they were told.
    keeper.kept = None;
    served.iter().collect()
}

#[test]
fn a_view_that_could_not_be_written_down_is_not_followed_with_the_spaces_that_it_says() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut keeper = keeper(folder.path(), 4, Arc::new(|_| {}));
    let mut with_space = view(5, &[0, 1]);
    let (replicas, allow, replaced) = (vec![NodeId(0)], None, BTreeMap::new());
    let (max_bytes, max_tuples) = (1 << 20, 100);
    let space = KeptSpace { number: 5, slot: 0, replicas, max_bytes, max_tuples, allow, replaced };
    with_space.spaces.insert("orders".to_owned(), space);

    let full = keeper.folder.join(".agent.toml.new");
    std::os::unix::fs::symlink("/dev/full", &full).expect("nothing is there");
    assert!(served(&mut keeper, |keeper| keeper.see(with_space)).is_empty(), "it would be forgotten");
    assert_eq!(remembered(&keeper).0, 4);
    std::fs::remove_file(&full).expect("it is there");
    keeper.write_record();
    assert_eq!(served(&mut keeper, Keeper::keep_spaces), ["orders"]);
    assert_eq!(remembered(&keeper).0, 5);
}
