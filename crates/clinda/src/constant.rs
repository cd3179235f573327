//! Constant expressions: lengths of arrays, and what a field says in the program itself.

use crate::declaration::{MAX_DEPTH, named_children, text_of};
use crate::scope::{Scopes, Symbol};
use tree_sitter::Node;

/// The value of an integer constant expression, if it is one that is understood.
pub(crate) fn value(scopes: &Scopes, node: Node<'_>, text: &str) -> Option<i64> {
    evaluate(scopes, node, text, 0)
}

fn evaluate(scopes: &Scopes, node: Node<'_>, text: &str, depth: usize) -> Option<i64> {
    if depth > MAX_DEPTH {
        return None;
    }
    let part = |name: &str| evaluate(scopes, node.child_by_field_name(name)?, text, depth + 1);
    let operator = || Some(text_of(node.child_by_field_name("operator")?, text));
    match node.kind() {
        "number_literal" => integer(text_of(node, text)),
        "identifier" => match scopes.find(text_of(node, text)) {
            Some(Symbol::Constant(value)) => *value,
            _ => None,
        },
        "parenthesized_expression" => evaluate(scopes, *named_children(node).first()?, text, depth + 1),
        "unary_expression" => match operator()? {
            "-" => part("argument")?.checked_neg(),
            "+" => part("argument"),
            _ => None,
        },
        "binary_expression" => arithmetic(operator()?, part("left")?, part("right")?),
        _ => None,
    }
}

fn arithmetic(operator: &str, left: i64, right: i64) -> Option<i64> {
    match operator {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        "<<" => left.checked_mul(1_i64.checked_shl(u32::try_from(right).ok().filter(|bits| *bits < 63)?)?),
        _ => None,
    }
}

/// A number as C writes integers.
fn integer(literal: &str) -> Option<i64> {
    let digits = literal.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.get(..2) {
        Some("0x" | "0X") => i64::from_str_radix(&digits[2..], 16).ok(),
        Some("0b" | "0B") => i64::from_str_radix(&digits[2..], 2).ok(),
        Some(_) if digits.starts_with('0') => i64::from_str_radix(&digits[1..], 8).ok(),
        _ => digits.parse().ok(),
    }
}

/// Bytes of a text between quotes, without the NUL.
pub(crate) fn text_length(literal: &str) -> u64 {
    let mut bytes = literal.trim_matches('"').bytes().peekable();
    let mut length = 0;
    while let Some(byte) = bytes.next() {
        length += 1;
        if byte != b'\\' {
            continue;
        }
        let is_digit: fn(&u8) -> bool = match bytes.next() {
            Some(b'x') => u8::is_ascii_hexdigit,
            Some(b'0'..=b'7') => |byte| matches!(byte, b'0'..=b'7'),
            _ => continue,
        };
        // An octal escape has three digits at most, of which one was read; a hexadecimal one any number.
        let mut most = if is_digit(&b'a') { usize::MAX } else { 2 };
        while most > 0 && bytes.next_if(is_digit).is_some() {
            most -= 1;
        }
    }
    length
}

/// The words of an expression that is a constant in the program itself: a number, a character, or texts. None for others.
pub(crate) fn literal(node: Node<'_>, text: &str) -> Option<String> {
    match node.kind() {
        "number_literal" | "char_literal" | "string_literal" | "true" | "false" => {
            Some(text_of(node, text).to_owned())
        }
        "unary_expression" => {
            let number = node.child_by_field_name("argument")?;
            let sign = text_of(node.child_by_field_name("operator")?, text);
            let is_signed = number.kind() == "number_literal" && sign == "-";
            is_signed.then(|| format!("-{}", text_of(number, text)))
        }
        "concatenated_string" => {
            let parts = named_children(node);
            let are_texts = parts.iter().all(|part| part.kind() == "string_literal");
            let words: Vec<&str> = parts.iter().map(|part| text_of(*part, text)).collect();
            are_texts.then(|| words.join(" "))
        }
        // `#define TASK (1)`
        "parenthesized_expression" => match named_children(node).as_slice() {
            [inner] if inner.kind() != "parenthesized_expression" => literal(*inner, text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_c_writes_them() {
        assert_eq!(integer("42"), Some(42));
        assert_eq!(integer("0x2aUL"), Some(42));
        assert_eq!(integer("052"), Some(42));
        assert_eq!(integer("0"), Some(0));
        assert_eq!(integer("1.5"), None);
    }

    #[test]
    fn escapes_of_texts_are_one_byte() {
        assert_eq!(text_length(r#""abc""#), 3);
        assert_eq!(text_length(r#""\n\\""#), 2);
        assert_eq!(text_length(r#""\x41g\101""#), 3);
        assert_eq!(text_length(r#""\1012""#), 2);
        assert_eq!(text_length("\"\\"), 1);
    }
}
