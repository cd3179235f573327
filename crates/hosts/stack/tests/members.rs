//! Members above messages, ports and sessions, on simulated machines.

use quintet_contract::{
    Address, Identity, Incarnation, Input, NodeId, Outbox, OwnedFrame, Protocol, Span, Time, Token,
};
use quintet_membership::{Answer, Membership, MembershipConfig, Request, Start, Suspicion};
use quintet_simulate::{LinkModel, Simulation};
use quintet_stack::{Liveness, Stack, StackConfig, member, node, sessions_of};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_MEMBERSHIP, PORT_SESSION};

const SIZE: u16 = 3;

/// Keeps the answers that come to a node's callers.
#[derive(Default)]
struct Callers(Vec<(Token, Answer)>);

impl Protocol for Callers {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.0.push((
                frame.token,
                Answer::decode(frame.kind, frame.body).expect("a member's bytes are good"),
            ));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn callers(of: u16) -> Address {
    Address { node: NodeId(of), port: PORT_CALLERS }
}

fn start(run: &mut Simulation, number: u16) {
    let start = match number {
        0 => Start::Found {
            name: "m0".to_owned(),
            identity: Identity([0; 32]),
            address: String::new(),
            grants: 0,
            ticket: 0,
        },
        _ => Start::Joined,
    };
    let liveness = Liveness {
        keep_alive: Span::from_millis(100),
        silence_limit: Span::from_millis(400),
        resume_window: Span::ZERO,
    };
    let mut config = StackConfig::of_server(7, Incarnation(1), number.into()).with_liveness(liveness);
    config.membership = Some(MembershipConfig::new(7, NodeId(number), start, number.into()));
    // Whoever came first hears of the others by what those say.
    let others: Vec<NodeId> = (0..number).map(NodeId).collect();
    run.add(callers(number), Callers::default());
    run.add(sessions_of(NodeId(number)), node(NodeId(number), &config, vec![member(&config, &others)]));
    for other in 0..number {
        run.attach(NodeId(other), NodeId(number), &[(PORT_SESSION, PORT_SESSION)], LinkModel::default());
    }
}

fn ask(run: &mut Simulation, at: u16, token: u64, request: &Request) -> Option<Answer> {
    let body = encode_to_vec(request).into();
    let frame = OwnedFrame { kind: request.kind(), token: Token(token), body, bulk: bytes::Bytes::new() };
    run.inject(sessions_of(NodeId(at)), frame);
    let answer = |run: &Simulation| {
        let callers: &Callers = run.get(callers(at))?;
        callers.0.iter().find(|(of, _)| *of == Token(token)).map(|(_, answer)| answer.clone())
    };
    run.run_until(Span::from_secs(10), |run| answer(run).is_some());
    answer(run)
}

fn member_of(run: &Simulation, number: u16) -> &Membership {
    let stack: &Stack<Membership> = run.get(sessions_of(NodeId(number))).expect("the node was added");
    stack.inner().get(PORT_MEMBERSHIP).expect("it is a member").inner()
}

fn join(number: u16) -> Request {
    let identity = Identity([u8::try_from(number).expect("a few"); 32]);
    Request::Join {
        cluster: 7,
        name: format!("m{number}"),
        identity,
        address: "x:1".to_owned(),
        grants: 0,
        ticket: number.into(),
    }
}

#[test]
fn members_agree_above_sessions_and_suspect_by_what_those_see() {
    let mut run = Simulation::new(1);
    start(&mut run, 0);
    for number in 1..SIZE {
        let joined = ask(&mut run, 0, number.into(), &join(number));
        assert!(matches!(joined, Some(Answer::Joined { node, .. }) if node.0 == number), "{joined:?}");
        start(&mut run, number);
    }
    let all_vote = |run: &Simulation| {
        (0..SIZE).all(|node| member_of(run, node).view().is_some_and(|view| view.voters().count() == 3))
    };
    assert!(run.run_until(Span::from_secs(10), all_vote));
    let joined = ask(&mut run, 2, 20, &join(9));
    assert!(
        matches!(joined, Some(Answer::Joined { node: NodeId(3), .. })),
        "handed on to the leader: {joined:?}"
    );
    run.partition(&[&[NodeId(0), NodeId(1)], &[NodeId(2)]]);
    run.run_for(Span::from_secs(2));
    let watch = Request::Watch { view: 99, news: 0, wait: Span::ZERO };
    let Some(Answer::News(news)) = ask(&mut run, 1, 30, &watch) else { panic!("there is news") };
    let suspected = news.suspects.iter().any(|one| one.node == NodeId(2) && one.cause == Suspicion::Silent);
    assert!(suspected && !news.is_stale, "{news:?}");
    let joined = ask(&mut run, 1, 31, &join(10));
    assert!(matches!(joined, Some(Answer::Joined { node: NodeId(4), .. })), "{joined:?}");
}
