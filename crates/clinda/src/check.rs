//! One field: whether C-Linda allows it, and what it is.

use crate::constant;
use crate::declaration::{MAX_DEPTH, named_children, text_of};
use crate::expression::{TOO_DEEP, type_of};
use crate::field::{Array, Call, Count, Element, Field};
use crate::operation::{Length, Misuse, Verb, Written};
use crate::scope::{Scopes, Symbol};
use crate::types::{Scalar, Type, is_type_word, of_words};
use std::ops::Range;
use tree_sitter::Node;

/// Arguments of a call in an eval, at most.
const MAX_ARGUMENTS: usize = 16;
/// Dimensions of an array, at most.
const MAX_DIMENSIONS: usize = 7;

/// Checks the fields of operations at one place of the program.
pub(crate) struct Checker<'a, 't> {
    pub(crate) scopes: &'a mut Scopes,
    /// The text that the grammar has read, and a node around the operation.
    pub(crate) text: &'a str,
    pub(crate) around: Node<'t>,
}

fn misuse(at: usize, message: impl Into<String>, hint: &'static str) -> Misuse {
    Misuse { at, message: message.into(), hint }
}

/// What to do about a value whose type is not known.
const UNKNOWN: &str =
    "declare it, or include its header; or assign the value to a variable of a known type first";

impl<'t> Checker<'_, 't> {
    /// The field, of an operation of this verb. `words` are its value as it was written.
    pub(crate) fn field(&mut self, verb: Verb, written: &Written, words: &str) -> Result<Field, Misuse> {
        let at = written.value.start;
        if written.mark.is_some() {
            if verb.is_producer() {
                let message = format!("`{}` has a formal: a tuple in the space has values only", verb.name());
                return Err(misuse(written.range.start, message, "remove the `?`"));
            }
            if let Some(of) = self.named_type(words) {
                return anonymous(&of, written, words);
            }
        }
        let node = self.node(&written.value).ok_or_else(|| {
            let message = format!("`{words}` is no expression");
            misuse(at, message, "a field is a value, ?variable, ?type, or an array with its length, a:n")
        })?;
        let may_be_live = verb == Verb::Eval && written.length == Length::None;
        if may_be_live
            && node.kind() == "call_expression"
            && let Some(call) = self.call(node)?
        {
            return Ok(call);
        }
        if written.length == Length::None && written.mark.is_none() {
            let literal = constant::literal(node, self.text);
            if let Some(words) = literal.filter(|words| words.starts_with('"')) {
                return Ok(Field::Text(words));
            }
        }
        let of = self.type_of(node)?;
        if written.mark.is_some() {
            check_target(node, &of, written, words)?;
        }
        match &written.length {
            Length::None => self.plain(node, &of, written, words),
            length => self.array(&of, length, written, words),
        }
    }

    /// The expression of exactly these bytes.
    fn node(&self, range: &Range<usize>) -> Option<Node<'t>> {
        let mut node = self.around.descendant_for_byte_range(range.start, range.end)?;
        // The smallest node of the range may be a name within an expression of the same range.
        while let Some(parent) = node.parent().filter(|parent| parent.byte_range() == *range) {
            node = parent;
        }
        let is_expression = node.byte_range() == *range
            && !node.has_error()
            && !matches!(node.kind(), "argument_list" | "expression_statement" | "parameter_declaration");
        is_expression.then_some(node)
    }

    fn type_of(&mut self, node: Node<'_>) -> Result<Type, Misuse> {
        type_of(self.scopes, node, self.text).map_err(|why| {
            let hint = if why == TOO_DEEP { "assign a part of it to a variable first" } else { UNKNOWN };
            misuse(node.start_byte(), why, hint)
        })
    }

    /// The type that these words name, if they do.
    fn named_type(&self, words: &str) -> Option<Type> {
        if let Some(Symbol::Typedef(of)) = self.scopes.find(words) {
            return Some(of.clone());
        }
        let first = words.split_whitespace().next()?;
        is_type_word(first)
            .then(|| of_words(words.split_whitespace()).unwrap_or_else(|| Type::Other(words.to_owned())))
    }

    /// A field without a length.
    fn plain(&mut self, node: Node<'_>, of: &Type, written: &Written, words: &str) -> Result<Field, Misuse> {
        let at = written.value.start;
        let is_formal = written.mark.is_some();
        match of.unqualified() {
            Type::Scalar(scalar) if is_formal => Ok(Field::Formal { scalar: *scalar, is_anonymous: false }),
            Type::Scalar(scalar) => {
                Ok(Field::Value { scalar: *scalar, constant: constant::literal(node, self.text) })
            }
            Type::Record(record) => {
                self.check_record(*record, at, words, 0)?;
                let is_place = is_place(node);
                if !is_place {
                    let hint = "assign it to a variable first, and use that";
                    return Err(misuse(at, format!("`{words}` is a struct that no variable holds"), hint));
                }
                Ok(Field::Record { record: self.scopes.records[*record].name.clone(), is_formal })
            }
            Type::Array(_, Some(count)) => {
                let (element, inner) = self.elements(of, at, words)?;
                Ok(Field::Array(Array { element, inner, count: Count::Fixed(*count), is_formal }))
            }
            Type::Array(_, None) => {
                let message = format!("`{words}` is an array whose length is no constant");
                Err(misuse(at, message, "give the number of its elements behind a colon: a:n"))
            }
            other => Err(forbidden(other, at, words)),
        }
    }

    /// A field with a colon.
    fn array(&mut self, of: &Type, length: &Length, written: &Written, words: &str) -> Result<Field, Misuse> {
        let at = written.value.start;
        let is_formal = written.mark.is_some();
        if of.target().is_none() {
            let message = format!("`{words}` has a length and is no array");
            return Err(misuse(at, message, "leave the colon out"));
        }
        let (element, inner) = self.elements(of, at, words)?;
        let declared = match of.unqualified() {
            Type::Array(_, length) => *length,
            _ => None,
        };
        let count = match (length, is_formal) {
            (Length::Of(_, range), true) => Count::Counted { room: declared, count: self.counter(range)? },
            (Length::Of(_, range), false) => {
                self.integer(range)?;
                Count::Given
            }
            (_, true) => Count::Any { room: declared },
            (_, false) => Count::Whole(declared.ok_or_else(|| {
                let message = format!(
                    "`{words}:` stands for a whole declared array, and the length of this one is not known"
                );
                misuse(at, message, "give the number of elements behind the colon: p:n")
            })?),
        };
        Ok(Field::Array(Array { element, inner, count, is_formal }))
    }

    /// What an array or a pointer has for elements, and the lengths of these if they are arrays.
    fn elements(&mut self, of: &Type, at: usize, words: &str) -> Result<(Element, Vec<u64>), Misuse> {
        let mut inner = Vec::new();
        let mut element = of.target().cloned().unwrap_or(Type::Void);
        while let Type::Array(next, length) = element.unqualified().clone() {
            let length = length.filter(|_| inner.len() < MAX_DIMENSIONS).ok_or_else(|| {
                let message = format!("the elements of `{words}` are arrays whose length is no constant");
                misuse(at, message, "use an array of one dimension, or a constant length")
            })?;
            inner.push(length);
            element = (*next).clone();
        }
        match element.unqualified() {
            Type::Scalar(scalar) => Ok((Element::Scalar(*scalar), inner)),
            Type::Record(record) => {
                self.check_record(*record, at, words, 0)?;
                Ok((Element::Record(self.scopes.records[*record].name.clone()), inner))
            }
            Type::Void => {
                let message = format!("`{words}` points to void, which has no elements");
                Err(misuse(at, message, "cast it to what it points to: (char *)p:n"))
            }
            other => Err(forbidden(other, at, words)),
        }
    }

    /// A record travels as it lies in memory: there must be no pointer in it.
    fn check_record(&self, record: usize, at: usize, words: &str, depth: usize) -> Result<(), Misuse> {
        let record = &self.scopes.records[record];
        let Some(members) = &record.members else {
            let message = format!("`{words}` is of `{}`, which is not defined here", record.name);
            return Err(misuse(at, message, "include its definition"));
        };
        for (name, of) in members {
            let mut of = of.unqualified();
            while let Type::Array(element, _) = of {
                of = element.unqualified();
            }
            match of {
                Type::Scalar(_) => {}
                Type::Record(inner) if depth < MAX_DEPTH => {
                    self.check_record(*inner, at, words, depth + 1)?;
                }
                _ => {
                    let message = format!(
                        "`{words}` has the member `{name}`, which is a pointer or of an unknown type: it means nothing elsewhere"
                    );
                    return Err(misuse(at, message, "put what it points to into a field of its own: p:n"));
                }
            }
        }
        Ok(())
    }

    /// The type of the variable that a formal array's length goes to.
    fn counter(&mut self, range: &Range<usize>) -> Result<Scalar, Misuse> {
        let words = &self.text[range.clone()];
        let hint = "name a variable there that is an int or wider, or nothing: ?a:";
        let node = self.node(range).filter(|node| is_place(*node)).ok_or_else(|| {
            misuse(
                range.start,
                format!("the length of a formal array is stored, and `{words}` is no variable"),
                hint,
            )
        })?;
        let of = self.type_of(node)?;
        match of
            .scalar()
            .filter(|scalar| scalar.is_integer() && *scalar != Scalar::Enumeration && !of.is_const())
        {
            Some(scalar) if scalar < Scalar::Int => {
                let message = format!("`{words}` is narrower than an int, and not every length fits");
                Err(misuse(range.start, message, hint))
            }
            Some(scalar) => Ok(scalar),
            None => Err(misuse(range.start, format!("`{words}` is no integer variable"), hint)),
        }
    }

    fn integer(&mut self, range: &Range<usize>) -> Result<(), Misuse> {
        let words = &self.text[range.clone()];
        let hint = "behind the colon stands the number of elements";
        let no_number = || misuse(range.start, format!("the length `{words}` is no integer"), hint);
        let node = self.node(range).ok_or_else(no_number)?;
        let scalar = self.type_of(node)?.scalar();
        scalar.filter(|scalar| scalar.is_integer()).map(drop).ok_or_else(no_number)
    }

    /// A call of a function in an eval; none if it is an operation or of something else.
    fn call(&mut self, node: Node<'_>) -> Result<Option<Field>, Misuse> {
        let Some(function) = node.child_by_field_name("function") else { return Ok(None) };
        let name = text_of(function, self.text).to_owned();
        if function.kind() != "identifier" || Verb::of(&name).is_some() {
            return Ok(None);
        }
        let at = node.start_byte();
        let list = node.child_by_field_name("arguments").map(named_children).unwrap_or_default();
        let values: Vec<Node<'_>> = list.into_iter().filter(|child| child.kind() != "comment").collect();
        if values.len() > MAX_ARGUMENTS {
            let message =
                format!("`{name}` is begun with {} arguments, {MAX_ARGUMENTS} are the most", values.len());
            return Err(misuse(at, message, "put them into a tuple that it takes"));
        }
        let mut arguments = Vec::new();
        for value in values {
            let scalar = self.type_of(value)?.scalar().ok_or_else(|| {
                let message = format!(
                    "`{}` is no scalar: an eval'd function takes scalars only",
                    text_of(value, self.text)
                );
                misuse(value.start_byte(), message, "put it into a tuple that the function takes")
            })?;
            arguments.push(scalar);
        }
        // What it takes and returns is known once the whole file was read.
        Ok(Some(Field::Call(Call { function: name, arguments, result: Scalar::Int })))
    }
}

/// `?int`
fn anonymous(of: &Type, written: &Written, words: &str) -> Result<Field, Misuse> {
    let at = written.value.start;
    match (of.unqualified(), &written.length) {
        (Type::Scalar(scalar), Length::None) => Ok(Field::Formal { scalar: *scalar, is_anonymous: true }),
        (Type::Scalar(_), _) => {
            let message = format!("`?{words}` is a type, and has a length");
            Err(misuse(at, message, "an anonymous formal is a scalar; for an array name one: ?a:"))
        }
        _ => {
            let message = format!("`?{words}` is no scalar type");
            Err(misuse(at, message, "an anonymous formal is a scalar such as ?int or ?double"))
        }
    }
}

/// Whether something can be stored there.
fn is_place(node: Node<'_>) -> bool {
    match node.kind() {
        "identifier" | "subscript_expression" | "field_expression" => true,
        "pointer_expression" => {
            node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "*")
        }
        "parenthesized_expression" => named_children(node).first().is_some_and(|inner| is_place(*inner)),
        _ => false,
    }
}

/// Refuses a formal in which nothing can be stored.
fn check_target(node: Node<'_>, of: &Type, written: &Written, words: &str) -> Result<(), Misuse> {
    let at = written.value.start;
    let elements = of.target().filter(|_| written.length != Length::None);
    if elements.map_or_else(|| of.is_const(), Type::is_const) {
        let message = format!("`?{words}` stores into what is const");
        return Err(misuse(at, message, "name a variable that may be changed, or give the value: no `?`"));
    }
    if !is_place(node) && elements.is_none() {
        let message = format!("`?{words}` stores into what is no variable");
        return Err(misuse(at, message, "name a variable, or a type: ?int"));
    }
    Ok(())
}

/// What cannot be a field.
fn forbidden(of: &Type, at: usize, words: &str) -> Misuse {
    match of {
        Type::Pointer(target) if target.scalar() == Some(Scalar::Char) => {
            let message = format!("`{words}` is a pointer: an address means nothing in another process");
            misuse(at, message, "give the number of characters: s:strlen(s) + 1")
        }
        Type::Pointer(_) => {
            let message = format!("`{words}` is a pointer: an address means nothing in another process");
            misuse(at, message, "give the number of elements: p:n; or the value: *p")
        }
        Type::Function(_) => {
            let message = format!("`{words}` is a function, and not called");
            misuse(at, message, "call it: f(x)")
        }
        Type::Void => misuse(at, format!("`{words}` has no value"), "use a function that returns one"),
        Type::Other(name) if name == "long double" => {
            misuse(at, format!("`{words}` is a long double, which no tuple has"), "convert it to double")
        }
        Type::Other(name) => misuse(at, format!("the type of `{words}` is not known: `{name}`"), UNKNOWN),
        _ => misuse(at, format!("`{words}` can be no field"), UNKNOWN),
    }
}
