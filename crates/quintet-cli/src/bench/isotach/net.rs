//! An isonet of this process, which is member 0 as a rule, and others that do what they are asked to.

use super::super::case::Round;
use super::super::link::Over;
use super::super::space::served::Served;
use super::member::{self, Member, Waits};
use super::task::Task;
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use quintet::{Error, LinkAddress};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;

/// An isonet with a process for each member.
pub(super) struct Net {
    pub(super) this: Member,
    /// Ended when dropped.
    others: BTreeMap<u16, Companion>,
    space: Served,
    /// The processor of this process, if members are placed.
    here: Option<usize>,
    /// Removed when dropped.
    _folder: TempDir,
}

/// Where members run.
#[derive(Clone, Copy)]
enum Placed {
    /// On whichever processors the system gives them.
    Anywhere,
    /// This process and the next member on one processor, all others on the next one, if there are two.
    PairApart,
}

impl Net {
    /// So many members, linked in such a way.
    ///
    /// # Errors
    /// The system refused, or a member did not come.
    pub(super) fn start(over: Over, members: u16) -> Result<Net, Error> {
        Self::start_waiting(over, members, Waits::Adaptively)
    }

    /// The same, of which this process is another one than member 0.
    ///
    /// # Errors
    /// The system refused, or a member did not come.
    pub(super) fn start_as(over: Over, me: u16, members: u16) -> Result<Net, Error> {
        Self::begin(over, (me, members), Waits::Adaptively, Placed::Anywhere)
    }

    /// The same, this process and the next member being on one processor, and all others on another.
    ///
    /// # Errors
    /// The system refused, or a member did not come.
    pub(super) fn start_pair_apart(over: Over, me: u16, members: u16) -> Result<Net, Error> {
        Self::begin(over, (me, members), Waits::Adaptively, Placed::PairApart)
    }

    /// The same, each of which waits in such a way.
    ///
    /// # Errors
    /// The system refused, or a member did not come.
    pub(super) fn start_waiting(over: Over, members: u16, waits: Waits) -> Result<Net, Error> {
        Self::begin(over, (0, members), waits, Placed::Anywhere)
    }

    fn begin(over: Over, (me, members): (u16, u16), waits: Waits, placed: Placed) -> Result<Net, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let space = Served::start()?;
        let place = |member: u16| over.address(&folder.path().join(member.to_string()));
        (0..members)
            .try_for_each(|member| std::fs::create_dir(folder.path().join(member.to_string())))
            .map_err(refused("make a folder"))?;
        let start = |other| {
            let arguments = member::arguments(space.address(), (other, members), &place(other), waits);
            // A child stays where its parent was when it was started.
            let _there = pinned(placed.processor(usize::from(other != me + 1))?)?;
            Ok((other, Companion::start(arguments)?))
        };
        let others = (0..members).filter(|other| *other != me).map(start).collect::<Result<_, Error>>()?;
        let here = placed.processor(0)?;
        let _here = pinned(here)?;
        let this = Member::join(space.address(), (me, members), place(me), waits)?;
        Ok(Net { this, others, space, here, _folder: folder })
    }

    /// Where the space is by which the members have found each other.
    pub(super) fn space(&self) -> &LinkAddress {
        self.space.address()
    }

    /// The process of a member other than this.
    pub(super) fn process(&self, member: u16) -> u32 {
        self.others[&member].process()
    }

    /// Sends a signal to the process of a member other than this.
    ///
    /// # Errors
    /// It has ended before.
    pub(super) fn signal(&self, member: u16, signal: Signal) -> Result<(), Error> {
        self.others[&member].signal(signal)
    }

    /// Has these members do that, all at once, and waits until the last has done it; how long each took where the task is timed.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn all_do(
        &self,
        members: impl IntoIterator<Item = u16>,
        task: &Task,
    ) -> Result<Vec<Duration>, Error> {
        self.this.ask(members, task)
    }

    /// Rounds of `round`, which uses this.
    pub(super) fn rounds(self, mut round: impl FnMut(&Net) -> Result<f64, Error> + 'static) -> Round {
        Box::new(move || {
            let _here = self.pinned()?;
            round(&self)
        })
    }

    /// Keeps this thread where this member runs, if members are placed.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn pinned(&self) -> Result<Option<Pin>, Error> {
        pinned(self.here)
    }
}

impl Placed {
    /// One of the processors, if members are placed.
    ///
    /// # Errors
    /// The system refused.
    fn processor(self, number: usize) -> Result<Option<usize>, Error> {
        match self {
            Placed::Anywhere => Ok(None),
            Placed::PairApart => Ok(allowed()?.get(number).copied()),
        }
    }
}

/// Keeps this thread there, if it is to be somewhere.
///
/// # Errors
/// The system refused.
fn pinned(processor: Option<usize>) -> Result<Option<Pin>, Error> {
    processor.map(Pin::to).transpose()
}
