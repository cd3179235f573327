//! Node numbers belong to members: nobody else is heard under them, also while a member is away.

mod lab;

use lab::{LONG, Running, founded, joined, token, wait_until};
use quintet_agent::{AgentError, Client, Notice};
use quintet_contract::{Identity, Incarnation, NodeId, Outbox, Port, SendError, Token};
use quintet_errors::Code;
use quintet_link::Credentials;
use quintet_membership::{Answer, Request, View};
use quintet_runtime::{Calls, Event, Instance};
use quintet_stack::enrolment::{ENROL, NOT_ENROLLED};
use quintet_stack::{Liveness, StackConfig, client_of, sessions_of};
use quintet_testbed::TempDir;
use quintet_wire::registry::{PORT_ENROLMENT, PORT_LAUNCH, PORT_MEMBERSHIP};
use quintet_wire::{Encode, Sink};

/// The member that is away.
const AWAY: NodeId = NodeId(1);
/// A number that no member can have.
const CLIENT: NodeId = NodeId(0xfff0);

/// Asks the founder's agent, as the node of that number with these credentials. The kind of the answer.
fn ask_as(
    founder: &Running,
    who: &Credentials,
    number: NodeId,
    services: &[Port],
    write: &dyn quintet_runtime::Request,
) -> Result<quintet_contract::Kind, Code> {
    let address = founder.address.clone().identified(Some(who));
    let end = quintet_link::connect(&address, LONG).map_err(|error| error.code())?;
    let life = Incarnation(u64::MAX - 1);
    let config = StackConfig::of_client(who.cluster_number(), life, 7).with_liveness(Liveness::OF_CLIENT);
    let stack = Instance::new(client_of(NodeId(0), services, number, &config));
    let calls = Calls::linked(sessions_of(number), stack, sessions_of(NodeId(0)), end)
        .expect("the system watches the link");
    let pending = match calls.begin(write) {
        Ok(pending) => pending,
        Err(quintet_runtime::CallError::Failed(code)) => return Err(code),
        Err(other) => panic!("{other:?}"),
    };
    calls.wait(pending, LONG).expect("it is answered or fails").map(|answer| answer.kind)
}

/// Who is in, as the founder's agent tells that node.
fn view_as(founder: &Running, who: &Credentials, number: NodeId) -> Result<quintet_contract::Kind, Code> {
    let request = Request::View { agreed: false };
    let write = |out: &mut dyn Outbox, to, token: Token, _: Token| -> Result<(), SendError> {
        quintet_wire::send(out, to, request.kind(), token, &request)
    };
    ask_as(founder, who, number, &[PORT_MEMBERSHIP], &write)
}

/// A request that says nothing.
struct Empty;

impl Encode for Empty {
    fn encode(&self, _: &mut impl Sink) {}
}

fn enrol_as(founder: &Running, who: &Credentials, number: NodeId) -> Result<quintet_contract::Kind, Code> {
    let write = |out: &mut dyn Outbox, to, token: Token, _: Token| -> Result<(), SendError> {
        quintet_wire::send(out, to, ENROL, token, &Empty)
    };
    ask_as(founder, who, number, &[PORT_ENROLMENT], &write)
}

/// Whom an agent tells of that it has refused a number.
fn refused(notice: &Notice) -> Option<(NodeId, Option<Identity>)> {
    match notice {
        Notice::Host(Event::NameRefused { peer, identity, is_dialled: false, .. }) => {
            Some((*peer, *identity))
        }
        _ => None,
    }
}

fn life_of(view: &View, node: NodeId) -> u64 {
    view.members[&node].incarnation.0
}

#[test]
fn nobody_takes_the_number_of_a_member_that_is_away_and_it_comes_back_unhindered() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let (b, c) = (joined(&a, &home, "b"), joined(&a, &home, "c"));
    wait_until("all know all", || [&a, &b, &c].iter().all(|agent| agent.members() == 3));
    let away = b.folder.clone();
    let lived = life_of(&a.client().membership(true).expect("a majority is there").view, AWAY);
    b.end();
    // Another member, which is let in.
    let member = c.credentials();
    assert_eq!(view_as(&a, &member, AWAY), Err(Code::NotAllowed));
    assert_eq!(a.wait_for(refused), (AWAY, Some(member.identity())));
    assert!(view_as(&a, &member, CLIENT).is_ok(), "under another number it is heard");
    // Who holds a token that was not used.
    let text: quintet_identity::Token = token(&a).parse().expect("a token");
    let key = text.key().expect("it has one");
    let holder = Credentials::of_token(key.as_bytes(), text.cluster()).expect("a key");
    assert_eq!(enrol_as(&a, &holder, AWAY), Err(Code::NotAllowed));
    let holder_is_told_of = |notice: &Notice| refused(notice) == Some((AWAY, Some(holder.identity())));
    // Of refusals in one second the first is told of.
    wait_until("it is told of", || {
        assert_eq!(enrol_as(&a, &holder, AWAY), Err(Code::NotAllowed));
        a.has_told(holder_is_told_of)
    });
    // Both stand in the record of refusals.
    for who in [member.identity(), holder.identity()] {
        let key = who.0.iter().fold(String::new(), |key, byte| key + &format!("{byte:02x}"));
        wait_until("it is written down", || {
            let lines = std::fs::read_to_string(a.folder.join("audit.log")).unwrap_or_default();
            let is_it = |line: &str| line.contains(&key) && line.contains("may not be heard as node 1");
            lines.lines().any(|line| is_it(line) && line.contains("\"what\":\"connection\""))
        });
    }
    // The machine itself, and the cluster agrees with it as before.
    let b = Running::start(&away);
    a.wait_for(|notice| matches!(notice, Notice::Back { node: AWAY, .. }).then_some(()));
    wait_until("it has a later life", || {
        life_of(&c.client().membership(false).expect("it answers").view, AWAY) > lived
    });
    assert_eq!(b.members(), 3);
}

#[test]
fn who_holds_a_token_reaches_the_enrolment_and_nothing_else_of_an_agent() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let text: quintet_identity::Token = token(&a).parse().expect("a token");
    let key = text.key().expect("it has one");
    let holder = Credentials::of_token(key.as_bytes(), text.cluster()).expect("a key");
    assert_eq!(enrol_as(&a, &holder, CLIENT), Ok(NOT_ENROLLED), "it is heard there, and has said nothing");
    assert_eq!(view_as(&a, &holder, CLIENT), Err(Code::Unreachable), "as where nothing is");
    let large = |out: &mut dyn Outbox, to, token: Token, _: Token| -> Result<(), SendError> {
        out.send_bulk(to, ENROL, token, b"please", vec![7; 4 << 20].into())
    };
    let told = ask_as(&a, &holder, CLIENT, &[PORT_ENROLMENT], &large);
    assert_eq!(told, Err(Code::TooLarge), "an agent makes no room for large data of who is no member");
    let launch = quintet_launch::Request::Grants { grants: Default::default() };
    let write = |out: &mut dyn Outbox, to, token: Token, _: Token| -> Result<(), SendError> {
        let (body, bulk) = launch.parts();
        out.send_bulk(to, quintet_launch::codec::REQUEST, token, &body, bulk)
    };
    assert_eq!(ask_as(&a, &holder, CLIENT, &[PORT_LAUNCH], &write), Err(Code::Unreachable));
}

#[test]
fn who_answers_in_a_members_place_and_is_another_member_is_not_taken_for_it() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let b = joined(&a, &home, "b");
    wait_until("both know both", || [&a, &b].iter().all(|agent| agent.members() == 2));
    let c = joined(&a, &home, "c");
    wait_until("c is known", || b.members() == 3);
    // b says that it is reached where a is, and goes away: c dials it there.
    let (folder, place) = (b.folder.clone(), a.place());
    b.end();
    let b = Running::start_at(&folder, Some(place.clone()));
    let address_of_b = || {
        let view = c.client().membership(false).expect("it answers").view;
        view.members.get(&AWAY).map(|member| member.address.clone())
    };
    wait_until("c knows where", || address_of_b().as_ref() == Some(&place));
    b.end();
    let answered = c.wait_for(|notice| match notice {
        Notice::Host(Event::NameRefused { peer: AWAY, identity, is_dialled: true, .. }) => Some(*identity),
        _ => None,
    });
    assert_eq!(answered, Some(a.credentials().identity()));
    a.wait_for(|notice| matches!(notice, Notice::Host(Event::RefusedByDialler { .. })).then_some(()));
}

#[test]
fn the_links_of_a_member_end_with_it_also_those_under_numbers_of_clients() {
    let home = TempDir::new().expect("a temporary directory");
    let a = founded(&home);
    let b = joined(&a, &home, "b");
    wait_until("b is in", || a.members() == 2);
    let address = a.address.clone().identified(Some(&b.credentials()));
    let client = Client::connect(address, NodeId(0), b.credentials().cluster_number()).expect("it is let in");
    client.membership(false).expect("a member may ask");
    let left = a.client().ask_member(&Request::Leave { node: NodeId(1) });
    assert_eq!(left.expect("the only voter agrees"), Answer::Done);
    let ask = || client.membership(false).err();
    wait_until("its link has ended", || matches!(ask(), Some(AgentError::Lost { .. })));
    a.client().membership(true).expect("this machine's own commands are heard");
}
