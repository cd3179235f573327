//! How operations stand in their functions: which are statements of a block, and which variables their fields are. What is begun early, and what goes in one
//! request, follows from that.
//!
//! All of it is found behind the preprocessor: a name in the source may be a macro that stands for anything.

use crate::declaration::{named_children, text_of};
use crate::operation::{Call, Length, Written};
use crate::scope::{Scopes, Symbol};
use std::collections::HashSet;
use std::ops::Range;
use tree_sitter::Node;

/// How an operation stands in its function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Standing {
    /// Whether it is a whole statement of a block: control comes to it from the one in front, and goes to the one behind.
    pub(crate) is_statement: bool,
    /// Whether its fields are values and places only: nothing is called in them, and nothing stored but by its formals.
    pub(crate) is_quiet: bool,
    /// For each field, what it names.
    pub(crate) fields: Vec<Named>,
}

/// The variables that a field is, and its length; none where something else stands there.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Named {
    pub(crate) value: Option<Variable>,
    pub(crate) length: Option<Variable>,
}

/// A variable that stands alone, or a constant of an enumeration, by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Whether only what names it can store into it: each call of its function has its own, and its address is taken nowhere.
    pub(crate) is_private: bool,
}

impl Standing {
    /// That of a call, whose smallest node this is. `function` is around it.
    pub(crate) fn of(
        call: &Call,
        node: Node<'_>,
        function: &Surrounding,
        scopes: &Scopes,
        text: &str,
    ) -> Standing {
        let variable = |range: &Range<usize>| {
            let found = node.descendant_for_byte_range(range.start, range.end)?;
            let is_name = found.kind() == "identifier" && found.byte_range() == *range;
            let name = text_of(found, text);
            let is_private = match scopes.find(name).filter(|_| is_name)? {
                Symbol::Local(_) => function.is_understood && !function.addressed.contains(name),
                Symbol::Constant(_) => true,
                Symbol::Object(_) => false,
                Symbol::Typedef(_) => return None,
            };
            Some(Variable { name: name.to_owned(), is_private })
        };
        let named = |field: &Written| Named {
            value: variable(&field.value),
            length: match &field.length {
                Length::Of(_, length) => variable(length),
                Length::None | Length::Whole(_) => None,
            },
        };
        let is_call = node.kind() == "call_expression" && node.byte_range() == call.range;
        Standing {
            is_statement: is_call && function.is_understood && is_statement(node),
            is_quiet: is_call && function.is_understood && is_quiet(node),
            fields: call.fields.iter().map(named).collect(),
        }
    }
}

/// Whether an expression is all of a statement of a block: not of a branch, and not of a block that has a value.
fn is_statement(node: Node<'_>) -> bool {
    const AROUND_A_BLOCK: [&str; 9] = [
        "function_definition",
        "compound_statement",
        "if_statement",
        "else_clause",
        "for_statement",
        "while_statement",
        "do_statement",
        "case_statement",
        "labeled_statement",
    ];
    let statement = parent_of(node, &["expression_statement"]);
    let block = statement.and_then(|statement| parent_of(statement, &["compound_statement"]));
    block.is_some_and(|block| parent_of(block, &AROUND_A_BLOCK).is_some())
}

/// The node around this one, if it is of one of these kinds.
fn parent_of<'t>(node: Node<'t>, kinds: &[&str]) -> Option<Node<'t>> {
    node.parent().filter(|parent| kinds.contains(&parent.kind()))
}

/// Whether the fields of a call only have values.
fn is_quiet(call: Node<'_>) -> bool {
    const DO_MORE: [&str; 4] =
        ["call_expression", "assignment_expression", "update_expression", "compound_statement"];
    let arguments = call.child_by_field_name("arguments");
    arguments.is_some_and(|list| within(list).iter().all(|node| !DO_MORE.contains(&node.kind())))
}

/// A node and all that have names within it.
fn within(node: Node<'_>) -> Vec<Node<'_>> {
    let mut found = vec![node];
    let mut next = 0;
    while let Some(node) = found.get(next).copied() {
        found.extend(named_children(node));
        next += 1;
    }
    found
}

/// The function around an operation.
#[derive(Clone, Debug)]
pub(crate) struct Surrounding {
    /// Its bytes.
    range: Range<usize>,
    /// Whether what its statements and variables are follows from the grammar of C alone: nothing of it is an extension that is not known, a function within
    /// it, or a `#pragma`, which may have several threads do it.
    is_understood: bool,
    /// The names of variables to which there may be pointers.
    addressed: HashSet<String>,
}

impl Surrounding {
    /// That around a node; none outside functions. `original` is the text with its directives.
    pub(crate) fn of(node: Node<'_>, text: &str, original: &str) -> Option<Surrounding> {
        let around = core::iter::successors(Some(node), |node| node.parent());
        let function = around.filter(|node| node.kind() == "function_definition").last()?;
        let range = function.byte_range();
        let nodes = within(function);
        let has_others = nodes[1..].iter().any(|node| node.kind() == "function_definition");
        let has_pragma = original.get(range.clone()).is_none_or(|words| words.contains("#pragma"));
        Some(Surrounding {
            range,
            is_understood: !function.has_error() && !has_others && !has_pragma,
            addressed: nodes.into_iter().flat_map(|node| addressed(node, text)).collect(),
        })
    }

    pub(crate) fn is_around(&self, at: usize) -> bool {
        self.range.contains(&at)
    }
}

/// The names of variables whose address an expression takes. `(t)&x` may be read as `t & x`.
fn addressed(node: Node<'_>, text: &str) -> Vec<String> {
    let operator = node.child_by_field_name("operator").map(|operator| text_of(operator, text));
    let operand = match (node.kind(), operator) {
        ("pointer_expression", Some("&")) => node.child_by_field_name("argument"),
        ("binary_expression", Some("&")) => node.child_by_field_name("right"),
        _ => None,
    };
    let mut base = operand;
    while let Some(part) =
        base.filter(|part| matches!(part.kind(), "subscript_expression" | "field_expression"))
    {
        base = part.child_by_field_name("argument");
    }
    let names = base.map(within).unwrap_or_default().into_iter().filter(|part| part.kind() == "identifier");
    names.map(|name| text_of(name, text).to_owned()).collect()
}
