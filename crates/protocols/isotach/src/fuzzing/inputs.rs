//! Inputs that reach far: for the stored corpus.

use crate::codec::{
    Agree, AgreeStep, Ballot, Completed, Copied, CopyState, Cut, CutStep, Delivered, Executed, Farewell,
    Halted, MARKERS, NextMembers, NextView, Ordered, PART, PLAIN, Part, Plain, ProgramState, Refusal, SUBMIT,
    Transfer, TransferStep,
};
use crate::{
    Isonet, Joined, Members, Operation, Place, Pulse, Rank, ReadValue, Shape, Stamp, Testimony, Topology,
    Variable, View, Witnessed,
};
use quintet_contract::{Bytes, NodeId};
use quintet_wire::encode_to_vec;

/// Inputs of [`drive`](super::drive) that reach far: for the stored corpus.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (submit, part, announce, token, executed, down, next_view, wake) = (0, 5, 6, 7, 8, 9, 10, 11);
    let cut = 13;
    let local = [[submit, 8], [submit, 9], [submit, 10], [submit, 11], [submit, 9], [submit, 12]];
    let remote = [[submit, 1], [wake, 0], [part, 1], [announce, 1], [wake, 0], [token, 3], [token, 3]];
    let answered = [[submit, 16], [token, 3], [token, 3], [token, 3], [executed, 5], [submit, 9]];
    let dies =
        [[part, 0], [part, 1], [announce, 0], [wake, 0], [token, 3], [down, 0], [next_view, 1], [submit, 8]];
    let changes = [
        [part, 1],
        [next_view, 1],
        [part, 2],
        [cut, 1],
        [cut, 0],
        [cut, 7],
        [cut, 6],
        [submit, 8],
        [next_view, 0],
    ];
    let agree = 14;
    let agrees = [[submit, 8], [down, 1], [agree, 70], [agree, 72], [submit, 9], [agree, 131], [agree, 216]];
    // Node 1 joins as a later process: view 2 without it, then view 3 with it, whose beginning it wants to know.
    let (transfer, join) = (240, 248);
    let has_others_join = [
        [next_view, 1],
        [cut, 1],
        [cut, 7],
        [join, 13],
        [cut, 0],
        [cut, 1],
        [cut, 6],
        [cut, 7],
        [transfer, 0],
        [transfer, 2],
        [join, 30],
        [transfer, 12],
        [submit, 8],
    ];
    // Node 0 does, agrees on views with the others, and gets state of node 1.
    let joins =
        [[join, 6], [cut, 10], [cut, 4], [cut, 8], [transfer, 6], [transfer, 8], [submit, 8], [submit, 231]];
    let raw = [
        1,
        0,
        PART.0 - SUBMIT.0,
        3,
        1,
        2,
        3,
        2,
        0,
        MARKERS.0 - SUBMIT.0,
        0,
        4,
        0,
        PLAIN.0 - SUBMIT.0,
        8,
        1,
        0,
        7,
        0,
        0,
        0,
        9,
        9,
    ];
    vec![
        ("local", local.concat()),
        ("remote", remote.concat()),
        ("answered", answered.concat()),
        ("dies", dies.concat()),
        ("changes", changes.concat()),
        ("raw", raw.to_vec()),
        ("agrees", agrees.concat()),
        ("has others join", has_others_join.concat()),
        ("joins", joins.concat()),
    ]
}

/// What a node says of itself.
fn testimony() -> Testimony {
    let topology = Topology::lan(NodeId(0), &[NodeId(0), NodeId(1)]).expect("it has nodes");
    let shape = Shape { bytes: 2, copies: [NodeId(0), NodeId(1)].into() };
    let isonet = Isonet::new(topology, [(Variable(1), shape)].into()).expect("it can be shared");
    let stamp = Stamp { view: View(1), pulse: Pulse(7), sender: NodeId(1), rank: Rank(9) };
    let (place, rank) = (Place { stamp, behind: 0 }, Rank(9));
    let (operations, reads) = (vec![Operation::Read(Variable(1))], vec![(Variable(1), ReadValue::Aborted)]);
    let said = vec![
        Witnessed::Submitted { rank, operations: operations.clone(), after: place },
        Witnessed::Received { sender: NodeId(0), rank, operations },
        Witnessed::Executed { place, sender: NodeId(0), rank },
        Witnessed::Lost { rank },
        Witnessed::Completed { place, rank, reads },
    ];
    Testimony { node: NodeId(1), views: [(View(1), isonet.into())].into(), said }
}

/// Inputs of [`decode`](super::decode): a body of each kind, a topology, and what a node says of itself.
#[must_use]
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let value = || Bytes::from_static(b"so");
    let operations = vec![
        Operation::Send { to: NodeId(1), handler: 7, bytes: value() },
        Operation::Read(Variable(1)),
        Operation::Write(Variable(1), value()),
        Operation::Sched(Variable(2)),
        Operation::Assign(Variable(2), value()),
    ];
    let stamp = Stamp { view: View(1), pulse: Pulse(7), sender: NodeId(2), rank: Rank(9) };
    let place = Place { stamp, behind: 1 };
    let (rank, values) = (Rank(9), vec![ReadValue::Value(value()), ReadValue::Aborted, ReadValue::Lost]);
    let halt = crate::Halt { node: NodeId(3), cause: crate::HaltCause::Misbehaved };
    let cut = |step| encode_to_vec(&Cut { view: View(1), next: View(2), step });
    let known = vec![Ordered { pulse: Pulse(7), sender: NodeId(2), rank }];
    let topology = "switch a at 0: 0 1 # two\nswitch b at 2: 2\nwire a b\n";
    let marker = [&7u64.to_le_bytes()[..], &2u16.to_le_bytes(), &9u64.to_le_bytes()].concat();
    let receivers = [2, 0, 0, 0, 1, 0];
    let agree = |step| encode_to_vec(&Agree { base: View(1), step });
    let joined = Joined { view: View(2), life: 1 };
    let left = Topology::parse(topology).expect("it is a tree");
    let left = Members::new(left, [(NodeId(1), joined)].into()).expect("node 1 is at a switch");
    let ballot = Ballot { round: 3, node: 1 };
    let transfer = |step| encode_to_vec(&Transfer { view: View(2), step });
    let copied = |variable, held, reserved_by| Copied { variable: Variable(variable), held, reserved_by };
    let copies = vec![
        copied(1, CopyState::Value(value()), vec![NodeId(2)]),
        copied(2, CopyState::Reserved(NodeId(1)), vec![NodeId(1), NodeId(2)]),
        copied(4, CopyState::Aborted, Vec::new()),
        copied(5, CopyState::Lost, Vec::new()),
    ];
    let view = 1u32.to_le_bytes();
    vec![
        ("part", encode_to_vec(&Part { view: View(1), rank, operations: operations.into() })),
        ("executed", encode_to_vec(&Executed { view: View(1), pulse: Pulse(7), values: values.clone() })),
        ("completed", encode_to_vec(&Completed { place, rank, values })),
        ("misuse", encode_to_vec(&Refusal::Misuse("no such node".to_owned()))),
        ("halted", encode_to_vec(&Halted { view: View(1), halt })),
        ("plain", encode_to_vec(&Plain { node: NodeId(1), handler: 7, bytes: b"at once" })),
        (
            "delivered",
            encode_to_vec(&Delivered { place, sender: NodeId(2), rank, handler: 7, bytes: b"in order" }),
        ),
        ("next view", encode_to_vec(&NextView { view: View(2), topology })),
        ("gather", cut(CutStep::Gather)),
        ("report", cut(CutStep::Report { is_complete: true, known: known.clone() })),
        ("prefix", cut(CutStep::Prefix { is_complete: false, order: known.clone() })),
        ("held", cut(CutStep::Held)),
        ("farewell", encode_to_vec(&Farewell { view: View(1), is_complete: true, known })),
        ("minority", encode_to_vec(&Refusal::Minority { view: View(2), left: 1, of: 3 })),
        ("announcements", [&view[..], &9u64.to_le_bytes(), &receivers].concat()),
        ("received", [&view[..], &2u16.to_le_bytes(), &9u64.to_le_bytes()].concat()),
        ("markers", [&view[..], &marker].concat()),
        ("token", [&view[..], &7u64.to_le_bytes(), &[1], &marker, &receivers].concat()),
        ("topology", topology.as_bytes().to_vec()),
        ("testimony", testimony().to_bytes()),
        ("suspects", agree(AgreeStep::Suspects(vec![NodeId(1), NodeId(2)]))),
        ("promise", agree(AgreeStep::Promise { ballot, accepted: Some((ballot, left.clone())) })),
        ("accept", agree(AgreeStep::Accept(ballot, left.clone()))),
        ("agreed", agree(AgreeStep::Agreed(left))),
        ("all leave", agree(AgreeStep::AllLeave)),
        ("asks", agree(AgreeStep::Asks(7))),
        ("joins", agree(AgreeStep::Joins([(NodeId(1), 7), (NodeId(2), 1)].into()))),
        (
            "next view with newcomers",
            encode_to_vec(&NextMembers {
                next: NextView { view: View(2), topology },
                newcomers: [(NodeId(1), joined)].into(),
            }),
        ),
        ("wants variables", transfer(TransferStep::WantsVariables(Some(Variable(3))))),
        ("wants program", transfer(TransferStep::WantsProgram(32_768))),
        ("variables", transfer(TransferStep::Variables { before: View(1), is_complete: true, copies })),
        ("program", transfer(TransferStep::Program { is_complete: false, bytes: value() })),
        ("has all", transfer(TransferStep::HasAll)),
        ("state", encode_to_vec(&ProgramState { view: View(2), is_complete: true, bytes: b"so it is" })),
        ("lacks part", encode_to_vec(&Refusal::LacksPart { sender: NodeId(2), rank })),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use crate::fuzzing::{decode, drive};
    use quintet_contract::{Frame, Token};
    use quintet_wire::Decode;

    /// Each body is read by the decoder that it is for: else the corpus would show nothing.
    #[test]
    fn every_stored_body_can_be_read() {
        let bodies = bodies();
        let body = |name| &bodies.iter().find(|(known, _)| *known == name).expect("it is there").1[..];
        let part = Part::of(Frame::new(PART, Token(1), body("part")));
        assert_eq!(part.map(|part| part.operations.len()), Ok(5));
        assert!(
            Executed::decode_all(body("executed")).is_ok()
                && Completed::decode_all(body("completed")).is_ok()
        );
        assert!(Refusal::decode_all(body("misuse")).is_ok() && Halted::decode_all(body("halted")).is_ok());
        assert!(Plain::decode_all(body("plain")).is_ok() && Delivered::decode_all(body("delivered")).is_ok());
        assert!(
            NextView::decode_all(body("next view")).is_ok() && Farewell::decode_all(body("farewell")).is_ok()
        );
        assert!(
            ["gather", "report", "prefix", "held"].iter().all(|name| Cut::decode_all(body(name)).is_ok())
        );
        assert!(["minority", "lacks part"].iter().all(|name| Refusal::decode_all(body(name)).is_ok()));
        let agreed = ["suspects", "promise", "accept", "agreed", "all leave", "asks", "joins"];
        assert!(agreed.iter().all(|name| Agree::decode_all(body(name)).is_ok()));
        let transferred = ["wants variables", "wants program", "variables", "program", "has all"];
        assert!(transferred.iter().all(|name| Transfer::decode_all(body(name)).is_ok()));
        let members = NextMembers::decode_all(body("next view with newcomers"));
        assert_eq!(members.map(|members| members.newcomers.len()), Ok(1));
        assert!(ProgramState::decode_all(body("state")).is_ok());
        assert_eq!(codec::read_announcements(body("announcements")).map(|(_, list)| list.len()), Ok(1));
        assert_eq!(codec::read_received(body("received")).map(|(_, list)| list.len()), Ok(1));
        assert_eq!(codec::read_markers(body("markers")).map(|(_, list)| list.len()), Ok(1));
        assert_eq!(codec::read_token(body("token")).map(|token| token.entries.len()), Ok(1));
        bodies.iter().for_each(|(_, bytes)| decode(bytes));
        seeds().iter().for_each(|(_, bytes)| drive(bytes));
    }
}
