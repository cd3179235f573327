//! Frames in words, for histories.

use super::nodes::GONE;
use quintet_contract::Frame;
use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_isotach::codec::{
    COMPLETED, CUT, Completed, Cut, CutStep, DELIVERED, Delivered, FAREWELL, Farewell, HALTED, Halted,
    MARKERS, NEXT_VIEW, NextMembers, Ordered, PART, Part, REFUSED, Refusal, SUBMIT, TOKEN, TRANSFER,
    Transfer, name_of, read_markers, read_operations, read_token,
};
use quintet_isotach::{Operation, Place};
use quintet_wire::{Decode, Reader};

/// What messages write before a frame's body.
const MESSAGES_PREFIX_BYTES: usize = 8;
/// What sessions, ports and messages do.
const STACK_PREFIX_BYTES: usize = quintet_session::PREFIX_BYTES + PORTS_PREFIX_BYTES + MESSAGES_PREFIX_BYTES;

/// A frame in words: what it is, and what of it matters.
pub(super) fn in_words(frame: Frame<'_>) -> String {
    if frame.kind == GONE {
        let node = frame.body.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes));
        return format!("the membership takes node {node} to be gone");
    }
    let name = name_of(frame.kind).unwrap_or("unknown");
    let what = detail(frame).unwrap_or_default();
    format!("{name} ({}){}{what}", frame.token.0, if what.is_empty() { "" } else { ": " })
}

/// The same of one below which sessions and messages are: what they wrote before it is left out.
pub(super) fn of_stack(frame: Frame<'_>) -> String {
    let inner = frame.body.get(STACK_PREFIX_BYTES..).map(|body| Frame { body, ..frame });
    match inner.filter(|inner| name_of(inner.kind).is_some() && detail(frame).is_none()) {
        Some(inner) => in_words(inner),
        None => in_words(frame),
    }
}

fn detail(frame: Frame<'_>) -> Option<String> {
    let body = frame.body;
    Some(match frame.kind {
        SUBMIT => operations(&read_operations(&mut Reader::new(body), frame.bulk).ok()?),
        PART => {
            let part = Part::of(frame).ok()?;
            format!("rank {}, {}", part.rank.0, operations(&part.operations))
        }
        COMPLETED => {
            let completed = Completed::decode_all(body).ok()?;
            format!("rank {} at {}, {:?}", completed.rank.0, place(&completed.place), completed.values)
        }
        REFUSED => Refusal::decode_all(body).ok()?.to_string(),
        DELIVERED => {
            let delivered = Delivered::of(frame).ok()?;
            format!("rank {} of node {} at {}", delivered.rank.0, delivered.sender.0, place(&delivered.place))
        }
        HALTED => Halted::decode_all(body).ok()?.halt.to_string(),
        NEXT_VIEW => {
            let NextMembers { next, newcomers } = NextMembers::decode_all(body).ok()?;
            let joined: String = newcomers
                .iter()
                .map(|(node, one)| format!("; {} since view {}", node.0, one.view.0))
                .collect();
            format!("view {}: {}{joined}", next.view.0, next.topology.trim().replace('\n', "; "))
        }
        TRANSFER => {
            let Transfer { view, step } = Transfer::decode_all(body).ok()?;
            format!("of view {}, {step:?}", view.0)
        }
        MARKERS => entries(&read_markers(body).ok()?.1),
        TOKEN => {
            let token = read_token(body).ok()?;
            let carried: Vec<Ordered> = token.entries.iter().map(|(ordered, _)| *ordered).collect();
            format!("{} {}", token.number, entries(&carried))
        }
        CUT => {
            let Cut { view, next, step } = Cut::decode_all(body).ok()?;
            format!("of view {} for view {}, {}", view.0, next.0, cut(&step))
        }
        FAREWELL => {
            let farewell = Farewell::decode_all(body).ok()?;
            format!("of view {}, {}", farewell.view.0, entries(&farewell.known))
        }
        _ => return None,
    })
}

fn place(place: &Place) -> String {
    match place.behind {
        0 => place.stamp.to_string(),
        behind => format!("{behind} behind {}", place.stamp),
    }
}

fn entries(list: &[Ordered]) -> String {
    let one = |ordered: &Ordered| format!("{}.{}@{}", ordered.sender.0, ordered.rank.0, ordered.pulse.0);
    format!("[{}]", list.iter().map(one).collect::<Vec<_>>().join(" "))
}

fn cut(step: &CutStep) -> String {
    match step {
        CutStep::Gather => "gather".to_owned(),
        CutStep::Report { known, .. } => format!("report {}", entries(known)),
        CutStep::Prefix { order, .. } => format!("prefix {}", entries(order)),
        CutStep::Held => "held".to_owned(),
        CutStep::Begun => "begun".to_owned(),
    }
}

fn operations(operations: &[Operation]) -> String {
    let one = |operation: &Operation| match operation {
        Operation::Send { to, .. } => format!("message to node {}", to.0),
        Operation::Read(variable) => format!("read {}", variable.0),
        Operation::Write(variable, value) => format!("write {} {value:02x?}", variable.0),
        Operation::Sched(variable) => format!("reserve {}", variable.0),
        Operation::Assign(variable, value) => format!("assign {} {value:02x?}", variable.0),
    };
    operations.iter().map(one).collect::<Vec<_>>().join(", ")
}
