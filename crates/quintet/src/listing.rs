//! What lies in a space, who waits in it and who is connected to it, read a page at a time.

mod several;

use crate::space::unexpected;
use crate::{Error, Outcome, Space};
use quintet_tuple_space::{
    ClientState, Cursor, HotKey, ListedTuple, Page, PageSize, Partition, Rows, Subject, Template,
    WaitingRequest,
};
use std::collections::VecDeque;

/// The rows of a listing, which are fetched as they are asked for. Made by [`Space::list`], [`Space::waiting`], [`Space::clients`], [`Space::partitions`] and
/// [`Space::hot_keys`].
///
/// It ends at the first error.
pub struct Listing<T> {
    space: Space,
    template: Option<Template>,
    size: PageSize,
    rows: VecDeque<T>,
    /// Where the next page begins; none: there is none.
    next: Option<Cursor>,
    /// The manager whose rows are meant; none: those of all.
    manager: Option<u8>,
}

/// A row of a listing: a tuple, a request that waits, a client, a partition, or a hot key.
pub trait Listed: Sized {
    /// What a page of such rows is asked for with.
    const SUBJECT: Subject;

    /// The rows of a page; none if it shows something else.
    fn from_rows(rows: Rows) -> Option<Vec<Self>>;

    /// All rows of a space that several managers have, where each manager has a part of a row; none: a row is one manager's.
    ///
    /// # Errors
    /// The space is gone.
    fn of_several(_space: &Space, _size: PageSize) -> Result<Option<Vec<Self>>, Error> {
        Ok(None)
    }
}

impl<T> Listing<T> {
    pub(crate) fn new(space: Space, template: Option<Template>) -> Listing<T> {
        let (size, rows) = (PageSize::default(), VecDeque::new());
        Listing { space, template, size, rows, next: Some(Cursor::default()), manager: None }
    }

    /// Only what this manager has, counted from 0: a space has [`Space::managers`] of them.
    #[must_use]
    pub fn of_manager(mut self, number: u8) -> Self {
        (self.next, self.manager) = (Some(Cursor::of_manager(number)), Some(number));
        self
    }

    /// Of each field so many bytes of data are shown, at most [`MAX_GLIMPSE_BYTES`](crate::MAX_GLIMPSE_BYTES), as without this.
    #[must_use]
    pub fn field_bytes(mut self, bytes: u32) -> Self {
        self.size.field_bytes = bytes.min(PageSize::default().field_bytes);
        self
    }

    /// Pages have so many rows at most, from 1 to [`PageSize::MAX_ROWS`], as without this.
    #[must_use]
    pub fn page_rows(mut self, rows: u32) -> Self {
        self.size.rows = rows.clamp(1, PageSize::MAX_ROWS);
        self
    }
}

impl<T: Listed> Listing<T> {
    fn fetch(&mut self, from: Cursor) -> Result<(), Error> {
        if self.manager.is_none()
            && self.space.managers() > 1
            && let Some(rows) = T::of_several(&self.space, self.size)?
        {
            self.rows = rows.into();
            return Ok(());
        }
        let Page { rows, next } = self.space.page(T::SUBJECT, self.template.as_ref(), from, self.size)?;
        let other = |rows: Rows| unexpected(&Outcome::Page(Page { rows, next }));
        self.rows = T::from_rows(rows.clone()).ok_or_else(|| other(rows))?.into();
        self.next = next.filter(|next| self.manager.is_none_or(|manager| next.manager() == manager));
        Ok(())
    }
}

impl<T: Listed> Iterator for Listing<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.rows.is_empty() {
            let from = self.next.take()?;
            if let Err(error) = self.fetch(from) {
                return Some(Err(error));
            }
        }
        self.rows.pop_front().map(Ok)
    }
}

impl Listed for ListedTuple {
    const SUBJECT: Subject = Subject::Tuples;

    fn from_rows(rows: Rows) -> Option<Vec<Self>> {
        if let Rows::Tuples(rows) = rows { Some(rows) } else { None }
    }
}

impl Listed for WaitingRequest {
    const SUBJECT: Subject = Subject::Waiting;

    fn from_rows(rows: Rows) -> Option<Vec<Self>> {
        if let Rows::Waiting(rows) = rows { Some(rows) } else { None }
    }
}

impl Listed for ClientState {
    const SUBJECT: Subject = Subject::Clients;

    fn from_rows(rows: Rows) -> Option<Vec<Self>> {
        if let Rows::Clients(rows) = rows { Some(rows) } else { None }
    }

    fn of_several(space: &Space, size: PageSize) -> Result<Option<Vec<Self>>, Error> {
        several::clients(space, size).map(Some)
    }
}

impl Listed for Partition {
    const SUBJECT: Subject = Subject::Partitions;

    fn from_rows(rows: Rows) -> Option<Vec<Self>> {
        if let Rows::Partitions(rows) = rows { Some(rows) } else { None }
    }

    fn of_several(space: &Space, size: PageSize) -> Result<Option<Vec<Self>>, Error> {
        several::partitions(space, size).map(Some)
    }
}

impl Listed for HotKey {
    const SUBJECT: Subject = Subject::HotKeys;

    fn from_rows(rows: Rows) -> Option<Vec<Self>> {
        if let Rows::HotKeys(rows) = rows { Some(rows) } else { None }
    }

    fn of_several(space: &Space, size: PageSize) -> Result<Option<Vec<Self>>, Error> {
        several::hot_keys(space, size).map(Some)
    }
}
