//! What a program tells a space of its tuples before it puts them. In the manual it stands with the operations of a space: `quintet_space`.

use crate::boundary::{guarded, value};
use crate::error::quintet_status;
use crate::space::quintet_space;
use crate::tuple::{quintet_tuple, to_match};

/// Tells that every template of these types gives a value for this field, counted from 0, and not always the same: a space with several managers then has
/// their tuples at all of them from now on, each where the value says, and does not wait until templates have shown it. Of the template the types count.
/// It is no promise: where a template leaves the key out all the same, the tuples are gathered at one manager, as ever. In a space with one manager, and in a
/// named one, there is nothing to do.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, and if it has no such field.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_declare_key(
    space: Option<&quintet_space>,
    types: Option<&quintet_tuple>,
    field: usize,
) -> quintet_status {
    guarded(|| value(space)?.space.declare_key(to_match(types)?, field))
}
