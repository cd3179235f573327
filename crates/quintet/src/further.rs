//! Selects and replacements.

use crate::pending::{Outcome, Pending};
use crate::space::{one, perhaps, unexpected};
use crate::{Begin, Error, Lease, Space};
use quintet_contract::Span;
use quintet_errors::Code;
use quintet_tuple_space::{MAX_SELECT_TEMPLATES, Request, Template, Tuple, Wait};
use std::time::Duration;

impl Space {
    /// Takes the oldest matching tuple and puts `tuples` in its place, at one instant: nobody sees the space between the two. Waits for a match. Gives
    /// what was taken.
    ///
    /// The template is the comparison: with values only, this is compare-and-swap. Where what is put needs what is found, use a [`Group`](crate::Group), or
    /// read and compare:
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// space.out(tuple!["counter", 0i64])?;
    /// loop {
    ///     let count: i64 = space.read(&template!["counter", ?i64])?[1].clone().try_into()?;
    ///     let next = [tuple!["counter", count + 1]];
    ///     if space.replace_if(&template!["counter", count], &next)?.is_some() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(space.take(&template!["counter", ?i64])?, tuple!["counter", 1i64]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What is put finds room as the results of a lease do: in what it replaces, in what is free, or in the reserve of a quarter. There is no
    /// undoing it: cancelled, it has happened or it has not.
    ///
    /// # Errors
    /// [`Code::SpaceFull`] if there is no room for what would be put, and what matches stays; [`Code::TooLarge`] if there never is; [`Code::BadValue`] for no
    /// tuple at all; [`Code::PeerDied`] and its kin if the space is gone, and then it may have happened; [`Code::Malformed`] of a server from before
    /// replacements.
    pub fn replace(&self, template: &Template, tuples: &[Tuple]) -> Result<Tuple, Error> {
        one(self.ask_replace(Wait::Forever, template, tuples)?)
    }

    /// As [`Space::replace`], waiting at most `limit`.
    ///
    /// # Errors
    /// As [`Space::replace`], and [`Code::TimedOut`], whose text says what nearly matched.
    pub fn replace_within(
        &self,
        template: &Template,
        tuples: &[Tuple],
        limit: Duration,
    ) -> Result<Tuple, Error> {
        one(self.ask_replace(Wait::For(Span::from(limit)), template, tuples)?)
    }

    /// As [`Space::replace`] if there is a match. `None` is exact: at one instant there was none, and nothing was put.
    ///
    /// # Errors
    /// As [`Space::replace`].
    pub fn replace_if(&self, template: &Template, tuples: &[Tuple]) -> Result<Option<Tuple>, Error> {
        perhaps(self.ask_replace(Wait::AtOnce, template, tuples)?)
    }

    /// Takes the oldest tuple that matches one of several templates, waiting for one; which it matches, counted from 0, the first if it is
    /// several.
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// space.out_many(&[tuple!["job", 7i64], tuple!["stop"]], None)?;
    /// let wanted = [template!["stop"], template!["job", ?i64]];
    /// assert_eq!(space.select(&wanted)?, (1, tuple!["job", 7i64]));
    /// assert_eq!(space.select(&wanted)?, (0, tuple!["stop"]));
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::BadValue`] for no template, or more than 32; [`Code::PeerDied`] and its kin if the space is gone; [`Code::Malformed`] of a server from
    /// before selects.
    pub fn select(&self, templates: &[Template]) -> Result<(usize, Tuple), Error> {
        selected(self.ask_select(true, Wait::Forever, templates)?)
    }

    /// As [`Space::select`], waiting at most `limit`.
    ///
    /// # Errors
    /// As [`Space::select`], and [`Code::TimedOut`], whose text says of each template what nearly matched.
    pub fn select_within(&self, templates: &[Template], limit: Duration) -> Result<(usize, Tuple), Error> {
        selected(self.ask_select(true, Wait::For(Span::from(limit)), templates)?)
    }

    /// As [`Space::select`] if there is such a tuple. `None` is exact: at one instant there was none.
    ///
    /// # Errors
    /// As [`Space::select`].
    pub fn select_if(&self, templates: &[Template]) -> Result<Option<(usize, Tuple)>, Error> {
        perhaps_selected(self.ask_select(true, Wait::AtOnce, templates)?)
    }

    /// As [`Space::select`]; the tuple stays.
    ///
    /// # Errors
    /// As [`Space::select`].
    pub fn select_read(&self, templates: &[Template]) -> Result<(usize, Tuple), Error> {
        selected(self.ask_select(false, Wait::Forever, templates)?)
    }

    /// As [`Space::select_within`]; the tuple stays.
    ///
    /// # Errors
    /// As [`Space::select_within`].
    pub fn select_read_within(
        &self,
        templates: &[Template],
        limit: Duration,
    ) -> Result<(usize, Tuple), Error> {
        selected(self.ask_select(false, Wait::For(Span::from(limit)), templates)?)
    }

    /// As [`Space::select_if`]; the tuple stays.
    ///
    /// # Errors
    /// As [`Space::select`].
    pub fn select_read_if(&self, templates: &[Template]) -> Result<Option<(usize, Tuple)>, Error> {
        perhaps_selected(self.ask_select(false, Wait::AtOnce, templates)?)
    }

    /// As [`Space::select`], under a lease, waiting at most `limit` (none: without end).
    ///
    /// # Errors
    /// As [`Space::select_within`]; [`Code::Resource`] if there is no thread to renew it.
    pub fn select_lease(
        &self,
        templates: &[Template],
        limit: Option<Duration>,
    ) -> Result<(usize, Lease), Error> {
        match self.begin().within(limit).select_lease(templates)?.finish()? {
            Outcome::Selected(which, tuple, granted) => {
                Ok((which, self.leased(Outcome::Tuple(tuple, granted))?))
            }
            other => Err(unexpected(&other)),
        }
    }

    fn ask_replace(&self, wait: Wait, template: &Template, tuples: &[Tuple]) -> Result<Outcome, Error> {
        check_tuples(tuples)?;
        self.ask(&Request::Replace { wait, template, tuples, expiries: &[] })
    }

    fn ask_select(&self, takes: bool, wait: Wait, templates: &[Template]) -> Result<Outcome, Error> {
        check_templates(templates)?;
        self.ask(&Request::Select { takes, wait, lease: None, templates })
    }
}

impl Begin<'_> {
    /// Begins [`Space::replace`] or [`Space::replace_within`].
    ///
    /// # Errors
    /// It could not be sent; [`Code::BadValue`] for no tuple at all.
    pub fn replace(self, template: &Template, tuples: &[Tuple]) -> Result<Pending, Error> {
        check_tuples(tuples)?;
        let expiries = &self.expiries(tuples.len());
        self.pending(&Request::Replace { wait: self.wait(), template, tuples, expiries })
    }

    /// Begins [`Space::replace_if`]: [`Outcome::NoMatch`] if there is no match.
    ///
    /// # Errors
    /// As [`Begin::replace`].
    pub fn replace_if(self, template: &Template, tuples: &[Tuple]) -> Result<Pending, Error> {
        check_tuples(tuples)?;
        let expiries = &self.expiries(tuples.len());
        self.pending(&Request::Replace { wait: Wait::AtOnce, template, tuples, expiries })
    }

    /// Begins [`Space::select`] or [`Space::select_within`], whose outcome is [`Outcome::Selected`].
    ///
    /// # Errors
    /// It could not be sent; [`Code::BadValue`] for no template, or more than 32.
    pub fn select(self, templates: &[Template]) -> Result<Pending, Error> {
        self.begin_select(true, self.wait(), templates)
    }

    /// Begins [`Space::select_if`]: [`Outcome::NoMatch`] if there is none.
    ///
    /// # Errors
    /// As [`Begin::select`].
    pub fn select_if(self, templates: &[Template]) -> Result<Pending, Error> {
        self.begin_select(true, Wait::AtOnce, templates)
    }

    /// Begins [`Space::select_read`] or [`Space::select_read_within`].
    ///
    /// # Errors
    /// As [`Begin::select`].
    pub fn select_read(self, templates: &[Template]) -> Result<Pending, Error> {
        self.begin_select(false, self.wait(), templates)
    }

    /// Begins [`Space::select_read_if`].
    ///
    /// # Errors
    /// As [`Begin::select`].
    pub fn select_read_if(self, templates: &[Template]) -> Result<Pending, Error> {
        self.begin_select(false, Wait::AtOnce, templates)
    }

    /// Begins [`Space::select_lease`]; the lease is renewed from its beginning.
    ///
    /// # Errors
    /// As [`Begin::select`]; [`Code::Resource`] if there is no thread to renew it.
    pub fn select_lease(self, templates: &[Template]) -> Result<Pending, Error> {
        check_templates(templates)?;
        let wait = self.wait();
        self.pending_lease(|lease| Request::Select { takes: true, wait, lease: Some(lease), templates })
    }

    fn begin_select(self, takes: bool, wait: Wait, templates: &[Template]) -> Result<Pending, Error> {
        check_templates(templates)?;
        self.pending(&Request::Select { takes, wait, lease: None, templates })
    }
}

fn check_tuples(tuples: &[Tuple]) -> Result<(), Error> {
    if tuples.is_empty() {
        return Err(Error::new(Code::BadValue, "a replacement puts at least one tuple; to put none, take"));
    }
    Ok(())
}

fn check_templates(templates: &[Template]) -> Result<(), Error> {
    let count = templates.len();
    if (1..=MAX_SELECT_TEMPLATES).contains(&count) {
        return Ok(());
    }
    let text = format!("a select has 1 to {MAX_SELECT_TEMPLATES} templates, and this one {count}");
    Err(Error::new(Code::BadValue, text))
}

fn selected(outcome: Outcome) -> Result<(usize, Tuple), Error> {
    match outcome {
        Outcome::Selected(which, tuple, _) => Ok((which, tuple)),
        other => Err(unexpected(&other)),
    }
}

fn perhaps_selected(outcome: Outcome) -> Result<Option<(usize, Tuple)>, Error> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        other => selected(other).map(Some),
    }
}

#[cfg(test)]
mod tests;
