//! A topology as text.

use super::{Switch, Topology, TopologyError};
use crate::limits::{MAX_NODES, MAX_SWITCHES, MAX_TOPOLOGY_BYTES};
use core::fmt::Write;
use quintet_contract::NodeId;

/// Switches and wires.
type Described = (Vec<Switch>, Vec<(String, String)>);

pub(super) fn read(text: &str) -> Result<Described, TopologyError> {
    super::at_most("bytes of text", text.len(), MAX_TOPOLOGY_BYTES)?;
    let (mut switches, mut wires) = (Vec::new(), Vec::new());
    for (line, number) in text.lines().zip(1..) {
        let said = line.split('#').next().unwrap_or("").trim();
        let problem = |problem: String| TopologyError::Line { number, problem };
        match said.split_once(char::is_whitespace) {
            None if said.is_empty() => {}
            Some(("switch", rest)) => switches.push(switch(rest).map_err(problem)?),
            Some(("wire", rest)) => wires.push(wire(rest).map_err(problem)?),
            _ => return Err(problem("begins with neither `switch` nor `wire`".to_owned())),
        }
        super::at_most("switches", switches.len(), MAX_SWITCHES)?;
        // As many as a tree has, and one for the message that names a cycle.
        super::at_most("wires", wires.len(), MAX_SWITCHES)?;
    }
    Ok((switches, wires))
}

fn switch(rest: &str) -> Result<Switch, String> {
    let wanted = || "a switch is described as `switch NAME at NODE: NODE NODE ...`".to_owned();
    let (front, nodes) = rest.split_once(':').ok_or_else(wanted)?;
    let words: Vec<&str> = front.split_whitespace().collect();
    let [name, "at", manager] = words[..] else { return Err(wanted()) };
    let nodes: Vec<NodeId> = nodes.split_whitespace().map(node).collect::<Result<_, _>>()?;
    if nodes.len() > MAX_NODES {
        return Err(format!("{} nodes, above the limit of {MAX_NODES}", nodes.len()));
    }
    Ok(Switch { name: name.to_owned(), manager: node(manager)?, nodes })
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
    for (index, Switch { name, manager, nodes }) in topology.switches.iter().enumerate() {
        let nodes: String = nodes.iter().map(|node| format!(" {}", node.0)).collect();
        writeln!(text, "switch {name} at {}:{nodes}", manager.0).expect("a text takes all");
        for other in topology.neighbours[index].iter().filter(|other| **other < index) {
            writeln!(text, "wire {} {name}", topology.switches[*other].name).expect("a text takes all");
        }
    }
    text
}
