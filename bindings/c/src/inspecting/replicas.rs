//! What the servers of a replicated space do.

use crate::boundary::{Tagged, free, give, guarded, handle, place, value};
use crate::error::quintet_status;
use crate::lab::quintet_lab;
use crate::threads::without_signals;
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Replica, ReplicaRole};
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// The servers of a replicated space, as they were when the list was made.
pub struct quintet_replicas(Tagged<Mutex<Asked>>);
handle!(quintet_replicas, Mutex<Asked>, b"repl", "list of replicas");

/// What is behind it.
pub struct Asked {
    left: std::vec::IntoIter<Replica>,
    /// The texts of the row that was shown last.
    shown: [CString; 2],
}

/// What a server of a replicated space does.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_role {
    /// It cannot be asked.
    QUINTET_ROLE_UNKNOWN = 0,
    /// It leads: it serves the space.
    QUINTET_ROLE_LEADS = 1,
    /// It writes down what the leader says.
    QUINTET_ROLE_FOLLOWS = 2,
    /// It knows of none that leads.
    QUINTET_ROLE_KNOWS_NO_LEADER = 3,
    /// It has no log of the space, as it lost it or is new: until it is sent the space it has no vote.
    QUINTET_ROLE_HAS_NO_LOG = 4,
}

/// One of the servers of a replicated space. Its texts are good until the next row is asked for, or the list is freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct quintet_replica_row {
    /// Where it is.
    pub address: *const c_char,
    /// Why it cannot be asked; NULL if it was.
    pub error: *const c_char,
    /// The same as a status; `QUINTET_OK` if it was asked.
    pub status: quintet_status,
    /// What it says that it does.
    pub role: quintet_role,
    /// Which one, from 1.
    pub number: u16,
    /// Which replica leads, as far as this one knows; 0: it knows of none.
    pub leader: u16,
    /// Zero; later versions may have more.
    pub reserved: [u64; 4],
}

const EMPTY_ROW: quintet_replica_row = quintet_replica_row {
    address: null(),
    error: null(),
    status: quintet_status::QUINTET_OK,
    role: quintet_role::QUINTET_ROLE_UNKNOWN,
    number: 0,
    leader: 0,
    reserved: [0; 4],
};

/// Asks each server of the lab's space, if that is replicated, what it does, over a connection of its own, all at once; of another space there are none. Signals are held back meanwhile, for a few seconds at most, or as long as the setting
/// link.silence_limit_ms says to one that listens and says nothing. Of a space that machines of a cluster keep ask a lab that is connected to "quintet://NAME/SPACE". It is freed with `quintet_replicas_free`.
///
/// Fails with `QUINTET_BAD_VALUE` or `QUINTET_BAD_FILE` for an identity or a cluster that cannot be read. That a server cannot be asked stands in its row.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_replicas(
    lab: Option<&quintet_lab>,
    replicas: Option<&mut MaybeUninit<*mut quintet_replicas>>,
) -> quintet_status {
    guarded(|| {
        let replicas = place(replicas, "replicas", null_mut())?;
        let asked = match &value(lab)?.place {
            Some((config, address)) => without_signals(|| config.replicas_of(address.clone()))?,
            None => Vec::new(),
        };
        *replicas = give(Mutex::new(Asked { left: asked.into_iter(), shown: Default::default() }));
        Ok(())
    })
}

/// The next server, by number; false when there is none any more.
///
/// Fails with `QUINTET_BAD_VALUE` only.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_replicas_next(
    replicas: Option<&quintet_replicas>,
    row: Option<&mut MaybeUninit<quintet_replica_row>>,
    is_there: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let is_there = place(is_there, "is_there", false)?;
        let row = place(row, "row", EMPTY_ROW)?;
        let mut replicas = value(replicas)?.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(next) = replicas.left.next() else { return Ok(()) };
        *row = replicas.row(&next);
        *is_there = true;
        Ok(())
    })
}

/// Frees a list of replicas. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_replicas_free(replicas: Option<NonNull<quintet_replicas>>) {
    free(replicas);
}

impl Asked {
    /// Shows this replica. The texts of the one before are gone.
    fn row(&mut self, replica: &Replica) -> quintet_replica_row {
        let text = |error: &quintet::Error| error.to_string().replace('\0', "");
        let words = [replica.address.to_string(), replica.role.as_ref().err().map(text).unwrap_or_default()];
        self.shown = words.map(|words| CString::new(words).unwrap_or_default());
        let (role, leader) = match replica.role {
            Ok(ReplicaRole::Leads) => (quintet_role::QUINTET_ROLE_LEADS, replica.number),
            Ok(ReplicaRole::Follows(leader)) => (quintet_role::QUINTET_ROLE_FOLLOWS, leader),
            Ok(ReplicaRole::KnowsNoLeader) => (quintet_role::QUINTET_ROLE_KNOWS_NO_LEADER, 0),
            Ok(ReplicaRole::HasNoLog) => (quintet_role::QUINTET_ROLE_HAS_NO_LOG, 0),
            Err(_) => (quintet_role::QUINTET_ROLE_UNKNOWN, 0),
        };
        let (address, error) = (self.shown[0].as_ptr(), self.shown[1].as_ptr());
        let why = replica.role.as_ref().err();
        quintet_replica_row {
            address,
            error: if why.is_some() { error } else { null() },
            status: why.map_or(quintet_status::QUINTET_OK, |why| quintet_status::of(why.code())),
            role,
            number: replica.number,
            leader,
            reserved: [0; 4],
        }
    }
}
