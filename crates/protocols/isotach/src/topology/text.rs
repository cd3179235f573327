//! A topology as text.

use super::{Switch, Topology, TopologyError};
use crate::limits::{MAX_NODES, MAX_SWITCHES, MAX_TOPOLOGY_BYTES};
use core::fmt::Write;
use quintet_contract::NodeId;

/// Switches and wires.
type Described = (Vec<Switch>, Vec<(String, String)>);

/// A topology of more nodes is written with those that follow each other as `FIRST-LAST`.
const LISTED_NODES: usize = 64;
/// As many at least: of two the two are as short.
const RUN_NODES: usize = 3;

pub(super) fn read(text: &str) -> Result<Described, TopologyError> {
    super::at_most("bytes of text", text.len(), MAX_TOPOLOGY_BYTES)?;
    let (mut switches, mut wires, mut room) = (Vec::new(), Vec::new(), MAX_NODES);
    for (number, said) in lines(text) {
        let problem = |problem: String| TopologyError::Line { number, problem };
        match said.split_once(char::is_whitespace) {
            None if said.is_empty() => {}
            Some(("switch", rest)) => switches.push(switch(rest, &mut room).map_err(problem)?),
            Some(("wire", rest)) => wires.push(wire(rest).map_err(problem)?),
            _ => return Err(problem("begins with neither `switch` nor `wire`".to_owned())),
        }
        super::at_most("switches", switches.len(), MAX_SWITCHES)?;
        // As many as a tree has, and one for the message that names a cycle.
        super::at_most("wires", wires.len(), MAX_SWITCHES)?;
    }
    Ok((switches, wires))
}

/// The lines with their numbers, from 1, without comments.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).map(|(number, line)| (number, line.split('#').next().unwrap_or("").trim()))
}

/// The line in which a text that was refused goes wrong, if it is a single one.
pub(super) fn line_of(text: &str, error: &TopologyError) -> Option<usize> {
    if let TopologyError::Line { number, .. } = error {
        return Some(*number);
    }
    let (switches, wires) = read(text).ok()?;
    let of = |word: &str, index: usize| {
        let mut those = lines(text).filter(|(_, said)| said.split_whitespace().next() == Some(word));
        those.nth(index).map(|(number, _)| number)
    };
    let called = |name: &str, nth: usize| {
        let mut those = switches.iter().zip(0..).filter(|(switch, _)| switch.name == name);
        of("switch", those.nth(nth)?.1)
    };
    match error {
        TopologyError::SwitchTwice { name } => called(name, 1),
        TopologyError::ManagerTwice { switches: [_, other], .. }
        | TopologyError::NodeTwice { switches: [_, other], .. }
        | TopologyError::Apart { switches: [_, other] } => called(other, 0),
        TopologyError::Cycle { .. } | TopologyError::NoSuchSwitch { .. } => {
            // With each wire more it stays refused, once it is.
            let counts: Vec<usize> = (0..=wires.len()).collect();
            let fine = counts.partition_point(|count| super::join(&switches, &wires[..*count]).is_ok());
            of("wire", fine.checked_sub(1)?)
        }
        TopologyError::NoNode | TopologyError::TooMany { .. } | TopologyError::Line { .. } => None,
    }
}

/// A switch, with as many nodes as there is room for: a few bytes may name very many.
fn switch(rest: &str, room: &mut usize) -> Result<Switch, String> {
    let wanted = || "a switch is described as `switch NAME at NODE: NODE NODE-NODE ...`".to_owned();
    let (front, said) = rest.split_once(':').ok_or_else(wanted)?;
    let words: Vec<&str> = front.split_whitespace().collect();
    let [name, "at", manager] = words[..] else { return Err(wanted()) };
    let mut nodes = Vec::new();
    for word in said.split_whitespace() {
        let (first, last) = run(word)?;
        let count = usize::from(last - first) + 1;
        *room = room.checked_sub(count).ok_or_else(|| format!("more than {MAX_NODES} nodes, the limit"))?;
        nodes.extend((first..=last).map(NodeId));
    }
    Ok(Switch { name: name.to_owned(), manager: node(manager)?, nodes })
}

/// One node, or the first and the last of several.
fn run(word: &str) -> Result<(u16, u16), String> {
    let Some((first, last)) = word.split_once('-') else { return node(word).map(|node| (node.0, node.0)) };
    let (first, last) = (node(first)?.0, node(last)?.0);
    if first < last { Ok((first, last)) } else { Err(format!("`{word}` ends before it begins")) }
}

fn wire(rest: &str) -> Result<(String, String), String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [one, other] = words[..] else {
        return Err("a wire is described as `wire NAME NAME`".to_owned());
    };
    Ok((one.to_owned(), other.to_owned()))
}

fn node(word: &str) -> Result<NodeId, String> {
    word.parse().map(NodeId).map_err(|_| format!("`{word}` is no node: a number from 0 to 65535"))
}

pub(super) fn write(topology: &Topology) -> String {
    let mut text = String::new();
    let least = if topology.node_count() > LISTED_NODES { RUN_NODES } else { usize::MAX };
    for (index, Switch { name, manager, nodes }) in topology.switches.iter().enumerate() {
        write!(text, "switch {name} at {}:", manager.0).expect("a text takes all");
        write_nodes(nodes, least, &mut text);
        text.push('\n');
        for other in topology.neighbours(index).iter().filter(|other| **other < index) {
            writeln!(text, "wire {} {name}", topology.switches[*other].name).expect("a text takes all");
        }
    }
    text
}

/// Writes nodes, of those that follow each other the first and the last where they are so many at least.
fn write_nodes(nodes: &[NodeId], least: usize, text: &mut String) {
    for run in nodes.chunk_by(|one, next| one.0.checked_add(1) == Some(next.0)) {
        match run {
            [first, .., last] if run.len() >= least => write!(text, " {}-{}", first.0, last.0),
            _ => run.iter().try_for_each(|node| write!(text, " {}", node.0)),
        }
        .expect("a text takes all");
    }
}
