//! The function that tells the space by which fields tuples can be spread, before the program's first operation.

use crate::keys::{Key, Kind};

/// The function; empty for a program without keys.
pub(super) fn function(keys: &[Key]) -> String {
    let told: String = keys.iter().map(declaration).collect();
    let types = if keys.is_empty() { "" } else { "    clinda_tuple types;\n" };
    format!(
        "/* The fields that every in, inp, rd and rdp gives: several managers have the tuples by their values. */\nvoid clinda_declare_keys(void)\n{{\n{types}{told}}}\n"
    )
}

fn declaration(key: &Key) -> String {
    let fields: String = key.types.iter().map(field).collect();
    format!("\n    types = clinda_new(\"clinda\");\n{fields}    clinda_declare_key(&types, {});\n", key.field)
}

fn field(kind: &Kind) -> String {
    match kind {
        Kind::Text => "    clinda_text(&types, \"\");\n".to_owned(),
        Kind::Scalar(scalar) => format!("    clinda_formal(&types, {scalar});\n"),
        Kind::Array(scalar, 0) => {
            format!("    clinda_formal_array(&types, {scalar}, CLINDA_ANY, 0, NULL);\n")
        }
        Kind::Array(scalar, inner) => {
            // How long the inner ones are makes no other kind of tuple.
            let shape = vec!["1"; *inner].join(", ");
            format!(
                "    clinda_formal_array(&types, {scalar}, CLINDA_ANY, {inner}, (size_t[]){{{shape}}});\n"
            )
        }
    }
}
