//! The driver of the C-Linda front end, as its program: a case for each operation of the text that the language has words for.
//!
//! In C-Linda a template stands in the source, so that a program cannot make an operation of a line, as other drivers do. Which clients of
//! a behaviour it can play follows from the text alone; the others are played by another front end, in the same space.

use crate::behaviour::{Action, Behaviour, Operation, Outcome};
use crate::field::{Field, Fields, scalar};
use core::fmt::Write;
use std::collections::{BTreeMap, BTreeSet};

/// Operations of the text, and their words in C-Linda.
const WORDS: [(&str, &str); 5] =
    [("out", "out"), ("take", "in"), ("read", "rd"), ("take_if", "inp"), ("read_if", "rdp")];

/// Fields of a tuple in C-Linda.
const MOST_FIELDS: usize = 16;

/// Dimensions of an array in C-Linda.
const MOST_DIMENSIONS: usize = 8;

/// Bytes of one value in the source: compilers need take no longer text.
const MOST_BYTES: usize = 4095;

/// Bytes for which the program has room where the length of an array is free.
const ROOM: u64 = 4096;

/// Names of the scalar types in C.
const TYPES: [(&str, &str); 11] = [
    ("bool", "_Bool"),
    ("i8", "int8_t"),
    ("i16", "int16_t"),
    ("i32", "int32_t"),
    ("i64", "int64_t"),
    ("u8", "uint8_t"),
    ("u16", "uint16_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("f32", "float"),
    ("f64", "double"),
];

/// The clients of a behaviour of which C-Linda can say all that they do.
///
/// # Errors
/// It can say it of none; of the first: what it has no word for.
pub fn clients(behaviour: &Behaviour) -> Result<BTreeSet<char>, String> {
    let mut speaks: BTreeMap<char, Result<(), String>> = BTreeMap::new();
    let mut waits: BTreeMap<&str, char> = BTreeMap::new();
    for step in &behaviour.steps {
        let (client, said) = match &step.action {
            Action::Does { client, name, operation, expected, .. } => {
                let is_alone = !waits.values().any(|waiting| waiting == client);
                if expected.contains(&Outcome::Waits) {
                    waits.insert(name.as_deref().unwrap_or_default(), *client);
                }
                (client, says(operation, expected).and_then(|_| alone(is_alone)))
            }
            Action::Closes(client) => (client, alone(!waits.values().any(|waiting| waiting == client))),
            Action::Comes { name, .. } => {
                waits.remove(&**name);
                continue;
            }
            Action::StillWaits(_) | Action::Dies(_) => continue,
        };
        let all = speaks.entry(*client).or_insert(Ok(()));
        if all.is_ok() {
            *all = said;
        }
    }
    let able: BTreeSet<char> =
        speaks.iter().filter(|(_, said)| said.is_ok()).map(|(client, _)| *client).collect();
    match speaks.into_values().find_map(Result::err) {
        Some(reason) if able.is_empty() => Err(reason),
        _ => Ok(able),
    }
}

/// The program, in C-Linda: each operation of these behaviours that it can say is a case.
#[must_use]
pub fn program(behaviours: &[Behaviour]) -> String {
    let mut cases: BTreeMap<String, String> = BTreeMap::new();
    for behaviour in behaviours {
        for step in &behaviour.steps {
            let Action::Does { operation, expected, .. } = &step.action else { continue };
            if let Ok(body) = says(operation, expected) {
                cases.insert(format!("{} {}", operation.verb, operation.fields[0].to_token()), body);
            }
        }
    }
    let mut text =
        "/* Written from the behaviours of the conformance suite. */\n\n#include \"clinda_driver.h\"\n"
            .to_owned();
    for (number, body) in cases.values().enumerate() {
        text.push_str(&format!("\nstatic void case_{number}(void)\n{{\n{body}}}\n"));
    }
    text.push_str("\nstatic const operation OPERATIONS[] = {\n");
    for (number, line) in cases.keys().enumerate() {
        text.push_str(&format!("    {{\"{line}\", case_{number}}},\n"));
    }
    text.push_str("};\n\nint real_main(void)\n{\n    return drive(OPERATIONS, sizeof OPERATIONS / sizeof OPERATIONS[0]);\n}\n");
    text
}

fn no_word(what: &str) -> String {
    format!("C-Linda has no word for it: {what}")
}

fn alone(is_alone: bool) -> Result<(), String> {
    if is_alone { Ok(()) } else { Err("a process in C-Linda does nothing else while it waits".to_owned()) }
}

/// The statements of an operation.
fn says(operation: &Operation, expected: &[Outcome]) -> Result<String, String> {
    let Some((_, word)) = WORDS.iter().find(|(verb, _)| *verb == operation.verb) else {
        return Err(no_word(&operation.verb));
    };
    if operation.within_ms.is_some() {
        return Err(no_word("a deadline"));
    }
    if expected.iter().any(|outcome| matches!(outcome, Outcome::Error(_))) {
        return Err("an operation in C-Linda that fails ends the program".to_owned());
    }
    let Fields(fields) = &operation.fields[0];
    if fields.is_empty() || fields.len() > MOST_FIELDS {
        return Err(format!("a tuple in C-Linda has 1 to {MOST_FIELDS} fields"));
    }
    let written = fields.iter().enumerate().map(|(at, field)| Written::new(at, field));
    let written = written.collect::<Result<Vec<_>, _>>()?;
    let argument: Vec<&str> = written.iter().map(|field| &*field.argument).collect();
    let call = format!("{word}({})", argument.join(", "));
    let mut body: String = written.iter().map(|field| &*field.declared).collect();
    if *word == "out" {
        let _ = write!(body, "    {call};\n    say(\"done\");\n");
        return Ok(body);
    }
    let found: Vec<&str> = written.iter().map(|field| &*field.found).collect();
    let found = found.join("        say(\",\");\n");
    let _ = write!(
        body,
        "    if ({call}) {{\n        say(\"tuple \");\n{found}    }} else {{\n        say(\"nothing\");\n    }}\n"
    );
    Ok(body)
}

/// A field of an operation, in C-Linda.
struct Written {
    /// What stands before the operation.
    declared: String,
    /// What stands in it.
    argument: String,
    /// What says the field of the tuple that was found.
    found: String,
}

impl Written {
    fn new(at: usize, field: &Field) -> Result<Written, String> {
        match field {
            Field::Scalar(name, bytes) => Ok(Written::value(at, name, "", bytes, String::new(), field)),
            Field::Text(text) => Written::text(text, field),
            Field::Array(name, shape, data) => Written::array(at, name, shape, data, field),
            Field::Formal(name) => match scalar(name) {
                Some((name, _)) => Ok(Written::formal(at, name)),
                None => Err(no_word(&format!("any {name}"))),
            },
            Field::FormalArray(name, dimensions) => Written::formal_array(at, name, dimensions),
            Field::Binary(_) => Err(no_word("bytes")),
            Field::Range(_) => Err(no_word("a range")),
            Field::Cut => Err(no_word("a field that is cut")),
        }
    }

    /// An actual, with its bits.
    fn value(at: usize, name: &str, sizes: &str, bytes: &[u8], length: String, field: &Field) -> Written {
        let listed: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let copied = match bytes.is_empty() {
            true => String::new(),
            false => format!(
                "    static const unsigned char bits{at}[] = {{{}}};\n    memcpy(&value{at}, bits{at}, sizeof bits{at});\n",
                listed.join(", ")
            ),
        };
        Written {
            declared: format!("    static {} value{at}{sizes};\n{copied}", in_c(name)),
            argument: format!("value{at}{length}"),
            found: said(field),
        }
    }

    fn text(bytes: &[u8], field: &Field) -> Result<Written, String> {
        if bytes.contains(&0) {
            return Err(no_word("a text with a NUL in it"));
        }
        if bytes.len() > MOST_BYTES {
            return Err(no_word(&format!("a text of more than {MOST_BYTES} bytes")));
        }
        if core::str::from_utf8(bytes).is_err() {
            return Err("an operation in C-Linda that fails ends the program".to_owned());
        }
        let letter = |byte: &u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'-' | b'.' => char::from(*byte).to_string(),
            other => format!("\\{other:03o}"),
        };
        let literal: String = bytes.iter().map(letter).collect();
        Ok(Written { declared: String::new(), argument: format!("\"{literal}\""), found: said(field) })
    }

    fn array(
        at: usize,
        name: &'static str,
        shape: &[u64],
        data: &[u8],
        field: &Field,
    ) -> Result<Written, String> {
        let Some((first, inner)) = shape.split_first() else {
            return Err(no_word("an array without dimensions"));
        };
        if inner.contains(&0) || shape.len() > MOST_DIMENSIONS || data.len() > MOST_BYTES {
            return Err(no_word(&format!("an array of {} bytes and {} dimensions", data.len(), shape.len())));
        }
        let sizes = format!("[{}]{}", first.max(&1), of_inner(inner));
        Ok(Written::value(at, name, &sizes, data, format!(":{first}"), field))
    }

    fn formal(at: usize, name: &'static str) -> Written {
        Written {
            declared: format!("    {} value{at};\n", in_c(name)),
            argument: format!("?value{at}"),
            found: format!("        say_scalar(\"{name}\", &value{at}, sizeof value{at});\n"),
        }
    }

    fn formal_array(at: usize, name: &'static str, dimensions: &[Option<u64>]) -> Result<Written, String> {
        let Some((first, inner)) = dimensions.split_first() else {
            return Err(no_word("an array without dimensions"));
        };
        let Some(inner) = inner.iter().copied().collect::<Option<Vec<u64>>>() else {
            return Err(no_word("any length of an array's second dimension"));
        };
        if first == &Some(0) || inner.contains(&0) || dimensions.len() > MOST_DIMENSIONS {
            return Err(no_word("any array of such dimensions"));
        }
        let (rest, of_rest) =
            (of_inner(&inner), inner.iter().map(|size| format!("x{size}")).collect::<String>());
        let (size, length, argument) = match first {
            Some(size) => (*size, format!("long length{at} = {size};"), format!("?value{at}")),
            None => (ROOM, format!("long length{at};"), format!("?value{at}:length{at}")),
        };
        Ok(Written {
            declared: format!("    static {} value{at}[{size}]{rest};\n    {length}\n", in_c(name)),
            argument,
            found: format!(
                "        say_array(\"{name}\", length{at}, \"{of_rest}\", value{at}, sizeof value{at}[0]);\n"
            ),
        })
    }
}

/// An actual is what the space has found, bit for bit: the language gives it to nobody.
fn said(field: &Field) -> String {
    format!("        say(\"{}\");\n", Fields(vec![field.clone()]).to_token())
}

fn of_inner(sizes: &[u64]) -> String {
    sizes.iter().map(|size| format!("[{size}]")).collect()
}

fn in_c(name: &str) -> &'static str {
    TYPES.into_iter().find(|(known, _)| *known == name).map_or("void", |(_, in_c)| in_c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::parse;

    fn able(steps: &str) -> Result<String, String> {
        let text = format!("# Title\n\n## One\nA sentence.\n\n```steps\n{steps}\n```\n");
        let behaviour = parse("test", &text).expect(steps).remove(0);
        clients(&behaviour).map(String::from_iter)
    }

    #[test]
    fn who_says_what_the_language_has_no_word_for_is_another() {
        for (steps, expected) in [
            ("a out (1)\nb take (?i64) -> (1)", Ok("ab")),
            ("a out_many (1) (2)\nb take (?i64) -> (1)", Ok("b")),
            ("w = a take (?i64) -> waits\nb out (1)\nw -> (1)\na out (2)", Ok("ab")),
            (
                "w = a take (?i64) -> waits\na out (1)\nw -> (1)",
                Err("a process in C-Linda does nothing else"),
            ),
            ("w = a take (?i64) -> waits\na closes\nb count (1) -> 0", Err("a process in C-Linda")),
            ("a take (1) within 1 ms -> TimedOut", Err("C-Linda has no word for it: a deadline")),
            ("a take (?text) -> (\"x\")", Err("C-Linda has no word for it: any text")),
            ("a take (?f64[?,?]) -> (f64[1,1] 1)", Err("C-Linda has no word for it: any length")),
            ("a out () -> BadValue", Err("an operation in C-Linda that fails")),
            ("a out (7u8 times 17)", Err("a tuple in C-Linda has 1 to 16 fields")),
        ] {
            match (able(steps), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{steps}"),
                (Err(found), Err(expected)) => assert!(found.starts_with(expected), "{steps}: {found}"),
                (found, _) => panic!("{steps}: {found:?}"),
            }
        }
    }

    #[test]
    fn three_tenths_of_the_text_have_a_client_that_the_language_has_words_for() {
        let mut behaviours = crate::behaviours().expect("the text can be read");
        // It is not played where machines keep spaces.
        behaviours.retain(|behaviour| !behaviour.is_of_machines());
        let said = behaviours.iter().filter(|behaviour| clients(behaviour).is_ok()).count();
        assert!(10 * said >= 3 * behaviours.len(), "{said} of {}", behaviours.len());
    }

    #[test]
    fn each_line_is_one_case_of_the_program() {
        let text = "# Title\n\n## One\nA sentence.\n\n```steps\na out (\"x?\", 1)\nb out (\"x?\", 1)\na take (\"x?\", ?i32[?,2]) -> (\"x?\", i32[1,2] 1 2)\na count (1) -> 0\n```\n";
        let program = program(&parse("test", text).expect("it is right"));
        assert_eq!(program.matches("static void case_").count(), 2, "{program}");
        assert!(program.contains("out(\"x\\077\", value1);"), "{program}");
        assert!(program.contains("in(\"x\\077\", ?value1:length1)"), "{program}");
        assert!(program.contains("{\"take text:783f,?array:i32:?x2\", case_1}"), "{program}");
    }
}
