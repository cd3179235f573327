//! Goes through the syntax tree of a file, and finds the types of all fields where they stand.

use crate::check::Checker;
use crate::declaration::{base_type, declare, declared, named_children, parameters, specified};
use crate::expanded::Expanded;
use crate::field::Field;
use crate::live;
use crate::masked::mask;
use crate::operation::{Call, Misuse};
use crate::scope::{Scopes, Symbol};
use crate::standing::{Standing, Surrounding};
use crate::types::{Signature, Type};
use std::ops::Range;
use std::rc::Rc;
use tree_sitter::{Node, Parser, TreeCursor};

/// What the types say.
pub(crate) struct Resolved {
    /// The fields of each call, or what is wrong with one.
    pub(crate) fields: Vec<Result<Vec<Field>, Misuse>>,
    /// How each call stands in its function.
    pub(crate) standings: Vec<Standing>,
    /// The functions that the file defines.
    pub(crate) functions: Vec<Function>,
}

/// A function that the file defines.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) signature: Rc<Signature>,
    /// Its names for what it takes, also where their types stand elsewhere.
    pub(crate) parameters: usize,
    /// Its body, with the braces.
    pub(crate) body: Range<usize>,
    /// Whether the body ends with `return`.
    pub(crate) returns_at_its_end: bool,
}

/// Finds the types of all fields of the calls, which are in the order of the text.
pub(crate) fn resolve(expanded: &Expanded, calls: &[Call]) -> Resolved {
    let masked = mask(expanded, calls);
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).expect("grammar and parser are of one version");
    // It gives none only if it was told to stop.
    let tree = parser.parse(&masked, None).expect("nobody stops it");
    let mut walk = Walk {
        text: &masked,
        original: expanded.text(),
        calls,
        scopes: Scopes::new(),
        fields: Vec::with_capacity(calls.len()),
        standings: Vec::with_capacity(calls.len()),
        surrounding: None,
        functions: Vec::new(),
    };
    walk.go(&mut tree.walk());
    walk.finish()
}

struct Walk<'a> {
    /// What the grammar has read.
    text: &'a str,
    /// What it was made of: with the types of anonymous formals.
    original: &'a str,
    calls: &'a [Call],
    scopes: Scopes,
    /// Of the calls that were met.
    fields: Vec<Result<Vec<Field>, Misuse>>,
    standings: Vec<Standing>,
    /// The function around the call that was met last.
    surrounding: Option<Surrounding>,
    functions: Vec<Function>,
}

/// Whether names that are declared in it end with it.
fn is_scope(node: Node<'_>) -> bool {
    matches!(node.kind(), "function_definition" | "compound_statement" | "for_statement")
}

impl Walk<'_> {
    /// Every node, in the order of the text; without recursion, however deep the tree is.
    fn go(&mut self, cursor: &mut TreeCursor<'_>) {
        loop {
            self.enter(cursor.node(), cursor.field_name());
            if cursor.goto_first_child() {
                continue;
            }
            self.leave(cursor.node());
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.leave(cursor.node());
            }
        }
    }

    fn enter(&mut self, node: Node<'_>, field_name: Option<&str>) {
        while let Some(call) = self.calls.get(self.fields.len()) {
            if node.start_byte() < call.range.start {
                break;
            }
            let around = around(call, node);
            let fields = self.call(call, around);
            self.fields.push(fields);
            let standing = self.standing(call, around);
            self.standings.push(standing);
        }
        match node.kind() {
            "declaration" | "type_definition" => declare(&mut self.scopes, node, self.text),
            "struct_specifier" | "union_specifier" | "enum_specifier" if field_name != Some("type") => {
                self.announce(node);
            }
            "function_definition" => self.define(node),
            _ if is_scope(node) => self.scopes.push(),
            _ => {}
        }
    }

    fn leave(&mut self, node: Node<'_>) {
        if is_scope(node) {
            self.scopes.pop();
        }
    }

    /// A struct, union or enumeration that is declared for itself.
    fn announce(&mut self, node: Node<'_>) {
        // As if it were the type of a declaration without a name.
        if node.parent().is_some_and(|parent| parent.child_by_field_name("type") != Some(node)) {
            specified(&mut self.scopes, node, self.text, 0);
        }
    }

    fn define(&mut self, node: Node<'_>) {
        let base = base_type(&mut self.scopes, node, self.text, 0);
        let declarator = node.child_by_field_name("declarator");
        let found = declarator.and_then(|inner| declared(&mut self.scopes, inner, base, self.text, 0));
        if let Some((name, of)) = &found {
            self.scopes.declare(name, Symbol::Object(of.clone()));
        }
        self.scopes.push();
        let (Some((name, Type::Function(signature))), Some(body)) = (found, node.child_by_field_name("body"))
        else {
            return;
        };
        let list = declarator.and_then(function_declarator);
        let named = list.and_then(|list| parameters(&mut self.scopes, list, self.text, 0));
        for (parameter, of) in named.into_iter().flatten() {
            self.scopes.declare(parameter, Symbol::Local(of.decayed()));
        }
        let count = list.and_then(|list| list.child_by_field_name("parameters"));
        let count = count.map_or(0, |list| named_children(list).len());
        let parameters = if signature.parameters.as_ref().is_some_and(Vec::is_empty) { 0 } else { count };
        let returns_at_its_end =
            named_children(body).last().is_some_and(|last| last.kind() == "return_statement");
        let body = body.byte_range();
        let name = name.to_owned();
        self.functions.push(Function { name, signature, parameters, body, returns_at_its_end });
    }

    fn call(&mut self, call: &Call, around: Node<'_>) -> Result<Vec<Field>, Misuse> {
        let mut checker = Checker { scopes: &mut self.scopes, text: self.text, around };
        let words = |range: &Range<usize>| &self.original[range.clone()];
        call.fields.iter().map(|field| checker.field(call.verb, field, words(&field.value))).collect()
    }

    fn standing(&mut self, call: &Call, around: Node<'_>) -> Standing {
        let is_known = |known: &Surrounding| known.is_around(call.range.start);
        if !self.surrounding.as_ref().is_some_and(is_known) {
            self.surrounding = Surrounding::of(around, self.text, self.original);
        }
        let node = around.descendant_for_byte_range(call.range.start, call.range.end);
        let of = |function| Standing::of(call, node.unwrap_or(around), function, &self.scopes, self.text);
        self.surrounding.as_ref().map(of).unwrap_or_default()
    }

    /// What functions take and return is known now, also of those that are defined behind their evals.
    fn finish(mut self) -> Resolved {
        let text = self.text;
        for (fields, call) in self.fields.iter_mut().zip(self.calls) {
            let Ok(found) = fields else { continue };
            if let Err(misuse) = live::check(&self.scopes, call, found, text) {
                *fields = Err(misuse);
            }
        }
        Resolved { fields: self.fields, standings: self.standings, functions: self.functions }
    }
}

/// The smallest node around a call, from one at its beginning.
fn around<'t>(call: &Call, node: Node<'t>) -> Node<'t> {
    let mut around = node;
    while !(around.start_byte() <= call.range.start && call.range.end <= around.end_byte()) {
        let Some(parent) = around.parent() else { break };
        around = parent;
    }
    around
}

/// The node that has the parameters.
fn function_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    while node.kind() != "function_declarator" {
        node = node.child_by_field_name("declarator")?;
    }
    Some(node)
}
