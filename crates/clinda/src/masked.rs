//! A text in C-Linda as the grammar of C reads it: of the same length, so that every place stays what it is.

use crate::expanded::Expanded;
use crate::operation::{Call, Length};
use crate::types::is_type_word;

/// What no C has is blank in it: the marks of formals, the lines of the preprocessor. A length is a further argument, the type of an
/// anonymous formal a number.
pub(crate) fn mask(expanded: &Expanded, calls: &[Call]) -> String {
    let mut bytes = vec![b' '; expanded.text().len()];
    for token in expanded.tokens() {
        bytes[token.range()].copy_from_slice(&expanded.text().as_bytes()[token.range()]);
    }
    for field in calls.iter().flat_map(|call| &call.fields) {
        if let Some(mark) = field.mark {
            bytes[mark] = b' ';
        }
        match field.length {
            Length::None => {}
            Length::Whole(colon) => bytes[colon] = b' ',
            Length::Of(colon, _) => bytes[colon] = b',',
        }
        let value = &expanded.text()[field.value.clone()];
        if field.mark.is_some() && value.split_whitespace().next().is_some_and(is_type_word) {
            bytes[field.value.clone()].fill(b' ');
            bytes[field.value.start] = b'0';
        }
    }
    String::from_utf8(bytes).expect("only whole characters were replaced, by ASCII")
}
