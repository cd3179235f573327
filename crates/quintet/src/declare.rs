//! What a program tells a space of its tuples before it puts them.

use crate::pending::Pending;
use crate::{Begin, Error, Space, Template};
use quintet_errors::Code;
use quintet_tuple_space::client::Spread;

impl Space {
    /// Tells that every template of these types gives a value for this field, counted from 0, and not always the same: a space with several managers then has
    /// their tuples at all of them from now on, each where the value says, and does not wait until templates have shown it. Of the template the types count.
    ///
    /// It is no promise: where a template leaves the key out all the same, the tuples are gathered at one manager, as ever. Types that are spread already, or were
    /// gathered, stay as they are. In a space with one manager, and in a named one, there is nothing to do.
    ///
    /// ```
    /// use quintet::{Lab, template};
    ///
    /// let space = Lab::embedded().space();
    /// space.declare_key(&template!["row", ?i64, ?f64], 1)?;
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::BadValue`]: the template has no such field. [`Code::TooLarge`]: it is too long. [`Code::PeerDied`] and its kin: the space is gone.
    pub fn declare_key(&self, template: &Template, field: usize) -> Result<(), Error> {
        let (begin, spread) = (self.begin(), spread(template, field)?);
        if begin.is_at_several() { begin.begin_spread(&spread)?.finish().map(drop) } else { Ok(()) }
    }
}

impl Begin<'_> {
    /// Begins [`Space::declare_key`], whose outcome is [`Outcome::Done`](crate::Outcome::Done). A space with one manager, or a named one, is asked for an answer all the same.
    ///
    /// # Errors
    /// As [`Space::declare_key`]; it could not be sent.
    pub fn declare_key(self, template: &Template, field: usize) -> Result<Pending, Error> {
        self.begin_spread(&spread(template, field)?)
    }
}

fn spread(template: &Template, field: usize) -> Result<Spread, Error> {
    let fields = template.fields().len();
    let key = u8::try_from(field).ok().filter(|_| field < fields);
    let key = key.ok_or_else(|| {
        let text =
            format!("field {field} is none of the {fields} fields of the template, which are counted from 0");
        Error::new(Code::BadValue, text)
    })?;
    Ok(Spread::new(template, key)?)
}
