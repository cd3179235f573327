//! Templates as a person writes them: `"task", ?int, 0.5`.
//!
//! ```text
//! template  [(] field {, field} [, ...] [)]      ...: any further fields
//! field     value | ?type | range
//! value     "text" with \" \\ \n \t, or 'text' | true | false | 42 | 42u8 | 0.5 | 0.5f32
//! type      int (i64) float (f64) str (text) bytes (binary) bool, i8 i16 i32 i64 u8 u16 u32 u64 f32 f64,
//!           or one of these with dimensions: f64[3,?]
//! range     value..value (the last is not in it) | value..=value | value.. | ..value | ..=value, of numbers or text
//!           "text"...: all text that begins so
//! ```

use core::fmt;
use core::ops::Bound;
use quintet::{ElementType, Field, Template, Type, Value, ValueRange};

/// A template that was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pattern {
    pub(crate) fields: Vec<Field>,
    /// Whether any further fields may follow.
    pub(crate) is_open: bool,
}

/// What is wrong, and in which column, counted from 1.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct BadTemplate {
    text: String,
    column: usize,
    why: String,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

type Read<T> = Result<T, (usize, String)>;

/// Reads a template.
///
/// # Errors
/// What is wrong, and where.
pub(crate) fn parse(text: &str) -> Result<Pattern, BadTemplate> {
    let mut reader = Reader { text, at: 0 };
    reader.pattern().map_err(|(at, why)| {
        let column = text[..at].chars().count() + 1;
        BadTemplate { text: text.to_owned(), column, why }
    })
}

impl Pattern {
    /// The fields of a template for tuples with these types; none if such tuples cannot match.
    pub(crate) fn for_types(&self, types: &[Type]) -> Option<Vec<Field>> {
        let fits =
            if self.is_open { types.len() >= self.fields.len() } else { types.len() == self.fields.len() };
        let agrees = |(field, other): (&Field, &Type)| match (field, other) {
            (Field::Actual(value), other) => other.accepts(value),
            (
                Field::Formal(Type::Array { element, dimensions }),
                Type::Array { element: e, dimensions: d },
            ) => element == e && dimensions.len() == d.len(),
            (Field::Formal(wanted), other) => wanted == other,
            (Field::Range(range), other) => range.value_type() == *other,
        };
        if !fits || !self.fields.iter().zip(types).all(agrees) {
            return None;
        }
        let rest = types[self.fields.len()..].iter().cloned().map(Field::Formal);
        Some(self.fields.iter().cloned().chain(rest).collect())
    }
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether that stands here; then it is behind it.
    fn has(&mut self, mark: &str) -> bool {
        self.skip();
        let is_here = self.rest().starts_with(mark);
        self.at += if is_here { mark.len() } else { 0 };
        is_here
    }

    fn fail<T>(&self, why: impl Into<String>) -> Read<T> {
        Err((self.at, why.into()))
    }

    fn pattern(&mut self) -> Read<Pattern> {
        let in_brackets = self.has("(");
        let mut pattern = Pattern { fields: Vec::new(), is_open: false };
        loop {
            if self.has("...") {
                pattern.is_open = true;
                break;
            }
            pattern.fields.push(self.field()?);
            // A comma may stand behind the last field of a list in brackets.
            let has_more = self.has(",") && !(in_brackets && self.peek() == Some(')'));
            if !has_more {
                break;
            }
        }
        if in_brackets && !self.has(")") {
            return self.fail("expected a comma or the closing bracket");
        }
        self.skip();
        if !self.rest().is_empty() {
            return self.fail("expected a comma before the next field, or the end");
        }
        Ok(pattern)
    }

    fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    fn field(&mut self) -> Read<Field> {
        match self.peek() {
            Some('?') => {
                self.at += 1;
                self.formal().map(Field::Formal)
            }
            Some(_) => self.value_or_range(),
            None => self.fail("expected a field: a value such as \"task\" or 42, or a type such as ?int"),
        }
    }

    fn value_or_range(&mut self) -> Read<Field> {
        let at = self.at;
        let from = if self.rest().starts_with("..") { None } else { Some(self.value()?) };
        let range = match from {
            Some(Value::Text(prefix)) if self.has("...") => ValueRange::Prefix(prefix.into()),
            from if self.has("..=") => ValueRange::Between(included(from), Bound::Included(self.value()?)),
            from if self.has("..") => ValueRange::Between(included(from), self.end()?),
            from => return Ok(Field::Actual(from.expect("without a value there are two points"))),
        };
        let field = Field::Range(range);
        match Template::new(vec![field.clone()]) {
            Ok(_) => Ok(field),
            Err(error) => Err((at, error.to_string())),
        }
    }

    /// The end of a range, which is not in it, if it has one.
    fn end(&mut self) -> Read<Bound<Value>> {
        match self.peek() {
            None | Some(',' | ')') => Ok(Bound::Unbounded),
            Some(_) => self.value().map(Bound::Excluded),
        }
    }

    fn value(&mut self) -> Read<Value> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote).map(Value::from),
            _ => self.word(),
        }
    }

    /// Letters, digits and what numbers are written with, up to two points.
    fn token(&mut self) -> String {
        let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.' | '+' | '-');
        let end = self.rest().find(|sign| !is_part(sign)).unwrap_or(self.rest().len());
        let end = self.rest()[..end].find("..").unwrap_or(end);
        let token = self.rest()[..end].to_owned();
        self.at += end;
        token
    }

    fn formal(&mut self) -> Read<Type> {
        let from = self.at;
        let name = self.token();
        let scalar = |name: &str| ElementType::ALL.iter().copied().find(|element| element.name() == name);
        let element = match &name[..] {
            "str" | "text" => return Ok(Type::Text),
            "bytes" | "binary" => return Ok(Type::Binary),
            "int" => Some(ElementType::I64),
            "float" => Some(ElementType::F64),
            name => scalar(name),
        };
        let Some(element) = element else {
            let why =
                format!("{name:?} is no type: expected int, float, str, bytes, bool, i32, u8[?] or the like");
            return Err((from, why));
        };
        if self.rest().starts_with('[') { self.dimensions(element) } else { Ok(Type::Scalar(element)) }
    }

    fn dimensions(&mut self, element: ElementType) -> Read<Type> {
        self.at += 1;
        let mut dimensions = Vec::new();
        while !self.has("]") {
            if !dimensions.is_empty() && !self.has(",") {
                return self.fail("expected a comma or ] between dimensions");
            }
            self.skip();
            if self.has("?") {
                dimensions.push(None);
                continue;
            }
            let from = self.at;
            let size = self.token();
            let size = size.parse().map_err(|_| (from, "expected a dimension: a number or ?".to_owned()))?;
            dimensions.push(Some(size));
        }
        Ok(Type::Array { element, dimensions })
    }

    fn quoted(&mut self, quote: char) -> Read<String> {
        let from = self.at;
        let mut text = String::new();
        let mut signs = self.rest()[1..].char_indices();
        while let Some((place, sign)) = signs.next() {
            match sign {
                sign if sign == quote => {
                    self.at = from + 1 + place + 1;
                    return Ok(text);
                }
                '\\' => match signs.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, same @ ('"' | '\'' | '\\'))) => text.push(same),
                    _ => return Err((from + 1 + place, "expected \\n, \\t, \\\", \\' or \\\\".to_owned())),
                },
                sign => text.push(sign),
            }
        }
        Err((from, format!("the text has no closing {quote}")))
    }

    fn word(&mut self) -> Read<Value> {
        let from = self.at;
        let token = self.token();
        let wrong = |why: String| Err((from, why));
        match &token[..] {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "" => {
                return wrong(
                    "expected a field: a value such as \"task\" or 42, or a type such as ?int".to_owned(),
                );
            }
            _ => {}
        }
        let is_number =
            token.starts_with(|sign: char| sign.is_ascii_digit() || matches!(sign, '-' | '+' | '.'));
        if !is_number {
            return wrong(format!("text stands in quotes: \"{token}\"; a type has a ? in front: ?{token}"));
        }
        let suffix = token.find(['i', 'u', 'f']).unwrap_or(token.len());
        let (digits, suffix) = token.split_at(suffix);
        let digits = digits.replace('_', "");
        let is_float = digits.contains(['.', 'e', 'E']);
        let value = match suffix {
            "" if is_float => digits.parse().map(Value::F64).ok(),
            "" | "i64" => digits.parse().map(Value::I64).ok(),
            "i8" => digits.parse().map(Value::I8).ok(),
            "i16" => digits.parse().map(Value::I16).ok(),
            "i32" => digits.parse().map(Value::I32).ok(),
            "u8" => digits.parse().map(Value::U8).ok(),
            "u16" => digits.parse().map(Value::U16).ok(),
            "u32" => digits.parse().map(Value::U32).ok(),
            "u64" => digits.parse().map(Value::U64).ok(),
            "f32" => digits.parse().map(Value::F32).ok(),
            "f64" => digits.parse().map(Value::F64).ok(),
            other => {
                return Err((
                    from + digits.len(),
                    format!("{other:?} is no type of a number: i8 to u64, f32, f64"),
                ));
            }
        };
        value.map_or_else(|| wrong(format!("{token:?} is no number of its type")), Ok)
    }
}

fn included(from: Option<Value>) -> Bound<Value> {
    from.map_or(Bound::Unbounded, Bound::Included)
}

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadTemplate { text, column, why } = self;
        write!(f, "column {column}: {why}\n  {text}\n  {}^", " ".repeat(column - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet::template;

    fn closed(text: &str) -> String {
        let pattern = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert!(!pattern.is_open, "{text}");
        Template::new(pattern.fields).unwrap().to_string()
    }

    #[test]
    fn what_a_person_writes_is_a_template() {
        for (text, expected) in [
            ("\"task\", ?int", "(\"task\", ?i64)"),
            ("('it''s', ?str)", ""),
            ("(\"a\\\"b\", 'c d', true, ?bytes,)", "(\"a\\\"b\", \"c d\", true, ?binary)"),
            ("-3, 4u8, 1_000i32, 0.5, 2f32, 1e3", "(-3, 4, 1000, 0.5, 2.0, 1000.0)"),
            ("?f64[3,?], ?u8[?], ?float, ?bool", "(?f64[3,?], ?u8[?], ?f64, ?bool)"),
        ] {
            match expected {
                "" => assert!(parse(text).is_err(), "{text}"),
                expected => assert_eq!(closed(text), expected),
            }
        }
        let pattern = parse("4u8, 2f32").unwrap();
        assert_eq!(Template::new(pattern.fields).unwrap(), template![4u8, 2f32]);
    }

    #[test]
    fn any_further_fields_take_the_types_of_the_tuples_that_are_there() {
        let pattern = parse("\"task\", ?int, ...").unwrap();
        let types = |text: &str| {
            parse(text)
                .unwrap()
                .fields
                .into_iter()
                .map(|field| match field {
                    Field::Formal(wanted) => wanted,
                    Field::Actual(value) => value.value_type(),
                    Field::Range(range) => range.value_type(),
                })
                .collect::<Vec<_>>()
        };
        let fits =
            |text| pattern.for_types(&types(text)).map(|fields| Template::new(fields).unwrap().to_string());
        assert_eq!(fits("?str, ?int, ?f64[?]"), Some("(\"task\", ?i64, ?f64[?])".to_owned()));
        assert_eq!(fits("?str, ?int"), Some("(\"task\", ?i64)".to_owned()));
        assert_eq!((fits("?str, ?bytes, ?int"), fits("?str"), fits("?int, ?int")), (None, None, None));
        assert_eq!(parse("...").unwrap().for_types(&types("?str")).map(|fields| fields.len()), Some(1));
    }

    #[test]
    fn ranges_are_written_as_in_rust_and_prefixes_with_three_points() {
        for text in
            ["3..7", "3..=7", "3..", "..7", "..=-0.5", "1.5..2.5", "\"a\"..\"c\"", "\"se\"...", "3.., \"x\""]
        {
            assert_eq!(closed(text), format!("({text})"));
        }
        assert_eq!(closed("( 'a' .. 'b' , 3 ..= 4 )"), "(\"a\"..\"b\", 3..=4)");
        let typed = parse("3u8..").unwrap();
        assert_eq!(Template::new(typed.fields).unwrap(), template![Field::range(3u8..)]);
        let pattern = parse("\"a\"..., 1.., ...").unwrap();
        assert!(pattern.is_open && pattern.fields.len() == 2);
        let types = [Type::Text, Type::Scalar(ElementType::I64), Type::Text];
        assert_eq!(pattern.for_types(&types).map(|fields| fields.len()), Some(3));
        assert_eq!(pattern.for_types(&types[1..]), None);
    }

    #[test]
    fn a_mistake_is_shown_where_it_is() {
        for (text, column, why) in [
            ("\"task\", ?number", 10, "no type"),
            ("\"täsk\" 3", 8, "comma"),
            ("task", 1, "quotes"),
            ("\"open", 1, "closing"),
            ("1, , 2", 4, "field"),
            ("", 1, "field"),
            ("300u8", 1, "number of its type"),
            ("3x", 1, "number"),
            ("7i7", 2, "type of a number"),
            ("(1, 2", 6, "bracket"),
            ("?f64[3;", 7, "comma"),
            ("?f64[x]", 6, "dimension"),
            ("\"a\\q\"", 3, "expected"),
            ("1, ..., 2", 7, "end"),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!((error.column, error.why.contains(why)), (column, true), "{error}");
        }
    }
}
