//! Fields as the text writes them, `("row", 3, ?f64[?,2])`, and as they travel to a driver, `text:726f77,i64:3,?f64:?x2`.
//!
//! A field here may be one that no front end takes, a text that is not UTF-8 say: bad input is part of the suite. So these are not the
//! values of the interface, and two are the same if they travel alike.

use crate::lexer::{Fault, Lexer};
use core::fmt;

/// The scalar types, which are also those of an array's elements, with the bytes of one.
pub const SCALARS: [(&str, usize); 11] = [
    ("bool", 1),
    ("i8", 1),
    ("i16", 2),
    ("i32", 4),
    ("i64", 8),
    ("u8", 1),
    ("u16", 2),
    ("u32", 4),
    ("u64", 8),
    ("f32", 4),
    ("f64", 8),
];

/// What an end of a range may be.
const ENDS: [&str; 5] = ["from", "above", "to", "below", "prefix"];

/// One field of a tuple or a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// A scalar: its type, and its bytes, little-endian.
    Scalar(&'static str, Vec<u8>),
    /// Text, as its bytes.
    Text(Vec<u8>),
    /// Bytes.
    Binary(Vec<u8>),
    /// An array: the type of its elements, its shape, and its elements, little-endian in C order.
    Array(&'static str, Vec<u64>, Vec<u8>),
    /// Any value of a type that is no array: a scalar's, `text` or `binary`.
    Formal(String),
    /// Any array of that element type whose dimensions are these; none: any length.
    FormalArray(&'static str, Vec<Option<u64>>),
    /// A range: what each end is, `from`, `above`, `to` or `below`, or `prefix`, and its value.
    Range(Vec<(&'static str, Field)>),
    /// A field of which a listing shows the beginning only, because it is too long.
    Cut,
}

/// The fields of a tuple or of a template, in order; there may be none, which no front end takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fields(pub Vec<Field>);

impl Fields {
    /// Reads `("row", 3)`.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(lexer: &mut Lexer<'_>) -> Result<Fields, Fault> {
        lexer.expect("(")?;
        Fields::parse_rest(lexer)
    }

    /// As [`Fields::parse`], behind the bracket.
    ///
    /// # Errors
    /// As [`Fields::parse`].
    pub fn parse_rest(lexer: &mut Lexer<'_>) -> Result<Fields, Fault> {
        let mut fields = Vec::new();
        while !lexer.accept(")") {
            if !fields.is_empty() {
                lexer.expect(",")?;
            }
            fields.extend(Field::parse(lexer)?);
        }
        Ok(Fields(fields))
    }

    /// The types of the fields, of arrays without their shapes: what has others is of another kind.
    #[must_use]
    pub fn types(&self) -> Vec<String> {
        self.0.iter().map(Field::type_name).collect()
    }

    /// As it travels.
    #[must_use]
    pub fn to_token(&self) -> String {
        if self.0.is_empty() {
            return "()".to_owned();
        }
        let fields: Vec<String> = self.0.iter().map(Field::to_token).collect();
        fields.join(",")
    }

    /// From what travelled.
    ///
    /// # Errors
    /// What is no field.
    pub fn from_token(token: &str) -> Result<Fields, String> {
        if token == "()" {
            return Ok(Fields(Vec::new()));
        }
        token.split(',').map(Field::from_token).collect::<Result<_, _>>().map(Fields)
    }
}

impl Field {
    /// Its type, of an array without its shape; that of the values at its ends, of a range.
    fn type_name(&self) -> String {
        match self {
            Field::Scalar(name, _) => (*name).to_owned(),
            Field::Text(_) => "text".to_owned(),
            Field::Binary(_) => "binary".to_owned(),
            Field::Array(element, shape, _) => format!("{element} {}", shape.len()),
            Field::FormalArray(element, dimensions) => format!("{element} {}", dimensions.len()),
            Field::Formal(name) => name.clone(),
            Field::Range(ends) => ends.iter().map(|(_, end)| end.type_name()).take(1).collect(),
            Field::Cut => "cut".to_owned(),
        }
    }

    /// One field, or several equal ones: `7 times 61`.
    fn parse(lexer: &mut Lexer<'_>) -> Result<Vec<Field>, Fault> {
        let field = match () {
            () if lexer.accept("?") => Field::parse_formal(lexer)?,
            () if ENDS.contains(&lexer.peek()) => Field::parse_range(lexer)?,
            () => Field::parse_actual(lexer)?,
        };
        let times = if lexer.accept_word("times") { lexer.number()? } else { 1 };
        Ok(vec![field; times as usize])
    }

    fn parse_formal(lexer: &mut Lexer<'_>) -> Result<Field, Fault> {
        let name = lexer.word()?;
        let Some((element, _)) = scalar(name) else {
            return if name == "text" || name == "binary" {
                Ok(Field::Formal(name.to_owned()))
            } else {
                Err(lexer.fault(format!("{name} is no type")))
            };
        };
        if !lexer.accept("[") {
            return Ok(Field::Formal(element.to_owned()));
        }
        let mut dimensions = Vec::new();
        while !lexer.accept("]") {
            if !dimensions.is_empty() {
                lexer.expect(",")?;
            }
            let size = if lexer.accept("?") { None } else { Some(lexer.number()?) };
            let times = if lexer.accept_word("times") { lexer.number()? } else { 1 };
            dimensions.extend((0..times).map(|_| size));
        }
        Ok(Field::FormalArray(element, dimensions))
    }

    fn parse_actual(lexer: &mut Lexer<'_>) -> Result<Field, Fault> {
        if let Some(text) = lexer.string()? {
            return Ok(Field::Text(text));
        }
        let word = lexer.value_word()?;
        match word {
            "cut" => Ok(Field::Cut),
            "true" | "false" => Ok(Field::Scalar("bool", vec![u8::from(word == "true")])),
            "text" => Ok(Field::Text(pattern(lexer)?.iter().map(|byte| b'a' + byte % 26).collect())),
            "binary" => match lexer.string()? {
                Some(bytes) => Ok(Field::Binary(bytes)),
                None => pattern(lexer).map(Field::Binary),
            },
            name => match scalar(name) {
                Some((element, width)) => parse_array(lexer, element, width),
                None => parse_number(word).map_err(|text| lexer.fault(text)),
            },
        }
    }

    /// `from 3`, `above 3 to 7`, `prefix "a"`.
    fn parse_range(lexer: &mut Lexer<'_>) -> Result<Field, Fault> {
        let mut ends = Vec::new();
        while let Some(end) = ENDS.into_iter().find(|end| lexer.accept_word(end)) {
            ends.push((end, Field::parse_actual(lexer)?));
        }
        Ok(Field::Range(ends))
    }

    fn to_token(&self) -> String {
        match self {
            Field::Range(ends) => {
                let ends: Vec<String> =
                    ends.iter().map(|(end, value)| format!("~{end}~{}", value.to_token())).collect();
                ends.concat()
            }
            Field::Scalar(name, bytes) => format!("{name}:{}", hex(bytes)),
            Field::Text(bytes) => format!("text:{}", hex(bytes)),
            Field::Binary(bytes) => format!("binary:{}", hex(bytes)),
            Field::Array(element, shape, data) => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                format!("array:{element}:{}:{}", shape.join("x"), hex(data))
            }
            Field::Formal(name) => format!("?{name}"),
            Field::FormalArray(element, dimensions) => {
                let size = |size: &Option<u64>| size.map_or("?".to_owned(), |size| size.to_string());
                let dimensions: Vec<String> = dimensions.iter().map(size).collect();
                format!("?array:{element}:{}", dimensions.join("x"))
            }
            Field::Cut => "cut".to_owned(),
        }
    }

    fn from_token(token: &str) -> Result<Field, String> {
        let none = || format!("{token} is no field");
        if let Some(range) = token.strip_prefix('~') {
            let parts: Vec<&str> = range.split('~').collect();
            let end = |pair: &[&str]| {
                let end = ENDS.into_iter().find(|end| *end == pair[0]).ok_or_else(none)?;
                Ok((end, Field::from_token(pair.get(1).ok_or_else(none)?)?))
            };
            return parts.chunks(2).map(end).collect::<Result<_, String>>().map(Field::Range);
        }
        let mut parts = token.split(':');
        let mut part = || parts.next().ok_or_else(none);
        let name = part()?;
        Ok(match name {
            "text" => Field::Text(bytes(part()?).ok_or_else(none)?),
            "binary" => Field::Binary(bytes(part()?).ok_or_else(none)?),
            "cut" => Field::Cut,
            "array" => {
                let (element, _) = scalar(part()?).ok_or_else(none)?;
                let sizes = part()?.split('x').filter(|size| !size.is_empty());
                let shape = sizes.map(str::parse).collect::<Result<_, _>>().map_err(|_| none())?;
                Field::Array(element, shape, bytes(part()?).ok_or_else(none)?)
            }
            "?array" => {
                let (element, _) = scalar(part()?).ok_or_else(none)?;
                let sizes = part()?.split('x').filter(|size| !size.is_empty());
                let sizes = sizes.map(|size| if size == "?" { Ok(None) } else { size.parse().map(Some) });
                Field::FormalArray(element, sizes.collect::<Result<_, _>>().map_err(|_| none())?)
            }
            formal if formal.starts_with('?') => Field::Formal(formal[1..].to_owned()),
            name => {
                let (name, width) = scalar(name).ok_or_else(none)?;
                let value = bytes(part()?).filter(|value| value.len() == width);
                Field::Scalar(name, value.ok_or_else(none)?)
            }
        })
    }
}

/// The scalar type of that name.
#[must_use]
pub fn scalar(name: &str) -> Option<(&'static str, usize)> {
    SCALARS.into_iter().find(|(scalar, _)| *scalar == name)
}

/// `(1000)`: so many bytes, each other than its neighbours.
fn pattern(lexer: &mut Lexer<'_>) -> Result<Vec<u8>, Fault> {
    lexer.expect("(")?;
    let length = lexer.number()?;
    lexer.expect(")")?;
    Ok((0..length).map(|index| (index % 251) as u8).collect())
}

/// `f64[2,2] 1 2 3 4`, or `f64[1000] counting`, whose elements are 0, 1, 2 and so on.
fn parse_array(lexer: &mut Lexer<'_>, element: &'static str, width: usize) -> Result<Field, Fault> {
    lexer.expect("[")?;
    let mut shape = Vec::new();
    while !lexer.accept("]") {
        if !shape.is_empty() {
            lexer.expect(",")?;
        }
        shape.push(lexer.number()?);
    }
    let count = shape.iter().product::<u64>();
    let mut data = Vec::with_capacity(count as usize * width);
    let counting = lexer.accept_word("counting");
    for index in 0..count {
        let number = if counting { index.to_string() } else { lexer.value_word()?.to_owned() };
        let element = encode(element, &number);
        data.extend(element.ok_or_else(|| lexer.fault(format!("{number} is no such element")))?);
    }
    Ok(Field::Array(element, shape, data))
}

/// `3` is an i64, `2.5` an f64; `3u8` and `2.5f32` say what they are, `f64:7ff8000000000001` has these bits.
fn parse_number(word: &str) -> Result<Field, String> {
    let fault = || format!("{word} is no value");
    if let Some((name, bits)) = word.split_once(':') {
        let (name, width) = scalar(name).ok_or_else(fault)?;
        let mut value = bytes(bits).filter(|value| value.len() == width).ok_or_else(fault)?;
        value.reverse();
        return Ok(Field::Scalar(name, value));
    }
    let suffix = SCALARS.into_iter().find(|(name, _)| word.ends_with(name));
    let is_float = word.contains(['.', 'n']);
    let (name, number) = match suffix {
        Some((name, _)) => (name, &word[..word.len() - name.len()]),
        None => (if is_float { "f64" } else { "i64" }, word),
    };
    encode(name, number).map(|value| Field::Scalar(name, value)).ok_or_else(fault)
}

/// A number of that type, little-endian.
fn encode(name: &str, number: &str) -> Option<Vec<u8>> {
    macro_rules! encoded {
        ($($name:literal: $native:ty),*) => {
            match name {
                "bool" => number.parse::<u8>().ok().map(|bit| vec![bit]),
                $($name => number.parse::<$native>().ok().map(|number| number.to_le_bytes().to_vec()),)*
                _ => None,
            }
        };
    }
    encoded!("i8": i8, "i16": i16, "i32": i32, "i64": i64, "u8": u8, "u16": u16, "u32": u32, "u64": u64, "f32": f32, "f64": f64)
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Bytes from hexadecimal digits.
#[must_use]
pub fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair.first()?)? * 16 + digit(pair.get(1)?)?) as u8)).collect()
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<String> = self.0.iter().map(Field::to_string).collect();
        write!(f, "({})", fields.join(", "))
    }
}

impl fmt::Display for Field {
    /// Shortened: for who reads why a step failed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 32;
        match self {
            Field::Text(text) if text.len() <= SHOWN => write!(f, "{:?}", String::from_utf8_lossy(text)),
            Field::Scalar(name, value) if name.starts_with(['i', 'u']) => {
                let is_negative = name.starts_with('i') && value.last().is_some_and(|byte| *byte > 127);
                let mut wide = [if is_negative { 255 } else { 0 }; 16];
                wide[..value.len()].copy_from_slice(value);
                write!(f, "{}{name}", i128::from_le_bytes(wide))
            }
            other => {
                let token = other.to_token();
                match token.get(..2 * SHOWN) {
                    Some(start) => write!(f, "{start}... of {} characters", token.len()),
                    None => f.write_str(&token),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        Fields::parse(&mut Lexer::new(text)).expect(text).to_token()
    }

    #[test]
    fn fields_travel_as_their_bytes() {
        for (text, token) in [
            (r#"("é\0", 1, -2i8, 65535u16)"#, "text:c3a900,i64:0100000000000000,i8:fe,u16:ffff"),
            ("(true, -0.0, 2.5f32)", "bool:01,f64:0000000000000080,f32:00002040"),
            ("(f64:7ff8000000000001)", "f64:010000000000f87f"),
            (r#"(binary "\xff", binary(3), text(2))"#, "binary:ff,binary:000102,text:6162"),
            (
                "(i16[2,2] 1 2 3 4, u8[0,3], bool[] 1)",
                "array:i16:2x2:0100020003000400,array:u8:0x3:,array:bool::01",
            ),
            ("(?i64, ?text, ?f64[?,3], ?u8[])", "?i64,?text,?array:f64:?x3,?array:u8:"),
            ("(7u8 times 3)", "u8:07,u8:07,u8:07"),
            ("()", "()"),
        ] {
            assert_eq!(parsed(text), token, "{text}");
            assert_eq!(Fields::from_token(token).expect(token).to_token(), token);
        }
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for text in ["(", "(1", "(1 2)", "(300u8)", "(?row)", "(f64[2] 1)", "(\"a)", "(f32:00)", "(1.5i64)"] {
            assert!(Fields::parse(&mut Lexer::new(text)).is_err(), "{text}");
        }
        for token in ["i64:00", "row:1", "text:f", "array:f64:2:zz", "?array:text:2"] {
            assert!(Fields::from_token(token).is_err(), "{token}");
        }
    }
}
