//! Declarations of C: what the nodes of the grammar say of names and types.

use crate::constant;
use crate::scope::{Scopes, Symbol};
use crate::types::{Scalar, Signature, Type, of_words};
use std::collections::BTreeMap;
use std::rc::Rc;
use tree_sitter::Node;

/// Declarators and types within each other, at most: what goes deeper is no type.
pub(crate) const MAX_DEPTH: usize = 64;

/// The text of a node.
pub(crate) fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

pub(crate) fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).collect()
}

fn is_const(node: Node<'_>, text: &str) -> bool {
    named_children(node)
        .iter()
        .any(|child| child.kind() == "type_qualifier" && text_of(*child, text).contains("const"))
}

fn qualified(base: Type, is_const: bool) -> Type {
    if is_const { Type::Const(Rc::new(base)) } else { base }
}

/// The type with which a declaration, a parameter or a cast begins.
pub(crate) fn base_type(scopes: &mut Scopes, node: Node<'_>, text: &str, depth: usize) -> Type {
    let base = match node.child_by_field_name("type") {
        Some(specifier) => specified(scopes, specifier, text, depth),
        // As C was before 1999.
        None => Type::int(),
    };
    qualified(base, is_const(node, text))
}

/// The type that a specifier names. A struct or an enumeration with a body is declared by it.
pub(crate) fn specified(scopes: &mut Scopes, node: Node<'_>, text: &str, depth: usize) -> Type {
    let words = text_of(node, text);
    let unknown = || Type::Other(words.to_owned());
    if depth > MAX_DEPTH {
        return unknown();
    }
    match node.kind() {
        "struct_specifier" | "union_specifier" => record(scopes, node, text, depth),
        "enum_specifier" => {
            enumerators(scopes, node, text);
            Type::Scalar(Scalar::Enumeration)
        }
        "primitive_type" | "type_identifier" => match scopes.find(words) {
            Some(Symbol::Typedef(of)) => of.clone(),
            _ => of_words(std::iter::once(words)).or_else(|| well_known(words)).unwrap_or_else(unknown),
        },
        "sized_type_specifier" => of_words(words.split_whitespace()).unwrap_or_else(unknown),
        _ => unknown(),
    }
}

/// Types of headers, where nobody has included those: as they are on every 64-bit Linux.
fn well_known(name: &str) -> Option<Type> {
    let scalar = match name {
        "int8_t" => Scalar::SignedChar,
        "uint8_t" => Scalar::UnsignedChar,
        "int16_t" => Scalar::Short,
        "uint16_t" => Scalar::UnsignedShort,
        "int32_t" => Scalar::Int,
        "uint32_t" => Scalar::UnsignedInt,
        "int64_t" | "ssize_t" | "intptr_t" | "ptrdiff_t" => Scalar::Long,
        "uint64_t" | "size_t" | "uintptr_t" => Scalar::UnsignedLong,
        _ => return None,
    };
    Some(Type::Scalar(scalar))
}

fn record(scopes: &mut Scopes, node: Node<'_>, text: &str, depth: usize) -> Type {
    let kind = if node.kind() == "union_specifier" { "union" } else { "struct" };
    let body = node.child_by_field_name("body");
    let index = match node.child_by_field_name("name") {
        Some(tag) => scopes.record(text_of(tag, text), kind, body.is_some()),
        None => scopes.add_record(format!("{kind} without a name")),
    };
    let Some(body) = body else { return Type::Record(index) };
    let mut members = BTreeMap::new();
    for field in named_children(body).into_iter().filter(|child| child.kind() == "field_declaration") {
        let base = base_type(scopes, field, text, depth + 1);
        for declarator in field.children_by_field_name("declarator", &mut field.walk()) {
            if let Some((name, of)) = declared(scopes, declarator, base.clone(), text, depth + 1) {
                members.insert(name.to_owned(), of);
            }
        }
    }
    scopes.records[index].members = Some(members);
    Type::Record(index)
}

fn enumerators(scopes: &mut Scopes, node: Node<'_>, text: &str) {
    let Some(body) = node.child_by_field_name("body") else { return };
    let mut next = Some(0_i64);
    for child in named_children(body).into_iter().filter(|child| child.kind() == "enumerator") {
        let Some(name) = child.child_by_field_name("name") else { continue };
        let value = match child.child_by_field_name("value") {
            Some(value) => constant::value(scopes, value, text),
            None => next,
        };
        scopes.declare(text_of(name, text), Symbol::Constant(value));
        next = value.and_then(|value| value.checked_add(1));
    }
}

/// The name that a declarator declares, and its type; none where it declares none.
pub(crate) fn declared<'a>(
    scopes: &mut Scopes,
    node: Node<'_>,
    base: Type,
    text: &'a str,
    depth: usize,
) -> Option<(&'a str, Type)> {
    if depth > MAX_DEPTH {
        return None;
    }
    let inner = node.child_by_field_name("declarator");
    match node.kind() {
        "identifier" | "field_identifier" | "type_identifier" | "primitive_type" => {
            Some((text_of(node, text), base))
        }
        "init_declarator" => {
            let (name, of) = declared(scopes, inner?, base, text, depth + 1)?;
            Some((name, completed(of, node.child_by_field_name("value"), text)))
        }
        "parenthesized_declarator" | "attributed_declarator" => {
            let inner = named_children(node).into_iter().find(|child| child.kind() != "attribute_specifier");
            declared(scopes, inner?, base, text, depth + 1)
        }
        kind => {
            let of = derived(scopes, kind, node, base, text, depth);
            declared(scopes, inner?, of, text, depth + 1)
        }
    }
}

/// The type that a declarator makes of another: a pointer to it, an array of it, a function that returns it.
fn derived(scopes: &mut Scopes, kind: &str, node: Node<'_>, base: Type, text: &str, depth: usize) -> Type {
    match kind {
        "pointer_declarator" | "abstract_pointer_declarator" => {
            qualified(Type::Pointer(Rc::new(base)), is_const(node, text))
        }
        "array_declarator" | "abstract_array_declarator" => {
            let size = node.child_by_field_name("size");
            let length = size.and_then(|size| constant::value(scopes, size, text));
            Type::Array(Rc::new(base), length.and_then(|length| u64::try_from(length).ok()))
        }
        "function_declarator" | "abstract_function_declarator" => {
            let parameters = parameters(scopes, node, text, depth + 1);
            let parameters =
                parameters.map(|all| all.into_iter().map(|(_, parameter)| parameter.decayed()).collect());
            Type::Function(Rc::new(Signature { result: base, parameters }))
        }
        _ => base,
    }
}

/// The type of a cast, of `sizeof`, or of a parameter without a name.
pub(crate) fn described(scopes: &mut Scopes, node: Node<'_>, text: &str, depth: usize) -> Type {
    let mut of = base_type(scopes, node, text, depth);
    let mut declarator = node.child_by_field_name("declarator");
    let mut depth = depth;
    while let Some(node) = declarator.filter(|_| depth <= MAX_DEPTH) {
        of = derived(scopes, node.kind(), node, of, text, depth);
        declarator = node.child_by_field_name("declarator");
        depth += 1;
    }
    of
}

/// The parameters of a function, with their names; none where it is declared without, as in `f()`.
pub(crate) fn parameters<'a>(
    scopes: &mut Scopes,
    function: Node<'_>,
    text: &'a str,
    depth: usize,
) -> Option<Vec<(&'a str, Type)>> {
    let list = function.child_by_field_name("parameters").filter(|_| depth <= MAX_DEPTH)?;
    let mut found = Vec::new();
    for child in named_children(list) {
        match child.kind() {
            "parameter_declaration" => {
                let base = base_type(scopes, child, text, depth);
                let declarator = child.child_by_field_name("declarator");
                let named = declarator.and_then(|node| declared(scopes, node, base.clone(), text, depth));
                let described = || ("", described_parameter(base.clone(), declarator));
                found.push(named.unwrap_or_else(described));
            }
            // Its types follow, as C was written before 1989; or there are more than are named.
            "identifier" | "variadic_parameter" => return None,
            _ => {}
        }
    }
    if let [("", Type::Void)] = found.as_slice() {
        found.clear();
        return Some(found);
    }
    (!found.is_empty()).then_some(found)
}

/// A parameter without a name: a pointer if there is any declarator, which is all that an eval asks.
fn described_parameter(base: Type, declarator: Option<Node<'_>>) -> Type {
    if declarator.is_some() { Type::Pointer(Rc::new(base)) } else { base }
}

/// An array whose length its first value says.
fn completed(of: Type, value: Option<Node<'_>>, text: &str) -> Type {
    let (Type::Array(element, None), Some(value)) = (&of, value) else { return of };
    let length = match value.kind() {
        "initializer_list" => {
            let parts = named_children(value);
            let is_plain = parts.iter().all(|part| !matches!(part.kind(), "initializer_pair" | "ERROR"));
            is_plain.then(|| parts.iter().filter(|part| part.kind() != "comment").count() as u64)
        }
        "string_literal" => Some(constant::text_length(text_of(value, text)) + 1),
        _ => None,
    };
    Type::Array(element.clone(), length)
}

/// Whether what is declared lives on behind its block: it is `static`, `extern` or a thread's.
fn is_kept(declaration: Node<'_>, text: &str) -> bool {
    named_children(declaration).iter().any(|child| {
        child.kind() == "storage_class_specifier" && !matches!(text_of(*child, text), "auto" | "register")
    })
}

/// Declares all that a `declaration` or a `type_definition` does.
pub(crate) fn declare(scopes: &mut Scopes, node: Node<'_>, text: &str) {
    let base = base_type(scopes, node, text, 0);
    let is_local = !scopes.is_file() && !is_kept(node, text);
    for declarator in node.children_by_field_name("declarator", &mut node.walk()) {
        let Some((name, of)) = declared(scopes, declarator, base.clone(), text, 0) else { continue };
        let symbol = match node.kind() {
            "type_definition" => Symbol::Typedef(of),
            _ if is_local && !matches!(of, Type::Function(_)) => Symbol::Local(of),
            _ => Symbol::Object(of),
        };
        scopes.declare(name, symbol);
    }
}
