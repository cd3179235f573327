//! Collections: all tuples that match.

use crate::pending::{Outcome, Pending};
use crate::space::unexpected;
use crate::{Begin, Error, Space};
use quintet_errors::Code;
use quintet_tuple_space::{Collected, Request, Template, Tuple};

/// Tuples of a page at most. The space's own limits are what counts: about 64 KiB of short tuples, 1 MiB of long ones.
const MOST: u32 = u32::MAX;

impl Space {
    /// Takes all tuples that match: all that are there when this begins and still are when it comes to them, the oldest first. It does not wait; none is an
    /// empty list.
    ///
    /// They come a page at a time, each of which is taken at one instant, as by a plain take: all of it or nothing. What of the tuples somebody else takes
    /// between two pages is his.
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// space.out_many(&[tuple!["row", 1i64], tuple!["row", 2i64], tuple!["other"]], None)?;
    /// assert_eq!(space.copy_collect(&template!["row", ?i64])?, [tuple!["row", 1i64], tuple!["row", 2i64]]);
    /// assert_eq!(space.collect(&template!["row", ?i64])?.len(), 2);
    /// assert_eq!(space.collect(&template!["row", ?i64])?.len(), 0);
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// The space is gone, and the pages that came before are lost with this error: [`Space::collect_pages`] gives each as it comes. [`Code::TooLarge`] for a tuple
    /// that the link does not carry; [`Code::Malformed`] of a server from before collections.
    pub fn collect(&self, template: &Template) -> Result<Vec<Tuple>, Error> {
        all(self.collect_pages(template))
    }

    /// Takes tuples that match, at most `most` of them, the oldest first and all at one instant, as by a plain take. It does not wait; none is an empty list, which is exact as
    /// that of [`Space::take_if`] is. For workers that take several small tasks at once.
    ///
    /// It may be fewer though there are more: as many as an answer carries, which are 1024 tuples, 64 KiB of short fields and 1 MiB of arrays and other long ones, and one tuple
    /// at least. So whoever takes all there are asks until there is none.
    ///
    /// ```
    /// use quintet::{Lab, template, tuple};
    ///
    /// let space = Lab::embedded().space();
    /// space.out_many(&[tuple!["task", 1i64], tuple!["task", 2i64], tuple!["task", 3i64]], None)?;
    /// assert_eq!(space.take_up_to(2, &template!["task", ?i64])?, [tuple!["task", 1i64], tuple!["task", 2i64]]);
    /// assert_eq!(space.take_up_to(2, &template!["task", ?i64])?, [tuple!["task", 3i64]]);
    /// assert_eq!(space.take_up_to(2, &template!["task", ?i64])?, []);
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Space::collect`]; nothing is taken then.
    pub fn take_up_to(&self, most: usize, template: &Template) -> Result<Vec<Tuple>, Error> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let mut from = 0;
        loop {
            let Collected { tuples, next, .. } =
                match self.begin().take_up_to(most, template, from)?.finish()? {
                    Outcome::Collected(page) => page,
                    other => return Err(unexpected(&other)),
                };
            match next {
                // So far, as it has looked at many that do not match or an index is being built.
                Some(next) if tuples.is_empty() => from = next,
                // In several parts it was about several instants.
                None if tuples.is_empty() && from > 0 => {
                    return Ok(self.take_if(template)?.into_iter().collect());
                }
                _ => return Ok(tuples),
            }
        }
    }

    /// As [`Space::collect`]; the tuples stay. Each of several equal ones comes once, which as many [`Space::read_if`] do not give.
    ///
    /// # Errors
    /// As [`Space::collect`]; nothing is lost.
    pub fn copy_collect(&self, template: &Template) -> Result<Vec<Tuple>, Error> {
        all(self.copy_collect_pages(template))
    }

    /// As [`Space::collect`], a page at a time. Whoever stops has taken the pages that he got, and nothing of the rest.
    pub fn collect_pages(&self, template: &Template) -> Collection {
        Collection::new(self.clone(), true, template.clone())
    }

    /// As [`Space::copy_collect`], a page at a time.
    pub fn copy_collect_pages(&self, template: &Template) -> Collection {
        Collection::new(self.clone(), false, template.clone())
    }

    /// Moves all tuples that match to another space of the same server, at one instant, all or none; how many it was. They are the youngest there, in the
    /// order that they had here. It cannot be undone.
    ///
    /// ```
    /// use quintet::{Lab, SpaceSettings, template, tuple};
    ///
    /// let lab = Lab::embedded();
    /// lab.create_space("archive", &SpaceSettings::default())?;
    /// let (space, archive) = (lab.space(), lab.named_space("archive")?);
    /// space.out_many(&[tuple!["order", 1i64, "done"], tuple!["order", 2i64, "open"]], None)?;
    /// assert_eq!(space.collect_into(&archive, &template!["order", ?i64, "done"])?, 1);
    /// assert_eq!(archive.count(&template!["order", ?i64, ?str])?, 1);
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// Nothing is moved then. [`Code::SpaceFull`] if there is no room for all of them now, [`Code::TooLarge`] if there never is, if it is about more than
    /// [`MAX_COLLECTED`](crate::MAX_COLLECTED) tuples, or if more than [`MAX_CARRIED_BYTES`](crate::MAX_CARRIED_BYTES) were to go between several managers of the space without a
    /// name; [`Code::NotAllowed`] of the rights of either space; [`Code::BadValue`] if both are one space, or are of two connections; [`Code::Malformed`] of a server from before collections. [`Code::PeerDied`] and its kin if the
    /// server is gone, and then it may have happened.
    pub fn collect_into(&self, other: &Space, template: &Template) -> Result<u64, Error> {
        counted(|| self.begin().collect_into(other, template))
    }

    /// As [`Space::collect_into`]; the tuples stay here as well.
    ///
    /// # Errors
    /// As [`Space::collect_into`].
    pub fn copy_collect_into(&self, other: &Space, template: &Template) -> Result<u64, Error> {
        counted(|| self.begin().copy_collect_into(other, template))
    }
}

/// The pages of a collection, which are fetched as they are asked for. Made by [`Space::collect_pages`] and [`Space::copy_collect_pages`]. It ends at the first error.
pub struct Collection {
    space: Space,
    takes: bool,
    template: Template,
    /// From which age on the next page is, and below which; none: there is no next page.
    next: Option<(u64, Option<u64>)>,
}

impl Collection {
    fn new(space: Space, takes: bool, template: Template) -> Collection {
        Collection { space, takes, template, next: Some((0, None)) }
    }

    fn fetch(&mut self, (from, below): (u64, Option<u64>)) -> Result<Vec<Tuple>, Error> {
        let Collection { takes, template, .. } = self;
        let page = Request::Collect { takes: *takes, from, below, most: MOST, template };
        let Collected { tuples, next, below } = match self.space.ask(&page)? {
            Outcome::Collected(page) => page,
            other => return Err(unexpected(&other)),
        };
        self.next = next.map(|next| (next, Some(below)));
        Ok(tuples)
    }
}

impl Iterator for Collection {
    type Item = Result<Vec<Tuple>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let from = self.next.take()?;
            match self.fetch(from) {
                // So far, as it has looked at many that do not match or an index is being built.
                Ok(tuples) if tuples.is_empty() => {}
                page => return Some(page),
            }
        }
    }
}

impl Begin<'_> {
    /// Begins one page of [`Space::collect`], whose outcome is [`Outcome::Collected`]. `from` is 0 and `below` none, then as the page before says; an empty
    /// page need not be the last.
    ///
    /// # Errors
    /// It could not be sent.
    pub fn collect(self, template: &Template, from: u64, below: Option<u64>) -> Result<Pending, Error> {
        self.pending(&Request::Collect { takes: true, from, below, most: MOST, template })
    }

    /// Begins [`Space::take_up_to`], of at least one tuple, whose outcome is [`Outcome::Collected`]. `from` is 0. Where there are no tuples in it and it has a next page, nothing was found so far: it
    /// is to be begun again with `from` as that says. One that is dropped before it is kept has taken nothing.
    ///
    /// # Errors
    /// It could not be sent; [`Code::BadValue`] for no tuples.
    pub fn take_up_to(self, most: usize, template: &Template, from: u64) -> Result<Pending, Error> {
        if most == 0 {
            return Err(Error::new(Code::BadValue, "take_up_to of 0 tuples: there is nothing to begin"));
        }
        let most = u32::try_from(most).unwrap_or(MOST);
        self.pending(&Request::Collect { takes: true, from, below: None, most, template })
    }

    /// Begins one page of [`Space::copy_collect`], as [`Begin::collect`].
    ///
    /// # Errors
    /// It could not be sent.
    pub fn copy_collect(self, template: &Template, from: u64, below: Option<u64>) -> Result<Pending, Error> {
        self.pending(&Request::Collect { takes: false, from, below, most: MOST, template })
    }

    /// Begins [`Space::collect_into`], whose outcome is [`Outcome::Count`]; or [`Outcome::Collected`] where nothing has happened so far, as an index is being built: then
    /// it is to be begun again.
    ///
    /// # Errors
    /// It could not be sent; [`Code::BadValue`] for a space of another connection.
    pub fn collect_into(self, other: &Space, template: &Template) -> Result<Pending, Error> {
        self.begin_into(true, other, template)
    }

    /// Begins [`Space::copy_collect_into`], as [`Begin::collect_into`].
    ///
    /// # Errors
    /// As [`Begin::collect_into`].
    pub fn copy_collect_into(self, other: &Space, template: &Template) -> Result<Pending, Error> {
        self.begin_into(false, other, template)
    }

    fn begin_into(self, takes: bool, other: &Space, template: &Template) -> Result<Pending, Error> {
        let into = other.number_over(self)?;
        self.pending(&Request::CollectInto { takes, into, template })
    }
}

fn all(pages: Collection) -> Result<Vec<Tuple>, Error> {
    let mut tuples = Vec::new();
    for page in pages {
        tuples.append(&mut page?);
    }
    Ok(tuples)
}

/// Asks until an index that is needed is there.
fn counted(begin: impl Fn() -> Result<Pending, Error>) -> Result<u64, Error> {
    loop {
        match begin()?.finish()? {
            Outcome::Count(count) => return Ok(count),
            Outcome::Collected(_) => {}
            other => return Err(unexpected(&other)),
        }
    }
}

/// Two spaces that no server has together.
pub(crate) fn of_two_connections() -> Error {
    let text = "the other space is one of another connection, and perhaps of another server: collect to this process and put";
    Error::new(Code::BadValue, text)
}
