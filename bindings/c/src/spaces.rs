//! quintet_spaces - named spaces
//!
//! Beside the space without a name a server keeps any number of named ones, each with tuples, waiters and a quota of its own. A name has 1 to 63 letters,
//! digits, '-', '_' and '.', the first of them a letter or digit.
//!
//! ```c
//! quintet_space *orders;
//! if (quintet_lab_create_space(lab, "orders", NULL, &orders) != QUINTET_OK) {
//!     fprintf(stderr, "%s\n", quintet_error_message());
//! }
//! quintet_space_out(orders, order, QUINTET_FOREVER);
//! quintet_space_free(orders);
//! ```
//!
//! In a cluster (`quintet_lab_connect` with "quintet://NAME") a space whose policy is "logged" or "replicated=3" is kept by machines of the cluster on their disks, and found by
//! its name as others are. It has a connection of its own, which ends with the lab; an event loop connects to "quintet://NAME/SPACE" for it.
//! `quintet_lab_list_kept_spaces` lists such spaces.
//!
//! A space that was created or opened is used as the lab's own, by any threads at once. It is freed before or after its lab; its tuples stay.

use crate::boundary::{
    Tagged, borrowed, free, give, guarded, handle, misuse, place, slice, text, texts, value,
};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::lab::quintet_lab;
use crate::space::quintet_space;
use crate::threads::without_signals;
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{
    Code, Error, Identity, KeptSpace, Lab, Policy, SpaceInfo, SpaceNumber, SpaceRights, SpaceSettings,
};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// What a named space is made with. All zero: the server's defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct quintet_space_settings {
    /// What holds its tuples: "volatile", "logged", "replicated=N"; NULL is "volatile".
    pub policy: *const c_char,
    /// Bytes of tuples that it holds at most; 0: 64 MiB.
    pub max_bytes: u64,
    /// Tuples that it holds at most; 0: 1048576.
    pub max_tuples: u64,
    /// Whether only some may use and remove it: the programs of the machines whose identities or names follow, and, if that is set, who comes from the server's own machine. Nobody is named without this.
    pub is_restricted: bool,
    /// Whether who comes from the server's own machine may, without a proof who he is. A name of that machine does so as well. False for a space that a cluster's machines keep: there all prove it.
    pub allow_own_machine: bool,
    /// Identities of 32 bytes each, one behind the other; NULL if there are none.
    pub allow: *const u8,
    /// How many there are, at most 128.
    pub allow_count: usize,
    /// Names of machines of the lab's cluster whose programs may use it as well: an array of texts; NULL if there are none.
    pub machines: *const *const c_char,
    /// How many names there are.
    pub machine_count: usize,
    /// Zero; later versions may have more settings.
    pub reserved: [u64; 2],
}

/// A named space, as a list shows it. Its texts are good until the next row is asked for, or the list is freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct quintet_space_row {
    /// What it is called.
    pub name: *const c_char,
    /// What holds its tuples.
    pub policy: *const c_char,
    /// Bytes of tuples that it holds at most.
    pub max_bytes: u64,
    /// Tuples that it holds at most.
    pub max_tuples: u64,
    /// Tuples that can be seen.
    pub tuples: u64,
    /// Bytes that count against its limit.
    pub bytes: u64,
    /// Tuples that are leased, or were taken and may still go back.
    pub hidden: u64,
    /// Takes and reads that wait.
    pub waiters: u64,
    /// Leases.
    pub leases: u64,
    /// Puts that wait for room.
    pub parked: u64,
    /// Whether only some may use it.
    pub is_restricted: bool,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 4],
}

/// The named spaces of a server, by name, as they were when the list was made.
pub struct quintet_spaces(Tagged<Mutex<List>>);
handle!(quintet_spaces, Mutex<List>, b"spls", "list of spaces");

/// What is behind it.
pub struct List {
    left: std::vec::IntoIter<SpaceInfo>,
    /// The texts of the row that was shown last.
    shown: [CString; 2],
}

/// Opens the named space `name`, which somebody has created. It is freed with `quintet_space_free`.
///
/// Fails with `QUINTET_NO_SUCH_SPACE`, whose message names those that are there, `QUINTET_NOT_ALLOWED` if its creation named others, or
/// `QUINTET_BAD_VALUE` for what is no name.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_open_space(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    space: Option<&mut MaybeUninit<*mut quintet_space>>,
) -> quintet_status {
    guarded(|| {
        let space = place(space, "space", null_mut())?;
        let connection = &value(lab)?.connection;
        let name = text(name, "name")?;
        *space = opened(connection, without_signals(|| connection.lab.named_space(name))?);
        Ok(())
    })
}

/// Creates the named space `name`, and opens it; `settings` may be NULL. One that is there with the same settings is as good: several processes may begin
/// with this. It is freed with `quintet_space_free`.
///
/// Fails with `QUINTET_SPACE_EXISTS` if it is there with other settings, `QUINTET_SPACE_FULL` if the server has no room for its quota or for one more
/// space, `QUINTET_BAD_VALUE` for what is no name or no policy, or one that the server or the cluster cannot keep, for a machine that is none of the cluster, and if somebody is named while `is_restricted` is false, or `QUINTET_TOO_LARGE` for more than 128 identities;
/// `QUINTET_UNREACHABLE` in a cluster if this machine's agent does not run, too few machines are up, or the space is not served after ten seconds and the try that is under way then (ten more at most): then it stays agreed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_create_space(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    settings: Option<&quintet_space_settings>,
    space: Option<&mut MaybeUninit<*mut quintet_space>>,
) -> quintet_status {
    guarded(|| {
        let space = place(space, "space", null_mut())?;
        let connection = &value(lab)?.connection;
        let name = text(name, "name")?;
        let created = without_signals(|| {
            let lab = &connection.lab;
            let settings =
                settings.map_or_else(|| Ok(SpaceSettings::default()), |given| settings_of(lab, given));
            lab.create_space(name, &settings?)
        });
        *space = opened(connection, created?);
        Ok(())
    })
}

/// Lets the programs of some machines, the `granted`, use the space `name` from now on, and those of others, the `revoked`, no more: names of machines of the lab's cluster, either of which may be NULL. It
/// is a space that machines of the cluster keep and that was created for some (`is_restricted`). What a program that may not any more waits for comes to `QUINTET_NOT_ALLOWED`.
///
/// Fails with `QUINTET_NO_SUCH_SPACE`; `QUINTET_BAD_VALUE` if the space is for all machines, nobody would be left, a name is no machine's of the cluster, or the lab is no connection to one; `QUINTET_NOT_ALLOWED` if
/// it is for others than this machine; `QUINTET_UNREACHABLE` if this machine's agent does not run, or no majority agrees.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_allow_space(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    granted: *const *const c_char,
    granted_count: usize,
    revoked: *const *const c_char,
    revoked_count: usize,
) -> quintet_status {
    guarded(|| {
        let lab = &value(lab)?.connection.lab;
        let name = text(name, "name")?;
        let named = |names, count, what| match texts(names, count, what)?[..] {
            [] => Ok(BTreeSet::new()),
            ref names => lab.rights_of(names, Policy::Logged).map(|rights| rights.identities),
        };
        without_signals(|| {
            let granted = named(granted, granted_count, "granted")?;
            lab.allow_space(name, &granted, &named(revoked, revoked_count, "revoked")?)
        })
    })
}

/// Removes the named space `name` with its tuples. Who waits in it, and who asks it later, gets `QUINTET_NO_SUCH_SPACE`.
///
/// Fails as `quintet_lab_open_space`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_remove_space(lab: Option<&quintet_lab>, name: *const c_char) -> quintet_status {
    guarded(|| value(lab)?.connection.lab.remove_space(text(name, "name")?))
}

/// Lists the named spaces. It is freed with `quintet_spaces_free`.
///
/// Fails with `QUINTET_CLOSED`, or as the connection does.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_list_spaces(
    lab: Option<&quintet_lab>,
    list: Option<&mut MaybeUninit<*mut quintet_spaces>>,
) -> quintet_status {
    guarded(|| {
        let list = place(list, "list", null_mut())?;
        let spaces = value(lab)?.connection.lab.spaces()?;
        *list = give(Mutex::new(List { left: spaces.into_iter(), shown: Default::default() }));
        Ok(())
    })
}

/// Lists the spaces that machines of the lab's cluster keep on their disks, as this machine's agent knows them; none if the lab is no connection to a cluster. Nobody is asked: what is
/// in them is 0 in the rows, and `quintet_space_status` of each tells it. It is freed with `quintet_spaces_free`.
///
/// Fails with `QUINTET_BAD_VALUE` if this machine is no member of the cluster any more, `QUINTET_BAD_FILE` for a file that cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_list_kept_spaces(
    lab: Option<&quintet_lab>,
    list: Option<&mut MaybeUninit<*mut quintet_spaces>>,
) -> quintet_status {
    guarded(|| {
        let list = place(list, "list", null_mut())?;
        let kept = value(lab)?.connection.lab.kept_spaces()?;
        let spaces = kept.into_iter().map(unasked).collect::<Result<Vec<_>, _>>()?;
        *list = give(Mutex::new(List { left: spaces.into_iter(), shown: Default::default() }));
        Ok(())
    })
}

/// The next named space; false when there is none any more.
///
/// Fails with `QUINTET_BAD_VALUE` only.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_spaces_next(
    list: Option<&quintet_spaces>,
    row: Option<&mut MaybeUninit<quintet_space_row>>,
    is_there: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let is_there = place(is_there, "is_there", false)?;
        let row = place(row, "row", EMPTY_ROW)?;
        let mut list = value(list)?.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(next) = list.left.next() else { return Ok(()) };
        // Neither has a NUL in it: the one is letters and the like, the other a word of ours.
        let words = [next.name.to_string(), next.settings.policy.to_string()];
        list.shown = words.map(|words| CString::new(words).unwrap_or_default());
        *row = quintet_space_row {
            name: list.shown[0].as_ptr(),
            policy: list.shown[1].as_ptr(),
            max_bytes: next.settings.max_bytes,
            max_tuples: next.settings.max_tuples,
            tuples: next.tuples,
            bytes: next.bytes,
            hidden: next.hidden,
            waiters: next.waiters,
            leases: next.leases,
            parked: next.parked,
            is_restricted: next.settings.allow.is_some(),
            reserved: [0; 4],
        };
        *is_there = true;
        Ok(())
    })
}

/// Frees a list of spaces. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_spaces_free(list: Option<NonNull<quintet_spaces>>) {
    free(list);
}

/// Frees a space that `quintet_lab_open_space` or `quintet_lab_create_space` gave; what it holds stays. That of `quintet_lab_space` is the lab's, and is not
/// freed. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_free(space: Option<NonNull<quintet_space>>) {
    if is_the_labs(space) {
        guarded(|| Err(misuse("this space is its lab's, and is freed with that")));
    } else {
        free(space);
    }
}

fn is_the_labs(space: Option<NonNull<quintet_space>>) -> bool {
    let space = space.and_then(|space| borrowed(space.as_ptr()));
    space.is_some_and(|space| value(Some(space)).is_ok_and(|connection| !connection.is_named))
}

const EMPTY_ROW: quintet_space_row = quintet_space_row {
    name: core::ptr::null(),
    policy: core::ptr::null(),
    max_bytes: 0,
    max_tuples: 0,
    tuples: 0,
    bytes: 0,
    hidden: 0,
    waiters: 0,
    leases: 0,
    parked: 0,
    is_restricted: false,
    reserved: [0; 4],
};

fn opened(connection: &Connection, space: quintet::Space) -> *mut quintet_space {
    give(Arc::new(connection.of_space(space)))
}

/// What is known of a space without asking it.
fn unasked(kept: KeptSpace) -> Result<SpaceInfo, Error> {
    let KeptSpace { name, policy, max_bytes, max_tuples, allow, .. } = kept;
    // That it is for some is told; whom, the listing does not say.
    let allow = allow.map(|_| SpaceRights::default());
    let name = name.parse().map_err(|error: quintet::SpaceNameError| misuse(error.to_string()))?;
    Ok(SpaceInfo {
        number: SpaceNumber::UNNAMED,
        name,
        settings: SpaceSettings { policy, max_bytes, max_tuples, allow },
        tuples: 0,
        bytes: 0,
        hidden: 0,
        waiters: 0,
        leases: 0,
        parked: 0,
    })
}

fn settings_of(lab: &Lab, settings: &quintet_space_settings) -> Result<SpaceSettings, Error> {
    let policy = match settings.policy.is_null() {
        true => Policy::default(),
        false => {
            let words = text(settings.policy, "policy")?;
            words.parse().map_err(|why: String| Error::new(Code::BadValue, format!("policy: {why}")))?
        }
    };
    let (max_bytes, max_tuples) = (settings.max_bytes, settings.max_tuples);
    Ok(SpaceSettings { policy, max_bytes, max_tuples, allow: rights(lab, settings, policy)? })
}

/// Who may use the space; none: all.
fn rights(
    lab: &Lab,
    settings: &quintet_space_settings,
    policy: Policy,
) -> Result<Option<SpaceRights>, Error> {
    let quintet_space_settings { allow_own_machine, allow_count, machine_count, .. } = *settings;
    if !settings.is_restricted {
        return match allow_own_machine || allow_count > 0 || machine_count > 0 {
            true => Err(misuse("is_restricted is false, which lets in everybody, and somebody is named")),
            false => Ok(None),
        };
    }
    let bytes = allow_count.checked_mul(32).ok_or_else(|| {
        Error::new(Code::TooLarge, "allow_count: more identities than memory holds".to_owned())
    })?;
    let (identities, _) = slice(settings.allow, bytes, "allow")?.as_chunks::<32>();
    let mut rights = match texts(settings.machines, machine_count, "machines")?[..] {
        [] => SpaceRights { own_machine: false, identities: BTreeSet::new() },
        ref names => lab.rights_of(names, policy)?,
    };
    rights.own_machine |= allow_own_machine;
    rights.identities.extend(identities.iter().copied().map(Identity));
    Ok(Some(rights))
}
