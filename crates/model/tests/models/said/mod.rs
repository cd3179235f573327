//! What is said of a model that is wrong in one place.

use quintet_model::Model;

/// What is wrong with a good model once `from` in it is `to`, one line each.
pub(crate) fn once_replaced(good: &str, from: &str, to: &str) -> Vec<String> {
    assert_eq!(good.matches(from).count(), 1, "{from} stands once in the model");
    match Model::from_str(&good.replace(from, to), "m.toml") {
        Ok(_) => Vec::new(),
        Err(error) => error.problems.iter().map(ToString::to_string).collect(),
    }
}
