//! What is known of a token, and how its file says it.

use crate::Grants;
use crate::enrolment::{hex, unhex};
use crate::token_error::TokenError;
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};
use toml::de::{DeTable, DeValue};

/// Bytes of an identity that name a token.
pub(super) const NAME_BYTES: usize = 8;
/// The last second of the year 9999: later ones have no usual form.
const LAST_SECOND: u64 = 253_402_300_799;

/// Where a token stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenState {
    /// It may be used.
    Outstanding,
    /// It was used.
    Used,
    /// It was revoked before it was used.
    Revoked,
    /// Its time passed before it was used.
    Expired,
}

impl TokenState {
    pub(super) const ENDED: [TokenState; 3] = [TokenState::Used, TokenState::Revoked, TokenState::Expired];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            TokenState::Outstanding => "outstanding",
            TokenState::Used => "used",
            TokenState::Revoked => "revoked",
            TokenState::Expired => "expired",
        }
    }

    pub(super) fn ending(self) -> &'static str {
        match self {
            TokenState::Outstanding => "toml",
            other => other.word(),
        }
    }

    /// Why a token in that state cannot be used.
    pub(super) fn refusal(self) -> TokenError {
        match self {
            TokenState::Outstanding => TokenError::Unknown,
            TokenState::Used => TokenError::Used,
            TokenState::Revoked => TokenError::Revoked,
            TokenState::Expired => TokenError::Expired,
        }
    }
}

/// What is known of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenRecord {
    /// Who its holder proves to be.
    pub identity: [u8; 32],
    /// What it allows.
    pub allows: Grants,
    /// Until when, to the second.
    pub until: SystemTime,
    /// When it was made.
    pub made: SystemTime,
    /// What its maker noted.
    pub note: String,
    /// Where it stands.
    pub state: TokenState,
}

impl TokenRecord {
    /// What it is called: the front of its identity.
    #[must_use]
    pub fn id(&self) -> String {
        id(&self.identity)
    }
}

/// What the token of that identity is called.
pub(super) fn id(identity: &[u8; 32]) -> String {
    hex(&identity[..NAME_BYTES])
}

pub(super) fn text_of(record: &TokenRecord) -> String {
    let allows: Vec<String> = record.allows.words().iter().map(|word| format!("{word:?}")).collect();
    format!(
        "# A token of this cluster, as the cluster knows it. The token itself was shown once, and stands nowhere.\n\
         identity = \"{}\"\nallows = [{}]\nvalid_until = {}\nmade_at = {}\nnote = \"{}\"\n",
        hex(&record.identity),
        allows.join(", "),
        since_epoch(record.until),
        since_epoch(record.made),
        record.note
    )
}

pub(super) fn parse(text: &str, state: TokenState) -> Option<TokenRecord> {
    let table = DeTable::parse(text).ok()?;
    let value = |name: &str| table.get_ref().get(name).map(|value| value.get_ref());
    let string = |name: &str| match value(name)? {
        DeValue::String(text) => Some(text.as_ref()),
        _ => None,
    };
    let time = |name: &str| match value(name)? {
        DeValue::Integer(number) => number.as_str().parse().ok().and_then(at),
        _ => None,
    };
    let DeValue::Array(words) = value("allows")? else { return None };
    let words: Option<Vec<&str>> = words
        .iter()
        .map(|word| match word.get_ref() {
            DeValue::String(word) => Some(word.as_ref()),
            _ => None,
        })
        .collect();
    Some(TokenRecord {
        identity: unhex(string("identity")?)?.try_into().ok()?,
        allows: Grants::of(words?).ok()?,
        until: time("valid_until")?,
        made: time("made_at")?,
        note: string("note")?.to_owned(),
        state,
    })
}

pub(super) fn since_epoch(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// That second, if any clock shows it.
pub(super) fn at(seconds: u64) -> Option<SystemTime> {
    (seconds <= LAST_SECOND).then(|| UNIX_EPOCH + Duration::from_secs(seconds))
}
