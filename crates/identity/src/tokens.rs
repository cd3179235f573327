//! What a cluster knows of its tokens: a file for each, in the folder of the cluster.
//!
//! ```text
//! tokens/                          for this user only (0700)
//!   <16 hex digits>.toml           outstanding: it may be used once, until its time
//!   <16 hex digits>.used           it was used;          kept until a week after its time, so that who uses
//!   <16 hex digits>.revoked        it was revoked;       it again learns why that does not work, and
//!   <16 hex digits>.expired        it was seen too late; a clock that is set back revives nothing
//! ```
//!
//! The digits are the front of the identity that the token's holder proves to have. No file has the token: whoever reads them can use none.
//! A token's end is one rename, which one process wins and the others lose, and is on the disk before whoever wins goes on.
//!
//! Of clocks: a token that was once looked at after its time stays expired, wherever the clock is set afterwards. One that nobody
//! looked at in between lives as much longer as the clock was set back; so who serves enrolments lists them now and then. One whose
//! clock stands more than five minutes before it was made is refused for as long as that is so.

use crate::enrolment::unhex;
use crate::folder::{beside, make_folders, move_new, read_file, sync_folder, write_new};
use crate::token_error::TokenError;
use crate::{Authority, Grants, IdentityError, Token};
use core::time::Duration;
use record::{NAME_BYTES, at, id, parse, since_epoch, text_of};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

mod record;

pub use record::{TokenRecord, TokenState};

/// The folder in that of the cluster.
const FOLDER: &str = "tokens";
/// How long a token that has ended is remembered after its time.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How far a clock may be set back behind the making of a token: small corrections are no faults.
const CORRECTION: Duration = Duration::from_secs(5 * 60);
/// How long a token may be valid.
const LONGEST_VALID: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Characters of a note.
const LONGEST_NOTE: usize = 100;
/// Digits of a name that must at least be given.
const SHORTEST_FRONT: usize = 4;

/// A token that is to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewToken<'a> {
    /// The node of the machine at which it can be used.
    pub node: u16,
    /// What it allows.
    pub allows: Grants,
    /// From when on.
    pub now: SystemTime,
    /// And for how long.
    pub valid_for: Duration,
    /// Something to know it by: up to 100 letters, digits and signs, no quotes.
    pub note: &'a str,
}

/// Makes a token of the cluster whose authority lies in that folder.
///
/// # Errors
/// [`TokenError`]. Then there is no new token.
pub fn issue_token(folder: &Path, new: &NewToken<'_>) -> Result<(Token, TokenRecord), TokenError> {
    let is_plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    if new.note.chars().count() > LONGEST_NOTE || !new.note.chars().all(is_plain) {
        return Err(TokenError::BadNote);
    }
    if new.valid_for > LONGEST_VALID {
        return Err(TokenError::TooLongValid);
    }
    let authority = Authority::of_folder(folder)?;
    let token = Token::new(authority.cluster_number(), new.node)?;
    let seconds = |time| at(since_epoch(time)).ok_or(TokenError::TooLongValid);
    let record = TokenRecord {
        identity: token.identity(),
        allows: new.allows,
        until: seconds(new.now + new.valid_for)?,
        made: seconds(new.now)?,
        note: new.note.to_owned(),
        state: TokenState::Outstanding,
    };
    let home = folder.join(FOLDER);
    make_folders(&home)?;
    let path = path(folder, &record.id(), TokenState::Outstanding);
    let unfinished = beside(&path)?;
    write_new(&unfinished, &text_of(&record)).and_then(|()| move_new(&unfinished, &path)).inspect_err(
        |_| {
            // What was not made whole is nobody's.
            let _ = std::fs::remove_file(&unfinished);
        },
    )?;
    Ok((token, record))
}

/// All tokens of a cluster, the oldest first. Those whose time has passed are expired from now on; what ended long ago is forgotten.
///
/// # Errors
/// [`TokenError::Damaged`], [`TokenError::Files`].
pub fn tokens(folder: &Path, now: SystemTime) -> Result<Vec<TokenRecord>, TokenError> {
    let mut found = Vec::new();
    for (id, state) in names(folder)? {
        // Another process may end it meanwhile: then it is found under its other name, or not at all.
        let Some(mut record) = read(folder, &id, state)? else { continue };
        if state == TokenState::Outstanding && now >= record.until {
            end(folder, &id, TokenState::Expired)?;
            record.state = TokenState::Expired;
        }
        if record.state != TokenState::Outstanding && now >= record.until + REMEMBERED {
            forget(folder, &id, record.state)?;
        } else {
            found.push(record);
        }
    }
    found.sort_by_key(|one| (one.made, one.identity));
    Ok(found)
}

/// What the token of that identity allows, if it may be used now. It stays as it is.
///
/// # Errors
/// [`TokenError`]: why it may not be used.
pub fn outstanding(folder: &Path, identity: &[u8; 32], now: SystemTime) -> Result<Grants, TokenError> {
    let id = id(identity);
    let Some(record) = read(folder, &id, TokenState::Outstanding)? else {
        return Err(why_not(folder, identity)?);
    };
    if record.identity != *identity {
        return Err(TokenError::Unknown);
    }
    if now >= record.until {
        end(folder, &id, TokenState::Expired)?;
        return Err(TokenError::Expired);
    }
    if now + CORRECTION < record.made {
        return Err(TokenError::ClockSetBack);
    }
    Ok(record.allows)
}

/// Uses the token of that identity up. Of those who try at the same time one succeeds, and that is on the disk before it knows.
///
/// # Errors
/// [`TokenError`]: why it may not be used.
pub fn consume(folder: &Path, identity: &[u8; 32], now: SystemTime) -> Result<Grants, TokenError> {
    let allows = outstanding(folder, identity, now)?;
    if end(folder, &id(identity), TokenState::Used)? { Ok(allows) } else { Err(why_not(folder, identity)?) }
}

/// Revokes the outstanding token whose name begins with these digits.
///
/// # Errors
/// [`TokenError`]: none has that name, or several have, or it has ended already.
pub fn revoke_token(folder: &Path, front: &str) -> Result<TokenRecord, TokenError> {
    let front = front.to_ascii_lowercase();
    if front.len() < SHORTEST_FRONT || !front.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(TokenError::BadId);
    }
    let mut named: Vec<_> = names(folder)?.into_iter().filter(|(id, _)| id.starts_with(&front)).collect();
    named.dedup_by(|one, other| one.0 == other.0);
    let (id, state) = match &named[..] {
        [one] => one,
        [] => return Err(TokenError::Unknown),
        _ => return Err(TokenError::SeveralOfThatId),
    };
    let Some(record) = read(folder, id, *state)? else { return Err(TokenError::Unknown) };
    if *state == TokenState::Outstanding && end(folder, id, TokenState::Revoked)? {
        return Ok(TokenRecord { state: TokenState::Revoked, ..record });
    }
    Err(why_not(folder, &record.identity)?)
}

/// Why the token of that identity is not outstanding.
fn why_not(folder: &Path, identity: &[u8; 32]) -> Result<TokenError, TokenError> {
    for state in TokenState::ENDED {
        let known = read(folder, &id(identity), state)?;
        if known.is_some_and(|record| record.identity == *identity) {
            return Ok(state.refusal());
        }
    }
    Ok(TokenError::Unknown)
}

/// Ends an outstanding token. Whether this did it, and nobody else before.
fn end(folder: &Path, id: &str, state: TokenState) -> Result<bool, TokenError> {
    let (from, to) = (path(folder, id, TokenState::Outstanding), path(folder, id, state));
    match move_new(&from, &to) {
        Ok(()) => Ok(true),
        // Somebody else was first; or somebody has put back a file of a token that had ended.
        Err(IdentityError::Missing { .. } | IdentityError::Exists { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn forget(folder: &Path, id: &str, state: TokenState) -> Result<(), TokenError> {
    let path = path(folder, id, state);
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(sync_folder(&path)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IdentityError::Refused {
            doing: format!("remove {}", path.display()),
            why: error.to_string(),
        }
        .into()),
    }
}

fn path(folder: &Path, id: &str, state: TokenState) -> PathBuf {
    folder.join(FOLDER).join(format!("{id}.{}", state.ending()))
}

/// The names of all tokens, with where they stand. What has another name is nobody's.
fn names(folder: &Path) -> Result<Vec<(String, TokenState)>, TokenError> {
    let home = folder.join(FOLDER);
    let refused = |error: std::io::Error| IdentityError::Refused {
        doing: format!("read the folder {}", home.display()),
        why: error.to_string(),
    };
    let entries = match std::fs::read_dir(&home) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(refused(error).into()),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(refused)?.file_name();
        let Some((id, ending)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        let is_id = id.len() == 2 * NAME_BYTES && unhex(id).is_some();
        let mut states = TokenState::ENDED.into_iter().chain([TokenState::Outstanding]);
        let state = states.find(|state| state.ending() == ending);
        names.extend(state.filter(|_| is_id).map(|state| (id.to_owned(), state)));
    }
    // Where a file was put back of a token that has ended, the end comes first.
    names.sort_by_key(|(id, state)| (id.clone(), *state == TokenState::Outstanding));
    Ok(names)
}

/// What a file says; none where there is none.
fn read(folder: &Path, id: &str, state: TokenState) -> Result<Option<TokenRecord>, TokenError> {
    let path = path(folder, id, state);
    let text = match read_file(&path) {
        Ok(text) => text,
        Err(IdentityError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let record = core::str::from_utf8(&text).ok().and_then(|text| parse(text, state));
    let record = record.filter(|record| record.id() == id);
    record.map(Some).ok_or(TokenError::Damaged { path })
}

#[cfg(test)]
mod tests;
