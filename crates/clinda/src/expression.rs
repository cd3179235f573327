//! The types of expressions (C17, 6.5), from the nodes of the grammar.

use crate::declaration::{MAX_DEPTH, described, named_children, text_of};
use crate::operation::Verb;
use crate::scope::{Scopes, Symbol};
use crate::types::{Scalar, Type};
use std::rc::Rc;
use tree_sitter::Node;

/// Why the type of an expression with too many parts within each other is not known.
pub(crate) const TOO_DEEP: &str = "the expression is nested too deeply";

/// The type of an expression.
///
/// # Errors
/// It is not known: why.
pub(crate) fn type_of(scopes: &mut Scopes, node: Node<'_>, text: &str) -> Result<Type, String> {
    Typing { scopes, text }.of(node, 0)
}

struct Typing<'a> {
    scopes: &'a mut Scopes,
    text: &'a str,
}

impl Typing<'_> {
    fn of(&mut self, node: Node<'_>, depth: usize) -> Result<Type, String> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP.to_owned());
        }
        let words = text_of(node, self.text);
        let part = |name: &str| {
            node.child_by_field_name(name).ok_or_else(|| format!("`{words}` is no whole expression"))
        };
        match node.kind() {
            "identifier" => self.name(words),
            "number_literal" => Ok(Type::Scalar(number(words))),
            "char_literal" | "true" | "false" => Ok(Type::int()),
            "string_literal" | "concatenated_string" => {
                Ok(Type::Array(Rc::new(Type::Scalar(Scalar::Char)), None))
            }
            "null" => Ok(Type::Pointer(Rc::new(Type::Void))),
            "parenthesized_expression" | "extension_expression" => {
                let inner = named_children(node).into_iter().next_back();
                self.of(inner.ok_or("the parentheses are empty")?, depth + 1)
            }
            "comma_expression" => self.of(part("right")?, depth + 1),
            "assignment_expression" => self.of(part("left")?, depth + 1),
            "update_expression" => self.of(part("argument")?, depth + 1),
            "cast_expression" | "compound_literal_expression" => {
                Ok(described(self.scopes, part("type")?, self.text, 0))
            }
            "sizeof_expression" | "alignof_expression" | "offsetof_expression" => {
                Ok(Type::Scalar(Scalar::UnsignedLong))
            }
            "call_expression" => self.call(part("function")?, depth),
            "subscript_expression" => {
                let of = self.of(part("argument")?, depth + 1)?;
                of.target().cloned().ok_or_else(|| format!("`{words}` indexes what is no array"))
            }
            "pointer_expression" => self.pointer(part("operator")?, part("argument")?, depth),
            "field_expression" => self.member(part("argument")?, part("field")?, depth),
            "unary_expression" => self.unary(part("operator")?, part("argument")?, depth),
            "binary_expression" => self.binary(part("operator")?, part("left")?, part("right")?, depth),
            "conditional_expression" => {
                let one = self.of(part("consequence")?, depth + 1)?;
                let other = self.of(part("alternative")?, depth + 1)?;
                Ok(common(&one, &other))
            }
            _ => Err(format!("the type of `{words}` is not known")),
        }
    }

    fn name(&self, name: &str) -> Result<Type, String> {
        match self.scopes.find(name) {
            Some(Symbol::Object(of) | Symbol::Local(of)) => Ok(of.clone()),
            Some(Symbol::Constant(_)) => Ok(Type::int()),
            Some(Symbol::Typedef(_)) => Err(format!("`{name}` is a type")),
            None => Err(format!("`{name}` is not declared")),
        }
    }

    fn call(&mut self, function: Node<'_>, depth: usize) -> Result<Type, String> {
        let name = text_of(function, self.text);
        if function.kind() == "identifier" && Verb::of(name).is_some() {
            return Ok(Type::int());
        }
        if let Some(scalar) = built_in(name) {
            return Ok(Type::Scalar(scalar));
        }
        let of = self.of(function, depth + 1)?;
        let of = of.target().unwrap_or(&of);
        match of.unqualified() {
            Type::Function(signature) => Ok(signature.result.clone()),
            _ => Err(format!("`{name}` is no function")),
        }
    }

    fn pointer(&mut self, operator: Node<'_>, argument: Node<'_>, depth: usize) -> Result<Type, String> {
        let of = self.of(argument, depth + 1)?;
        match text_of(operator, self.text) {
            "&" => Ok(Type::Pointer(Rc::new(of))),
            _ => of
                .target()
                .cloned()
                .ok_or_else(|| format!("`*{}` follows what is no pointer", text_of(argument, self.text))),
        }
    }

    fn member(&mut self, argument: Node<'_>, field: Node<'_>, depth: usize) -> Result<Type, String> {
        let of = self.of(argument, depth + 1)?;
        let of = of.target().unwrap_or(&of);
        let name = text_of(field, self.text);
        let Type::Record(index) = of.unqualified() else {
            return Err(format!("`{}` is no struct", text_of(argument, self.text)));
        };
        let record = &self.scopes.records[*index];
        let member = record.members.as_ref().and_then(|members| members.get(name));
        let member = member.ok_or_else(|| format!("`{}` has no member `{name}`", record.name))?.clone();
        Ok(if of.is_const() { Type::Const(Rc::new(member)) } else { member })
    }

    fn unary(&mut self, operator: Node<'_>, argument: Node<'_>, depth: usize) -> Result<Type, String> {
        if text_of(operator, self.text) == "!" {
            return Ok(Type::int());
        }
        let of = self.of(argument, depth + 1)?;
        let promoted = of.scalar().map(|scalar| Type::Scalar(scalar.promoted()));
        promoted.ok_or_else(|| format!("`{}` is no number", text_of(argument, self.text)))
    }

    fn binary(
        &mut self,
        operator: Node<'_>,
        left: Node<'_>,
        right: Node<'_>,
        depth: usize,
    ) -> Result<Type, String> {
        let operator = text_of(operator, self.text);
        if matches!(operator, "==" | "!=" | "<" | ">" | "<=" | ">=" | "&&" | "||") {
            return Ok(Type::int());
        }
        let one = self.of(left, depth + 1)?;
        if matches!(operator, "<<" | ">>") {
            let promoted = one.scalar().map(|scalar| Type::Scalar(scalar.promoted()));
            return promoted.ok_or_else(|| format!("`{}` is no number", text_of(left, self.text)));
        }
        let other = self.of(right, depth + 1)?;
        let are_pointers = (one.target().is_some(), other.target().is_some());
        Ok(match are_pointers {
            // The difference of two pointers.
            (true, true) => Type::Scalar(Scalar::Long),
            _ => common(&one, &other),
        })
    }
}

/// The type of what is one or the other, or made of both.
fn common(one: &Type, other: &Type) -> Type {
    match (one.scalar(), other.scalar()) {
        (Some(one), Some(other)) => Type::Scalar(one.common(other)),
        (Some(_), None) => other.decayed(),
        _ => one.decayed(),
    }
}

/// What functions give that no header declares, and that its macros consist of: NAN, INFINITY and HUGE_VAL.
fn built_in(name: &str) -> Option<Scalar> {
    match name {
        "__builtin_nanf" | "__builtin_inff" | "__builtin_huge_valf" => Some(Scalar::Float),
        "__builtin_nan" | "__builtin_inf" | "__builtin_huge_val" => Some(Scalar::Double),
        _ => None,
    }
}

/// The type of a number (C17, 6.4.4).
fn number(literal: &str) -> Scalar {
    let lower = literal.to_ascii_lowercase();
    let is_hexadecimal = lower.starts_with("0x");
    let is_float = lower.contains('.')
        || (!is_hexadecimal && lower.contains('e'))
        || (is_hexadecimal && lower.contains('p'));
    if is_float {
        return if lower.ends_with('f') { Scalar::Float } else { Scalar::Double };
    }
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = &lower[digits.len()..];
    let value = match (is_hexadecimal, digits.get(2..)) {
        (true, Some(rest)) => u64::from_str_radix(rest, 16),
        _ if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    let value = value.unwrap_or(u64::MAX);
    let is_decimal = !is_hexadecimal && (digits == "0" || !digits.starts_with('0'));
    match (suffix.contains('u'), suffix.matches('l').count()) {
        (false, 0) if i32::try_from(value).is_ok() => Scalar::Int,
        (true, 0) if u32::try_from(value).is_ok() => Scalar::UnsignedInt,
        (false, 0) if !is_decimal && u32::try_from(value).is_ok() => Scalar::UnsignedInt,
        (false, 2) if i64::try_from(value).is_ok() => Scalar::LongLong,
        (true, 2) | (false, 2) => Scalar::UnsignedLongLong,
        (false, _) if i64::try_from(value).is_ok() => Scalar::Long,
        _ => Scalar::UnsignedLong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_types_that_c_gives_them() {
        let cases = [
            ("1", Scalar::Int),
            ("1u", Scalar::UnsignedInt),
            ("1L", Scalar::Long),
            ("1ull", Scalar::UnsignedLongLong),
            ("0x7fffffff", Scalar::Int),
            ("0xffffffff", Scalar::UnsignedInt),
            ("2147483648", Scalar::Long),
            ("0xffffffffffffffff", Scalar::UnsignedLong),
            ("1.0", Scalar::Double),
            ("1e3f", Scalar::Float),
            ("0x1f", Scalar::Int),
            ("0", Scalar::Int),
        ];
        for (literal, scalar) in cases {
            assert_eq!(number(literal), scalar, "{literal}");
        }
    }
}
