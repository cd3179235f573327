//! Named spaces: created, opened, listed, removed.

use crate::pending::{Outcome, Pending};
use crate::space::unexpected;
use crate::{Error, Identity, KeptSpace, KeptSpaces, Lab, Policy, Space};
use quintet_errors::Code;
use quintet_tuple_space::{
    Request, SpaceInfo, SpaceName, SpaceNumber, SpaceRights, SpaceSettings, SpacesPage, SpacesRequest,
};
use std::collections::BTreeSet;

impl Lab {
    /// The space of this name, which somebody has created: of a connection to a cluster (`quintet://NAME`) one that its machines keep on their disks, with a connection of
    /// its own, or else one beside the cluster's own.
    ///
    /// # Errors
    /// [`Code::NoSuchSpace`], whose text names those that are there; [`Code::NotAllowed`]: its creation named others; [`Code::BadValue`] for what
    /// is no name ([`SpaceName`]); or the server is gone.
    pub fn named_space(&self, name: &str) -> Result<Space, Error> {
        let name = parsed(name)?;
        let kept = self.cluster_spaces().map(|kept| kept.open(&name)).transpose()?.flatten();
        match kept {
            Some(space) => Ok(self.with(space)),
            None => self.space_of(&SpacesRequest::Open(name)),
        }
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
    /// Of a connection to a cluster (`quintet://NAME`), one that is [`Policy::Logged`] or [`Policy::Replicated`] is kept by machines of the cluster on their disks, as
    /// `quintet space create` has it ([`KeptSpaces::create`]); it is there when this returns.
    ///
    /// # Errors
    /// As [`KeptSpaces::create`] of such a space.
    /// [`Code::SpaceExists`]: it is there with other settings. [`Code::SpaceFull`]: the server has no room for its quota, or for one more space.
    /// [`Code::BadValue`]: no name, or a policy that the server cannot keep. [`Code::TooLarge`]: more identities than
    /// [`SpaceRights::MAX_IDENTITIES`]. Anybody may create a space for others; its use is [`Code::NotAllowed`] then, and of one that machines of a cluster
    /// keep this is, once it is there.
    pub fn create_space(&self, name: &str, settings: &SpaceSettings) -> Result<Space, Error> {
        let identities = settings.allow.as_ref().map_or(0, |allow| allow.identities.len());
        if identities > SpaceRights::MAX_IDENTITIES {
            let text = format!(
                "a space for {identities} identities; one names {} at most: name fewer, or none, which lets in all who may use the server",
                SpaceRights::MAX_IDENTITIES
            );
            return Err(Error::new(Code::TooLarge, text));
        }
        let name = parsed(name)?;
        match self.cluster_spaces() {
            Some(kept) if settings.policy != Policy::Volatile => {
                let created = kept.create(&name, settings, || self.spaces())?;
                let space = created.ok_or_else(|| {
                    let text = format!("the space {name} is there, and for other machines than this one");
                    Error::new(Code::NotAllowed, text)
                })?;
                return Ok(self.with(space));
            }
            Some(kept) if kept.all()?.iter().any(|there| there.name == name.as_str()) => {
                let text = format!("the cluster's machines keep a space {name} already");
                return Err(Error::new(Code::SpaceExists, text));
            }
            _ => {}
        }
        self.space_of(&SpacesRequest::Create(name, settings.clone()))
    }

    /// The rights of the programs of these machines of the lab's cluster, by their names ([`KeptSpaces::rights_of`]): what [`SpaceSettings::allow`] of a space of that policy takes.
    ///
    /// # Errors
    /// As [`KeptSpaces::rights_of`]; [`Code::BadValue`] also of a lab that is no connection to a cluster (`quintet://NAME`).
    pub fn rights_of(&self, machines: &[impl AsRef<str>], policy: Policy) -> Result<SpaceRights, Error> {
        self.of_cluster_alone()?.rights_of(machines, policy)
    }

    /// Lets the programs of some machines use a space that machines of the lab's cluster keep, and those of others no more: [`KeptSpaces::allow`].
    ///
    /// # Errors
    /// As [`KeptSpaces::allow`]; [`Code::BadValue`] also of a lab that is no connection to a cluster (`quintet://NAME`).
    pub fn allow_space(
        &self,
        name: &str,
        granted: &BTreeSet<Identity>,
        revoked: &BTreeSet<Identity>,
    ) -> Result<(), Error> {
        self.of_cluster_alone()?.allow(&parsed(name)?, granted, revoked)
    }

    fn of_cluster_alone(&self) -> Result<&KeptSpaces, Error> {
        self.cluster_spaces().ok_or_else(|| {
            let text = "machines are those of a cluster, and this is no connection to one (quintet://NAME): a space on one machine is for this user's processes";
            Error::new(Code::BadValue, text)
        })
    }

    /// Removes a space with its tuples. Who waits in it, and who asks it later, gets [`Code::NoSuchSpace`].
    ///
    /// # Errors
    /// [`Code::NoSuchSpace`], [`Code::NotAllowed`], [`Code::BadValue`] as [`Lab::named_space`].
    pub fn remove_space(&self, name: &str) -> Result<(), Error> {
        let name = parsed(name)?;
        let is_kept = self.kept_spaces()?.iter().any(|there| there.name == name.as_str());
        match self.cluster_spaces() {
            Some(kept) if is_kept => kept.remove(&name).map(drop),
            _ => self.ask_spaces(&SpacesRequest::Remove(name)).map(drop),
        }
    }

    /// The spaces that the machines of the cluster keep on their disks, by name, as this machine's agent knows them: nobody is asked. None for what is no connection to a
    /// cluster.
    ///
    /// # Errors
    /// As [`KeptSpaces::all`].
    pub fn kept_spaces(&self) -> Result<Vec<KeptSpace>, Error> {
        self.cluster_spaces().map_or_else(|| Ok(Vec::new()), KeptSpaces::all)
    }

    /// All named spaces of its server, by name; those that a cluster's machines keep are in [`Lab::kept_spaces`]. What each was made with, and how it is. Read a page at a time: of what is created or removed meanwhile, some
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
