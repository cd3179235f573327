//! Named spaces: created, opened, listed, removed.

use crate::pending::{Outcome, Pending};
use crate::space::unexpected;
use crate::{Error, Lab, Space};
use quintet_errors::Code;
use quintet_tuple_space::{
    Request, SpaceInfo, SpaceName, SpaceNumber, SpaceRights, SpaceSettings, SpacesPage, SpacesRequest,
};

impl Lab {
    /// The space of this name, which somebody has created.
    ///
    /// # Errors
    /// [`Code::NoSuchSpace`], whose text names those that are there; [`Code::NotAllowed`]: its creation named others; [`Code::BadValue`] for what
    /// is no name ([`SpaceName`]); or the server is gone.
    pub fn named_space(&self, name: &str) -> Result<Space, Error> {
        let name = parsed(name)?;
        self.space_of(&SpacesRequest::Open(name))
    }

    /// Creates a space, and opens it. One that is there with the same settings is as good: several processes may begin with this.
    ///
    /// ```
    /// use quintet::{Code, Lab, SpaceSettings, template, tuple};
    ///
    /// let lab = Lab::embedded();
    /// let orders = lab.create_space("orders", &SpaceSettings { max_bytes: 1 << 20, ..SpaceSettings::default() })?;
    /// orders.out(tuple!["order", 7i64])?;
    /// assert_eq!(lab.space().count(&template!["order", ?i64])?, 0); // another space
    /// assert_eq!(lab.named_space("orders")?.count(&template!["order", ?i64])?, 1);
    ///
    /// lab.remove_space("orders")?;
    /// assert_eq!(orders.status().unwrap_err().code(), Code::NoSuchSpace);
    /// # Ok::<(), quintet::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Code::SpaceExists`]: it is there with other settings. [`Code::SpaceFull`]: the server has no room for its quota, or for one more space.
    /// [`Code::BadValue`]: no name, or a policy that the server cannot keep. [`Code::TooLarge`]: more identities than
    /// [`SpaceRights::MAX_IDENTITIES`]. Anybody may create a space for others; its use is [`Code::NotAllowed`] then.
    pub fn create_space(&self, name: &str, settings: &SpaceSettings) -> Result<Space, Error> {
        let identities = settings.allow.as_ref().map_or(0, |allow| allow.identities.len());
        if identities > SpaceRights::MAX_IDENTITIES {
            let text = format!(
                "a space for {identities} identities; one names {} at most: name fewer, or none, which lets in all who may use the server",
                SpaceRights::MAX_IDENTITIES
            );
            return Err(Error::new(Code::TooLarge, text));
        }
        self.space_of(&SpacesRequest::Create(parsed(name)?, settings.clone()))
    }

    /// Removes a space with its tuples. Who waits in it, and who asks it later, gets [`Code::NoSuchSpace`].
    ///
    /// # Errors
    /// [`Code::NoSuchSpace`], [`Code::NotAllowed`], [`Code::BadValue`] as [`Lab::named_space`].
    pub fn remove_space(&self, name: &str) -> Result<(), Error> {
        self.ask_spaces(&SpacesRequest::Remove(parsed(name)?)).map(drop)
    }

    /// All named spaces, by name: what each was made with, and how it is. Read a page at a time: of what is created or removed meanwhile, some
    /// may be missing. A server from before named spaces has none.
    ///
    /// # Errors
    /// The server is gone.
    pub fn spaces(&self) -> Result<Vec<SpaceInfo>, Error> {
        let (mut spaces, mut after) = (Vec::new(), None);
        loop {
            let listed = match self.ask_if_known(&SpacesRequest::List { after })? {
                Ok(Outcome::Spaces(listed)) => listed,
                Ok(other) => return Err(unexpected(&other)),
                Err(_is_not_known) => SpacesPage::default(),
            };
            after = listed.rows.last().map(|row| row.name.clone());
            spaces.extend(listed.rows);
            if !listed.has_more || after.is_none() {
                return Ok(spaces);
            }
        }
    }

    fn space_of(&self, asked: &SpacesRequest) -> Result<Space, Error> {
        match self.ask_spaces(asked)? {
            Outcome::Spaces(SpacesPage { mut rows, has_more: false }) if rows.len() == 1 => {
                let SpaceInfo { number, name, .. } = rows.remove(0);
                Ok(Space::named(self.clone(), number, name))
            }
            other => Err(unexpected(&other)),
        }
    }

    fn ask_spaces(&self, asked: &SpacesRequest) -> Result<Outcome, Error> {
        self.ask_if_known(asked)?.map_err(|why| {
            let text = format!("{why}; a server from before named spaces does not have them");
            Error::new(Code::Malformed, text)
        })
    }

    /// Not `Ok` within: why the server cannot read it.
    fn ask_if_known(&self, asked: &SpacesRequest) -> Result<Result<Outcome, String>, Error> {
        Pending::complete_if_known(self, SpaceNumber::UNNAMED, &Request::Spaces(asked))
    }
}

fn parsed(name: &str) -> Result<SpaceName, Error> {
    name.parse()
        .map_err(|error: quintet_tuple_space::SpaceNameError| Error::new(Code::BadValue, error.to_string()))
}

#[cfg(test)]
mod tests;
